//! Parts of the embedded store that its face cannot be asked for alone.

use std::sync::mpsc::channel;

use super::postings::Postings;
use super::vectors::{Code, Vectors};
use super::words::Bag;
use super::{Config, Sqlite};
use crate::memory::store::Store as _;

#[test]
fn many_vectors_are_shared_out_and_none_is_lost() {
    let mut seed = 9_u64;
    let mut number = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f32::from(u16::try_from(seed >> 48).unwrap()) / 32_768.0 - 1.0
    };
    let mut vectors = Vectors::new(8);
    for place in 0..70_000 {
        let vector: Vec<f32> = (0..8).map(|_| number()).collect();
        vectors.add(place, i64::from(place), &Code::new(&vector));
    }
    let question = Code::new(&[1.0, -0.5, 0.25, 0.0, 0.75, -1.0, 0.1, 0.3]);
    let places = |mut found: Vec<super::vectors::Candidate>| {
        found.sort_by_key(|candidate| candidate.id);
        found.iter().map(|candidate| candidate.place).collect::<Vec<_>>()
    };
    let shared = places(vectors.best(&question, 50, &|place| place % 3 == 0));
    let alone = places(vectors.best_of(&question, 50, &mut (0..70_000).step_by(3)));
    assert_eq!(shared.len(), 50);
    // Of equal scores at the end either may stay.
    let common = shared.iter().filter(|place| alone.contains(place)).count();
    assert!(common >= 48, "{common}");
}

async fn store(home: &tempfile::TempDir) -> Sqlite {
    let config = Config { path: home.path().join("memory.db"), ..Config::default() };
    Sqlite::open(&config).await.unwrap()
}

#[test]
fn what_is_taken_out_of_full_text_changes_no_long_list_each_time() {
    let text = |number: u32| match number % 2 {
        0 => format!("common even n{number}"),
        _ => format!("common odd n{number}"),
    };
    let bags: Vec<Bag> = (0..400).map(|number| Bag::new(&text(number))).collect();
    let (mut postings, mut fresh) = (Postings::default(), Postings::default());
    bags.iter().for_each(|bag| postings.add(bag));
    let whole = postings.bytes("common");
    postings.remove(2, &bags[2]);
    assert_eq!(postings.bytes("common"), whole, "one of many is only marked");
    assert_eq!(postings.bytes("n2"), 0, "a word that nothing else has is gone");
    for number in (0..400_u32).filter(|number| number % 4 == 0) {
        postings.remove(number, &bags[usize::try_from(number).unwrap()]);
    }
    assert!(postings.bytes("common") < whole, "a list is made anew when much of it is gone");
    let left: Vec<usize> = (0..400).filter(|number| number % 4 != 0 && *number != 2).collect();
    left.iter().for_each(|number| fresh.add(&bags[*number]));
    for terms in [vec!["common".to_owned()], vec!["even".to_owned(), "common".to_owned()]] {
        let mut found = postings.score(&terms, &|_| true);
        let mut expected: Vec<(usize, f32)> = fresh
            .score(&terms, &|_| true)
            .into_iter()
            .map(|(chunk, score)| (left[chunk], score))
            .collect();
        found.sort_by_key(|(chunk, _)| *chunk);
        expected.sort_by_key(|(chunk, _)| *chunk);
        assert_eq!(found, expected, "as if it had never been there");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_nobody_waits_for_any_more_keeps_its_turn() {
    let home = tempfile::tempdir().unwrap();
    let store = store(&home).await;
    let all = store.readers.turns.available_permits();
    let mut waiting = Vec::new();
    for _ in 0..all {
        let (begun, began) = channel();
        let (go, wait) = channel::<()>();
        let read = store.read(move |_, _| {
            begun.send(go).unwrap();
            wait.recv().unwrap_or_default();
            Ok(())
        });
        let began = tokio::task::spawn_blocking(move || began.recv().unwrap());
        // Its caller goes away while the thread reads.
        tokio::select! {
            biased;
            go = began => waiting.push(go.unwrap()),
            _ = read => panic!("it waits"),
        }
    }
    assert_eq!((store.readers.turns.available_permits(), waiting.len()), (0, all));
}

/// Whether file or log hold a text.
fn held(home: &tempfile::TempDir, text: &str) -> bool {
    ["memory.db", "memory.db-wal"].iter().any(|name| {
        let bytes = std::fs::read(home.path().join(name)).unwrap_or_default();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

#[tokio::test]
async fn the_log_is_emptied_when_nobody_reads_what_was_there_before() {
    let home = tempfile::tempdir().unwrap();
    let store = store(&home).await;
    let draft =
        crate::memory::Draft::new("notes", "Zebrafinkenkasten", "1", crate::memory::Kind::Case);
    let write = crate::memory::store::Write {
        receipt: "one".into(),
        tenant: "acme".into(),
        caller: "ann".into(),
        draft,
        arrived: "2026-03-01T09:00:00Z".parse().unwrap(),
        ruling: String::new(),
    };
    store.accept(vec![write]).await.unwrap();
    let path = home.path().join("memory.db");
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM inbox").unwrap();
    store.write(|step| Ok(step.connection.execute("DELETE FROM inbox", [])?)).await.unwrap();
    store.empty_log_in(1).await.unwrap();
    assert!(held(&home, "Zebrafinkenkasten"), "it is read still");
    reader.execute_batch("COMMIT").unwrap();
    // The upkeep of the file goes on trying.
    while held(&home, "Zebrafinkenkasten") {
        tokio::task::yield_now().await;
    }
}
