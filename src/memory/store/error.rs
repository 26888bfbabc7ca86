//! Why a store does not do what it is asked for, in the words of the contract. Decides nothing.

/// Why a store does not do what it is asked for.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// It cannot be opened.
    #[error("cannot open the memory `{place}`: {reason}")]
    Open {
        /// The file, or the server without its password.
        place: String,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// Another daemon has the file.
    #[error(
        "the memory `{place}` is in use by another daemon: give each its own `memory.store.path`"
    )]
    InUse {
        /// The file.
        place: String,
    },
    /// The file or a part of it cannot be read.
    #[error("the memory `{place}` is damaged: {reason}")]
    Damaged {
        /// The file.
        place: String,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// Nothing more can be written; what was there stays.
    #[error("the memory cannot be written: {0}")]
    Full(String),
    /// The server does not answer.
    #[error("the memory's server does not answer: {0}")]
    Down(String),
    /// The server works, and is kept busy by others.
    #[error("the memory is busy: {0}")]
    Busy(String),
    /// The store was closed.
    #[error("the memory is closed")]
    Closed,
    /// Vectors of another length than those of the same model before.
    #[error("vectors of `{model}` have {expected} dimensions here, not {given}")]
    Dimensions {
        /// The model.
        model: String,
        /// What the store has.
        expected: usize,
        /// What was given.
        given: usize,
    },
    /// One more model of image vectors than a tenant can have.
    #[error(
        "this tenant has images of {most} models already, `{model}` would be one more: use one of \
         those, or erase the units that have images of another"
    )]
    Models {
        /// The model.
        model: String,
        /// How many it can have.
        most: i64,
    },
    /// Anything else that its engine says.
    #[error("the memory's store failed: {0}")]
    Engine(String),
}
