//! Tests of the catalog.
