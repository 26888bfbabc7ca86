//! The HTTP side of a tool: where each argument goes, and the request that results.

use serde::{Deserialize, Serialize};

/// How a tool's arguments become an HTTP request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HttpTarget {
    /// Upper-case method.
    pub method: String,
    /// Scheme, host, port and base path, without a trailing slash.
    pub server: String,
}

/// One HTTP request, ready to send: what the sandboxed client reads on standard input as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpRequest {
    /// Upper-case method.
    pub method: String,
    /// Absolute URL, percent-encoded.
    pub url: String,
    /// Header names and values.
    pub headers: Vec<(String, String)>,
    /// The body in base64; `None` for none.
    pub body_base64: Option<String>,
}
