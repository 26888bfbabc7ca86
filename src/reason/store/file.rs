//! The database file of the runs: its tables, and how it is written to and read.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::super::Error;
use crate::config::{self, database};

/// How long a statement waits for another that holds the file.
const PATIENCE: Duration = Duration::from_secs(1);
/// Length to which the log is cut back after it was longer.
const LOG_BYTES: i64 = 64 << 20;

const FORM: config::Form = config::Form {
    key: "reason.path",
    // `SWRN`.
    application: 0x5357_524e,
    format: 1,
    schema: CREATE,
};
const CREATE: &str = "
    CREATE TABLE run (
        id TEXT PRIMARY KEY,
        caller TEXT NOT NULL,
        tenant TEXT NOT NULL,
        conversation TEXT NOT NULL,
        agent TEXT NOT NULL,
        question TEXT NOT NULL,
        started_ms INTEGER NOT NULL,
        ended_ms INTEGER,
        state TEXT NOT NULL,
        last_seq INTEGER NOT NULL,
        steps INTEGER NOT NULL,
        input INTEGER NOT NULL,
        output INTEGER NOT NULL,
        estimated INTEGER NOT NULL,
        money TEXT NOT NULL,
        code TEXT NOT NULL
    ) STRICT;
    CREATE INDEX run_whose ON run (tenant, caller, id);
    CREATE INDEX run_open ON run (id) WHERE ended_ms IS NULL;
    CREATE INDEX run_ended ON run (ended_ms) WHERE ended_ms IS NOT NULL;
    CREATE TABLE event (
        run TEXT NOT NULL,
        seq INTEGER NOT NULL,
        at_us INTEGER NOT NULL,
        step INTEGER NOT NULL,
        task TEXT NOT NULL,
        event TEXT NOT NULL,
        UNIQUE (run, seq)
    ) STRICT;
";

/// The writing end; no other process has one as long as this lives.
#[derive(Debug)]
pub(super) struct File {
    pub(super) connection: Connection,
    /// Held, not read: its lock ends with the process, however that ends.
    _lock: fs::File,
}

impl File {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let refused = |reason: String| Error::Open { path: path.to_owned(), reason };
        let unread = |error: rusqlite::Error| refused(format!("{error}: move the file away"));
        let (connection, lock) = database(path, &FORM).map_err(refused)?;
        let mode: String = connection
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
            .map_err(unread)?;
        if mode != "wal" {
            return Err(refused(format!("journal mode {mode}, and its file system has no other")));
        }
        tune(&connection).map_err(unread)?;
        Ok(Self { connection, _lock: lock })
    }
}

fn tune(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    // What is in the log survives the end of the process; the disk has it with the next checkpoint.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    connection.pragma_update(None, "cache_size", -2048)
}

/// A reading connection beside the writing one.
pub(super) fn beside(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}
