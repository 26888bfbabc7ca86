//! The proof that a ledger's records are as they were written: every hash computed again, from the
//! oldest record to the newest, and held against the signed marks. A file in, a [`Verification`]
//! out, which names each [`Damage`]. It mends nothing.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, Row as SqlRow};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::diagnose::{self, Limits};
use super::key::PublicKey;
use super::mark::Mark;
use super::record::{Hash, Parts};
use super::{Error, store, witness};

/// Damages that are told; the search ends with the last of them.
const MOST: usize = 100;
/// What a record is proved by, in the order of [`View`].
pub(super) const COLUMNS: &str = "seq, hash, time_ms, reply_digest, reply, call_id, caller, tenant,
    conversation, tool, status, code, arguments, facts";

/// What a ledger is held against beside itself.
#[derive(Debug, Clone, Default)]
pub struct Against {
    /// The public key that must have signed it; without one, the key that the ledger names.
    pub key: Option<PublicKey>,
    /// The file of its checkpoints, which must be there; without one, the ledger's path with
    /// `.checkpoints` added, if there is such a file.
    pub checkpoints: Option<PathBuf>,
}

/// Ways in which a ledger can be damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A record is not as it was written.
    Changed,
    /// Records are gone from between others, or from the beginning.
    Missing,
    /// A record is there that was not written.
    Inserted,
    /// A record stands in the place of another.
    Reordered,
    /// The newest records are gone.
    Cut,
    /// Digests were computed anew after a change.
    Rewritten,
    /// It is another ledger than the one that was signed.
    Replaced,
    /// A checkpoint, or the file of them, was changed or shortened.
    Checkpoint,
    /// A signature is wrong or missing.
    Signature,
    /// It is signed with another key.
    Key,
    /// The database cannot be read here.
    Unreadable,
    /// It is no ledger.
    Foreign,
}

/// One thing that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Which way.
    pub kind: Kind,
    /// Place of the first record that is concerned.
    pub seq: Option<u64>,
    /// Id of that record's call, where it is there.
    pub call_id: Option<String>,
    /// What is wrong, in one line.
    pub reason: String,
}

/// What verification found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Id of the ledger; `None` for one that was never signed.
    pub ledger: Option<String>,
    /// The key by which its marks were checked.
    pub key: Option<PublicKey>,
    /// Whether that key was given from outside; the one that the ledger names proves less.
    pub key_given: bool,
    /// Records that are as they were written.
    pub records: u64,
    /// The record after which the chain begins: the last one that retention removed, 0 when it
    /// removed none.
    pub pruned_to: u64,
    /// Arrival of the oldest record; from then on the ledger is complete.
    pub complete_from: Option<Timestamp>,
    /// The newest record.
    pub head: u64,
    /// Marks that are signed and agree with the records.
    pub checkpoints: u64,
    /// The newest record that a mark vouches for.
    pub vouched_to: u64,
    /// All that is not as it was written, up to 100.
    pub damage: Vec<Damage>,
}

impl Verification {
    /// Whether nothing is wrong.
    pub fn holds(&self) -> bool {
        self.damage.is_empty()
    }

    pub(super) fn tell(&mut self, kind: Kind, seq: Option<u64>, reason: String) {
        self.damage.push(Damage { kind, seq, call_id: None, reason });
    }

    /// An error that means a damage; others are given back.
    fn take(&mut self, error: Error, at: Option<u64>) -> Result<(), Error> {
        let kind = match &error {
            Error::Foreign { .. } => Kind::Foreign,
            Error::Corrupt { .. } => Kind::Unreadable,
            Error::Database(error) if is_damage(error.sqlite_error_code()) => Kind::Unreadable,
            _ => return Err(error),
        };
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        self.tell(kind, at, format!("{error}{}", cause.unwrap_or_default()));
        Ok(())
    }
}

const fn is_damage(code: Option<ErrorCode>) -> bool {
    matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown))
}

/// Verifies a ledger's database.
pub(super) fn database(path: &Path, against: &Against) -> Result<Verification, Error> {
    let mut found = Verification::default();
    let connection = match store::open_read_only(path) {
        Ok(connection) => connection,
        Err(error) => return found.take(error, None).map(|()| found),
    };
    // Before the records: a daemon may write while this reads.
    let file = witness::File::read(path, against)?;
    let snapshot = connection.unchecked_transaction()?;
    let signed = store::is_signed(&snapshot)?;
    let walked = ends(&snapshot).map_err(Error::from).and_then(|ends| {
        let marks = witness::hear(&snapshot, (signed, &ends), (file, against), &mut found)?;
        let mut walk = Walk::new(&snapshot, ends, marks);
        let outcome = walk.run(&mut found);
        outcome
            .map_err(|error| (error, walk.at.seq))
            .or_else(|(error, seq)| found.take(error, Some(unsigned(seq + 1))))
    });
    match walked {
        Ok(()) => Ok(found),
        Err(error) => found.take(error, None).map(|()| found),
    }
}

/// Both ends of the chain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub(super) base: i64,
    pub(super) base_hash: Hash,
    pub(super) head: i64,
    pub(super) head_hash: Hash,
}

fn ends(connection: &Connection) -> rusqlite::Result<Ends> {
    let sql = "SELECT base_seq, base_hash, head_seq, head_hash FROM chain";
    connection.query_row(sql, [], |row| {
        Ok(Ends {
            base: row.get(0)?,
            base_hash: row.get(1)?,
            head: row.get(2)?,
            head_hash: row.get(3)?,
        })
    })
}

/// A record as the database holds it, in place.
pub(super) struct View<'row> {
    pub(super) seq: i64,
    pub(super) hash: Hash,
    pub(super) parts: Parts<'row>,
    pub(super) reply: &'row [u8],
}

impl<'row> View<'row> {
    /// `None` when a column holds what no record has there.
    pub(super) fn of(row: &'row SqlRow<'_>) -> Option<Self> {
        let number = |at: usize| row.get_ref(at).ok()?.as_i64().ok();
        let blob = |at: usize| row.get_ref(at).ok()?.as_blob().ok();
        let mut texts: [&[u8]; 9] = [&[]; 9];
        for (at, text) in texts.iter_mut().enumerate() {
            *text = match row.get_ref(at + 5).ok()? {
                ValueRef::Text(text) => text,
                ValueRef::Null if at == CODE => &[],
                _ => return None,
            };
        }
        // No code is the absence of one, which hashes alike.
        let absent = matches!(row.get_ref(CODE + 5), Ok(ValueRef::Null));
        if !absent && texts.get(CODE).is_some_and(|code| code.is_empty()) {
            return None;
        }
        let parts = Parts { time_ms: number(2)?, texts, reply_digest: blob(3)? };
        Some(Self { seq: number(0)?, hash: blob(1)?.try_into().ok()?, parts, reply: blob(4)? })
    }
}

/// Place of the code among the texts.
const CODE: usize = 6;

/// How far verification has come.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    /// The last record.
    pub(super) seq: i64,
    /// Its hash, which the next one continues.
    pub(super) hash: Hash,
    /// What is added to a place to get the one at which the record was written.
    pub(super) shift: i64,
    /// Whether the hash is not known, so that the next record cannot be held against it.
    pub(super) blind: bool,
}

impl At {
    /// Whether the record is the next one as it was written.
    fn leads_to(&self, view: &View<'_>) -> bool {
        view.seq == self.seq + 1
            && Sha256::digest(view.reply).as_slice() == view.parts.reply_digest
            && (self.blind || view.parts.link(&self.hash, view.seq + self.shift) == view.hash)
    }
}

/// One pass over the records.
struct Walk<'c> {
    snapshot: &'c Connection,
    ends: Ends,
    at: At,
    /// By place, the next one last.
    marks: Vec<Mark>,
    /// The last record that a mark vouched for; `None` once a mark did not agree.
    agreed: Option<i64>,
}

impl<'c> Walk<'c> {
    fn new(snapshot: &'c Connection, ends: Ends, mut marks: Vec<Mark>) -> Self {
        marks.sort_by_key(|mark| std::cmp::Reverse(mark.sequence));
        let at = At { seq: ends.base, hash: ends.base_hash, shift: 0, blind: false };
        Self { snapshot, ends, at, marks, agreed: Some(0) }
    }

    fn run(&mut self, found: &mut Verification) -> Result<(), Error> {
        found.pruned_to = unsigned(self.ends.base);
        found.head = unsigned(self.ends.head);
        self.compare(found);
        let mut limits = Limits::default();
        while let Some(place) = self.advance(found)? {
            let (damage, at) =
                diagnose::judge(self.snapshot, &self.ends, (&self.at, place), &mut limits)?;
            found.damage.push(damage);
            self.at = at;
            self.compare(found);
            if found.damage.len() >= MOST {
                return Ok(());
            }
        }
        self.end(found);
        Ok(())
    }

    /// Goes on to the first record that is not right; gives its place.
    fn advance(&mut self, found: &mut Verification) -> Result<Option<i64>, Error> {
        let sql = format!("SELECT {COLUMNS} FROM call WHERE seq > ?1 ORDER BY seq");
        let mut statement = self.snapshot.prepare_cached(&sql)?;
        let mut rows = statement.query([self.at.seq])?;
        while let Some(row) = rows.next()? {
            let view = View::of(row).filter(|view| self.at.leads_to(view));
            let Some(view) = view.filter(|view| view.seq + self.at.shift <= self.ends.head) else {
                return Ok(Some(row.get(0)?));
            };
            if found.complete_from.is_none() {
                found.complete_from = Timestamp::from_millisecond(view.parts.time_ms).ok();
            }
            found.records += 1;
            self.at = At { seq: view.seq, hash: view.hash, blind: false, ..self.at };
            self.compare(found);
        }
        Ok(None)
    }

    /// Holds the marks of this place, and those before it, against the record.
    fn compare(&mut self, found: &mut Verification) {
        while let Some(mark) = self.marks.pop_if(|mark| mark.seq() <= self.at.seq + self.at.shift) {
            let here = mark.seq() == self.at.seq + self.at.shift && !self.at.blind;
            let Some(agreed) = self.agreed.filter(|_| here) else { continue };
            if hex::encode(self.at.hash) == mark.digest {
                self.agreed = Some(mark.seq());
                found.checkpoints += 1;
                found.vouched_to = found.vouched_to.max(mark.sequence);
                continue;
            }
            self.agreed = None;
            // A record that is damaged itself was told of already.
            let Mark { number, sequence, time, .. } = &mark;
            found.tell(Kind::Rewritten, Some(unsigned(agreed + 1).min(*sequence)), format!(
                "checkpoint {number} of {time} vouches for another record {sequence}: a record from \
                 {} to {sequence} was changed and the digests from it on were computed anew",
                agreed + 1
            ));
        }
    }

    /// What is missing at the end.
    fn end(&self, found: &mut Verification) {
        let (seq, head) = (self.at.seq, self.ends.head);
        if seq < head && self.at.shift == 0 {
            found.tell(
                Kind::Cut,
                Some(unsigned(seq + 1)),
                format!("records {} to {head} are gone from the end", seq + 1),
            );
        } else if self.at.shift == 0 && !self.at.blind && self.at.hash != self.ends.head_hash {
            found.tell(Kind::Cut, Some(unsigned(head)), format!(
                "record {head} is not the one that was written last: later ones were cut off, or the \
                 chain's end was changed"
            ));
        }
        if let Some(mark) = self.marks.first().filter(|mark| mark.seq() > head) {
            let Mark { number, sequence, time, .. } = mark;
            found.tell(Kind::Cut, Some(unsigned(head + 1)), format!(
                "checkpoint {number} of {time} vouches for record {sequence}, and the newest one is \
                 {head}: the end was cut, or an older copy was put in its place"
            ));
        }
    }
}

/// Places and lengths are never negative.
pub(super) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
