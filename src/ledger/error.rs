//! What can go wrong in this room. None of it is ever passed over: a call whose record cannot be
//! written gets an error in place of its reply.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::ErrorCode;

use crate::call::{Code, Failure};

/// Why the ledger cannot be opened, written or read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The file, its folder or its lock cannot be made or opened.
    #[error("cannot open the ledger `{}`: check the folder, its owner and its mode", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// Another process writes to the same file.
    #[error("the ledger `{}` is in use by another daemon: give each its own file", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("`{}` is not a ledger ({reason}): name another file, or move this one away", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// How it shows.
        reason: String,
    },
    /// The file is a ledger and is damaged.
    #[error("the ledger `{}` is damaged ({reason}): keep it for review and move it away", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// How it shows.
        reason: String,
    },
    /// The key that signs the ledger cannot be used.
    #[error("the ledger's key `{}` cannot be used: {reason}", path.display())]
    Key {
        /// The key's file.
        path: PathBuf,
        /// Why not, and how to mend it.
        reason: String,
    },
    /// Original arguments cannot be sealed, or not be opened again.
    #[error("the original arguments cannot be kept or read: {0}")]
    Original(String),
    /// A later version of the product wrote the file.
    #[error("the ledger `{}` has format {found}, and this version knows {known}: update switchboard", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Format of the file.
        found: i64,
        /// Newest format that this version knows.
        known: i64,
    },
    /// The disk is full.
    #[error("the ledger's disk is full: free space, or shorten the retention")]
    Full(#[source] Arc<rusqlite::Error>),
    /// Another process holds the file's lock.
    #[error("the ledger is locked by another process: close what has it open for writing")]
    Locked(#[source] Arc<rusqlite::Error>),
    /// The database said something else.
    #[error("the ledger cannot be written or read")]
    Database(#[source] Arc<rusqlite::Error>),
    /// The ledger was closed, or opened for reading only.
    #[error("the ledger is closed for writing")]
    Closed,
}

impl Error {
    /// The error as a reply says it: the daemon cannot serve calls that it cannot record.
    pub fn failure(&self) -> Failure {
        let mut failure = Failure::new(
            Code::LedgerUnavailable,
            "the call cannot be recorded, so its reply is withheld: try again later",
        );
        failure.retry_after = Some(Duration::from_secs(1));
        failure
    }

    /// Whether one record cannot be the reason: all others would fail alike.
    pub(super) fn concerns_all(&self) -> bool {
        !matches!(self, Self::Database(error)
            if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation))
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full(Arc::new(error)),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Locked(Arc::new(error))
            }
            _ => Self::Database(Arc::new(error)),
        }
    }
}
