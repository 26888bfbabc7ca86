//! What can go wrong around a run. What goes wrong in one is an event of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Why a run is not started, not told or not ended.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The question, or what belongs to it, is out of the question.
    #[error("`{field}` {reason}")]
    Argument {
        /// The field.
        field: &'static str,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// There is no such run, or none of this caller.
    #[error("there is no run `{0}`")]
    Unknown(String),
    /// There is no such agent, or none that the caller may use.
    #[error("there is no agent `{0}`: `agents/*.toml` of the policies folder declares them")]
    Agent(String),
    /// The run is not so far.
    #[error("run `{run}` {reason}")]
    State {
        /// The run.
        run: String,
        /// What is wrong and what to do.
        reason: &'static str,
    },
    /// There are too many runs.
    #[error("{limit} runs {whose} are under way, which is the limit: wait for one to end")]
    Busy {
        /// The limit.
        limit: u32,
        /// Whose it is.
        whose: &'static str,
        /// When to come again.
        retry_after: Duration,
    },
    /// This daemon does not reason.
    #[error("this daemon does not reason: {0}")]
    Off(String),
    /// Nobody works on the run, although it has not ended.
    #[error(
        "run `{0}` stopped, since what happened in it could not be kept: resume it, or cancel it"
    )]
    Stopped(String),
    /// The daemon is on its way out.
    #[error("the daemon is shutting down: go on at its successor, from the last event")]
    Draining,
    /// The file cannot be had.
    #[error("cannot open the runs `{}`: {reason}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why, and how to mend it.
        reason: String,
    },
    /// The database said something else.
    #[error("the runs cannot be written or read")]
    Database(#[source] Arc<rusqlite::Error>),
    /// An event of the store is not one that this version knows.
    #[error("event {seq} of run `{run}` cannot be read: {reason}")]
    Unread {
        /// The run.
        run: String,
        /// The event.
        seq: u64,
        /// Why.
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
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(Arc::new(error))
    }
}

impl Error {
    /// Whether the disk has no room.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Database(error)
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull))
    }

    /// The error as it is told whoever asks: with its cause, and what to do, where it is the file's.
    pub fn told(&self) -> String {
        match self {
            Self::Database(_) if self.is_full() => "the disk has no room for the events of runs: \
                make room where `reason.path` is, then resume"
                .to_owned(),
            Self::Database(cause) => {
                format!("{self}: {cause}; mend the file of `reason.path`, or move it away")
            }
            _ => self.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_says_why_and_what_to_do() {
        let told = |code| {
            let failed = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            Error::from(failed).told()
        };
        assert_eq!(
            told(ffi::SQLITE_FULL),
            "the disk has no room for the events of runs: make room where `reason.path` is, then \
             resume"
        );
        for (code, why) in [(ffi::SQLITE_READONLY, "readonly"), (ffi::SQLITE_CORRUPT, "malformed")]
        {
            assert!(
                told(code).contains(why) && told(code).contains("`reason.path`"),
                "{}",
                told(code)
            );
        }
    }
}
