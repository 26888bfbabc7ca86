//! Upkeep of a real store.
