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

use harness::{container, fetch, gate, shell};

/// Where the worker bench's container accounts its processor time, by the version of cgroups.
const USAGE: [(&str, &str, f64); 2] = [
    ("/sys/fs/cgroup/cpuacct/switchboard-bench", "cpuacct.usage", 1e3),
    ("/sys/fs/cgroup/switchboard-bench", "cpu.stat", 1.0),
];
const FLAGS: [&str; 3] = ["--tmpfs=/tmp:size=16m,mode=1777", "--memory=64m", "--pids-limit=64"];

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
    for (part, at) in [("min", 0), ("p50", times.len() / 2), ("p99", times.len() * 99 / 100)] {
        row(&format!("{name}_{part}"), times[at].as_secs_f64() * 1e3, "ms");
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

/// Microseconds of processor time that the containers of the worker bench have used.
fn usage() -> Option<f64> {
    USAGE.iter().find_map(|(folder, file, unit)| {
        let text = std::fs::read_to_string(format!("{folder}/{file}")).ok()?;
        let number = text.split_whitespace().find_map(|word| word.parse::<f64>().ok())?;
        Some(number / unit)
    })
}

async fn worker(name: &str, (request, stdin): (Request, &[u8]), parallel: usize) {
    const CALLS: usize = 4000;
    let mut flags = FLAGS.to_vec();
    flags.push("--cgroup-parent=/switchboard-bench");
    let mut sandbox = container("switchboard/runner", &flags).await;
    let connections = sandbox.connections();
    let before = usage();
    let begun = Instant::now();
    let run = async {
        let one = async || {
            let mut times = Vec::new();
            for _ in 0..CALLS / parallel {
                let ran = sandbox.call(&request, stdin).await;
                assert!(matches!(ran.report().exit, Exit::Code(0 | 2)), "{ran:?}");
                times.push(ran.elapsed);
            }
            times
        };
        futures::future::join_all((0..parallel).map(|_| one())).await.concat()
    };
    let times = tokio::select! {
        times = run => times,
        () = gate(connections) => panic!("the gate ended"),
    };
    let name = format!("worker_{name}_{parallel}_at_a_time");
    row(&format!("{name}_rate"), times.len() as f64 / begun.elapsed().as_secs_f64(), "calls/s");
    if let Some((before, after)) = before.zip(usage()) {
        row(&format!("{name}_cpu"), (after - before) / times.len() as f64, "us");
    }
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
    for parallel in [1, 8] {
        worker("exec", (smallest(false), b""), parallel).await;
        worker("http", fetch(), parallel).await;
    }
    flood().await;
}
