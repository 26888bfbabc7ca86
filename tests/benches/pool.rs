//! A trace of calls, replayed against the daemon at parts of the rate at which its pools refill: who
//! finds a container waiting, who waits, who is refused and for how long. Then a hundred calls at
//! once. The trace comes from a seed; three callers share three pools.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::StreamExt;
use hyper_util::rt::TokioIo;
use serde_json::json;
use switchboard::proto::tools::tool_service_client::ToolServiceClient;
use tokio_util::task::TaskTracker;
use tonic::Request;
use tonic::transport::Endpoint;
use tonic_types::StatusExt;

use crate::daemon::{Daemon, Setup, parsed, request};
use crate::engine::{Engine, made, metric};
use crate::measure::{Samples, figure, row};
use crate::stage::{self, Client};
use crate::trace::{Arrival, trace};

const SEED: u64 = 20_261_129;
/// How long each replay takes, and how much of its beginning is for the pools to learn from.
const SECONDS: f64 = 50.0;
const LEAD: f64 = 20.0;
/// Calls have so long; one that cannot be served in that time should be refused at once.
const DEADLINE: Duration = Duration::from_secs(3);
const BURST: usize = 100;
/// A user with nothing to its name.
const NOBODY: u32 = 65_534;

/// Memory of the pools, by which they differ; and how many containers wait, at least and at most.
const POOLS: [(u32, u32, u32); 3] = [(88, 4, 12), (80, 2, 8), (72, 2, 8)];

fn setup() -> Setup {
    let mut setup =
        stage::setup().config("[server]\nsocket_mode = \"0666\"\nallow_world_socket = true");
    for (at, (memory, min, max)) in POOLS.iter().enumerate() {
        let profile = format!(
            "image = \"shell\"\ntier = \"call\"\n[limits]\nwall = \"20s\"\nmemory = \"{memory}MiB\"\n\
             processes = 24\noutput = \"64KiB\"\ndisk = \"4MiB\"\n[pool]\nmin = {min}\nmax = {max}\n"
        );
        let tool = format!(
            "name = \"bench.pool{at}\"\ndescription = \"Says a word. For benches.\"\n\
             profile = \"pool{at}\"\nrisk = \"read\"\n\
             [input_schema]\ntype = \"object\"\nadditionalProperties = false\nrequired = [\"word\"]\n\
             properties.word = {{ type = \"string\", description = \"The word.\" }}\n\
             [command]\nargv = [\"echo\", \"{{/word}}\"]\nstdin = \"none\"\n"
        );
        setup = setup
            .policy(&format!("sandbox/pool{at}.toml"), &profile)
            .policy(&format!("tools/pool{at}.toml"), &tool);
    }
    let open = std::fs::Permissions::from_mode(0o711);
    std::fs::set_permissions(setup.folder.path(), open).unwrap();
    setup
}

/// A client whose calls count as those of another user: the kernel tells the daemon who connected.
async fn client_of(daemon: &Daemon, uid: u32) -> Client {
    let path = daemon.folder().join("daemon.sock");
    let connected = std::thread::spawn(move || {
        // This thread only, and it ends here.
        rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(uid)).unwrap();
        std::os::unix::net::UnixStream::connect(path).unwrap()
    });
    let stream = tokio::task::spawn_blocking(|| connected.join().unwrap()).await.unwrap();
    stream.set_nonblocking(true).unwrap();
    let mut stream = Some(TokioIo::new(tokio::net::UnixStream::from_std(stream).unwrap()));
    let connector = tower::service_fn(move |_| {
        let stream = stream.take().ok_or_else(|| std::io::Error::other("it connects once"));
        std::future::ready(stream)
    });
    let endpoint = Endpoint::from_static("http://localhost");
    ToolServiceClient::new(endpoint.connect_with_connector(connector).await.unwrap())
}

/// What came of the calls of one replay.
#[derive(Debug, Default)]
struct Seen {
    served: Samples,
    uses: BTreeMap<String, usize>,
    refused: BTreeMap<String, usize>,
    /// How long refused callers are to wait, and how long it took to tell them, in milliseconds.
    delays: Samples,
    told: Samples,
    /// Served and all, by caller.
    callers: BTreeMap<usize, (usize, usize)>,
}

impl Seen {
    fn count(&self) -> usize {
        self.callers.values().map(|(_, all)| all).sum()
    }

    fn part(&self, of: &str) -> f64 {
        self.uses.get(of).copied().unwrap_or(0) as f64 / self.count() as f64 * 100.0
    }

    fn print(&self, name: &str) {
        row(&format!("{name}.calls"), self.count(), "calls");
        for of in ["hit", "waited", "cold"] {
            figure(&format!("{name}.{of}"), self.part(of), "%");
        }
        figure(&format!("{name}.p50"), self.served.median(), "ms");
        figure(&format!("{name}.p99"), self.served.quantile(0.99), "ms");
        for (reason, count) in &self.refused {
            row(&format!("{name}.refused.{reason}"), count, "calls");
        }
        if self.delays.len() > 0 {
            figure(&format!("{name}.retry_delay_p50"), self.delays.median(), "ms");
            figure(&format!("{name}.retry_delay_max"), self.delays.most(), "ms");
            figure(&format!("{name}.refused_within_p99"), self.told.quantile(0.99), "ms");
        }
        for (caller, (served, all)) in &self.callers {
            let part = *served as f64 / *all as f64 * 100.0;
            figure(&format!("{name}.caller{caller}_served"), part, &format!("% of {all}"));
        }
    }
}

pub async fn run() {
    let (daemon, engine) = (setup().start().await, Engine::new());
    let mut clients = vec![daemon.client().await];
    if rustix::process::getuid().is_root() {
        clients.extend([client_of(&daemon, 0).await, client_of(&daemon, NOBODY).await]);
    } else {
        eprintln!("bars: only root can be several callers; this is one");
    }
    calm(&engine, &daemon).await;
    let refill = refill(&engine, &daemon).await;
    row("pool.seed", SEED, "seed of the trace");
    figure("pool.refill_rate", refill, "containers/s");
    for (name, load) in [("quarter", 0.25), ("half", 0.5), ("full", 1.0), ("double", 2.0)] {
        calm(&engine, &daemon).await;
        let seen = replay(&clients, load * refill).await;
        seen.print(&format!("pool.{name}"));
    }
    calm(&engine, &daemon).await;
    burst(&clients).await.print("pool.burst");
    for cause in ["queue_full", "share", "too_late", "unserved", "deadline"] {
        let label = format!("cause=\"{cause}\"");
        let count = metric(&daemon, "switchboard_sandbox_refusals_total", &label).await;
        row(&format!("pool.refusals.{cause}"), count, "calls");
    }
}

/// Waits until nothing is made or removed and every pool holds what it aims at.
async fn calm(engine: &Engine, daemon: &Daemon) {
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        let state = async |state: &str| {
            let label = format!("state=\"{state}\"");
            metric(daemon, "switchboard_sandbox_containers", &label).await
        };
        let moving = state("starting").await + state("teardown").await + state("in_use").await;
        let ready = metric(daemon, "switchboard_sandbox_pool_ready", "").await;
        let target = metric(daemon, "switchboard_sandbox_pool_target", "").await;
        let all = engine.count(daemon).await as f64;
        if moving == 0.0 && ready >= target && all == ready {
            return;
        }
        assert!(Instant::now() < end, "{moving} moving, {ready} of {target} ready, {all} in all");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The rate at which containers are used and replaced when calls never cease.
async fn refill(engine: &Engine, daemon: &Daemon) -> f64 {
    let client = daemon.client().await;
    let (before, begun) = (made(daemon).await, Instant::now());
    let calls = futures::stream::iter(0..80).map(|_| one(client.clone(), 0, None));
    calls.buffer_unordered(8).map(drop).collect::<()>().await;
    let spent = begun.elapsed().as_secs_f64();
    let rate = (made(daemon).await - before) / spent;
    calm(engine, daemon).await;
    rate
}

/// How one call ended: whether a container waited; or why it was refused, and for how long.
enum Ended {
    Served(String),
    Refused(String, Option<Duration>),
}

async fn one(mut client: Client, pool: usize, deadline: Option<Duration>) -> Ended {
    let arguments = json!({ "word": "hello" }).to_string();
    let mut call = Request::new(request(&format!("bench.pool{pool}"), &arguments));
    if let Some(deadline) = deadline {
        call.set_timeout(deadline);
    }
    match client.call(call).await {
        Ok(answer) => {
            let reply = parsed(&answer.into_inner().reply.unwrap());
            assert_eq!(reply["data"], "hello\n", "{reply}");
            Ended::Served(reply["metadata"]["pool"].as_str().unwrap().to_owned())
        }
        Err(status) => {
            let details = status.get_error_details();
            let delay = details.retry_info().and_then(|info| info.retry_delay);
            let reason = details.error_info().map(|info| info.reason.clone());
            Ended::Refused(reason.unwrap_or_else(|| format!("{:?}", status.code())), delay)
        }
    }
}

/// Notes one call that was sent at `sent`.
fn note(seen: &Mutex<Seen>, caller: usize, sent: Instant, ended: Ended) {
    let mut seen = seen.lock().unwrap();
    let served = seen.callers.entry(caller).or_default();
    served.1 += 1;
    match ended {
        Ended::Served(pool) => {
            served.0 += 1;
            seen.served.time(sent.elapsed());
            *seen.uses.entry(pool).or_default() += 1;
        }
        Ended::Refused(reason, delay) => {
            if let Some(delay) = delay {
                seen.delays.time(delay);
                seen.told.time(sent.elapsed());
            }
            *seen.refused.entry(reason).or_default() += 1;
        }
    }
}

/// Plays the trace at `rate` calls a second; gives what came of it after the lead.
async fn replay(clients: &[Client], rate: f64) -> Seen {
    let calls = trace(SEED, ((SECONDS + LEAD) * rate) as usize);
    let (tasks, seen) = (TaskTracker::new(), Arc::new(Mutex::new(Seen::default())));
    let begun = Instant::now();
    for Arrival { at, caller, pool } in calls {
        let due = begun + Duration::from_secs_f64(at / rate);
        tokio::time::sleep_until(due.into()).await;
        let (client, seen) = (clients[caller % clients.len()].clone(), Arc::clone(&seen));
        tasks.spawn(async move {
            let sent = Instant::now();
            let ended = one(client, pool, Some(DEADLINE)).await;
            if at / rate >= LEAD {
                note(&seen, caller, sent, ended);
            }
        });
    }
    tasks.close();
    tasks.wait().await;
    std::mem::take(&mut *seen.lock().unwrap())
}

/// So many calls of one pool at once, most of them of one caller.
async fn burst(clients: &[Client]) -> Seen {
    let (tasks, seen) = (TaskTracker::new(), Arc::new(Mutex::new(Seen::default())));
    for number in 0..BURST {
        // Of ten calls, eight are the first caller's, one the second's, one the third's.
        let caller = (number % 10).saturating_sub(7);
        let (client, seen) = (clients[caller % clients.len()].clone(), Arc::clone(&seen));
        tasks.spawn(async move {
            let sent = Instant::now();
            let ended = one(client, 0, None).await;
            note(&seen, caller, sent, ended);
        });
    }
    tasks.close();
    tasks.wait().await;
    std::mem::take(&mut *seen.lock().unwrap())
}
