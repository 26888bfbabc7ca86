//! Rerank with the conversation, in this process: what shares rare words with the turns before the
//! question, or stands near them by vector, comes up.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;

use super::Reranker;
use crate::memory::embed::{Embedder, Role};
use crate::memory::normal;
use crate::memory::{Ask, Question, Scope, Sense, Store};

/// What part of a score it decides.
const SHARE: f64 = 0.25;
/// Turns that are looked at, the last ones.
const TURNS: usize = 4;
/// What a turn counts less than the one after it.
const FADE: f64 = 0.6;
/// Terms of one turn or passage.
const TERMS: usize = 2000;

#[derive(Debug)]
pub(super) struct Conversation {
    store: Arc<dyn Store>,
    embedder: Option<Arc<dyn Embedder>>,
    limit: usize,
}

impl Conversation {
    pub(super) fn new(
        store: Arc<dyn Store>,
        embedder: Option<Arc<dyn Embedder>>,
        limit: usize,
    ) -> Self {
        Self { store, embedder, limit }
    }

    /// Similarity of the last turns with what the store finds near them, by version.
    async fn near(&self, scope: &Scope, question: &Question) -> Result<HashMap<i64, f64>, String> {
        let embedder = match &self.embedder {
            Some(embedder) if !question.without.contains(&Sense::Vector) => embedder,
            Some(_) | None => return Ok(HashMap::new()),
        };
        let last = question.conversation.iter().rev().take(2).rev();
        let text = last.map(String::as_str).collect::<Vec<_>>().join("\n");
        let made = embedder.embed(Role::Query, &[text]).await.map_err(|error| error.to_string())?;
        let Some(vector) = made.into_iter().next() else { return Ok(HashMap::new()) };
        let model = embedder.model().name.clone();
        let ask = Ask { vector: Some((model, vector)), limit: self.limit, ..Ask::default() };
        let found = self.store.search(scope, &ask).await.map_err(|error| error.to_string())?;
        let hits = found.vector.transpose().map_err(|error| error.to_string())?.unwrap_or_default();
        let mut near = HashMap::new();
        for hit in hits {
            #[expect(clippy::cast_possible_truncation, reason = "a cosine, f32 keeps enough of it")]
            let even = f64::from(embedder.calibrate(hit.score as f32));
            let best = near.entry(hit.seq).or_insert(0.0_f64);
            *best = best.max(even);
        }
        Ok(near)
    }
}

#[async_trait]
impl Reranker for Conversation {
    fn share(&self) -> f64 {
        SHARE
    }

    fn suits(&self, question: &Question) -> bool {
        !question.conversation.is_empty()
    }

    async fn rerank(
        &self,
        scope: &Scope,
        question: &Question,
        passages: &[(i64, &str)],
    ) -> Result<Vec<f64>, String> {
        let near = self.near(scope, question).await?;
        let common = shared(&question.conversation, passages);
        let both = passages.iter().zip(common);
        Ok(both
            .map(|((seq, _), common)| match near.is_empty() {
                true => common,
                false => f64::midpoint(common, near.get(seq).copied().unwrap_or_default()),
            })
            .collect())
    }
}

/// How much of the last turns' words each passage has, 0..1; a word that few passages have counts more.
fn shared(turns: &[String], passages: &[(i64, &str)]) -> Vec<f64> {
    let terms: Vec<HashSet<String>> = passages.iter().map(|(_, text)| terms_of(text)).collect();
    let all = float(passages.len());
    let mut weights: HashMap<String, f64> = HashMap::new();
    let mut fade = 1.0;
    for turn in turns.iter().rev().take(TURNS) {
        for term in terms_of(turn) {
            let having = float(terms.iter().filter(|one| one.contains(&term)).count());
            if having > 0.0 {
                let rare = (1.0 + all / having).ln();
                weights.entry(term).or_insert(fade * rare);
            }
        }
        fade *= FADE;
    }
    let sums: Vec<f64> =
        terms.iter().map(|terms| terms.iter().filter_map(|term| weights.get(term)).sum()).collect();
    let most = sums.iter().fold(0.0_f64, |most, one| most.max(*one));
    sums.into_iter().map(|sum| if most > 0.0 { sum / most } else { 0.0 }).collect()
}

/// Words, and pairs of characters where a script has no spaces.
fn terms_of(text: &str) -> HashSet<String> {
    let mut terms = HashSet::new();
    for word in normal::words(text).split(|one: char| !one.is_alphanumeric()) {
        if terms.len() >= TERMS {
            break;
        }
        if word.is_ascii() {
            terms.extend(Some(word.to_owned()).filter(|one| one.len() > 1));
        } else {
            let chars: Vec<char> = word.chars().collect();
            terms.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
        }
    }
    terms
}

fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
