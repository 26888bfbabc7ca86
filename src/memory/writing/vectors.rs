//! Vectors of chunks: with the write where the embedder answers in time, else later, in the background,
//! with growing pauses. An embedder that is down stops nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::{Inner, nothing};
use crate::memory::coverage::Coverage;
use crate::memory::embed::{Embedder, Error, Role};
use crate::memory::store::{Bare, Change, Chunk, Error as StoreError, Settlement};

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
/// A text that every model takes, to tell a text that is refused from an embedder that refuses all.
const PLAIN: &str = "memory";

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

impl From<StoreError> for Miss {
    fn from(error: StoreError) -> Self {
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

/// As [`embed`]; where texts are refused together, each by itself, so that one that nobody can embed does
/// not keep the others: with the reason for each that is refused alone.
async fn try_embed(
    embedder: &dyn Embedder,
    texts: &[String],
) -> Result<Vec<Result<Vec<f32>, String>>, Miss> {
    match embed(embedder, texts).await {
        Ok(vectors) => return Ok(vectors.into_iter().map(Ok).collect()),
        Err(miss) if miss.passing => return Err(miss),
        Err(_one_of_them) => {}
    }
    // Where it refuses this one too, what is wrong is not the texts.
    embed(embedder, &[PLAIN.to_owned()]).await?;
    let mut all = Vec::with_capacity(texts.len());
    for text in texts {
        match embed(embedder, std::slice::from_ref(text)).await {
            Ok(vectors) => all.extend(vectors.into_iter().map(Ok)),
            Err(miss) if miss.passing => return Err(miss),
            Err(miss) => all.push(Err(miss.reason)),
        }
    }
    Ok(all)
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
    let mut filling = Filling { due, pause: PAUSE, tidy: model.dimensions == 0 };
    loop {
        match inner.fill(embedder).await {
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
}

impl Filling {
    /// Every chunk has a vector: waits until there are others.
    async fn rest(&mut self, inner: &Inner, model: &str) {
        self.due = inner.count_bare(model).await;
        // Those of the model before are of no use any more.
        if !self.tidy
            && let Ok(removed) = inner.parts.store.forget_models(model).await
        {
            tracing::info!(removed, "vectors of other models are removed");
            self.tidy = true;
        }
        tokio::time::timeout(LOOK, inner.vectors.bare.notified()).await.unwrap_or_default();
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
    async fn fill(&self, embedder: &dyn Embedder) -> Result<usize, Miss> {
        let (store, model) = (&self.parts.store, &embedder.model().name);
        let bare: Vec<Bare> = store.bare(model, &self.without(), TEXTS).await?;
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
                Ok(vector) => vectors.push((one.seq, one.ordinal, vector)),
                Err(reason) => self.pass_over(model, one, &reason).await?,
            }
        }
        store.embed(model, &vectors).await?;
        let count = u64::try_from(vectors.len()).unwrap_or_default();
        metrics::counter!("switchboard_memory_filled_vectors_total").increment(count);
        Ok(bare.len())
    }

    /// Notes that a chunk gets no vector, until the daemon is started again.
    async fn pass_over(&self, model: &str, one: &Bare, reason: &str) -> Result<(), Miss> {
        tracing::warn!(seq = one.seq, part = one.ordinal, reason, "a text gets no vector");
        metrics::counter!("switchboard_memory_passed_over_total").increment(1);
        self.parts.store.pass_over(model, &[(one.seq, one.ordinal)]).await?;
        let remark = format!("part {} has no vector: the embedder refuses its text", one.ordinal);
        let change = Change { remarks: vec![remark], ..nothing(one.seq) };
        let _order = self.order.lock().await;
        if let Err(error) = self.parts.store.change(None, &[change]).await {
            tracing::warn!(%error, seq = one.seq, "its unit does not tell of it");
        }
        Ok(())
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
