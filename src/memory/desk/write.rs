//! Requests that write: remember, receipt, forget. What was begun is brought to its end by whoever
//! spawns it; a record is kept of each batch.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::ask::still;
use super::error::code;
use super::record::{Given, digest};
use super::{Answered, Desk, Error, Visit};
use crate::call::Code;
use crate::mask;
use crate::memory::facade::{Which, work};
use crate::memory::{Draft, Error as Fault, Image, Receipt, Sent, StoreError, gate};
use crate::policy::{Permit, Wish};

impl Desk {
    /// Takes drafts, in this order; each is acknowledged on its own, or not. With `wait` a receipt
    /// tells how far its write came within that time.
    pub async fn remember(
        &self,
        visit: &Visit,
        drafts: Vec<Sent>,
        wait: Option<Duration>,
    ) -> Result<Answered<Vec<Result<Receipt, Fault>>>, Error> {
        let (memory, keepers) = (self.memory()?, self.keepers()?);
        let (drafts, told) = told_all(drafts).await?;
        let collections = self.collections();
        let works: BTreeSet<_> =
            drafts.iter().filter_map(|sent| work(&sent.draft, &collections)).collect();
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
        self.finish(visit, (&permit, &told), Ok(written), |written| {
            let all = json!({ "written": written.iter().map(outcome).collect::<Vec<_>>() });
            Given::refused(all, refused(written))
        })
        .await
    }

    /// Images of the draft's source as an earlier write of the caller had them, redacted; `None` where
    /// the caller may not write the draft, its collection does not take it, or the memory does not
    /// answer. Keeps no record: what comes of it is told by [`Desk::remember`].
    pub async fn images(&self, visit: &Visit, draft: Draft) -> Option<Vec<Image>> {
        let (memory, keepers) = (self.memory().ok()?, self.keepers().ok()?);
        let work = work(&draft, &self.collections())?;
        let permit = keepers.permit_works(&visit.caller, BTreeSet::from([work]));
        memory.images(&permit, draft).await
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

    /// What became of many writes of the caller, of those that are known.
    pub async fn receipts(
        &self,
        visit: &Visit,
        ids: &[String],
        wait: Option<Duration>,
    ) -> Result<Vec<Receipt>, Error> {
        let memory = self.memory()?;
        let permit = Permit::receipt(visit.caller.clone());
        let wait = wait.map(|wait| visit.remaining().unwrap_or(wait).min(wait));
        let found = memory.receipts(&permit, ids, wait).await.map_err(Error::from);
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
            Ok((unit.map(|unit| unit.to_string()).unwrap_or_default(), versions))
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

/// What the record says of drafts. Masking takes time where there is much text, and so is done beside
/// the others' requests.
async fn told_all(drafts: Vec<Sent>) -> Result<(Vec<Sent>, Value), Error> {
    let work = move || {
        let told: Vec<Value> = drafts.iter().map(|sent| told(&sent.draft)).collect();
        (drafts, json!({ "drafts": told }))
    };
    let told = tokio::task::spawn_blocking(work).await;
    told.map_err(|_lost| StoreError::Engine("the drafts could not be looked at".to_owned()).into())
}

/// What the record says of a draft; of one that is too large to be taken, nothing that it says.
fn told(draft: &Draft) -> Value {
    if !gate::is_sane(draft) {
        return json!({ "kind": draft.kind, "digest": null });
    }
    json!({
        "collection": mask::text(&draft.collection), "source": mask::text(&draft.source),
        "source_id": mask::text(&draft.source_id), "kind": draft.kind, "digest": sum(draft),
    })
}

/// SHA-256 in hex of a draft as the record would show it. Vectors are no text, and are not masked.
fn sum(draft: &Draft) -> String {
    if draft.images.iter().all(|image| image.vector.is_empty()) {
        return digest(&serde_json::to_string(draft).unwrap_or_default());
    }
    let (mut bare, mut vectors) = (draft.clone(), Sha256::new());
    for image in &mut bare.images {
        for number in std::mem::take(&mut image.vector) {
            vectors.update(number.to_le_bytes());
        }
    }
    let text = serde_json::to_string(&bare).unwrap_or_default();
    digest(&format!("{text} {}", hex::encode(vectors.finalize())))
}

/// Code and reason of the first draft that was not taken: a batch with one does not look like a
/// success.
fn refused(written: &[Result<Receipt, Fault>]) -> Option<(Code, String)> {
    let count = written.iter().filter(|one| one.is_err()).count();
    let first = written.iter().find_map(|one| one.as_ref().err())?;
    let message = match written.len() {
        1 => first.to_string(),
        all => format!("{count} of {all} drafts are not taken; the first: {first}"),
    };
    Some((code(first), message))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{sum, told};
    use crate::memory::Draft;

    fn draft(more: &serde_json::Value) -> Draft {
        let mut draft = json!({
            "collection": "notes", "source": "chat/1", "source_id": "1", "kind": "knowledge",
        });
        draft.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(draft).unwrap()
    }

    #[test]
    fn a_record_names_a_draft_by_what_it_says_and_hides_what_is_masked() {
        let image = |number: f32| json!({"images": [{"sha256": "0".repeat(64), "vector_model": "m", "vector": [number]}]});
        assert_eq!(sum(&draft(&image(0.5))), sum(&draft(&image(0.5))));
        assert_ne!(sum(&draft(&image(0.5))), sum(&draft(&image(0.25))));
        let call = |number: &str| draft(&json!({"text": format!("call {number}")}));
        assert_eq!(sum(&call("13812345678")), sum(&call("13987654321")));
        assert_eq!(told(&call("now"))["source"], "chat/1");
    }

    #[test]
    fn nothing_of_a_draft_that_is_too_large_is_looked_at() {
        let told = told(&draft(&json!({"source": "x".repeat(5 << 20)})));
        assert_eq!(told, json!({"kind": "knowledge", "digest": null}));
    }
}
