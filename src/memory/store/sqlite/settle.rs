//! What comes in: writes are taken, and brought to their end with all that they change. The tables
//! only; what the indexes have to follow is noted in the step.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::super::{Error, Settlement, Stage, Write};
use super::amend::amend;
use super::entry::{Entry, Event, Vector};
use super::fault::{Fault, json};
use super::models;
use super::rows::{self, chunk_id, instant, kept, micros, name, named, packed, vector_id};
use super::vectors::Code;
use super::writer::Step;
use crate::memory::{Chunk, Version};

/// Puts writes into the inbox; one whose receipt is known already is not taken twice.
pub(super) fn accept(step: &Step<'_>, writes: &[Write]) -> Result<(), Fault> {
    for write in writes {
        let sql =
            "INSERT OR IGNORE INTO receipt (id, tenant, caller, stage, remarks, arrived, changed)
            VALUES (?1, ?2, ?3, ?4, '[]', ?5, ?5)";
        let arrived = micros(write.arrived);
        let row =
            params![write.receipt, write.tenant, write.caller, name(&Stage::Accepted)?, arrived];
        if step.connection.prepare_cached(sql)?.execute(row)? == 0 {
            continue;
        }
        let number = step.connection.last_insert_rowid();
        let draft = &write.draft;
        let source = source_key(&draft.collection, &draft.source, &draft.source_id)?;
        let sql = "INSERT INTO inbox VALUES (?1, ?2, ?3, ?4)";
        let row = params![number, write.tenant, source, json(write)?];
        step.connection.prepare_cached(sql)?.execute(row)?;
    }
    Ok(())
}

/// One source id, as the inbox names it.
pub(super) fn source_key(collection: &str, source: &str, id: &str) -> Result<String, Fault> {
    json(&[collection, source, id])
}

/// A settlement, with what takes time to make of it.
#[derive(Debug)]
pub(super) struct Prepared {
    settlement: Settlement,
    entry: Option<Box<Entry>>,
    codes: Vec<Option<Code>>,
    images: Vec<Code>,
}

/// Makes what the indexes need, before the writer is troubled.
pub(super) fn prepare(settlements: Vec<Settlement>) -> Result<Vec<Prepared>, Fault> {
    let prepare = |settlement: Settlement| {
        let (mut entry, mut codes, mut images) = (None, Vec::new(), Vec::new());
        if let Some((version, chunks)) = &settlement.version {
            entry = Some(Box::new(Entry::new(version, chunks)?));
            let code = |chunk: &Chunk| chunk.vector.as_ref().map(|(_, vector)| Code::new(vector));
            codes = chunks.iter().map(code).collect();
            images = version.draft.images.iter().map(|image| Code::new(&image.vector)).collect();
        }
        Ok(Prepared { settlement, entry, codes, images })
    };
    settlements.into_iter().map(prepare).collect()
}

/// Brings writes to their end; gives the version of each that has one.
pub(super) fn settle(step: &mut Step<'_>, all: Vec<Prepared>) -> Result<Vec<Option<i64>>, Fault> {
    let now = micros(Timestamp::now());
    let more = i64::try_from(all.len()).unwrap_or(0).saturating_sub(1);
    // The last of them is recorded now, unless the clock was ahead before.
    step.clock.recorded = step.clock.recorded.max(now.saturating_sub(more).saturating_sub(1));
    all.into_iter().map(|prepared| settle_one(step, now, prepared)).collect()
}

fn settle_one(step: &mut Step<'_>, now: i64, prepared: Prepared) -> Result<Option<i64>, Fault> {
    let Prepared { settlement, entry, codes, images } = prepared;
    let Settlement { receipt, stage, remarks, version, known, changes } = settlement;
    let sql = "SELECT number, stage, made FROM receipt WHERE id = ?1";
    let row = step.connection.prepare_cached(sql)?.query_row([&receipt], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<i64>>(2)?))
    });
    let number = match row.optional()? {
        Some((_, stage, made)) if named::<Stage>(&stage)? != Stage::Accepted => return Ok(made),
        Some((number, ..)) => number,
        None => unasked(step.connection, &receipt, version.as_ref().map(|(v, _)| v), now)?,
    };
    let (mut made, mut stored) = (None, known);
    let mut at = None;
    if let (Some((version, chunks)), Some(entry)) = (version, entry) {
        let version = record(step, version)?;
        let vectors = keep(step.connection, &version, &chunks, (codes, images))?;
        at = version.ended.is_none().then_some(version.recorded);
        (made, stored) = (Some(version.seq), Some((version.unit.clone(), version.seq)));
        let mut entry = entry;
        (entry.seq, entry.recorded) = (version.seq, micros(version.recorded));
        entry.ended = version.ended.map_or(i64::MAX, |ended| micros(ended.at));
        entry.vectors = vectors;
        step.events.push(Event::Add(entry));
    }
    for change in &changes {
        amend(step, change, at)?;
    }
    let sql =
        "UPDATE receipt SET stage = ?2, unit = ?3, seq = ?4, made = ?5, remarks = ?6, changed = ?7
        WHERE number = ?1";
    step.connection.prepare_cached(sql)?.execute(params![
        number,
        name(&stage)?,
        stored.as_ref().map(|(unit, _)| unit.as_str()),
        stored.as_ref().map(|(_, seq)| seq),
        made,
        json(&remarks)?,
        now,
    ])?;
    step.connection.prepare_cached("DELETE FROM inbox WHERE number = ?1")?.execute([number])?;
    Ok(made)
}

/// The receipt of a version that nobody's write asked for, such as one that upkeep made.
fn unasked(
    connection: &Connection,
    receipt: &str,
    version: Option<&Version>,
    now: i64,
) -> Result<i64, Fault> {
    let Some(version) = version else {
        return Err(Error::Engine(format!("there is no receipt `{receipt}`")).into());
    };
    let sql = "INSERT INTO receipt (id, tenant, caller, stage, remarks, arrived, changed)
        VALUES (?1, ?2, ?3, ?4, '[]', ?5, ?5)";
    let row = params![receipt, version.tenant, version.owner, name(&Stage::Accepted)?, now];
    connection.prepare_cached(sql)?.execute(row)?;
    Ok(connection.last_insert_rowid())
}

/// Gives a version its place and time, and writes its row.
fn record(step: &mut Step<'_>, mut version: Version) -> Result<Version, Fault> {
    step.clock.seq += 1;
    step.clock.recorded += 1;
    version.seq = step.clock.seq;
    version.recorded = instant(step.clock.recorded)?;
    version.source_time = kept(version.source_time);
    version.valid_from = version.valid_from.map(kept);
    version.valid_to = version.valid_to.map(kept);
    if let Some(ended) = &mut version.ended {
        ended.at = kept(ended.at).max(version.recorded);
    }
    rows::insert(step.connection, &version)?;
    Ok(version)
}

/// Writes chunks and vectors of a version; gives the vectors as the indexes take them.
fn keep(
    connection: &Connection,
    version: &Version,
    chunks: &[Chunk],
    (codes, images): (Vec<Option<Code>>, Vec<Code>),
) -> Result<Vec<Vector>, Fault> {
    let (seq, mut kept) = (version.seq, Vec::new());
    for (chunk, code) in chunks.iter().zip(codes) {
        let id = chunk_id(seq, chunk.ordinal);
        let sql = "INSERT INTO chunk VALUES (?1, ?2)";
        connection.prepare_cached(sql)?.execute(params![id, chunk.text])?;
        if let (Some((model, vector)), Some(code)) = (&chunk.vector, code) {
            let model = models::text(connection, model, vector.len())?;
            let sql = "INSERT INTO vector VALUES (?1, ?2)";
            let row = params![vector_id(id, model), packed(vector)];
            connection.prepare_cached(sql)?.execute(row)?;
            kept.push(Vector::of_chunk(seq, chunk.ordinal, model, code));
        }
    }
    for (ordinal, (image, code)) in (0..).zip(version.draft.images.iter().zip(images)) {
        if image.vector.is_empty() {
            continue;
        }
        let of = (version.tenant.as_str(), image.vector_model.as_str());
        let model = models::add_image(connection, of, image.vector.len())?;
        let vector = Vector::of_image(seq, ordinal, model, code);
        let sql = "INSERT INTO picture VALUES (?1, ?2)";
        connection.prepare_cached(sql)?.execute(params![vector.id, packed(&image.vector)])?;
        kept.push(vector);
    }
    Ok(kept)
}
