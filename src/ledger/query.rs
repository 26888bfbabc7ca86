//! Records out: one by its call, some by what they have in common, and the stored reply in pages. It
//! only reads, and proves nothing.

use std::collections::BTreeSet;

use jiff::Timestamp;
use rusqlite::types::{Type, Value as Sql};
use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params, params_from_iter};

use super::record::{Entry, Hash, Row};
use super::verify::unsigned;
use super::{Error, store};
use crate::call::{Code, Session, Taint};

/// Records that a search returns when the query names no number, and at most.
const LIMIT: (u32, u32) = (100, 1000);

/// Which records a search returns, newest first. Everything that is set must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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

/// What [`read_row`] reads; further columns have the places from 13 on.
pub(super) const COLUMNS: &str = "hash, seq, call_id, time_ms, caller, tenant, conversation, tool,
    status, code, arguments, facts, reply_digest";

/// The record of one call, with its reply.
pub(super) fn get(connection: &Connection, call_id: &str) -> Result<Option<Entry>, Error> {
    let sql = format!("SELECT {COLUMNS}, length(reply), reply FROM call WHERE call_id = ?1");
    let entry = connection
        .prepare_cached(&sql)?
        .query_row([call_id], |row| {
            let mut entry = read_entry(row)?;
            let reply: Vec<u8> = row.get(14)?;
            entry.reply_json = Some(String::from_utf8_lossy(&reply).into_owned());
            Ok(entry)
        })
        .optional()?;
    Ok(entry)
}

/// The sealed arguments of one call, if they were kept.
pub(super) fn original(connection: &Connection, call_id: &str) -> Result<Option<Vec<u8>>, Error> {
    if !store::has_originals(connection)? {
        return Ok(None);
    }
    let sql = "SELECT sealed FROM original JOIN call USING (seq) WHERE call_id = ?1";
    let sealed = connection.prepare_cached(sql)?.query_row([call_id], |row| row.get(0));
    Ok(sealed.optional()?)
}

/// Records without their replies, newest first.
pub(super) fn search(connection: &Connection, query: &Query) -> Result<Vec<Entry>, Error> {
    let (conditions, mut values) = conditions(query);
    let sql = format!(
        "SELECT {COLUMNS}, length(reply) FROM call WHERE {conditions} ORDER BY seq DESC LIMIT ?"
    );
    let limit = query.limit.unwrap_or(LIMIT.0).min(LIMIT.1);
    values.push(Sql::Integer(i64::from(limit)));
    let mut statement = connection.prepare_cached(&sql)?;
    let entries =
        statement.query_map(params_from_iter(values), read_entry)?.collect::<Result<_, _>>()?;
    Ok(entries)
}

/// How many records there are of a conversation, given with its caller and tenant, and what their
/// replies brought in. A label that is not known is an error: it must not be lost.
pub(super) fn session(
    connection: &Connection,
    [caller, tenant, conversation]: &[String; 3],
) -> Result<Session, Error> {
    // Records from before there were labels have none.
    let sql = "SELECT coalesce(json_extract(facts, '$.taint'), '[]'), count(*) FROM call
        WHERE conversation = ?1 AND conversation <> '' AND caller = ?2 AND tenant = ?3 GROUP BY 1";
    let mut session = Session::default();
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![conversation, caller, tenant])?;
    while let Some(row) = rows.next()? {
        let labels: String = row.get(0)?;
        let labels: BTreeSet<Taint> = serde_json::from_str(&labels).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error))
        })?;
        session.taint.extend(labels);
        session.calls += unsigned(row.get(1)?);
    }
    Ok(session)
}

/// Place and arrival of the oldest record.
pub(super) fn oldest(connection: &Connection) -> Result<Option<(u64, Timestamp)>, Error> {
    let sql = "SELECT seq, time_ms FROM call ORDER BY seq LIMIT 1";
    let oldest: Option<(i64, i64)> =
        connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    Ok(oldest
        .map(|(seq, time)| (unsigned(seq), Timestamp::from_millisecond(time).unwrap_or_default())))
}

/// What a query asks for, and the values in it.
pub(super) fn conditions(query: &Query) -> (String, Vec<Sql>) {
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
    let mut sql = "true".to_owned();
    let mut values = Vec::new();
    for (condition, value) in conditions {
        if let Some(value) = value {
            sql.push_str(" AND ");
            sql.push_str(condition);
            values.push(value);
        }
    }
    (sql, values)
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
        reply_bytes: unsigned(row.get(13)?),
        reply_digest: hex::encode(content.reply_digest),
        reply_json: None,
        hash: hex::encode(hash),
    })
}

/// A record's place, its hash, and the record without its reply.
pub(super) fn read_row(row: &SqlRow<'_>) -> rusqlite::Result<(i64, Hash, Row)> {
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
        reply_digest: row.get(12)?,
        original: None,
    };
    Ok((row.get(1)?, row.get(0)?, content))
}
