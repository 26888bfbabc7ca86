//! What other units have to do with a draft: those it was made from lend it no more trust than they
//! have, one it replaces has to be the writer's to replace, and what was recalled is not new.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::Inner;
use crate::memory::collection::Collections;
use crate::memory::context;
use crate::memory::fault::{Error, Violation};
use crate::memory::gate::{Ruling, fold};
use crate::memory::rights::Rights;
use crate::memory::scope::Scope;
use crate::memory::store::Ask;
use crate::memory::unit::{Draft, Layer, Origin, State, UnitId, Version};

/// Units that are looked at for one that says the same.
const ALIKE: usize = 8;
/// Characters of a text that is looked for.
const LOOKED: usize = 240;
/// Folded characters below which a text says too little to be an echo.
const LITTLE: usize = 12;

impl Inner {
    /// Lowers trust and origin to those of the sources; an error where a unit cannot be named, or where
    /// the draft says again what is there.
    pub(super) async fn trace(
        &self,
        rights: &Rights,
        collections: &Collections,
        (draft, ruling): (&Draft, &mut Ruling),
    ) -> Result<(), Error> {
        let mut wrong = Vec::new();
        // What this unit was taken with once, it is taken with again, whatever became of that since.
        let mut own = Vec::new();
        if draft.supersedes.is_some() || !draft.derived_from.is_empty() {
            own = self.parts.store.of_source(&rights.caller.tenant, draft).await?;
            own.retain(|version| rights.sees(version, collections));
        }
        for (at, unit) in draft.derived_from.iter().enumerate() {
            let before = own.iter().find(|one| one.draft.derived_from.contains(unit));
            let now = self.seen(rights, collections, unit).await?;
            match now.made_of.as_ref().or(before) {
                Some(version) => {
                    ruling.trust = ruling.trust.min(version.trust.0);
                    ruling.origin = ruling.origin.max(version.origin);
                }
                None => wrong.push(unseen(format!("/derived_from/{at}"), unit)),
            }
        }
        if let Some(unit) = &draft.supersedes {
            let before = own.iter().any(|one| one.draft.supersedes.as_ref() == Some(unit));
            let now = self.seen(rights, collections, unit).await?;
            match &now.open {
                Some(version) if rights.writes(version, collections) => {}
                None if before
                    || self.is_heir(rights, collections, (draft, &now.heirs)).await? => {}
                Some(_) => wrong.push(Violation::new(
                    "/supersedes",
                    format!("names `{unit}`, whose collection you may not write"),
                )),
                None => wrong.push(unseen("/supersedes".to_owned(), unit)),
            }
        }
        wrong.extend(self.lengths(rights, draft).await?);
        wrong.extend(copied(draft));
        if !wrong.is_empty() {
            return Err(Error::Refused(wrong));
        }
        let copies = ruling.layer == Layer::Notes || ruling.origin >= Origin::Model;
        if copies && draft.group.is_empty() {
            self.echo(rights, collections, (draft, ruling)).await?;
        }
        Ok(())
    }

    /// Vectors of images that are not as long as those of the same model here.
    async fn lengths(&self, rights: &Rights, draft: &Draft) -> Result<Vec<Violation>, Error> {
        let mut wrong = Vec::new();
        for (at, image) in draft.images.iter().enumerate() {
            if image.vector.is_empty() {
                continue;
            }
            let (model, given) = (&image.vector_model, image.vector.len());
            let known = self.parts.store.image_length(&rights.caller.tenant, model).await?;
            if let Some(expected) = known.filter(|expected| *expected != given) {
                let message = format!(
                    "has {given} numbers, and the vectors of `{model}` here have {expected}; send \
                     it as that model gives it, or under another `vector_model`"
                );
                wrong.push(Violation::new(format!("/images/{at}/vector"), message));
            }
        }
        Ok(wrong)
    }

    /// What the caller may be told of a unit.
    async fn seen(
        &self,
        rights: &Rights,
        collections: &Collections,
        unit: &UnitId,
    ) -> Result<Seen, Error> {
        let mut versions = self.parts.store.history(&rights.caller.tenant, unit).await?;
        let used = |version: &Version| matches!(version.state, State::Active | State::Archived);
        versions.retain(|version| {
            rights.sees(version, collections) && (used(version) || rights.reviews(version))
        });
        let ended = versions.iter().filter_map(|version| version.ended.as_ref());
        let heirs = ended.filter_map(|ended| ended.by.clone()).collect();
        let open = |version: &&Version| version.ended.is_none();
        let in_use = versions.iter().filter(open).find(|one| one.state == State::Active);
        let open = in_use.or_else(|| versions.iter().find(open)).cloned();
        // One that ended while it was used; those recorded last come first.
        let made_of = open.clone().or_else(|| versions.iter().find(|one| used(one)).cloned());
        Ok(Seen { open, made_of, heirs })
    }

    /// Whether one of the units that took another's place is the draft's own.
    async fn is_heir(
        &self,
        rights: &Rights,
        collections: &Collections,
        (draft, heirs): (&Draft, &[UnitId]),
    ) -> Result<bool, Error> {
        for unit in heirs {
            let versions = self.parts.store.history(&rights.caller.tenant, unit).await?;
            let own = |one: &Version| rights.sees(one, collections) && named_alike(one, draft);
            if versions.iter().any(own) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Refuses a text that a unit which the caller can recall has already, however it is spaced.
    async fn echo(
        &self,
        rights: &Rights,
        collections: &Collections,
        (draft, ruling): (&Draft, &Ruling),
    ) -> Result<(), Error> {
        let said = said(draft);
        if said.chars().count() < LITTLE {
            return Ok(());
        }
        let scope = scope(rights.clone(), collections, self.clock.now());
        let words: String =
            draft.text.chars().chain([' ']).chain(draft.value.chars()).take(LOOKED).collect();
        let ask = Ask { words: Some(words), limit: ALIKE, ..Ask::default() };
        let found = self.parts.store.search(&scope, &ask).await?.words;
        // A layer that does not work does not stop what is written.
        let hits = found.and_then(Result::ok).unwrap_or_default();
        let mut seqs: Vec<i64> = hits.iter().map(|hit| hit.seq).collect();
        seqs.dedup();
        let versions = self.parts.store.load(&scope.tenant, &seqs).await?;
        let itself = |version: &Version| {
            let repeated = version.draft.collection == draft.collection
                && version.draft.source == draft.source
                && version.digest == ruling.digest;
            // That a source says the same twice is seen when it is stored.
            repeated
                || named_alike(version, draft)
                || draft.supersedes.as_ref() == Some(&version.unit)
        };
        let pictured = |version: &Version| {
            let has =
                |sha256: &String| version.draft.images.iter().any(|one| one.sha256 == *sha256);
            draft.images.iter().all(|image| has(&image.sha256))
        };
        let equal = |version: &&Version| {
            !itself(version)
                && self::said(&version.draft) == said
                && pictured(version)
                && !apart((draft, ruling), version)
        };
        match versions.iter().find(equal) {
            Some(version) => Err(Error::Known { unit: version.unit.to_string() }),
            None => Ok(()),
        }
    }
}

/// Texts that hold a piece of a context of the memory.
fn copied(draft: &Draft) -> Vec<Violation> {
    let texts = [("/text", &draft.text), ("/value", &draft.value)];
    let wrong = texts.into_iter().filter(|(_, text)| context::is_copied(text));
    let why = "holds what this memory gave (`evidence=...`), which is not new: send what is, and name \
               the units that it was made of in `derived_from`";
    wrong.map(|(field, _)| Violation::new(field, why)).collect()
}

/// What a caller may be told of a unit.
#[derive(Debug)]
struct Seen {
    /// The version that has not ended.
    open: Option<Version>,
    /// The same, or else the last that was used.
    made_of: Option<Version>,
    /// Units that took its place.
    heirs: Vec<UnitId>,
}

/// Whether a version has the names of a draft.
fn named_alike(version: &Version, draft: &Draft) -> bool {
    let other = &version.draft;
    (&other.collection, &other.source, &other.source_id)
        == (&draft.collection, &draft.source, &draft.source_id)
}

/// Whether equal words speak of different things: where both say what of, and not the same.
fn apart((draft, ruling): (&Draft, &Ruling), version: &Version) -> bool {
    fn differ<T: PartialEq>(one: Option<T>, two: Option<T>) -> bool {
        matches!((one, two), (Some(one), Some(two)) if one != two)
    }
    let other = &version.draft;
    let key = |draft: &Draft| Some(fold(&draft.key)).filter(|key| !key.is_empty());
    let facts = |draft: &Draft| Some(draft.facts.clone()).filter(|facts| !facts.is_empty());
    let fields = draft.metadata.iter();
    let mut fields = fields.map(|(name, value)| (Some(value), other.metadata.get(name)));
    let of_kind = |draft: &Draft, kind: &str| -> BTreeSet<String> {
        let own = draft.entities.iter().filter(|one| one.kind == kind);
        own.map(|one| fold(&one.value)).collect()
    };
    let mut kinds = draft.entities.iter().map(|one| {
        let (own, theirs) = (of_kind(draft, &one.kind), of_kind(other, &one.kind));
        !theirs.is_empty() && own.is_disjoint(&theirs)
    });
    differ(key(draft), key(other))
        || differ(facts(draft), facts(other))
        || differ(draft.place.as_ref(), other.place.as_ref())
        || differ(ruling.valid_from, version.valid_from)
        || differ(ruling.valid_to, version.valid_to)
        || fields.any(|(one, two)| differ(one, two))
        || kinds.any(|apart| apart)
}

/// What a draft says, as it is compared.
fn said(draft: &Draft) -> String {
    format!("{}{}", fold(&draft.text), fold(&draft.value))
}

fn scope(rights: Rights, collections: &Collections, now: Timestamp) -> Scope {
    let owned = rights.owned(collections);
    Scope::new(rights.caller.tenant, owned, now)
}

/// The same for a unit that is not there and for one that the caller may not be told of.
fn unseen(place: String, unit: &UnitId) -> Violation {
    let message =
        format!("names `{unit}`, and there is no such unit that you may see; leave it out");
    Violation::new(place, message)
}
