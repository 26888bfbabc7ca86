//! Labelled pairs, and single rules.
