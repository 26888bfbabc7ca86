//! Why a call ends in this room: its tool is not known, or its arguments make no safe request.

use serde_json::json;

use crate::call::{Code, Failure};
use crate::pointer;

/// The errors of this room. What is wrong with files is a [`Problem`](super::Problem) instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No tool has this name.
    #[error("unknown tool `{name}`{}", hint(nearest))]
    UnknownTool {
        /// The name as it came, shortened and without control characters.
        name: String,
        /// Close names of tools that the caller may see.
        nearest: Vec<String>,
    },
    /// An argument fits its schema but cannot be sent.
    #[error("argument `{argument}` {reason}")]
    Argument {
        /// Name of the argument.
        argument: String,
        /// JSON Pointer of the place among the arguments.
        pointer: String,
        /// What is wrong, and how to mend it.
        reason: String,
    },
    /// The finished URL reads back as another one.
    #[error("the arguments would make the request leave its path: `{url}`")]
    Url {
        /// The URL as it was built.
        url: String,
    },
    /// The tool's server makes no URL.
    #[error("the tool's URL `{url}` cannot be read")]
    Server {
        /// The URL as it was built.
        url: String,
        /// What is wrong with it.
        source: url::ParseError,
    },
}

fn hint(nearest: &[String]) -> String {
    if nearest.is_empty() {
        String::new()
    } else {
        format!("; did you mean `{}`?", nearest.join("`, `"))
    }
}

impl Error {
    pub(super) fn argument(argument: &str, reason: impl Into<String>) -> Self {
        Self::Argument {
            argument: argument.to_owned(),
            pointer: format!("/{}", pointer::escape(argument)),
            reason: reason.into(),
        }
    }

    /// The same error, where what it calls an argument is a member of one.
    pub(super) fn inside(self, whole: &str) -> Self {
        match self {
            Self::Argument { argument, pointer, reason } => Self::Argument {
                argument: whole.to_owned(),
                pointer: format!("/{}{pointer}", pointer::escape(whole)),
                reason: format!("has the member `{argument}`, which {reason}"),
            },
            other => other,
        }
    }

    /// The error as a reply can carry it.
    pub fn failure(&self) -> Failure {
        match self {
            Self::UnknownTool { nearest, .. } => Failure::new(Code::UnknownTool, self.to_string())
                .with_details(json!({ "nearest": nearest })),
            Self::Argument { pointer, .. } => {
                let violation = json!({
                    "pointer": pointer,
                    "kind": "request",
                    "message": self.to_string(),
                    "expected": null,
                    "got": null,
                });
                Failure::new(Code::SchemaValidationError, self.to_string())
                    .with_details(json!({ "violations": [violation], "total": 1, "repairs": [] }))
            }
            Self::Url { .. } => Failure::new(Code::SchemaValidationError, self.to_string()),
            Self::Server { .. } => Failure::new(Code::Internal, self.to_string()),
        }
    }
}
