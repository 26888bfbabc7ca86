//! Vectors of chunks: with the write where the embedder answers in time, else later, in the background,
//! with growing pauses. An embedder that is down stops nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Inner;
use crate::memory::coverage::Coverage;
use crate::memory::embed::{Embedder, Error, Role};
use crate::memory::store::{Bare, Chunk, Settlement};

/// Texts that are given to the embedder at a time.
const TEXTS: usize = 64;
/// Time between two tries while the embedder is down: first and longest.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// Time after which is looked for chunks without a vector though nobody told of any.
const LOOK: Duration = Duration::from_secs(600);

/// Versions that are looked at for one that has vectors, before the model is read at the start.
const HELD: usize = 64;
/// Chunks without a vector are counted so seldom at most, and ten times as long as counting takes.
const COUNTED: Duration = Duration::from_secs(2);
/// Texts that are refused one after the other before it is the endpoint, and not the texts.
const ALONE: usize = 8;
/// Chunks that are set aside, at most.
const ASIDE: usize = 1024;

/// Chunks that the embedder refuses, each by itself.
type Aside = BTreeSet<(i64, u32)>;

/// Why there are no vectors.
struct Miss {
    reason: String,
    /// The same texts may have some later.
    passing: bool,
}

impl From<Error> for Miss {
    fn from(error: Error) -> Self {
        Self { reason: error.to_string(), passing: error.is_passing() }
    }
}

impl From<crate::memory::StoreError> for Miss {
    fn from(error: crate::memory::StoreError) -> Self {
        Self { reason: error.to_string(), passing: true }
    }
}

/// The embedder, and whether it answers.
#[derive(Debug)]
pub(super) struct Vectors {
    embedder: Option<Arc<dyn Embedder>>,
    pub(super) coverage: Arc<Coverage>,
    down: AtomicBool,
    bare: Notify,
}

/// Vectors of a batch, by receipt and place in the unit.
#[derive(Debug, Default)]
pub(super) struct Made {
    model: String,
    vectors: BTreeMap<(String, u32), Vec<f32>>,
    /// Why there are none.
    failed: String,
}

impl Vectors {
    pub(super) fn new(embedder: Option<Arc<dyn Embedder>>) -> Self {
        let coverage = Arc::default();
        Self { embedder, coverage, down: AtomicBool::new(false), bare: Notify::new() }
    }

    /// Whether there are to be vectors.
    pub(super) const fn wanted(&self) -> bool {
        self.embedder.is_some()
    }

    /// Whether they can be made now.
    pub(super) fn ready(&self) -> bool {
        self.wanted() && !self.down.load(Ordering::Acquire)
    }

    /// Tells that chunks without a vector were stored.
    pub(super) fn wake(&self) {
        self.bare.notify_one();
    }

    /// Makes the vectors of a batch, in time or not at all.
    pub(super) async fn make<'s>(
        &self,
        units: impl Iterator<Item = (&'s str, &'s [Chunk])>,
        within: Duration,
    ) -> Made {
        let Some(embedder) = &self.embedder else { return Made::default() };
        let (mut places, mut texts) = (Vec::new(), Vec::new());
        for (receipt, chunks) in units {
            for chunk in chunks {
                places.push((receipt.to_owned(), chunk.ordinal));
                texts.push(chunk.text.clone());
            }
        }
        let work = embed(embedder.as_ref(), &texts);
        match tokio::time::timeout(within, work).await {
            Ok(Ok(vectors)) => Made {
                model: embedder.model().name.clone(),
                vectors: places.into_iter().zip(vectors).collect(),
                failed: String::new(),
            },
            Ok(Err(miss)) => self.fail(miss.reason),
            Err(_late) => self.fail(format!("it did not answer within {} ms", within.as_millis())),
        }
    }

    fn fail(&self, failed: String) -> Made {
        tracing::warn!(reason = failed, "the embedder fails: units are stored without vectors");
        self.down.store(true, Ordering::Release);
        self.coverage.blame(&failed);
        Made { failed, ..Made::default() }
    }
}

impl Made {
    /// Puts its vectors into a settlement; whether one is missing, which a remark tells.
    pub(super) fn put(&self, settled: &mut Settlement) -> bool {
        let Some((version, chunks)) = &mut settled.version else { return false };
        if version.ended.is_some() {
            return false;
        }
        let mut missing = false;
        for chunk in chunks {
            let vector = self.vectors.get(&(settled.receipt.clone(), chunk.ordinal));
            chunk.vector = vector.map(|vector| (self.model.clone(), vector.clone()));
            missing |= chunk.vector.is_none();
        }
        if missing {
            let why = if self.failed.is_empty() { "they follow" } else { &self.failed };
            settled.remarks.push(format!("without vectors so far: {why}"));
        }
        missing
    }
}

async fn embed(embedder: &dyn Embedder, texts: &[String]) -> Result<Vec<Vec<f32>>, Miss> {
    let mut all = Vec::with_capacity(texts.len());
    for batch in texts.chunks(TEXTS) {
        let vectors = embedder.embed(Role::Passage, batch).await?;
        let dimensions = embedder.model().dimensions;
        let right = |vector: &Vec<f32>| {
            vector.len() == dimensions && vector.iter().all(|number| number.is_finite())
        };
        if vectors.len() != batch.len() || !vectors.iter().all(right) {
            let reason =
                format!("its answer is not one vector of {dimensions} numbers for each text");
            return Err(Miss { reason, passing: false });
        }
        all.extend(vectors);
    }
    Ok(all)
}

/// As [`embed`]; where texts are refused together, each by itself.
async fn try_embed(
    embedder: &dyn Embedder,
    texts: &[String],
) -> Result<Vec<Option<Vec<f32>>>, Miss> {
    match embed(embedder, texts).await {
        Ok(vectors) => Ok(vectors.into_iter().map(Some).collect()),
        Err(miss) if miss.passing => Err(miss),
        Err(_refused) => embed_each(embedder, texts).await,
    }
}

/// Each text by itself, where they are refused together: one that nobody can embed does not keep the
/// others. `None` for those that are refused alone.
async fn embed_each(
    embedder: &dyn Embedder,
    texts: &[String],
) -> Result<Vec<Option<Vec<f32>>>, Miss> {
    let (mut all, mut last) = (Vec::with_capacity(texts.len()), None);
    for text in texts {
        match embed(embedder, std::slice::from_ref(text)).await {
            Ok(mut vectors) => all.push(vectors.pop()),
            Err(miss) if miss.passing => return Err(miss),
            Err(miss) => {
                tracing::debug!(reason = miss.reason, "the embedder refuses a chunk by itself");
                all.push(None);
                last = Some(miss);
            }
        }
        if all.len() == ALONE && all.iter().all(Option::is_none) {
            break;
        }
    }
    match last {
        // It is not the texts.
        Some(miss) if all.iter().all(Option::is_none) => Err(miss),
        _ => Ok(all),
    }
}

/// Gives vectors to chunks without one, until it is stopped.
pub(super) async fn run(inner: Arc<Inner>) {
    let Some(embedder) = inner.vectors.embedder.clone() else { return };
    let stop = inner.parts.stop.clone();
    tokio::select! {
        () = stop.cancelled() => {}
        () = fill(&inner, embedder.as_ref()) => {}
    }
}

async fn fill(inner: &Inner, embedder: &dyn Embedder) {
    let model = embedder.model();
    if inner.is_held().await {
        // The first question should not wait for it.
        embedder.warm();
    }
    let due = inner.count_bare(&model.name).await;
    // One that could not be opened has no vectors of its own, and takes nobody's place.
    let mut filling =
        Filling { due, pause: PAUSE, tidy: model.dimensions == 0, aside: Aside::new() };
    loop {
        match inner.fill(embedder, &mut filling.aside).await {
            Ok(0) => filling.rest(inner, &model.name).await,
            Ok(_) => {
                filling.pause = PAUSE;
                if filling.due <= Instant::now() {
                    filling.due = inner.count_bare(&model.name).await;
                }
            }
            Err(miss) => filling.wait(inner, &model.name, &miss.reason).await,
        }
    }
}

/// How far the work in the background is.
struct Filling {
    /// When to count again what is missing.
    due: Instant,
    pause: Duration,
    /// Whether vectors of other models are gone.
    tidy: bool,
    aside: Aside,
}

impl Filling {
    /// Every chunk has a vector: waits until there are others.
    async fn rest(&mut self, inner: &Inner, model: &str) {
        self.due = inner.count_bare(model).await;
        // Those of the model before are of no use any more.
        if !self.tidy
            && self.aside.is_empty()
            && let Ok(removed) = inner.parts.store.forget_models(model).await
        {
            tracing::info!(removed, "vectors of other models are removed");
            self.tidy = true;
        }
        let told = tokio::time::timeout(LOOK, inner.vectors.bare.notified()).await;
        if told.is_err() {
            self.aside.clear();
        }
    }

    /// The embedder is down: waits, longer each time.
    async fn wait(&mut self, inner: &Inner, model: &str, reason: &str) {
        tracing::warn!(reason, "chunks wait for their vectors");
        inner.vectors.coverage.blame(reason);
        self.due = inner.count_bare(model).await;
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST);
    }
}

impl Inner {
    /// One batch of chunks; gives their number.
    async fn fill(&self, embedder: &dyn Embedder, aside: &mut Aside) -> Result<usize, Miss> {
        let (store, model) = (&self.parts.store, &embedder.model().name);
        if aside.len() > ASIDE {
            aside.clear();
        }
        let mut bare: Vec<Bare> = store.bare(model, &self.without(), TEXTS + aside.len()).await?;
        bare.retain(|one| !aside.contains(&(one.seq, one.ordinal)));
        bare.truncate(TEXTS);
        if bare.is_empty() {
            return Ok(0);
        }
        let texts: Vec<String> = bare.iter().map(|one| one.text.clone()).collect();
        let made = try_embed(embedder, &texts).await;
        self.vectors.down.store(made.is_err(), Ordering::Release);
        let made = made?;
        self.vectors.coverage.blame("");
        let mut vectors = Vec::with_capacity(made.len());
        for (one, vector) in bare.iter().zip(made) {
            match vector {
                Some(vector) => vectors.push((one.seq, one.ordinal, vector)),
                None => drop(aside.insert((one.seq, one.ordinal))),
            }
        }
        store.embed(model, &vectors).await?;
        let count = u64::try_from(vectors.len()).unwrap_or_default();
        metrics::counter!("switchboard_memory_filled_vectors_total").increment(count);
        Ok(bare.len())
    }

    /// Collections whose units get no vectors.
    fn without(&self) -> Vec<String> {
        let collections = self.parts.collections.load();
        collections.iter().filter(|one| !one.vectors).map(|one| one.name.clone()).collect()
    }

    /// Whether there is a unit of a collection with vectors, as far as the first ones tell.
    async fn is_held(&self) -> bool {
        let (first, without) = (self.parts.store.walk(None, &[], 0, HELD).await, self.without());
        first.unwrap_or_default().iter().any(|one| !without.contains(&one.draft.collection))
    }

    /// Counts what is missing; gives when to count again.
    async fn count_bare(&self, model: &str) -> Instant {
        let started = Instant::now();
        match self.parts.store.count_bare(model, &self.without()).await {
            Ok(missing) => self.vectors.coverage.set(missing),
            Err(error) => tracing::debug!(%error, "missing vectors were not counted"),
        }
        Instant::now() + COUNTED.max(started.elapsed() * 10)
    }
}
