//! One-shot calls as fast as they go, against the engine's own rate of create, start and remove with
//! the same create body, in turns. Both sides end with what they began with: a daemon's round is over
//! when its pool is full again and nothing is left to remove.

use std::time::Instant;

use futures::StreamExt;

use crate::daemon::Daemon;
use crate::engine::{Engine, filled, made, settle};
use crate::measure::{Samples, figure, row};
use crate::stage;

const ROUNDS: usize = 4;
/// Containers of one round.
const CALLS: usize = 60;
/// Callers at once.
const CALLERS: usize = 12;

pub async fn run() {
    let (daemon, engine) = (stage::setup().start().await, Engine::new());
    let ready = filled(&engine, &daemon).await;
    let body = engine.body(&daemon).await;
    let mut rates = [Samples::default(), Samples::default(), Samples::default()];
    let mut ratio = Samples::default();
    for _ in 0..ROUNDS {
        settle(&engine, &daemon, ready).await;
        let ours = round(&engine, &daemon, ready).await;
        let engines = [2, 4].map(|at_once| engine.churn(&body, CALLS, at_once));
        let mut best: f64 = 0.0;
        for (churn, rate) in engines.into_iter().zip(&mut rates) {
            let took = churn.await.as_secs_f64();
            rate.add(CALLS as f64 / took);
            best = best.max(CALLS as f64 / took);
        }
        rates[2].add(ours);
        ratio.add(ours / best * 100.0);
    }
    let [two, four, ours] = &rates;
    row("sustained.callers", CALLERS, "callers");
    figure("sustained.engine_two_at_once", two.median(), "containers/s");
    figure("sustained.engine_four_at_once", four.median(), "containers/s");
    figure("sustained.ours", ours.median(), "containers/s");
    figure("sustained.ours_best", ours.most(), "containers/s");
    figure("sustained.ratio", ratio.median(), "% of the engine");
    figure("sustained.ratio_best", ratio.most(), "% of the engine");
    assert_eq!(engine.left().await, 0, "the bench left containers of its own");
}

/// Containers made, used and removed a second.
async fn round(engine: &Engine, daemon: &Daemon, ready: usize) -> f64 {
    let (client, before, begun) = (daemon.client().await, made(daemon).await, Instant::now());
    let calls = futures::stream::iter(0..CALLS).map(|_| {
        let mut client = client.clone();
        async move {
            let reply = stage::call(&mut client, stage::script("true")).await;
            assert!(reply.error.is_none(), "{}", reply.json);
        }
    });
    calls.buffer_unordered(CALLERS).collect::<()>().await;
    settle(engine, daemon, ready).await;
    let took = begun.elapsed().as_secs_f64();
    (made(daemon).await - before) / took
}
