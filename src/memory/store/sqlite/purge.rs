//! What a retention removes for ever: which versions it is over for, and their removal.

use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::erase::{forget_mentions, remove};
use super::fault::{Fault, json};
use super::rows::{self, instant, micros};
use super::writer::Step;
use crate::memory::Version;

/// Versions that ended before an instant, and expired or were recorded before their collection's.
pub(super) fn outlived(
    connection: &Connection,
    ended: Timestamp,
    recorded: &[(String, Timestamp)],
    limit: usize,
) -> Result<Vec<(String, i64)>, Fault> {
    let recorded: Vec<(&str, i64)> =
        recorded.iter().map(|(collection, at)| (collection.as_str(), micros(*at))).collect();
    let sql = "SELECT v.tenant, v.seq FROM version v INDEXED BY version_ended
        WHERE v.ended_at IS NOT NULL AND v.ended_at <= ?1 AND (v.ended_why = 'expired'
        OR EXISTS (SELECT 1 FROM json_each(?2) k WHERE k.value ->> 0 = v.collection
        AND v.recorded <= k.value ->> 1)) ORDER BY v.ended_at, v.seq LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let row = params![micros(ended), json(&recorded)?, limit];
    let rows = statement.query_map(row, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Removes versions that have ended; those that have not stay.
pub(super) fn purge(step: &mut Step<'_>, tenant: &str, seqs: &[i64]) -> Result<u64, Fault> {
    let mut gone: Vec<Version> = Vec::new();
    for seq in seqs {
        let rest = "WHERE v.seq = ?1 AND v.tenant = ?2 AND v.ended_at IS NOT NULL";
        gone.extend(rows::versions(step.connection, rest, params![seq, tenant])?);
    }
    remove(step, tenant, &gone)?;
    for version in &gone {
        let unit = version.unit.as_str();
        let sql = "UPDATE receipt SET remarks = '[]' WHERE unit = ?1 AND seq = ?2";
        step.connection.prepare_cached(sql)?.execute(params![unit, version.seq])?;
        let sql = "SELECT EXISTS (SELECT 1 FROM version WHERE unit = ?1)";
        if !step.connection.prepare_cached(sql)?.query_row([unit], |row| row.get::<_, bool>(0))? {
            forget_mentions(step.connection, &version.unit)?;
        }
    }
    Ok(u64::try_from(gone.len()).unwrap_or(u64::MAX))
}

/// When upkeep of the whole file was last done.
pub(super) fn tended(connection: &Connection) -> Result<Option<Timestamp>, Fault> {
    let at: Option<i64> = connection.query_row("SELECT tended FROM clock", [], |row| row.get(0))?;
    at.map(instant).transpose()
}

/// Notes that it was done.
pub(super) fn tend(step: &Step<'_>, at: Timestamp) -> Result<(), Fault> {
    step.connection.execute("UPDATE clock SET tended = ?1", [micros(at)])?;
    Ok(())
}
