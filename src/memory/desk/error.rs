//! Why a request to the memory has no answer.

use crate::call::Code;
use crate::memory::{StoreError, context, fault, recall};
use crate::{ledger, policy};

/// Why a request to the memory has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This daemon has no memory.
    #[error("this daemon has no memory: {0}")]
    Off(String),
    /// It has one that does not answer now.
    #[error("{0}")]
    Unavailable(String),
    /// Policy does not permit it, or there is no such collection.
    #[error(transparent)]
    Denied(#[from] Box<policy::Refused>),
    /// The memory does not do it.
    #[error(transparent)]
    Fault(#[from] fault::Error),
    /// The question is not answered.
    #[error(transparent)]
    Recall(#[from] recall::Error),
    /// The context cannot be put together.
    #[error(transparent)]
    Context(#[from] context::Error),
    /// The caller's deadline passed.
    #[error("the deadline passed before the memory had answered")]
    Late,
    /// The record could not be kept, so there is no answer.
    #[error("the request cannot be recorded, so it is not answered: try again later")]
    Unrecorded(#[from] ledger::Error),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Fault(error.into())
    }
}

impl Error {
    /// What the store said, where it is the cause.
    pub fn store(&self) -> Option<&StoreError> {
        match self {
            Self::Fault(fault::Error::Store(error)) | Self::Recall(recall::Error::Store(error)) => {
                Some(error)
            }
            _ => None,
        }
    }

    /// The code of the record.
    pub(super) fn code(&self) -> Code {
        if let Some(StoreError::Busy(_)) = self.store() {
            return Code::RateLimited;
        }
        match self {
            Self::Off(_) | Self::Unavailable(_) | Self::Unrecorded(_) => Code::Internal,
            Self::Denied(_) => Code::PolicyDenied,
            Self::Late => Code::DeadlineExceeded,
            Self::Fault(fault) => code(fault),
            Self::Recall(recall::Error::Question { .. }) | Self::Context(_) => {
                Code::SchemaValidationError
            }
            Self::Recall(_) => Code::ExecutionError,
        }
    }
}

/// The code of the record of a write that is not taken.
pub(super) fn code(fault: &fault::Error) -> Code {
    use fault::Error;
    match fault {
        Error::Refused(_) | Error::Argument { .. } => Code::SchemaValidationError,
        Error::Unknown { .. } | Error::Forbidden(_) => Code::PolicyDenied,
        Error::Known { .. } => Code::DuplicateCall,
        Error::Busy { .. } | Error::Store(StoreError::Busy(_)) => Code::RateLimited,
        Error::State(_) | Error::Store(_) => Code::ExecutionError,
    }
}
