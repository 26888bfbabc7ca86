//! Records out: one by its call, some by what they have in common, the stored reply in pages, and
//! the proof that none was changed. It only reads.

use jiff::Timestamp;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params, params_from_iter};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Error;
use super::record::{Entry, Hash, Row};
use crate::call::Code;

/// Records that a search returns when the query names no number, and at most.
const LIMIT: (u32, u32) = (100, 1000);
/// Records that verification reads at once; between two pieces the daemon may prune.
const PIECE: i64 = 1000;

/// Which records a search returns, newest first. Everything that is set must match.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Name of the tool.
    pub tool: Option<String>,
    /// Name of the caller.
    pub caller: Option<String>,
    /// Tenant of the caller.
    pub tenant: Option<String>,
    /// Conversation.
    pub conversation: Option<String>,
    /// Code of the reply.
    pub code: Option<Code>,
    /// `success` or `error`.
    pub status: Option<String>,
    /// Arrived at or after this.
    pub since: Option<Timestamp>,
    /// Arrived before this.
    pub until: Option<Timestamp>,
    /// Only records before this one, for the next page.
    pub before_seq: Option<u64>,
    /// So many at most; default 100, never more than 1000.
    pub limit: Option<u32>,
}

/// A piece of a stored reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Caller of the call, who alone may read it.
    pub caller: String,
    /// Tenant of the call.
    pub tenant: String,
    /// The bytes; a character may be cut at either end.
    pub bytes: Vec<u8>,
    /// Length of the whole reply.
    pub total: u64,
}

/// What verification found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Records whose hash is right.
    pub records: u64,
    /// The record after which the chain begins: the last one pruned, 0 when none was.
    pub pruned_to: u64,
    /// The newest record.
    pub head: u64,
    /// The first record that is not as it was written; `None` when all are.
    pub broken: Option<Break>,
}

/// The first place where the chain does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Break {
    /// Place in the chain.
    pub seq: u64,
    /// What is wrong there.
    pub reason: String,
}

/// What [`read_row`] reads; further columns have the places from 12 on.
const COLUMNS: &str = "hash, seq, call_id, time_ms, caller, tenant, conversation, tool, status,
    code, arguments, facts";

/// The record of one call, with its reply.
pub(super) fn get(connection: &Connection, call_id: &str) -> Result<Option<Entry>, Error> {
    let sql = format!("SELECT {COLUMNS}, length(reply), reply FROM call WHERE call_id = ?1");
    let entry = connection
        .prepare_cached(&sql)?
        .query_row([call_id], |row| {
            let mut entry = read_entry(row)?;
            let reply: Vec<u8> = row.get(13)?;
            entry.reply_json = Some(String::from_utf8_lossy(&reply).into_owned());
            Ok(entry)
        })
        .optional()?;
    Ok(entry)
}

/// Records without their replies, newest first.
pub(super) fn search(connection: &Connection, query: &Query) -> Result<Vec<Entry>, Error> {
    let text = |value: &Option<String>| value.clone().map(Sql::Text);
    let time = |value: Option<Timestamp>| value.map(|time| Sql::Integer(time.as_millisecond()));
    let before = query.before_seq.map(|seq| Sql::Integer(i64::try_from(seq).unwrap_or(i64::MAX)));
    let conditions = [
        ("tool = ?", text(&query.tool)),
        ("caller = ?", text(&query.caller)),
        ("tenant = ?", text(&query.tenant)),
        // The second half lets the database use its index of named conversations.
        ("conversation = ? AND conversation <> ''", text(&query.conversation)),
        ("code = ?", query.code.map(|code| Sql::Text(code.as_str().to_owned()))),
        ("status = ?", text(&query.status)),
        ("time_ms >= ?", time(query.since)),
        ("time_ms < ?", time(query.until)),
        ("seq < ?", before),
    ];
    let mut sql = format!("SELECT {COLUMNS}, length(reply) FROM call WHERE true");
    let mut values = Vec::new();
    for (condition, value) in conditions {
        if let Some(value) = value {
            sql.push_str(" AND ");
            sql.push_str(condition);
            values.push(value);
        }
    }
    sql.push_str(" ORDER BY seq DESC LIMIT ?");
    let limit = query.limit.unwrap_or(LIMIT.0).min(LIMIT.1);
    values.push(Sql::Integer(i64::from(limit)));
    let mut statement = connection.prepare_cached(&sql)?;
    let entries =
        statement.query_map(params_from_iter(values), read_entry)?.collect::<Result<_, _>>()?;
    Ok(entries)
}

/// `limit` bytes of a stored reply from `offset`.
pub(super) fn page(
    connection: &Connection,
    call_id: &str,
    offset: u64,
    limit: u32,
) -> Result<Option<Page>, Error> {
    let sql = "SELECT caller, tenant, substr(reply, ?2, ?3), length(reply) FROM call
        WHERE call_id = ?1";
    // The database counts bytes from 1.
    let from = i64::try_from(offset).unwrap_or(i64::MAX).saturating_add(1);
    let page = connection
        .prepare_cached(sql)?
        .query_row(params![call_id, from, limit], |row| {
            Ok(Page {
                caller: row.get(0)?,
                tenant: row.get(1)?,
                bytes: row.get(2)?,
                total: unsigned(row.get(3)?),
            })
        })
        .optional()?;
    Ok(page)
}

/// Computes every hash again, from the oldest record to the one that was newest at the start.
pub(super) fn verify(connection: &Connection) -> Result<Verification, Error> {
    let (mut seq, mut hash, head, head_hash) = ends(connection)?;
    let mut found =
        Verification { records: 0, pruned_to: unsigned(seq), head: unsigned(head), broken: None };
    while seq < head {
        let piece = read_piece(connection, seq, head)?;
        let base = ends(connection)?;
        if base.0 > seq {
            // Pruned meanwhile; the chain now begins later.
            (seq, hash) = (base.0, base.1);
            found.pruned_to = unsigned(seq);
            continue;
        }
        if piece.is_empty() {
            found.broken = Some(broken(seq + 1, "it is missing"));
            return Ok(found);
        }
        for (at, row, stored) in piece {
            seq += 1;
            let expected = row.link(&hash, seq);
            let reply: Hash = Sha256::digest(&row.reply).into();
            let reason = if at != seq {
                Some("it is missing")
            } else if reply != row.reply_digest {
                Some("its reply was changed")
            } else if expected != stored {
                Some("it was changed, or it does not follow the one before")
            } else {
                None
            };
            if let Some(reason) = reason {
                found.broken = Some(broken(seq, reason));
                return Ok(found);
            }
            hash = expected;
            found.records += 1;
        }
    }
    if hash != head_hash && seq == head {
        found.broken = Some(broken(head, "it is not the one that was written last"));
    }
    Ok(found)
}

fn broken(seq: i64, reason: &str) -> Break {
    Break { seq: unsigned(seq), reason: reason.to_owned() }
}

/// Both ends of the chain.
fn ends(connection: &Connection) -> Result<(i64, Hash, i64, Hash), Error> {
    let ends = connection
        .prepare_cached("SELECT base_seq, base_hash, head_seq, head_hash FROM chain")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    Ok(ends)
}

fn read_piece(
    connection: &Connection,
    after: i64,
    head: i64,
) -> Result<Vec<(i64, Row, Hash)>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}, reply, reply_digest FROM call
        WHERE seq > ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement
        .query_map(params![after, head, PIECE], |row| {
            let (seq, hash, content) = read_row(row)?;
            Ok((seq, Row { reply: row.get(12)?, reply_digest: row.get(13)?, ..content }, hash))
        })?
        .collect::<Result<_, _>>()?;
    Ok(rows)
}

fn read_entry(row: &SqlRow<'_>) -> rusqlite::Result<Entry> {
    let (seq, hash, content) = read_row(row)?;
    let facts = content.facts;
    Ok(Entry {
        seq: unsigned(seq),
        call_id: content.call_id,
        received: Timestamp::from_millisecond(content.time_ms).unwrap_or_default(),
        caller: content.caller,
        tenant: content.tenant,
        conversation: content.conversation,
        tool: content.tool,
        status: content.status,
        code: content.code,
        arguments: content.arguments,
        facts: serde_json::from_str(&facts).unwrap_or(serde_json::Value::String(facts)),
        reply_bytes: unsigned(row.get(12)?),
        reply_json: None,
        hash: hex::encode(hash),
    })
}

/// A record's place, its hash, and the record without its reply.
fn read_row(row: &SqlRow<'_>) -> rusqlite::Result<(i64, Hash, Row)> {
    let content = Row {
        call_id: row.get(2)?,
        time_ms: row.get(3)?,
        caller: row.get(4)?,
        tenant: row.get(5)?,
        conversation: row.get(6)?,
        tool: row.get(7)?,
        status: row.get(8)?,
        code: row.get(9)?,
        arguments: row.get(10)?,
        facts: row.get(11)?,
        reply: Vec::new(),
        reply_digest: Hash::default(),
    };
    Ok((row.get(1)?, row.get(0)?, content))
}

/// Places and lengths are never negative.
fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
