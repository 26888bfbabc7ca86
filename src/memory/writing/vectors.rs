//! Vectors of chunks: with the write where the embedder answers in time, else later, in the background,
//! with growing pauses. An embedder that is down stops nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use super::{Inner, nothing};
use crate::memory::embed::{Embedder, Error, Role};
use crate::memory::store::{Bare, Change, Chunk, Error as StoreError, Settlement};

/// Texts that are given to the embedder at a time.
const TEXTS: usize = 64;
/// Time between two tries while the embedder is down: first and longest.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// A text that every model takes, to tell a text that is refused from an embedder that refuses all.
const PLAIN: &str = "memory";
/// Time after which is looked for chunks without a vector though nobody told of any.
const LOOK: Duration = Duration::from_secs(600);

/// The embedder, and whether it answers.
#[derive(Debug)]
pub(super) struct Vectors {
    embedder: Option<Arc<dyn Embedder>>,
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
        Self { embedder, down: AtomicBool::new(false), bare: Notify::new() }
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
            Ok(Err(failure)) => self.fail(failure.reason),
            Err(_late) => self.fail(format!("it did not answer within {} ms", within.as_millis())),
        }
    }

    fn fail(&self, failed: String) -> Made {
        tracing::warn!(reason = failed, "the embedder fails: units are stored without vectors");
        self.down.store(true, Ordering::Release);
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

/// Why there are no vectors of some texts.
struct Failure {
    reason: String,
    /// Whether the same texts may succeed later.
    passing: bool,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { reason: error.to_string(), passing: error.is_passing() }
    }
}

async fn embed(embedder: &dyn Embedder, texts: &[String]) -> Result<Vec<Vec<f32>>, Failure> {
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
            return Err(Failure { reason, passing: false });
        }
        all.extend(vectors);
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
    let (mut pause, mut tidy) = (PAUSE, false);
    loop {
        match inner.fill(embedder).await {
            Ok(0) => {
                // Every chunk has one: those of the model before are of no use any more.
                if !tidy
                    && let Ok(removed) =
                        inner.parts.store.forget_models(&embedder.model().name).await
                {
                    tracing::info!(removed, "vectors of other models are removed");
                    tidy = true;
                }
                tokio::time::timeout(LOOK, inner.vectors.bare.notified()).await.unwrap_or_default();
            }
            Ok(_) => pause = PAUSE,
            Err(reason) => {
                tracing::warn!(reason, "chunks wait for their vectors");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST);
            }
        }
    }
}

impl Inner {
    /// One batch of chunks; gives their number.
    async fn fill(&self, embedder: &dyn Embedder) -> Result<usize, String> {
        let (store, model) = (&self.parts.store, &embedder.model().name);
        let collections = self.parts.collections.load_full();
        let without: Vec<String> =
            collections.iter().filter(|one| !one.vectors).map(|one| one.name.clone()).collect();
        let bare: Vec<Bare> =
            store.bare(model, &without, TEXTS).await.map_err(|error| error.to_string())?;
        if bare.is_empty() {
            return Ok(0);
        }
        let vectors = self.fill_chunks(embedder, &bare).await.inspect_err(|_reason| {
            self.vectors.down.store(true, Ordering::Release);
        })?;
        self.vectors.down.store(false, Ordering::Release);
        store.embed(model, &vectors).await.map_err(|error| error.to_string())?;
        let count = u64::try_from(vectors.len()).unwrap_or_default();
        metrics::counter!("switchboard_memory_filled_vectors_total").increment(count);
        Ok(bare.len())
    }

    /// Their vectors; without those of chunks that the embedder refuses while it takes another text,
    /// which are passed over from now on.
    async fn fill_chunks(
        &self,
        embedder: &dyn Embedder,
        bare: &[Bare],
    ) -> Result<Vec<(i64, u32, Vec<f32>)>, String> {
        let texts: Vec<String> = bare.iter().map(|one| one.text.clone()).collect();
        let place = |(one, vector): (&Bare, Vec<f32>)| (one.seq, one.ordinal, vector);
        match embed(embedder, &texts).await {
            Ok(vectors) => return Ok(bare.iter().zip(vectors).map(place).collect()),
            Err(failure) if failure.passing => return Err(failure.reason),
            Err(_one_of_them) => {}
        }
        // It refuses everything, and what is wrong is not the texts.
        embed(embedder, &[PLAIN.to_owned()]).await.map_err(|failure| failure.reason)?;
        let mut made = Vec::new();
        for (one, text) in bare.iter().zip(&texts) {
            match embed(embedder, std::slice::from_ref(text)).await {
                Ok(vectors) => made.extend(vectors.into_iter().map(|vector| place((one, vector)))),
                Err(failure) if failure.passing => return Err(failure.reason),
                Err(failure) => self.pass_over(embedder, one, &failure.reason).await?,
            }
        }
        Ok(made)
    }

    /// Notes that a chunk gets no vector.
    async fn pass_over(
        &self,
        embedder: &dyn Embedder,
        one: &Bare,
        reason: &str,
    ) -> Result<(), String> {
        let (store, model) = (&self.parts.store, &embedder.model().name);
        tracing::warn!(seq = one.seq, part = one.ordinal, reason, "a text gets no vector");
        metrics::counter!("switchboard_memory_passed_over_total").increment(1);
        let failed = |error: StoreError| error.to_string();
        store.pass_over(model, &[(one.seq, one.ordinal)]).await.map_err(failed)?;
        let remark = format!("part {} has no vector: the embedder refuses its text", one.ordinal);
        let change = Change { remarks: vec![remark], ..nothing(one.seq) };
        let _order = self.order.lock().await;
        if let Err(error) = store.change(None, &[change]).await {
            tracing::warn!(%error, seq = one.seq, "its unit does not tell of it");
        }
        Ok(())
    }
}
