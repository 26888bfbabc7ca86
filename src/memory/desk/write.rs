//! Requests that write: remember, receipt, forget. What was begun is brought to its end by whoever
//! spawns it; a record is kept of each batch.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::ask::still;
use super::error::code;
use super::record::digest;
use super::{Answered, Desk, Error, Visit};
use crate::mask;
use crate::memory::facade::{Which, work};
use crate::memory::{Draft, Error as Fault, Receipt};
use crate::policy::{Permit, Wish};

impl Desk {
    /// Takes drafts, in this order; each is acknowledged on its own, or not. With `wait` a receipt
    /// tells how far its write came within that time.
    pub async fn remember(
        &self,
        visit: &Visit,
        drafts: Vec<Draft>,
        wait: Option<Duration>,
    ) -> Result<Answered<Vec<Result<Receipt, Fault>>>, Error> {
        let (memory, keepers) = (self.memory()?, self.keepers()?);
        let told = json!({ "drafts": drafts.iter().map(told).collect::<Vec<_>>() });
        let collections = self.collections();
        let works: BTreeSet<_> =
            drafts.iter().filter_map(|draft| work(draft, &collections)).collect();
        let permit = keepers.permit_works(&visit.caller, works);
        let wait = wait.map(|wait| visit.remaining().unwrap_or(wait).min(wait));
        let written = memory.remember(&permit, drafts, wait).await;
        let lost = written.iter().find_map(|one| match one {
            Err(Fault::Store(error)) => Some(error),
            _ => None,
        });
        if let Some(error) = lost {
            self.notice(error);
        }
        self.finish(
            visit,
            (&permit, &told),
            Ok(written),
            |written| json!({ "written": written.iter().map(outcome).collect::<Vec<_>>() }),
        )
        .await
    }

    /// What became of a write of the caller. It is nobody else's, so that no policy is asked, and
    /// there is no record.
    pub async fn receipt(
        &self,
        visit: &Visit,
        id: &str,
        wait: Option<Duration>,
    ) -> Result<Receipt, Error> {
        let memory = self.memory()?;
        let permit = Permit::receipt(visit.caller.clone());
        let wait = wait.map(|wait| visit.remaining().unwrap_or(wait).min(wait));
        let found = memory.receipt(&permit, id, wait).await.map_err(Error::from);
        if let Some(error) = found.as_ref().err().and_then(Error::store) {
            self.notice(error);
        }
        found
    }

    /// Hides a unit from now on, or erases it.
    pub async fn forget(
        &self,
        visit: &Visit,
        which: Which,
        erase: bool,
    ) -> Result<Answered<(String, u64)>, Error> {
        let told = match &which {
            Which::Unit(unit) => json!({ "unit": unit, "erase": erase }),
            Which::Source(collection, source, source_id) => json!({
                "collection": mask::text(collection), "source": mask::text(source),
                "source_id": mask::text(source_id), "erase": erase,
            }),
        };
        let (memory, permit) = self.admit(visit, &Wish::Forget { erase }, &told).await?;
        let forgotten = async {
            still(visit)?;
            let (unit, versions) = memory.forget(&permit, &which, erase).await?;
            Ok((unit.to_string(), versions))
        };
        let forgotten = forgotten.await;
        self.finish(
            visit,
            (&permit, &told),
            forgotten,
            |(unit, versions)| json!({ "unit": unit, "versions": versions }),
        )
        .await
    }
}

/// What the record says of a draft.
fn told(draft: &Draft) -> Value {
    json!({
        "collection": mask::text(&draft.collection), "source": mask::text(&draft.source),
        "source_id": mask::text(&draft.source_id), "kind": draft.kind,
        "digest": digest(&serde_json::to_string(draft).unwrap_or_default()),
    })
}

/// What the record says of a receipt.
fn outcome(written: &Result<Receipt, Fault>) -> Value {
    match written {
        Ok(receipt) => json!({
            "receipt": receipt.id, "stage": receipt.stage,
            "unit": receipt.stored.as_ref().map(|(unit, seq)| unit.evidence(*seq)),
        }),
        Err(fault) => json!({ "code": code(fault), "message": mask::text(&fault.to_string()) }),
    }
}
