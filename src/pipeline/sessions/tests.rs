use jiff::Timestamp;
use tempfile::TempDir;

use super::*;
use crate::ledger::{Config, Record};

fn open() -> (TempDir, Ledger) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = Ledger::open(&Config { path, ..Config::default() }).unwrap();
    (folder, ledger)
}

fn caller(name: &str, tenant: &str) -> Caller {
    Caller { name: name.into(), tenant: tenant.into(), roles: Vec::new() }
}

fn call(conversation: &str) -> Call {
    let mut call = Call::new("probe.cat", "{}");
    call.conversation = conversation.into();
    call
}

/// Records a call as the pipeline does.
async fn make(sessions: &Sessions, ledger: &Ledger, (call, by): (&Call, &Caller), taint: &[Taint]) {
    let held = sessions.hold(call, by, ledger).await.unwrap();
    let taint: BTreeSet<Taint> = taint.iter().copied().collect();
    let record = Record {
        call_id: call.id.to_string(),
        received: Timestamp::now(),
        caller: by.name.clone(),
        tenant: by.tenant.clone(),
        conversation: call.conversation.clone(),
        tool_name: call.tool.clone(),
        session: held.as_ref().map(Held::now),
        taint: taint.clone(),
        ..Record::default()
    };
    ledger.record(record, "{}").await.unwrap();
    if let Some(held) = held {
        held.add(&taint);
    }
}

async fn met(sessions: &Sessions, ledger: &Ledger, call: &Call, by: &Caller) -> Session {
    sessions.hold(call, by, ledger).await.unwrap().unwrap().now()
}

#[tokio::test]
async fn a_conversation_is_its_callers_own() {
    let ((_folder, ledger), sessions) = (open(), Sessions::default());
    let own = caller("a", "north");
    make(&sessions, &ledger, (&call("c1"), &own), &[Taint::Flagged]).await;
    make(&sessions, &ledger, (&call("c1"), &own), &[Taint::Outside]).await;
    let session = met(&sessions, &ledger, &call("c1"), &own).await;
    assert_eq!(session, Session { calls: 2, taint: [Taint::Flagged, Taint::Outside].into() });
    // In memory and from the ledger alike.
    for sessions in [sessions, Sessions::default()] {
        for (conversation, by) in
            [("c2", own.clone()), ("c1", caller("b", "north")), ("c1", caller("a", "south"))]
        {
            let session = met(&sessions, &ledger, &call(conversation), &by).await;
            assert_eq!(session, Session::default(), "{conversation} {by:?}");
        }
    }
}

#[tokio::test]
async fn a_call_without_a_conversation_meets_none() {
    let ((_folder, ledger), sessions) = (open(), Sessions::default());
    let own = caller("a", "north");
    make(&sessions, &ledger, (&call(""), &own), &[Taint::Flagged]).await;
    assert!(sessions.hold(&call(""), &own, &ledger).await.unwrap().is_none());
    assert_eq!(ledger.session("a", "north", "").await.unwrap(), Session::default());
}

#[tokio::test]
async fn what_memory_forgot_is_read_from_the_ledger() {
    let ((_folder, ledger), own) = (open(), caller("a", "north"));
    let sessions = Sessions { most: 4, ..Sessions::default() };
    make(&sessions, &ledger, (&call("c"), &own), &[Taint::Flagged]).await;
    for index in 0..40 {
        make(&sessions, &ledger, (&call(&index.to_string()), &own), &[]).await;
        assert!(lock(&sessions.known).len() <= 4);
    }
    let key = digest_of(["north", "a", "c"]);
    assert!(!lock(&sessions.known).contains_key(&key), "it was forgotten");
    for sessions in [sessions, Sessions::default()] {
        let session = met(&sessions, &ledger, &call("c"), &own).await;
        assert_eq!(session, Session { calls: 1, taint: [Taint::Flagged].into() });
    }
}

#[tokio::test]
async fn a_conversation_that_a_call_holds_is_not_forgotten() {
    let ((_folder, ledger), own) = (open(), caller("a", "north"));
    let sessions = Sessions { most: 4, ..Sessions::default() };
    let held = sessions.hold(&call("c"), &own, &ledger).await.unwrap().unwrap();
    for index in 0..40 {
        make(&sessions, &ledger, (&call(&index.to_string()), &own), &[]).await;
    }
    held.add(&[Taint::Outside].into());
    let session = met(&sessions, &ledger, &call("c"), &own).await;
    assert_eq!(session.taint, [Taint::Outside].into());
}

#[tokio::test]
async fn what_a_caller_sees_before_it_was_searched_counts_until_its_record_does() {
    let ((_folder, ledger), own) = (open(), caller("a", "north"));
    let sessions = Sessions::default();
    let mut watched = sessions.hold(&call("c"), &own, &ledger).await.unwrap().unwrap();
    let taint = async || met(&sessions, &ledger, &call("c"), &own).await.taint;
    watched.show(false);
    assert_eq!(taint().await, [Taint::Unsearched].into());
    let mut other = sessions.hold(&call("c"), &own, &ledger).await.unwrap().unwrap();
    other.show(true);
    assert_eq!(taint().await, [Taint::Unsearched, Taint::Outside].into());
    drop(watched);
    assert_eq!(taint().await, [Taint::Unsearched, Taint::Outside].into());
    other.add(&[Taint::Outside].into());
    drop(other);
    assert_eq!(taint().await, [Taint::Outside].into());
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_calls_count_once_each() {
    let ((_folder, ledger), own) = (open(), caller("a", "north"));
    make(&Sessions::default(), &ledger, (&call("c"), &own), &[Taint::Outside]).await;
    let sessions = Sessions::default();
    let calls: Vec<Call> = (0..50).map(|_| call("c")).collect();
    let all = calls.iter().map(|call| make(&sessions, &ledger, (call, &own), &[Taint::Flagged]));
    futures::future::join_all(all).await;
    let expected = Session { calls: 51, taint: [Taint::Flagged, Taint::Outside].into() };
    assert_eq!(met(&sessions, &ledger, &call("c"), &own).await, expected);
    assert_eq!(ledger.session("a", "north", "c").await.unwrap(), expected);
}

#[tokio::test]
async fn a_label_that_is_not_known_is_an_error() {
    let ((folder, ledger), own) = (open(), caller("a", "north"));
    make(&Sessions::default(), &ledger, (&call("c"), &own), &[Taint::Flagged]).await;
    ledger.close().await.unwrap();
    let path = folder.path().join("ledger.db");
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch("UPDATE call SET facts = replace(facts, '\"flagged\"', '\"later\"')")
        .unwrap();
    let ledger = Ledger::open_read_only(&path).unwrap();
    assert!(Sessions::default().hold(&call("c"), &own, &ledger).await.is_err());
    let other = Sessions::default().hold(&call("d"), &own, &ledger).await.unwrap();
    assert_eq!(other.unwrap().now(), Session::default());
}
