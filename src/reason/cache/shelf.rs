//! What is kept of one kind. A slot in, what was kept there for an equal or a nearly equal question out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use moka::sync::Cache;
use serde::{Deserialize, Serialize};

use super::{Config, Slot};
use crate::mask;
use crate::memory::embed::{Embedder, Role};

/// Longest wait for the vectors of two questions; then it is as if they were unlike.
const PATIENCE: Duration = Duration::from_secs(1);

/// Values by the slots of their questions.
#[derive(Debug)]
pub(in crate::reason) struct Shelf<T: Send + Sync + 'static> {
    what: &'static str,
    similarity: Option<f32>,
    equal: Cache<[u8; 32], Arc<Kept<T>>>,
    alike: Cache<[u8; 32], Arc<Kept<T>>>,
}

#[derive(Debug)]
struct Kept<T> {
    value: T,
    /// The question that it was found for.
    text: String,
    made: Instant,
    life: Duration,
}

/// What was kept.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::reason) struct Hit<T> {
    /// It.
    pub(in crate::reason) value: T,
    /// How it comes that it is given again.
    pub(in crate::reason) served: Served,
}

/// How it comes that something is given again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Served {
    /// Milliseconds since it was found.
    pub age_ms: u64,
    /// The question that it was found for, masked, where that was not the same one.
    pub question: Option<String>,
    /// Calibrated similarity of the two.
    pub similarity: Option<f32>,
}

impl<T: Clone + Send + Sync + 'static> Shelf<T> {
    pub(super) fn new(what: &'static str, config: &Config) -> Self {
        let made = || {
            let cache = Cache::builder().max_capacity(config.entries);
            cache.time_to_live(config.ttl).build()
        };
        let similarity = config.nearly.then_some(config.similarity);
        Self { what, similarity, equal: made(), alike: made() }
    }

    /// What was kept for the question, or for a nearly equal one, and is not too old.
    pub(in crate::reason) async fn look(
        &self,
        slot: &Slot,
        embedder: Option<&Arc<dyn Embedder>>,
    ) -> Option<Hit<T>> {
        let equal = self.equal.get(&slot.equal).filter(|kept| kept.is_fresh());
        let hit = match equal {
            Some(kept) => Some(kept.hit(None)),
            None => self.nearly(slot, embedder).await,
        };
        let outcome = match &hit {
            Some(hit) if hit.served.similarity.is_some() => "nearly",
            Some(_) => "equal",
            None => "missed",
        };
        metrics::counter!(
            "switchboard_reason_cache_total", "what" => self.what, "outcome" => outcome
        )
        .increment(1);
        hit
    }

    async fn nearly(&self, slot: &Slot, embedder: Option<&Arc<dyn Embedder>>) -> Option<Hit<T>> {
        let (least, embedder) = (self.similarity?, embedder?);
        let kept = self.alike.get(&slot.alike?).filter(|kept| kept.is_fresh())?;
        let similarity = similarity(embedder.as_ref(), [&slot.text, &kept.text]).await?;
        (similarity >= least).then(|| kept.hit(Some(similarity)))
    }

    /// Keeps what was found for the question, for no longer than that.
    pub(in crate::reason) fn keep(&self, slot: &Slot, value: T, life: Duration) {
        let kept = Kept { value, text: slot.text.clone(), made: Instant::now(), life };
        let kept = Arc::new(kept);
        if let Some(alike) = slot.alike {
            self.alike.insert(alike, Arc::clone(&kept));
        }
        self.equal.insert(slot.equal, kept);
    }
}

impl<T: Clone> Kept<T> {
    fn is_fresh(&self) -> bool {
        self.made.elapsed() < self.life
    }

    fn hit(&self, similarity: Option<f32>) -> Hit<T> {
        let age_ms = u64::try_from(self.made.elapsed().as_millis()).unwrap_or(u64::MAX);
        let question = similarity.map(|_| mask::text(&self.text).into_owned());
        Hit { value: self.value.clone(), served: Served { age_ms, question, similarity } }
    }
}

/// How similar two questions are; `None` where the embedder does not tell in time.
async fn similarity(embedder: &dyn Embedder, [one, other]: [&String; 2]) -> Option<f32> {
    let texts = [one.clone(), other.clone()];
    let vectors = tokio::time::timeout(PATIENCE, embedder.embed(Role::Query, &texts)).await;
    let vectors = vectors.ok()?.ok()?;
    let [one, other] = vectors.as_slice() else { return None };
    let cosine = one.iter().zip(other).map(|(one, other)| one * other).sum();
    Some(embedder.calibrate(cosine))
}
