//! Why the models cannot be opened.

use std::path::PathBuf;
use std::sync::Arc;

/// Why the models cannot be opened. Nothing in it holds a key.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A value of the configuration is out of the question.
    #[error("the configuration key `models.{key}` is wrong: {reason}")]
    Config {
        /// The key, with the tables below `models`.
        key: String,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// The file of what was spent cannot be had.
    #[error("cannot open the file `{}` of what was spent on models: {reason}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why, and how to mend it.
        reason: String,
    },
    /// The database said something else.
    #[error("what was spent on models cannot be written or read")]
    Database(#[source] Arc<rusqlite::Error>),
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(Arc::new(error))
    }
}
