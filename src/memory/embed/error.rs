//! Why there are no vectors.

use std::path::PathBuf;
use std::time::Duration;

/// Why there are no vectors. Nothing in it holds a key, a text or an answer's body beyond an excerpt.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A value of the configuration is out of the question.
    #[error("the configuration key `{key}` is wrong: {reason}")]
    Config {
        /// The key, with its tables.
        key: &'static str,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// The model's folder cannot be used.
    #[error("the model in `{folder}` cannot be used: {reason}")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// The model in this process failed.
    #[error("the model `{model}` failed: {reason}")]
    Run {
        /// The model's name.
        model: String,
        /// The cause.
        reason: String,
    },
    /// There is no connection to the endpoint, or it broke.
    #[error("the embedding endpoint {endpoint} cannot be reached: {reason}")]
    Unreachable {
        /// The endpoint, without user name, password and query.
        endpoint: String,
        /// The cause.
        reason: String,
    },
    /// The endpoint did not answer in time.
    #[error("the embedding endpoint {endpoint} did not answer within {} ms", after.as_millis())]
    Late {
        /// The endpoint, without user name, password and query.
        endpoint: String,
        /// How long it was given, with all attempts.
        after: Duration,
    },
    /// The endpoint wants fewer calls or has a fault of its own, also after further attempts.
    #[error("the embedding endpoint {endpoint} is busy: it answered {status} {attempts} times")]
    Busy {
        /// The endpoint, without user name, password and query.
        endpoint: String,
        /// The HTTP status of the last answer.
        status: u16,
        /// How often it was asked.
        attempts: usize,
        /// When to ask again, where it said so.
        retry_after: Option<Duration>,
    },
    /// The endpoint refuses what it is asked, so that asking again is no use.
    #[error("the embedding endpoint {endpoint} refuses with {status}: {reason}")]
    Refused {
        /// The endpoint, without user name, password and query.
        endpoint: String,
        /// The HTTP status.
        status: u16,
        /// What it says, at most 200 characters.
        reason: String,
    },
    /// What the endpoint answered are not the vectors that were asked for.
    #[error("the embedding endpoint {endpoint} answers wrongly: {reason}")]
    Answer {
        /// The endpoint, without user name, password and query.
        endpoint: String,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// The embedder has ended.
    #[error("the embedder has ended")]
    Ended,
}

impl Error {
    /// Whether the same texts may succeed later, with nothing changed here.
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Late { .. } | Self::Busy { .. })
    }
}
