//! What goes into the memory, and what does not.

pub(in crate::memory) mod access;
mod guard;
mod instant;
mod redact;
