//! Room 6: one shape for every reply. [`Ran`](crate::sandbox::Ran) or a failure in, [`Reply`] out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The one reply shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The tool's declared name, or the name as it came when there is no such tool.
    pub tool_name: String,
    /// Success or error.
    pub status: Status,
    /// The tool's result. Null when there is none; an error can carry data too.
    pub data: Value,
    /// What went wrong; null on success.
    pub error: Option<ReplyError>,
}

/// Success or error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The tool ran and did what it should.
    Success,
    /// Anything else.
    Error,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplyError {
    /// Stable code.
    pub code: crate::call::Code,
    /// One line.
    pub message: String,
    /// Particulars, or null.
    pub details: Value,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}
