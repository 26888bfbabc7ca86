//! Fusion: what each layer found in, one candidate a version out, with what each layer adds to its
//! score. Scores are evened out layer by layer; places in the layers' orders do not count, which
//! measured worse.

use std::collections::HashMap;

use crate::memory::{Found, Hit, Score, Sense};

/// What a trigger equal to the question adds: as much as all the others can together.
pub(super) const TRIGGER: f64 = 0.5;
/// What full text adds that has all of the question, and a vector whose calibrated similarity is 1. Their
/// proportion, what a term counts, and what neighbours lend were tuned on conversations of the form of
/// LoCoMo and on tickets and manuals in two languages; half of each shares few words with its answers.
const WORDS: f64 = 0.1;
const VECTOR: f64 = 0.15;
/// BM25 of a term that one in twenty chunks has. The best hit has all of the question where its score
/// is that of so many terms; a question in another language than its answers has hits by chance only,
/// and the best of them is no good hit.
const TERM: f64 = 3.0;
/// What a version adds that has all entities of the question.
const ENTITY: f64 = 0.0625;
/// Calibrated similarity from which on a vector alone tells that a place is what is looked for, and not
/// any place of its kind.
const ABOUT: f64 = 0.5;
/// What an equal image adds; a question with an image seldom has words.
const IMAGE: f64 = 0.25;
/// What neighbours add that all have the whole question.
const NEIGHBOUR: f64 = 0.1875;
/// What part of its own score a version lends to its neighbours to either side, by their distance.
const LENT: [f64; 2] = [0.5, 0.25];
/// All that one version can borrow.
const LOAN: f64 = 1.5;
/// Places in a group that a version lends to, to either side.
pub(super) const SPAN: u32 = 2;

/// One version that a layer found.
#[derive(Debug, Clone)]
pub(in crate::memory) struct Candidate {
    pub(in crate::memory) seq: i64,
    /// By layer, in the order of [`Sense`].
    pub(in crate::memory) scores: Vec<Score>,
    /// Chunks that were found, best first.
    pub(super) chunks: Vec<(u32, f64)>,
    /// Metres from the point that was asked about.
    pub(super) metres: Option<f64>,
    /// Why it is not given; empty where nothing speaks against it.
    pub(in crate::memory) withheld: String,
}

impl Candidate {
    const fn new(seq: i64) -> Self {
        Self { seq, scores: Vec::new(), chunks: Vec::new(), metres: None, withheld: String::new() }
    }

    pub(super) fn total(&self) -> f64 {
        self.scores.iter().map(|score| score.adds).sum::<f64>().clamp(0.0, 1.0)
    }

    pub(super) fn of(&self, sense: Sense) -> Option<&Score> {
        self.scores.iter().find(|score| score.sense == sense)
    }

    /// Whether a layer found it that asks what it says; of vectors, with what most answers have.
    pub(super) fn is_about(&self) -> bool {
        self.scores.iter().any(|score| match score.sense {
            Sense::Place | Sense::Recency | Sense::Rerank => false,
            Sense::Vector | Sense::Image => score.even >= ABOUT,
            _ => true,
        })
    }

    /// What it lends: how much of the question its own words and its vector have, 0..1.
    fn own(&self) -> f64 {
        let adds = |sense| self.of(sense).map_or(0.0, |score| score.adds);
        (adds(Sense::Words) + adds(Sense::Vector)) / (WORDS + VECTOR)
    }
}

/// All candidates of one question.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    candidates: HashMap<i64, Candidate>,
}

/// What a layer's scores mean.
pub(super) struct Reading<'r> {
    /// Terms that full text was asked for.
    pub(super) terms: usize,
    /// Entities that were asked for.
    pub(super) entities: usize,
    /// A cosine as a similarity from 0 to 1.
    pub(super) calibrate: &'r (dyn Fn(f64) -> f64 + Sync),
    /// Least similarity of what only vectors found.
    pub(super) threshold: f64,
}

impl Sheet {
    /// Reads what the layers found. Layers that failed are left to the caller.
    pub(super) fn gather(found: &Found, reading: &Reading<'_>) -> Self {
        let mut sheet = Self::default();
        let hits = |layer: &Option<Result<Vec<Hit>, _>>| match layer {
            Some(Ok(hits)) => hits.clone(),
            Some(Err(_)) | None => Vec::new(),
        };
        let float = |count: usize| f64::from(u32::try_from(count.max(1)).unwrap_or(u32::MAX));
        let asked = float(reading.entities);
        let words = hits(&found.words);
        let whole = TERM * float(reading.terms);
        let best = words.iter().fold(whole, |best, hit| best.max(hit.score));
        let vector = hits(&found.vector);
        sheet.chunks((&words, best), (&vector, reading.calibrate));
        sheet.whole(Sense::Trigger, &hits(&found.trigger), &|raw| raw, TRIGGER);
        sheet.whole(Sense::Entity, &hits(&found.entity), &|raw| raw / asked, ENTITY);
        sheet.whole(Sense::Image, &hits(&found.image), &|raw| raw, IMAGE);
        sheet.far(&hits(&found.nearest));
        sheet.bound(reading.threshold);
        sheet
    }

    fn at(&mut self, seq: i64) -> &mut Candidate {
        self.candidates.entry(seq).or_insert_with(|| Candidate::new(seq))
    }

    /// Words and vectors know chunks. The best chunk counts for its version, never their sum, so that
    /// a long text gains nothing by its length.
    fn chunks(
        &mut self,
        (words, best): (&[Hit], f64),
        (vector, calibrate): (&[Hit], &(dyn Fn(f64) -> f64 + Sync)),
    ) {
        let mut chunks: HashMap<(i64, u32), [Option<Score>; 2]> = HashMap::new();
        let score = |sense, raw: f64, even: f64, weight: f64, rank| {
            let even = even.clamp(0.0, 1.0);
            Some(Score { sense, raw, even, adds: weight * even, rank })
        };
        for (hit, rank) in ranked(words) {
            let score = score(Sense::Words, hit.score, hit.score / best, WORDS, rank);
            chunks.entry((hit.seq, hit.ordinal)).or_default()[0] = score;
        }
        for (hit, rank) in ranked(vector) {
            let score = score(Sense::Vector, hit.score, calibrate(hit.score), VECTOR, rank);
            chunks.entry((hit.seq, hit.ordinal)).or_default()[1] = score;
        }
        for ((seq, ordinal), scores) in chunks {
            let scores: Vec<Score> = scores.into_iter().flatten().collect();
            let adds: f64 = scores.iter().map(|score| score.adds).sum();
            let candidate = self.at(seq);
            let better = candidate.chunks.first().is_none_or(|(first, most)| {
                adds > *most || (adds.total_cmp(most).is_eq() && ordinal < *first)
            });
            if better {
                candidate.scores = scores;
                candidate.chunks.insert(0, (ordinal, adds));
            } else {
                candidate.chunks.push((ordinal, adds));
            }
        }
        for candidate in self.candidates.values_mut() {
            candidate.chunks.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        }
    }

    /// Layers that know whole versions.
    fn whole(&mut self, sense: Sense, hits: &[Hit], even: &dyn Fn(f64) -> f64, weight: f64) {
        for (hit, rank) in ranked(hits) {
            let even = even(hit.score).clamp(0.0, 1.0);
            let candidate = self.at(hit.seq);
            if candidate.of(sense).is_none() {
                let score = Score { sense, raw: hit.score, even, adds: weight * even, rank };
                candidate.scores.push(score);
            }
        }
    }

    /// Distances order the answer, and add nothing to a score.
    fn far(&mut self, hits: &[Hit]) {
        for (hit, rank) in ranked(hits) {
            let metres = -hit.score;
            let candidate = self.at(hit.seq);
            candidate.metres = Some(metres);
            let even = 1.0 / (1.0 + metres / 1000.0);
            candidate.scores.push(Score {
                sense: Sense::Place,
                raw: metres,
                even,
                adds: 0.0,
                rank,
            });
        }
    }

    /// Withholds what only vectors found and which is not similar enough; of what has a place too, only
    /// the place stays.
    fn bound(&mut self, threshold: f64) {
        let seen = |score: &Score| matches!(score.sense, Sense::Vector | Sense::Image);
        for candidate in self.candidates.values_mut() {
            let alike = candidate.scores.iter().filter(|score| seen(score));
            let even = alike.fold(0.0_f64, |most, score| most.max(score.even));
            let far = |score: &Score| score.sense == Sense::Place;
            if even >= threshold || !candidate.scores.iter().all(|one| seen(one) || far(one)) {
                continue;
            }
            if candidate.scores.iter().any(far) {
                candidate.scores.retain(far);
            } else {
                candidate.withheld =
                    format!("below the threshold: similarity {even:.3}, at least {threshold:.3}");
            }
        }
    }

    /// Gives what is below the threshold where nothing is above it: filters alone can be the question.
    pub(super) fn fall_back(&mut self) {
        if self.candidates.values().all(|one| !one.withheld.is_empty()) {
            self.candidates.values_mut().for_each(|one| one.withheld.clear());
        }
    }

    /// The best candidates by what they have themselves, for the question about their neighbours.
    pub(super) fn lenders(&self, most: usize) -> Vec<i64> {
        let mut own: Vec<(i64, f64)> = self
            .candidates
            .values()
            .filter(|candidate| candidate.withheld.is_empty())
            .map(|candidate| (candidate.seq, candidate.own()))
            .filter(|(_, own)| *own > 0.0)
            .collect();
        own.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        own.truncate(most);
        own.into_iter().map(|(seq, _)| seq).collect()
    }

    /// Adds what neighbours lend: those of `beside`, each lender, borrower and distance once.
    pub(super) fn lend(&mut self, beside: impl Iterator<Item = (i64, i64, u32)>) {
        let mut lent: HashMap<i64, f64> = HashMap::new();
        for (lender, borrower, distance) in beside {
            let share = usize::try_from(distance)
                .ok()
                .and_then(|distance| LENT.get(distance.checked_sub(1)?))
                .copied()
                .unwrap_or_default();
            let own = self.candidates.get(&lender).map_or(0.0, Candidate::own);
            if share * own > 0.0 {
                *lent.entry(borrower).or_default() += share * own;
            }
        }
        let mut lent: Vec<(i64, f64)> = lent.into_iter().collect();
        lent.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        for (rank, (seq, raw)) in lent.into_iter().enumerate() {
            let even = (raw / LOAN).min(1.0);
            let score = Score {
                sense: Sense::Neighbour,
                raw,
                even,
                adds: NEIGHBOUR * even,
                rank: rank + 1,
            };
            let candidate = self.at(seq);
            candidate.scores.push(score);
            // Its neighbours are about the question, so it is not up to its own vector alone.
            candidate.withheld.clear();
        }
    }

    /// All candidates, best first; what is withheld last.
    pub(super) fn into_ranked(self) -> Vec<Candidate> {
        let mut all: Vec<Candidate> = self.candidates.into_values().collect();
        for candidate in &mut all {
            candidate.scores.sort_by_key(|score| score.sense);
        }
        all.sort_by(|a, b| {
            (a.withheld.is_empty().cmp(&b.withheld.is_empty()).reverse())
                .then(b.total().total_cmp(&a.total()))
                .then(b.seq.cmp(&a.seq))
        });
        all
    }

    pub(super) fn candidates(&mut self) -> impl Iterator<Item = &mut Candidate> {
        self.candidates.values_mut()
    }
}

/// Hits best first, each with its place from 1.
fn ranked(hits: &[Hit]) -> impl Iterator<Item = (Hit, usize)> {
    let mut hits = hits.to_vec();
    hits.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then(a.seq.cmp(&b.seq)).then(a.ordinal.cmp(&b.ordinal))
    });
    hits.into_iter().enumerate().map(|(rank, hit)| (hit, rank + 1))
}
