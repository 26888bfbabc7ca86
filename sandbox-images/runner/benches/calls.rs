//! Time of calls into started containers, as rows of name, value and unit. Needs the images of
//! `sandbox-images/build.sh` and a Docker engine.

#![expect(
    dead_code,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a bench fails like a test, and shares its harness"
)]

use std::time::{Duration, Instant};

use switchboard_runner::{Exit, Request};

#[path = "../tests/it/harness.rs"]
mod harness;

use harness::{container, shell};

const FLAGS: [&str; 3] = [
    "--tmpfs=/tmp:size=16m,mode=1777",
    "--memory=64m",
    "--pids-limit=64",
];

/// A call of the smallest program there is in every image: the runner, which refuses the mode.
fn smallest(last: bool) -> Request {
    let mut request = shell("");
    request.argv = vec!["/runner".into(), "none".into()];
    request.cwd = "/".into();
    request.last = last;
    request
}

fn row(name: &str, value: f64, unit: &str) {
    println!("{name}\t{value:.3}\t{unit}");
}

fn quantiles(name: &str, mut times: Vec<Duration>) {
    times.sort();
    for (part, at) in [
        ("min", 0),
        ("p50", times.len() / 2),
        ("p99", times.len() * 99 / 100),
    ] {
        row(
            &format!("{name}_{part}"),
            times[at].as_secs_f64() * 1e3,
            "ms",
        );
    }
}

async fn fresh(count: usize) {
    let mut times = Vec::new();
    for _ in 0..count {
        let mut sandbox = container("switchboard/runner", &FLAGS).await;
        // Let the engine finish what it does after a start.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let ran = sandbox.call(&smallest(true), b"").await;
        assert_eq!(ran.report().exit, Exit::Code(2));
        times.push(ran.elapsed);
        sandbox.gone().await;
    }
    quantiles("fresh_container_call", times);
}

async fn worker(count: usize, parallel: usize) {
    let sandbox = container("switchboard/runner", &FLAGS).await;
    let mut times = Vec::new();
    let begun = Instant::now();
    for _ in 0..count / parallel {
        let request = smallest(false);
        let calls = (0..parallel).map(|_| sandbox.call(&request, b""));
        times.extend(futures::future::join_all(calls).await.iter().map(|ran| {
            assert_eq!(ran.report().exit, Exit::Code(2));
            ran.elapsed
        }));
    }
    let name = format!("worker_call_{parallel}_at_a_time");
    row(
        &format!("{name}_rate"),
        times.len() as f64 / begun.elapsed().as_secs_f64(),
        "calls/s",
    );
    quantiles(&name, times);
}

async fn flood() {
    let sandbox = container("switchboard/shell", &FLAGS).await;
    let mut request = shell("yes");
    request.cwd = "/tmp".into();
    request.output_bytes = 64 << 20;
    let ran = sandbox.call(&request, b"").await;
    assert_eq!(ran.stdout.len(), 64 << 20);
    row("output", 64.0 / ran.elapsed.as_secs_f64(), "MiB/s");
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    fresh(20).await;
    worker(2000, 1).await;
    worker(4000, 8).await;
    flood().await;
}
