//! The way into the memory. Drafts in, receipts out at once, durable; what follows (screen, conflict
//! check, chunks, vectors, store) is worked off behind, in the order of arrival for each source id, and
//! goes on where it stopped after a kill. Whether a caller may write at all was decided before.

mod amend;
mod clock;
mod cover;
mod forget;
mod inbox;
mod intake;
mod lineage;
mod lookup;
mod prepare;
mod round;
mod settle;
#[cfg(test)]
mod tests;
mod vectors;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::collection::Collections;
use super::coverage::Coverage;
use super::embed::Embedder;
use super::fault::Error;
use super::rights::Rights;
use super::seals::Seals;
use super::store::{Receipt, Stage, Store};
use super::unit::{Draft, Sent};
use super::upkeep;
use crate::config::duration;
use clock::Clock;
use inbox::Inbox;
use vectors::Vectors;

pub(super) use inbox::weigh;
pub(super) use settle::{active, end, nothing};

/// Between two looks at a write that another daemon may work on: first and longest.
const ASK: Duration = Duration::from_millis(25);
const RARELY: Duration = Duration::from_millis(400);

/// How much may wait, and how it is worked off.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Acknowledged writes that may wait to be worked on; more are refused with a delay; default
    /// 100000.
    pub waiting: u64,
    /// Bytes of the writes that may wait; default 268435456 (256 MiB).
    pub waiting_bytes: u64,
    /// Writes that are worked on together, 1 to 1024; default 256.
    pub batch: usize,
    /// Longest that a caller can wait for its write to be stored; default 30 s.
    #[serde(with = "duration")]
    pub longest_wait: Duration,
    /// Time for the vectors of one batch, after which its units are stored without; default 30 s.
    #[serde(with = "duration")]
    pub embed_within: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            waiting: 100_000,
            waiting_bytes: 256 << 20,
            batch: 256,
            longest_wait: Duration::from_secs(30),
            embed_within: Duration::from_secs(30),
        }
    }
}

/// What the write path works with.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Where units are kept.
    pub store: Arc<dyn Store>,
    /// Makes vectors; `None`: units are kept without.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The collections in force; swapped when the policies folder changed.
    pub collections: Arc<ArcSwap<Collections>>,
    /// Keys of placeholders that are the same in every unit.
    pub seals: Arc<Seals>,
    /// When upkeep runs, and on what.
    pub upkeep: upkeep::Config,
    /// Where the work in the background runs.
    pub tasks: TaskTracker,
    /// Ends it; what was acknowledged waits for the next start then.
    pub stop: CancellationToken,
}

/// The write path. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Writing {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    parts: Parts,
    config: Config,
    clock: Clock,
    inbox: Inbox,
    vectors: Vectors,
    /// Something was accepted.
    arrived: Notify,
    /// Counts settled batches, for those who wait for a receipt.
    settled: watch::Sender<u64>,
    /// Held while what is known of units is read and changed by it.
    order: Mutex<()>,
    /// Counts how often writes that wait were refused: a batch that was read before may hold them.
    withdrawn: AtomicU64,
}

impl Writing {
    /// Begins to work off what waits, and to take more.
    pub async fn start(parts: Parts, config: Config) -> Result<Self, Error> {
        let (inbox, latest) = Inbox::open(&config, parts.store.as_ref()).await?;
        let (tasks, vectors) = (parts.tasks.clone(), Vectors::new(parts.embedder.clone()));
        let inner = Arc::new(Inner {
            parts,
            config,
            clock: Clock::after(latest),
            inbox,
            vectors,
            arrived: Notify::new(),
            settled: watch::Sender::new(0),
            order: Mutex::new(()),
            withdrawn: AtomicU64::new(0),
        });
        tasks.spawn(round::run(Arc::clone(&inner)));
        tasks.spawn(vectors::run(Arc::clone(&inner)));
        let writing = Self { inner };
        tasks.spawn(upkeep::run(writing.clone()));
        Ok(writing)
    }

    /// Takes drafts of one caller, in this order; each is acknowledged, and then survives a kill, or
    /// refused on its own. With `wait` the receipts tell how far each came within that time.
    pub async fn remember<S: Into<Sent>>(
        &self,
        rights: &Rights,
        drafts: Vec<S>,
        wait: Option<Duration>,
    ) -> Vec<Result<Receipt, Error>> {
        let sent = drafts.into_iter().map(Into::into).collect();
        let mut answers = self.inner.take(rights, sent).await;
        if let Some(wait) = wait {
            let until = tokio::time::Instant::now() + wait.min(self.inner.config.longest_wait);
            for receipt in answers.iter_mut().filter_map(|answer| answer.as_mut().ok()) {
                // The write is acknowledged in any case.
                if let Ok(Some(last)) = self.inner.watch(receipt, until).await {
                    *receipt = last;
                }
            }
        }
        answers
    }

    /// Whether a draft of the caller would pass gate and redaction.
    pub(super) async fn welcomes(&self, rights: &Rights, draft: Draft) -> bool {
        self.inner.welcomes(rights, draft).await
    }

    /// What became of a write of this caller, or, for a reviewer, of anybody's in the tenant; waits
    /// until it is worked on, at most so long.
    pub async fn receipt(
        &self,
        rights: &Rights,
        id: &str,
        wait: Option<Duration>,
    ) -> Result<Receipt, Error> {
        let unknown = || Error::unknown("receipt", id);
        let tenant = &rights.caller.tenant;
        let receipt = self.store().receipt(tenant, id).await?.ok_or_else(unknown)?;
        if receipt.caller != rights.caller.name && rights.review.is_empty() {
            return Err(unknown());
        }
        let Some(wait) = wait else { return Ok(receipt) };
        let until = tokio::time::Instant::now() + wait.min(self.inner.config.longest_wait);
        Ok(self.inner.watch(&receipt, until).await?.unwrap_or(receipt))
    }

    /// What became of writes of this caller, of those that are known; waits until all are worked on, at
    /// most so long.
    pub async fn receipts(
        &self,
        rights: &Rights,
        ids: &[String],
        wait: Option<Duration>,
    ) -> Result<Vec<Receipt>, Error> {
        let until = tokio::time::Instant::now() + wait.unwrap_or_default();
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            let left = until.saturating_duration_since(tokio::time::Instant::now());
            let left = Some(left).filter(|left| !left.is_zero());
            match self.receipt(rights, id, left).await {
                Ok(receipt) => found.push(receipt),
                Err(Error::Unknown { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// How many chunks have no vector of the model in use.
    pub(super) fn coverage(&self) -> Arc<Coverage> {
        Arc::clone(&self.inner.vectors.coverage)
    }

    /// Waits until nothing waits to be worked on, for tests and tools that write much.
    pub async fn settled(&self) {
        let mut changes = self.inner.settled.subscribe();
        while self.inner.inbox.waiting() > 0 {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    pub(super) fn store(&self) -> &dyn Store {
        self.inner.parts.store.as_ref()
    }

    pub(super) fn collections(&self) -> Arc<Collections> {
        self.inner.parts.collections.load_full()
    }

    pub(super) fn parts(&self) -> &Parts {
        &self.inner.parts
    }

    /// Nothing else changes units while this is held.
    pub(super) async fn order(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.inner.order.lock().await
    }

    /// Lets a batch that was read already be read again. The order must be held.
    fn withdrawing(&self) {
        self.inner.withdrawn.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn now(&self) -> jiff::Timestamp {
        self.inner.clock.now()
    }
}

impl Inner {
    /// The receipt of a write once it has come to its last stage, or how far it is at `until`. Where
    /// another daemon may work on it, nobody tells this one: it asks.
    async fn watch(
        &self,
        receipt: &Receipt,
        until: tokio::time::Instant,
    ) -> Result<Option<Receipt>, Error> {
        let shared = self.parts.store.is_shared();
        let (mut changes, mut pause) = (self.settled.subscribe(), ASK);
        loop {
            changes.borrow_and_update();
            let now = self.parts.store.receipt(&receipt.tenant, &receipt.id).await?;
            let late = tokio::time::Instant::now() >= until;
            if late || now.as_ref().is_none_or(|now| now.stage != Stage::Accepted) {
                return Ok(now);
            }
            let mut next = until;
            if shared {
                next = next.min(tokio::time::Instant::now() + pause);
                pause = (pause * 2).min(RARELY);
            }
            let changed = tokio::time::timeout_at(next, changes.changed()).await;
            if matches!(changed, Ok(Err(_))) {
                return Ok(now);
            }
        }
    }
}
