//! Requests that keep order: what waits for a reviewer, the decisions, and upkeep.

use serde_json::json;

use super::ask::in_time;
use super::{Answered, Desk, Error, Visit};
use crate::mask;
use crate::memory::{Decision, Item, Outcome, Pending, Run};
use crate::policy::Wish;

/// What is wanted of upkeep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upkeep {
    /// Tell what a run would do.
    DryRun,
    /// Do it.
    Apply,
    /// Put back what a run changed.
    Undo(String),
    /// The runs there were, so many at most.
    Runs(usize),
}

/// What upkeep did, or would do.
#[derive(Debug, Default)]
pub struct UpkeepDone {
    /// Runs.
    pub runs: Vec<Run>,
    /// Each thing that is done, or would be.
    pub items: Vec<Item>,
    /// Versions that were put back.
    pub undone: u64,
}

impl Desk {
    /// What waits for a decision, oldest first, behind the version `after`.
    pub async fn pending(
        &self,
        visit: &Visit,
        collections: &[String],
        (after, limit): (i64, usize),
    ) -> Result<Answered<Vec<Pending>>, Error> {
        let told = json!({ "collections": collections, "after": after, "limit": limit });
        let wish = Wish::Review { collections, decide: false };
        let (memory, permit) = self.admit(visit, &wish, &told).await?;
        let pending = async { Ok(memory.pending(&permit, after, limit).await?) };
        let pending = in_time(visit, pending).await;
        self.finish(visit, (&permit, &told), pending, |pending| {
            let ids = pending.iter().map(|one| one.version.evidence());
            json!({ "evidence": ids.collect::<Vec<_>>() })
        })
        .await
    }

    /// Decides about a version that waits.
    pub async fn decide(
        &self,
        visit: &Visit,
        evidence: &str,
        decision: Decision,
    ) -> Result<Answered<Outcome>, Error> {
        let told = json!({
            "evidence": mask::text(evidence), "approve": decision.approve,
            "manner": decision.manner, "reason": mask::text(&decision.reason),
        });
        let wish = Wish::Review { collections: &[], decide: true };
        let (memory, permit) = self.admit(visit, &wish, &told).await?;
        let decided = async { Ok(memory.decide(&permit, evidence, decision).await?) };
        let decided = in_time(visit, decided).await;
        self.finish(
            visit,
            (&permit, &told),
            decided,
            |outcome| json!({ "state": outcome.state, "missing": outcome.missing }),
        )
        .await
    }

    /// Upkeep by command.
    pub async fn upkeep(
        &self,
        visit: &Visit,
        collections: &[String],
        upkeep: Upkeep,
    ) -> Result<Answered<UpkeepDone>, Error> {
        let apply = matches!(upkeep, Upkeep::Apply | Upkeep::Undo(_));
        let told =
            json!({ "collections": collections, "what": mask::text(&format!("{upkeep:?}")) });
        let wish = Wish::Consolidate { collections, apply };
        let (memory, permit) = self.admit(visit, &wish, &told).await?;
        let done = in_time(visit, async {
            let mut done = UpkeepDone::default();
            match upkeep {
                Upkeep::DryRun => done.items = memory.plan(&permit).await?.items,
                Upkeep::Apply => {
                    let plan = memory.plan(&permit).await?;
                    done.runs = memory.apply(&permit, &plan).await?;
                    done.items = plan.items;
                }
                Upkeep::Undo(run) => done.undone = memory.undo(&permit, &run).await?,
                Upkeep::Runs(limit) => done.runs = memory.runs(&permit, limit).await?,
            }
            Ok(done)
        });
        let done = done.await;
        self.finish(visit, (&permit, &told), done, |done| {
            json!({
                "runs": done.runs.iter().map(|run| &run.id).collect::<Vec<_>>(),
                "items": done.items.len(), "undone": done.undone,
            })
        })
        .await
    }
}
