//! A version as a row of the table and back; ids of what hangs on it; names of states and kinds as
//! the columns spell them.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::IntoDeserializer;
use serde::de::value::{Error as Misnamed, StrDeserializer};
use serde::{Deserialize, Serialize};

use super::fault::{Fault, json, parsed};
pub(super) use crate::memory::store::mark::{kept, micros};
use crate::memory::{Draft, Ended, Trust, UnitId, Version};

/// Chunks that a version can have.
pub(super) const CHUNKS: i64 = 1 << 20;
/// Models whose vectors a store can hold at a time.
pub(super) const MODELS: i64 = 1 << 7;

/// Place of a version without one in its series: after all that have one.
const LAST: i64 = i64::MAX;

/// All columns that make a version, for the front of a query.
pub(super) const SELECT: &str = "SELECT v.seq, v.unit, v.tenant, v.owner, v.layer, v.state, v.trust,
    v.origin, v.source_time, v.valid_from, v.valid_to, v.recorded, v.ended_at, v.ended_why, v.ended_by,
    v.latitude, v.longitude, v.digest, v.conflicts, v.remarks, v.draft, u.at, u.uses, u.said
    FROM version v LEFT JOIN used u ON u.seq = v.seq ";

/// An instant out of its column.
pub(super) fn instant(micros: i64) -> Result<Timestamp, Fault> {
    Timestamp::from_microsecond(micros).map_err(|error| Fault::Broken(error.to_string()))
}

/// The id of a chunk.
pub(super) fn chunk_id(seq: i64, ordinal: u32) -> i64 {
    seq.saturating_mul(CHUNKS).saturating_add(i64::from(ordinal))
}

/// Version and place of a chunk.
pub(super) fn chunk_of(id: i64) -> (i64, u32) {
    (id.div_euclid(CHUNKS), u32::try_from(id.rem_euclid(CHUNKS)).unwrap_or(u32::MAX))
}

/// The id of a vector of a chunk.
pub(super) const fn vector_id(chunk: i64, model: i64) -> i64 {
    chunk.saturating_mul(MODELS).saturating_add(model)
}

/// Chunk and model of a vector.
pub(super) const fn vector_of(id: i64) -> (i64, i64) {
    (id.div_euclid(MODELS), id.rem_euclid(MODELS))
}

/// How a column spells a state, a kind and the like.
pub(super) fn name<T: Serialize>(value: &T) -> Result<String, Fault> {
    let text = json(value)?;
    Ok(text.trim_matches('"').to_owned())
}

/// What a column's name means.
pub(super) fn named<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Fault> {
    let from: StrDeserializer<'de, Misnamed> = text.into_deserializer();
    T::deserialize(from).map_err(|error| Fault::Broken(error.to_string()))
}

/// A vector as a column holds it: 32-bit floats, little endian.
pub(super) fn packed(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// A vector out of its column.
pub(super) fn unpacked(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
}

/// A unit's id out of its column.
pub(super) fn unit_id(text: &str) -> Result<UnitId, Fault> {
    UnitId::parse(text).ok_or_else(|| Fault::Broken(format!("`{text}` is no id of a unit")))
}

/// A version out of the columns of [`SELECT`].
pub(super) fn version(row: &Row<'_>) -> Result<Version, Fault> {
    let text = |at: usize| row.get_ref(at)?.as_str().map_err(rusqlite::Error::from);
    let time = |at: usize| -> Result<Option<Timestamp>, Fault> {
        row.get::<_, Option<i64>>(at)?.map(instant).transpose()
    };
    let seq: i64 = row.get(0)?;
    let required = |at: usize| -> Result<Timestamp, Fault> { instant(row.get(at)?) };
    let mut draft: Draft = parsed(text(20)?, &format!("version {seq}"))?;
    if let (Some(place), Some(latitude), Some(longitude)) =
        (draft.place.as_mut(), row.get(15)?, row.get(16)?)
    {
        // A number read out of JSON can differ in its last bit.
        (place.latitude, place.longitude) = (latitude, longitude);
    }
    let ended = match time(12)? {
        Some(at) => {
            let by: Option<String> = row.get(14)?;
            let by = by.map(|by| unit_id(&by)).transpose()?;
            Some(Ended { at, why: named(text(13)?)?, by })
        }
        None => None,
    };
    let uses: Option<i64> = row.get(22)?;
    Ok(Version {
        unit: unit_id(text(1)?)?,
        seq,
        tenant: row.get(2)?,
        owner: row.get(3)?,
        layer: named(text(4)?)?,
        draft,
        // Said again since, where that was later.
        source_time: time(23)?.max(Some(required(8)?)).unwrap_or_default(),
        valid_from: time(9)?,
        valid_to: time(10)?,
        recorded: required(11)?,
        ended,
        state: named(text(5)?)?,
        trust: Trust(row.get(6)?),
        origin: named(text(7)?)?,
        digest: row.get(17)?,
        remarks: parsed(text(19)?, "remarks")?,
        conflicts: parsed(text(18)?, "conflicts")?,
        used: time(21)?,
        uses: u64::try_from(uses.unwrap_or(0)).unwrap_or(0),
    })
}

/// The versions that a query finds, whose text is [`SELECT`] and what follows.
pub(super) fn versions(
    connection: &Connection,
    rest: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<Version>, Fault> {
    let mut statement = connection.prepare_cached(&format!("{SELECT}{rest}"))?;
    let mut rows = statement.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(version(row)?);
    }
    Ok(found)
}

/// Writes the row of a version, and what it is found by in tables of their own.
pub(super) fn insert(connection: &Connection, version: &Version) -> Result<(), Fault> {
    let sql = "INSERT INTO version VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
        ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27)";
    let draft = &version.draft;
    let place = draft.place.as_ref();
    let ended = version.ended.as_ref();
    connection.prepare_cached(sql)?.execute(params![
        version.seq,
        version.unit.as_str(),
        version.tenant,
        draft.collection,
        version.owner,
        name(&version.layer)?,
        draft.source,
        draft.source_id,
        draft.group,
        draft.position.unwrap_or(LAST),
        name(&draft.kind)?,
        name(&version.state)?,
        version.trust.0,
        name(&version.origin)?,
        micros(version.source_time),
        version.valid_from.map(micros),
        version.valid_to.map(micros),
        micros(version.recorded),
        ended.map(|ended| micros(ended.at)),
        ended.map(|ended| name(&ended.why)).transpose()?,
        ended.and_then(|ended| ended.by.as_ref()).map(UnitId::as_str),
        place.map(|place| place.latitude),
        place.map(|place| place.longitude),
        version.digest,
        json(&version.conflicts)?,
        json(&version.remarks)?,
        json(draft)?,
    ])?;
    for fact in &draft.facts {
        let sql = "INSERT OR IGNORE INTO fact VALUES (?1, ?2, ?3, ?4, ?5)";
        let (entity, attribute) = claim(&fact.entity, &fact.attribute);
        connection.prepare_cached(sql)?.execute(params![
            entity,
            attribute,
            draft.collection,
            version.tenant,
            version.seq
        ])?;
    }
    if let Some(place) = place {
        let sql = "INSERT INTO place VALUES (?1, ?2, ?2, ?3, ?3)";
        let point = params![version.seq, place.latitude, place.longitude];
        connection.prepare_cached(sql)?.execute(point)?;
    }
    if version.uses > 0 || version.used.is_some() {
        let uses = i64::try_from(version.uses).unwrap_or(i64::MAX);
        let at = version.used.map(micros);
        let sql = "INSERT INTO used (seq, at, uses) VALUES (?1, ?2, ?3)";
        connection.prepare_cached(sql)?.execute(params![version.seq, at, uses])?;
    }
    Ok(())
}

/// How facts are compared: entity and attribute in one spelling.
pub(super) fn claim(entity: &str, attribute: &str) -> (String, String) {
    (super::words::name(entity), super::words::name(attribute))
}

/// Whether the version is there and of the tenant.
pub(super) fn is_of(connection: &Connection, tenant: &str, seq: i64) -> Result<bool, Fault> {
    let sql = "SELECT 1 FROM version WHERE seq = ?1 AND tenant = ?2";
    let found: Option<i64> = connection
        .prepare_cached(sql)?
        .query_row(params![seq, tenant], |row| row.get(0))
        .optional()?;
    Ok(found.is_some())
}
