//! Recall: a question and the collections that may answer it in, what is relevant, valid and permitted
//! out, best first, each with its scores. Asks the store's layers once, weighs what they found, and
//! decides nothing about access.

mod beside;
mod config;
mod entity;
mod error;
mod foreign;
mod fuse;
mod kin;
mod length;
mod post;
mod rank;
mod recency;
mod rerank;
mod rewrite;
mod succession;
mod trace;

use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

pub(super) use config::MOST;
pub use config::{Config, Endpoint, Rerank};
pub use error::Error;
pub(super) use post::Post;
pub(super) use trace::Trace;

use super::coverage::Coverage;
use super::embed::Embedder;
use super::{Collections, Owned, Question, Recalled, Scope, Store, TOP_K, Version};
use crate::admission::Caller;
use rerank::Reranker;
use rewrite::Rewriter;

/// Marks of use that are written at the same time; what comes beyond is dropped, since a mark is worth
/// less than an answer.
const TOUCHES: usize = 16;

/// Answers questions from a store.
#[derive(Debug)]
pub struct Recall {
    store: Arc<dyn Store>,
    embedder: Option<Arc<dyn Embedder>>,
    collections: Arc<ArcSwap<Collections>>,
    config: Config,
    /// What the vector layer lacks.
    coverage: Option<Arc<Coverage>>,
    rewriter: Option<Rewriter>,
    reranker: Option<Arc<dyn Reranker>>,
    tasks: TaskTracker,
    touches: Arc<Semaphore>,
}

impl Recall {
    /// Recall from `store`; without an embedder it does without vectors. Marks of use are written on
    /// `tasks`.
    pub fn new(
        store: Arc<dyn Store>,
        embedder: Option<Arc<dyn Embedder>>,
        collections: Arc<ArcSwap<Collections>>,
        config: Config,
        tasks: &TaskTracker,
    ) -> Result<Self, Error> {
        Ok(Self {
            rewriter: Rewriter::open(&config)?,
            reranker: rerank::open(&config, &store, embedder.as_ref())?,
            store,
            embedder,
            collections,
            config,
            coverage: None,
            tasks: tasks.clone(),
            touches: Arc::new(Semaphore::new(TOUCHES)),
        })
    }

    /// Recall that tells of its vector layer where that is not complete.
    #[must_use]
    pub(super) fn covered(self, coverage: Arc<Coverage>) -> Self {
        Self { coverage: Some(coverage), ..self }
    }

    /// Answers a question from those collections that policy lets the caller read.
    pub async fn recall(
        &self,
        caller: &Caller,
        collections: &[Owned],
        question: &Question,
    ) -> Result<Recalled, Error> {
        check(question)?;
        let started = std::time::Instant::now();
        let scope = scope(caller, collections, question);
        // On the heap: whoever serves it holds it among much else.
        let trace = Box::pin(self.trace(&scope, question)).await?;
        let answer = trace.answer(question);
        metrics::histogram!("switchboard_memory_recall_seconds").record(started.elapsed());
        for (sense, _) in &answer.failed {
            metrics::counter!("switchboard_memory_recall_failed_total", "sense" => sense.as_str())
                .increment(1);
        }
        if self.config.touch && !question.explain {
            self.touch(&answer);
        }
        Ok(answer)
    }

    pub(super) fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// Metres of versions from the point of the question; `None` without a place or a point.
    pub(super) async fn metres(
        &self,
        versions: &[Version],
        question: &Question,
    ) -> Vec<Option<f64>> {
        let seqs: Vec<i64> = versions.iter().map(|one| one.seq).collect();
        let known = match trace::point(question) {
            Some(from) => self.store.distances(&seqs, from).await.unwrap_or_default(),
            None => Vec::new(),
        };
        let of = |seq| known.iter().find(|(one, _)| *one == seq).map(|(_, metres)| *metres);
        seqs.into_iter().map(of).collect()
    }

    /// Notes in the background that the hits were given out.
    fn touch(&self, answer: &Recalled) {
        let seqs: Vec<i64> = answer.hits.iter().map(|hit| hit.version.seq).collect();
        if seqs.is_empty() {
            return;
        }
        let Ok(permit) = Arc::clone(&self.touches).try_acquire_owned() else {
            metrics::counter!("switchboard_memory_touch_dropped_total").increment(1);
            return;
        };
        let store = Arc::clone(&self.store);
        self.tasks.spawn(async move {
            if let Err(error) = store.touch(&seqs, Timestamp::now()).await {
                tracing::debug!(%error, "marks of use were not written");
            }
            drop(permit);
        });
    }
}

/// What the caller can be told of at all.
pub(super) fn scope(caller: &Caller, collections: &[Owned], question: &Question) -> Scope {
    Scope {
        tenant: caller.tenant.clone(),
        collections: collections.to_vec(),
        as_of: question.as_of.unwrap_or_else(Timestamp::now),
        known_at: question.known_at,
        kinds: question.kinds.clone(),
        filters: question.filters.clone(),
        spot: question.spot.clone(),
        held: question.held,
        quarantined: false,
        archived: question.archived,
    }
}

/// Hits that are wanted.
pub(super) const fn wanted(question: &Question) -> usize {
    if question.top_k == 0 { TOP_K } else { question.top_k }
}

/// Whether a question can be asked: its sizes, and numbers that mean something.
pub(crate) fn check(question: &Question) -> Result<(), Error> {
    let refuse = |field, reason: String| Err(Error::Question { field, reason });
    if question.text.len() > config::TEXT {
        return refuse(
            "text",
            format!("it has {} bytes: at most {}", question.text.len(), config::TEXT),
        );
    }
    if question.top_k > config::MOST {
        return refuse("top_k", format!("`{}` is above {}", question.top_k, config::MOST));
    }
    if let Some(threshold) = question.threshold.filter(|one| !(0.0..=1.0).contains(one)) {
        return refuse("threshold", format!("`{threshold}` is not between 0 and 1"));
    }
    let turns: usize = question.conversation.iter().map(String::len).sum();
    if turns > config::TURNS {
        return refuse("conversation", format!("it has {turns} bytes: at most {}", config::TURNS));
    }
    if let Some((latitude, longitude, _)) = &question.nearest {
        let known = (-90.0..=90.0).contains(latitude) && (-180.0..=180.0).contains(longitude);
        if !known {
            return refuse(
                "nearest",
                format!("`{latitude}, {longitude}` is no place: -90 to 90, -180 to 180"),
            );
        }
    }
    if let Some((_, vector)) = &question.image
        && (vector.is_empty() || !vector.iter().all(|number| number.is_finite()))
    {
        return refuse("image", "its vector is empty or holds something else than numbers".into());
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests;
