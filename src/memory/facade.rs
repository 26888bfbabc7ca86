//! The memory, open: what a caller may do and wants in, the memory's answer out. Each verb takes the
//! [`Permit`] that policy gave for it, and does nothing beyond.

mod adjacent;
mod embedding;
mod revision;
mod walk;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

pub use embedding::Embedding;
pub use walk::Listing;

use super::context::{Assembled, Context, Material};
use super::embed::Embedder;
use super::explain::Explained;
use super::recall::Recall;
use super::writing::active;
use super::{
    Collections, Counts, Decision, Draft, End, Error, Image, Kind, Outcome, Owned, Pending, Plan,
    Question, Recalled, Receipt, Rights, Run, Sense, Sent, Share, State, Store, StoreError, UnitId,
    Version, Writing,
};
use crate::policy::{Access, Permit, Verb, Work};

/// Runs of upkeep that are looked through, at most.
const RUNS: usize = 10_000;

/// The memory of this daemon. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Memory {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Arc<dyn Store>,
    collections: Arc<ArcSwap<Collections>>,
    writing: Writing,
    recall: Recall,
    context: Context,
    embedder: Option<Arc<dyn Embedder>>,
}

/// Which unit is forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// By its id.
    Unit(UnitId),
    /// By collection, source and the id there.
    Source(String, String, String),
}

impl Memory {
    /// Joins the parts, which work on the same store and the same collections.
    pub(super) fn new(
        store: Arc<dyn Store>,
        collections: Arc<ArcSwap<Collections>>,
        (writing, recall, context): (Writing, Recall, Context),
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let inner = Inner { store, collections, writing, recall, context, embedder };
        Self { inner: Arc::new(inner) }
    }

    /// Takes drafts, in this order; each is acknowledged and then survives a kill, or is refused on its
    /// own. One that the permit does not name is answered as if there were no such collection.
    pub async fn remember(
        &self,
        permit: &Permit,
        drafts: Vec<Sent>,
        wait: Option<Duration>,
    ) -> Vec<Result<Receipt, Error>> {
        let collections = self.inner.collections.load_full();
        let mut answers: Vec<Option<Result<Receipt, Error>>> = Vec::with_capacity(drafts.len());
        let mut taken = Vec::with_capacity(drafts.len());
        for sent in drafts {
            let work = work(&sent.draft, &collections);
            if work.is_some_and(|work| permit.admits(&work)) {
                taken.push(sent);
                answers.push(None);
            } else {
                answers.push(Some(Err(Error::unknown("collection", sent.draft.collection))));
            }
        }
        let written = match taken.is_empty() {
            true => Vec::new(),
            false => self.inner.writing.remember(&self.rights(permit), taken, wait).await,
        };
        let mut written = written.into_iter();
        let lost = || Err(StoreError::Engine("a write has no answer".to_owned()).into());
        let answer = |known: Option<Result<_, _>>| {
            known.unwrap_or_else(|| written.next().unwrap_or_else(lost))
        };
        answers.into_iter().map(answer).collect()
    }

    /// Images of the draft's source, as the versions in force have them that the caller wrote itself;
    /// `None` for a draft that would not be taken.
    pub(super) async fn images(&self, permit: &Permit, draft: Draft) -> Option<Vec<Image>> {
        let work = work(&draft, &self.inner.collections.load())?;
        let taken = permit.admits(&work)
            && self.inner.writing.welcomes(&self.rights(permit), draft.clone()).await;
        let caller = permit.caller();
        let versions = match taken {
            true => self.inner.store.of_source(&caller.tenant, &draft).await.ok()?,
            false => return None,
        };
        let own = versions.into_iter().filter(|version| version.owner == caller.name);
        Some(own.flat_map(|version| version.draft.images).collect())
    }

    /// What became of a write of the caller; waits until it is worked on, at most so long.
    pub async fn receipt(
        &self,
        permit: &Permit,
        id: &str,
        wait: Option<Duration>,
    ) -> Result<Receipt, Error> {
        self.inner.writing.receipt(&self.rights(permit), id, wait).await
    }

    /// What became of writes of the caller, of those that are known.
    pub async fn receipts(
        &self,
        permit: &Permit,
        ids: &[String],
        wait: Option<Duration>,
    ) -> Result<Vec<Receipt>, Error> {
        self.inner.writing.receipts(&self.rights(permit), ids, wait).await
    }

    /// Answers a question.
    pub async fn recall(
        &self,
        permit: &Permit,
        question: &Question,
    ) -> Result<Recalled, super::recall::Error> {
        let (caller, owned) = (permit.caller(), owned(permit));
        match self.place(permit, question).await? {
            None => self.inner.recall.recall(caller, &owned, question).await,
            Some(placed) => {
                let found = self.inner.recall.recall(caller, &owned, &placed.question).await?;
                Ok(placed.others(found))
            }
        }
    }

    /// A context of so many tokens, and the layers that did not work.
    pub(super) async fn context(
        &self,
        permit: &Permit,
        question: &Question,
        (tokens, material): (usize, Material),
    ) -> Result<(Assembled, Vec<(Sense, String)>), super::desk::Error> {
        let recalled = self.recall(permit, question).await?;
        let inner = Arc::clone(&self.inner);
        // Counting the tokens of much text takes its time.
        let made = tokio::task::spawn_blocking(move || {
            let assembled = inner.context.assemble(tokens, &material, &recalled)?;
            Ok((assembled, recalled.failed))
        });
        made.await.unwrap_or_else(|_lost| Err(StoreError::Closed.into()))
    }

    /// How an answer comes about, and why a unit is or is not in it.
    pub async fn explain(
        &self,
        permit: &Permit,
        question: &Question,
        unit: Option<&UnitId>,
    ) -> Result<Explained, super::recall::Error> {
        let (rights, collections) = (self.rights(permit), self.inner.collections.load_full());
        let told = (&rights, &*collections);
        match self.place(permit, question).await? {
            None => self.inner.recall.explain(told, &owned(permit), question, unit).await,
            Some(placed) => {
                let asked = &placed.question;
                let told = self.inner.recall.explain(told, &owned(permit), asked, unit).await?;
                Ok(Explained { recalled: placed.others(told.recalled), ..told })
            }
        }
    }

    /// A unit by its id, or a version by its evidence id, and with `history` all its versions, newest
    /// first.
    pub async fn get(
        &self,
        permit: &Permit,
        id: &str,
        history: bool,
    ) -> Result<(Version, Vec<Version>), Error> {
        let unknown = || Error::unknown("unit", id);
        let (unit, seq) = named(id).ok_or_else(unknown)?;
        let versions = self.visible(permit, &unit).await?;
        let wanted = match seq {
            Some(seq) => versions.iter().find(|version| version.seq == seq),
            // What was forgotten is found by those who name a version, or ask for the history.
            None => current(&versions).or_else(|| versions.first().filter(|_| history)),
        };
        let wanted = wanted.cloned().ok_or_else(unknown)?;
        Ok((wanted, if history { versions } else { Vec::new() }))
    }

    /// Hides a unit from now on, or erases it; gives its id and the number of versions. Where nothing of
    /// the caller's was stored yet, what waits to be stored is refused, and that number given without
    /// an id.
    pub async fn forget(
        &self,
        permit: &Permit,
        which: &Which,
        erase: bool,
    ) -> Result<(Option<UnitId>, u64), Error> {
        let unit = match which {
            Which::Unit(unit) => unit.clone(),
            Which::Source(collection, source, source_id) => {
                let names = [collection, source, source_id];
                match self.of_source(permit, names).await {
                    Err(Error::Unknown { .. }) => {
                        let draft = pointing(collection, source, source_id)?;
                        match self.inner.writing.withdraw(&self.rights(permit), &draft).await? {
                            // It may have been stored just now.
                            0 => self.of_source(permit, names).await?,
                            count => return Ok((None, count)),
                        }
                    }
                    found => found?,
                }
            }
        };
        let versions = self.visible(permit, &unit).await?;
        if versions.is_empty() {
            return Err(Error::unknown("unit", &unit));
        }
        let count = self.inner.writing.forget(&self.rights(permit), &unit, erase).await?;
        Ok((Some(unit), count))
    }

    /// What waits for a decision, behind the version `after`.
    pub async fn pending(
        &self,
        permit: &Permit,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Pending>, Error> {
        self.inner.writing.pending(&self.rights(permit), after, limit).await
    }

    /// Decides about a version that waits.
    pub async fn decide(
        &self,
        permit: &Permit,
        evidence: &str,
        decision: Decision,
    ) -> Result<Outcome, Error> {
        self.inner.writing.decide(&self.rights(permit), evidence, decision).await
    }

    /// What upkeep would do where it is permitted.
    pub async fn plan(&self, permit: &Permit) -> Result<Plan, Error> {
        self.inner.writing.plan(Some(&self.rights(permit))).await
    }

    /// Does it; gives the run, none where there was nothing to do.
    pub async fn apply(&self, permit: &Permit, plan: &Plan) -> Result<Vec<Run>, Error> {
        only(permit, Verb::Consolidate)?;
        // How long they are kept is the daemon's configuration, whoever begins the run.
        self.inner.writing.forget_receipts().await?;
        self.inner.writing.apply(plan).await
    }

    /// Puts back what a run changed.
    pub async fn undo(&self, permit: &Permit, run: &str) -> Result<u64, Error> {
        let known = self.runs(permit, usize::MAX).await?;
        match known.iter().any(|one| one.id == run) {
            true => self.inner.writing.undo(run).await,
            false => Err(Error::unknown("run", run)),
        }
    }

    /// The runs that changed nothing but units of the caller's tenant in collections of the permit,
    /// newest first.
    pub async fn runs(&self, permit: &Permit, limit: usize) -> Result<Vec<Run>, Error> {
        only(permit, Verb::Consolidate)?;
        let whole = |name: &String| {
            permit.grants().iter().any(|grant| grant.collection == *name && !grant.own)
        };
        let mut runs = self.inner.writing.runs(RUNS).await?;
        runs.retain(|run| {
            run.tenant == permit.caller().tenant && run.collections.iter().all(whole)
        });
        runs.truncate(limit);
        Ok(runs)
    }

    /// How much there is of the caller's tenant.
    pub async fn counts(&self, permit: &Permit) -> Result<Counts, Error> {
        Ok(self.inner.store.counts(Some(&permit.caller().tenant)).await?)
    }

    /// What the store is, and the model of its vectors.
    pub fn kind(&self) -> (&'static str, Option<&str>) {
        let model = self.inner.embedder.as_ref().map(|one| one.model().name.as_str());
        (self.inner.store.name(), model)
    }

    /// Whether the store answers.
    pub async fn probe(&self) -> Result<(), StoreError> {
        self.inner.store.receipt("", "").await.map(drop)
    }

    /// Writes what is open, and ends.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.inner.store.close().await
    }

    /// The versions of a unit for which the permit holds and which the caller is shown, newest recorded
    /// first.
    async fn visible(&self, permit: &Permit, unit: &UnitId) -> Result<Vec<Version>, Error> {
        let rights = self.rights(permit);
        let mut versions = self.inner.store.history(&rights.caller.tenant, unit).await?;
        versions.retain(|version| {
            rights.shows(version) && permit.covers(&version.draft.collection, &version.owner)
        });
        Ok(versions)
    }

    async fn of_source(&self, permit: &Permit, names: [&String; 3]) -> Result<UnitId, Error> {
        let [collection, source, source_id] = names;
        let draft = pointing(collection, source, source_id)?;
        let found = self.inner.store.of_source(&permit.caller().tenant, &draft).await?;
        let may = |version: &&Version| permit.covers(&version.draft.collection, &version.owner);
        let own = |version: &&Version| may(version) && version.owner == permit.caller().name;
        // Several callers can have a unit of these names.
        let found = found.iter().find(own).or_else(|| found.iter().find(may));
        found
            .map(|version| version.unit.clone())
            .ok_or_else(|| Error::unknown("unit", format_args!("{source} {source_id}")))
    }

    /// The permit in the terms of the write path.
    fn rights(&self, permit: &Permit) -> Rights {
        let collections = self.inner.collections.load();
        // Where only one's own is permitted, and the collection shares, the names alone would say more.
        let whole = |access: &&Access| {
            let shares = collections.get(&access.collection).map(|one| one.share);
            !access.own || shares == Some(Share::Caller)
        };
        let name = |access: &Access| access.collection.clone();
        let all = || permit.grants().iter().map(name).collect::<BTreeSet<_>>();
        let others = || permit.grants().iter().filter(|access| !access.own).map(name).collect();
        let (mut read, mut write, mut review) =
            <(BTreeSet<_>, BTreeSet<_>, BTreeSet<_>)>::default();
        match permit.verb() {
            Verb::Remember => {
                write = all();
                read = permit.reads().iter().filter(whole).map(name).collect();
            }
            Verb::Forget => (read, write, review) = (all(), all(), others()),
            Verb::Consolidate => (read, write) = (all(), all()),
            Verb::Review => (read, review) = (all(), all()),
            Verb::Receipt => {}
            Verb::Recall | Verb::Context | Verb::Get | Verb::List | Verb::Explain | Verb::Stats => {
                read = permit.grants().iter().filter(whole).map(name).collect()
            }
        }
        Rights { caller: permit.caller().clone(), read, write, review }
    }
}

/// What policies see of a draft; `None` without its collection.
pub(super) fn work(draft: &Draft, collections: &Collections) -> Option<Work> {
    let collection = collections.get(&draft.collection)?;
    Some(Work {
        collection: draft.collection.clone(),
        source: draft.source.clone(),
        kind: draft.kind.as_str(),
        origin: draft.origin.unwrap_or(collection.origin).as_str(),
    })
}

/// The collections of a permit, and whose units of each.
fn owned(permit: &Permit) -> Vec<Owned> {
    let owner = &permit.caller().name;
    let owned = |access: &Access| Owned {
        collection: access.collection.clone(),
        owner: access.own.then(|| owner.clone()),
    };
    permit.grants().iter().map(owned).collect()
}

fn only(permit: &Permit, verb: Verb) -> Result<(), Error> {
    let fits = permit.verb() == verb && !permit.grants().is_empty();
    if fits { Ok(()) } else { Err(Error::Forbidden(format!("you may not {}", verb.as_str()))) }
}

/// What a unit says, of its versions, newest recorded first: the one in use, else one that waits for a
/// reviewer, else the last that was in use. Of one that was forgotten, nothing.
fn current(versions: &[Version]) -> Option<&Version> {
    let waits = |version: &&Version| {
        version.ended.is_none() && matches!(version.state, State::Held | State::Quarantined)
    };
    let open = versions.iter().find(|version| active(version));
    if let Some(open) = open.or_else(|| versions.iter().find(waits)) {
        return Some(open);
    }
    let ended = |version: &Version| version.ended.as_ref().map(|ended| (ended.at, ended.why));
    if versions.iter().filter_map(ended).any(|(_, why)| why == End::Forgotten) {
        return None;
    }
    let last = versions.iter().filter(|version| version.ended.is_some());
    last.max_by_key(|version| (ended(version).map(|(at, _)| at), version.seq))
        .or_else(|| versions.first())
}

/// A unit's id, and the version's number of an evidence id.
pub(super) fn named(id: &str) -> Option<(UnitId, Option<i64>)> {
    match id.split_once('@') {
        None => Some((UnitId::parse(id)?, None)),
        Some((unit, seq)) => Some((UnitId::parse(unit)?, Some(seq.parse().ok()?))),
    }
}

/// A draft that says nothing but which unit it is of.
fn pointing(collection: &str, source: &str, source_id: &str) -> Result<Draft, Error> {
    let draft = serde_json::json!({
        "collection": collection, "source": source, "source_id": source_id, "kind": Kind::Knowledge,
    });
    let read = serde_json::from_value(draft);
    read.map_err(|error| StoreError::Engine(error.to_string()).into())
}
