//! A call in a fresh container that was started before the call came, at half the rate at which the
//! pool refills; in turns with `docker run` of the same image, limits and program.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::StreamExt;
use serde_json::Value;

use crate::daemon::{Daemon, parsed};
use crate::engine::{Engine, filled, made, settle};
use crate::measure::{Samples, figure, pace, row};
use crate::stage;

const ROUNDS: usize = 6;
/// Calls of one round, and runs of the engine's command line after it.
const CALLS: usize = 50;
const RUNS: usize = 6;
const SCRIPT: &str = "echo hello";

/// Milliseconds, by where they went.
#[derive(Debug, Default)]
struct Spent {
    whole: Samples,
    queue: Samples,
    sandbox: Samples,
    tool: Samples,
    hits: usize,
}

pub async fn run() {
    let (daemon, engine) = (stage::setup().start().await, Engine::new());
    let ready = filled(&engine, &daemon).await;
    settle(&engine, &daemon, ready).await;
    let refill = refill(&engine, &daemon, ready).await;
    let rate = refill / 2.0;
    let spent = Arc::new(Mutex::new(Spent::default()));
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        settle(&engine, &daemon, ready).await;
        ours.extend(&round(&daemon, rate, &spent).await);
        settle(&engine, &daemon, ready).await;
        for _ in 0..RUNS {
            let took = tokio::task::block_in_place(|| engine.run(SCRIPT));
            theirs.time(took);
        }
    }
    let spent = std::mem::take(&mut *spent.lock().unwrap());
    figure("warm.refill_rate", refill, "containers/s");
    figure("warm.call_rate", rate, "calls/s");
    row("warm.calls", ours.len(), "calls");
    figure("warm.pool_hits", spent.hits as f64 / ours.len() as f64 * 100.0, "%");
    figure("warm.least", ours.least(), "ms");
    figure("warm.p50", ours.median(), "ms");
    figure("warm.p90", ours.quantile(0.9), "ms");
    figure("warm.p99", ours.quantile(0.99), "ms");
    figure("warm.in_daemon_p50", spent.whole.median(), "ms");
    figure("warm.queue_p50", spent.queue.median(), "ms");
    figure("warm.sandbox_p50", spent.sandbox.median(), "ms");
    figure("warm.tool_p50", spent.tool.median(), "ms");
    figure("warm.docker_run_least", theirs.least(), "ms");
    figure("warm.docker_run_p50", theirs.median(), "ms");
    figure("warm.ratio", theirs.median() / ours.median(), "times faster");
    figure("warm.ratio_of_least", theirs.least() / ours.least(), "times faster");
    assert_eq!(engine.left().await, 0, "the bench left containers of its own");
}

/// The rate at which containers are used and replaced when calls never cease.
async fn refill(engine: &Engine, daemon: &Daemon, ready: usize) -> f64 {
    let (client, before, begun) = (daemon.client().await, made(daemon).await, Instant::now());
    let calls = futures::stream::iter(0..40).map(|_| {
        let mut client = client.clone();
        async move { stage::call(&mut client, stage::script(SCRIPT)).await }
    });
    calls.buffer_unordered(8).map(drop).collect::<()>().await;
    settle(engine, daemon, ready).await;
    (made(daemon).await - before) / begun.elapsed().as_secs_f64()
}

async fn round(daemon: &Daemon, rate: f64, spent: &Arc<Mutex<Spent>>) -> Samples {
    let (client, spent) = (daemon.client().await, Arc::clone(spent));
    let paced = pace(rate, CALLS, move |_| {
        let (mut client, spent) = (client.clone(), Arc::clone(&spent));
        async move {
            let reply = stage::call(&mut client, stage::script(SCRIPT)).await;
            let reply = parsed(&reply);
            assert_eq!(reply["data"], "hello\n", "{reply}");
            let (figures, mut spent) = (&reply["metadata"], spent.lock().unwrap());
            spent.whole.add(number(&figures["latency_ms"]));
            spent.queue.add(number(&figures["queue_ms"]));
            spent.sandbox.add(number(&figures["sandbox_ms"]));
            spent.tool.add(number(&figures["tool_ms"]));
            spent.hits += usize::from(figures["pool"] == "hit");
        }
    });
    let bound = Duration::from_secs(300);
    tokio::time::timeout(bound, paced).await.unwrap().latency
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}
