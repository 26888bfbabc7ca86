//! What changes of versions that are there: state, end, remarks, with a journal where it is a run of
//! upkeep; votes, marks of use, vectors.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::super::mark::Mark;
use super::super::{Change, Error, Vote};
use super::entry::{Event, Vector};
use super::fault::{Fault, json, parsed};
use super::models;
use super::rows::{chunk_id, instant, is_of, micros, name, named, packed, unit_id};
use super::vectors::Code;
use super::writer::Step;
use crate::memory::{Ended, UnitId};

/// What a change needs to know of a version.
pub(super) struct Known {
    tenant: String,
    recorded: Timestamp,
    pub(super) mark: Mark,
}

pub(super) fn known(connection: &Connection, seq: i64) -> Result<Option<Known>, Fault> {
    let sql = "SELECT tenant, recorded, state, ended_at, ended_why, ended_by, conflicts, remarks
        FROM version WHERE seq = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([seq])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let text = |at: usize| row.get::<_, String>(at);
    let ended = match row.get::<_, Option<i64>>(3)? {
        Some(at) => {
            let by: Option<String> = row.get(5)?;
            let by = by.map(|by| unit_id(&by)).transpose()?;
            Some(Ended { at: instant(at)?, why: named(&text(4)?)?, by })
        }
        None => None,
    };
    let mark = Mark {
        state: named(&text(2)?)?,
        ended,
        conflicts: parsed(&text(6)?, "conflicts")?,
        remarks: parsed(&text(7)?, "remarks")?,
    };
    Ok(Some(Known { tenant: text(0)?, recorded: instant(row.get(1)?)?, mark }))
}

fn put(step: &mut Step<'_>, tenant: String, seq: i64, mark: &Mark) -> Result<(), Fault> {
    let sql = "UPDATE version SET state = ?2, ended_at = ?3, ended_why = ?4, ended_by = ?5,
        conflicts = ?6, remarks = ?7 WHERE seq = ?1";
    let ended = mark.ended.as_ref();
    step.connection.prepare_cached(sql)?.execute(params![
        seq,
        name(&mark.state)?,
        ended.map(|ended| micros(ended.at)),
        ended.map(|ended| name(&ended.why)).transpose()?,
        ended.and_then(|ended| ended.by.as_ref()).map(UnitId::as_str),
        json(&mark.conflicts)?,
        json(&mark.remarks)?,
    ])?;
    let ended = ended.map_or(i64::MAX, |ended| micros(ended.at));
    step.events.push(Event::Amend { tenant, seq, state: mark.state, ended });
    Ok(())
}

/// Changes a version. It ends at `at`, where that is given: what takes its place is known from then
/// on, so nothing is unknown in between. No end lies before the version was recorded.
pub(super) fn amend(
    step: &mut Step<'_>,
    change: &Change,
    at: Option<Timestamp>,
) -> Result<(String, String), Fault> {
    let Some(Known { tenant, recorded, mut mark }) = known(step.connection, change.seq)? else {
        return Err(Error::Engine(format!("there is no version {}", change.seq)).into());
    };
    let before = json(&mark)?;
    mark.apply(change, at, recorded);
    put(step, tenant, change.seq, &mark)?;
    if let Some(said) = change.said {
        let sql = "INSERT INTO used (seq, uses, said) VALUES (?1, 0, ?2)
            ON CONFLICT (seq) DO UPDATE SET said = max(coalesce(said, ?2), ?2)";
        step.connection.prepare_cached(sql)?.execute([change.seq, micros(said)])?;
    }
    Ok((before, json(&mark)?))
}

/// Changes versions, under a run that can be undone where one is named.
pub(super) fn change(
    step: &mut Step<'_>,
    run: Option<(&str, &str)>,
    changes: &[Change],
) -> Result<(), Fault> {
    let run = run.map(|(id, summary)| begin_run(step.connection, id, summary)).transpose()?;
    for change in changes {
        let (before, after) = amend(step, change, None)?;
        if let Some(run) = run {
            // What it was before the run's first change is what an undo puts back.
            let sql = "INSERT INTO journal VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT (seq, run) DO UPDATE SET after = excluded.after";
            let row = params![change.seq, run, before, after];
            step.connection.prepare_cached(sql)?.execute(row)?;
        }
    }
    if let Some(run) = run {
        end_run(step.connection, run)?;
    }
    Ok(())
}

/// Writes down how many versions a run changed, and where.
fn end_run(connection: &Connection, run: i64) -> Result<(), Fault> {
    let sql = "SELECT v.tenant, v.collection, count(*) FROM journal j
        JOIN version v ON v.seq = j.seq WHERE j.run = ?1 GROUP BY 1, 2 ORDER BY 1, 2";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([run])?;
    let (mut tenant, mut collections, mut changed) = (None::<String>, Vec::<String>::new(), 0_i64);
    while let Some(row) = rows.next()? {
        let own: String = row.get(0)?;
        if tenant.as_ref().is_some_and(|tenant| *tenant != own) {
            return Err(Error::Engine("a run is of one tenant".to_owned()).into());
        }
        tenant = Some(own);
        collections.push(row.get(1)?);
        changed += row.get::<_, i64>(2)?;
    }
    let sql = "UPDATE run SET changed = ?2, tenant = ?3, collections = ?4 WHERE number = ?1";
    let row = params![run, changed, tenant.unwrap_or_default(), json(&collections)?];
    connection.execute(sql, row)?;
    Ok(())
}

/// The number of a run; one that goes on keeps its own.
fn begin_run(connection: &Connection, id: &str, summary: &str) -> Result<i64, Fault> {
    let sql = "INSERT INTO run (id, at, summary, changed, undone, tenant, collections)
        VALUES (?1, ?2, ?3, 0, 0, '', '[]')
        ON CONFLICT (id) DO UPDATE SET summary = excluded.summary RETURNING number";
    let row = params![id, micros(Timestamp::now()), summary];
    Ok(connection.prepare_cached(sql)?.query_row(row, |row| row.get(0))?)
}

/// Puts back what a run changed.
pub(super) fn undo(step: &mut Step<'_>, run: &str) -> Result<u64, Fault> {
    let sql = "SELECT number FROM run WHERE id = ?1 AND undone = 0";
    let number: Option<i64> = step.connection.query_row(sql, [run], |row| row.get(0)).optional()?;
    let Some(number) = number else {
        return Ok(0);
    };
    let entries: Vec<(i64, String, String)> = {
        let sql = "SELECT seq, before, after FROM journal WHERE run = ?1 ORDER BY seq";
        let mut statement = step.connection.prepare(sql)?;
        let rows =
            statement.query_map([number], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        rows.collect::<Result<_, _>>()?
    };
    let mut put_back = 0;
    for (seq, before, after) in entries {
        let (before, after): (Mark, Mark) =
            (parsed(&before, "journal")?, parsed(&after, "journal")?);
        let Some(Known { tenant, mark, .. }) = known(step.connection, seq)? else {
            continue;
        };
        let opens = before.ended.is_none() && after.ended.is_some();
        if mark == after && !(opens && is_followed(step.connection, seq)?) {
            put(step, tenant, seq, &before)?;
            put_back += 1;
        }
    }
    step.connection.execute("UPDATE run SET undone = 1 WHERE number = ?1", [number])?;
    step.connection.execute("DELETE FROM journal WHERE run = ?1", [number])?;
    Ok(put_back)
}

/// Whether the unit of a version has a later one, so that two would hold at the same time.
fn is_followed(connection: &Connection, seq: i64) -> Result<bool, Fault> {
    let sql = "SELECT EXISTS (SELECT 1 FROM version
        WHERE unit = (SELECT unit FROM version WHERE seq = ?1) AND seq > ?1 AND ended_at IS NULL)";
    Ok(connection.prepare_cached(sql)?.query_row([seq], |row| row.get(0))?)
}

/// Keeps a vote; gives all on that version.
pub(super) fn vote(step: &Step<'_>, tenant: &str, vote: &Vote) -> Result<Vec<Vote>, Fault> {
    if !is_of(step.connection, tenant, vote.seq)? {
        return Err(Error::Engine(format!("there is no version {}", vote.seq)).into());
    }
    let sql = "INSERT OR REPLACE INTO vote VALUES (?1, ?2, ?3, ?4, ?5)";
    let row = params![vote.seq, vote.by, vote.approve, vote.reason, micros(vote.at)];
    step.connection.prepare_cached(sql)?.execute(row)?;
    votes(step.connection, tenant, vote.seq)
}

/// The votes on a version; none where it is another tenant's.
pub(super) fn votes(connection: &Connection, tenant: &str, seq: i64) -> Result<Vec<Vote>, Fault> {
    let mut votes = Vec::new();
    if !is_of(connection, tenant, seq)? {
        return Ok(votes);
    }
    let sql = "SELECT by, approve, reason, at FROM vote WHERE seq = ?1 ORDER BY at, by";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([seq])?;
    while let Some(row) = rows.next()? {
        let (by, approve, reason) = (row.get(0)?, row.get(1)?, row.get(2)?);
        votes.push(Vote { seq, by, approve, reason, at: instant(row.get(3)?)? });
    }
    Ok(votes)
}

/// Takes all votes on a version back.
pub(super) fn unvote(step: &Step<'_>, tenant: &str, seq: i64) -> Result<(), Fault> {
    if is_of(step.connection, tenant, seq)? {
        step.connection.execute("DELETE FROM vote WHERE seq = ?1", [seq])?;
    }
    Ok(())
}

/// Notes that versions were given out.
pub(super) fn touch(step: &Step<'_>, seqs: &[i64], at: Timestamp) -> Result<(), Fault> {
    let sql = "INSERT INTO used (seq, at, uses) SELECT seq, ?2, 1 FROM version WHERE seq = ?1
        ON CONFLICT (seq) DO UPDATE SET at = max(coalesce(at, ?2), ?2), uses = uses + 1";
    let mut statement = step.connection.prepare_cached(sql)?;
    for seq in seqs {
        statement.execute(params![seq, micros(at)])?;
    }
    Ok(())
}

/// Keeps vectors of chunks; those of chunks that are gone are passed over.
pub(super) fn embed(
    step: &mut Step<'_>,
    model: &str,
    vectors: Vec<(i64, u32, Vec<f32>, Code)>,
) -> Result<(), Fault> {
    for (seq, ordinal, numbers, code) in vectors {
        let sql = "SELECT v.tenant FROM chunk c JOIN version v ON v.seq = ?2 WHERE c.id = ?1";
        let tenant: Option<String> = step
            .connection
            .prepare_cached(sql)?
            .query_row([chunk_id(seq, ordinal), seq], |row| row.get(0))
            .optional()?;
        let Some(tenant) = tenant else { continue };
        let model = models::text(step.connection, model, numbers.len())?;
        let vector = Vector::of_chunk(seq, ordinal, model, code);
        let sql = "INSERT OR REPLACE INTO vector VALUES (?1, ?2)";
        step.connection.prepare_cached(sql)?.execute(params![vector.id, packed(&numbers)])?;
        step.events.push(Event::Embed { tenant, seq, vector });
    }
    Ok(())
}
