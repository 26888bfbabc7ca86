//! Units and drafts between their JSON form, which people and files have, and the wire.

use serde_json::{Map, Value, json};

use crate::cli::Failed;
use crate::memory::{Draft, UnitId};
use crate::proto::memory as proto;
use crate::service::DraftRead;

/// A draft as a file has it: what is empty is left out.
pub(super) fn draft(wire: proto::Draft) -> Option<Draft> {
    let read = DraftRead {
        kind: wire.kind().named()?,
        origin: wire.origin().named(),
        metadata: match wire.metadata_json.as_str() {
            "" => Map::new(),
            text => serde_json::from_str(text).ok()?,
        },
        derived_from: wire.derived_from.iter().filter_map(|id| UnitId::parse(id)).collect(),
        supersedes: UnitId::parse(&wire.supersedes),
    };
    Some(read.with(wire))
}

/// The short name of an enumeration's value: `STAGE_HELD` is `held`.
pub(super) fn short(name: &str) -> String {
    name.split_once('_').map_or(name, |(_, rest)| rest).to_lowercase()
}

/// A receipt.
pub(super) fn receipt(receipt: &proto::Receipt) -> Value {
    json!({
        "receipt": receipt.id, "stage": short(receipt.stage().as_str_name()),
        "unit": receipt.unit_id, "evidence": receipt.evidence_id, "newer": receipt.newer,
        "remarks": receipt.remarks,
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
