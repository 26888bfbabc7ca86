//! What ledger and metrics tell of requests to the memory: how long they took, and what was refused.

use switchboard::proto::memory::remember_many_response::written::Outcome;
use switchboard::proto::memory::{Draft, RememberManyRequest};
use tokio_stream::StreamExt;

use super::bed::{Bed, PLAIN, asked, ticket};

#[tokio::test(flavor = "multi_thread")]
async fn a_record_tells_how_long_the_request_took() {
    let bed = Bed::new().await;
    bed.remember("agent", ticket("L-1", "The lathe L1 chatters.")).await;
    bed.client("agent").await.recall(asked("lathe")).await.unwrap();
    for name in ["memory:remember", "memory:recall"] {
        let records = bed.records();
        let record = records.iter().find(|one| one["tool"] == name).unwrap();
        let micros = record["facts"]["latency_us"]["total"].as_u64().unwrap();
        assert!((1..60_000_000).contains(&micros), "{record}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_draft_is_no_success_in_the_ledger() {
    let bed = Bed::new().await;
    let wrong = || Draft { metadata_json: "{}".into(), ..ticket("R-2", "It has no line.") };
    bed.try_remember("agent", wrong()).await.unwrap_err();
    let records = bed.records();
    let record = records.iter().find(|one| one["tool"] == "memory:remember").unwrap();
    assert_eq!(record["status"], "error", "{record}");
    assert_eq!(record["code"], "SCHEMA_VALIDATION_ERROR", "{record}");
    let reply = bed.record(record["call_id"].as_str().unwrap());
    assert!(reply.contains("/metadata/line"), "{reply}");

    // Of a batch, what was taken is told beside what was not.
    let drafts = [ticket("R-3", "The roof leaks."), wrong()];
    let sent = drafts.map(|draft| RememberManyRequest { draft: Some(draft), images: Vec::new() });
    let answers = bed.client("agent").await.remember_many(tokio_stream::iter(sent)).await;
    let mut answers = answers.unwrap().into_inner();
    let mut taken = Vec::new();
    while let Some(answer) = answers.next().await {
        taken.extend(answer.unwrap().written.into_iter().filter_map(|one| match one.outcome {
            Some(Outcome::Receipt(receipt)) => Some(receipt.id),
            _ => None,
        }));
    }
    let records = bed.records();
    let refused = records.iter().filter(|one| one["code"] == "SCHEMA_VALIDATION_ERROR");
    assert_eq!(refused.count(), 2, "{records:?}");
    let of_batch = records.iter().filter(|one| one["tool"] == "memory:remember");
    let replies: Vec<String> =
        of_batch.map(|one| bed.record(one["call_id"].as_str().unwrap())).collect();
    assert!(replies.iter().any(|reply| reply.contains(&taken[0])), "{replies:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rerank_is_measured_whether_it_works_or_not() {
    let spoken = format!("{PLAIN}[memory.recall]\nrerank = \"conversation\"\n");
    // Nobody listens there.
    let down = format!(
        "{PLAIN}[memory.recall]\nrerank = \"endpoint\"\n[memory.recall.rerank_endpoint]\n\
         url = \"http://127.0.0.1:1/v1/rerank\"\nmodel = \"none\"\n"
    );
    for (config, outcome) in [(spoken, "done"), (down, "failed")] {
        let bed = Bed::with(&config, |setup| setup).await;
        bed.remember("agent", ticket("M-1", "The mixer M1 stalls.")).await;
        let mut agent = bed.client("agent").await;
        let mut question = asked("mixer");
        let turns = &mut question.question.as_mut().unwrap().conversation;
        turns.push("The mixer was cleaned.".into());
        agent.recall(question).await.unwrap();
        let metrics = bed.daemon.metrics().await;
        let counted = format!("switchboard_memory_reranks_total{{outcome=\"{outcome}\"}} 1");
        for line in [counted.as_str(), "switchboard_memory_rerank_seconds_count 1"] {
            assert!(metrics.contains(line), "{line} is not in\n{metrics}");
        }
    }
}
