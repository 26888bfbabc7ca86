//! Several daemons on one schema: of each write one takes charge, and none is lost with its daemon.

use std::collections::{BTreeMap, HashSet};
use std::slice::from_ref;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::super::super::{Stage, Store, Write};
use super::super::kit::ask_words;
use super::super::kit::{TENANT, draft, put, scope, seqs, settlement, version, write};
use super::Server;
use crate::admission::Caller;
use crate::memory::seals::Seals;
use crate::memory::{Collections, Parts, Rights, UpkeepConfig, Writing, WritingConfig};

fn write_to(collection: &str, source: &str, text: &str) -> Write {
    let mut draft = draft(text);
    (draft.collection, draft.source_id) = (collection.to_owned(), source.to_owned());
    write(draft)
}

async fn settle(store: &dyn Store, write: &Write) {
    let mut version = version(&write.draft.text);
    version.draft = write.draft.clone();
    store.settle(vec![settlement(&write.receipt, version)]).await.unwrap();
}

#[tokio::test]
async fn a_collection_is_in_the_charge_of_one_daemon_at_a_time() {
    let server = Server::new();
    let (one, two) = (server.store().await, server.store().await);
    let [a, b, c] = [("notes", "a"), ("notes", "b"), ("manuals", "c")]
        .map(|(collection, source)| write_to(collection, source, source));
    one.accept(vec![a.clone(), b.clone(), c.clone()]).await.unwrap();
    assert_eq!(one.waiting(None, 1).await.unwrap(), from_ref(&a));
    assert_eq!(two.waiting(None, 9).await.unwrap(), from_ref(&c), "notes are in other hands");
    assert_eq!(one.waiting(Some(&a.receipt), 9).await.unwrap(), from_ref(&b));
    settle(&*one, &a).await;
    assert_eq!(two.waiting(Some(&c.receipt), 9).await.unwrap(), []);
    settle(&*one, &b).await;
    let d = write_to("notes", "d", "d");
    one.accept(vec![d.clone()]).await.unwrap();
    assert_eq!(two.waiting(Some(&c.receipt), 9).await.unwrap(), [d], "notes were free again");
    assert_eq!(one.waiting(Some(&b.receipt), 9).await.unwrap(), []);
}

#[tokio::test]
async fn what_a_daemon_had_in_charge_goes_to_another_when_it_ends() {
    let server = Server::new();
    let (one, two) = (server.store().await, server.store().await);
    let writes: Vec<Write> = ["a", "b", "c"].map(|source| write_to("notes", source, source)).into();
    two.accept(writes.clone()).await.unwrap();
    assert_eq!(one.waiting(None, 2).await.unwrap(), writes[..2]);
    settle(&*one, &writes[0]).await;
    assert_eq!(two.waiting(None, 9).await.unwrap(), []);
    one.close().await.unwrap();
    drop(one);
    let mut found = Vec::new();
    while found.is_empty() {
        // The server notices at its own pace.
        found = two.waiting(None, 9).await.unwrap();
    }
    assert_eq!(found, writes[1..]);
}

/// Each settles what it is given, until nothing waits any more.
async fn work(store: Arc<dyn Store>, left: &tokio::sync::Mutex<HashSet<String>>) -> Vec<String> {
    let mut done = Vec::new();
    loop {
        for write in store.waiting(None, 7).await.unwrap() {
            settle(&*store, &write).await;
            let new = left.lock().await.remove(&write.receipt);
            assert!(new, "{} was settled by two", write.draft.text);
            done.push(write.receipt);
        }
        if left.lock().await.is_empty() {
            return done;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn daemons_that_work_together_settle_each_write_once_and_in_order() {
    let server = Server::new();
    let stores = futures::future::join_all((0..3).map(|_| server.store())).await;
    let mut writes = Vec::new();
    for number in 0..120 {
        let (collection, source) = (format!("c{}", number % 5), format!("s{}", number % 10));
        writes.push(write_to(&collection, &source, &format!("text {number}")));
    }
    for (at, part) in writes.chunks(10).enumerate() {
        stores[at % 3].accept(part.to_vec()).await.unwrap();
    }
    let left = writes.iter().map(|write| write.receipt.clone()).collect();
    let left = tokio::sync::Mutex::new(left);
    let done =
        futures::future::join_all(stores.iter().map(|store| work(Arc::clone(store), &left))).await;
    assert_eq!(done.iter().map(Vec::len).sum::<usize>(), 120);
    let mut last: BTreeMap<(String, String), i64> = BTreeMap::new();
    for write in &writes {
        let receipt = stores[0].receipt(TENANT, &write.receipt).await.unwrap().unwrap();
        let key = (write.draft.collection.clone(), write.draft.source_id.clone());
        let seq = receipt.stored.unwrap().1;
        let before = last.insert(key, seq);
        assert!(before < Some(seq), "the later write of a source id is recorded later");
    }
    let all = stores[1].load(TENANT, &(1..=120).collect::<Vec<_>>()).await.unwrap();
    assert!(all.windows(2).all(|two| two[0].recorded < two[1].recorded));
}

#[tokio::test]
async fn what_one_daemon_stores_the_other_finds() {
    let server = Server::new();
    let (one, two) = (server.store().await, server.store().await);
    let first = put(&*one, version("the pump")).await;
    let second = put(&*two, version("the valve")).await;
    assert_eq!(seqs(&ask_words(&*two, &scope(), "pump").await), [first]);
    assert_eq!(seqs(&ask_words(&*one, &scope(), "valve").await), [second]);
}

const NOTES: &str = r#"
name = "notes"
description = "notes"
layer = "notes"
kinds = ["knowledge"]
sources = ["*"]
origin = "person"
trust = { person = 60 }
access = { read = ["any"], write = ["any"], review = ["role:reviewer"] }
"#;

/// The write path of a daemon; one that is stopped takes writes and works none off.
async fn writing(
    store: Arc<dyn Store>,
    collections: &Arc<ArcSwap<Collections>>,
    stop: &CancellationToken,
) -> Writing {
    let parts = Parts {
        store,
        embedder: None,
        collections: Arc::clone(collections),
        seals: Arc::new(Seals::new(std::path::PathBuf::new())),
        upkeep: UpkeepConfig { every: Duration::ZERO, ..UpkeepConfig::default() },
        tasks: TaskTracker::new(),
        stop: stop.clone(),
    };
    Writing::start(parts, WritingConfig::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_daemon_settles_is_waited_for() {
    let server = Server::new();
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("memory")).unwrap();
    std::fs::write(home.path().join("memory/notes.toml"), NOTES).unwrap();
    let (collections, problems) = Collections::load(home.path());
    assert!(problems.is_empty(), "{problems:?}");
    let collections = Arc::new(ArcSwap::from_pointee(collections));
    let (ends, stopped) = (CancellationToken::new(), CancellationToken::new());
    stopped.cancel();
    let works = writing(server.store().await, &collections, &ends).await;
    let takes = writing(server.store().await, &collections, &stopped).await;
    let caller = Caller { name: "ann".into(), tenant: TENANT.into(), roles: Vec::new() };
    let rights = Rights::of(&caller, &collections.load());
    let mut one = draft("A rule of the house that holds.");
    one.collection = "notes".into();
    // The one that works has nothing of its own to wake it, and tells the other nothing.
    let wait = Some(Duration::from_secs(25));
    let receipt = takes.remember(&rights, vec![one], wait).await.remove(0).unwrap();
    assert_eq!(receipt.stage, Stage::Stored, "{receipt:?}");
    drop(works);
    ends.cancel();
}
