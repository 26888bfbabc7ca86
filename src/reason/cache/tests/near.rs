//! Questions in two wordings: pairs.tsv has pairs that must count as one, and pairs that never may.

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::{caller, setting};
use crate::memory::embed::{self, Embedder};
use crate::reason::cache::{Config, Shelf};

/// Whether a pair must count as one question, and the pair.
fn pairs() -> Vec<(bool, &'static str, &'static str)> {
    let lines = include_str!("pairs.tsv").lines();
    lines
        .map(|line| {
            let parts: Vec<&str> = line.split('\t').collect();
            (parts[0] == "same", parts[1], parts[2])
        })
        .collect()
}

fn embedder() -> Arc<dyn Embedder> {
    let folder = std::env::var_os("SWITCHBOARD_MODEL").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/target/model")),
        PathBuf::from,
    );
    let there = folder.join("model.toml").is_file();
    assert!(there, "no model in {}; run `deploy/model.sh`", folder.display());
    let local = embed::Local { folder, ..embed::Local::default() };
    let config = embed::Config { kind: embed::Kind::Local, local, ..embed::Config::default() };
    embed::open(&config, &TaskTracker::new()).unwrap().unwrap()
}

#[test]
fn there_are_enough_pairs_of_both_kinds() {
    let same = pairs().iter().filter(|(same, ..)| *same).count();
    assert!(same >= 25, "{same}");
    assert!(pairs().len() - same >= 40, "{}", pairs().len() - same);
}

#[test]
fn numbers_dates_names_denials_and_units_tell_questions_apart() {
    let ann = caller("ann");
    let mut wrong = Vec::new();
    for (same, one, other) in pairs() {
        let alike = |question| setting(&ann).slot(question).alike.unwrap();
        if (alike(one) == alike(other)) != same {
            wrong.push((same, one, other));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn the_embedder_finds_two_wordings_similar_and_keeps_them_apart_where_it_does_not() {
    let (ann, embedder) = (caller("ann"), embedder());
    let mut wrong = Vec::new();
    for (same, one, other) in pairs() {
        let shelf = Shelf::new("answer", &Config::default());
        let slots = [one, other].map(|question| setting(&ann).slot(question));
        shelf.keep(&slots[0], one, Config::default().ttl);
        let hit = shelf.look(&slots[1], Some(&embedder)).await;
        let equal = slots[0].equal == slots[1].equal;
        let served = hit.as_ref().map(|hit| &hit.served);
        let told = served.is_some_and(|served| served.similarity.is_some() != equal);
        if hit.is_some() != same || same && !told {
            wrong.push((same, one, other, served.cloned()));
        }
        let unasked = shelf.look(&slots[1], None).await;
        assert_eq!(unasked.is_some(), equal, "without an embedder: {one} / {other}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let strict = Shelf::new("answer", &Config { similarity: 1.0, ..Config::default() });
    let off = Shelf::new("answer", &Config { nearly: false, ..Config::default() });
    let [one, other] = ["How do I cancel an order?", "Please tell me how to cancel the order"]
        .map(|question| setting(&ann).slot(question));
    for shelf in [strict, off] {
        shelf.keep(&one, 1, Config::default().ttl);
        assert!(shelf.look(&other, Some(&embedder)).await.is_none());
    }
}
