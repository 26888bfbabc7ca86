//! Kin of the best hit: units that name the same things, or stand in the same short series, are more
//! likely about the question than others that are as like it, and some of them say it in another
//! language. The best candidates in, the same with what the best of all lends them out. Asks nothing.

use std::collections::HashSet;

use super::Recall;
use crate::memory::{Question, Recollection, Score, Sense};

/// What part of the best score is lent to a unit that names all the same things.
const LENT: f64 = 0.1;
/// What a place in the same series says, beside the same things.
const SERIES: f64 = 0.7;
/// Members of a series among the candidates up to which it is about one thing.
const SHORT: usize = 20;
/// From which kinship on a unit is given that is not similar enough by itself.
const NEAR: f64 = 0.25;

impl Recall {
    /// Lets the best hit lend to its kin.
    pub(super) fn kin(question: &Question, found: &mut [Recollection]) {
        if question.without.contains(&Sense::Neighbour) {
            return;
        }
        let given = found.iter().enumerate().filter(|(_, one)| one.withheld.is_empty());
        let Some((first, best)) = given.max_by(|(_, a), (_, b)| a.score.total_cmp(&b.score)) else {
            return;
        };
        let shares = shares(best, found);
        let lends = LENT * best.score;
        for (at, (one, share)) in found.iter_mut().zip(shares).enumerate() {
            if at == first || share <= 0.0 || (!one.withheld.is_empty() && share < NEAR) {
                continue;
            }
            one.withheld.clear();
            borrow(one, (share, lends * share));
        }
        rank(found);
    }
}

/// How much kin each is to the best, 0..1.
fn shares(best: &Recollection, found: &[Recollection]) -> Vec<f64> {
    let place = |one: &Recollection| {
        let draft = &one.version.draft;
        (!draft.group.is_empty()).then(|| (draft.collection.clone(), draft.group.clone()))
    };
    let (things, series) = (things(best), place(best));
    let beside = |one: &Recollection| series.is_some() && place(one) == series;
    let short = found.iter().filter(|one| beside(one)).count() <= SHORT;
    let share = |one: &Recollection| {
        let own = self::things(one);
        let least = own.len().min(things.len());
        let same =
            if least == 0 { 0.0 } else { float(own.intersection(&things).count()) / float(least) };
        same.max(if short && beside(one) { SERIES } else { 0.0 })
    };
    found.iter().map(share).collect()
}

/// What a unit names, in one spelling.
fn things(one: &Recollection) -> HashSet<String> {
    one.version.draft.entities.iter().map(|entity| entity.value.trim().to_lowercase()).collect()
}

fn borrow(one: &mut Recollection, (share, adds): (f64, f64)) {
    match one.scores.iter_mut().find(|score| score.sense == Sense::Neighbour) {
        Some(score) => score.adds += adds,
        None => {
            let sense = Sense::Neighbour;
            one.scores.push(Score { sense, raw: share, even: share, adds, rank: 0 });
            one.scores.sort_by_key(|score| score.sense);
        }
    }
    one.total();
}

/// The order of all loans, anew.
fn rank(found: &mut [Recollection]) {
    let loans = found.iter_mut().flat_map(|one| one.scores.iter_mut());
    let mut loans: Vec<&mut Score> = loans.filter(|one| one.sense == Sense::Neighbour).collect();
    loans.sort_by(|a, b| b.adds.total_cmp(&a.adds));
    for (at, score) in loans.into_iter().enumerate() {
        score.rank = at + 1;
    }
}

fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
