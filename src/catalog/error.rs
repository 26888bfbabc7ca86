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
        Self::Argument { argument: argument.to_owned(), reason: reason.into() }
    }

    /// The error as a reply can carry it.
    pub fn failure(&self) -> Failure {
        match self {
            Self::UnknownTool { nearest, .. } => Failure::new(Code::UnknownTool, self.to_string())
                .with_details(json!({ "nearest": nearest })),
            Self::Argument { argument, reason } => {
                let pointer = format!("/{}", pointer::escape(argument));
                Failure::new(Code::SchemaValidationError, self.to_string())
                    .with_details(json!({ "errors": [{ "pointer": pointer, "message": reason }] }))
            }
            Self::Url { .. } => Failure::new(Code::SchemaValidationError, self.to_string()),
            Self::Server { .. } => Failure::new(Code::Internal, self.to_string()),
        }
    }
}
