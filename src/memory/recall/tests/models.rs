//! Rerank and rewriting, with endpoints that really answer.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use serde_json::{Value, json};

use super::super::{Config, Endpoint, Rerank};
use super::home::{Home, caller, ids, text};
use crate::memory::{Question, Recalled, Sense};

/// An endpoint that answers with what `reply` makes of a body; the bodies that it got.
async fn endpoint(
    reply: impl Fn(&Value) -> Value + Clone + Send + Sync + 'static,
) -> (Endpoint, Arc<Mutex<Vec<Value>>>) {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let answer = move |body: Bytes| {
        let body: Value = serde_json::from_slice(&body).unwrap();
        let reply = reply(&body).to_string();
        kept.lock().unwrap().push(body);
        async move { reply }
    };
    let app = Router::new().route("/v1/model", post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/model", listener.local_addr().unwrap());
    tokio_util::task::TaskTracker::new().spawn(async move { axum::serve(listener, app).await });
    let endpoint = serde_json::from_value(json!({"url": url, "model": "m", "timeout": "5s"}));
    (endpoint.unwrap(), seen)
}

async fn ask(home: &Home, config: Config, question: &Question) -> Recalled {
    let recall = home.recall(config);
    recall.recall(&caller("ana"), &home.owned("ana"), question).await.unwrap()
}

#[tokio::test]
async fn an_endpoint_reranks_the_first_hits() {
    let home = Home::new().await;
    home.texts(&["pump pump pump seal", "seal of the pump in the cellar", "the weather"]).await;
    let (endpoint, seen) = endpoint(|body| {
        let documents = body["documents"].as_array().unwrap();
        let score =
            |text: &Value| if text.as_str().unwrap().contains("cellar") { 3.5 } else { -2.0 };
        let results: Vec<Value> = documents
            .iter()
            .enumerate()
            .map(|(at, text)| json!({"index": at, "relevance_score": score(text)}))
            .collect();
        json!({"results": results})
    })
    .await;
    let plain = home.ask(&text("pump seal")).await;
    assert_eq!(ids(&plain).first(), Some(&"1"));
    let config =
        Config { rerank: Rerank::Endpoint, rerank_endpoint: Some(endpoint), ..Config::default() };
    let answer = ask(&home, config, &text("pump seal")).await;
    assert_eq!(ids(&answer).first(), Some(&"2"));
    assert!(
        answer.hits[0].scores.iter().any(|score| score.sense == Sense::Rerank && score.rank == 1)
    );
    assert_eq!(seen.lock().unwrap()[0]["query"], "pump seal");
}

#[tokio::test]
async fn a_rerank_that_answers_nonsense_is_named_and_changes_nothing() {
    let home = Home::new().await;
    home.texts(&["pump pump pump seal", "seal of the pump in the cellar"]).await;
    for reply in [json!({}), json!({"results": [{"index": 99, "relevance_score": 1.0}]})] {
        let (endpoint, _) = endpoint(move |_| reply.clone()).await;
        let config = Config {
            rerank: Rerank::Endpoint,
            rerank_endpoint: Some(endpoint),
            ..Config::default()
        };
        let answer = ask(&home, config, &text("pump seal")).await;
        assert_eq!(ids(&answer).first(), Some(&"1"));
        assert!(answer.failed.iter().any(|(sense, _)| *sense == Sense::Rerank));
    }
}

#[tokio::test]
async fn the_conversation_decides_between_equal_hits() {
    let home = Home::new().await;
    home.texts(&[
        "Warranty of the compressor is 24 months.",
        "Warranty of the conveyor is 12 months.",
    ])
    .await;
    let about =
        |turn: &str| Question { conversation: vec![turn.to_owned()], ..text("warranty months") };
    let config = Config { rerank: Rerank::Conversation, ..Config::default() };
    for (turn, first) in
        [("Our compressor was delivered today.", "1"), ("The new conveyor squeaks.", "2")]
    {
        let answer = ask(&home, config.clone(), &about(turn)).await;
        assert_eq!(ids(&answer).first(), Some(&first), "{turn}");
    }
}

#[tokio::test]
async fn a_model_makes_the_question_complete() {
    let home = Home::new().await;
    home.texts(&["The compressor KC-75 weighs 900 kg.", "Lunch is at noon."]).await;
    let (endpoint, seen) = endpoint(|_| {
        json!({"choices": [{"message": {"content": "\"How much does the compressor KC-75 weigh?\"\n"}}]})
    })
    .await;
    let config = Config { rewrite: Some(endpoint), ..Config::default() };
    let question =
        Question { conversation: vec!["We bought a KC-75.".into()], ..text("its mass?") };
    let answer = ask(&home, config, &question).await;
    assert_eq!(ids(&answer), ["1"]);
    assert_eq!(answer.asked.rewritten, "How much does the compressor KC-75 weigh?");
    assert!(seen.lock().unwrap()[0]["messages"][1]["content"].as_str().unwrap().contains("KC-75"));
}

#[tokio::test]
async fn a_question_without_a_conversation_is_no_fault_of_what_needs_one() {
    let home = Home::new().await;
    home.texts(&["The compressor KC-75 weighs 900 kg."]).await;
    let (endpoint, seen) = endpoint(|_| json!({})).await;
    let config =
        Config { rerank: Rerank::Conversation, rewrite: Some(endpoint), ..Config::default() };
    let answer = ask(&home, config, &text("compressor weighs")).await;
    assert_eq!(ids(&answer), ["1"]);
    assert!(answer.failed.is_empty(), "{:?}", answer.failed);
    assert!(seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn without_the_model_the_question_is_asked_as_it_is() {
    let home = Home::new().await;
    home.texts(&["The compressor KC-75 weighs 900 kg."]).await;
    let endpoint: Endpoint =
        serde_json::from_value(json!({"url": "http://127.0.0.1:9/v1", "model": "m"})).unwrap();
    let config = Config { rewrite: Some(endpoint), ..Config::default() };
    let question =
        Question { conversation: vec!["We bought one.".into()], ..text("compressor weighs") };
    let answer = ask(&home, config, &question).await;
    assert_eq!(ids(&answer), ["1"]);
    assert!(answer.failed.iter().any(|(sense, why)| *sense == Sense::Rewrite && !why.is_empty()));
    assert_eq!(answer.asked.rewritten, "");
}

#[tokio::test]
async fn endpoints_that_would_show_the_key_are_refused() {
    let home = Home::new().await;
    for url in ["http://models.example/v1", "https://u:p@models.example/v1", "ftp://a.example"] {
        let endpoint: Endpoint = serde_json::from_value(json!({"url": url, "model": "m"})).unwrap();
        let config = Config { rewrite: Some(endpoint), ..Config::default() };
        let (store, collections) = (Arc::clone(&home.store), Arc::clone(&home.collections));
        let opened = super::super::Recall::new(store, None, collections, config, &home.tasks);
        assert!(opened.is_err(), "{url}");
    }
}

#[tokio::test]
async fn a_key_that_is_not_there_costs_the_rerank_only_and_is_used_once_it_is() {
    let home = Home::new().await;
    home.texts(&["pump pump pump seal", "seal of the pump in the cellar"]).await;
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let answer = move |headers: axum::http::HeaderMap| {
        let key = headers.get("authorization").map(|key| key.to_str().unwrap().to_owned());
        kept.lock().unwrap().push(key.unwrap_or_default());
        async { json!({"results": [{"index": 1, "relevance_score": 0.9}]}).to_string() }
    };
    let app = Router::new().route("/v1/rerank", post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/rerank?tenant=7", listener.local_addr().unwrap());
    tokio_util::task::TaskTracker::new().spawn(async move { axum::serve(listener, app).await });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    let endpoint = json!({"url": url, "model": "m", "timeout": "5s", "key_file": file});
    let rerank_endpoint = Some(serde_json::from_value(endpoint).unwrap());
    let config = Config { rerank: Rerank::Endpoint, rerank_endpoint, ..Config::default() };

    let answer = ask(&home, config.clone(), &text("pump seal")).await;
    assert_eq!(ids(&answer).first(), Some(&"1"));
    let why = answer.failed.iter().find(|(sense, _)| *sense == Sense::Rerank).map(|(_, why)| why);
    assert!(
        why.is_some_and(|why| why.contains("key file") && !why.contains("tenant=7")),
        "{why:?}"
    );
    assert!(seen.lock().unwrap().is_empty(), "nothing is asked without the key");

    std::fs::write(&file, "sk-late\n").unwrap();
    let answer = ask(&home, config, &text("pump seal")).await;
    assert!(answer.failed.is_empty(), "{:?}", answer.failed);
    assert_eq!(*seen.lock().unwrap(), ["Bearer sk-late"]);
}
