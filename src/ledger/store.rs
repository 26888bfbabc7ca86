//! The database file: made, opened, checked and brought to the current format here, and nowhere
//! else. It neither writes nor reads records.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, params};

use super::key::Key;
use super::mark::Purpose;
use super::record::Hash;
use super::seal::{self, Seal};
use super::{Config, Error};
use crate::config::{Unclaimed, claim};

/// Marks a database file as a ledger: `SWLG`.
const APPLICATION: i64 = 0x5357_4c47;
/// The newest format that this version knows.
const FORMAT: i64 = 3;
/// How long a statement waits for another process that holds the file.
const PATIENCE: Duration = Duration::from_secs(1);
/// Length to which the log is cut back after it was longer.
const LOG_BYTES: i64 = 192 << 20;
/// Bytes of a page. A commit writes whole pages, one for each index at least, to the log: small ones
/// keep it short.
const PAGE_BYTES: i64 = 1024;

/// Columns of `call` are the record; `chain` has one row: the record before the oldest one kept
/// (all zero in a new ledger), and the newest one.
const CREATE: &str = "
    CREATE TABLE call (
        seq INTEGER PRIMARY KEY,
        call_id TEXT NOT NULL UNIQUE,
        time_ms INTEGER NOT NULL,
        caller TEXT NOT NULL,
        tenant TEXT NOT NULL,
        conversation TEXT NOT NULL,
        tool TEXT NOT NULL,
        status TEXT NOT NULL,
        code TEXT,
        arguments TEXT NOT NULL,
        facts TEXT NOT NULL,
        reply BLOB NOT NULL,
        reply_digest BLOB NOT NULL,
        hash BLOB NOT NULL
    ) STRICT;
    CREATE INDEX call_time ON call (time_ms);
    CREATE INDEX call_tool ON call (tool);
    CREATE INDEX call_caller ON call (caller);
    CREATE INDEX call_code ON call (code) WHERE code IS NOT NULL;
    CREATE INDEX call_conversation ON call (conversation) WHERE conversation <> '';
    CREATE TABLE chain (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        base_seq INTEGER NOT NULL,
        base_hash BLOB NOT NULL,
        head_seq INTEGER NOT NULL,
        head_hash BLOB NOT NULL
    ) STRICT;
    INSERT INTO chain VALUES (1, 0, zeroblob(32), 0, zeroblob(32));
";
/// What format 2 adds. `seal` has one row: the ledger's id, and the public half of its key in hex.
/// `mark` has the marks that retention left; `line` is the mark as it stands in its file.
const SIGN: &str = "
    CREATE TABLE seal (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        ledger TEXT NOT NULL,
        key TEXT NOT NULL
    ) STRICT;
    CREATE TABLE mark (
        number INTEGER PRIMARY KEY,
        purpose TEXT NOT NULL,
        seq INTEGER NOT NULL,
        line TEXT NOT NULL
    ) STRICT;
    CREATE INDEX mark_seq ON mark (seq);
";
/// What format 3 adds: arguments as they came, sealed, where the operator keeps them.
const ORIGINALS: &str = "
    CREATE TABLE original (
        seq INTEGER PRIMARY KEY,
        sealed BLOB NOT NULL
    ) STRICT;
";

/// The writing end of a ledger file; no other process has one as long as this lives.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) connection: Connection,
    /// Signs its checkpoints.
    pub(super) seal: Seal,
    /// Whether the last commit failed.
    pub(super) is_failing: bool,
    /// Held, not read: its lock ends with the process, however that ends.
    _lock: File,
}

impl Store {
    /// Opens the file for writing; makes it and its key, with mode 0600, when there is none.
    pub(super) fn open(config: &Config) -> Result<Self, Error> {
        let path = &config.path;
        let lock = prepare(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = connect(path, flags)?;
        if identify(&connection, path)? == 0 {
            connection.pragma_update(None, "page_size", PAGE_BYTES)?;
        }
        let mode: String = connection
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
            .map_err(|error| explain(error, path))?;
        if mode != "wal" {
            return Err(Error::Foreign {
                path: path.to_owned(),
                reason: format!("journal mode {mode}, and its file system allows no other"),
            });
        }
        tune(&connection)?;
        let known = match identify(&connection, path)? {
            0 => None,
            1 => {
                no_key_yet(&config.key_path())?;
                None
            }
            _ => seal::known_key(&connection, path).map_err(|error| retold(error, path))?,
        };
        let key = Key::open(&config.key_path(), known)?;
        migrate(&connection, path, &key)?;
        check_ends(&connection, path)?;
        let seal = Seal::open(config, key, &connection).map_err(|error| retold(error, path))?;
        let mut store = Self { connection, seal, is_failing: false, _lock: lock };
        store.begin()?;
        Ok(store)
    }

    /// Marks where the chain begins, when no mark says so yet.
    fn begin(&mut self) -> Result<(), Error> {
        let sql = "SELECT base_seq, base_hash, EXISTS (SELECT 1 FROM mark) FROM chain";
        let (seq, hash, is_marked): (i64, Hash, bool) =
            self.connection
                .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        if !is_marked {
            self.seal.sign(Purpose::Anchor, seq, &hash)?.insert(&self.connection)?;
        }
        Ok(())
    }

    /// Signs a record that was the newest one, unless that was done.
    pub(super) fn mark(&mut self, seq: i64, hash: &Hash) -> Result<(), Error> {
        if seq > self.seal.marked {
            self.seal.sign(Purpose::Checkpoint, seq, hash)?.insert(&self.connection)?;
        }
        Ok(())
    }

    /// Place and digest of the newest record.
    pub(super) fn head(&self) -> Result<(i64, Hash), Error> {
        head(&self.connection)
    }
}

/// Place and digest of the newest record.
pub(super) fn head(connection: &Connection) -> Result<(i64, Hash), Error> {
    let head = connection
        .prepare_cached("SELECT head_seq, head_hash FROM chain")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(head)
}

/// Opens an existing ledger for reading, beside a daemon that writes to it or without one.
pub(super) fn open_read_only(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = connect(path, flags)?;
    if identify(&connection, path)? == 0 {
        return Err(Error::Foreign { path: path.to_owned(), reason: "it is empty".to_owned() });
    }
    Ok(connection)
}

/// Another connection to a file that is already open for writing, for upkeep of its log.
pub(super) fn open_beside(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = connect(path, flags)?;
    tune(&connection)?;
    Ok(connection)
}

/// Takes the file for this process alone.
fn prepare(path: &Path) -> Result<File, Error> {
    claim(path).map_err(|unclaimed| match unclaimed {
        Unclaimed::InUse => Error::InUse { path: path.to_owned() },
        Unclaimed::Refused(source) => {
            Error::Open { path: path.to_owned(), source: Arc::new(source) }
        }
    })
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Error> {
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| explain(error, path))?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

fn tune(connection: &Connection) -> Result<(), Error> {
    // The log is written before a reply leaves; it is flushed to the disk by upkeep, not here.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    connection.pragma_update(None, "cache_size", -4096)?;
    Ok(())
}

/// The format of a ledger; 0 for an empty file; an error for any other file.
fn identify(connection: &Connection, path: &Path) -> Result<i64, Error> {
    let number = |pragma: &str| -> Result<i64, Error> {
        connection
            .pragma_query_value(None, pragma, |row| row.get(0))
            .map_err(|error| explain(error, path))
    };
    let (application, format) = (number("application_id")?, number("user_version")?);
    if application == 0 && format == 0 {
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(|error| explain(error, path))?;
        if tables == 0 {
            return Ok(0);
        }
    }
    if application != APPLICATION {
        return Err(Error::Foreign {
            path: path.to_owned(),
            reason: "it is the database of another program".to_owned(),
        });
    }
    if format > FORMAT {
        return Err(Error::Newer { path: path.to_owned(), found: format, known: FORMAT });
    }
    Ok(format)
}

/// Whether the ledger has a key; those of the first format have none.
pub(super) fn is_signed(connection: &Connection) -> Result<bool, Error> {
    Ok(format(connection)? > 1)
}

/// Whether the ledger has room for original arguments; those of earlier formats have none.
pub(super) fn has_originals(connection: &Connection) -> Result<bool, Error> {
    Ok(format(connection)? > 2)
}

fn format(connection: &Connection) -> Result<i64, Error> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Refuses to sign a ledger of the first format with a key that was there before: whoever can write
/// the database could take a signed ledger for one, and have what they wrote vouched for.
fn no_key_yet(path: &Path) -> Result<(), Error> {
    if !path.exists() {
        return Ok(());
    }
    let reason = "it is there, though the ledger says that it was never signed: verify the ledger, with \
                  its checkpoints, and move the key away if all is well";
    Err(Error::Key { path: path.to_owned(), reason: reason.to_owned() })
}

fn migrate(connection: &Connection, path: &Path, key: &Key) -> Result<(), Error> {
    let format = identify(connection, path)?;
    if format >= FORMAT {
        return Ok(());
    }
    let transaction = connection.unchecked_transaction()?;
    if format < 1 {
        transaction.execute_batch(CREATE)?;
    }
    if format < 2 {
        transaction.execute_batch(SIGN)?;
        let ledger = uuid::Uuid::new_v4().simple().to_string();
        let row = params![ledger, key.public().to_string()];
        transaction.execute("INSERT INTO seal VALUES (1, ?1, ?2)", row)?;
    }
    transaction.execute_batch(ORIGINALS)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()?;
    // Marks that are made from now on must not reach the disk before what it vouches for.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// Compares the two ends of the chain with the records; the rest is what `verify` is for.
fn check_ends(connection: &Connection, path: &Path) -> Result<(), Error> {
    let sql = "SELECT base_seq, head_seq,
            coalesce((SELECT min(seq) FROM call), base_seq + 1),
            coalesce((SELECT max(seq) FROM call), base_seq)
        FROM chain";
    let (base, head, first, last): (i64, i64, i64, i64) = connection
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .map_err(|error| explain(error, path))?;
    if first != base + 1 || last != head {
        return Err(Error::Corrupt {
            path: path.to_owned(),
            reason: format!(
                "it should hold records {} to {head}, and holds {first} to {last}",
                base + 1
            ),
        });
    }
    Ok(())
}

/// What a database's error means while a file is opened.
fn retold(error: Error, path: &Path) -> Error {
    match error {
        Error::Database(error) if error.sqlite_error_code() != Some(ErrorCode::DiskFull) => {
            Error::Corrupt { path: path.to_owned(), reason: error.to_string() }
        }
        other => other,
    }
}

/// What an error means while a file is opened.
fn explain(error: rusqlite::Error, path: &Path) -> Error {
    let path = path.to_owned();
    let reason = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => Error::Foreign { path, reason },
        Some(ErrorCode::DatabaseCorrupt) => Error::Corrupt { path, reason },
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            Error::Open { path, source: Arc::new(std::io::Error::other(error)) }
        }
        // A missing table or column.
        Some(ErrorCode::Unknown) => Error::Corrupt { path, reason },
        _ => error.into(),
    }
}
