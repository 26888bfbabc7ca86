//! Room 3: are the arguments what the tool's schema says. [`Resolved`] in, [`Checked`] out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::catalog::Resolved;

/// Arguments that fit their schema, after every repair and default.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    /// The value that policy sees, that runs, is cached and is recorded.
    pub value: Value,
    /// The same as canonical JSON (RFC 8785 order; numbers keep their exact value).
    pub canonical: String,
    /// SHA-256 of `canonical`, in hex.
    pub digest: String,
    /// What was changed on the way.
    pub repairs: Vec<Change>,
}

/// One repair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What was done: `type`, `rename`, `default`, `decode`, `enum`, `integer`, `unwrap`.
    pub kind: String,
    /// JSON Pointer of the place after the repair.
    pub pointer: String,
    /// JSON text before; empty when there was nothing.
    pub from: String,
    /// JSON text after.
    pub to: String,
}

/// A call whose arguments fit.
#[derive(Debug)]
pub struct Checked {
    pub(crate) resolved: Resolved,
    pub(crate) arguments: Arguments,
}
