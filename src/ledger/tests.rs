//! The ledger on real files, among other processes, and after their death.

mod crash;
mod damage;
mod masked;
mod originals;
mod seal;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::call::{CallId, Code, File, Taint};
use crate::policy::{Decision, Ruling};
use crate::schema::Change;

fn config(folder: &TempDir) -> Config {
    Config { path: folder.path().join("ledger.db"), ..Config::default() }
}

fn fresh() -> (TempDir, Ledger) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&config(&folder)).unwrap();
    (folder, ledger)
}

fn record(tool: &str) -> Record {
    Record {
        call_id: CallId::generate().to_string(),
        received: Timestamp::now(),
        caller: "uid:1000".into(),
        tenant: "north".into(),
        conversation: "c1".into(),
        tool_name: tool.into(),
        arguments_json: "{\"a\": 1.0}".into(),
        ..Record::default()
    }
}

async fn keep(ledger: &Ledger, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for index in 0..count {
        let record = record(&format!("tool.{}", index % 3));
        ids.push(record.call_id.clone());
        ledger.record(record, &format!("{{\"index\":{index}}}")).await.unwrap();
    }
    ids
}

/// What the upkeep does once an hour.
async fn prune(ledger: &Ledger) -> Result<u64, Error> {
    let before = Timestamp::now() - SignedDuration::from_hours(24 * 30);
    let (done, pruned) = oneshot::channel();
    ledger.send(Order::Prune { before, done }).await?;
    pruned.await.unwrap()
}

/// Changes the file behind the ledger's back.
fn tamper(folder: &TempDir, sql: &str) {
    let connection = Connection::open(folder.path().join("ledger.db")).unwrap();
    connection.busy_timeout(Duration::from_secs(5)).unwrap();
    connection.execute_batch(sql).unwrap();
}

#[tokio::test]
async fn record_is_read_back_as_it_was_given() {
    let (_folder, ledger) = fresh();
    let mut given = record("orders.list");
    given.code = Some(Code::PolicyDenied);
    given.arguments_digest = Some("abc".into());
    given.repairs = vec![Change {
        kind: "type".into(),
        pointer: "/limit".into(),
        from: "\"5\"".into(),
        to: "5".into(),
    }];
    given.files_in = vec![File::new("a.txt", "", "abc".into()).facts];
    given.decision = Some(Decision {
        ruling: Ruling::Deny,
        policies: vec!["never".into()],
        version: "v".into(),
        approval: None,
    });
    given.latencies.check = Some(Duration::from_micros(17));
    given.trace_id = Some("t".into());
    given.session = Some(Session { calls: 2, taint: [Taint::Outside].into() });
    given.taint = [Taint::Outside, Taint::Flagged].into();
    given.roles = vec!["clerk".into()];
    given.proof = "socket peer uid 1000 gid 1000".into();
    (given.catalog_digest, given.policy_version) = ("c".into(), "v".into());
    let reply = "{\"tool_name\":\"orders.list\",\"n\":1.0e400,\"text\":\"naïve \\u0000\"}";
    ledger.record(given.clone(), reply).await.unwrap();
    let entry = ledger.get(&given.call_id).await.unwrap().unwrap();
    assert_eq!(entry.reply_json.as_deref(), Some(reply));
    assert_eq!(entry.arguments, "{\"a\": 1.0}");
    assert_eq!((entry.seq, entry.status.as_str()), (1, "error"));
    assert_eq!(entry.code.as_deref(), Some("POLICY_DENIED"));
    assert_eq!(entry.received.as_millisecond(), given.received.as_millisecond());
    assert_eq!(
        entry.facts,
        json!({
            "roles": ["clerk"], "proof": "socket peer uid 1000 gid 1000",
            "catalog_digest": "c", "policy_version": "v",
            "tool_digest": null, "arguments_digest": "abc", "arguments_bytes": 10,
            "repairs": [{ "kind": "type", "pointer": "/limit", "from": "\"5\"", "to": "5" }],
            "files_in": [{
                "name": "a.txt", "media_type": "text/plain", "bytes": 3,
                "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            }],
            "files_out": [],
            "decision": { "outcome": "deny", "policies": ["never"], "version": "v", "approval": null },
            "handed_over": false, "run": null, "cache_hit": false, "latency_us": { "check": 17 }, "trace_id": "t",
            "session": { "calls": 2, "taint": ["outside"] }, "taint": ["flagged", "outside"],
        })
    );
    assert_eq!(ledger.get("unknown").await.unwrap(), None);
}

#[tokio::test]
async fn stored_reply_is_paged_by_bytes() {
    let (_folder, ledger) = fresh();
    let given = record("t");
    let reply = format!("\"{}\"", "ä".repeat(5000));
    ledger.record(given.clone(), &reply).await.unwrap();
    let mut read = Vec::new();
    loop {
        let page = ledger.result(&given.call_id, read.len() as u64, 999).await.unwrap().unwrap();
        assert_eq!(page.total, reply.len() as u64);
        assert_eq!((page.caller.as_str(), page.tenant.as_str()), ("uid:1000", "north"));
        if page.bytes.is_empty() {
            break;
        }
        read.extend(page.bytes);
    }
    assert_eq!(read, reply.as_bytes());
    assert_eq!(ledger.result("unknown", 0, 9).await.unwrap(), None);
}

#[tokio::test]
async fn search_returns_what_matches_newest_first_in_pages() {
    let (_folder, ledger) = fresh();
    let start = Timestamp::now();
    let mut ids = Vec::new();
    for index in 0..10_u32 {
        let mut given = record(if index % 2 == 0 { "even" } else { "odd" });
        given.received = start + Duration::from_secs(u64::from(index));
        given.caller = if index < 5 { "a" } else { "b" }.into();
        given.tenant = if index < 8 { "north" } else { "south" }.into();
        given.conversation = if index == 3 { "c3" } else { "" }.into();
        given.code = (index == 4).then_some(Code::ToolTimeout);
        ids.push(given.call_id.clone());
        ledger.record(given, "{}").await.unwrap();
    }
    let seqs = async |query: Query| -> Vec<u64> {
        let found = ledger.search(query).await.unwrap();
        assert!(found.iter().all(|entry| entry.reply_json.is_none() && entry.reply_bytes == 2));
        found.iter().map(|entry| entry.seq).collect()
    };
    let all = Query::default;
    assert_eq!(seqs(Query { tool: Some("even".into()), ..all() }).await, [9, 7, 5, 3, 1]);
    assert_eq!(seqs(Query { caller: Some("a".into()), ..all() }).await, [5, 4, 3, 2, 1]);
    assert_eq!(seqs(Query { tenant: Some("south".into()), ..all() }).await, [10, 9]);
    assert_eq!(seqs(Query { conversation: Some("c3".into()), ..all() }).await, [4]);
    assert_eq!(seqs(Query { code: Some(Code::ToolTimeout), ..all() }).await, [5]);
    assert_eq!(seqs(Query { status: Some("error".into()), ..all() }).await, [5]);
    let (since, until) = (start + Duration::from_secs(2), start + Duration::from_secs(4));
    assert_eq!(seqs(Query { since: Some(since), until: Some(until), ..all() }).await, [4, 3]);
    let page = Query { limit: Some(4), ..all() };
    assert_eq!(seqs(page.clone()).await, [10, 9, 8, 7]);
    assert_eq!(seqs(Query { before_seq: Some(7), ..page }).await, [6, 5, 4, 3]);
    let odd_of_b = Query { tool: Some("odd".into()), caller: Some("b".into()), ..all() };
    assert_eq!(seqs(odd_of_b).await, [10, 8, 6]);
    let injected = Query { tool: Some("even' OR '1'='1".into()), ..all() };
    assert_eq!(seqs(injected).await, [0; 0]);
}

#[tokio::test]
async fn chain_holds_over_a_restart() {
    let (folder, ledger) = fresh();
    keep(&ledger, 5).await;
    ledger.close().await.unwrap();
    let ledger = Ledger::open(&config(&folder)).unwrap();
    keep(&ledger, 5).await;
    let found = ledger.verify().await.unwrap();
    assert_eq!((found.records, found.pruned_to, found.head), (10, 0, 10));
    assert_eq!(found.damage, []);
}

#[tokio::test]
async fn any_change_in_the_file_shows_where_it_is() {
    for (sql, seq) in [
        ("UPDATE call SET reply = x'00' WHERE seq = 4", 4),
        ("UPDATE call SET code = 'INTERNAL' WHERE seq = 4", 4),
        ("UPDATE call SET facts = '{}' WHERE seq = 4", 4),
        ("UPDATE call SET time_ms = time_ms + 1 WHERE seq = 4", 4),
        ("UPDATE call SET caller = 'c', tenant = 'uid:1000north' WHERE seq = 4", 4),
        ("UPDATE call SET hash = zeroblob(32) WHERE seq = 4", 4),
        ("DELETE FROM call WHERE seq = 4", 4),
        ("DELETE FROM call WHERE seq = 4; UPDATE call SET seq = seq - 1 WHERE seq > 4", 4),
        ("DELETE FROM call WHERE seq > 6", 7),
        ("DELETE FROM call WHERE seq < 3", 1),
        ("DELETE FROM call WHERE seq = 8; UPDATE chain SET head_seq = 7", 7),
        ("UPDATE chain SET base_seq = 2; DELETE FROM call WHERE seq < 3", 1),
    ] {
        let (folder, ledger) = fresh();
        keep(&ledger, 8).await;
        assert_eq!(ledger.verify().await.unwrap().damage, []);
        tamper(&folder, sql);
        let found = ledger.verify().await.unwrap();
        assert_eq!(found.damage.first().and_then(|first| first.seq), Some(seq), "{sql}: {found:?}");
    }
}

#[tokio::test]
async fn records_past_their_retention_go_and_the_chain_still_holds() {
    let (folder, ledger) = fresh();
    let old = Timestamp::now() - SignedDuration::from_hours(24 * 31);
    for _ in 0..1200 {
        let mut given = record("old");
        given.received = old;
        ledger.record(given, "{}").await.unwrap();
    }
    let kept = keep(&ledger, 3).await;
    // The upkeep may have been first with some of them.
    prune(&ledger).await.unwrap();
    let found = ledger.verify().await.unwrap();
    assert_eq!((found.records, found.pruned_to, found.head), (3, 1200, 1203));
    assert_eq!(found.damage, []);
    assert!(ledger.get(&kept[0]).await.unwrap().is_some());
    ledger.close().await.unwrap();
    let ledger = Ledger::open(&config(&folder)).unwrap();
    keep(&ledger, 1).await;
    assert_eq!(ledger.verify().await.unwrap().damage, []);
    tamper(&folder, "DELETE FROM call WHERE seq = 1201");
    assert_eq!(ledger.verify().await.unwrap().damage[0].seq, Some(1201));
}

#[tokio::test]
async fn short_log_is_flushed_and_a_long_one_written_back() {
    let (folder, ledger) = fresh();
    keep(&ledger, 3).await;
    let mut log = upkeep::Log::open(&config(&folder).path).unwrap();
    let (orders, _inbox) = tokio::sync::mpsc::channel(1);
    assert_eq!(log.tend(&orders).unwrap(), upkeep::FLUSH_EVERY);
    assert!(log.pending().unwrap() > 0);
    let reply = "x".repeat(6 << 20);
    for _ in 0..3 {
        ledger.record(record("large"), &reply).await.unwrap();
    }
    // The ledger's own upkeep may be first with it.
    log.tend(&orders).unwrap();
    assert!(log.pending().unwrap() < upkeep::LONG_LOG);
}

#[tokio::test]
async fn ledger_that_was_emptied_by_pruning_opens_again() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&config(&folder)).unwrap();
    let mut given = record("old");
    given.received = Timestamp::UNIX_EPOCH;
    ledger.record(given, "{}").await.unwrap();
    prune(&ledger).await.unwrap();
    assert_eq!(ledger.search(Query::default()).await.unwrap(), []);
    ledger.close().await.unwrap();
    let ledger = Ledger::open(&config(&folder)).unwrap();
    keep(&ledger, 1).await;
    let found = ledger.verify().await.unwrap();
    assert_eq!((found.records, found.pruned_to, found.head), (1, 1, 2));
    assert_eq!(found.damage, []);
}

#[tokio::test]
async fn file_is_private_whatever_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/ledger.db");
    let config = Config { path: path.clone(), ..Config::default() };
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let ledger = Ledger::open(&config).unwrap();
    keep(&ledger, 1).await;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.db.lock"] {
        assert_eq!(mode(&path.with_file_name(name)), 0o600, "{name}");
    }
    ledger.close().await.unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let ledger = Ledger::open(&config).unwrap();
    assert_eq!(mode(&path), 0o600);
    drop(ledger);
}

#[tokio::test]
async fn file_that_is_no_ledger_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(&folder);
    fs::write(
        &config.path,
        "a shopping list, long enough to be read as a header of a page".repeat(99),
    )
    .unwrap();
    let before = fs::read(&config.path).unwrap();
    assert!(matches!(Ledger::open(&config), Err(Error::Foreign { .. })));
    assert!(matches!(Ledger::open_read_only(&config.path), Err(Error::Foreign { .. })));
    assert_eq!(fs::read(&config.path).unwrap(), before);
    fs::remove_file(&config.path).unwrap();
    tamper(&folder, "CREATE TABLE shopping (item TEXT)");
    assert!(matches!(Ledger::open(&config), Err(Error::Foreign { .. })));
    fs::remove_file(&config.path).unwrap();
    assert!(matches!(Ledger::open_read_only(&config.path), Err(Error::Open { .. })));
    let below = Config { path: config.path.join("x"), ..Config::default() };
    fs::write(&config.path, "").unwrap();
    assert!(matches!(Ledger::open(&below), Err(Error::Open { .. })));
}

#[tokio::test]
async fn damaged_shortened_and_newer_ledgers_are_refused_with_the_reason() {
    for (sql, expected) in [
        ("PRAGMA user_version = 99", "has format 99"),
        ("DELETE FROM call WHERE seq = 8", "it should hold records 1 to 8, and holds 1 to 7"),
        ("DROP TABLE chain", "no such table"),
    ] {
        let (folder, ledger) = fresh();
        keep(&ledger, 8).await;
        ledger.close().await.unwrap();
        tamper(&folder, sql);
        let message = Ledger::open(&config(&folder)).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let (folder, ledger) = fresh();
    keep(&ledger, 200).await;
    ledger.close().await.unwrap();
    // What is still in the log would mend the file.
    tamper(&folder, "PRAGMA wal_checkpoint(TRUNCATE)");
    let path = config(&folder).path;
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let error = Ledger::open(&config(&folder)).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
}

#[tokio::test]
async fn two_daemons_cannot_share_a_file() {
    let (folder, ledger) = fresh();
    assert!(matches!(Ledger::open(&config(&folder)), Err(Error::InUse { .. })));
    ledger.close().await.unwrap();
    assert!(Ledger::open(&config(&folder)).is_ok());
}

#[tokio::test]
async fn reader_beside_the_daemon_sees_each_record_and_writes_none() {
    let (folder, ledger) = fresh();
    let beside = Ledger::open_read_only(&config(&folder).path).unwrap();
    for _ in 0..3 {
        let ids = keep(&ledger, 1).await;
        assert!(beside.get(&ids[0]).await.unwrap().is_some());
    }
    assert_eq!(beside.verify().await.unwrap().records, 3);
    assert!(matches!(beside.record(record("t"), "{}").await, Err(Error::Closed)));
    assert!(matches!(prune(&beside).await, Err(Error::Closed)));
    ledger.close().await.unwrap();
    let alone = Ledger::open_read_only(&config(&folder).path).unwrap();
    assert_eq!(alone.search(Query::default()).await.unwrap().len(), 3);
}

#[tokio::test]
async fn locked_file_is_an_error_and_serves_again_when_it_is_free() {
    let (folder, ledger) = fresh();
    let other = Connection::open(folder.path().join("ledger.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = ledger.record(record("t"), "{}").await.unwrap_err();
    assert!(matches!(error, Error::Locked(_)), "{error}");
    assert!(error.failure().retry_after.is_some());
    other.execute_batch("ROLLBACK").unwrap();
    keep(&ledger, 1).await;
    assert_eq!(ledger.verify().await.unwrap().records, 1);
}

#[tokio::test]
async fn record_at_fault_does_not_take_its_neighbours_along() {
    let (_folder, ledger) = fresh();
    let twice = record("t");
    ledger.record(twice.clone(), "{}").await.unwrap();
    let others = (0..50).map(|index| {
        let given = if index % 5 == 0 { twice.clone() } else { record("t") };
        let ledger = ledger.clone();
        async move { ledger.record(given, "{}").await.is_ok() }
    });
    let kept = futures::future::join_all(others).await;
    assert_eq!(kept.iter().filter(|kept| **kept).count(), 40);
    let found = ledger.verify().await.unwrap();
    assert_eq!((found.records, found.damage), (41, vec![]));
}

#[tokio::test]
async fn closed_ledger_refuses_records_after_it_kept_those_before() {
    let (folder, ledger) = fresh();
    let clone = ledger.clone();
    let waiting = futures::future::join_all((0..100).map(|_| clone.record(record("t"), "{}")));
    let (results, closed) = tokio::join!(waiting, ledger.close());
    closed.unwrap();
    let kept = results.iter().filter(|result| result.is_ok()).count();
    let refused = results.iter().filter(|result| matches!(result, Err(Error::Closed))).count();
    assert!(kept > 0 && kept + refused == 100, "{results:?}");
    assert!(matches!(clone.record(record("t"), "{}").await, Err(Error::Closed)));
    let again = Ledger::open(&config(&folder)).unwrap();
    assert_eq!(again.verify().await.unwrap().records, kept as u64);
}

#[tokio::test]
async fn long_arguments_are_cut_at_a_character_and_their_length_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { arguments_bytes: 1000, ..config(&folder) };
    let ledger = Ledger::open(&config).unwrap();
    let mut given = record("t");
    given.arguments_json = format!("\"{}\"", "é".repeat(5000));
    ledger.record(given.clone(), "{}").await.unwrap();
    let entry = ledger.get(&given.call_id).await.unwrap().unwrap();
    assert_eq!(entry.arguments.len(), 999);
    assert_eq!(entry.facts["arguments_bytes"], json!(10_002));
}

#[tokio::test]
async fn reply_larger_than_the_queue_is_kept() {
    let (_folder, ledger) = fresh();
    let given = record("t");
    let reply = format!("\"{}\"", "x".repeat(66 << 20));
    ledger.record(given.clone(), &reply).await.unwrap();
    let page = ledger.result(&given.call_id, 65 << 20, 10).await.unwrap().unwrap();
    assert_eq!((page.total, page.bytes.as_slice()), (reply.len() as u64, &b"xxxxxxxxxx"[..]));
}
