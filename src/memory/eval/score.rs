//! Counting: answers and what they should have had in, recall and reciprocal ranks out.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::questions::Labelled;
use super::{Line, PLACES, TOP_K, Violation, percentile};
use crate::memory::{Recalled, Recollection, Sense};

/// What one question came to.
#[derive(Debug, Clone)]
struct One {
    language: String,
    kind: String,
    /// Places of the relevant ones, from 1; `None` for one that was not found.
    places: Vec<Option<usize>>,
    never: usize,
}

/// All questions of a round.
#[derive(Debug, Default)]
pub(super) struct Tally {
    ones: Vec<One>,
    times: Vec<Duration>,
    pub(super) violations: Vec<Violation>,
    pub(super) failed: BTreeMap<Sense, String>,
}

fn is(hit: &Recollection, id: &str) -> bool {
    hit.version.draft.source_id == id || hit.version.unit.as_str() == id || hit.evidence() == id
}

impl Tally {
    /// Counts one answer. What must never come back counts within the first 20.
    pub(super) fn add(&mut self, labelled: &Labelled, answer: &Recalled, took: Duration) {
        let place = |id: &String| answer.hits.iter().position(|hit| is(hit, id)).map(|at| at + 1);
        let relevant: BTreeSet<&String> = labelled.relevant.iter().collect();
        let mut never = 0;
        for id in &labelled.never {
            if let Some(place) = place(id).filter(|place| *place <= TOP_K) {
                never += 1;
                self.violations.push(Violation {
                    question: labelled.id.clone(),
                    unit: id.clone(),
                    place,
                });
            }
        }
        self.ones.push(One {
            language: labelled.language.clone(),
            kind: labelled.kind.clone(),
            places: relevant.into_iter().map(place).collect(),
            never,
        });
        self.times.push(took);
        for (sense, why) in &answer.failed {
            self.failed.entry(*sense).or_insert_with(|| why.clone());
        }
    }

    /// Share of the relevant ones among the first `top`, on average over the questions.
    pub(super) fn recall_at(&self, top: usize) -> f64 {
        recall(&self.ones.iter().collect::<Vec<_>>(), top)
    }

    pub(super) fn line(&self) -> Line {
        line(&self.ones.iter().collect::<Vec<_>>())
    }

    pub(super) fn by_language(&self) -> Vec<(String, Line)> {
        self.by(|one| &one.language)
    }

    pub(super) fn by_kind(&self) -> Vec<(String, Line)> {
        self.by(|one| &one.kind)
    }

    fn by(&self, of: fn(&One) -> &String) -> Vec<(String, Line)> {
        let mut groups: BTreeMap<&String, Vec<&One>> = BTreeMap::new();
        for one in &self.ones {
            groups.entry(of(one)).or_default().push(one);
        }
        groups.into_iter().map(|(name, ones)| (name.clone(), line(&ones))).collect()
    }

    /// Milliseconds that half and 95 of a hundred questions took at most.
    pub(super) fn millis(&self) -> (f64, f64) {
        let mut times = self.times.clone();
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        (millis(percentile(&mut times, 50)), millis(percentile(&mut times, 95)))
    }
}

fn line(ones: &[&One]) -> Line {
    let labelled: Vec<&&One> = ones.iter().filter(|one| !one.places.is_empty()).collect();
    let first = |one: &&&One| one.places.iter().flatten().min().copied();
    let reciprocal = labelled.iter().filter_map(first).map(|place| 1.0 / float(place));
    Line {
        questions: ones.len(),
        recall: PLACES.map(|place| recall(ones, place)),
        mrr: reciprocal.fold(0.0, |sum, one| sum + one) / float(labelled.len().max(1)),
        never: ones.iter().map(|one| one.never).sum(),
    }
}

fn recall(ones: &[&One], top: usize) -> f64 {
    let mut shares = 0.0;
    let mut count = 0;
    for one in ones.iter().filter(|one| !one.places.is_empty()) {
        let found = one.places.iter().flatten().filter(|place| **place <= top).count();
        shares += float(found) / float(one.places.len());
        count += 1;
    }
    shares / float(count.max(1))
}

fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
