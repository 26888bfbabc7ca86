//! Whether two units contradict each other: a new version, what its text states, and one in use in;
//! why they do out. Three ways to: a declared attribute with two values at one time, two versions of
//! one document at one time, and, cautiously, numbers, dates and negation in texts about the same thing.
//! Decides nothing: a person does.

mod clause;
mod facts;
mod lexicon;
mod measure;
mod number;
mod phrases;
mod text;

use super::collection::{Collection, Form, Values};
use super::gate::fold;
use super::instant;
use super::unit::{Draft, Fact, Kind, UnitId, Version};

pub(super) use facts::doubled;
pub(super) use text::Reading;

/// A version that another contradicts, and in what.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Clash {
    pub(super) unit: UnitId,
    pub(super) seq: i64,
    pub(super) why: String,
}

impl Clash {
    /// What is said of it on the version that waits; whole, where its writer may read the other. Who
    /// reviews sees the other beside it.
    pub(super) fn remark(&self, whole: bool) -> String {
        let unit = &self.unit;
        match whole {
            true => format!("contradicts unit `{unit}`: {}", self.why),
            false => format!("contradicts unit `{unit}`"),
        }
    }
}

/// Entity and attribute of each fact that cannot have any number of values at a time.
pub(super) fn claims(draft: &Draft, collection: &Collection) -> Vec<(String, String)> {
    let bound =
        |name: &str| collection.attributes.get(name).is_some_and(|one| one.values != Values::Many);
    let facts = draft.facts.iter().filter(|fact| bound(&fact.attribute));
    facts.map(|fact| (fact.entity.clone(), fact.attribute.clone())).collect()
}

/// The metadata that names the document of which a draft is a version.
pub(super) fn document<'d>(
    draft: &'d Draft,
    collection: &'d Collection,
) -> Option<(&'d str, &'d str)> {
    let field = collection.document.as_deref()?;
    Some((field, draft.metadata.get(field)?.as_str()?))
}

/// What a draft speaks of, each in one spelling: its entities, its title, what its facts are about, and
/// its document. Two that have none of it in common cannot contradict each other.
pub(super) fn marks(draft: &Draft, collection: &Collection) -> Vec<String> {
    let entities = draft.entities.iter().map(|one| format!("entity {}", fold(&one.value)));
    let title = (!draft.key.is_empty()).then(|| format!("title {}", fold(&draft.key)));
    let about = |fact: &Fact| format!("{} of {}", fact.attribute, fold(&fact.entity));
    let document = document(draft, collection).map(|(_, value)| format!("document {value}"));
    let facts = draft.facts.iter().map(about);
    entities.chain(title).chain(facts).chain(document).collect()
}

/// Whether a new version contradicts one in use.
pub(super) fn between(
    (new, reading): (&Version, &Reading),
    other: &Version,
    collection: &Collection,
) -> Option<Clash> {
    if new.unit == other.unit || !overlap(new, other) {
        return None;
    }
    let why = facts::differ(&new.draft, &other.draft, collection)
        .or_else(|| facts::overtakes(new, other, collection))
        .or_else(|| versions(&new.draft, &other.draft, collection))
        .or_else(|| {
            let near = comparable(&new.draft, &other.draft, collection);
            near.then(|| reading.against(&new.draft, &other.draft)).flatten()
        })?;
    Some(Clash { unit: other.unit.clone(), seq: other.seq, why })
}

/// Whether both hold at some instant.
fn overlap(one: &Version, two: &Version) -> bool {
    instant::overlap((one.valid_from, one.valid_to), (two.valid_from, two.valid_to))
}

/// Two versions of one document; parts of one version are of one group.
fn versions(one: &Draft, two: &Draft, collection: &Collection) -> Option<String> {
    let (document, other) = (document(one, collection)?, document(two, collection)?);
    let parts = !one.group.is_empty() && one.group == two.group;
    let same = document == other && one.source_id != two.source_id && !parts;
    same.then(|| {
        let (field, value) = document;
        format!("both are versions of the document `{value}` ({field}), and hold at the same time")
    })
}

/// Whether two texts speak of the same thing, so that their statements can be held together.
fn comparable(one: &Draft, two: &Draft, collection: &Collection) -> bool {
    let lasting = |draft: &Draft| matches!(draft.kind, Kind::Knowledge | Kind::Preference);
    let same_series = !one.group.is_empty() && one.group == two.group;
    if !lasting(one) || !lasting(two) || same_series || one.speaker != two.speaker {
        return false;
    }
    let values = |draft: &Draft, kind: &str| -> Vec<String> {
        let of_kind = draft.entities.iter().filter(|one| one.kind == kind);
        of_kind.map(|one| fold(&one.value)).collect()
    };
    let mut shared = false;
    for entity in &one.entities {
        let (left, right) = (values(one, &entity.kind), values(two, &entity.kind));
        let common = left.iter().any(|value| right.contains(value));
        if !right.is_empty() && !common {
            return false;
        }
        shared |= common;
    }
    let title = !one.key.is_empty() && fold(&one.key) == fold(&two.key);
    let apart = one.place.is_some() && two.place.is_some() && one.place != two.place;
    (shared || title) && !apart && !classed(one, two, collection)
}

/// Whether listed metadata put the two into different classes.
fn classed(one: &Draft, two: &Draft, collection: &Collection) -> bool {
    collection.metadata.iter().any(|(name, field)| {
        let listed = field.form == Form::Boolean || !field.values.is_empty();
        let (left, right) = (one.metadata.get(name), two.metadata.get(name));
        listed && left.is_some() && right.is_some() && left != right
    })
}

#[cfg(test)]
mod tests;
