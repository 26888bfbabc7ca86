//! Rerank by an endpoint of the common form: `POST` of a model, a query and documents, back the
//! relevance of each by its index.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::super::post::Post;
use super::super::{Endpoint, Error};
use super::Reranker;
use crate::memory::{Question, Scope};

/// What part of a score it decides.
const SHARE: f64 = 0.7;
/// Characters of one document that are sent.
const DOCUMENT: usize = 4000;

#[derive(Debug)]
pub(super) struct Remote {
    post: Post,
}

impl Remote {
    pub(super) fn open(key: &'static str, endpoint: &Endpoint) -> Result<Self, Error> {
        Ok(Self { post: Post::open(key, endpoint)? })
    }
}

#[async_trait]
impl Reranker for Remote {
    fn share(&self) -> f64 {
        SHARE
    }

    async fn rerank(
        &self,
        _: &Scope,
        question: &Question,
        passages: &[(i64, &str)],
    ) -> Result<Vec<f64>, String> {
        let documents: Vec<String> =
            passages.iter().map(|(_, text)| text.chars().take(DOCUMENT).collect()).collect();
        let body = json!({
            "model": self.post.model(),
            "query": question.text,
            "documents": documents,
            "top_n": documents.len(),
        });
        read(&self.post.send(&body).await?, documents.len())
    }
}

/// Scores in the order of the documents. Scores outside 0..1 are logits, and are evened out.
fn read(answer: &Value, documents: usize) -> Result<Vec<f64>, String> {
    let results = answer.get("results").and_then(Value::as_array);
    let results = results.ok_or("the rerank endpoint answers without `results`")?;
    let mut scores = vec![None; documents];
    for one in results {
        let index =
            one.get("index").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
        let score = one.get("relevance_score").or_else(|| one.get("score")).and_then(Value::as_f64);
        let slot = index.and_then(|index| scores.get_mut(index));
        match (slot, score.filter(|score| score.is_finite())) {
            (Some(slot), Some(score)) => *slot = Some(score),
            _ => {
                return Err(
                    "the rerank endpoint answers with a result that names no document, or \
                            has no number in `relevance_score`"
                        .to_owned(),
                );
            }
        }
    }
    let logits = scores.iter().flatten().any(|score| !(0.0..=1.0).contains(score));
    let even = |score: f64| if logits { 1.0 / (1.0 + (-score).exp()) } else { score };
    // A document that it does not name is not relevant to it.
    Ok(scores.into_iter().map(|score| score.map_or(0.0, even)).collect())
}
