//! How new records are found.

use super::*;
use crate::call::CallId;
use crate::ledger::{Config as LedgerConfig, Record};

#[tokio::test]
async fn since_reads_every_page_and_stops_at_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let config = LedgerConfig { path: path.clone(), ..LedgerConfig::default() };
    let ledger = ledger::Ledger::open(&config).unwrap();
    for _ in 0..250 {
        let record = Record {
            call_id: CallId::generate().to_string(),
            received: Timestamp::now(),
            ..Record::default()
        };
        ledger.record(record, "{}").await.unwrap();
    }
    let seqs = async |last: u64| -> Vec<u64> {
        since(&ledger, last).await.unwrap().iter().map(|entry| entry.seq).collect()
    };
    assert_eq!(seqs(0).await, (1..=250).collect::<Vec<_>>());
    assert_eq!(seqs(50).await, (51..=250).collect::<Vec<_>>());
    assert_eq!(seqs(249).await, [250]);
    assert_eq!(seqs(250).await, [0; 0]);
    assert_eq!(seqs(900).await, [0; 0]);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute("DELETE FROM call WHERE seq BETWEEN 11 AND 240", []).unwrap();
    assert_eq!(seqs(10).await, (241..=250).collect::<Vec<_>>());
    assert_eq!(seqs(5).await, (6..=10).chain(241..=250).collect::<Vec<_>>());
    assert_eq!(seqs(100).await, (241..=250).collect::<Vec<_>>());
}
