//! The optional second look at the first hits: the question with its conversation and the best
//! candidates in, the same in a new order out. One in this process, one behind an endpoint; off by
//! default. Triggers keep their place.

mod conversation;
mod endpoint;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;

use super::fuse::TRIGGER;
use super::trace::Notes;
use super::{Config, Error, Recall, Rerank};
use crate::memory::embed::Embedder;
use crate::memory::{Question, Recollection, Scope, Score, Sense, Store};

/// Looks at candidates once more.
#[async_trait]
pub(super) trait Reranker: Send + Sync + Debug {
    /// What part of a score it decides, 0..1; a trigger's part stays.
    fn share(&self) -> f64;

    /// Whether it has something to look at for this question.
    fn suits(&self, _question: &Question) -> bool {
        true
    }

    /// How well each passage answers, 0..1, in the order given.
    async fn rerank(
        &self,
        scope: &Scope,
        question: &Question,
        passages: &[(i64, &str)],
    ) -> Result<Vec<f64>, String>;
}

/// The reranker that is configured.
pub(super) fn open(
    config: &Config,
    store: &Arc<dyn Store>,
    embedder: Option<&Arc<dyn Embedder>>,
) -> Result<Option<Arc<dyn Reranker>>, Error> {
    match (config.rerank, &config.rerank_endpoint) {
        (Rerank::None, _) => Ok(None),
        (Rerank::Conversation, _) => Ok(Some(Arc::new(conversation::Conversation::new(
            Arc::clone(store),
            embedder.cloned(),
            config.candidates,
        )))),
        (Rerank::Endpoint, Some(endpoint)) => {
            Ok(Some(Arc::new(endpoint::Remote::open("memory.recall.rerank_endpoint", endpoint)?)))
        }
        (Rerank::Endpoint, None) => Err(Error::Config {
            key: "memory.recall.rerank_endpoint",
            reason: "it is missing: `rerank` is `endpoint`".to_owned(),
        }),
    }
}

impl Recall {
    /// Puts candidates that are not withheld into the order of the reranker, where there is one.
    pub(super) async fn rerank(
        &self,
        (scope, question): (&Scope, &Question),
        found: &mut [Recollection],
        notes: &mut Notes,
    ) {
        let Some(reranker) = self.reranker.as_ref().filter(|one| one.suits(question)) else {
            return;
        };
        if question.without.contains(&Sense::Rerank) || question.text.trim().is_empty() {
            return;
        }
        let started = Instant::now();
        let passages: Vec<(i64, &str)> = found
            .iter()
            .filter(|one| one.withheld.is_empty())
            .map(|one| (one.version.seq, said(one)))
            .collect();
        if passages.is_empty() {
            return;
        }
        let outcome = match reranker.rerank(scope, question, &passages).await {
            Ok(even) => {
                mix(reranker.share(), &even, found);
                "done"
            }
            Err(why) => {
                notes.failed(Sense::Rerank, &why);
                "failed"
            }
        };
        metrics::counter!("switchboard_memory_reranks_total", "outcome" => outcome).increment(1);
        metrics::histogram!("switchboard_memory_rerank_seconds").record(started.elapsed());
        notes.took(Sense::Rerank, started);
        super::rank::order(found);
    }
}

fn said(one: &Recollection) -> &str {
    one.passages.first().map_or(one.version.draft.text.as_str(), |(_, text)| text.as_str())
}

/// What the reranker decides takes that share of what the other layers gave, but for a trigger's.
fn mix(share: f64, even: &[f64], found: &mut [Recollection]) {
    let mut order: Vec<usize> = (0..even.len()).collect();
    let at = |place: usize| even.get(place).copied().unwrap_or_default();
    order.sort_by(|a, b| at(*b).total_cmp(&at(*a)));
    let mut ranks = vec![0; even.len()];
    for (rank, place) in order.into_iter().enumerate() {
        if let Some(slot) = ranks.get_mut(place) {
            *slot = rank + 1;
        }
    }
    let given = found.iter_mut().filter(|one| one.withheld.is_empty());
    for ((one, even), rank) in given.zip(even).zip(ranks) {
        let even = even.clamp(0.0, 1.0);
        let rest: f64 = one
            .scores
            .iter()
            .filter(|score| score.sense != Sense::Trigger)
            .map(|score| score.adds)
            .sum();
        let adds = share * ((1.0 - TRIGGER) * even - rest);
        one.scores.push(Score { sense: Sense::Rerank, raw: even, even, adds, rank });
        one.total();
    }
}
