//! Works off what waits, batch by batch: each write once, those of one source id one after the other.
//! What cannot be stored again and again is set aside with its reason, and blocks nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::lookup::{lookup, own};
use super::prepare::{Prepared, prepare};
use super::settle::{Beside, is_news, settle};
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
/// Threads that prepare a batch, at most, and writes that are worth another one.
const THREADS: usize = 4;
const SHARE: usize = 32;
/// Failures after which a write is set aside.
const FAILURES: u32 = 3;
/// Time between two tries when the store does not work: first and longest.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(10);
/// Time after which is looked again at writes whose collection is not there, and, where others work on
/// the same store, at what they left.
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
    let (mut failing, mut pause, mut looked) = (Failing::new(), PAUSE, Instant::now());
    let shared = inner.parts.store.is_shared();
    loop {
        match inner.round(&mut failing).await {
            Ok(0) => {
                pause = PAUSE;
                let arrived = inner.arrived.notified();
                if inner.inbox.waiting() == 0 && !shared {
                    arrived.await;
                } else {
                    // Only what cannot be worked on now is left, or what another daemon may leave.
                    tokio::time::timeout(LOOK, arrived).await.unwrap_or_default();
                }
            }
            Ok(_) => {
                pause = PAUSE;
                if shared && looked.elapsed() >= LOOK {
                    looked = Instant::now();
                    inner.recount().await.unwrap_or_default();
                }
            }
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
            self.recount().await?;
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
            Ok(()) => Ok(ended + prepared.len()),
            // One that cannot be stored must not keep the others.
            Err(error) if is_of_one(&error) => {
                Ok(ended + self.one_by_one(&prepared, failing).await?)
            }
            Err(error) => Err(error),
        }
    }

    /// Each write of a batch alone; an error where one is to be tried again. They are of different
    /// units, so that none has to wait for another.
    async fn one_by_one(
        &self,
        prepared: &[Arc<Prepared>],
        failing: &mut Failing,
    ) -> Result<usize, Error> {
        let mut waits = None;
        for one in prepared {
            match self.settle(std::slice::from_ref(one), &Made::default()).await {
                Ok(()) => {
                    failing.remove(&one.write.receipt);
                }
                Err(error) if is_of_one(&error) => {
                    if !self.blame(&one.write, &error, failing).await? {
                        waits = Some(error);
                    }
                }
                // No write's fault, such as a full disk.
                Err(error) => return Err(error),
            }
        }
        waits.map_or(Ok(prepared.len()), Err)
    }

    /// Leaves out what was refused since the batch was read, so that nothing is held against it; gives
    /// the number.
    async fn leave_out(&self, prepared: &mut Vec<Arc<Prepared>>) -> Result<usize, Error> {
        let mut gone = BTreeSet::new();
        for write in prepared.iter().map(|one| &one.write) {
            let receipt = self.parts.store.receipt(&write.tenant, &write.receipt).await?;
            if receipt.is_some_and(|receipt| receipt.stage != Stage::Accepted) {
                self.inbox.release([&write.draft]);
                gone.insert(write.receipt.clone());
            }
        }
        prepared.retain(|one| !gone.contains(&one.write.receipt));
        Ok(gone.len())
    }

    /// Counts what waits by what the store says: what was erased while it waited is gone without having
    /// been worked on, and so is what another daemon has settled.
    async fn recount(&self) -> Result<(), Error> {
        let store = &self.parts.store;
        if store.is_shared() {
            self.inbox.follow(store.backlog().await?);
        } else if let Some(quiet) = self.inbox.quiet() {
            self.inbox.recount(quiet, store.backlog().await?.writes);
        }
        Ok(())
    }

    /// What is worked on next: of each source id the first that waits.
    async fn batch(&self) -> Result<Vec<(Arc<Write>, Arc<Collection>)>, Error> {
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
                    batch.push((Arc::new(write), Arc::clone(collection)));
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
        batch: Vec<(Arc<Write>, Arc<Collection>)>,
        failing: &mut Failing,
    ) -> Result<Vec<Arc<Prepared>>, Error> {
        let batch = Arc::new(batch);
        if let Some(prepared) = prepare_all(Arc::clone(&batch)).await {
            return Ok(prepared);
        }
        let mut prepared = Vec::new();
        for (write, collection) in batch.iter() {
            let alone = Arc::new(vec![(Arc::clone(write), Arc::clone(collection))]);
            match prepare_all(alone).await {
                Some(one) => prepared.extend(one),
                None => {
                    let error = Error::Engine("it could not be read".to_owned());
                    if !self.blame(write, &error, failing).await? {
                        return Err(error);
                    }
                }
            }
        }
        Ok(prepared)
    }

    /// Vectors of what will be stored; nothing where there is no embedder, or it is down.
    async fn embed(&self, prepared: &[Arc<Prepared>]) -> Result<Made, Error> {
        if !self.vectors.ready() {
            return Ok(Made::default());
        }
        let now = self.clock.now();
        let known = own(self.parts.store.as_ref(), prepared).await?;
        let news = prepared.iter().zip(&known).filter(|(one, known)| is_news(one, known, now));
        let wanted = news.map(|(one, _)| one).filter(|one| one.collection.vectors);
        let texts = wanted.map(|one| (one.write.receipt.as_str(), one.chunks.as_slice()));
        Ok(self.vectors.make(texts, self.config.embed_within).await)
    }

    async fn decide(&self, prepared: &[Arc<Prepared>]) -> Result<Vec<Settlement>, Error> {
        let (store, now) = (self.parts.store.as_ref(), self.clock.now());
        let known = lookup(store, prepared, now).await?;
        let batch = prepared.to_vec();
        // Texts are held against each other, which takes its time.
        let work = move || {
            let mut beside = Beside::default();
            for (one, known) in batch.iter().zip(&known) {
                let settled = settle(one, known, &mut beside, now);
                beside.add(one, settled);
            }
            beside.settlements
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|lost| Error::Engine(format!("cut off: {lost}")))
    }

    /// Stores a batch, in one transaction, and tells those who wait.
    pub(super) async fn settle(
        &self,
        prepared: &[Arc<Prepared>],
        made: &Made,
    ) -> Result<(), Error> {
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

    /// Counts a failure; one too many, and the write is refused with the reason. Whether it is.
    async fn blame(
        &self,
        write: &Write,
        error: &Error,
        failing: &mut Failing,
    ) -> Result<bool, Error> {
        let count = failing.entry(write.receipt.clone()).or_default();
        *count += 1;
        // What is wrong with the write itself stays wrong.
        let lasting = matches!(error, Error::Dimensions { .. } | Error::Models { .. });
        if !lasting && *count < FAILURES {
            return Ok(false);
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
        Ok(true)
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

/// Whether an error can be the fault of one write: the others go on without it. The store's own keep all.
const fn is_of_one(error: &Error) -> bool {
    match error {
        Error::Engine(_) | Error::Dimensions { .. } | Error::Models { .. } => true,
        Error::Open { .. }
        | Error::InUse { .. }
        | Error::Damaged { .. }
        | Error::Full(_)
        | Error::Down(_)
        | Error::Busy(_)
        | Error::Closed => false,
    }
}

/// On as many threads as there are cores, since most of what a write takes is here; `None` where it
/// panicked.
async fn prepare_all(batch: Arc<Vec<(Arc<Write>, Arc<Collection>)>>) -> Option<Vec<Arc<Prepared>>> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
    let share = batch.len().div_ceil(threads).max(SHARE);
    let part = |from: usize| {
        let batch = Arc::clone(&batch);
        let one = |(write, collection): &(Arc<Write>, Arc<Collection>)| {
            prepare(Arc::clone(write), Arc::clone(collection)).map(Arc::new)
        };
        tokio::task::spawn_blocking(move || {
            batch.iter().skip(from).take(share).map(one).collect::<Option<Vec<_>>>()
        })
    };
    let parts: Vec<_> = (0..batch.len()).step_by(share).map(part).collect();
    let mut prepared = Vec::with_capacity(batch.len());
    for part in parts {
        prepared.extend(part.await.ok().flatten()?);
    }
    Some(prepared)
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
