//! An embedder that is down, slow, or answers with nonsense: writes are acknowledged and get their vectors
//! once it is back, recall goes on with the other layers and says which one failed and why.

use serde_json::{Value, json};
use switchboard::proto::memory::{RecallResponse, Sense, Stage, StatsRequest};

use super::bed::{Bed, asked, ticket};
use super::upstream::{Answer, Upstream};
use crate::daemon::eventually;

/// A model that knows two things, in two languages.
fn right(body: &Value) -> Value {
    let known = [["lathe", "turning machine", "车床"], ["crane", "hoisting gear", "起重机"]];
    let vector = |text: &Value| {
        let text = text.as_str().unwrap();
        let mut vector = [0.0, 0.0, 0.01, 0.0];
        for (place, words) in vector.iter_mut().zip(&known) {
            *place = f64::from(u8::from(words.iter().any(|word| text.contains(word))));
        }
        vector
    };
    let item = |(at, text): (usize, &Value)| json!({ "index": at, "embedding": vector(text) });
    let texts = body["input"].as_array().unwrap();
    json!({ "data": texts.iter().enumerate().map(item).collect::<Vec<_>>() })
}

/// The same with a number less in each vector.
fn short(body: &Value) -> Value {
    let mut answer = right(body);
    for item in answer["data"].as_array_mut().unwrap() {
        item["embedding"].as_array_mut().unwrap().pop();
    }
    answer
}

/// One vector, however many texts there are, of numbers that are none.
fn few(_: &Value) -> Value {
    json!({ "data": [{ "index": 7, "embedding": [1.0, 0.0, 0.0, 0.0] }] })
}

async fn embedded(upstream: &Upstream) -> Bed {
    let config = format!(
        "[memory.embedder]\nkind = \"endpoint\"\n[memory.embedder.endpoint]\n\
         url = \"http://127.0.0.1:{}/v1/embeddings\"\nmodel = \"m\"\ndimensions = 4\n\
         timeout = \"600ms\"\nattempts = 1\n",
        upstream.port
    );
    Bed::with(&config, |setup| setup).await
}

/// What a recall says of its vectors.
fn failed(found: &RecallResponse) -> Option<String> {
    let mut failed = found.failed.iter();
    let one = failed.find(|layer| layer.sense() == Sense::Vector)?;
    Some(one.reason.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_it_does_writes_and_recall_go_on_and_vectors_follow() {
    let upstream = Upstream::start(Answer::Right(right)).await;
    let bed = embedded(&upstream).await;
    let receipt = bed.remember("agent", ticket("E-0", "The lathe L0 chatters.")).await;
    assert_eq!((receipt.stage(), receipt.remarks.len()), (Stage::Stored, 0), "{receipt:?}");
    let found = bed.try_recall("agent", "turning machine").await.unwrap();
    assert_eq!((found.hits.len(), failed(&found)), (1, None), "by its vector alone: {found:?}");

    let bad = [
        (Answer::Close, "cannot be reached"),
        (Answer::Silence, "did not answer within 600 ms"),
        (Answer::Status(503), "answered 503"),
        (Answer::Status(401), "refuses with 401"),
        (Answer::Right(short), "a vector has 3 numbers and not 4; set `memory.embedder.endpoint"),
        (Answer::Right(few), "index 7"),
        (Answer::Text("<html>down for maintenance</html>".into()), "answers wrongly"),
        (Answer::Text("{\"data\":[{\"embedding\":[\"a\"]}]}".into()), "answers wrongly"),
    ];
    let count = bad.len();
    for (at, (answer, why)) in bad.into_iter().enumerate() {
        upstream.now(answer);
        let number = at + 1;
        let text = format!("The lathe L{number} chatters at high speed.");
        let receipt = bed.remember("agent", ticket(&format!("E-{number}"), &text)).await;
        assert_eq!(receipt.stage(), Stage::Stored, "{why}: {receipt:?}");
        let [remark] = receipt.remarks.as_slice() else { panic!("{why}: {receipt:?}") };
        assert!(remark.starts_with("without vectors so far: "), "{why}: {remark}");
        let found = bed.try_recall("agent", &format!("L{number}")).await.unwrap();
        let first = found.hits[0].unit.clone().unwrap().draft.unwrap();
        assert_eq!(first.source_id, format!("E-{number}"), "by its words: {found:?}");
        let told = failed(&found).unwrap_or_default();
        assert!(told.contains(why) && told.contains("127.0.0.1"), "{why}: {told}");
        assert!(!told.contains("chatters"), "no text in what is told: {told}");
    }
    // Back again: every unit gets its vectors without being written again.
    upstream.now(Answer::Right(right));
    let client = bed.client("agent").await;
    eventually("all have vectors", || {
        let mut client = client.clone();
        async move {
            let stats = client.stats(StatsRequest {}).await.unwrap().into_inner();
            stats.vectors.iter().map(|one| one.chunks).sum::<u64>() == stats.chunks
        }
    })
    .await;
    let found = bed.try_recall("agent", "车床").await.unwrap();
    assert_eq!((found.hits.len(), failed(&found)), (count + 1, None), "{found:?}");
    let next = bed.remember("agent", ticket("E-99", "The crane C1 has a worn rope.")).await;
    assert!(next.remarks.is_empty(), "{next:?}");
    assert_eq!(bed.try_recall("agent", "hoisting gear").await.unwrap().hits.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_of_another_length_embeds_all_anew_beside_the_old_one() {
    let upstream = Upstream::start(Answer::Right(right)).await;
    let mut bed = embedded(&upstream).await;
    for number in 0..3 {
        let text = format!("The lathe L{number} chatters at speed {number}00.");
        bed.remember("agent", ticket(&format!("A-{number}"), &text)).await;
    }
    // The server has another model now, and the operator does as the error says.
    upstream.now(Answer::Right(short));
    let found = bed.try_recall("agent", "turning machine").await.unwrap();
    let told = failed(&found).unwrap_or_default();
    assert!(told.contains("set `memory.embedder.endpoint.dimensions`"), "{told}");
    bed.daemon.signal("TERM");
    bed.daemon.wait();
    let config = std::fs::read_to_string(bed.daemon.config()).unwrap();
    assert!(config.contains("dimensions = 4"), "{config}");
    std::fs::write(bed.daemon.config(), config.replace("dimensions = 4", "dimensions = 3"))
        .unwrap();
    let bed = bed.restart().await;
    eventually("all are embedded anew", || async {
        let mut client = bed.client("agent").await;
        let found = client.recall(asked("turning machine")).await.unwrap().into_inner();
        found.hits.len() == 3 && found.failed.is_empty()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_while_it_was_down_gets_vectors_after_a_kill() {
    let upstream = Upstream::start(Answer::Status(500)).await;
    let mut bed = embedded(&upstream).await;
    let receipt = bed.remember("agent", ticket("K-1", "The crane C7 drifts in wind.")).await;
    assert_eq!(receipt.stage(), Stage::Stored);
    bed.daemon.signal("KILL");
    bed.daemon.wait();
    upstream.now(Answer::Right(right));
    let bed = bed.restart().await;
    eventually("it is found by its vector", || async {
        let mut client = bed.client("agent").await;
        client.recall(asked("起重机")).await.unwrap().into_inner().hits.len() == 1
    })
    .await;
}
