//! Drafts in, durable writes out: gate, redaction, what other units have to do with it, room in the
//! inbox. In this order, so that nothing is kept that was not redacted.

use std::sync::Arc;

use jiff::Timestamp;

use super::inbox::Taker;
use super::{Inner, cover};
use crate::memory::collection::Collections;
use crate::memory::fault::{Error, Violation};
use crate::memory::gate::{self, Gated};
use crate::memory::rights::Rights;
use crate::memory::store::{Receipt, Stage, Write};
use crate::memory::unit::Draft;

/// Bytes of drafts from which on they are looked at on a thread of their own.
const LARGE: usize = 16 << 10;

impl Inner {
    /// Takes drafts, each acknowledged or refused.
    pub(super) async fn take(
        &self,
        rights: &Rights,
        drafts: Vec<Draft>,
    ) -> Vec<Result<Receipt, Error>> {
        let collections = self.parts.collections.load_full();
        let mut answers = Vec::with_capacity(drafts.len());
        let mut writes = Vec::new();
        let (mut full, taker) = (None, self.inbox.taker());
        for passed in self.pass(rights, &collections, drafts).await {
            let taken = match (passed, &full) {
                (Err(wrong), _) => Err(Error::Refused(wrong)),
                // What came later must not overtake what was refused before it.
                (Ok(_), Some(busy)) => Err(Error::clone(busy)),
                (Ok(gated), None) => self.accept_one((rights, &collections), gated, &taker).await,
            };
            if let Err(busy @ Error::Busy { .. }) = &taken {
                full = Some(busy.clone());
            }
            answers.push(taken.map(|write| {
                let receipt = receipt(&write);
                writes.push(write);
                receipt
            }));
        }
        self.keep(writes, &mut answers).await;
        drop(taker);
        count(&answers);
        answers
    }

    /// Gate and redaction, which take time where there is much text.
    async fn pass(
        &self,
        rights: &Rights,
        collections: &Arc<Collections>,
        drafts: Vec<Draft>,
    ) -> Vec<Result<Gated, Vec<Violation>>> {
        let times: Vec<Timestamp> = drafts.iter().map(|_| self.clock.now()).collect();
        let size: usize =
            drafts.iter().map(|draft| draft.text.len() + draft.value.len() + 512).sum();
        let count = drafts.len();
        let (rights, collections) = (rights.clone(), Arc::clone(collections));
        let work = move || -> Vec<_> {
            let one = |(draft, now)| pass(draft, (&rights, &collections), now);
            drafts.into_iter().zip(times).map(one).collect()
        };
        if size < LARGE {
            return work();
        }
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
            tracing::error!(%error, "drafts could not be looked at");
            let message = "could not be looked at; send its parts as units of their own";
            (0..count).map(|_| Err(vec![Violation::new("", message)])).collect()
        })
    }

    /// What other units have to do with it, and room.
    async fn accept_one(
        &self,
        (rights, collections): (&Rights, &Collections),
        gated: Gated,
        taker: &Taker<'_>,
    ) -> Result<Write, Error> {
        let Gated { draft, mut ruling } = gated;
        self.trace(rights, collections, (&draft, &mut ruling)).await?;
        taker.reserve(&draft)?;
        Ok(Write {
            receipt: uuid::Uuid::now_v7().to_string(),
            tenant: rights.caller.tenant.clone(),
            caller: rights.caller.name.clone(),
            draft,
            arrived: ruling.arrived,
            ruling: serde_json::to_string(&ruling).unwrap_or_default(),
        })
    }

    /// Makes them durable; where that fails, nothing is acknowledged.
    async fn keep(&self, writes: Vec<Write>, answers: &mut [Result<Receipt, Error>]) {
        if writes.is_empty() {
            return;
        }
        let drafts: Vec<Draft> = writes.iter().map(|write| write.draft.clone()).collect();
        match self.parts.store.accept(writes).await {
            Ok(()) => {
                self.inbox.report();
                self.arrived.notify_one();
            }
            Err(error) => {
                self.inbox.release(&drafts);
                for answer in answers.iter_mut().filter(|answer| answer.is_ok()) {
                    *answer = Err(error.clone().into());
                }
            }
        }
    }
}

fn pass(
    draft: Draft,
    (rights, collections): (&Rights, &Collections),
    now: Timestamp,
) -> Result<Gated, Vec<Violation>> {
    let mut gated = gate::check(draft, (rights, collections), now)?;
    if let Some(collection) = collections.get(&gated.draft.collection) {
        let found = cover::cover(&mut gated.draft, collection)?;
        metrics::counter!("switchboard_memory_redacted_total").increment(found);
    }
    gated.ruling.digest = gate::digest(&gated.draft);
    Ok(gated)
}

fn receipt(write: &Write) -> Receipt {
    Receipt {
        id: write.receipt.clone(),
        tenant: write.tenant.clone(),
        caller: write.caller.clone(),
        stage: Stage::Accepted,
        stored: None,
        remarks: Vec::new(),
        arrived: write.arrived,
        changed: write.arrived,
    }
}

fn count(answers: &[Result<Receipt, Error>]) {
    for answer in answers {
        let outcome = match answer {
            Ok(_) => "accepted",
            Err(Error::Busy { .. }) => continue,
            Err(Error::Known { .. }) => "known",
            Err(Error::Store(_)) => "failed",
            Err(_) => "refused",
        };
        metrics::counter!("switchboard_memory_writes_total", "outcome" => outcome).increment(1);
    }
}
