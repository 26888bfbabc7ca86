//! What signs a ledger as long as it is open for writing: its key, and the file to which each mark
//! is appended before the database has it. A place in the chain in, a [`Mark`] out.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use super::key::{Key, PublicKey};
use super::mark::{self, Lines, Mark, Purpose};
use super::record::Hash;
use super::{Config, Error};

/// The signing end of a ledger.
#[derive(Debug)]
pub(super) struct Seal {
    key: Key,
    ledger: String,
    file: File,
    path: PathBuf,
    length: u64,
    next: u64,
    /// The newest record that a mark vouches for.
    pub(super) marked: i64,
}

impl Seal {
    /// Brings file and database to the same marks, and refuses a database that is not the one, or
    /// not all of the one, that the newest mark vouches for.
    pub(super) fn open(config: &Config, key: Key, connection: &Connection) -> Result<Self, Error> {
        let path = config.checkpoints_path();
        let Some((ledger, _)) = identity(connection)? else {
            return Err(corrupt(&config.path, "it has lost the row that names it and its key"));
        };
        let unopened = |source| Error::Open { path: path.clone(), source: Arc::new(source) };
        let mut lines = match Lines::read(&path) {
            Ok(lines) => lines,
            Err(error) if error.kind() == ErrorKind::NotFound => Lines::default(),
            Err(error) => return Err(unopened(error)),
        };
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600).open(&path).map_err(unopened)?;
        if lines.torn {
            tracing::warn!(file = %path.display(), "a checkpoint was cut short by a crash; it goes");
            file.set_len(lines.whole).map_err(unopened)?;
        }
        if let Some((line, other)) = lines.marks.iter().find(|(_, mark)| !is_of(&ledger, mark)) {
            let whose = other.as_ref().map_or_else(
                || "is no checkpoint".to_owned(),
                |other| format!("belongs to the ledger {}", other.ledger),
            );
            return Err(corrupt(
                &config.path,
                &format!(
                    "line {line} of `{}` {whose}, and this ledger is {ledger}: move the two away \
                 together",
                    path.display()
                ),
            ));
        }
        let length = lines.whole;
        let in_file: Vec<Mark> =
            std::mem::take(&mut lines.marks).into_iter().filter_map(|(_, mark)| mark).collect();
        let mut seal = Self { key, ledger, file, path, length, next: 1, marked: 0 };
        seal.reconcile(in_file, connection, &config.path)?;
        Ok(seal)
    }

    /// Gives the file what only the database has, and holds the newest mark against the records.
    fn reconcile(
        &mut self,
        in_file: Vec<Mark>,
        connection: &Connection,
        ledger: &Path,
    ) -> Result<(), Error> {
        let last = in_file.last().map_or(0, |mark| mark.number);
        let mut marks = in_file;
        for mark in mark::stored(connection)?.into_iter().flatten() {
            if mark.number > last && mark.is_signed_by(&self.key.public()) {
                tracing::warn!(number = mark.number, "a checkpoint was not in its file; it is now");
                self.append(&mark.line())?;
                marks.push(mark);
            }
        }
        self.next = marks.last().map_or(0, |mark| mark.number) + 1;
        // An anchor may be newer, and stand for an older record.
        if let Some(highest) = marks.iter().max_by_key(|mark| mark.sequence) {
            self.marked = highest.seq();
            if let Some(reason) = self.contradiction(highest, connection)? {
                return Err(corrupt(ledger, &reason));
            }
        }
        Ok(())
    }

    /// What about the database is not as the mark says.
    fn contradiction(&self, mark: &Mark, connection: &Connection) -> Result<Option<String>, Error> {
        let Mark { number, sequence, time, .. } = mark;
        if !mark.is_signed_by(&self.key.public()) {
            return Ok(Some(format!("checkpoint {number} is not signed with its key")));
        }
        let sql = "SELECT base_seq, head_seq, CASE base_seq WHEN ?1 THEN base_hash
            ELSE (SELECT hash FROM call WHERE seq = ?1) END FROM chain";
        let (base, head, hash): (i64, i64, Option<Hash>) =
            connection
                .query_row(sql, [mark.seq()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        if mark.seq() > head {
            return Ok(Some(format!(
                "checkpoint {number} of {time} vouches for record {sequence}, and the newest one is \
                 {head}: it was cut, or an older copy was put in its place"
            )));
        }
        let differs =
            mark.seq() >= base && hash.is_none_or(|hash| hex::encode(hash) != mark.digest);
        Ok(differs.then(|| {
            format!(
                "record {sequence} is not the one that checkpoint {number} of {time} vouches for"
            )
        }))
    }

    /// Signs a place in the chain and appends it to the file; the caller gives it to the database.
    pub(super) fn sign(&mut self, purpose: Purpose, seq: i64, hash: &Hash) -> Result<Mark, Error> {
        let mark = Mark::sign(&self.key, &self.ledger, self.next, (purpose, seq, hash));
        self.append(&mark.line())?;
        self.next += 1;
        self.marked = self.marked.max(seq);
        metrics::counter!("switchboard_ledger_checkpoints_total").increment(1);
        Ok(mark)
    }

    fn append(&mut self, line: &str) -> Result<(), Error> {
        let written = self.file.write_all(line.as_bytes());
        if let Err(source) = written {
            // Half a line would look like damage.
            let restored = self.file.set_len(self.length);
            tracing::error!(
                error = %source, restored = restored.is_ok(), "a checkpoint cannot be written"
            );
            return Err(Error::Open { path: self.path.clone(), source: Arc::new(source) });
        }
        self.length += u64::try_from(line.len()).unwrap_or(0);
        Ok(())
    }
}

/// Id and public key of a ledger; `None` for one that was never signed.
pub(super) fn identity(connection: &Connection) -> rusqlite::Result<Option<(String, String)>> {
    connection
        .query_row("SELECT ledger, key FROM seal", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

/// The public key that a ledger says it is signed with.
pub(super) fn known_key(connection: &Connection, path: &Path) -> Result<Option<PublicKey>, Error> {
    let Some((_, key)) = identity(connection)? else {
        return Ok(None);
    };
    PublicKey::parse(&key).map(Some).map_err(|reason| corrupt(path, &reason))
}

fn is_of(ledger: &str, mark: &Option<Mark>) -> bool {
    mark.as_ref().is_some_and(|mark| mark.ledger == ledger)
}

fn corrupt(path: &Path, reason: &str) -> Error {
    Error::Corrupt { path: path.to_owned(), reason: reason.to_owned() }
}
