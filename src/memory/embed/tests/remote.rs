use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use crate::memory::embed::{Config, Embedder, Endpoint, Error, Kind, Role, open};

const KEY: &str = "sk-very-secret-0123456789";

/// How the server answers one request.
enum Answer {
    /// A vector with the number of the text's characters in front.
    Right,
    /// The same, the other way round, with the indexes that tell so.
    Turned,
    Status(u16, Option<&'static str>, String),
    Body(String),
    /// Nothing ever.
    Hang,
    /// Half an answer, then the end of the connection.
    Break,
}

#[derive(Default)]
struct Seen {
    next: VecDeque<Answer>,
    asked: Vec<(HeaderMap, Value, Instant)>,
}

type Shared = Arc<Mutex<Seen>>;

async fn serve(answers: Vec<Answer>) -> (SocketAddr, Shared) {
    let shared = Shared::default();
    shared.lock().unwrap().next.extend(answers);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router =
        Router::new().route("/v1/embeddings", post(answer)).with_state(Arc::clone(&shared));
    TaskTracker::new().spawn(async move { axum::serve(listener, router).await.unwrap() });
    (address, shared)
}

async fn answer(State(shared): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let texts: Vec<String> = serde_json::from_value(body["input"].clone()).unwrap();
    let next = {
        let mut seen = shared.lock().unwrap();
        seen.asked.push((headers, body, Instant::now()));
        seen.next.pop_front().unwrap_or(Answer::Right)
    };
    let item = |(at, text): (usize, &String)| json!({"object": "embedding", "index": at, "embedding": [text.chars().count(), 0.0, 1.0]});
    let mut data: Vec<Value> = texts.iter().enumerate().map(item).collect();
    match next {
        Answer::Right => json!({"object": "list", "data": data}).to_string().into_response(),
        Answer::Turned => {
            data.reverse();
            json!({"data": data}).to_string().into_response()
        }
        Answer::Status(status, after, body) => {
            let mut answer = (StatusCode::from_u16(status).unwrap(), body).into_response();
            if let Some(after) = after {
                answer.headers_mut().insert("retry-after", after.parse().unwrap());
            }
            answer
        }
        Answer::Body(body) => body.into_response(),
        Answer::Hang => std::future::pending().await,
        Answer::Break => {
            let parts = [Ok("{\"data\""), Err(std::io::Error::other("the end"))];
            axum::body::Body::from_stream(futures::stream::iter(parts)).into_response()
        }
    }
}

fn endpoint(address: SocketAddr, folder: &std::path::Path) -> Endpoint {
    let key = folder.join("key");
    std::fs::write(&key, format!("{KEY}\n")).unwrap();
    toml::from_str(&format!(
        "url = 'http://{address}/v1/embeddings?api-key=also-secret'\nmodel = 'three'\n\
         dimensions = 3\nkey_file = '{}'\ntimeout = '20s'\n",
        key.display()
    ))
    .unwrap()
}

fn embedder(endpoint: Endpoint) -> Arc<dyn Embedder> {
    let config = Config { kind: Kind::Endpoint, endpoint: Some(endpoint), ..Config::default() };
    open(&config, &TaskTracker::new()).unwrap().unwrap()
}

/// Asks a server that gives these answers for the vectors of two texts.
async fn ask(
    answers: Vec<Answer>,
    edit: impl FnOnce(&mut Endpoint),
) -> (Result<Vec<Vec<f32>>, Error>, Shared) {
    let folder = tempfile::tempdir().unwrap();
    let (address, shared) = serve(answers).await;
    let mut endpoint = endpoint(address, folder.path());
    edit(&mut endpoint);
    let texts = ["a".to_owned(), "bbb".to_owned()];
    let embedder = embedder(endpoint);
    let result = embedder.embed(Role::Passage, &texts).await;
    let debug = format!("{embedder:?} {result:?}");
    let display = result.as_ref().err().map(ToString::to_string).unwrap_or_default();
    for secret in [KEY, "also-secret"] {
        assert!(!debug.contains(secret) && !display.contains(secret), "{debug} {display}");
    }
    if let Err(error) = &result
        && !matches!(error, Error::Config { .. })
    {
        assert!(display.contains(&format!("http://{address}/v1/embeddings")), "{display}");
    }
    (result, shared)
}

fn count(shared: &Shared) -> usize {
    shared.lock().unwrap().asked.len()
}

fn right() -> Vec<Vec<f32>> {
    [1.0_f32, 3.0]
        .map(|length| {
            let whole = length.hypot(1.0);
            vec![length / whole, 0.0, 1.0 / whole]
        })
        .to_vec()
}

#[track_caller]
fn near(found: &[Vec<f32>], wanted: &[Vec<f32>]) {
    assert_eq!(found.len(), wanted.len());
    for (a, b) in found.iter().flatten().zip(wanted.iter().flatten()) {
        assert!((a - b).abs() < 1e-6, "{found:?} {wanted:?}");
    }
}

#[tokio::test]
async fn vectors_come_in_the_order_of_the_texts() {
    for answers in [vec![], vec![Answer::Turned]] {
        let (result, shared) = ask(answers, |_| ()).await;
        near(&result.unwrap(), &right());
        let seen = shared.lock().unwrap();
        let (headers, body, _) = &seen.asked[0];
        assert_eq!(headers["authorization"], format!("Bearer {KEY}"));
        assert_eq!(
            body,
            &json!({"model": "three", "input": ["a", "bbb"], "encoding_format": "float"})
        );
    }
}

#[tokio::test]
async fn texts_go_in_batches_with_their_prefix() {
    let folder = tempfile::tempdir().unwrap();
    let (address, shared) = serve(vec![]).await;
    let mut endpoint = endpoint(address, folder.path());
    endpoint.batch = 2;
    endpoint.prefix_query = "q: ".to_owned();
    endpoint.send_dimensions = true;
    let embedder = embedder(endpoint);
    let texts = ["a", "bb", "ccc"].map(str::to_owned);
    assert_eq!(embedder.embed(Role::Query, &texts).await.unwrap().len(), 3);
    assert!(embedder.embed(Role::Query, &[]).await.unwrap().is_empty());
    let seen = shared.lock().unwrap();
    let bodies: Vec<_> = seen.asked.iter().map(|(_, body, _)| &body["input"]).collect();
    assert_eq!(bodies, [&json!(["q: a", "q: bb"]), &json!(["q: ccc"])]);
    assert_eq!(seen.asked[0].1["dimensions"], 3);
}

#[tokio::test]
async fn what_may_pass_is_asked_again() {
    let busy = |status| Answer::Status(status, None, String::new());
    for first in [busy(500), busy(503), busy(408), Answer::Break] {
        let (result, shared) = ask(vec![first], |_| ()).await;
        near(&result.unwrap(), &right());
        assert_eq!(count(&shared), 2);
    }
}

#[tokio::test]
async fn a_time_to_wait_is_kept() {
    let busy = |after| Answer::Status(429, Some(after), String::new());
    let (result, shared) = ask(vec![busy("1")], |_| ()).await;
    near(&result.unwrap(), &right());
    let times: Vec<_> = shared.lock().unwrap().asked.iter().map(|asked| asked.2).collect();
    assert!(times[1] - times[0] >= Duration::from_secs(1));

    let (result, _) = ask(vec![busy("Tue, 01 Jan 2019 00:00:00 GMT")], |_| ()).await;
    near(&result.unwrap(), &right());

    // One that is longer than the caller waits is told at once.
    let (result, shared) = ask(vec![busy("3600")], |_| ()).await;
    let error = result.unwrap_err();
    assert!(error.is_passing());
    let hour = Duration::from_secs(3600);
    assert!(matches!(error, Error::Busy { status: 429, attempts: 1, retry_after: Some(after), .. }
        if after == hour));
    assert_eq!(count(&shared), 1);
}

#[tokio::test]
async fn attempts_end() {
    let answers = (0..9).map(|_| Answer::Status(503, None, String::new())).collect();
    let (result, shared) = ask(answers, |endpoint| endpoint.attempts = 3).await;
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Busy { status: 503, attempts: 3, .. }), "{error:?}");
    assert_eq!(count(&shared), 3);
}

#[tokio::test]
async fn a_refusal_is_told_once_and_without_the_key() {
    let body =
        json!({"error": {"message": format!("Incorrect API key provided: {KEY}\nsee docs")}});
    for status in [400, 401, 403, 404, 301] {
        let (result, shared) =
            ask(vec![Answer::Status(status, None, body.to_string())], |_| ()).await;
        let error = result.unwrap_err();
        assert!(!error.is_passing());
        let Error::Refused { status: told, reason, .. } = error else { panic!("{error:?}") };
        assert_eq!((told, &*reason), (status, "Incorrect API key provided: [key] see docs"));
        assert_eq!(count(&shared), 1);
    }
}

#[tokio::test]
async fn an_answer_that_is_not_what_was_asked_for_is_an_error() {
    let data = |vectors: &str| format!("{{\"data\": [{vectors}]}}");
    let two = |a: &str, b: &str| data(&format!("{{\"embedding\": {a}}}, {{\"embedding\": {b}}}"));
    for (body, told) in [
        (two("[1, 2, 3]", "[1, 2, 3, 4]"), "4 numbers and not 3"),
        (two("[1, 2, 3]", "[]"), "0 numbers and not 3"),
        (data("{\"embedding\": [1, 2, 3]}"), "1 vectors came for 2 texts"),
        (two("[1, 2, 3]", "[0, 0, 0]"), "all zeros"),
        (two("[1, 2, 3]", "[1, NaN, 3]"), "its answer is not"),
        (two("[1, 2, 3]", "[1, null, 3]"), "its answer is not"),
        (two("[1, 2, 3]", "[1, 1e999, 3]"), "out of range"),
        (two("[1, 2, 3]", "[1, 1e300, 3]"), "out of range"),
        (
            data(
                "{\"index\": 0, \"embedding\": [1, 2, 3]}, {\"index\": 0, \"embedding\": [1, 2, 3]}",
            ),
            "index 0",
        ),
        (
            data(
                "{\"index\": 7, \"embedding\": [1, 2, 3]}, {\"index\": 0, \"embedding\": [1, 2, 3]}",
            ),
            "index 7",
        ),
        ("<html>welcome</html>".to_owned(), "its answer is not"),
        ("{}".to_owned(), "its answer is not"),
        (String::new(), "its answer is not"),
    ] {
        let (result, shared) = ask(vec![Answer::Body(body.clone())], |_| ()).await;
        let error = result.unwrap_err();
        assert!(
            matches!(&error, Error::Answer { reason, .. } if reason.contains(told)),
            "{body}: {error}"
        );
        assert!(!error.is_passing());
        assert_eq!(count(&shared), 1);
    }
}

#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    let body = format!("{{\"data\": [{}", " ".repeat(2 << 20));
    let answers = (0..4).map(|_| Answer::Body(body.clone())).collect();
    let (result, _) = ask(answers, |endpoint| endpoint.attempts = 1).await;
    let error = result.unwrap_err();
    assert!(error.to_string().contains("is over"), "{error}");
}

#[tokio::test]
async fn an_endpoint_that_hangs_is_late() {
    let wait = Duration::from_millis(300);
    let (result, _) = ask(vec![Answer::Hang], |endpoint| endpoint.timeout = wait).await;
    let error = result.unwrap_err();
    assert!(error.is_passing());
    assert!(matches!(error, Error::Late { after, .. } if after == wait), "{error:?}");
}

#[tokio::test]
async fn an_endpoint_that_is_down_is_named() {
    let folder = tempfile::tempdir().unwrap();
    // Nobody listens at a port that was just given back.
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let mut endpoint = endpoint(address, folder.path());
    endpoint.attempts = 2;
    let error = embedder(endpoint).embed(Role::Query, &["a".to_owned()]).await.unwrap_err();
    assert!(error.is_passing());
    let told = error.to_string();
    assert!(told.contains(&format!("http://{address}/v1/embeddings cannot be reached")), "{told}");
    assert!(told.contains("refused"), "{told}");
}

#[tokio::test]
async fn a_new_key_in_the_file_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let (address, shared) = serve(vec![]).await;
    let embedder = embedder(endpoint(address, folder.path()));
    let texts = ["a".to_owned()];
    embedder.embed(Role::Query, &texts).await.unwrap();
    std::fs::write(folder.path().join("key"), "another-key").unwrap();
    embedder.embed(Role::Query, &texts).await.unwrap();
    let sent = shared.lock().unwrap().asked[1].0["authorization"].clone();
    assert_eq!(sent, "Bearer another-key");
    std::fs::write(folder.path().join("key"), "two words").unwrap();
    let error = embedder.embed(Role::Query, &texts).await.unwrap_err().to_string();
    assert!(error.contains("write the bare key") && !error.contains("two words"), "{error}");
}

#[test]
fn a_configuration_that_cannot_work_is_refused_without_its_secrets() {
    let base = "model = 'm'\ndimensions = 3\n";
    for (text, told) in [
        ("url = 'http://api.example/v1/embeddings'", "`https`"),
        ("url = 'https://me:hunter2@api.example/v1'", "`key_file`"),
        ("url = 'ftp://api.example/'", "`ftp`"),
        ("url = 'api.example'", "no URL"),
        ("url = 'https://a.example/'\nbatch = 0", "`memory.embedder.endpoint.batch`"),
        ("url = 'https://a.example/'\ncalibration = [[0.5, 0.5]]", "both rising"),
        ("url = 'https://a.example/'\nkey_file = '/nonexistent/key'", "`/nonexistent/key`"),
        ("url = 'https://a.example/'\nkey_env = 'SWITCHBOARD_NO_SUCH_VARIABLE'", "is not set"),
        ("url = 'https://a.example/'\nkey_file = 'a'\nkey_env = 'B'", "keep one"),
    ] {
        let endpoint: Endpoint = toml::from_str(&format!("{base}{text}")).unwrap();
        let config = Config { kind: Kind::Endpoint, endpoint: Some(endpoint), ..Config::default() };
        let error = open(&config, &TaskTracker::new()).unwrap_err().to_string();
        assert!(error.contains(told) && !error.contains("hunter2"), "{text}: {error}");
    }
    toml::from_str::<Config>("kind = 'endpoint'\nfolder = 'x'").unwrap_err();
}

#[test]
fn models_of_different_places_and_prefixes_have_different_names() {
    let name = |text: &str| {
        let endpoint = toml::from_str(&format!("model = 'm'\ndimensions = 3\n{text}")).unwrap();
        embedder(endpoint).model().name.clone()
    };
    let first = name("url = 'https://a.example/v1/embeddings?key=1'");
    assert_eq!(first, "m (3) at https://a.example/v1/embeddings");
    assert_ne!(first, name("url = 'https://b.example/v1/embeddings'"));
    assert_ne!(first, name("url = 'https://a.example/v1/embeddings'\nprefix_query = 'q'"));
}
