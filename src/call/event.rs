//! What a call says before its end, to whoever listens.

use bytes::Bytes;

/// Something that a call says before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It waits for a person to decide this approval.
    Waiting(String),
    /// The tool was started.
    Started,
    /// A piece of standard output.
    Stdout(Bytes),
    /// A piece of standard error.
    Stderr(Bytes),
}
