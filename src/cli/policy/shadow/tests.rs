use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::call::CallId;
use crate::ledger::{Config, Record};
use crate::policy::{Decision, Flip, Ruling, Said};

/// A ledger with one record for each flip, a second apart; `None` is a call without one.
async fn ledger(flips: &[(&str, Option<(Said, &str)>)]) -> (tempfile::TempDir, Ledger) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    // The records are older than what is kept by default.
    let config = Config { path, retention_days: 0, ..Config::default() };
    let ledger = Ledger::open(&config).unwrap();
    let start: Timestamp = "2026-01-31T12:00:00Z".parse().unwrap();
    let mut at = start;
    for (tool, flip) in flips {
        let shadow = flip.map(|(outcome, version)| Flip {
            from: Said::Permit,
            outcome,
            policies: vec!["new".into()],
            version: version.into(),
        });
        let record = Record {
            call_id: CallId::generate().to_string(),
            received: at,
            tool_name: (*tool).into(),
            decision: Some(Decision {
                ruling: Ruling::Permit,
                policies: vec!["old".into()],
                version: "v0".into(),
                approval: None,
            }),
            shadow,
            ..Record::default()
        };
        ledger.record(record, "{}").await.unwrap();
        at += SignedDuration::from_secs(1);
    }
    (folder, ledger)
}

#[tokio::test]
async fn flips_are_counted_by_candidate_tool_and_kind_with_the_last_as_example() {
    let deny = Some((Said::Deny, "v1"));
    let (_folder, ledger) = ledger(&[
        ("a", deny),
        ("a", None),
        ("a", deny),
        ("a", Some((Said::Error, "v1"))),
        ("b", deny),
        ("a", Some((Said::Deny, "v2"))),
    ])
    .await;
    let found = gather(&ledger, Query::default(), "", u64::MAX).await.unwrap();
    let told: Vec<_> = found
        .kinds
        .values()
        .map(|kind| (&*kind.version, &*kind.tool, &*kind.from, &*kind.to, kind.calls))
        .collect();
    assert_eq!(
        told,
        [
            ("v1", "a", "permit", "deny", 2),
            ("v1", "a", "permit", "error", 1),
            ("v1", "b", "permit", "deny", 1),
            ("v2", "a", "permit", "deny", 1),
        ]
    );
    let first = found.kinds.values().next().unwrap();
    let range = (when(first.first), when(first.last));
    assert_eq!(range, ("2026-01-31T12:00:00Z".to_owned(), "2026-01-31T12:00:02Z".to_owned()));
    let all = ledger.search(Query::default()).await.unwrap();
    assert_eq!(first.example.call_id, all[3].call_id);
    assert_eq!(first.example.active, ["old"]);
    assert_eq!(first.example.candidate, ["new"]);
    let kinds: Vec<&Kind> = found.kinds.values().collect();
    let sum = sum(&found, &kinds);
    assert_eq!((&sum["records"], &sum["flips"]), (&json!(6), &json!(5)));
    assert_eq!(sum["totals"], json!({ "permit -> deny": 4, "permit -> error": 1 }));
}

#[tokio::test]
async fn records_tools_and_candidates_can_be_chosen() {
    let flips: Vec<_> = (0..2500).map(|_| ("a", Some((Said::Deny, "v1")))).collect();
    let (_folder, ledger) = ledger(&flips).await;
    let count = async |query: Query, candidate: &str, most: u64| {
        let found = gather(&ledger, query, candidate, most).await.unwrap();
        (found.records, found.kinds.values().map(|kind| kind.calls).sum::<u64>())
    };
    assert_eq!(count(Query::default(), "", u64::MAX).await, (2500, 2500));
    assert_eq!(count(Query::default(), "", 1200).await, (1200, 1200));
    assert_eq!(count(Query::default(), "v2", u64::MAX).await, (2500, 0));
    let other = Query { tool: Some("b".into()), ..Query::default() };
    assert_eq!(count(other, "", u64::MAX).await, (0, 0));
}
