//! Runs of the reasoning loop with a scripted model: what a step costs beside the model and the tool, two
//! hundred runs at once, and the way back after a kill. A run has three steps: two calls whose results
//! are kept by the tool's cache, and the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt as _;
use serde_json::{Value, json};
use switchboard::proto::reason::reason_service_client::ReasonServiceClient;
use switchboard::proto::reason::run_event::Event;
use switchboard::proto::reason::{ResumeRequest, RunEvent, RunRequest};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;
use tonic::Streaming;
use tonic::transport::Channel;

use crate::daemon::{Daemon, Setup, eventually};
use crate::measure::{Samples, figure, forget_peak, peak, resident, row};
use crate::stage;

const STEPS: f64 = 3.0;
/// Runs one after the other.
const ALONE: usize = 300;
/// Runs at once, and how often.
const CROWD: usize = 200;
const ROUNDS: usize = 5;
/// What the model takes for an answer, for the crowd.
const ANSWER: Duration = Duration::from_millis(50);
/// Connections that a crowd comes over.
const CHANNELS: usize = 8;
const KILLS: usize = 8;

type Client = ReasonServiceClient<Channel>;

/// A model that calls two tools and answers.
#[derive(Default)]
struct Model {
    /// Milliseconds until it answers.
    slow: AtomicU64,
    /// Whether it keeps its last answer to itself.
    holds: AtomicBool,
    released: Notify,
    /// Requests for the last answer.
    last: AtomicUsize,
    /// Microseconds between a request and its answer.
    spent: AtomicU64,
}

impl Model {
    async fn start() -> (Arc<Self>, u16) {
        let model = Arc::new(Self::default());
        let app =
            Router::new().route("/v1/chat/completions", post(said)).with_state(Arc::clone(&model));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        TaskTracker::new().spawn(async move { axum::serve(listener, app).await.unwrap() });
        (model, port)
    }

    fn hold(&self, holds: bool) {
        self.holds.store(holds, Ordering::SeqCst);
        self.released.notify_waiters();
    }
}

async fn said(State(model): State<Arc<Model>>, body: Bytes) -> Response {
    let begun = Instant::now();
    let results = results(&body);
    tokio::time::sleep(Duration::from_millis(model.slow.load(Ordering::Relaxed))).await;
    if results == 2 {
        model.last.fetch_add(1, Ordering::SeqCst);
        while model.holds.load(Ordering::SeqCst) {
            // Looked at again now and then: it may have been let go just before.
            let _late = tokio::time::timeout(ANSWER, model.released.notified()).await;
        }
    }
    let text = events(results);
    let took = u64::try_from(begun.elapsed().as_micros()).unwrap();
    model.spent.fetch_add(took, Ordering::Relaxed);
    ([(header::CONTENT_TYPE, "text/event-stream")], text).into_response()
}

/// Results of tools in what the model is told.
fn results(body: &[u8]) -> usize {
    let mark = br#""role":"tool""#;
    body.windows(mark.len()).filter(|window| *window == mark).count()
}

/// What the model says after so many results, as a stream.
fn events(results: usize) -> String {
    let (delta, finish) = if results < 2 {
        let script = json!({ "script": format!("echo '{{\"count\":{results}}}'") });
        let function = json!({ "name": "probe_dot_cached", "arguments": script.to_string() });
        let id = format!("call_{results}");
        let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
        (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
    } else {
        let text = "Both were counted [E1] [E2].";
        (json!({ "role": "assistant", "content": text }), "stop")
    };
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 0,
            "model": "bench", "choices": choices, "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let choice = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
    let usage = json!({ "prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920 });
    chunk(choice, Value::Null) + &chunk(json!([]), usage) + "data: [DONE]\n\n"
}

/// A daemon that asks the model at this port.
fn setup(port: u16) -> Setup {
    stage::setup().config(&format!(
        "[models.endpoints.bench]\nprovider = \"openai\"\nurl = \"http://127.0.0.1:{port}/v1\"\n\
         model = \"bench\"\nform = \"native\"\n[models.roles]\nreasoner = [\"bench\"]\n\
         [memory.embedder]\nkind = \"none\""
    ))
}

pub async fn run() {
    let (model, port) = Model::start().await;
    let daemon = setup(port).start().await;
    alone(&daemon, &model).await;
    crowd(&daemon, &model).await;
    kills(daemon, &model).await;
}

/// The loop's own part of a step.
async fn alone(daemon: &Daemon, model: &Model) {
    let mut client = client(daemon).await;
    // The first runs fill the caches of the tools.
    for _ in 0..20 {
        ask(&mut client).await;
    }
    let (mut steps, mut own) = (Samples::default(), Samples::default());
    for _ in 0..ALONE {
        let before = model.spent.load(Ordering::Relaxed);
        let begun = Instant::now();
        ask(&mut client).await;
        let took = begun.elapsed().as_secs_f64() * 1000.0;
        let model = (model.spent.load(Ordering::Relaxed) - before) as f64 / 1000.0;
        steps.add(took / STEPS);
        own.add((took - model) / STEPS);
    }
    row("reason.step.runs", ALONE, "runs");
    figure("reason.step.least", own.least(), "ms");
    figure("reason.step.p50", own.median(), "ms");
    figure("reason.step.p99", own.quantile(0.99), "ms");
    figure("reason.step.with_model_p50", steps.median(), "ms");
}

/// Many runs at once.
async fn crowd(daemon: &Daemon, model: &Model) {
    let slow = u64::try_from(ANSWER.as_millis()).unwrap();
    model.slow.store(slow, Ordering::Relaxed);
    let mut clients = Vec::new();
    for _ in 0..CHANNELS {
        clients.push(client(daemon).await);
    }
    forget_peak(daemon.pid());
    let mut took = Samples::default();
    for _ in 0..ROUNDS {
        let mut runs = JoinSet::new();
        for number in 0..CROWD {
            let mut client = clients[number % CHANNELS].clone();
            runs.spawn(async move { ask(&mut client).await });
        }
        // An error or an end without an answer fails the bench.
        for run in runs.join_all().await {
            took.time(run);
        }
    }
    assert_eq!(took.len(), CROWD * ROUNDS);
    model.slow.store(0, Ordering::Relaxed);
    row("reason.crowd.runs", CROWD, "at once");
    figure("reason.crowd.p50", took.median(), "ms");
    figure("reason.crowd.p95", took.quantile(0.95), "ms");
    figure("reason.crowd.p99", took.quantile(0.99), "ms");
    figure("reason.crowd.peak", peak(daemon.pid()).unwrap(), "MiB");
    figure("reason.crowd.resident", resident(daemon.pid()), "MiB");
}

/// From the start of a daemon to the answer of a run whose daemon was killed before its last step.
async fn kills(mut daemon: Daemon, model: &Model) {
    let mut took = Samples::default();
    for _ in 0..KILLS {
        model.hold(true);
        let before = model.last.load(Ordering::SeqCst);
        let mut events = start(&mut client(&daemon).await).await;
        let first = events.message().await.unwrap().unwrap();
        eventually("the model is asked for the answer", || async {
            model.last.load(Ordering::SeqCst) > before
        })
        .await;
        daemon.signal("KILL");
        assert_eq!(daemon.wait(), None, "it was killed");
        model.hold(false);
        let begun = Instant::now();
        daemon = daemon.restart_unready().await;
        let run_id = first.run_id.clone();
        let request = ResumeRequest { run_id, after: first.seq, ..ResumeRequest::default() };
        let events = resumed(&mut client(&daemon).await, &request).await;
        let seen = end(events).await;
        took.time(begun.elapsed());
        let actions = seen.iter().filter(|one| matches!(one.event, Some(Event::Action(_))));
        assert_eq!(actions.count(), 2, "no call was made again");
    }
    row("reason.resume.kills", KILLS, "kills");
    figure("reason.resume.least", took.least(), "ms");
    figure("reason.resume.p50", took.median(), "ms");
    figure("reason.resume.most", took.most(), "ms");
}

/// The events of a run, as soon as the daemon has opened its runs.
async fn resumed(client: &mut Client, request: &ResumeRequest) -> Streaming<RunEvent> {
    let mut tick = tokio::time::interval(Duration::from_millis(1));
    loop {
        match client.resume(request.clone()).await {
            Ok(events) => return events.into_inner(),
            Err(status) => assert_eq!(status.code(), tonic::Code::Unavailable, "{status}"),
        }
        tick.tick().await;
    }
}

async fn client(daemon: &Daemon) -> Client {
    ReasonServiceClient::new(daemon.channel().await)
}

async fn start(client: &mut Client) -> Streaming<RunEvent> {
    let asked = RunRequest {
        question: "Count twice, and say what came of it.".to_owned(),
        no_cache: true,
        ..RunRequest::default()
    };
    client.run(asked).await.unwrap().into_inner()
}

/// One run to its answer; how long it took.
async fn ask(client: &mut Client) -> Duration {
    let begun = Instant::now();
    let events = start(client).await;
    end(events).await;
    begun.elapsed()
}

/// The events of a run to its answer.
async fn end(mut events: Streaming<RunEvent>) -> Vec<RunEvent> {
    let mut seen = Vec::new();
    loop {
        let Some(event) = events.message().await.unwrap() else {
            panic!("the stream ends without an end of the run")
        };
        match &event.event {
            Some(Event::Answer(_)) => return seen,
            Some(Event::Partial(_) | Event::Failed(_) | Event::Cancelled(_)) => {
                panic!("a run without an answer: {event:?}")
            }
            _ => seen.push(event),
        }
    }
}
