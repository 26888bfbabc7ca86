//! Works off what waits, batch by batch: each write once, those of one source id one after the other.
//! What cannot be stored again and again is set aside with its reason, and blocks nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future::try_join_all;

use super::lookup::lookup;
use super::prepare::{Prepared, prepare};
use super::settle::settle;
use super::vectors::Made;
use super::{Inner, inbox};
use crate::memory::collection::Collection;
use crate::memory::gate::Ruling;
use crate::memory::store::{Error, Settlement, Stage, Write};
use crate::memory::unit::Draft;

/// Pages, as large as a batch, that are searched for one.
const PAGES: usize = 8;
/// Bytes after which a batch takes no further write.
const BYTES: u64 = 8 << 20;
/// Writes of a batch that waits for vectors, so that the first is stored soon.
const EMBEDDED: usize = 64;
/// Writes that are looked up at once.
const AT_ONCE: usize = 8;
/// Failures after which a write is set aside.
const FAILURES: u32 = 3;
/// Time between two tries when the store does not work: first and longest.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(10);
/// Time after which is looked again at writes whose collection is not there.
const LOOK: Duration = Duration::from_secs(2);

/// Failures of single writes, by receipt.
type Failing = BTreeMap<String, u32>;

/// Works until it is stopped.
pub(super) async fn run(inner: Arc<Inner>) {
    let stop = inner.parts.stop.clone();
    tokio::select! {
        () = stop.cancelled() => {}
        () = work(&inner) => {}
    }
}

async fn work(inner: &Arc<Inner>) {
    let (mut failing, mut pause) = (Failing::new(), PAUSE);
    loop {
        match inner.round(&mut failing).await {
            Ok(0) => {
                pause = PAUSE;
                let arrived = inner.arrived.notified();
                if inner.inbox.waiting() == 0 {
                    arrived.await;
                } else {
                    // Only what cannot be worked on now is left.
                    tokio::time::timeout(LOOK, arrived).await.unwrap_or_default();
                }
            }
            Ok(_) => pause = PAUSE,
            Err(error) => {
                tracing::warn!(%error, "writes to the memory wait: they are tried again");
                metrics::counter!("switchboard_memory_write_retries_total").increment(1);
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST);
            }
        }
    }
}

impl Inner {
    /// One batch; gives the number of writes that came to their end.
    async fn round(self: &Arc<Self>, failing: &mut Failing) -> Result<usize, Error> {
        let withdrawn = self.withdrawn.load(Ordering::Acquire);
        let batch = self.batch().await?;
        if batch.is_empty() {
            // What was erased while it waited is gone without having been worked on.
            self.inbox.recount(self.parts.store.counts(None).await?.waiting);
            return Ok(0);
        }
        let mut prepared = self.prepare(batch, failing).await?;
        let made = self.embed(&prepared).await?;
        let _order = self.order.lock().await;
        let mut ended = 0;
        if self.withdrawn.load(Ordering::Acquire) != withdrawn {
            ended += self.leave_out(&mut prepared).await?;
        }
        match self.settle(&prepared, &made).await {
            Ok(()) => ended += prepared.len(),
            // One that cannot be stored must not keep the others.
            Err(Error::Engine(_) | Error::Dimensions { .. }) => {
                for one in &prepared {
                    let alone = std::slice::from_ref(one);
                    match self.settle(alone, &Made::default()).await {
                        Ok(()) => {
                            failing.remove(&one.write.receipt);
                        }
                        Err(error) => self.blame(&one.write, &error, failing).await?,
                    }
                    ended += 1;
                }
            }
            Err(error) => return Err(error),
        }
        Ok(ended)
    }

    /// Leaves out what was refused since the batch was read, so that nothing is held against it; gives
    /// the number.
    async fn leave_out(&self, prepared: &mut Vec<Prepared>) -> Result<usize, Error> {
        let mut gone = BTreeSet::new();
        for Prepared { write, .. } in prepared.iter() {
            let receipt = self.parts.store.receipt(&write.tenant, &write.receipt).await?;
            if receipt.is_some_and(|receipt| receipt.stage != Stage::Accepted) {
                self.inbox.release([&write.draft]);
                gone.insert(write.receipt.clone());
            }
        }
        prepared.retain(|one| !gone.contains(&one.write.receipt));
        Ok(gone.len())
    }

    /// What is worked on next: of each source id the first that waits.
    async fn batch(&self) -> Result<Vec<(Write, Arc<Collection>)>, Error> {
        let most = self.config.batch.clamp(1, 1024);
        let most = if self.vectors.ready() { most.min(EMBEDDED) } else { most };
        let collections = self.parts.collections.load();
        let (mut batch, mut taken) = (Vec::new(), BTreeSet::new());
        let (mut after, mut bytes, mut pages) = (None::<String>, 0, 0);
        // What cannot be worked on now must not hide what can.
        while pages < PAGES || batch.is_empty() {
            pages += 1;
            let page = self.parts.store.waiting(after.as_deref(), most).await?;
            let full = page.len() == most;
            after = page.last().map(|write| write.receipt.clone());
            for write in page {
                // All of them are taken, also where one is not free.
                let mut free = true;
                for key in keys(&write) {
                    free &= taken.insert(key);
                }
                // Its file may be broken: the write waits until it is mended.
                let collection = collections.get(&write.draft.collection).filter(|_| free);
                if let Some(collection) = collection {
                    bytes += inbox::size(&write);
                    batch.push((write, Arc::clone(collection)));
                }
                if batch.len() >= most || bytes > BYTES {
                    return Ok(batch);
                }
            }
            if !full {
                break;
            }
        }
        Ok(batch)
    }

    /// What the writes say themselves, on a thread of its own.
    async fn prepare(
        &self,
        batch: Vec<(Write, Arc<Collection>)>,
        failing: &mut Failing,
    ) -> Result<Vec<Prepared>, Error> {
        let batch = Arc::new(batch);
        if let Some(prepared) = prepare_all(Arc::clone(&batch)).await {
            return Ok(prepared);
        }
        let mut prepared = Vec::new();
        for (write, collection) in batch.iter() {
            let alone = Arc::new(vec![(write.clone(), Arc::clone(collection))]);
            match prepare_all(alone).await {
                Some(one) => prepared.extend(one),
                None => {
                    let error = Error::Engine("it could not be read".to_owned());
                    self.blame(write, &error, failing).await?;
                }
            }
        }
        Ok(prepared)
    }

    /// Vectors of what will be stored; nothing where there is no embedder, or it is down.
    async fn embed(&self, prepared: &[Prepared]) -> Result<Made, Error> {
        if !self.vectors.ready() {
            return Ok(Made::default());
        }
        let wanted: Vec<Settlement> = self.decide(prepared).await?;
        let with = |name: &str| {
            prepared.iter().any(|one| one.collection.name == name && one.collection.vectors)
        };
        let texts = wanted.iter().filter_map(|settled| {
            let (version, chunks) = settled.version.as_ref()?;
            let wants = version.ended.is_none() && with(&version.draft.collection);
            wants.then_some((settled.receipt.as_str(), chunks.as_slice()))
        });
        Ok(self.vectors.make(texts, self.config.embed_within).await)
    }

    async fn decide(&self, prepared: &[Prepared]) -> Result<Vec<Settlement>, Error> {
        let (store, now) = (self.parts.store.as_ref(), self.clock.now());
        let mut settlements: Vec<Settlement> = Vec::with_capacity(prepared.len());
        for group in prepared.chunks(AT_ONCE) {
            let known = try_join_all(group.iter().map(|one| lookup(store, one, now))).await?;
            for (one, known) in group.iter().zip(known) {
                let settled = settle(one, &known, &mut settlements, now);
                settlements.push(settled);
            }
        }
        Ok(settlements)
    }

    /// Stores a batch, in one transaction, and tells those who wait.
    pub(super) async fn settle(&self, prepared: &[Prepared], made: &Made) -> Result<(), Error> {
        let mut settlements = self.decide(prepared).await?;
        let mut bare = false;
        for (settled, one) in settlements.iter_mut().zip(prepared) {
            if one.collection.vectors && self.vectors.wanted() {
                bare |= made.put(settled);
            }
        }
        let stages: Vec<Stage> = settlements.iter().map(|settled| settled.stage).collect();
        self.parts.store.settle(settlements).await?;
        self.ended(prepared.iter().map(|one| &one.write.draft), &stages);
        if bare {
            self.vectors.wake();
        }
        Ok(())
    }

    /// Counts a failure; one too many, and the write is refused with the reason.
    async fn blame(
        &self,
        write: &Write,
        error: &Error,
        failing: &mut Failing,
    ) -> Result<(), Error> {
        let count = failing.entry(write.receipt.clone()).or_default();
        *count += 1;
        if *count < FAILURES {
            return Err(error.clone());
        }
        tracing::error!(receipt = write.receipt, %error, "a write cannot be stored and is set aside");
        let settled = Settlement {
            receipt: write.receipt.clone(),
            stage: Stage::Refused,
            remarks: vec![format!("cannot be stored: {error}")],
            version: None,
            known: None,
            changes: Vec::new(),
        };
        self.parts.store.settle(vec![settled]).await?;
        failing.remove(&write.receipt);
        self.ended([&write.draft], &[Stage::Refused]);
        Ok(())
    }

    fn ended<'d>(&self, drafts: impl IntoIterator<Item = &'d Draft>, stages: &[Stage]) {
        self.inbox.release(drafts);
        for stage in stages {
            let stage = crate::memory::gate::word(stage);
            metrics::counter!("switchboard_memory_settled_total", "stage" => stage).increment(1);
        }
        self.settled.send_modify(|count| *count += 1);
    }
}

/// `None` where it panicked.
async fn prepare_all(batch: Arc<Vec<(Write, Arc<Collection>)>>) -> Option<Vec<Prepared>> {
    let work = move || {
        let one = |(write, collection): &(Write, Arc<Collection>)| {
            prepare(write.clone(), Arc::clone(collection))
        };
        batch.iter().map(one).collect::<Option<Vec<_>>>()
    };
    tokio::task::spawn_blocking(work).await.ok().flatten()
}

/// What two writes of one batch must not have in common: the second has to see what the first did.
fn keys(write: &Write) -> Vec<String> {
    let Write { tenant, draft, .. } = write;
    let place = format!("{tenant}\n{}\n{}", draft.collection, draft.source);
    let mut keys = vec![format!("{place}\n{}", draft.source_id)];
    if draft.group.is_empty() {
        let ruling = serde_json::from_str::<Ruling>(&write.ruling);
        let digest = ruling.map(|ruling| ruling.digest).unwrap_or_default();
        keys.push(format!("{place}\n={digest}"));
    }
    keys.extend(draft.supersedes.iter().map(|unit| format!("{tenant}\n>{unit}")));
    keys
}
