//! Reading of collections.
