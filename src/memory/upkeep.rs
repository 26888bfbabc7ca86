//! Keeps the memory in order: near duplicates merged, what expired ended, what is not used archived.
//! A plan says what and why and changes nothing; a run of it can be undone.

mod likeness;
mod survey;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::fault::Error;
use super::rights::Rights;
use super::store::{Change, Run};
use super::unit::{End, State, UnitId, Version};
use super::writing::{Writing, active, end, nothing};
use crate::config::duration;
use survey::Survey;

/// Versions that are read at a time.
const PAGE: usize = 500;
/// Runs that are looked through for one to undo.
const RUNS: usize = 10_000;

/// When upkeep runs, and on what.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Time between two runs; default 24 h; 0 s for none but by command.
    #[serde(with = "duration")]
    pub every: Duration,
    /// Share of their text that two units have in common to be near duplicates, above 0.8 to 1;
    /// default 0.97.
    pub similarity: f64,
    /// How long what a reviewer rejected is kept; default 90 days (2160 h).
    #[serde(with = "duration")]
    pub rejected: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(24 * 3600),
            similarity: 0.97,
            rejected: Duration::from_secs(90 * 24 * 3600),
        }
    }
}

/// What upkeep does with one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Ends it: another one says the same.
    Merge,
    /// Ends it: its collection keeps it no longer.
    Expire,
    /// Ends it: it was rejected long ago.
    Drop,
    /// Puts it into the archive: it was not used for long.
    Archive,
}

/// One thing that a plan does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    /// What.
    pub work: Work,
    /// Tenant of the unit.
    pub tenant: String,
    /// Its collection.
    pub collection: String,
    /// The unit.
    pub unit: UnitId,
    /// The version.
    pub seq: i64,
    /// The unit that stays, where it is merged.
    pub kept: Option<UnitId>,
    /// Why, in one line.
    pub why: String,
}

/// What upkeep would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// As of when.
    pub at: Timestamp,
    /// In the order of the versions.
    pub items: Vec<Item>,
    /// Versions that were looked at.
    pub seen: u64,
}

impl Plan {
    /// Its items by what is done, in words.
    pub fn summary(&self) -> String {
        summary(self.items.iter().map(|item| item.work))
    }
}

fn summary(works: impl Iterator<Item = Work>) -> String {
    let mut counts: BTreeMap<Work, u64> = BTreeMap::new();
    works.for_each(|work| *counts.entry(work).or_default() += 1);
    let count = |work| counts.get(&work).copied().unwrap_or_default();
    format!(
        "{} merged, {} expired, {} dropped, {} archived",
        count(Work::Merge),
        count(Work::Expire),
        count(Work::Drop),
        count(Work::Archive)
    )
}

impl Writing {
    /// What upkeep would do; changes nothing. With `rights` only in the collections that this caller
    /// may write, and of those it sees; without, in all tenants.
    pub async fn plan(&self, rights: Option<&Rights>) -> Result<Plan, Error> {
        self.plan_at(rights, self.now()).await
    }

    /// What it would do at an instant.
    pub(super) async fn plan_at(
        &self,
        rights: Option<&Rights>,
        now: Timestamp,
    ) -> Result<Plan, Error> {
        let collections = self.collections();
        let mut survey = Survey::new(self.parts().upkeep.clone(), collections, now);
        let tenant = rights.map(|rights| rights.caller.tenant.as_str());
        let mut after = 0;
        loop {
            let mut page = self.store().walk(tenant, &[], after, PAGE).await?;
            let full = page.len() == PAGE;
            after = page.last().map_or(after, |version| version.seq);
            if let Some(rights) = rights {
                let collections = self.collections();
                page.retain(|version| rights.writes(version, &collections));
            }
            // Reading texts takes its time, which nobody else should wait for.
            let work = move || {
                page.into_iter().for_each(|version| survey.look(&version));
                survey
            };
            survey = tokio::task::spawn_blocking(work)
                .await
                .map_err(|error| Error::State(format!("upkeep was cut off: {error}")))?;
            if !full {
                break;
            }
        }
        for (one, two) in survey.pairs() {
            let versions = self.store().load(&one.tenant, &[one.seq, two]).await?;
            if let [one, two] = versions.as_slice() {
                survey.merge(one, two);
            }
        }
        Ok(survey.plan())
    }

    /// Does what a plan says, but where something changed since; gives a run for each tenant, none
    /// where nothing was left to do.
    pub async fn apply(&self, plan: &Plan) -> Result<Vec<Run>, Error> {
        let tenants: BTreeSet<&String> = plan.items.iter().map(|item| &item.tenant).collect();
        let mut runs = Vec::new();
        for tenant in tenants {
            runs.extend(self.apply_of(tenant, plan).await?);
        }
        if !runs.is_empty()
            && let Err(error) = self.store().compact().await
        {
            tracing::warn!(%error, "the memory could not give room back");
        }
        Ok(runs)
    }

    /// Does what a plan says of one tenant, in a run that can be undone on its behalf.
    async fn apply_of(&self, tenant: &String, plan: &Plan) -> Result<Option<Run>, Error> {
        let _order = self.order().await;
        let now = self.now();
        let (mut changes, mut works) = (Vec::new(), Vec::new());
        let mut collections = BTreeSet::new();
        let gone: BTreeSet<&UnitId> = plan.items.iter().map(|item| &item.unit).collect();
        for item in plan.items.iter().filter(|item| item.tenant == *tenant) {
            let found = self.store().load(tenant, &[item.seq]).await?;
            let Some(version) = found.first().filter(|version| still(version, item.work)) else {
                continue;
            };
            if let Some(kept) = &item.kept {
                let others = self.store().history(tenant, kept).await?;
                if gone.contains(kept) || !others.iter().any(active) {
                    continue;
                }
            }
            changes.push(change(version, item, now));
            works.push(item.work);
            collections.insert(version.draft.collection.clone());
        }
        if changes.is_empty() {
            return Ok(None);
        }
        let id = uuid::Uuid::now_v7().to_string();
        let summary = summary(works.iter().copied());
        self.store().change(Some((&id, &summary)), &changes).await?;
        for work in works {
            let work = super::gate::word(&work);
            metrics::counter!("switchboard_memory_upkeep_total", "work" => work).increment(1);
        }
        let changed = u64::try_from(changes.len()).unwrap_or(u64::MAX);
        let (tenant, collections) = (tenant.clone(), collections.into_iter().collect());
        Ok(Some(Run { id, at: now, summary, changed, undone: false, tenant, collections }))
    }

    /// Puts back what a run changed, where nothing changed it since; gives the number of versions.
    pub async fn undo(&self, run: &str) -> Result<u64, Error> {
        let _order = self.order().await;
        let known = self.store().runs(RUNS).await?;
        match known.iter().find(|one| one.id == run) {
            None => Err(Error::unknown("run", run)),
            Some(one) if one.undone => Err(Error::State(format!("run `{run}` was undone already"))),
            Some(_) => Ok(self.store().undo(run).await?),
        }
    }

    /// Runs, newest first.
    pub async fn runs(&self, limit: usize) -> Result<Vec<Run>, Error> {
        Ok(self.store().runs(limit).await?)
    }
}

/// Whether a version is still what the plan says of it.
fn still(version: &Version, work: Work) -> bool {
    let state = match work {
        Work::Merge | Work::Archive => version.state == State::Active,
        Work::Drop => version.state == State::Rejected,
        Work::Expire => true,
    };
    version.ended.is_none() && state
}

fn change(version: &Version, item: &Item, now: Timestamp) -> Change {
    match item.work {
        Work::Merge => end(version, End::Merged, item.kept.as_ref(), now),
        Work::Expire | Work::Drop => end(version, End::Expired, None, now),
        Work::Archive => Change { state: Some(State::Archived), ..nothing(version.seq) },
    }
}

/// Runs upkeep on time, until it is stopped.
pub(super) async fn run(writing: Writing) {
    let (stop, every) = (writing.parts().stop.clone(), writing.parts().upkeep.every);
    if every.is_zero() {
        return;
    }
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(every) => {}
        }
        let done = tokio::select! {
            () = stop.cancelled() => return,
            done = once(&writing) => done,
        };
        let outcome = if done.is_ok() { "done" } else { "failed" };
        metrics::counter!("switchboard_memory_upkeep_runs_total", "outcome" => outcome)
            .increment(1);
        match done {
            Ok(runs) => tell(&runs),
            Err(error) => tracing::warn!(%error, "memory upkeep failed"),
        }
    }
}

fn tell(runs: &[Run]) {
    if runs.is_empty() {
        tracing::info!("memory upkeep found nothing to do");
    }
    for Run { id, tenant, summary, .. } in runs {
        tracing::info!(run = id, tenant, did = summary, "memory upkeep");
    }
}

async fn once(writing: &Writing) -> Result<Vec<Run>, Error> {
    let plan = writing.plan(None).await?;
    writing.apply(&plan).await
}
