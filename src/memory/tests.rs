//! What goes into the memory, and what does not.

mod instant;
mod redact;
