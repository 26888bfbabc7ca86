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

/// A unit as another memory takes it. Ids are of this memory alone, so what it was made from and what it
/// replaced are left out; what it was made from lowers its origin all the same.
pub(super) fn portable(unit: proto::Unit) -> Option<Draft> {
    let origin = unit.origin().named();
    let mut draft = draft(unit.draft?)?;
    if !draft.derived_from.is_empty() {
        draft.origin = origin;
    }
    draft.derived_from.clear();
    draft.supersedes = None;
    Some(draft)
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
        "used": unit.used, "uses": unit.uses, "left_out": unit.left_out, "draft": draft,
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

/// A kind by its name.
pub(super) fn kind(name: &str) -> Result<proto::Kind, String> {
    let known = proto::Kind::from_str_name(&format!("KIND_{}", name.to_uppercase()));
    let known = known.filter(|kind| kind.named().is_some());
    known.ok_or_else(|| "it is none of knowledge, case, preference, result".to_owned())
}

/// An entity: its value, or its kind and value.
pub(super) fn entity(text: &str) -> proto::Entity {
    let (kind, value) = text.split_once('=').unwrap_or_default();
    let (kind, value) = if value.is_empty() { ("", text) } else { (kind, value) };
    proto::Entity { kind: kind.to_owned(), value: value.to_owned() }
}

/// A point: degrees north and east.
pub(super) fn point(text: &str) -> Result<proto::Point, String> {
    let (north, east) = text.split_once(',').ok_or("it is no point such as 31.23,121.47")?;
    let read =
        |text: &str| text.trim().parse::<f64>().map_err(|error| format!("`{text}`: {error}"));
    Ok(proto::Point { latitude: read(north)?, longitude: read(east)? })
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
    let text = Value::from(value).to_string();
    let several = matches!(compare, Compare::Any | Compare::None);
    let values_json = match serde_json::from_str::<Value>(value) {
        Err(_) => vec![text],
        // A field for texts, such as a version, holds `2` as text.
        Ok(Value::Number(_) | Value::Bool(_) | Value::Null) if several => {
            vec![value.to_owned(), text]
        }
        Ok(_) => vec![value.to_owned()],
    };
    Ok(proto::Filter { field: field.trim().to_owned(), compare: compare.into(), values_json })
}

#[cfg(test)]
mod tests {
    use super::{filter, proto::filter::Compare};

    #[test]
    fn what_may_be_a_number_or_a_text_is_asked_for_as_both() {
        let read = |text| {
            let read = filter(text).ok().unwrap();
            (read.field.clone(), read.compare(), read.values_json)
        };
        let both = |value: &str| vec![value.to_owned(), format!("\"{value}\"")];
        assert_eq!(read("version=2"), ("version".to_owned(), Compare::Any, both("2")));
        assert_eq!(read("version!=2.10"), ("version".to_owned(), Compare::None, both("2.10")));
        assert_eq!(read("tested=true").2, both("true"));
        assert_eq!(read("version=\"2\"").2, ["\"2\""]);
        assert_eq!(read("line=PX").2, ["\"PX\""]);
        assert_eq!(read("year>=2026"), ("year".to_owned(), Compare::AtLeast, vec!["2026".into()]));
    }
}
