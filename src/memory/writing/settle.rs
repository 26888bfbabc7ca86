//! Decides what becomes of a write: what it says itself and what is known beside it in, one
//! [`Settlement`] out, which is stored whole or not at all.

use std::collections::HashMap;

use jiff::Timestamp;

use super::lookup::Known;
use super::prepare::Prepared;
use crate::memory::conflict::{self, Clash};
use crate::memory::instant::show;
use crate::memory::store::{Change, Settlement, Stage};
use crate::memory::unit::{End, Ended, Layer, State, Trust, UnitId, Version};

/// Whether a version is what its unit says.
pub(in crate::memory) fn active(version: &Version) -> bool {
    version.ended.is_none() && matches!(version.state, State::Active | State::Archived)
}

/// A change that ends a version.
pub(in crate::memory) fn end(
    version: &Version,
    why: End,
    by: Option<&UnitId>,
    at: Timestamp,
) -> Change {
    // Not before it was recorded, which a clock that was put back would make of it.
    let at = at.max(version.recorded);
    Change {
        seq: version.seq,
        state: None,
        ended: Some(Some(Ended { at, why, by: by.cloned() })),
        conflicts: Vec::new(),
        remarks: Vec::new(),
        said: None,
    }
}

/// A change that leaves a version as it is, to add to.
pub(in crate::memory) const fn nothing(seq: i64) -> Change {
    Change { seq, state: None, ended: None, conflicts: Vec::new(), remarks: Vec::new(), said: None }
}

/// What the same batch is about to store.
#[derive(Debug, Default)]
pub(super) struct Beside {
    pub(super) settlements: Vec<Settlement>,
    /// Places of those that speak of something.
    by_mark: HashMap<String, Vec<usize>>,
}

impl Beside {
    /// Adds what becomes of a write.
    pub(super) fn add(&mut self, one: &Prepared, settled: Settlement) {
        if settled.version.is_some() {
            for mark in &one.marks {
                self.by_mark.entry(mark.clone()).or_default().push(self.settlements.len());
            }
        }
        self.settlements.push(settled);
    }

    /// Places of those that speak of something that a write speaks of too, in order.
    fn near(&self, one: &Prepared) -> Vec<usize> {
        let places = one.marks.iter().filter_map(|mark| self.by_mark.get(mark)).flatten();
        let mut places: Vec<usize> = places.copied().collect();
        places.sort_unstable();
        places.dedup();
        places
    }
}

/// Whether a write will be stored and used or held, as far as that can be told without what it may
/// contradict.
pub(super) fn is_news(one: &Prepared, known: &Known, now: Timestamp) -> bool {
    let older = known.same.iter().any(|version| active(version) && is_older(one, version));
    one.ruling.amend.is_some() || (repeats(one, known, now).is_none() && !older)
}

/// What becomes of a write.
pub(super) fn settle(
    one: &Prepared,
    known: &Known,
    beside: &mut Beside,
    now: Timestamp,
) -> Settlement {
    if one.ruling.amend.is_some() {
        return amend(one, known, now);
    }
    if let Some(settled) = repeats(one, known, now) {
        return settled;
    }
    let current =
        known.same.iter().filter(|version| active(version)).max_by_key(|one| one.source_time);
    let mut version = version(one, known, now);
    if current.is_some_and(|current| is_older(one, current)) {
        if let Some(known) = known.past.iter().find(|past| same_lineage(one, past)) {
            let remark = "equal to an earlier version of its unit".to_owned();
            let mut settled = bare(one, Stage::Unchanged, vec![remark]);
            settled.known = Some((known.unit.clone(), known.seq));
            return settled;
        }
        let ended = Ended { at: now, why: End::Replaced, by: Some(version.unit.clone()) };
        version.ended = Some(ended);
        let remark = "older than what is there, by its source time: kept as history".to_owned();
        version.remarks.clone_from(&one.ruling.notes);
        let mut settled = bare(one, Stage::Outdated, vec![remark]);
        settled.version = Some((version, one.chunks.clone()));
        return settled;
    }
    version.source_time =
        current.map_or(version.source_time, |it| it.source_time.max(version.source_time));
    let mut changes = judge(one, known, &mut version, beside);
    if version.state == State::Active {
        let active = known.same.iter().filter(|version| active(version));
        changes.extend(active.map(|old| end(old, End::Replaced, Some(&version.unit), now)));
        let replaced = known.replaced.iter().filter(|old| old.unit != version.unit);
        changes.extend(replaced.map(|old| end(old, End::Superseded, Some(&version.unit), now)));
    }
    changes.extend(overtaken(one, known, now));
    let stage = match version.state {
        State::Held => Stage::Held,
        State::Quarantined => Stage::Quarantined,
        State::Active | State::Rejected | State::Archived => Stage::Stored,
    };
    let mut settled = bare(one, stage, version.remarks.clone());
    version.remarks.extend(one.ruling.notes.iter().cloned());
    settled.version = Some((version, one.chunks.clone()));
    settled.changes = changes;
    settled
}

/// A settlement that stores nothing; what was told with the draft is among its remarks.
pub(super) fn bare(one: &Prepared, stage: Stage, mut remarks: Vec<String>) -> Settlement {
    remarks.extend(one.ruling.notes.iter().cloned());
    Settlement {
        receipt: one.write.receipt.clone(),
        stage,
        remarks,
        version: None,
        known: None,
        changes: Vec::new(),
    }
}

/// What waits for a reviewer is overtaken by a later write in any case.
fn overtaken(one: &Prepared, known: &Known, now: Timestamp) -> Vec<Change> {
    let waits = known.same.iter().filter(|old| waits(old) && !is_older(one, old));
    waits.map(|old| end(old, End::Replaced, Some(&old.unit), now)).collect()
}

fn waits(version: &Version) -> bool {
    matches!(version.state, State::Held | State::Quarantined)
}

/// Equal content is stored once: of one source id, and of one source under several ids. An id that says
/// something else so far does not go by what others say.
fn repeats(one: &Prepared, known: &Known, now: Timestamp) -> Option<Settlement> {
    let even = |version: &&Version| {
        version.digest == one.ruling.digest
            && (version.state == State::Rejected || same_lineage(one, version))
    };
    let again = known.same.iter().find(even);
    let says = known.same.iter().any(|version| active(version) || waits(version));
    let source = &one.write.draft.source;
    let elsewhere = || {
        let mut others = known.equal.iter().filter(|other| other.draft.source == *source);
        others.find(even).filter(|_| !says)
    };
    let version = again.or_else(elsewhere)?;
    let (stage, remark) = match (version.state, again) {
        (State::Rejected, _) => (Stage::Refused, "a reviewer rejected exactly this".to_owned()),
        (_, Some(_)) => (Stage::Unchanged, "equal to what is there".to_owned()),
        (_, None) if !one.ruling.reads => {
            (Stage::Unchanged, "this source says so already, under another id".to_owned())
        }
        (_, None) => {
            let other = &version.draft.source_id;
            (Stage::Unchanged, format!("this source says so already, under the id `{other}`"))
        }
    };
    let mut settled = bare(one, stage, vec![remark]);
    settled.known = Some((version.unit.clone(), version.seq));
    if stage == Stage::Unchanged {
        let mut change = nothing(version.seq);
        change.state = (version.state == State::Archived).then_some(State::Active);
        // What another id repeats has its own order.
        change.said =
            again.map(|_| one.ruling.source_time).filter(|said| *said > version.source_time);
        if change != nothing(version.seq) {
            settled.changes.push(change);
        }
        let others = again.is_some_and(active).then(|| overtaken(one, known, now));
        settled.changes.extend(others.into_iter().flatten());
    }
    Some(settled)
}

/// Whether a version was made from, and takes the place of, all that the write names, and has its
/// origin. What names fewer sources cannot raise its origin by that.
fn same_lineage(one: &Prepared, version: &Version) -> bool {
    let (draft, known) = (&one.write.draft, &version.draft);
    let replaces = draft.supersedes.is_none() || draft.supersedes == known.supersedes;
    let sources = draft.derived_from.iter().all(|unit| known.derived_from.contains(unit));
    let fewer = known.derived_from.iter().any(|unit| !draft.derived_from.contains(unit));
    let origin = one.ruling.origin.cmp(&version.origin);
    replaces && sources && (origin.is_eq() || (fewer && origin.is_lt()))
}

/// By source time; of two that came without one, the later arrival is the newer, whatever the clock
/// said, and so it is for equal times.
pub(super) fn is_older(one: &Prepared, known: &Version) -> bool {
    let told = one.write.draft.source_time.is_some() || known.draft.source_time.is_some();
    told && one.ruling.source_time < known.source_time
}

fn version(one: &Prepared, known: &Known, now: Timestamp) -> Version {
    let unit = known.same.first().map_or_else(UnitId::generate, |version| version.unit.clone());
    let (write, ruling) = (&one.write, &one.ruling);
    Version {
        unit,
        seq: 0,
        tenant: write.tenant.clone(),
        owner: write.caller.clone(),
        layer: ruling.layer,
        draft: write.draft.clone(),
        source_time: ruling.source_time,
        valid_from: ruling.valid_from,
        valid_to: ruling.valid_to,
        recorded: now,
        ended: None,
        state: State::Active,
        trust: Trust(ruling.trust),
        origin: ruling.origin,
        digest: ruling.digest.clone(),
        remarks: Vec::new(),
        conflicts: Vec::new(),
        used: None,
        uses: 0,
    }
}

/// Whether the version may be used; marks what it contradicts.
fn judge(one: &Prepared, known: &Known, version: &mut Version, beside: &mut Beside) -> Vec<Change> {
    let mut changes = Vec::new();
    let clashes = clashes(one, known, version);
    for clash in &clashes {
        changes.push(Change { conflicts: vec![version.unit.clone()], ..nothing(clash.seq) });
    }
    let held: Vec<Clash> = clashes.into_iter().chain(near(one, version, beside)).collect();
    for clash in held {
        version.remarks.push(clash.remark(one.ruling.reads));
        if !version.conflicts.contains(&clash.unit) {
            version.conflicts.push(clash.unit);
        }
    }
    let over = || known.same.iter().filter(|old| active(old)).chain(&known.replaced);
    if over().any(|old| old.layer == Layer::Notes && old.owner != version.owner) {
        version.remarks.push("would take the place of what another caller wrote".to_owned());
    }
    if let Some(old) = over().filter(|old| old.trust > version.trust).max_by_key(|old| old.trust) {
        version.remarks.push(format!(
            "would take the place of what is believed more (trust {} against {})",
            old.trust.0, version.trust.0
        ));
    }
    if !version.remarks.is_empty() {
        version.state = State::Held;
    }
    if !one.suspicions.is_empty() {
        version.state = State::Quarantined;
        version.remarks.extend(one.suspicions.iter().cloned());
    }
    changes
}

/// Conflicts with what is stored.
pub(super) fn clashes(one: &Prepared, known: &Known, version: &Version) -> Vec<Clash> {
    let replaced = one.write.draft.supersedes.as_ref();
    let rivals = known.rivals.iter().filter(|rival| Some(&rival.unit) != replaced);
    let clash =
        |rival: &Version| conflict::between((version, &one.reading), rival, &one.collection);
    rivals.filter_map(clash).collect()
}

/// Conflicts with what the same batch stores before it, which is marked too.
fn near(one: &Prepared, version: &Version, beside: &mut Beside) -> Vec<Clash> {
    let mut found = Vec::new();
    for at in beside.near(one) {
        let settled = beside.settlements.get_mut(at);
        let Some((other, _)) = settled.and_then(|settled| settled.version.as_mut()) else {
            continue;
        };
        let place = (&other.tenant, &other.draft.collection, active(other));
        let shared = other.owner == version.owner
            || one.collection.share == crate::memory::collection::Share::Tenant;
        if place != (&version.tenant, &version.draft.collection, true) || !shared {
            continue;
        }
        let clash = conflict::between((version, &one.reading), other, &one.collection);
        if let Some(clash) = clash {
            other.conflicts.push(version.unit.clone());
            found.push(clash);
        }
    }
    found
}

/// What a reviewer's decision makes of a version: the same with an earlier end.
fn amend(one: &Prepared, known: &Known, now: Timestamp) -> Settlement {
    let also = one.ruling.amend.as_ref().map(|amend| amend.also.clone()).unwrap_or_default();
    let Some(old) = known.replaced.iter().find(|old| active(old)) else {
        let remark = "what was to be cut has ended by itself".to_owned();
        let mut settled = bare(one, Stage::Unchanged, vec![remark]);
        settled.changes = also;
        return settled;
    };
    let remark = match one.ruling.valid_to {
        Some(to) => format!("holds until {} since a reviewer put another in its place", show(to)),
        None => "amended by a reviewer".to_owned(),
    };
    let mut version = old.clone();
    version.draft = one.write.draft.clone();
    version.valid_to = one.ruling.valid_to;
    version.recorded = now;
    version.digest = one.ruling.digest.clone();
    version.remarks.push(remark.clone());
    let mut settled = bare(one, Stage::Stored, vec![remark]);
    settled.changes = vec![end(old, End::Replaced, Some(&old.unit), now)];
    settled.changes.extend(also);
    settled.version = Some((version, one.chunks.clone()));
    settled
}
