//! What a call waits for its record, one call at a time; and the verification of many records. In
//! this process.

use std::time::Instant;

use futures::StreamExt;
use serde_json::json;
use switchboard::call::CallId;
use switchboard::ledger::{Against, Config, Ledger, Record, verify};

use crate::measure::{Samples, figure, row};

const RECORDS: usize = 200_000;
/// Of them, those that are kept one after the other, as a single caller meets it.
const SINGLE: usize = 5_000;

pub async fn run() {
    let folder = tempfile::TempDir::new().unwrap();
    let config = Config { path: folder.path().join("ledger.db"), ..Config::default() };
    let ledger = Ledger::open(&config).unwrap();
    // About as long as the reply of a small tool.
    let reply = json!({ "tool_name": "text.stats", "data": "x".repeat(500) }).to_string();
    let mut waited = Samples::default();
    for number in 0..SINGLE {
        let begun = Instant::now();
        ledger.record(record(number), &reply).await.unwrap();
        waited.time(begun.elapsed());
    }
    let kept =
        futures::stream::iter(SINGLE..RECORDS).map(|number| ledger.record(record(number), &reply));
    kept.buffer_unordered(256).for_each(|kept| async { kept.unwrap() }).await;
    ledger.close().await.unwrap();
    let mut rate = Samples::default();
    for _ in 0..5 {
        let begun = Instant::now();
        let found = verify(&config.path, &Against::default()).unwrap();
        assert!(found.holds() && found.records as usize == RECORDS);
        rate.add(RECORDS as f64 / begun.elapsed().as_secs_f64());
    }
    figure("ledger.record.p50", waited.median(), "ms");
    figure("ledger.record.p99", waited.quantile(0.99), "ms");
    row("ledger.verify.records", RECORDS, "records");
    figure("ledger.verify.rate", rate.median(), "records/s");
}

fn record(number: usize) -> Record {
    Record {
        call_id: CallId::generate().to_string(),
        received: jiff::Timestamp::now(),
        caller: "uid:1000".to_owned(),
        tenant: "default".to_owned(),
        tool_name: "text.stats".to_owned(),
        arguments_json: json!({ "text": format!("number {number}") }).to_string(),
        ..Record::default()
    }
}
