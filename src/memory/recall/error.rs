//! Why a question is not answered.

use crate::memory::StoreError;

/// Why a question is not answered. A single layer that fails is none: it is named in the answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The question cannot be asked so.
    #[error("the question's `{field}` is wrong: {reason}")]
    Question {
        /// The member of the question.
        field: &'static str,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// A value of the configuration is out of the question.
    #[error("the configuration key `{key}` is wrong: {reason}")]
    Config {
        /// The key, with its tables.
        key: &'static str,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// No layer works, or what they found cannot be read.
    #[error("the memory cannot answer")]
    Store(#[from] StoreError),
}
