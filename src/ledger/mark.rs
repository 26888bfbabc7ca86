//! Signed statements about a ledger: that a record had a digest at a time. A [`Mark`] as it is
//! signed, as one line of JSON, and as a row; files of such lines are read here. Judges nothing but
//! the signature.

use std::fs;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use rusqlite::{Connection, Row as SqlRow, params};
use serde::{Deserialize, Serialize};

use super::key::{Key, PublicKey};
use super::record::Hash;

/// What a mark stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The record was the newest one.
    Checkpoint,
    /// The chain begins after the record: retention removed it, or (record 0) it is a new ledger.
    Anchor,
}

impl Purpose {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpoint",
            Self::Anchor => "anchor",
        }
    }
}

/// One signed statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// What it stands for.
    pub purpose: Purpose,
    /// Id of the ledger.
    pub ledger: String,
    /// Place among the marks of this ledger, counted from 1; one that could not be kept is left out
    /// of the database, never of the file.
    pub number: u64,
    /// Place of the record.
    pub sequence: u64,
    /// Digest of the record, in hex.
    pub digest: String,
    /// When it was signed.
    pub time: Timestamp,
    /// Public half of the key, in hex.
    pub key: String,
    /// Signature over [`Mark::message`], in hex.
    pub signature: String,
}

impl Mark {
    /// Signs a statement about one record.
    pub(super) fn sign(key: &Key, ledger: &str, number: u64, of: (Purpose, i64, &Hash)) -> Self {
        let (purpose, seq, hash) = of;
        let now = Timestamp::now().as_millisecond();
        let mut mark = Self {
            purpose,
            ledger: ledger.to_owned(),
            number,
            sequence: u64::try_from(seq).unwrap_or(0),
            digest: hex::encode(hash),
            time: Timestamp::from_millisecond(now).unwrap_or_default(),
            key: key.public().to_string(),
            signature: String::new(),
        };
        mark.signature = hex::encode(key.sign(mark.message().as_bytes()));
        mark
    }

    /// The text that is signed: seven lines, each with a line break at its end.
    pub fn message(&self) -> String {
        let Self { ledger, number, sequence, digest, time, .. } = self;
        let purpose = self.purpose.as_str();
        format!(
            "switchboard ledger 1\n{purpose}\n{ledger}\n{number}\n{sequence}\n{digest}\n{time}\n"
        )
    }

    /// Whether the owner of this key signed it.
    pub(super) fn is_signed_by(&self, key: &PublicKey) -> bool {
        hex::decode(&self.signature)
            .is_ok_and(|signature| key.has_signed(self.message().as_bytes(), &signature))
    }

    /// Place of the record as the database counts.
    pub(super) fn seq(&self) -> i64 {
        i64::try_from(self.sequence).unwrap_or(i64::MAX)
    }

    pub(super) fn line(&self) -> String {
        // Only a map with keys that are no text could fail, and there is none.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    pub(super) fn insert(&self, connection: &Connection) -> rusqlite::Result<()> {
        let sql = "INSERT INTO mark VALUES (?1, ?2, ?3, ?4)";
        let number = i64::try_from(self.number).unwrap_or(i64::MAX);
        connection
            .prepare_cached(sql)?
            .execute(params![number, self.purpose.as_str(), self.seq(), self.line().trim_end()])
            .map(drop)
    }
}

/// The marks that the database has, oldest first; what is none is given as its text.
pub(super) fn stored(connection: &Connection) -> rusqlite::Result<Vec<Result<Mark, String>>> {
    let read = |row: &SqlRow<'_>| {
        let (number, purpose, seq): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let text: String = row.get(3)?;
        let agrees = |mark: &Mark| {
            i64::try_from(mark.number) == Ok(number)
                && mark.purpose.as_str() == purpose
                && mark.seq() == seq
        };
        Ok(serde_json::from_str::<Mark>(&text).ok().filter(agrees).ok_or(text))
    };
    connection
        .prepare("SELECT number, purpose, seq, line FROM mark ORDER BY number")?
        .query_map([], read)?
        .collect()
}

/// A file of marks as it was read.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Each line with its number in the file; what is no mark is `None`.
    pub(super) marks: Vec<(usize, Option<Mark>)>,
    /// Bytes up to the end of the last whole line.
    pub(super) whole: u64,
    /// Whether something that is no whole line follows.
    pub(super) torn: bool,
}

impl Lines {
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let text = fs::read(path)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = text.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n');
        let marks = lines
            .enumerate()
            .filter(|(_, line)| !line.is_empty())
            .map(|(at, line)| (at + 1, serde_json::from_slice(line).ok()))
            .collect();
        let torn = whole < text.len();
        Ok(Self { marks, whole: u64::try_from(whole).unwrap_or(u64::MAX), torn })
    }
}
