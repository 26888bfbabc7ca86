//! What the store knows that bears on a write: versions of its source id, equal ones, those it may
//! contradict, and the one it supersedes.

use std::sync::Arc;

use futures::future::try_join_all;
use jiff::{SignedDuration, Timestamp};

use super::prepare::Prepared;
use super::settle::{active, is_older};
use crate::memory::collection::Share;
use crate::memory::conflict;
use crate::memory::scope::{Owned, Scope};
use crate::memory::store::{Ask, Error, Look, Looked, Rival, Store};
use crate::memory::unit::{Draft, Kind, Layer, State, Version};

/// Versions that are looked at for statements against a text, at each date and in all.
const KIN: usize = 32;
/// Writes that are looked up together; others are beside them.
const LOOKS: usize = 128;
/// Writes that are looked up further at once.
const AT_ONCE: usize = 8;
/// Versions that a write is held against because of its facts, or of its document.
const RIVALS: usize = 64;

/// Versions that bear on a write; none has ended but those of the past.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Of its source id, whatever their state.
    pub(super) same: Vec<Version>,
    /// Of its source id, ended, that say exactly the same of the same time; looked for where the write is late.
    pub(super) past: Vec<Version>,
    /// Of another source id, that say exactly the same.
    pub(super) equal: Vec<Version>,
    /// In use, that it may contradict; of other units.
    pub(super) rivals: Vec<Version>,
    /// Of the unit that it supersedes, or the version that it amends.
    pub(super) replaced: Vec<Version>,
}

/// Asks the store, for each of a batch.
pub(super) async fn lookup(
    store: &dyn Store,
    batch: &[Arc<Prepared>],
    now: Timestamp,
) -> Result<Vec<Known>, Error> {
    look(store, batch, Some(now)).await
}

/// The same without those that they may contradict, which take their time.
pub(super) async fn own(store: &dyn Store, batch: &[Arc<Prepared>]) -> Result<Vec<Known>, Error> {
    look(store, batch, None).await
}

async fn look(
    store: &dyn Store,
    batch: &[Arc<Prepared>],
    now: Option<Timestamp>,
) -> Result<Vec<Known>, Error> {
    let looks: Vec<Look> = batch.iter().map(|one| asked(one, now)).collect();
    let parts = looks.chunks(LOOKS).map(|some| store.look(some));
    let looked = try_join_all(parts).await?.into_iter().flatten();
    let mut looked = batch.iter().zip(looked);
    let mut known = Vec::with_capacity(batch.len());
    while known.len() < batch.len() {
        let some = looked.by_ref().take(AT_ONCE);
        let some = some.map(|(one, looked)| complete(store, one, looked, now.is_some()));
        known.extend(try_join_all(some).await?);
    }
    Ok(known)
}

/// What is asked for every write.
fn asked(one: &Prepared, now: Option<Timestamp>) -> Look {
    let draft = &one.write.draft;
    let known = Draft::new(&draft.collection, &draft.source, &draft.source_id, draft.kind);
    let alone = draft.group.is_empty();
    Look {
        tenant: one.write.tenant.clone(),
        draft: known,
        digest: alone.then(|| one.ruling.digest.clone()),
        kin: now.map(|now| kin(one, now)).unwrap_or_default(),
    }
}

/// Asks for what only some writes have, and keeps what may count.
async fn complete(
    store: &dyn Store,
    one: &Prepared,
    looked: Looked,
    against: bool,
) -> Result<Known, Error> {
    let (tenant, draft) = (one.write.tenant.as_str(), &one.write.draft);
    if let Some(amend) = &one.ruling.amend {
        let replaced = store.load(tenant, &[amend.seq]).await?;
        return Ok(Known { replaced, ..Known::default() });
    }
    let alone = one.collection.share == Share::Caller;
    let own = |version: &Version| !alone || version.owner == one.write.caller;
    let Looked { same: of_source, equal, mut kin } = looked;
    let mut known = Known { same: of_source, equal, ..Known::default() };
    known.same.retain(|version| same(version, one));
    known.past = past(store, one, &known.same).await?;
    known.equal.retain(|version| own(version) && !same(version, one));
    if let Some(unit) = &draft.supersedes {
        known.replaced = store.history(tenant, unit).await?;
        known.replaced.retain(|version| version.ended.is_none());
    }
    if against {
        known.rivals = rivals(store, one).await?;
        // Those recorded last.
        known.rivals.extend(kin.drain(kin.len().saturating_sub(KIN)..));
    }
    known.rivals.retain(|version| {
        own(version)
            && version.state == State::Active
            && version.ended.is_none()
            && !same(version, one)
    });
    known.rivals.sort_by_key(|version| version.seq);
    known.rivals.dedup_by_key(|version| version.seq);
    Ok(known)
}

/// Earlier versions that a write repeats, which is older than what is there.
async fn past(store: &dyn Store, one: &Prepared, same: &[Version]) -> Result<Vec<Version>, Error> {
    let later = |version: &&Version| active(version) && is_older(one, version);
    let Some(current) = same.iter().find(later) else { return Ok(Vec::new()) };
    let mut past = store.history(&one.write.tenant, &current.unit).await?;
    past.retain(|version| {
        let time = &version.draft.source_time;
        version.ended.is_some()
            && version.digest == one.ruling.digest
            && time.is_some()
            && *time == one.write.draft.source_time
    });
    Ok(past)
}

/// Whether a version has the write's source id. Among notes each caller has its own ones: nobody takes the
/// place of what another noted by naming it.
pub(super) fn same(version: &Version, one: &Prepared) -> bool {
    let (known, draft) = (&version.draft, &one.write.draft);
    let own = one.collection.layer == Layer::Notes || one.collection.share == Share::Caller;
    (&known.source, &known.source_id) == (&draft.source, &draft.source_id)
        && (!own || version.owner == one.write.caller)
}

async fn rivals(store: &dyn Store, one: &Prepared) -> Result<Vec<Version>, Error> {
    let draft = &one.write.draft;
    let place = (one.write.tenant.as_str(), draft.collection.as_str());
    let mut found = Vec::new();
    let (from, to) = (one.ruling.valid_from, one.ruling.valid_to);
    let rival = Rival { from, to, but: String::new(), limit: RIVALS };
    let claims = conflict::claims(draft, &one.collection);
    if !claims.is_empty() {
        found.extend(store.rivals(place, &claims, &rival).await?);
    }
    if let Some((field, value)) = conflict::document(draft, &one.collection) {
        // Parts of one version of the document are of one group.
        let rival = Rival { but: draft.group.clone(), ..rival };
        found.extend(store.alike(place, (field, value), &rival).await?);
    }
    Ok(found)
}

/// Searches for versions that speak of the same entities, or have the same title, at the write's own
/// times.
fn kin(one: &Prepared, now: Timestamp) -> Vec<(Scope, Ask)> {
    let draft = &one.write.draft;
    let lasting = matches!(draft.kind, Kind::Knowledge | Kind::Preference);
    let named = !draft.entities.is_empty() || !draft.key.is_empty();
    if !lasting || !named || one.reading.is_empty() || one.ruling.amend.is_some() {
        return Vec::new();
    }
    let words = draft.entities.is_empty().then(|| draft.key.clone());
    let ask = Ask { entities: draft.entities.clone(), words, limit: KIN, ..Ask::default() };
    dates(one, now).into_iter().map(|as_of| (scope(one, as_of), ask.clone())).collect()
}

/// Instants at which something else has to hold to be held against the write.
fn dates(one: &Prepared, now: Timestamp) -> Vec<Timestamp> {
    let (from, to) = (one.ruling.valid_from, one.ruling.valid_to);
    let last = to.and_then(|to| to.saturating_add(SignedDuration::from_nanos(-1)).ok());
    let inside = from.is_none_or(|from| from <= now) && to.is_none_or(|to| now < to);
    let mut dates: Vec<Timestamp> =
        from.into_iter().chain(last).chain(inside.then_some(now)).collect();
    dates.sort_unstable();
    dates.dedup();
    dates
}

fn scope(one: &Prepared, as_of: Timestamp) -> Scope {
    let owner = (one.collection.share == Share::Caller).then(|| one.write.caller.clone());
    let owned = Owned { collection: one.collection.name.clone(), owner };
    let kinds = vec![Kind::Knowledge, Kind::Preference];
    Scope { kinds, ..Scope::new(one.write.tenant.clone(), vec![owned], as_of) }
}
