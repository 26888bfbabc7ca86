//! The last weighing: the best candidates in, loaded and held against trust, use, newness, length and
//! succession, in their final order out.

use std::collections::HashMap;

use jiff::Timestamp;

use super::fuse::Candidate;
use super::trace::{Notes, Trace};
use super::{Error, Recall, config, length, recency, wanted};
use crate::memory::{Question, Recollection, Scope, Score, Sense, Version};

/// Passages of one hit.
const PASSAGES: usize = 3;

impl Recall {
    /// Weighs the best candidates in full.
    pub(super) async fn weigh(
        &self,
        (scope, question): (&Scope, &Question),
        mut candidates: Vec<Candidate>,
        mut notes: Notes,
    ) -> Result<Trace, Error> {
        if question.nearest.is_some() {
            nearest_first(&mut candidates);
        }
        let most = wanted(question) * config::OVERSAMPLING;
        let behind = candidates.split_off(most.min(candidates.len()));
        let mut weighed = self.load(scope, candidates).await?;
        for one in &mut weighed {
            self.factor((scope, question), one);
        }
        if question.nearest.is_none() {
            Self::kin(question, &mut weighed);
            order(&mut weighed);
            self.rerank((scope, question), &mut weighed, &mut notes).await;
        }
        self.succeed(scope, &mut weighed, &mut notes).await;
        if question.nearest.is_none() {
            order(&mut weighed);
        }
        Ok(Trace { notes, weighed, behind })
    }

    /// Candidates with their versions and the words of their chunks.
    async fn load(
        &self,
        scope: &Scope,
        candidates: Vec<Candidate>,
    ) -> Result<Vec<Recollection>, Error> {
        let seqs: Vec<i64> = candidates.iter().map(|one| one.seq).collect();
        let chunks: Vec<(i64, u32)> = candidates.iter().flat_map(passages).collect();
        let (versions, texts) =
            tokio::join!(self.store.load(&scope.tenant, &seqs), self.store.texts(&chunks));
        let mut versions: HashMap<i64, Version> =
            versions?.into_iter().map(|version| (version.seq, version)).collect();
        let texts: HashMap<(i64, u32), String> = chunks.into_iter().zip(texts?).collect();
        let whole = |one: Candidate| {
            let version = versions.remove(&one.seq)?;
            let passages = passages(&one)
                .filter_map(|chunk| Some((chunk.1, texts.get(&chunk)?.clone())))
                .collect();
            Some(Recollection {
                version,
                passages,
                score: 0.0,
                scores: one.scores,
                metres: one.metres,
                withheld: one.withheld,
            })
        };
        Ok(candidates.into_iter().filter_map(whole).collect())
    }

    /// Length, trust, use and newness.
    fn factor(&self, (scope, question): (&Scope, &Question), one: &mut Recollection) {
        let fair = one.passages.first().map_or(1.0, |(_, text)| length::fairness(text));
        let collections = self.collections.load();
        let half_life =
            collections.get(&one.version.draft.collection).and_then(|one| one.half_life);
        let weight = recency::weight(&one.version, Timestamp::now(), half_life);
        for score in &mut one.scores {
            let fair = if score.sense == Sense::Words { fair } else { 1.0 };
            score.adds *= weight * fair;
        }
        if !question.without.contains(&Sense::Recency) {
            let even = recency::newness(&one.version, scope.as_of, self.config.half_life);
            let sum: f64 = one.scores.iter().map(|score| score.adds).sum();
            let raw = scope.as_of.duration_since(one.version.source_time).as_secs_f64();
            let adds = sum * recency::bonus(even);
            one.scores.push(Score { sense: Sense::Recency, raw, even, adds, rank: 0 });
        }
        one.total();
    }

    /// The newest in the scope, where nothing is asked.
    pub(super) async fn newest(
        &self,
        scope: &Scope,
        question: &Question,
        notes: Notes,
    ) -> Result<Trace, Error> {
        let versions = self.store.list(scope, None, wanted(question)).await?;
        let mut weighed: Vec<Recollection> = versions
            .into_iter()
            .map(|version| Recollection {
                version,
                passages: Vec::new(),
                score: 0.0,
                scores: Vec::new(),
                metres: None,
                withheld: String::new(),
            })
            .collect();
        for (rank, one) in weighed.iter_mut().enumerate() {
            self.factor((scope, question), one);
            one.scores.iter_mut().for_each(|score| score.rank = rank + 1);
        }
        let mut notes = notes;
        self.succeed(scope, &mut weighed, &mut notes).await;
        Ok(Trace { notes, weighed, behind: Vec::new() })
    }
}

impl Recollection {
    /// Sums up what the layers add.
    pub(super) fn total(&mut self) {
        self.score = self.scores.iter().map(|score| score.adds).sum::<f64>().clamp(0.0, 1.0);
    }
}

fn passages(one: &Candidate) -> impl Iterator<Item = (i64, u32)> + '_ {
    one.chunks.iter().take(PASSAGES).map(|(ordinal, _)| (one.seq, *ordinal))
}

/// Best first; of equal ones the later recorded.
pub(super) fn order(found: &mut [Recollection]) {
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.version.seq.cmp(&a.version.seq)));
    let mut newest: Vec<(usize, f64)> = found
        .iter()
        .enumerate()
        .filter_map(|(at, one)| {
            let score = one.scores.iter().find(|score| score.sense == Sense::Recency)?;
            Some((at, score.even))
        })
        .collect();
    newest.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (rank, (at, _)) in newest.into_iter().enumerate() {
        let scores = found.get_mut(at).map(|one| one.scores.iter_mut());
        for score in scores.into_iter().flatten().filter(|one| one.sense == Sense::Recency) {
            score.rank = rank + 1;
        }
    }
}

/// Nearest first, those that a question's words found too before the others; then places of other types
/// than the question names, and what has no place last.
fn nearest_first(candidates: &mut [Candidate]) {
    let key = |one: &Candidate| {
        let other = one.of(Sense::Place).is_none();
        (!one.withheld.is_empty(), one.metres.is_none(), other, !one.is_about())
    };
    candidates.sort_by(|a, b| {
        key(a)
            .cmp(&key(b))
            .then(a.metres.unwrap_or(f64::MAX).total_cmp(&b.metres.unwrap_or(f64::MAX)))
            .then(b.total().total_cmp(&a.total()))
    });
}
