//! What goes into the memory, and what does not.

mod guard;
mod instant;
mod redact;
