//! The database file of the memory: made, opened and checked here, and nowhere else. It neither
//! writes nor reads units.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::super::Error;
use super::Config;
use crate::config::{Unclaimed, claim};

/// Marks a database file as a memory: `SWME`.
const APPLICATION: i64 = 0x5357_4d45;
/// The newest format that this version knows.
const FORMAT: i64 = 1;
/// How long a statement waits for another process that holds the file.
const PATIENCE: Duration = Duration::from_secs(1);
/// Length to which the log is cut back after it was longer.
const LOG_BYTES: i64 = 192 << 20;
/// Bytes up to which every page of the file is looked at when it is opened. A larger one is looked at
/// where it is read to make the indexes, which is all of it but its own indexes.
const SMALL: u64 = 32 << 20;
/// What to do about a damaged file.
pub(super) const MEND: &str = "nothing in it was changed: keep a copy, get what can be read with \
                               `sqlite3 FILE .recover`, or put a backup in its place";

/// Times are whole microseconds since 1970, UTC; what is finer is left off. Ids of chunks hold their
/// version and place, those of vectors the chunk and model: see `rows.rs`.
const CREATE: &str = "
    CREATE TABLE clock (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        seq INTEGER NOT NULL,
        recorded INTEGER NOT NULL
    ) STRICT;
    INSERT INTO clock VALUES (1, 0, 0);
    CREATE TABLE receipt (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        tenant TEXT NOT NULL,
        caller TEXT NOT NULL,
        stage TEXT NOT NULL,
        unit TEXT,
        seq INTEGER,
        made INTEGER,
        remarks TEXT NOT NULL,
        arrived INTEGER NOT NULL,
        changed INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX receipt_unit ON receipt (unit) WHERE unit IS NOT NULL;
    CREATE TABLE inbox (
        number INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        source TEXT NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
    CREATE TABLE version (
        seq INTEGER PRIMARY KEY,
        unit TEXT NOT NULL,
        tenant TEXT NOT NULL,
        collection TEXT NOT NULL,
        owner TEXT NOT NULL,
        layer TEXT NOT NULL,
        source TEXT NOT NULL,
        source_id TEXT NOT NULL,
        series TEXT NOT NULL,
        position INTEGER NOT NULL,
        kind TEXT NOT NULL,
        state TEXT NOT NULL,
        trust INTEGER NOT NULL,
        origin TEXT NOT NULL,
        source_time INTEGER NOT NULL,
        valid_from INTEGER,
        valid_to INTEGER,
        recorded INTEGER NOT NULL,
        ended_at INTEGER,
        ended_why TEXT,
        ended_by TEXT,
        latitude REAL,
        longitude REAL,
        digest TEXT NOT NULL,
        conflicts TEXT NOT NULL,
        remarks TEXT NOT NULL,
        draft TEXT NOT NULL
    ) STRICT;
    CREATE INDEX version_unit ON version (unit);
    CREATE INDEX version_source ON version (source_id, source, collection, tenant);
    CREATE INDEX version_digest ON version (digest) WHERE ended_at IS NULL;
    CREATE INDEX version_series ON version (series, collection, tenant, position, seq)
        WHERE series <> '';
    CREATE INDEX version_conflicts ON version (seq) WHERE conflicts <> '[]';
    CREATE TABLE used (
        seq INTEGER PRIMARY KEY,
        at INTEGER,
        uses INTEGER NOT NULL,
        said INTEGER
    ) STRICT;
    CREATE TABLE fact (
        entity TEXT NOT NULL,
        attribute TEXT NOT NULL,
        collection TEXT NOT NULL,
        tenant TEXT NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (entity, attribute, collection, tenant, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE chunk (
        id INTEGER PRIMARY KEY,
        text TEXT NOT NULL
    ) STRICT;
    CREATE TABLE model (
        id INTEGER PRIMARY KEY CHECK (id BETWEEN 0 AND 127),
        name TEXT NOT NULL,
        what TEXT NOT NULL,
        dimensions INTEGER NOT NULL,
        UNIQUE (name, what)
    ) STRICT;
    CREATE TABLE vector (
        id INTEGER PRIMARY KEY,
        numbers BLOB NOT NULL
    ) STRICT;
    CREATE TABLE picture (
        id INTEGER PRIMARY KEY,
        numbers BLOB NOT NULL
    ) STRICT;
    CREATE VIRTUAL TABLE place USING rtree (seq, south, north, west, east);
    CREATE TABLE vote (
        seq INTEGER NOT NULL,
        by TEXT NOT NULL,
        approve INTEGER NOT NULL,
        reason TEXT NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (seq, by)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE run (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        at INTEGER NOT NULL,
        summary TEXT NOT NULL,
        changed INTEGER NOT NULL,
        undone INTEGER NOT NULL,
        tenant TEXT NOT NULL,
        collections TEXT NOT NULL
    ) STRICT;
    CREATE TABLE journal (
        seq INTEGER NOT NULL,
        run INTEGER NOT NULL,
        before TEXT NOT NULL,
        after TEXT NOT NULL,
        PRIMARY KEY (seq, run)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX journal_run ON journal (run);
";

/// Takes the file for this process alone, and opens it for writing; makes it, with mode 0600, when
/// there is none. The lock ends with what is returned.
pub(super) fn open(config: &Config) -> Result<(Connection, File), Error> {
    let path = &config.path;
    let lock = claim(path).map_err(|unclaimed| match unclaimed {
        Unclaimed::InUse => Error::InUse { place: place(path) },
        Unclaimed::Refused(source) => Error::Open {
            place: place(path),
            reason: format!("{source}: check the folder, its owner and its mode"),
        },
    })?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = connect(path, flags)?;
    let format = identify(&connection, path)?;
    if format == 0 {
        let set = connection.pragma_update(None, "auto_vacuum", "INCREMENTAL");
        set.map_err(|error| told(&error, path))?;
    }
    let mode: String = connection
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .map_err(|error| told(&error, path))?;
    if mode != "wal" {
        return Err(Error::Open {
            place: place(path),
            reason: format!("its file system allows journal mode {mode} only: use a local disk"),
        });
    }
    tune(&connection).map_err(|error| told(&error, path))?;
    if let Some(bytes) = config.max_bytes {
        limit(&connection, bytes).map_err(|error| told(&error, path))?;
    }
    if format == 0 {
        create(&connection).map_err(|error| told(&error, path))?;
    }
    check(&connection, path)?;
    Ok((connection, lock))
}

/// Another connection to the file, for reading.
pub(super) fn open_reader(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = connect(path, flags)?;
    connection.set_prepared_statement_cache_capacity(64);
    let tuned = connection.pragma_update(None, "cache_size", -8192);
    tuned.map_err(|error| told(&error, path))?;
    Ok(connection)
}

/// Another connection to the file, for upkeep of its log.
pub(super) fn open_beside(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = connect(path, flags)?;
    tune(&connection).map_err(|error| told(&error, path))?;
    Ok(connection)
}

/// The file as messages name it.
pub(super) fn place(path: &Path) -> String {
    path.display().to_string()
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Error> {
    let opened = Connection::open_with_flags(path, flags);
    let connection = opened.map_err(|error| told(&error, path))?;
    connection.busy_timeout(PATIENCE).map_err(|error| told(&error, path))?;
    Ok(connection)
}

fn tune(connection: &Connection) -> rusqlite::Result<()> {
    // The log is written before a write is acknowledged; it is flushed to the disk by upkeep.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    // What is erased is overwritten.
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "cache_size", -32_768)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

fn limit(connection: &Connection, bytes: u64) -> rusqlite::Result<()> {
    let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page.max(1);
    // Answers with the limit that holds.
    connection.query_row(&format!("PRAGMA max_page_count = {}", pages.max(1)), [], |_| Ok(()))
}

/// The format of a memory; 0 for an empty file; an error for any other file.
fn identify(connection: &Connection, path: &Path) -> Result<i64, Error> {
    let number = |sql: &str| -> Result<i64, Error> {
        connection.query_row(sql, [], |row| row.get(0)).map_err(|error| told(&error, path))
    };
    let application = number("PRAGMA application_id")?;
    let format = number("PRAGMA user_version")?;
    if application == 0 && format == 0 && number("SELECT count(*) FROM sqlite_schema")? == 0 {
        return Ok(0);
    }
    let wrong = |reason: String| Error::Open { place: place(path), reason };
    if application != APPLICATION {
        let reason = "it is the database of another program: name another file";
        return Err(wrong(reason.to_owned()));
    }
    if format > FORMAT {
        let reason =
            format!("it has format {format}, this version knows {FORMAT}: update switchboard");
        return Err(wrong(reason));
    }
    Ok(format)
}

fn create(connection: &Connection) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    transaction.execute_batch(CREATE)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

/// Looks for damage that can be seen without reading everything.
fn check(connection: &Connection, path: &Path) -> Result<(), Error> {
    let damaged =
        |reason: String| Error::Damaged { place: place(path), reason: format!("{reason}; {MEND}") };
    let small = std::fs::metadata(path).is_ok_and(|about| about.len() <= SMALL);
    if small {
        let found: String = connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| told(&error, path))?;
        if found != "ok" {
            return Err(damaged(found));
        }
    }
    let sql = "SELECT seq, coalesce((SELECT max(seq) FROM version), 0) FROM clock";
    let (clock, newest): (i64, i64) = connection
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(|error| told(&error, path))?;
    if newest > clock {
        return Err(damaged(format!("it holds version {newest} and has counted to {clock}")));
    }
    Ok(())
}

/// What an error of the engine means.
pub(super) fn told(error: &rusqlite::Error, path: &Path) -> Error {
    let (place, said) = (place(path), error.to_string());
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::Full(format!(
            "the disk of `{place}`, or the room that `memory.store.max_bytes` gives it, is full: \
             free space, forget units, or raise it"
        )),
        Some(ErrorCode::DatabaseCorrupt) => {
            Error::Damaged { place, reason: format!("{said}; {MEND}") }
        }
        Some(ErrorCode::NotADatabase) => {
            let reason = "it is no database: name another file, or move this one away";
            Error::Open { place, reason: reason.to_owned() }
        }
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            let reason = format!("{said}: check the folder, its owner and its mode");
            Error::Open { place, reason }
        }
        Some(ErrorCode::SystemIoFailure) => {
            Error::Full(format!("the disk of `{place}` fails ({said}): see the system's log"))
        }
        _ => Error::Engine(said),
    }
}
