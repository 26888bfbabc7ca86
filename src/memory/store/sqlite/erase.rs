//! What is removed for ever: erased units with all that was made of them and said of them, writes that
//! must not be stored any more, vectors, receipts, and the room that they leave.

use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::super::Stage;
use super::super::mark::{Mark, forget};
use super::amend::{Known, known};
use super::entry::Event;
use super::fault::{Fault, json, parsed};
use super::models;
use super::rows::{self, chunk_id, micros, name};
use super::words::Bag;
use super::writer::Step;
use crate::memory::{Draft, UnitId, Version};

/// Removes every version of a unit and all that was made of it; answers how many there were.
pub(super) fn erase(step: &mut Step<'_>, tenant: &str, unit: &UnitId) -> Result<u64, Fault> {
    let connection = step.connection;
    let of_unit = "WHERE v.unit = ?1 AND v.tenant = ?2";
    let versions = rows::versions(connection, of_unit, [unit.as_str(), tenant])?;
    let mut written = Vec::new();
    for version in &versions {
        written.push((key(&version.draft)?, version.owner.clone()));
    }
    if versions.is_empty() {
        return Ok(0);
    }
    connection.execute("UPDATE receipt SET remarks = '[]' WHERE unit = ?1", [unit.as_str()])?;
    for (source, owner) in &written {
        refuse_waiting(connection, (tenant, owner), source, "erased")?;
    }
    remove(step, tenant, &versions)?;
    forget_mentions(connection, unit)?;
    Ok(u64::try_from(versions.len()).unwrap_or(u64::MAX))
}

/// Removes versions and all that was made of them.
pub(super) fn remove(step: &mut Step<'_>, tenant: &str, versions: &[Version]) -> Result<(), Fault> {
    let connection = step.connection;
    let (mut gone, mut pictures) = (Vec::new(), Vec::new());
    for version in versions {
        let seq = version.seq;
        gone.push((seq, bags(connection, seq)?));
        for fact in &version.draft.facts {
            let (entity, attribute) = rows::claim(&fact.entity, &fact.attribute);
            let sql = "DELETE FROM fact WHERE entity = ?1 AND attribute = ?2 AND seq = ?3";
            connection.prepare_cached(sql)?.execute(params![entity, attribute, seq])?;
        }
        let (from, to) = (chunk_id(seq, 0), chunk_id(seq + 1, 0));
        let vectors = [rows::vector_id(from, 0), rows::vector_id(to, 0)];
        connection.execute("DELETE FROM chunk WHERE id >= ?1 AND id < ?2", [from, to])?;
        connection.execute("DELETE FROM vector WHERE id >= ?1 AND id < ?2", vectors)?;
        let sql = "DELETE FROM picture WHERE id >= ?1 AND id < ?2 RETURNING id % ?3";
        let mut statement = connection.prepare_cached(sql)?;
        let [from, to] = vectors;
        let mut rows = statement.query([from, to, rows::MODELS])?;
        while let Some(row) = rows.next()? {
            pictures.push(row.get(0)?);
        }
        for table in ["version", "used", "place", "vote", "journal"] {
            connection.execute(&format!("DELETE FROM {table} WHERE seq = ?1"), [seq])?;
        }
    }
    let models = models::remove_images(connection, tenant, &pictures)?;
    step.events.push(Event::Erase { tenant: tenant.to_owned(), gone, models });
    Ok(())
}

/// The words of a version's chunks.
fn bags(connection: &Connection, seq: i64) -> Result<Vec<(u32, Bag)>, Fault> {
    let sql = "SELECT id, text FROM chunk WHERE id >= ?1 AND id < ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut texts = statement.query([chunk_id(seq, 0), chunk_id(seq + 1, 0)])?;
    let mut found = Vec::new();
    while let Some(row) = texts.next()? {
        let text: String = row.get(1)?;
        found.push((rows::chunk_of(row.get(0)?).1, Bag::new(&text)));
    }
    Ok(found)
}

fn key(draft: &Draft) -> Result<String, Fault> {
    super::settle::source_key(&draft.collection, &draft.source, &draft.source_id)
}

/// Refuses what callers have waiting under a source id.
pub(super) fn withdraw(
    step: &Step<'_>,
    tenant: &str,
    (draft, callers): (&Draft, &[String]),
) -> Result<u64, Fault> {
    let (source, mut count) = (key(draft)?, 0);
    for caller in callers {
        count += refuse_waiting(step.connection, (tenant, caller), &source, "forgotten")?;
    }
    Ok(count)
}

/// Refuses what waits to become a version of a unit that is taken out; gives the number.
fn refuse_waiting(
    connection: &Connection,
    (tenant, caller): (&str, &str),
    source: &str,
    how: &str,
) -> Result<u64, Fault> {
    let sql = "UPDATE receipt SET stage = ?4, remarks = ?5, changed = ?6 WHERE caller = ?3
        AND number IN (SELECT number FROM inbox WHERE tenant = ?1 AND source = ?2)
        RETURNING number";
    let remarks = json(&[super::super::mark::too_late(how)])?;
    let refused = name(&super::super::Stage::Refused)?;
    let row = params![tenant, source, caller, refused, remarks, micros(Timestamp::now())];
    let mut statement = connection.prepare_cached(sql)?;
    let numbers: Vec<i64> =
        statement.query_map(row, |row| row.get(0))?.collect::<Result<_, _>>()?;
    for number in &numbers {
        connection.execute("DELETE FROM inbox WHERE number = ?1", [number])?;
    }
    Ok(u64::try_from(numbers.len()).unwrap_or(u64::MAX))
}

/// Takes out what others say of an erased unit: their conflicts with it, and the remarks that tell in
/// what, which stand in versions, in receipts, and in the journals of runs.
pub(super) fn forget_mentions(connection: &Connection, unit: &UnitId) -> Result<(), Fault> {
    let mut found: Vec<(i64, String)> = Vec::new();
    {
        let sql = "SELECT seq, unit FROM version INDEXED BY version_conflicts
            WHERE conflicts <> '[]' AND instr(conflicts, ?1) > 0";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([unit.as_str()])?;
        while let Some(row) = rows.next()? {
            found.push((row.get(0)?, row.get(1)?));
        }
    }
    for (seq, other) in found {
        if let Some(Known { mut mark, .. }) = known(connection, seq)? {
            mark.forget(unit);
            let row = params![seq, json(&mark.conflicts)?, json(&mark.remarks)?];
            let sql = "UPDATE version SET conflicts = ?2, remarks = ?3 WHERE seq = ?1";
            connection.prepare_cached(sql)?.execute(row)?;
        }
        forget_in_receipts(connection, unit, &other)?;
        forget_in_journal(connection, unit, seq)?;
    }
    Ok(())
}

fn forget_in_receipts(connection: &Connection, unit: &UnitId, of: &str) -> Result<(), Fault> {
    let sql = "SELECT number, remarks FROM receipt WHERE unit = ?1 AND instr(remarks, ?2) > 0";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([of, unit.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows: Vec<(i64, String)> = rows.collect::<Result<_, _>>()?;
    for (number, remarks) in rows {
        let mut remarks: Vec<String> = parsed(&remarks, "remarks")?;
        forget(&mut remarks, unit);
        let sql = "UPDATE receipt SET remarks = ?2 WHERE number = ?1";
        connection.prepare_cached(sql)?.execute(params![number, json(&remarks)?])?;
    }
    Ok(())
}

fn forget_in_journal(connection: &Connection, unit: &UnitId, seq: i64) -> Result<(), Fault> {
    let sql = "SELECT run, before, after FROM journal WHERE seq = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let rows: Vec<(i64, String, String)> = rows.collect::<Result<_, _>>()?;
    for (run, before, after) in rows {
        let clean = |mark: &str| -> Result<String, Fault> {
            let mut mark: Mark = parsed(mark, "journal")?;
            mark.forget(unit);
            json(&mark)
        };
        let row = params![seq, run, clean(&before)?, clean(&after)?];
        let sql = "UPDATE journal SET before = ?3, after = ?4 WHERE seq = ?1 AND run = ?2";
        connection.prepare_cached(sql)?.execute(row)?;
    }
    Ok(())
}

/// Removes vectors of other models among the next rows; gives the row to go on from, and how many it
/// removed. `None` when there are no more.
pub(super) fn forget_vectors(
    step: &Step<'_>,
    keep: i64,
    (from, piece): (i64, i64),
) -> Result<Option<(i64, u64)>, Fault> {
    let sql = "SELECT max(id) FROM (SELECT id FROM vector WHERE id >= ?1 ORDER BY id LIMIT ?2)";
    let last: Option<i64> =
        step.connection.prepare_cached(sql)?.query_row([from, piece], |row| row.get(0))?;
    let Some(last) = last else {
        return Ok(None);
    };
    let sql = "DELETE FROM vector WHERE id BETWEEN ?1 AND ?2 AND id % ?3 <> ?4";
    let row = [from, last, rows::MODELS, keep];
    let removed = step.connection.prepare_cached(sql)?.execute(row)?;
    Ok(Some((last + 1, u64::try_from(removed).unwrap_or(u64::MAX))))
}

/// Removes receipts that came to their last stage before this, of so many that follow in the order of
/// their arrival; gives the next to go on with, and how many are gone.
pub(super) fn forget_receipts(
    step: &Step<'_>,
    before: Timestamp,
    (from, piece): (i64, i64),
) -> Result<Option<(i64, u64)>, Fault> {
    let sql = "SELECT max(number) FROM
        (SELECT number FROM receipt WHERE number >= ?1 ORDER BY number LIMIT ?2)";
    let last: Option<i64> =
        step.connection.prepare_cached(sql)?.query_row([from, piece], |row| row.get(0))?;
    let Some(last) = last else {
        return Ok(None);
    };
    let sql = "DELETE FROM receipt WHERE number BETWEEN ?1 AND ?2 AND stage <> ?3 AND changed < ?4";
    let row = params![from, last, name(&Stage::Accepted)?, micros(before)];
    let removed = step.connection.prepare_cached(sql)?.execute(row)?;
    Ok(Some((last + 1, u64::try_from(removed).unwrap_or(u64::MAX))))
}

/// Forgets all models but one, with what was written of them meanwhile; gives their numbers.
pub(super) fn forget_models(step: &Step<'_>, keep: i64) -> Result<Vec<i64>, Fault> {
    let mut gone = Vec::new();
    let sql = "SELECT id FROM model WHERE id <> ?1";
    let mut statement = step.connection.prepare_cached(sql)?;
    let mut rows = statement.query([keep])?;
    while let Some(row) = rows.next()? {
        gone.push(row.get::<_, i64>(0)?);
    }
    for model in &gone {
        let sql = "DELETE FROM vector WHERE id % ?1 = ?2";
        step.connection.execute(sql, [rows::MODELS, *model])?;
        step.connection.execute("DELETE FROM model WHERE id = ?1", [model])?;
    }
    Ok(gone)
}

/// Gives some free pages back to the disk; answers how many are left.
pub(super) fn shrink(step: &Step<'_>, pages: i64) -> Result<i64, Fault> {
    let count = || -> rusqlite::Result<i64> {
        step.connection.pragma_query_value(None, "freelist_count", |row| row.get(0))
    };
    let before = count()?;
    let sql = format!("PRAGMA incremental_vacuum({pages})");
    let mut statement = step.connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    let after = count()?;
    Ok(if after < before { after } else { 0 })
}
