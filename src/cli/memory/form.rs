//! Units and drafts between their JSON form, which people and files have, and the wire.

use serde_json::{Map, Value, json};

use crate::cli::Failed;
use crate::memory::{Draft, Entity, Fact, Image, Kind, Origin, Place, Table};
use crate::proto::memory as proto;

/// A draft as it is sent.
pub(super) fn wire(draft: Draft) -> proto::Draft {
    let metadata_json = match draft.metadata.is_empty() {
        true => String::new(),
        false => Value::Object(draft.metadata).to_string(),
    };
    let image = |image: Image| proto::Image {
        uri: image.uri,
        media_type: image.media_type,
        sha256: image.sha256,
        description: image.description,
        ocr_text: image.ocr_text,
        vector_model: image.vector_model,
        vector: image.vector,
    };
    let table = |table: Table| proto::Table {
        caption: table.caption,
        columns: table.columns,
        rows: table.rows.into_iter().map(|cells| proto::table::Row { cells }).collect(),
    };
    let entity = |one: Entity| proto::Entity { kind: one.kind, value: one.value };
    let fact = |fact: Fact| {
        let Fact { entity, attribute, value, unit } = fact;
        proto::Fact { entity, attribute, value, unit }
    };
    proto::Draft {
        collection: draft.collection,
        source: draft.source,
        source_id: draft.source_id,
        source_time: draft.source_time.unwrap_or_default(),
        kind: proto::Kind::from(draft.kind).into(),
        origin: draft.origin.map_or(0, |origin| proto::Origin::from(origin).into()),
        key: draft.key,
        triggers: draft.triggers,
        text: draft.text,
        value: draft.value,
        metadata_json,
        valid_from: draft.valid_from.unwrap_or_default(),
        valid_to: draft.valid_to.unwrap_or_default(),
        entities: draft.entities.into_iter().map(entity).collect(),
        facts: draft.facts.into_iter().map(fact).collect(),
        place: draft.place.map(|place| proto::Place {
            latitude: place.latitude,
            longitude: place.longitude,
            r#type: place.kind,
        }),
        images: draft.images.into_iter().map(image).collect(),
        tables: draft.tables.into_iter().map(table).collect(),
        group: draft.group,
        position: draft.position,
        speaker: draft.speaker,
        derived_from: draft.derived_from.iter().map(ToString::to_string).collect(),
        supersedes: draft.supersedes.map(|unit| unit.to_string()).unwrap_or_default(),
    }
}

/// A draft as a file has it: what is empty is left out.
pub(super) fn draft(wire: proto::Draft) -> Option<Draft> {
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    let metadata: Map<String, Value> = match wire.metadata_json.as_str() {
        "" => Map::new(),
        text => serde_json::from_str(text).ok()?,
    };
    let image = |image: proto::Image| Image {
        uri: image.uri,
        media_type: image.media_type,
        sha256: image.sha256,
        description: image.description,
        ocr_text: image.ocr_text,
        vector_model: image.vector_model,
        vector: image.vector,
    };
    let table = |table: proto::Table| Table {
        caption: table.caption,
        columns: table.columns,
        rows: table.rows.into_iter().map(|row| row.cells).collect(),
    };
    let entity = |one: proto::Entity| Entity { kind: one.kind, value: one.value };
    let fact = |fact: proto::Fact| {
        let proto::Fact { entity, attribute, value, unit } = fact;
        Fact { entity, attribute, value, unit }
    };
    Some(Draft {
        kind: kind(wire.kind())?,
        origin: origin(wire.origin()),
        collection: wire.collection,
        source: wire.source,
        source_id: wire.source_id,
        source_time: some(wire.source_time),
        key: wire.key,
        triggers: wire.triggers,
        text: wire.text,
        value: wire.value,
        metadata,
        valid_from: some(wire.valid_from),
        valid_to: some(wire.valid_to),
        entities: wire.entities.into_iter().map(entity).collect(),
        facts: wire.facts.into_iter().map(fact).collect(),
        place: wire.place.map(|place| Place {
            latitude: place.latitude,
            longitude: place.longitude,
            kind: place.r#type,
        }),
        images: wire.images.into_iter().map(image).collect(),
        tables: wire.tables.into_iter().map(table).collect(),
        group: wire.group,
        position: wire.position,
        speaker: wire.speaker,
        derived_from: wire
            .derived_from
            .iter()
            .filter_map(|id| crate::memory::UnitId::parse(id))
            .collect(),
        supersedes: crate::memory::UnitId::parse(&wire.supersedes),
    })
}

const fn kind(wire: proto::Kind) -> Option<Kind> {
    match wire {
        proto::Kind::Unspecified => None,
        proto::Kind::Knowledge => Some(Kind::Knowledge),
        proto::Kind::Case => Some(Kind::Case),
        proto::Kind::Preference => Some(Kind::Preference),
        proto::Kind::Result => Some(Kind::Result),
    }
}

const fn origin(wire: proto::Origin) -> Option<Origin> {
    match wire {
        proto::Origin::Unspecified => None,
        proto::Origin::Curator => Some(Origin::Curator),
        proto::Origin::Person => Some(Origin::Person),
        proto::Origin::Model => Some(Origin::Model),
        proto::Origin::Tool => Some(Origin::Tool),
        proto::Origin::File => Some(Origin::File),
        proto::Origin::Web => Some(Origin::Web),
    }
}

/// The short name of an enumeration's value: `STAGE_HELD` is `held`.
pub(super) fn short(name: &str) -> String {
    name.split_once('_').map_or(name, |(_, rest)| rest).to_lowercase()
}

/// A receipt.
pub(super) fn receipt(receipt: &proto::Receipt) -> Value {
    json!({
        "receipt": receipt.id, "stage": short(receipt.stage().as_str_name()),
        "unit": receipt.unit_id, "evidence": receipt.evidence_id, "remarks": receipt.remarks,
        "arrived": receipt.arrived, "changed": receipt.changed,
    })
}

/// A version with everything that is known of it.
pub(super) fn unit(unit: proto::Unit) -> Value {
    let (layer, state) = (short(unit.layer().as_str_name()), short(unit.state().as_str_name()));
    let origin = short(unit.origin().as_str_name());
    let draft = unit.draft.and_then(draft);
    json!({
        "unit": unit.unit_id, "evidence": unit.evidence_id, "layer": layer, "owner": unit.owner,
        "state": state, "trust": unit.trust, "origin": origin, "source_time": unit.source_time,
        "valid_from": unit.valid_from, "valid_to": unit.valid_to, "recorded": unit.recorded,
        "ended": unit.ended, "ended_why": unit.ended_why, "ended_by": unit.ended_by,
        "digest": unit.digest, "remarks": unit.remarks, "conflicts": unit.conflicts,
        "used": unit.used, "uses": unit.uses, "draft": draft,
    })
}

/// A hit with its scores.
pub(super) fn hit(hit: &proto::Hit) -> Value {
    let scores: Vec<Value> = hit.scores.iter().map(score).collect();
    let passages: Vec<&String> = hit.passages.iter().map(|one| &one.text).collect();
    json!({
        "evidence": hit.evidence_id, "score": hit.score, "scores": scores, "passages": passages,
        "metres": hit.metres, "withheld": hit.withheld, "unit": hit.unit.clone().map(unit),
    })
}

/// What one layer gave.
pub(super) fn score(score: &proto::Score) -> Value {
    json!({
        "sense": short(score.sense().as_str_name()), "raw": score.raw, "even": score.even,
        "adds": score.adds, "rank": score.rank,
    })
}

/// Layers that did not work.
pub(super) fn failed(failed: &[proto::FailedLayer]) -> Vec<Value> {
    let one = |layer: &proto::FailedLayer| json!({ "sense": short(layer.sense().as_str_name()), "reason": layer.reason });
    failed.iter().map(one).collect()
}

/// A condition such as `line=PX`, `year>=2026` or `state!=old`.
pub(super) fn filter(text: &str) -> Result<proto::Filter, Failed> {
    use proto::filter::Compare;
    let signs = [
        ("!=", Compare::None),
        ("<=", Compare::AtMost),
        (">=", Compare::AtLeast),
        ("=", Compare::Any),
        ("<", Compare::Less),
        (">", Compare::More),
    ];
    let found = signs.iter().filter_map(|(sign, compare)| Some((text.find(sign)?, sign, compare)));
    // The first sign counts, and of those at one place the longest, which stand first.
    let found = found.min_by_key(|(at, ..)| *at);
    let (field, value, compare) = found
        .and_then(|(at, sign, compare)| {
            Some((text.get(..at)?, text.get(at + sign.len()..)?, *compare))
        })
        .ok_or_else(|| {
            Failed::usage(format!("`{text}` is no condition such as line=PX or year>=2026"))
        })?;
    let json = serde_json::from_str::<Value>(value).is_ok();
    let value = if json { value.to_owned() } else { Value::from(value).to_string() };
    Ok(proto::Filter {
        field: field.trim().to_owned(),
        compare: compare.into(),
        values_json: vec![value],
    })
}
