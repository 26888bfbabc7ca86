//! Facts that hold one after the other: of several versions that hold at one date, the one that holds
//! since last is given, the others are withheld. Only for attributes that their collection declares
//! successive, and never what is believed more by what is believed less.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Recall;
use super::trace::Notes;
use crate::memory::{Collections, Recollection, Scope, Sense, Spot, State, Values, Version};

/// Which fact of which collection.
type Claim = (String, String, String);

/// The successive facts of a version: each claim with the value.
fn claims(version: &Version, collections: &Collections) -> Vec<(Claim, String)> {
    let name = &version.draft.collection;
    let Some(collection) = collections.get(name) else { return Vec::new() };
    let successive = |attribute: &str| {
        collection.attributes.get(attribute).is_some_and(|one| one.values == Values::Successive)
    };
    let facts = version.draft.facts.iter().filter(|fact| successive(&fact.attribute));
    facts
        .map(|fact| {
            let claim = (name.clone(), fact.entity.clone(), fact.attribute.clone());
            (claim, format!("{} {}", fact.value, fact.unit))
        })
        .collect()
}

/// Which of two holds since later; the later said one where that is equal.
fn later(one: &Version, other: &Version) -> std::cmp::Ordering {
    (one.valid_from.cmp(&other.valid_from))
        .then(one.source_time.cmp(&other.source_time))
        .then(one.seq.cmp(&other.seq))
}

impl Recall {
    /// Withholds what was overtaken, and puts what overtook it in its place where it was not found.
    pub(super) async fn succeed(
        &self,
        scope: &Scope,
        found: &mut Vec<Recollection>,
        notes: &mut Notes,
    ) {
        let collections = self.collections.load_full();
        let mut wanted: BTreeMap<String, HashSet<(String, String)>> = BTreeMap::new();
        for (claim, _) in found.iter().flat_map(|one| claims(&one.version, &collections)) {
            wanted.entry(claim.0).or_default().insert((claim.1, claim.2));
        }
        if wanted.is_empty() {
            return;
        }
        let mut known: HashMap<i64, Version> =
            found.iter().map(|one| (one.version.seq, one.version.clone())).collect();
        for (collection, claims) in wanted {
            let claims: Vec<(String, String)> = claims.into_iter().collect();
            match self.store.rivals((&scope.tenant, &collection), &claims).await {
                Ok(rivals) => known.extend(
                    rivals.into_iter().filter(|one| inside(scope, one)).map(|one| (one.seq, one)),
                ),
                Err(error) => notes.failed(Sense::Recency, &error),
            }
        }
        overtake(&known, &collections, found);
    }
}

/// Whether a version lies in the scope, its place too: none comes in by another's fact.
fn inside(scope: &Scope, version: &Version) -> bool {
    let here = |spot: &Spot| version.draft.place.as_ref().is_some_and(|place| spot.has(place));
    scope.has(version) && scope.spot.as_ref().is_none_or(here)
}

/// Of each claim, the last of those in use that is believed as much.
fn overtake(
    known: &HashMap<i64, Version>,
    collections: &Collections,
    found: &mut Vec<Recollection>,
) {
    let mut said: HashMap<Claim, Vec<(&Version, String)>> = HashMap::new();
    for version in known.values().filter(|one| one.state == State::Active) {
        for (claim, value) in claims(version, collections) {
            said.entry(claim).or_default().push((version, value));
        }
    }
    let mut missing: Vec<Recollection> = Vec::new();
    for one in found.iter_mut().filter(|one| one.withheld.is_empty()) {
        let own = claims(&one.version, collections);
        let over = |(claim, value): &(Claim, String)| {
            let believed = said.get(claim)?.iter().filter(|(by, _)| by.trust >= one.version.trust);
            let last = believed.max_by(|(by, _), (other, _)| later(by, other))?;
            (last.0.seq != one.version.seq && last.1 != *value).then_some(last)
        };
        // A unit that still says something else keeps its place: its other facts hold.
        if own.is_empty() || !own.iter().all(|fact| over(fact).is_some()) {
            continue;
        }
        let Some((by, _)) = own.iter().find_map(over) else { continue };
        let attribute = own.first().map_or("", |((_, _, attribute), _)| attribute.as_str());
        let mut taken = one.clone();
        one.withheld =
            format!("overtaken: `{attribute}` is said by `{}` since later", by.evidence());
        taken.version = (*by).clone();
        taken.passages = vec![(0, by.draft.text.clone())];
        missing.push(taken);
    }
    for taken in missing {
        if !found.iter().any(|one| one.version.seq == taken.version.seq) {
            found.push(taken);
        }
    }
}
