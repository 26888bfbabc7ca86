//! What the store knows that bears on a write: versions of its source id, equal ones, those it may
//! contradict, and the one it supersedes.

use jiff::{SignedDuration, Timestamp};

use super::prepare::Prepared;
use crate::memory::collection::Share;
use crate::memory::conflict;
use crate::memory::scope::{Owned, Scope};
use crate::memory::store::{Ask, Error, Store};
use crate::memory::unit::{Kind, Layer, State, Version};

/// Versions that are looked at for statements against a text.
const KIN: usize = 32;

/// Versions that bear on a write; none has ended.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Of its source id, whatever their state.
    pub(super) same: Vec<Version>,
    /// Of another source id, that say exactly the same.
    pub(super) equal: Vec<Version>,
    /// In use, that it may contradict; of other units.
    pub(super) rivals: Vec<Version>,
    /// Of the unit that it supersedes, or the version that it amends.
    pub(super) replaced: Vec<Version>,
}

/// Asks the store.
pub(super) async fn lookup(
    store: &dyn Store,
    one: &Prepared,
    now: Timestamp,
) -> Result<Known, Error> {
    let (tenant, draft) = (one.write.tenant.as_str(), &one.write.draft);
    if let Some(amend) = &one.ruling.amend {
        let replaced = store.load(tenant, &[amend.seq]).await?;
        return Ok(Known { replaced, ..Known::default() });
    }
    let place = (tenant, draft.collection.as_str());
    let alone = one.collection.share == Share::Caller;
    let own = |version: &Version| !alone || version.owner == one.write.caller;
    let mut known = Known { same: store.of_source(tenant, draft).await?, ..Known::default() };
    known.same.retain(|version| same(version, one));
    if draft.group.is_empty() {
        known.equal = store.equal(place, &one.ruling.digest).await?;
        known.equal.retain(|version| own(version) && !same(version, one));
    }
    if let Some(unit) = &draft.supersedes {
        known.replaced = store.history(tenant, unit).await?;
        known.replaced.retain(|version| version.ended.is_none());
    }
    known.rivals = rivals(store, one, now).await?;
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

/// Whether a version has the write's source id. Among notes each caller has its own ones: nobody takes the
/// place of what another noted by naming it.
pub(super) fn same(version: &Version, one: &Prepared) -> bool {
    let (known, draft) = (&version.draft, &one.write.draft);
    let own = one.collection.layer == Layer::Notes || one.collection.share == Share::Caller;
    (&known.source, &known.source_id) == (&draft.source, &draft.source_id)
        && (!own || version.owner == one.write.caller)
}

async fn rivals(store: &dyn Store, one: &Prepared, now: Timestamp) -> Result<Vec<Version>, Error> {
    let draft = &one.write.draft;
    let place = (one.write.tenant.as_str(), draft.collection.as_str());
    let mut found = Vec::new();
    let claims = conflict::claims(draft, &one.collection);
    if !claims.is_empty() {
        found.extend(store.rivals(place, &claims).await?);
    }
    if let Some((field, value)) = conflict::document(draft, &one.collection) {
        found.extend(store.alike(place, (field, value)).await?);
    }
    let lasting = matches!(draft.kind, Kind::Knowledge | Kind::Preference);
    if lasting && !one.reading.is_empty() && (!draft.entities.is_empty() || !draft.key.is_empty()) {
        found.extend(kin(store, one, now).await?);
    }
    Ok(found)
}

/// Versions that speak of the same entities, or have the same title, at the write's own times.
async fn kin(store: &dyn Store, one: &Prepared, now: Timestamp) -> Result<Vec<Version>, Error> {
    let draft = &one.write.draft;
    let words = draft.entities.is_empty().then(|| draft.key.clone());
    let ask = Ask { entities: draft.entities.clone(), words, limit: KIN, ..Ask::default() };
    let mut seqs = Vec::new();
    for as_of in dates(one, now) {
        let found = store.search(&scope(one, as_of), &ask).await?;
        let layers = [found.entity, found.words].into_iter().flatten();
        // A layer that does not work costs a check, not the write.
        seqs.extend(layers.filter_map(Result::ok).flatten().map(|hit| hit.seq));
    }
    seqs.sort_unstable();
    seqs.dedup();
    if seqs.is_empty() { Ok(Vec::new()) } else { store.load(&one.write.tenant, &seqs).await }
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
