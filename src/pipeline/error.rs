//! Why a call got no result of its tool: one variant a room, and what only the pipeline knows.

use crate::call::{Code, Failure};
use crate::{admission, approval, catalog, ledger, policy, sandbox, schema};

/// Why a call was refused or ended before its tool had.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Room 1.
    #[error(transparent)]
    Admission(#[from] admission::Error),
    /// Room 2.
    #[error(transparent)]
    Catalog(#[from] catalog::Error),
    /// Room 3.
    #[error(transparent)]
    Schema(#[from] schema::Error),
    /// Room 4.
    #[error(transparent)]
    Policy(#[from] policy::Error),
    /// Room 4, when a person has to permit the call.
    #[error(transparent)]
    Approval(#[from] approval::Error),
    /// Room 5.
    #[error(transparent)]
    Sandbox(#[from] sandbox::Error),
    /// Room 7: what the conversation came to cannot be read, so nothing can be decided.
    #[error("what the conversation came to cannot be read")]
    Ledger(#[from] ledger::Error),
    /// The same call was made before.
    #[error("{0}")]
    Duplicate(String, serde_json::Value),
    /// An equal call that this one waited for was refused or ended.
    #[error("{}", .0.message)]
    Shared(Failure),
    /// The caller cancelled or went away.
    #[error("the caller cancelled the call, or went away")]
    Cancelled,
    /// The caller's deadline passed.
    #[error("the caller's deadline passed before the tool had ended")]
    DeadlineExceeded,
}

impl CallError {
    /// The error as a reply tells it.
    pub fn failure(&self) -> Failure {
        match self {
            Self::Admission(error) => error.failure(),
            Self::Catalog(error) => error.failure(),
            Self::Schema(error) => error.failure(),
            Self::Policy(error) => error.failure(),
            Self::Approval(error) => error.failure(),
            Self::Sandbox(error) => error.failure(),
            Self::Ledger(error) => Failure {
                message:
                    "what this conversation came to cannot be read, so the call is not decided: \
                          try again later"
                        .to_owned(),
                ..error.failure()
            },
            Self::Duplicate(message, details) => {
                Failure::new(Code::DuplicateCall, message).with_details(details.clone())
            }
            Self::Shared(failure) => failure.clone(),
            Self::Cancelled => Failure::new(Code::Cancelled, self.to_string()),
            Self::DeadlineExceeded => Failure::new(Code::DeadlineExceeded, self.to_string()),
        }
    }
}
