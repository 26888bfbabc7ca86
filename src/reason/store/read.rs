//! What is read of the file again: events of a run, runs of a caller.

use jiff::Timestamp;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use super::super::{Error, Filter, RunId, State, Summary};
use super::Kept;
use crate::admission::Caller;

/// Runs of a list that names no number.
const RUNS: u32 = 50;

const COLUMNS: &str = "id, state, question, agent, conversation, started_ms, ended_ms, last_seq, \
     steps, input, output, estimated, money, code";

pub(super) fn events(
    connection: &Connection,
    run: &RunId,
    after: u64,
    limit: u32,
) -> Result<Vec<Kept>, Error> {
    let sql = "SELECT seq, at_us, step, task, event FROM event \
               WHERE run = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![run.as_str(), after, limit])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (seq, at): (i64, i64) = (row.get(0)?, row.get(1)?);
        let text: String = row.get(4)?;
        let seq = unsigned(seq);
        let event = serde_json::from_str(&text).map_err(|error| Error::Unread {
            run: run.to_string(),
            seq,
            reason: error.to_string(),
        })?;
        found.push(Kept {
            seq,
            at: Timestamp::from_microsecond(at).unwrap_or_default(),
            run: run.clone(),
            step: row.get(2)?,
            task: row.get(3)?,
            event,
        });
    }
    Ok(found)
}

pub(super) fn open_runs(connection: &Connection) -> Result<Vec<(RunId, String, String)>, Error> {
    let sql = "SELECT id, caller, tenant FROM run WHERE ended_ms IS NULL ORDER BY id";
    let mut statement = connection.prepare_cached(sql)?;
    let whose = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?));
    let rows = statement.query_map([], whose)?.collect::<rusqlite::Result<Vec<_>>>()?;
    let known =
        |(id, caller, tenant): (String, String, String)| Some((RunId::parse(&id)?, caller, tenant));
    Ok(rows.into_iter().filter_map(known).collect())
}

pub(super) fn summary(
    connection: &Connection,
    by: &Caller,
    run: &RunId,
) -> Result<Option<Summary>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM run WHERE id = ?1 AND tenant = ?2 AND caller = ?3");
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_row(params![run.as_str(), by.tenant, by.name], read);
    Ok(found.optional()?.flatten())
}

pub(super) fn list(
    connection: &Connection,
    by: &Caller,
    filter: &Filter,
) -> Result<Vec<Summary>, Error> {
    let mut sql = format!("SELECT {COLUMNS} FROM run WHERE tenant = ? AND caller = ?");
    let mut values: Vec<Sql> = vec![by.tenant.clone().into(), by.name.clone().into()];
    if !filter.states.is_empty() {
        sql.push_str(" AND state IN (");
        sql.push_str(&vec!["?"; filter.states.len()].join(", "));
        sql.push(')');
        values.extend(filter.states.iter().map(|state| Sql::from(state.as_str().to_owned())));
    }
    if !filter.conversation.is_empty() {
        sql.push_str(" AND conversation = ?");
        values.push(filter.conversation.clone().into());
    }
    if let Some(before) = &filter.before {
        sql.push_str(" AND id < ?");
        values.push(before.as_str().to_owned().into());
    }
    let limit = if filter.limit == 0 { RUNS } else { filter.limit };
    sql.push_str(" ORDER BY id DESC LIMIT ?");
    values.push(i64::from(limit).into());
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(values), read)?;
    Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// `None` where the row is not one that this version writes.
fn read(row: &Row<'_>) -> rusqlite::Result<Option<Summary>> {
    let (id, state): (String, String) = (row.get(0)?, row.get(1)?);
    let (Some(run), Some(state)) = (RunId::parse(&id), State::parse(&state)) else {
        return Ok(None);
    };
    let ended: Option<i64> = row.get(6)?;
    Ok(Some(Summary {
        run,
        state,
        question: row.get(2)?,
        agent: row.get(3)?,
        conversation: row.get(4)?,
        started: time(row.get(5)?),
        ended: ended.map(time),
        last_seq: unsigned(row.get(7)?),
        steps: row.get(8)?,
        input: unsigned(row.get(9)?),
        output: unsigned(row.get(10)?),
        estimated: row.get(11)?,
        money: row.get(12)?,
        code: row.get(13)?,
    }))
}

fn time(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap_or_default()
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
