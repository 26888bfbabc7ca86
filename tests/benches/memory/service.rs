//! The memory as its clients meet it: a real daemon without an embedder, units over the stream of
//! imports, each through gate, redaction, screen and conflict check; then the daemon again on what it
//! holds. Units in, figures out.

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard::proto::memory::memory_service_client::MemoryServiceClient;
use switchboard::proto::memory::remember_many_response::written::Outcome;
use switchboard::proto::memory::{
    Draft, Entity, GetReceiptRequest, Kind, RememberManyRequest, Stage, StatsRequest,
};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;

use super::data::{Files, OPEN, Row};
use super::ours::{day, number_in};
use crate::daemon::{Daemon, Setup, eventually};
use crate::measure::{figure, resident, spent};

/// What the units are written to: as in the labelled set, without what a bench need not declare.
const MANUALS: &str = r#"
name = "bench"
description = "Manuals, for a bench."
layer = "curated"
kinds = ["knowledge"]
sources = ["manual/*"]
origin = "person"
trust = { person = 100 }

[metadata.product_line]
type = "integer"

[access]
read = ["any"]
write = ["any"]
review = ["any"]
"#;
/// Who writes to a curated collection is its curator; the bench has one caller, who may.
const WRITERS: &str = r#"
@id("bench-writes")
@owner("bench")
permit (principal, action, resource == Switchboard::Collection::"bench");
"#;
/// Drafts on their way to the daemon.
const AHEAD: usize = 1024;
/// Longest wait of the service for one receipt, in milliseconds.
const HOLD: u32 = 60_000;

/// Measures an import of `units` units and a start with them.
pub async fn run(name: &str, files: &Files, units: usize) {
    let setup = Setup::new()
        .policy("memory/bench.toml", MANUALS)
        .policy("memory/bench.cedar", WRITERS)
        .config("[memory.embedder]\nkind = \"none\"\n");
    let mut daemon = setup.start_unready().await;
    let mut client = open(&daemon).await;
    let (begun, before) = (Instant::now(), spent(daemon.pid()));
    let last = import(&mut client, files, units).await;
    let acknowledged = begun.elapsed();
    let mut stage = Stage::Accepted;
    while stage == Stage::Accepted {
        let asked = GetReceiptRequest { receipt_id: last.clone(), wait_ms: HOLD };
        stage = client.get_receipt(asked).await.unwrap().into_inner().stage();
    }
    assert_eq!(stage, Stage::Stored, "{last}");
    let (stored, used) = (begun.elapsed(), spent(daemon.pid()) - before);
    let rate = |took: Duration| units as f64 / took.as_secs_f64();
    figure(&format!("{name}.acknowledged.rate"), rate(acknowledged), "units/s");
    figure(&format!("{name}.import.rate"), rate(stored), "units/s");
    let each = used.as_secs_f64() * 1e6 / units as f64;
    figure(&format!("{name}.import.processor"), each, "us/unit");
    figure(&format!("{name}.import.resident"), resident(daemon.pid()), "MiB");

    drop(client);
    daemon.signal("TERM");
    assert_eq!(daemon.wait(), Some(0));
    let begun = Instant::now();
    let daemon = daemon.restart().await;
    drop(open(&daemon).await);
    figure(&format!("{name}.start"), begun.elapsed().as_secs_f64() * 1000.0, "ms");
    let used = spent(daemon.pid()).as_secs_f64() * 1000.0;
    figure(&format!("{name}.start.processor"), used, "ms");
    figure(&format!("{name}.start.resident"), resident(daemon.pid()), "MiB");
}

/// Waits until the memory answers.
async fn open(daemon: &Daemon) -> MemoryServiceClient<Channel> {
    let client = MemoryServiceClient::new(daemon.channel().await);
    eventually("the memory is open", || {
        let mut client = client.clone();
        async move { client.stats(StatsRequest {}).await.is_ok() }
    })
    .await;
    client
}

/// Writes the units; gives the receipt of the last.
async fn import(client: &mut MemoryServiceClient<Channel>, files: &Files, units: usize) -> String {
    let (send, sent) = mpsc::channel(AHEAD);
    let all = files.units();
    // A thread of its own: what it reads must not hold up the answers.
    let feed = std::thread::spawn(move || {
        for (number, (row, _)) in (0_u64..).zip(all.take(units)) {
            let draft = Some(draft(number, &row));
            if send.blocking_send(RememberManyRequest { draft, images: Vec::new() }).is_err() {
                return;
            }
        }
    });
    let mut answers = client.remember_many(ReceiverStream::new(sent)).await.unwrap().into_inner();
    let (mut known, mut refused, mut last) = (0, 0, String::new());
    while let Some(answer) = answers.next().await {
        for one in answer.unwrap().written {
            match one.outcome {
                Some(Outcome::Receipt(receipt)) => (known, last) = (known + 1, receipt.id),
                // Words drawn at random can say that something is so just now.
                Some(Outcome::Refusal(refusal)) if refusal.reason == "DRAFT_REFUSED" => {
                    refused += 1;
                }
                _ => panic!("{one:?}"),
            }
        }
    }
    assert_eq!(known + refused, units);
    assert!(refused <= units / 10_000, "{refused} of {units} drafts were refused");
    feed.join().unwrap();
    last
}

fn draft(number: u64, row: &Row) -> Draft {
    let at = day(row.from).to_string();
    Draft {
        collection: "bench".to_owned(),
        source: "manual/all".to_owned(),
        source_id: format!("u{number}"),
        source_time: at.clone(),
        kind: Kind::Knowledge.into(),
        text: row.text.clone(),
        metadata_json: json!({ "product_line": row.line }).to_string(),
        valid_from: at,
        valid_to: if row.to == OPEN { String::new() } else { day(row.to).to_string() },
        entities: vec![Entity { kind: "number".to_owned(), value: number_in(&row.text) }],
        ..Draft::default()
    }
}
