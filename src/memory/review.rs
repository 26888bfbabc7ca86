//! What waits for a person: held and quarantined versions out, a decision in. Nobody decides about
//! what they wrote themselves, and where a collection wants two people, two have to agree.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::conflict::Clash;
use super::fault::Error;
use super::gate::{self, Amend, Ruling};
use super::instant::{overlap, show};
use super::redact::{Names, redact};
use super::rights::Rights;
use super::store::{Change, Vote, Write};
use super::unit::{End, State, UnitId, Version};
use super::writing::{Writing, active, end, nothing};
use crate::mask::Rules;

/// Versions that are read at a time.
const PAGE: usize = 200;
/// Longest reason, in characters.
const REASON: usize = 2000;
/// Stands in front of the reason of an approval that keeps both.
const BOTH: &str = "[keep both] ";

/// A version that waits, and what is known of it. Its remarks tell why it waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// The version.
    pub version: Version,
    /// Those in use that it contradicts, and the one of its own unit.
    pub rivals: Vec<Version>,
    /// Decisions so far.
    pub votes: Vec<Vote>,
    /// People who must agree.
    pub reviewers: u8,
}

/// What a reviewer decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whether it may be used.
    pub approve: bool,
    /// What becomes of those in use that it contradicts, where it is approved.
    pub manner: Manner,
    /// Why; not empty.
    pub reason: String,
}

/// What becomes of those that an approved version contradicts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Manner {
    /// Each ends to hold where the approved one begins to; one that would begin only then, or where
    /// the approved one has no beginning, is superseded whole. History stays.
    #[default]
    Replace,
    /// Both are used.
    KeepBoth,
}

/// What a decision led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The version's state now: still held or quarantined while a second person is to agree.
    pub state: State,
    /// People who must still agree.
    pub missing: u8,
}

impl Writing {
    /// What waits for a decision in the collections that the caller reviews, oldest first, behind the
    /// version `after`.
    pub async fn pending(
        &self,
        rights: &Rights,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Pending>, Error> {
        let (mut found, mut after) = (Vec::new(), after);
        let (tenant, waiting) = (&rights.caller.tenant, [State::Held, State::Quarantined]);
        loop {
            let page = self.store().walk(Some(tenant), &waiting, after, PAGE).await?;
            let full = page.len() == PAGE;
            after = page.last().map_or(after, |version| version.seq);
            for version in page.into_iter().filter(|version| rights.reviews(version)) {
                if found.len() >= limit {
                    return Ok(found);
                }
                found.push(self.describe(version).await?);
            }
            if !full {
                return Ok(found);
            }
        }
    }

    async fn describe(&self, version: Version) -> Result<Pending, Error> {
        let mut rivals = Vec::new();
        for unit in version.conflicts.iter().chain([&version.unit]) {
            rivals.extend(self.in_use(&version.tenant, unit).await?);
        }
        let reviewers =
            self.collections().get(&version.draft.collection).map_or(2, |one| one.reviewers);
        let votes = self.store().votes(&version.tenant, version.seq).await?;
        Ok(Pending { version, rivals, votes, reviewers })
    }

    /// The versions of a unit that are used.
    async fn in_use(&self, tenant: &str, unit: &UnitId) -> Result<Vec<Version>, Error> {
        let mut versions = self.store().history(tenant, unit).await?;
        versions.retain(active);
        Ok(versions)
    }

    /// Decides about the version that an evidence id (`unit@seq`) names. One reviewer can reject; to
    /// approve, as many as the collection says have to, in the same manner.
    pub async fn decide(
        &self,
        rights: &Rights,
        evidence: &str,
        decision: Decision,
    ) -> Result<Outcome, Error> {
        let reason = reason(&decision)?;
        let _order = self.order().await;
        let version = self.under_review(rights, evidence).await?;
        if version.owner == rights.caller.name {
            let message = "you wrote it yourself: another reviewer has to decide".to_owned();
            return Err(Error::Forbidden(message));
        }
        if decision.approve {
            self.look_again(&version).await?;
        }
        let vote = Vote {
            seq: version.seq,
            by: rights.caller.name.clone(),
            approve: decision.approve,
            reason: reason.clone(),
            at: self.now(),
        };
        let votes = self.store().vote(&version.tenant, vote).await?;
        let kind = if decision.approve { "approve" } else { "reject" };
        metrics::counter!("switchboard_memory_reviews_total", "decision" => kind).increment(1);
        let remark = format!("{kind} by {}: {reason}", rights.caller.name);
        let noted = Change { remarks: vec![remark], ..nothing(version.seq) };
        if !decision.approve {
            let rejected = Change { state: Some(State::Rejected), ..noted };
            self.store().change(None, &[rejected]).await?;
            return Ok(Outcome { state: State::Rejected, missing: 0 });
        }
        let wanted =
            self.collections().get(&version.draft.collection).map_or(2, |one| one.reviewers);
        let both = reason.starts_with(BOTH);
        let agree = votes.iter().filter(|vote| {
            vote.approve && vote.by != version.owner && vote.reason.starts_with(BOTH) == both
        });
        let people = agree.map(|vote| vote.by.as_str()).collect::<BTreeSet<_>>().len();
        let missing = wanted.saturating_sub(u8::try_from(people).unwrap_or(u8::MAX));
        if missing > 0 {
            self.store().change(None, &[noted]).await?;
            return Ok(Outcome { state: version.state, missing });
        }
        let approved = Change { state: Some(State::Active), ..noted };
        self.approve(&version, approved, decision.manner).await?;
        Ok(Outcome { state: State::Active, missing: 0 })
    }

    /// Refuses to approve what contradicts something by now that it did not when it was written. It is
    /// marked with that, and those who agreed without knowing of it are asked anew.
    async fn look_again(&self, version: &Version) -> Result<(), Error> {
        let clashes = self.contradicted(version, written(version, self.now())).await?;
        let new: Vec<Clash> =
            clashes.into_iter().filter(|one| !version.conflicts.contains(&one.unit)).collect();
        let Some(first) = new.first() else { return Ok(()) };
        let message = format!(
            "`{}` by now {}: look at it with what it contradicts, and decide anew",
            version.evidence(),
            first.remark(true)
        );
        self.store().unvote(&version.tenant, version.seq).await?;
        let mut own = nothing(version.seq);
        let mut changes = Vec::new();
        for clash in new {
            // Whoever wrote it gets to see this, and may not read the other.
            own.remarks.push(clash.remark(false));
            own.conflicts.push(clash.unit);
            let conflicts = vec![version.unit.clone()];
            changes.push(Change { conflicts, ..nothing(clash.seq) });
        }
        changes.push(own);
        self.store().change(None, &changes).await?;
        Err(Error::State(message))
    }

    /// The version that evidence names, if the caller may decide about it now.
    async fn under_review(&self, rights: &Rights, evidence: &str) -> Result<Version, Error> {
        let unknown = || Error::unknown("evidence", evidence.chars().take(80).collect::<String>());
        let (unit, seq) = evidence.split_once('@').ok_or_else(unknown)?;
        let seq: i64 = seq.parse().map_err(|_none| unknown())?;
        let versions = self.store().load(&rights.caller.tenant, &[seq]).await?;
        let found = versions.into_iter().find(|version| {
            version.unit.as_str() == unit && rights.sees(version, &self.collections())
        });
        let version = found.ok_or_else(unknown)?;
        if !rights.reviews(&version) {
            let name = &version.draft.collection;
            return Err(Error::Forbidden(format!("you are no reviewer of `{name}`")));
        }
        let waits = matches!(version.state, State::Held | State::Quarantined);
        match &version.ended {
            None if waits => Ok(version),
            None => {
                let state = gate::word(&version.state);
                Err(Error::State(format!("`{evidence}` is {state}: there is nothing to decide")))
            }
            Some(ended) => {
                let why = gate::word(&ended.why);
                Err(Error::State(format!(
                    "`{evidence}` has ended ({why}): decide about what followed"
                )))
            }
        }
    }

    /// Puts an approved version into use, and out of it what it takes the place of, in one transaction.
    async fn approve(
        &self,
        version: &Version,
        approved: Change,
        manner: Manner,
    ) -> Result<(), Error> {
        let (tenant, now) = (&version.tenant, self.now());
        let mut changes = vec![approved];
        for old in self.in_use(tenant, &version.unit).await? {
            changes.push(end(&old, End::Replaced, Some(&version.unit), now));
        }
        let superseded = version.draft.supersedes.iter().filter(|unit| **unit != version.unit);
        for unit in superseded {
            for old in self.in_use(tenant, unit).await? {
                changes.push(end(&old, End::Superseded, Some(&version.unit), now));
            }
        }
        let mut cuts = Vec::new();
        let replaced = version.conflicts.iter().filter(|_| manner == Manner::Replace);
        for unit in replaced.filter(|unit| version.draft.supersedes.as_ref() != Some(*unit)) {
            for old in self.in_use(tenant, unit).await? {
                let (one, two) =
                    ((version.valid_from, version.valid_to), (old.valid_from, old.valid_to));
                // What does not hold with it any more, as after an earlier cut, keeps its own end.
                if !overlap(one, two) {
                    continue;
                }
                let begins =
                    version.valid_from.filter(|at| old.valid_from.is_none_or(|from| from < *at));
                match begins {
                    Some(at) => cuts.push(cut(&old, at, now)),
                    None => changes.push(end(&old, End::Superseded, Some(&version.unit), now)),
                }
            }
        }
        let Some(((_, _, amend), _)) = cuts.split_first_mut() else {
            return Ok(self.store().change(None, &changes).await?);
        };
        amend.also = changes;
        let writes = cuts.into_iter().map(|(mut write, mut ruling, amend)| {
            ruling.amend = Some(amend);
            write.ruling = serde_json::to_string(&ruling).unwrap_or_default();
            write
        });
        Ok(self.amend(writes.collect()).await?)
    }
}

/// A version with an earlier end, as a write of the review's own.
fn cut(old: &Version, at: Timestamp, now: Timestamp) -> (Write, Ruling, Amend) {
    let (mut write, mut ruling) = written(old, now);
    write.draft.valid_to = Some(show(at));
    ruling.valid_to = Some(at);
    ruling.digest = gate::digest(&write.draft);
    (write, ruling, Amend { seq: old.seq, also: Vec::new() })
}

/// A version as a write that makes it.
fn written(version: &Version, now: Timestamp) -> (Write, Ruling) {
    let ruling = Ruling {
        layer: version.layer,
        origin: version.origin,
        trust: version.trust.0,
        arrived: now,
        source_time: version.source_time,
        valid_from: version.valid_from,
        valid_to: version.valid_to,
        digest: version.digest.clone(),
        reads: true,
        notes: Vec::new(),
        amend: None,
    };
    let write = Write {
        receipt: uuid::Uuid::now_v7().to_string(),
        tenant: version.tenant.clone(),
        caller: version.owner.clone(),
        draft: version.draft.clone(),
        arrived: now,
        ruling: String::new(),
    };
    (write, ruling)
}

/// The reason as it is kept: redacted, and with what the reviewer wants to become of the others.
fn reason(decision: &Decision) -> Result<String, Error> {
    let text = decision.reason.trim();
    let wrong = |reason: String| Err(Error::Argument { name: "reason".into(), reason });
    if text.is_empty() {
        return wrong("is empty: say why, for those who ask later".to_owned());
    }
    if text.chars().count() > REASON || text.contains('\0') {
        return wrong(format!("is longer than {REASON} characters, or holds NUL"));
    }
    let text = redact(text, &Rules::USUAL, &mut Names::of([text])).text;
    let text = text.trim_start_matches(BOTH.trim_end()).trim_start().to_owned();
    let both = decision.approve && decision.manner == Manner::KeepBoth;
    Ok(if both { format!("{BOTH}{text}") } else { text })
}
