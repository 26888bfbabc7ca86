//! Requests to the memory from their wire form. Every field that is malformed is named, all at once;
//! what a draft means is for its collection to judge.

use serde_json::{Map, Value};
use tonic::Status;

use super::draft::Read;
use super::fields::Fields;
use super::page::Pages;
use super::status;
use crate::memory::context::Material;
use crate::memory::members;
use crate::memory::place::Ring;
use crate::memory::recall;
use crate::memory::{
    Adjacent, Asking, Compare, Decision, Draft, Filter, Kind, Listing, Manner, Origin, Question,
    Sense, Spot, UnitId, Upkeep, Visit, When, Which,
};
use crate::proto::memory as proto;

/// Bytes of a reason.
const REASON_BYTES: usize = 1024;
/// Bytes of the JSON text of a draft's metadata.
const JSON_BYTES: usize = 256 << 10;
/// Bytes of the JSON text of a filter's value.
const VALUE_BYTES: usize = 32 << 10;
/// Bytes of instructions, tools, turns and results of a context together.
const MATERIAL_BYTES: usize = 4 << 20;
/// Numbers of a vector.
const DIMENSIONS: usize = 8192;
const FILTERS: usize = 32;
const VALUES: usize = 256;
const ENTITIES: usize = 64;
const TYPES: usize = 64;
const COLLECTIONS: usize = 256;
const SENSES: usize = 64;
const TURNS: usize = 32;
const RECEIPTS: usize = 256;
/// Receipts that are asked for at once.
const TOLD: usize = 1000;
/// Tools, turns or results of a context.
const PIECES: usize = 4096;
const RING: usize = 1000;

/// A draft. Its fields are named by JSON pointers, as the collection's own faults are.
pub(super) fn draft(wire: Option<proto::Draft>, fields: &mut Fields) -> Option<Draft> {
    let Some(wire) = wire else {
        fields.wrong("draft", "is missing");
        return None;
    };
    let kind = kind(wire.kind);
    if kind.is_none() {
        fields.wrong("/kind", "is missing or unknown: knowledge, case, preference or result");
    }
    let origin = origin(wire.origin);
    if origin.is_none() && wire.origin != 0 {
        fields.wrong("/origin", "is unknown");
    }
    let metadata = metadata(&wire.metadata_json, fields);
    let mut unit = |field: String, id: &str| {
        let unit = UnitId::parse(id);
        if unit.is_none() {
            fields.wrong(field, "is no id of a unit, which is a UUID");
        }
        unit
    };
    let derived_from = wire.derived_from.iter().enumerate();
    let derived_from =
        derived_from.filter_map(|(at, id)| unit(format!("/derived_from/{at}"), id)).collect();
    let supersedes = match wire.supersedes.as_str() {
        "" => None,
        id => unit("/supersedes".to_owned(), id),
    };
    let read = Read { kind: kind?, origin, metadata: metadata?, derived_from, supersedes };
    Some(read.with(wire))
}

fn metadata(text: &str, fields: &mut Fields) -> Option<Map<String, Value>> {
    if text.trim().is_empty() {
        return Some(Map::new());
    }
    match json(text, JSON_BYTES) {
        Ok(Value::Object(_)) => match members::parse(text) {
            Ok(members) => Some(members),
            Err(wrong) => {
                fields.wrong("/metadata", wrong.to_string());
                None
            }
        },
        Ok(_) => {
            fields.wrong("/metadata", "is no JSON object");
            None
        }
        Err(wrong) => {
            fields.wrong("/metadata", wrong);
            None
        }
    }
}

fn json(text: &str, most: usize) -> Result<Value, String> {
    if text.len() > most {
        return Err(format!("has {} bytes; at most {most}", text.len()));
    }
    serde_json::from_str(text).map_err(|error| format!("is no JSON: {error}"))
}

fn kind(wire: i32) -> Option<Kind> {
    proto::Kind::try_from(wire).ok()?.named()
}

fn origin(wire: i32) -> Option<Origin> {
    proto::Origin::try_from(wire).ok()?.named()
}

fn sense(wire: i32) -> Option<Sense> {
    match proto::Sense::try_from(wire).ok()? {
        proto::Sense::Unspecified => None,
        proto::Sense::Trigger => Some(Sense::Trigger),
        proto::Sense::Entity => Some(Sense::Entity),
        proto::Sense::Words => Some(Sense::Words),
        proto::Sense::Vector => Some(Sense::Vector),
        proto::Sense::Neighbour => Some(Sense::Neighbour),
        proto::Sense::Image => Some(Sense::Image),
        proto::Sense::Place => Some(Sense::Place),
        proto::Sense::Recency => Some(Sense::Recency),
        proto::Sense::Rerank => Some(Sense::Rerank),
        proto::Sense::Rewrite => Some(Sense::Rewrite),
    }
}

/// Known values of an enumeration.
fn known<T>(field: &str, wire: &[i32], read: fn(i32) -> Option<T>, fields: &mut Fields) -> Vec<T> {
    fields.most(field, wire.len(), SENSES);
    let known: Vec<T> = wire.iter().filter_map(|value| read(*value)).collect();
    if known.len() < wire.len() {
        fields.wrong(field, "has a value that is not known");
    }
    known
}

/// A question with all that belongs to it.
pub(super) fn asking(wire: Option<proto::Question>, after: Vec<String>) -> Result<Asking, Status> {
    let mut fields = Fields::default();
    let asking = wire.map(|wire| question(wire, after, &mut fields));
    if asking.is_none() {
        fields.wrong("question", "is missing");
    }
    fields.all(asking)
}

fn question(wire: proto::Question, after: Vec<String>, fields: &mut Fields) -> Asking {
    fields.most("question.conversation", wire.conversation.len(), TURNS);
    fields.names("after_receipts", &after, RECEIPTS);
    fields.names("question.collections", &wire.collections, COLLECTIONS);
    fields.most("question.entities", wire.entities.len(), ENTITIES);
    for entity in wire.entities.iter().take(ENTITIES) {
        fields.name("question.entities", &entity.kind);
        fields.name("question.entities", &entity.value);
    }
    if let Some(image) = &wire.image {
        fields.name("question.image.model", &image.model);
        fields.most("question.image.vector", image.vector.len(), DIMENSIONS);
    }
    let (spot, adjacent) = place("question.spot", wire.spot, fields);
    let nearest = wire.nearest.map(|nearest| {
        let point = nearest.point.unwrap_or_default();
        fields.names("question.nearest.types", &nearest.types, TYPES);
        (point.latitude, point.longitude, nearest.types)
    });
    let question = Question {
        text: wire.text,
        conversation: wire.conversation,
        entities: wire.entities.into_iter().map(Into::into).collect(),
        top_k: usize::try_from(wire.top_k).unwrap_or(usize::MAX),
        threshold: wire.threshold,
        as_of: None,
        known_at: None,
        kinds: known("question.kinds", &wire.kinds, kind, fields),
        filters: filters("question.filters", wire.filters, fields),
        spot,
        adjacent,
        nearest,
        image: wire.image.map(|image| (image.model, image.vector)),
        held: wire.held,
        archived: wire.archived,
        without: known("question.without", &wire.without, sense, fields),
        explain: false,
    };
    if let Err(recall::Error::Question { field, reason }) = recall::check(&question) {
        fields.wrong(format!("question.{field}"), reason);
    }
    let when = When { as_of: wire.as_of, known_at: wire.known_at, time_zone: wire.time_zone };
    fields.when("question.", &when);
    Asking { question, collections: wire.collections, when, after }
}

fn filters(field: &str, wire: Vec<proto::Filter>, fields: &mut Fields) -> Vec<Filter> {
    fields.most(field, wire.len(), FILTERS);
    let values: usize = wire.iter().map(|filter| filter.values_json.len()).sum();
    fields.most(field, values, 2 * VALUES);
    let read = |(at, filter): (usize, proto::Filter)| {
        let compare = match filter.compare() {
            proto::filter::Compare::Any => Compare::Any,
            proto::filter::Compare::None => Compare::None,
            proto::filter::Compare::Less => Compare::Less,
            proto::filter::Compare::AtMost => Compare::Most,
            proto::filter::Compare::More => Compare::More,
            proto::filter::Compare::AtLeast => Compare::Least,
            proto::filter::Compare::Unspecified => {
                fields.wrong(format!("{field}[{at}].compare"), "is missing or unknown");
                return None;
            }
        };
        fields.name(&format!("{field}[{at}].field"), &filter.field);
        fields.most(&format!("{field}[{at}].values_json"), filter.values_json.len(), VALUES);
        let several = matches!(compare, Compare::Any | Compare::None);
        if filter.values_json.is_empty() || !several && filter.values_json.len() > 1 {
            fields.wrong(format!("{field}[{at}].values_json"), "needs one value");
        }
        let mut values = Vec::new();
        for text in filter.values_json.iter().take(VALUES) {
            match json(text, VALUE_BYTES) {
                Ok(value) => values.push(value),
                Err(wrong) => fields.wrong(format!("{field}[{at}].values_json"), wrong),
            }
        }
        Some(Filter { field: filter.field, compare, values })
    };
    wire.into_iter().enumerate().filter_map(read).collect()
}

/// A condition on the place: a shape, or what is beside a unit.
fn place(
    field: &str,
    wire: Option<proto::Spot>,
    fields: &mut Fields,
) -> (Option<Spot>, Option<Adjacent>) {
    match wire {
        Some(proto::Spot { shape: Some(proto::spot::Shape::Adjacent(beside)), types }) => {
            check_metres(&format!("{field}.adjacent.metres"), beside.metres, fields);
            let unit = UnitId::parse(&beside.unit_id);
            if unit.is_none() {
                fields.wrong(
                    format!("{field}.adjacent.unit_id"),
                    "is no id of a unit, which is a UUID",
                );
            }
            let beside = |unit| Adjacent { unit, metres: beside.metres, kinds: types };
            (None, unit.map(beside))
        }
        Some(spot) => (self::spot(field, spot, fields), None),
        None => (None, None),
    }
}

fn check_metres(field: &str, metres: f64, fields: &mut Fields) {
    if !metres.is_finite() || metres < 0.0 {
        fields.wrong(field, "is no distance");
    }
}

fn spot(field: &str, wire: proto::Spot, fields: &mut Fields) -> Option<Spot> {
    let kinds = wire.types;
    fields.names(&format!("{field}.types"), &kinds, TYPES);
    match wire.shape {
        None | Some(proto::spot::Shape::Adjacent(_)) => {
            fields.wrong(field, "has none of `within`, `area` and `adjacent`");
            None
        }
        Some(proto::spot::Shape::Within(within)) => {
            let point = within.center.unwrap_or_default();
            check_metres(&format!("{field}.within.metres"), within.metres, fields);
            let (latitude, longitude) = (point.latitude, point.longitude);
            check_point(field, (latitude, longitude), fields);
            Some(Spot::Within { latitude, longitude, metres: within.metres, kinds })
        }
        Some(proto::spot::Shape::Area(area)) => {
            fields.most(field, area.ring.len(), RING);
            let points = area.ring.iter().take(RING);
            let ring: Vec<_> = points.map(|point| (point.latitude, point.longitude)).collect();
            if let Err(unusable) = Ring::new(&ring) {
                fields.wrong(format!("{field}.area.ring"), format!("is no area: {unusable}"));
            }
            Some(Spot::Inside { ring, kinds })
        }
    }
}

fn check_point(field: &str, (latitude, longitude): (f64, f64), fields: &mut Fields) {
    let known = (-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude);
    if !known {
        fields
            .wrong(field, format!("`{latitude}, {longitude}` is no point: -90 to 90, -180 to 180"));
    }
}

/// Collections, conditions and times of a list.
pub(super) fn listing(wire: proto::ListRequest) -> Result<(Vec<String>, Listing, When), Status> {
    let mut fields = Fields::default();
    let dated = wire.spot.is_some() || !wire.as_of.is_empty() || !wire.known_at.is_empty();
    if wire.any_date && dated {
        fields.wrong("any_date", "goes with none of `spot`, `as_of` and `known_at`");
    }
    let (spot, adjacent) = place("spot", wire.spot, &mut fields);
    let listing = Listing {
        any_date: wire.any_date,
        kinds: known("kinds", &wire.kinds, kind, &mut fields),
        filters: filters("filters", wire.filters, &mut fields),
        spot,
        adjacent,
        as_of: None,
        known_at: None,
        held: wire.held,
        archived: wire.archived,
        before: None,
        limit: size(wire.page_size),
    };
    let when = When { as_of: wire.as_of, known_at: wire.known_at, time_zone: wire.time_zone };
    fields.when("", &when);
    fields.names("collections", &wire.collections, COLLECTIONS);
    fields.all(Some((wire.collections, listing, when)))
}

/// Names of collections.
pub(super) fn collections(names: &[String]) -> Result<(), Status> {
    let mut fields = Fields::default();
    fields.names("collections", names, COLLECTIONS);
    fields.all(Some(()))
}

/// Receipts that are asked for.
pub(super) fn receipts(ids: Vec<String>) -> Result<Vec<String>, Status> {
    let mut fields = Fields::default();
    fields.names("receipt_ids", &ids, TOLD);
    fields.all(Some(ids))
}

/// Units of a page.
pub(super) fn size(asked: u32) -> usize {
    usize::try_from(if asked == 0 { 100 } else { asked.min(1000) }).unwrap_or(1000)
}

/// The pages of a list, and the token that names one.
pub(super) fn pages(visit: &Visit, mut asked: proto::ListRequest) -> (Pages, String) {
    let token = std::mem::take(&mut asked.page_token);
    asked.page_size = 0;
    (Pages::new(&visit.caller, &asked), token)
}

/// The unit that is to be forgotten.
pub(super) fn which(wire: Option<proto::forget_request::What>) -> Result<Which, Status> {
    use proto::forget_request::What;
    match wire {
        Some(What::UnitId(id)) => UnitId::parse(&id).map(Which::Unit).ok_or_else(|| {
            status::malformed(&[("unit_id", "is no id of a unit, which is a UUID".to_owned())])
        }),
        Some(What::Source(source)) => {
            let mut fields = Fields::default();
            fields.name("source.collection", &source.collection);
            fields.name("source.source", &source.source);
            fields.name("source.source_id", &source.source_id);
            fields.all(Some(Which::Source(source.collection, source.source, source.source_id)))
        }
        None => {
            Err(status::malformed(&[("what", "has neither `unit_id` nor `source`".to_owned())]))
        }
    }
}

/// A reviewer's decision.
pub(super) fn decision(wire: &proto::DecideReviewRequest) -> Result<Decision, Status> {
    use proto::decide_review_request as request;
    let wrong = |field, what: &str| Err(status::malformed(&[(field, what.to_owned())]));
    let approve = match wire.decision() {
        request::Decision::Approve => true,
        request::Decision::Reject => false,
        request::Decision::Unspecified => {
            return wrong("decision", "is neither approve nor reject");
        }
    };
    let manner = match wire.manner() {
        request::Manner::Unspecified | request::Manner::Replace => Manner::Replace,
        request::Manner::KeepBoth => Manner::KeepBoth,
    };
    let reason = &wire.reason;
    if reason.len() > REASON_BYTES || reason.chars().any(char::is_control) {
        return wrong("reason", "has more than 1024 bytes, or a control character");
    }
    Ok(Decision { approve, manner, reason: reason.clone() })
}

/// The unit that is asked about, if any.
pub(super) fn unit(id: &str) -> Result<Option<UnitId>, Status> {
    if id.is_empty() {
        return Ok(None);
    }
    let wrong = || status::malformed(&[("unit_id", "is no id of a unit".to_owned())]);
    UnitId::parse(id).map(Some).ok_or_else(wrong)
}

/// The question, the tokens and the rest of a context.
pub(super) fn material(wire: proto::ContextRequest) -> Result<(Asking, usize, Material), Status> {
    let mut fields = Fields::default();
    for (field, list) in
        [("tools", &wire.tools), ("turns", &wire.turns), ("results", &wire.results)]
    {
        fields.most(field, list.len(), PIECES);
    }
    let texts = wire.tools.iter().chain(&wire.turns).chain(&wire.results);
    let bytes: usize = texts.chain([&wire.instructions]).map(String::len).sum();
    if bytes > MATERIAL_BYTES {
        let what = "bytes together with `tools`, `turns` and `instructions`";
        fields.wrong("results", format!("has {bytes} {what}; at most {MATERIAL_BYTES}"));
    }
    fields.all(Some(()))?;
    let asking = asking(wire.question, wire.after_receipts)?;
    let material = Material {
        instructions: wire.instructions,
        tools: wire.tools,
        question: asking.question.text.clone(),
        turns: wire.turns,
        results: wire.results,
    };
    Ok((asking, usize::try_from(wire.budget_tokens).unwrap_or(usize::MAX), material))
}

/// What is wanted of upkeep.
pub(super) fn upkeep(wire: Option<proto::consolidate_request::Action>) -> Result<Upkeep, Status> {
    use proto::consolidate_request::Action;
    match wire {
        Some(Action::DryRun(_)) => Ok(Upkeep::DryRun),
        Some(Action::Apply(_)) => Ok(Upkeep::Apply),
        Some(Action::Undo(run)) => Ok(Upkeep::Undo(super::wire::named("undo", run)?)),
        Some(Action::Runs(runs)) => {
            let limit = if runs.limit == 0 { 100 } else { runs.limit.min(1000) };
            Ok(Upkeep::Runs(usize::try_from(limit).unwrap_or(1000)))
        }
        None => Err(status::malformed(&[("action", "is missing".to_owned())])),
    }
}
