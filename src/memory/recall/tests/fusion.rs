//! Fusion of layers and loans of neighbours.

use super::super::fuse::{Candidate, Reading, Sheet};
use crate::memory::{Found, Hit, Sense};

fn hits(all: &[(i64, u32, f64)]) -> Option<Result<Vec<Hit>, crate::memory::StoreError>> {
    Some(Ok(all
        .iter()
        .map(|(seq, ordinal, score)| Hit { seq: *seq, ordinal: *ordinal, score: *score })
        .collect()))
}

fn ranked(found: &Found, beside: &[(i64, i64, u32)]) -> Vec<Candidate> {
    let reading = Reading { terms: 1, entities: 2, calibrate: &|cosine| cosine, threshold: 0.35 };
    let mut sheet = Sheet::gather(found, &reading);
    sheet.lend(beside.iter().copied());
    sheet.into_ranked()
}

fn seqs(all: &[Candidate]) -> Vec<i64> {
    all.iter().filter(|one| one.withheld.is_empty()).map(|one| one.seq).collect()
}

#[test]
fn a_trigger_stands_above_all_other_layers_together() {
    let found = Found {
        trigger: hits(&[(1, 0, 1.0)]),
        words: hits(&[(2, 0, 9.0)]),
        vector: hits(&[(2, 0, 0.99)]),
        entity: hits(&[(2, 0, 2.0)]),
        ..Found::default()
    };
    let all = ranked(&found, &[(2, 2, 1)]);
    assert_eq!(seqs(&all), [1, 2]);
}

#[test]
fn what_two_layers_find_stands_above_what_one_finds() {
    let found = Found {
        words: hits(&[(1, 0, 8.0), (2, 0, 7.0)]),
        vector: hits(&[(3, 0, 0.7), (2, 0, 0.6)]),
        ..Found::default()
    };
    assert_eq!(ranked(&found, &[]).first().unwrap().seq, 2);
}

#[test]
fn the_best_chunk_counts_and_not_the_sum() {
    let padded: Vec<(i64, u32, f64)> = (0..9).map(|ordinal| (1, ordinal, 4.0)).collect();
    let found =
        Found { words: hits(&[padded.as_slice(), &[(2, 0, 4.5)]].concat()), ..Found::default() };
    let all = ranked(&found, &[]);
    assert_eq!(seqs(&all), [2, 1]);
    assert_eq!(all.last().unwrap().chunks.len(), 9);
}

#[test]
fn words_and_vector_count_together_only_in_one_chunk() {
    let found = Found {
        words: hits(&[(1, 0, 5.0), (2, 0, 5.0)]),
        vector: hits(&[(1, 1, 0.8), (2, 0, 0.8)]),
        ..Found::default()
    };
    assert_eq!(seqs(&ranked(&found, &[])), [2, 1]);
}

#[test]
fn vectors_alone_bring_nothing_below_the_threshold() {
    let found = Found {
        words: hits(&[(1, 0, 1.0)]),
        vector: hits(&[(1, 0, 0.2), (2, 0, 0.34), (3, 0, 0.36)]),
        ..Found::default()
    };
    let all = ranked(&found, &[]);
    assert_eq!(seqs(&all), [1, 3]);
    let below = all.iter().find(|one| one.seq == 2).unwrap();
    assert!(below.withheld.starts_with("below the threshold"), "{}", below.withheld);
}

#[test]
fn a_neighbour_of_a_hit_comes_up_and_the_nearer_one_first() {
    let found = Found { words: hits(&[(5, 0, 3.0), (90, 0, 0.1)]), ..Found::default() };
    let all = ranked(&found, &[(5, 7, 2), (5, 6, 1), (5, 9, 4)]);
    assert_eq!(seqs(&all), [5, 6, 7, 90]);
    let lent = all.get(1).unwrap().of(Sense::Neighbour).unwrap();
    assert_eq!((lent.rank, lent.adds > 0.0), (1, true));
}

#[test]
fn what_is_below_the_threshold_lends_nothing() {
    let found = Found { vector: hits(&[(5, 0, 0.2)]), ..Found::default() };
    let reading = Reading { terms: 1, entities: 0, calibrate: &|cosine| cosine, threshold: 0.35 };
    assert_eq!(Sheet::gather(&found, &reading).lenders(10), Vec::<i64>::new());
}

#[test]
fn scores_stay_within_one() {
    let found = Found {
        trigger: hits(&[(1, 0, 1.0)]),
        words: hits(&[(1, 0, 4.0), (2, 0, 4.0), (3, 0, 4.0)]),
        vector: hits(&[(1, 0, 1.0), (2, 0, 1.0), (3, 0, 1.0)]),
        entity: hits(&[(1, 0, 2.0)]),
        image: hits(&[(1, 0, 1.0)]),
        ..Found::default()
    };
    let all = ranked(&found, &[(2, 1, 1), (3, 1, 1), (2, 1, 2), (3, 1, 2)]);
    assert!(all.iter().all(|one| (0.0..=1.0).contains(&one.total())));
    assert_eq!(all.first().unwrap().seq, 1);
}

#[test]
fn a_chance_hit_of_one_word_does_not_stand_above_what_is_alike() {
    let found =
        Found { words: hits(&[(1, 0, 3.0)]), vector: hits(&[(2, 0, 0.5)]), ..Found::default() };
    let first = |terms| {
        let reading = Reading { terms, entities: 0, calibrate: &|cosine| cosine, threshold: 0.35 };
        Sheet::gather(&found, &reading).into_ranked().first().unwrap().seq
    };
    assert_eq!(first(8), 2, "one word of eight");
    assert_eq!(first(1), 1, "all of the question");
}
