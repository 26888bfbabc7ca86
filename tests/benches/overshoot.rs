//! How long after its wall time the reply to a call comes whose tool does not want to end, and to one
//! whose runner has been stopped from outside. Seen by the client, so the way there and back is in it.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::daemon::{Daemon, Setup, code, parsed};
use crate::engine::{Engine, filled, metric, settle};
use crate::measure::{Samples, figure, row};
use crate::stage::{self, Client};

const WALL: Duration = Duration::from_millis(500);
/// Calls of each kind.
const CALLS: usize = 30;
/// Marks the tool whose runner is to be stopped.
const MARK: &str = "47.123";

const HOSTILE: [(&str, &str); 4] = [
    ("spin", "while :; do :; done"),
    ("threads", "for i in 1 2 3 4; do while :; do :; done & done; wait"),
    ("deaf", "trap '' TERM INT HUP; while :; do sleep 1; done"),
    ("stopped_group", "kill -STOP 0; sleep 60"),
];

/// Overshoots as the client sees them, and in the sandbox room alone.
#[derive(Default)]
struct Over {
    seen: Samples,
    inside: Samples,
}

impl Over {
    fn add(&mut self, [seen, inside]: [Duration; 2]) {
        self.seen.time(seen);
        self.inside.time(inside);
    }

    fn report(&self, name: &str) {
        report(name, &self.seen);
        report(&format!("{name}.in_sandbox"), &self.inside);
    }
}

pub async fn run() {
    let setup: Setup =
        stage::setup().edit("sandbox/bench.toml", "wall = \"20s\"", "wall = \"500ms\"");
    let (daemon, engine) = (setup.start().await, Engine::new());
    let mut client = daemon.client().await;
    let ready = filled(&engine, &daemon).await;
    report("none", &plain(&engine, &daemon, ready).await);
    for (name, script) in HOSTILE {
        let mut over = Over::default();
        for _ in 0..CALLS {
            settle(&engine, &daemon, ready).await;
            over.add(late(&mut client, script).await);
        }
        over.report(name);
    }
    let mut over = Over::default();
    for _ in 0..CALLS {
        settle(&engine, &daemon, ready).await;
        let script = format!("sleep {MARK}");
        let (took, ()) = tokio::join!(late(&mut client, &script), stop_runner());
        over.add(took);
    }
    over.report("stopped_runner");
    for by in ["runner", "cgroup", "pidfd", "engine"] {
        row(&format!("overshoot.killed_by_{by}"), kills(&daemon, by).await, "calls");
    }
}

/// What the way there and back takes when a tool ends by itself.
async fn plain(engine: &Engine, daemon: &Daemon, ready: usize) -> Samples {
    let (mut client, mut plain) = (daemon.client().await, Samples::default());
    for _ in 0..CALLS {
        settle(engine, daemon, ready).await;
        let begun = Instant::now();
        let reply = stage::call(&mut client, stage::script("sleep 0.4")).await;
        assert_eq!(code(&parsed(&reply)), "SUCCESS");
        plain.time(begun.elapsed().saturating_sub(Duration::from_millis(400)));
    }
    plain
}

async fn kills(daemon: &Daemon, by: &str) -> f64 {
    metric(daemon, "switchboard_sandbox_kills_total", &format!("by=\"{by}\"")).await
}

fn report(name: &str, over: &Samples) {
    figure(&format!("overshoot.{name}.p50"), over.median(), "ms");
    figure(&format!("overshoot.{name}.p99"), over.quantile(0.99), "ms");
    figure(&format!("overshoot.{name}.most"), over.most(), "ms");
}

/// One call that must end by its wall time; gives how long after it, to the client and in the sandbox
/// room alone.
async fn late(client: &mut Client, script: &str) -> [Duration; 2] {
    let begun = Instant::now();
    let reply = stage::call(client, stage::script(script)).await;
    let took = begun.elapsed();
    let reply = parsed(&reply);
    assert_eq!(code(&reply), "TOOL_TIMEOUT", "{reply}");
    assert_eq!(reply["metadata"]["pool"], "hit", "{reply}");
    let spent = |stage: &str| reply["metadata"][stage].as_f64().unwrap() / 1000.0;
    let inside = Duration::from_secs_f64(spent("sandbox_ms") + spent("tool_ms"));
    [took, inside].map(|time| time.saturating_sub(WALL))
}

/// Stops the first process of the container in which the marked tool runs: the tool's parent.
async fn stop_runner() {
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    loop {
        tick.tick().await;
        if let Some(runner) = parent_of_marked() {
            kill_process(runner, Signal::STOP).unwrap();
            return;
        }
    }
}

fn parent_of_marked() -> Option<Pid> {
    fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let mut words = line.split(|byte| *byte == 0);
        let marked = words.next() == Some(b"sleep") && words.next() == Some(MARK.as_bytes());
        let status = marked.then(|| fs::read_to_string(entry.path().join("status")).ok())??;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        Pid::from_raw(parent.trim().parse().ok()?)
    })
}
