//! What is asked of the tables alone: versions, receipts, what waits, neighbours, runs and counts.
//! Writes nothing.

use rusqlite::{Connection, OptionalExtension, params};

use super::super::{Bare, Beside, Counts, Receipt, Run, Write};
use super::fault::{Fault, json, parsed};
use super::rows::{self, SELECT, chunk_id, chunk_of, instant, named, unit_id, vector_id};
use super::settle::{TEXT, known_model};
use crate::memory::{Draft, Scope, State, UnitId, Version, place};

/// Chunks that are looked at for one answer of [`bare`], for each that is wanted.
const LOOKS: usize = 64;

pub(super) fn receipt(
    connection: &Connection,
    tenant: &str,
    id: &str,
) -> Result<Option<Receipt>, Fault> {
    let sql = "SELECT caller, stage, unit, seq, remarks, arrived, changed FROM receipt
        WHERE id = ?1 AND tenant = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([id, tenant])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let unit: Option<String> = row.get(2)?;
    let stored = match (unit, row.get(3)?) {
        (Some(unit), Some(seq)) => Some((unit_id(&unit)?, seq)),
        _ => None,
    };
    Ok(Some(Receipt {
        id: id.to_owned(),
        tenant: tenant.to_owned(),
        caller: row.get(0)?,
        stage: named(&row.get::<_, String>(1)?)?,
        stored,
        remarks: parsed(&row.get::<_, String>(4)?, "remarks")?,
        arrived: instant(row.get(5)?)?,
        changed: instant(row.get(6)?)?,
    }))
}

pub(super) fn waiting(
    connection: &Connection,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Write>, Fault> {
    let sql = "SELECT body FROM inbox
        WHERE number > coalesce((SELECT number FROM receipt WHERE id = ?1), 0)
        ORDER BY number LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![after, most(limit)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(parsed(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?, "a write")?);
    }
    Ok(found)
}

fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(super) fn load(
    connection: &Connection,
    tenant: &str,
    seqs: &[i64],
) -> Result<Vec<Version>, Fault> {
    let mut statement =
        connection.prepare_cached(&format!("{SELECT}WHERE v.seq = ?1 AND v.tenant = ?2"))?;
    let mut found = Vec::with_capacity(seqs.len());
    for seq in seqs {
        let mut rows = statement.query(params![seq, tenant])?;
        if let Some(row) = rows.next()? {
            found.push(rows::version(row)?);
        }
    }
    Ok(found)
}

pub(super) fn history(
    connection: &Connection,
    tenant: &str,
    unit: &UnitId,
) -> Result<Vec<Version>, Fault> {
    let rest = "WHERE v.unit = ?1 AND v.tenant = ?2 ORDER BY v.seq DESC";
    rows::versions(connection, rest, [unit.as_str(), tenant])
}

pub(super) fn of_source(
    connection: &Connection,
    tenant: &str,
    draft: &Draft,
) -> Result<Vec<Version>, Fault> {
    let rest = "WHERE v.source_id = ?1 AND v.source = ?2 AND v.collection = ?3 AND v.tenant = ?4
        AND v.ended_at IS NULL ORDER BY v.seq DESC";
    rows::versions(connection, rest, [&draft.source_id, &draft.source, &draft.collection, tenant])
}

pub(super) fn rivals(
    connection: &Connection,
    (tenant, collection): (&str, &str),
    claims: &[(String, String)],
) -> Result<Vec<Version>, Fault> {
    let mut seqs: Vec<i64> = Vec::new();
    let sql = "SELECT f.seq FROM fact f JOIN version v ON v.seq = f.seq
        WHERE f.entity = ?1 AND f.attribute = ?2 AND f.collection = ?3 AND f.tenant = ?4
        AND v.ended_at IS NULL";
    let mut statement = connection.prepare_cached(sql)?;
    for (entity, attribute) in claims {
        let (entity, attribute) = rows::claim(entity, attribute);
        let mut rows = statement.query(params![entity, attribute, collection, tenant])?;
        while let Some(row) = rows.next()? {
            seqs.push(row.get(0)?);
        }
    }
    seqs.sort_unstable_by(|left, right| right.cmp(left));
    seqs.dedup();
    load(connection, tenant, &seqs)
}

pub(super) fn equal(
    connection: &Connection,
    (tenant, collection): (&str, &str),
    digest: &str,
) -> Result<Vec<Version>, Fault> {
    let rest = "WHERE v.digest = ?1 AND v.collection = ?2 AND v.tenant = ?3
        AND v.ended_at IS NULL ORDER BY v.seq DESC";
    rows::versions(connection, rest, [digest, collection, tenant])
}

/// Neighbours in the same series of the same collection, in the order of their positions, and of
/// recording where positions are equal or missing; only those in the scope count.
pub(super) fn beside(
    connection: &Connection,
    scope: &Scope,
    (seqs, span): (&[i64], u32),
    counts: &dyn Fn(i64) -> bool,
) -> Result<Vec<Beside>, Fault> {
    let own = "SELECT series, collection, position FROM version WHERE seq = ?1 AND tenant = ?2";
    let near = |after: bool| {
        let (than, order) = if after { (">", "ASC") } else { ("<", "DESC") };
        format!(
            "SELECT seq FROM version INDEXED BY version_series
            WHERE series = ?1 AND series <> '' AND collection = ?2 AND tenant = ?3
            AND (position, seq) {than} (?4, ?5) ORDER BY position {order}, seq {order}"
        )
    };
    let mut found = Vec::new();
    for of in seqs {
        let row = connection.prepare_cached(own)?.query_row(params![of, scope.tenant], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
        });
        let Some((series, collection, position)) = row.optional()? else { continue };
        if series.is_empty() {
            continue;
        }
        for (after, step) in [(false, -1), (true, 1)] {
            let mut statement = connection.prepare_cached(&near(after))?;
            let at = params![series, collection, scope.tenant, position, of];
            let mut rows = statement.query(at)?;
            let mut distance = 0_i32;
            while distance.unsigned_abs() < span {
                let Some(row) = rows.next()? else { break };
                let seq = row.get(0)?;
                if counts(seq) {
                    distance += step;
                    found.push(Beside { of: *of, seq, distance });
                }
            }
        }
    }
    Ok(found)
}

pub(super) fn texts(connection: &Connection, chunks: &[(i64, u32)]) -> Result<Vec<String>, Fault> {
    let mut statement = connection.prepare_cached("SELECT text FROM chunk WHERE id = ?1")?;
    let text = |(seq, ordinal): &(i64, u32)| {
        let found = statement.query_row([chunk_id(*seq, *ordinal)], |row| row.get(0)).optional()?;
        // One that was erased since has no words; the others keep their places.
        Ok(found.unwrap_or_default())
    };
    chunks.iter().map(text).collect()
}

pub(super) fn distances(
    connection: &Connection,
    seqs: &[i64],
    from: (f64, f64),
) -> Result<Vec<(i64, f64)>, Fault> {
    let sql = "SELECT latitude, longitude FROM version WHERE seq = ?1 AND latitude IS NOT NULL";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = Vec::new();
    for seq in seqs {
        let point = statement.query_row([seq], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        found.extend(point.map(|point| (*seq, place::metres(from, point))));
    }
    Ok(found)
}

pub(super) fn runs(connection: &Connection, limit: usize) -> Result<Vec<Run>, Fault> {
    let sql = "SELECT id, at, summary, changed, undone, tenant, collections FROM run
        ORDER BY number DESC LIMIT ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([most(limit)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(Run {
            id: row.get(0)?,
            at: instant(row.get(1)?)?,
            summary: row.get(2)?,
            changed: row.get::<_, i64>(3)?.unsigned_abs(),
            undone: row.get(4)?,
            tenant: row.get(5)?,
            collections: parsed(&row.get::<_, String>(6)?, "collections")?,
        });
    }
    Ok(found)
}

/// Versions that have not ended, in the order of their places.
pub(super) fn walk(
    connection: &Connection,
    (tenant, states): (Option<&str>, &[State]),
    (after, limit): (i64, usize),
) -> Result<Vec<Version>, Fault> {
    let rest = "WHERE v.seq > ?1 AND v.ended_at IS NULL AND (?2 IS NULL OR v.tenant = ?2)
        AND (?3 = '[]' OR v.state IN (SELECT value FROM json_each(?3))) ORDER BY v.seq LIMIT ?4";
    rows::versions(connection, rest, params![after, tenant, json(&states)?, most(limit)])
}

/// Chunks without a vector, from a chunk on; also the chunk from which on there can be more.
pub(super) fn bare(
    connection: &Connection,
    (model, without): (&str, &[String]),
    (from, limit): (i64, usize),
) -> Result<(Vec<Bare>, i64), Fault> {
    let number = known_model(connection, model, TEXT)?.map(|(number, _)| number);
    let sql =
        "SELECT c.id, v.ended_at IS NULL AND v.collection NOT IN (SELECT value FROM json_each(?3)),
        c.text FROM chunk c JOIN version v ON v.seq = c.id / ?2 WHERE c.id >= ?1 ORDER BY c.id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut having = connection.prepare_cached("SELECT 1 FROM vector WHERE id = ?1")?;
    let mut rows = statement.query(params![from, rows::CHUNKS, json(&without)?])?;
    let (mut found, mut first) = (Vec::new(), None);
    let (mut looks, mut last) = (limit.saturating_mul(LOOKS), from);
    while found.len() < limit && (looks > 0 || found.is_empty()) {
        let Some(row) = rows.next()? else { break };
        looks = looks.saturating_sub(1);
        let id: i64 = row.get(0)?;
        last = id;
        let has = match number {
            Some(number) => having.exists([vector_id(id, number)])?,
            None => false,
        };
        if row.get(1)? && !has {
            let (seq, ordinal) = chunk_of(id);
            first = first.or(Some(id));
            found.push(Bare { seq, ordinal, text: row.get(2)? });
        }
    }
    Ok((found, first.unwrap_or(last)))
}

pub(super) fn counts(connection: &Connection, tenant: Option<&str>) -> Result<Counts, Fault> {
    let number = |sql: &str| -> Result<u64, Fault> {
        let found: i64 = connection.prepare_cached(sql)?.query_row([tenant], |row| row.get(0))?;
        Ok(found.unsigned_abs())
    };
    let open = "v.ended_at IS NULL AND (?1 IS NULL OR v.tenant = ?1)";
    let chunks = format!(
        "SELECT count(*) FROM version v JOIN chunk c ON c.id >= v.seq * {0} AND c.id < (v.seq + 1) * {0}
        WHERE {open}",
        rows::CHUNKS
    );
    let state = |state: &str| {
        number(&format!("SELECT count(*) FROM version v WHERE {open} AND state = '{state}'"))
    };
    Ok(Counts {
        units: number(&format!("SELECT count(DISTINCT unit) FROM version v WHERE {open}"))?,
        versions: number("SELECT count(*) FROM version WHERE ?1 IS NULL OR tenant = ?1")?,
        chunks: number(&chunks)?,
        vectors: vectors(connection, tenant)?,
        held: (state("held")?, state("quarantined")?),
        waiting: number("SELECT count(*) FROM inbox WHERE ?1 IS NULL OR tenant = ?1")?,
        bytes: 0,
    })
}

fn vectors(connection: &Connection, tenant: Option<&str>) -> Result<Vec<(String, u64)>, Fault> {
    let sql = format!(
        "SELECT m.name, count(*) FROM vector x JOIN model m ON m.id = x.id % {0}
        JOIN version v ON v.seq = x.id / {0} / {1}
        WHERE v.ended_at IS NULL AND (?1 IS NULL OR v.tenant = ?1) GROUP BY m.name ORDER BY m.name",
        rows::MODELS,
        rows::CHUNKS
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([tenant], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))?;
    let rows: Vec<(String, i64)> = rows.collect::<Result<_, _>>()?;
    Ok(rows.into_iter().map(|(name, count)| (name, count.unsigned_abs())).collect())
}
