//! What other units have to do with a draft: those it was made from lend it no more trust than they
//! have, one it replaces has to be the writer's to replace, and what was recalled is not new.

use jiff::Timestamp;

use super::Inner;
use crate::memory::collection::Collections;
use crate::memory::fault::{Error, Violation};
use crate::memory::gate::{Ruling, fold};
use crate::memory::rights::Rights;
use crate::memory::scope::{Owned, Scope};
use crate::memory::store::{Ask, Error as StoreError};
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
        for (at, unit) in draft.derived_from.iter().enumerate() {
            match self.seen(rights, collections, unit).await? {
                Some(version) => {
                    ruling.trust = ruling.trust.min(version.trust.0);
                    ruling.origin = ruling.origin.max(version.origin);
                }
                None => wrong.push(unseen(format!("/derived_from/{at}"), unit)),
            }
        }
        if let Some(unit) = &draft.supersedes {
            match self.seen(rights, collections, unit).await? {
                Some(version) if rights.writes(&version, collections) => {}
                Some(_) => wrong.push(Violation::new(
                    "/supersedes",
                    format!("names `{unit}`, whose collection you may not write"),
                )),
                None => wrong.push(unseen("/supersedes".to_owned(), unit)),
            }
        }
        wrong.extend(self.lengths(rights, draft).await?);
        if !wrong.is_empty() {
            return Err(Error::Refused(wrong));
        }
        let copies = ruling.layer == Layer::Notes || ruling.origin >= Origin::Model;
        if copies && draft.group.is_empty() {
            self.echo(rights, collections, draft).await?;
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
            let owned = vec![Owned { collection: draft.collection.clone(), owner: None }];
            let scope = Scope::new(rights.caller.tenant.clone(), owned, self.clock.now());
            let asked = (image.vector_model.clone(), image.vector.clone());
            let ask = Ask { image: Some(asked), limit: 1, ..Ask::default() };
            let found = self.parts.store.search(&scope, &ask).await?.image;
            if let Some(Err(StoreError::Dimensions { model, expected, given })) = found {
                let message = format!(
                    "has {given} numbers, and the vectors of `{model}` here have {expected}; send \
                     it as that model gives it, or under another `vector_model`"
                );
                wrong.push(Violation::new(format!("/images/{at}/vector"), message));
            }
        }
        Ok(wrong)
    }

    /// The version of a unit that the caller may be told of.
    async fn seen(
        &self,
        rights: &Rights,
        collections: &Collections,
        unit: &UnitId,
    ) -> Result<Option<Version>, Error> {
        let versions = self.parts.store.history(&rights.caller.tenant, unit).await?;
        let open = |version: &Version| {
            let used = matches!(version.state, State::Active | State::Archived);
            version.ended.is_none()
                && rights.sees(version, collections)
                && (used || rights.reviews(version))
        };
        let (used, other): (Vec<Version>, Vec<Version>) =
            versions.into_iter().filter(open).partition(|version| version.state == State::Active);
        Ok(used.into_iter().chain(other).next())
    }

    /// Refuses a text that a unit which the caller can recall has already, however it is spaced.
    async fn echo(
        &self,
        rights: &Rights,
        collections: &Collections,
        draft: &Draft,
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
            let other = &version.draft;
            (&other.collection, &other.source, &other.source_id)
                == (&draft.collection, &draft.source, &draft.source_id)
                || draft.supersedes.as_ref() == Some(&version.unit)
        };
        let pictured = |version: &Version| {
            let has =
                |sha256: &String| version.draft.images.iter().any(|one| one.sha256 == *sha256);
            draft.images.iter().all(|image| has(&image.sha256))
        };
        let equal = |version: &&Version| {
            !itself(version) && self::said(&version.draft) == said && pictured(version)
        };
        match versions.iter().find(equal) {
            Some(version) => Err(Error::Known { unit: version.unit.to_string() }),
            None => Ok(()),
        }
    }
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
