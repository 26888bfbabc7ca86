//! The gate: a [`Draft`] and the collection it is for in, a [`Gated`] draft or all that is wrong with it
//! out. It knows only the draft; what other units have to do with it is asked behind it.

mod fields;
mod limits;
mod metadata;
mod worth;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::collection::{Collection, Collections};
use super::fault::Violation;
use super::instant::{self, Interval, Side};
use super::rights::Rights;
use super::store::Change;
use super::unit::{Draft, Layer, Origin};

pub(crate) use limits::VALUE;
pub(super) use limits::{fold, texts, word};

/// Violations that are listed; what is wrong beyond them shows once these are mended.
const LISTED: usize = 64;
/// How far ahead of this machine's clock the clock of a source may be. What is dated later could not be
/// replaced until then.
const AHEAD: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);

/// A draft that passed the gate.
#[derive(Debug)]
pub(super) struct Gated {
    /// The draft, times and metadata in the form in which they are kept.
    pub(super) draft: Draft,
    /// What was decided of it.
    pub(super) ruling: Ruling,
}

/// What was decided of a write before it was acknowledged; kept beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Ruling {
    pub(super) layer: Layer,
    pub(super) origin: Origin,
    pub(super) trust: u8,
    /// When it arrived.
    pub(super) arrived: Timestamp,
    /// What the draft says, or else when it arrived.
    pub(super) source_time: Timestamp,
    pub(super) valid_from: Option<Timestamp>,
    pub(super) valid_to: Option<Timestamp>,
    /// Of the redacted draft.
    pub(super) digest: String,
    /// Whether its writer may be told what others say in the collection.
    #[serde(default)]
    pub(super) reads: bool,
    /// What is told of the unit beside what it says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
    /// Set for what a reviewer's decision makes of a unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) amend: Option<Amend>,
}

/// A version with an earlier end takes the place of another, as a reviewer decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Amend {
    /// The version that is cut.
    pub(super) seq: i64,
    /// What else the decision changes, in the same transaction.
    pub(super) also: Vec<Change>,
}

/// What is wrong, as far as it is listed.
#[derive(Debug, Default)]
struct Faults(Vec<Violation>);

impl Faults {
    fn say(&mut self, place: impl Into<String>, message: impl Into<String>) {
        if self.0.len() < LISTED {
            self.0.push(Violation::new(place, message));
        }
    }
}

/// Whether a draft is small enough to be looked at.
pub(super) fn is_sane(draft: &Draft) -> bool {
    limits::size(draft).is_ok()
}

/// Checks a draft, all of it.
pub(super) fn check(
    mut draft: Draft,
    (rights, collections): (&Rights, &Collections),
    now: Timestamp,
) -> Result<Gated, Vec<Violation>> {
    // Nothing else is looked at in a draft that is too large.
    if let Err(too_large) = limits::size(&draft) {
        return Err(vec![too_large]);
    }
    let named = collections.get(&draft.collection).filter(|one| rights.write.contains(&one.name));
    let Some(collection) = named else { return Err(vec![unknown(&draft, rights, collections)]) };
    let mut faults = Faults::default();
    limits::check(&draft, &mut faults);
    fields::check(&draft, collection, &mut faults);
    fields::attributes(&mut draft, collection, &mut faults);
    metadata::check(&mut draft.metadata, collection, &mut faults);
    let origin = origin(&draft, collection, &mut faults);
    let times = times(&draft, collection, now, &mut faults);
    worth::check(&draft, times.valid_to.is_some(), &mut faults);
    if !faults.0.is_empty() {
        return Err(faults.0);
    }
    draft.source_time = draft.source_time.is_some().then(|| instant::show(times.source_time));
    draft.valid_from = times.valid_from.map(instant::show);
    draft.valid_to = times.valid_to.map(instant::show);
    let ruling = Ruling {
        layer: collection.layer,
        origin,
        trust: collection.trust.get(&origin).copied().unwrap_or_default(),
        arrived: now,
        source_time: times.source_time,
        valid_from: times.valid_from,
        valid_to: times.valid_to,
        digest: String::new(),
        reads: rights.read.contains(&collection.name),
        notes: Vec::new(),
        amend: None,
    };
    Ok(Gated { draft, ruling })
}

/// Only collections that the caller may write are named.
fn unknown(draft: &Draft, rights: &Rights, collections: &Collections) -> Violation {
    let open = || rights.write.iter().filter(|name| collections.get(name).is_some());
    let near = crate::catalog::nearest(&draft.collection, open().map(String::as_str));
    let mend = match (near.first(), open().next()) {
        (Some(near), _) => format!("; did you mean `{near}`?"),
        (None, Some(_)) => {
            let names: Vec<&str> = open().map(String::as_str).take(16).collect();
            format!("; you may write `{}`", names.join("`, `"))
        }
        (None, None) => "; you may write none".to_owned(),
    };
    let name = limits::shown(&draft.collection);
    Violation::new("/collection", format!("you may write no collection `{name}`{mend}"))
}

/// The origin as it counts: a caller can only say less than the collection says.
fn origin(draft: &Draft, collection: &Collection, faults: &mut Faults) -> Origin {
    let origin = draft.origin.unwrap_or(collection.origin);
    let known = collection.trust.keys().filter(|one| **one >= collection.origin);
    if origin < collection.origin || !collection.trust.contains_key(&origin) {
        let names: Vec<String> = known.map(word).collect();
        faults.say(
            "/origin",
            format!(
                "is `{}`, which `{}` does not take from you; send one of `{}`, or leave it out for `{}`",
                limits::word(&origin),
                collection.name,
                names.join("`, `"),
                limits::word(&collection.origin),
            ),
        );
    }
    origin
}

/// The times of a draft, read.
struct Times {
    source_time: Timestamp,
    valid_from: Option<Timestamp>,
    valid_to: Option<Timestamp>,
}

fn times(draft: &Draft, collection: &Collection, now: Timestamp, faults: &mut Faults) -> Times {
    let zone: TimeZone = collection.zone();
    let mut read = |name: &str, text: Option<&String>, side: Side| {
        let read = text.map(|text| instant::read(text, side, &zone)).transpose();
        read.unwrap_or_else(|unread| {
            faults.say(format!("/{name}"), unread.to_string());
            None
        })
    };
    let said = read("source_time", draft.source_time.as_ref(), Side::From);
    let valid_from = read("valid_from", draft.valid_from.as_ref(), Side::From);
    let valid_to = read("valid_to", draft.valid_to.as_ref(), Side::To);
    if let Err(order) = Interval::new(valid_from, valid_to) {
        faults.say("/valid_to", order.to_string());
    }
    let latest = now.saturating_add(AHEAD).unwrap_or(Timestamp::MAX);
    if let Some(said) = said.filter(|said| *said > latest) {
        faults.say(
            "/source_time",
            format!("`{said}` is yet to come: send when the source said it, `valid_from` is for when it begins to hold"),
        );
    }
    Times { source_time: said.unwrap_or(now), valid_from, valid_to }
}

/// SHA-256 in hex of what a draft says, in canonical form. Where it comes from and when that said it
/// are no part of that; its place in a series is.
pub(super) fn digest(draft: &Draft) -> String {
    let mut bare = draft.clone();
    bare.source.clear();
    bare.source_id.clear();
    bare.source_time = None;
    bare.origin = None;
    bare.derived_from.clear();
    bare.supersedes = None;
    let mut fields: Vec<(String, serde_json::Value)> = bare.metadata.into_iter().collect();
    fields.sort_by(|one, two| one.0.cmp(&two.0));
    bare.metadata = fields.into_iter().collect();
    hex::encode(Sha256::digest(serde_json::to_vec(&bare).unwrap_or_default()))
}
