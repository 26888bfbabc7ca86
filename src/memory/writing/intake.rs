//! Drafts in, durable writes out: gate, redaction, what other units have to do with it, room in the
//! inbox. In this order, so that nothing is kept that was not redacted.

use std::sync::Arc;

use jiff::Timestamp;

use super::inbox::Taker;
use super::{Inner, cover, inbox};
use crate::mask;
use crate::memory::collection::Collections;
use crate::memory::fault::{Error, Violation};
use crate::memory::gate::{self, Gated};
use crate::memory::redact::Placeholders;
use crate::memory::rights::Rights;
use crate::memory::seals::Seals;
use crate::memory::store::{Receipt, Stage, Write};
use crate::memory::unit::{Draft, Sent};

/// Bytes of drafts from which on they are looked at on a thread of their own.
const LARGE: usize = 16 << 10;

impl Inner {
    /// Takes drafts, each acknowledged or refused.
    pub(super) async fn take(
        &self,
        rights: &Rights,
        drafts: Vec<Sent>,
    ) -> Vec<Result<Receipt, Error>> {
        let collections = self.parts.collections.load_full();
        let mut answers = Vec::with_capacity(drafts.len());
        let mut writes = Vec::new();
        let (mut full, taker) = (None, self.inbox.taker());
        for passed in self.pass(rights, &collections, drafts).await {
            let taken = match (passed, &full) {
                (Err(wrong), _) => Err(wrong),
                // What came later must not overtake what was refused before it.
                (Ok(_), Some(busy)) => Err(Error::clone(busy)),
                (Ok(gated), None) => self.accept_one((rights, &collections), gated, &taker).await,
            };
            if let Err(busy @ Error::Busy { .. }) = &taken {
                full = Some(busy.clone());
            }
            answers.push(taken.map(|(write, notes)| {
                let receipt = receipt(&write, notes);
                writes.push(write);
                receipt
            }));
        }
        self.keep(writes, &mut answers).await;
        drop(taker);
        count(&answers);
        answers
    }

    /// Whether a draft would pass gate and redaction.
    pub(super) async fn welcomes(&self, rights: &Rights, draft: Draft) -> bool {
        let collections = self.parts.collections.load_full();
        let (rights, seals) = (rights.clone(), Arc::clone(&self.parts.seals));
        let now = self.clock.now();
        let work = move || pass(draft.into(), (&rights, &collections, &seals), now).is_ok();
        tokio::task::spawn_blocking(work).await.unwrap_or(false)
    }

    /// Gate and redaction, which take time where there is much text.
    async fn pass(
        &self,
        rights: &Rights,
        collections: &Arc<Collections>,
        drafts: Vec<Sent>,
    ) -> Vec<Result<Gated, Error>> {
        let times: Vec<Timestamp> = drafts.iter().map(|_| self.clock.now()).collect();
        let texts = drafts.iter().map(|sent| sent.draft.text.len() + sent.draft.value.len() + 512);
        let size: usize = texts.sum();
        let count = drafts.len();
        let (rights, collections) = (rights.clone(), Arc::clone(collections));
        let seals = Arc::clone(&self.parts.seals);
        let work = move || -> Vec<_> {
            let one = |(sent, now)| pass(sent, (&rights, &collections, &seals), now);
            drafts.into_iter().zip(times).map(one).collect()
        };
        if size < LARGE {
            return work();
        }
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
            tracing::error!(%error, "drafts could not be looked at");
            let message = "could not be looked at; send its parts as units of their own";
            (0..count).map(|_| Err(Error::Refused(vec![Violation::new("", message)]))).collect()
        })
    }

    /// What other units have to do with it, and room.
    async fn accept_one(
        &self,
        (rights, collections): (&Rights, &Collections),
        gated: Gated,
        taker: &Taker<'_>,
    ) -> Result<(Write, Vec<String>), Error> {
        let Gated { draft, mut ruling } = gated;
        self.trace(rights, collections, (&draft, &mut ruling)).await?;
        taker.reserve(&draft)?;
        let write = Write {
            receipt: uuid::Uuid::now_v7().to_string(),
            tenant: rights.caller.tenant.clone(),
            caller: rights.caller.name.clone(),
            draft,
            arrived: ruling.arrived,
            ruling: serde_json::to_string(&ruling).unwrap_or_default(),
        };
        Ok((write, ruling.notes))
    }

    /// Makes them durable; where that fails, nothing is acknowledged.
    async fn keep(&self, writes: Vec<Write>, answers: &mut [Result<Receipt, Error>]) {
        if writes.is_empty() {
            return;
        }
        let weights: Vec<u64> = writes.iter().map(inbox::size).collect();
        match self.parts.store.accept(writes).await {
            Ok(()) => {
                self.inbox.report();
                self.arrived.notify_one();
            }
            Err(error) => {
                self.inbox.give_back(&weights);
                for answer in answers.iter_mut().filter(|answer| answer.is_ok()) {
                    *answer = Err(error.clone().into());
                }
            }
        }
    }
}

fn pass(
    Sent { draft, notes }: Sent,
    (rights, collections, seals): (&Rights, &Collections, &Seals),
    now: Timestamp,
) -> Result<Gated, Error> {
    let mut gated = gate::check(draft, (rights, collections), now).map_err(Error::Refused)?;
    if let Some(collection) = collections.get(&gated.draft.collection) {
        let key = match collection.placeholders {
            Placeholders::Fresh => None,
            Placeholders::Keyed => Some(seals.of_tenant(&rights.caller.tenant)?),
        };
        let found =
            cover::cover(&mut gated.draft, collection, key.as_ref()).map_err(Error::Refused)?;
        metrics::counter!("switchboard_memory_redacted_total").increment(found);
    }
    gated.ruling.digest = gate::digest(&gated.draft);
    gated.ruling.notes = notes.iter().map(|note| mask::text(note).into_owned()).collect();
    Ok(gated)
}

fn receipt(write: &Write, remarks: Vec<String>) -> Receipt {
    Receipt {
        id: write.receipt.clone(),
        tenant: write.tenant.clone(),
        caller: write.caller.clone(),
        stage: Stage::Accepted,
        stored: None,
        newer: false,
        remarks,
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
