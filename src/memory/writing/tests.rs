//! The write path against a real store.
