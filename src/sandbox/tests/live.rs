//! Calls in real containers.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use bollard::models::{ContainerSummary, ContainerSummaryStateEnum};

use super::broken::wait_until;
use crate::call::Code;
use crate::catalog::{Limits, Pool, Profile, Runtime, Seccomp, Tier};
use crate::sandbox::engine::Engine;
use crate::sandbox::order::{Order, Scope, environment};
use crate::sandbox::pool::Who;
use crate::sandbox::recipe::{Images, Owner, Recipe};
use crate::sandbox::{
    Config, End, Error, Outcome, PoolUse, Sandbox, Sight, inspect_engine, keeper,
};

const MIB: u64 = 1 << 20;

pub(super) fn images() -> PathBuf {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/images.toml");
    assert!(path.exists(), "run sandbox-images/build.sh first");
    path
}

pub(super) fn config() -> Config {
    Config {
        instance: format!("test-{}", uuid::Uuid::new_v4().simple()),
        images: images(),
        ..Config::default()
    }
}

pub(super) fn profile(image: &str) -> Profile {
    Profile {
        name: image.to_owned(),
        image: image.to_owned(),
        tier: Tier::Call,
        runtime: Runtime::Runc,
        seccomp: Arc::new(Seccomp::built_in()),
        accept_unread: Vec::new(),
        limits: Limits {
            wall: Duration::from_secs(10),
            memory: 64 * MIB,
            cpu_millis: 1000,
            processes: 32,
            output: MIB,
            disk: 16 * MIB,
            inodes: 1024,
            open_files: 256,
        },
        egress: None,
        egress_limits: Default::default(),
        secrets: Vec::new(),
        pool: Pool { min: 1, max: 4 },
    }
}

pub(super) fn order(profile: &Arc<Profile>, argv: &[&str]) -> Order {
    Order {
        profile: Arc::clone(profile),
        scope: Scope { source: "tests".to_owned(), tenant: "default".to_owned() },
        who: Who::new(("default".to_owned(), "tester".to_owned())),
        argv: argv.iter().map(|&element| element.to_owned()).collect(),
        env: environment(&std::collections::BTreeMap::new()),
        stdin: Vec::new(),
        files: Vec::new(),
        wanted: Vec::new(),
        wanted_bytes: 0,
        answer: None,
        deadline: None,
    }
}

pub(super) fn shell(profile: &Arc<Profile>, script: &str) -> Order {
    order(profile, &["sh", "-c", script])
}

/// A running room that must be drained at the end of the test.
pub(super) struct Room {
    pub(super) sandbox: Sandbox,
    pub(super) stop: CancellationToken,
    pub(super) tasks: TaskTracker,
}

impl Room {
    pub(super) async fn open(config: Config) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let sandbox = Sandbox::start(config, tasks.clone(), stop.clone()).await.expect("starts");
        // As `furnish` would, without tools.
        let images = Images::read(&sandbox.hub.config.images);
        if let Ok(images) = images {
            sandbox.hub.images.store(Arc::new(images));
        }
        sandbox.hub.lacking().clear();
        Self { sandbox, stop, tasks }
    }

    /// A room with the pools of these profiles, filled.
    pub(super) async fn with(config: Config, profiles: &[&Arc<Profile>]) -> Self {
        let room = Self::open(config).await;
        room.keep(profiles);
        room.ready().await;
        room
    }

    pub(super) fn keep(&self, profiles: &[&Arc<Profile>]) {
        let images = self.sandbox.hub.images.load();
        let wanted = profiles
            .iter()
            .map(|profile| {
                let recipe = Recipe::new(profile, &images).unwrap();
                (recipe, profile.pool)
            })
            .collect();
        let drained = self.sandbox.hub.pools().furnish(wanted, Instant::now());
        drop(drained);
        keeper::report(&self.sandbox.hub);
        self.sandbox.hub.changed.notify_one();
    }

    pub(super) async fn ready(&self) {
        let mut readiness = self.sandbox.readiness();
        let ready = readiness.wait_for(|now| now.ready);
        if tokio::time::timeout(Duration::from_secs(20), ready).await.is_err() {
            panic!("not ready: {}", self.sandbox.readiness().borrow().reason);
        }
    }

    pub(super) async fn run(&self, order: Order) -> Outcome {
        self.sandbox.execute(order, None, &Sight::default()).await.expect("runs")
    }

    /// Drains, and requires that the engine knows no container of this room any more.
    pub(super) async fn close(self) {
        self.stop.cancel();
        self.sandbox.drain().await;
        self.tasks.close();
        tokio::time::timeout(Duration::from_secs(20), self.tasks.wait()).await.expect("tasks end");
        let hub = &self.sandbox.hub;
        let left = hub.yard.engine.list(&hub.config.instance).await.expect("lists");
        assert!(left.is_empty(), "left over: {left:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_warm_call_runs_and_nothing_is_left() {
    let profile = Arc::new(profile("shell"));
    let room = Room::with(config(), &[&profile]).await;
    let outcome = room.run(shell(&profile, "echo out; echo err >&2; exit 3")).await;
    assert_eq!(outcome.end, End::Exited(3));
    assert_eq!(&outcome.stdout[..], b"out\n");
    assert_eq!(&outcome.stderr[..], b"err\n");
    assert_eq!(outcome.pool, PoolUse::Hit);
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_of_the_first_moment_waits_for_the_engines_first_word() {
    let profile = Arc::new(profile("shell"));
    let room = Room::open(config()).await;
    let outcome = room.run(shell(&profile, "echo early")).await;
    assert_eq!((outcome.end, &outcome.stdout[..]), (End::Exited(0), &b"early\n"[..]));
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_of_a_burst_has_a_container_of_its_own() {
    const CALLS: usize = 24;
    let profile = Arc::new(profile("shell"));
    let room =
        Room::with(Config { capacity: 6, queue_wait_ms: 60_000, ..config() }, &[&profile]).await;
    let calls = (0..CALLS)
        .map(|_| room.run(shell(&profile, "test -e /tmp/mark && echo dirty; : > /tmp/mark")));
    let outcomes = futures::future::join_all(calls).await;
    let containers: HashSet<_> = outcomes.iter().map(|o| o.container.clone()).collect();
    assert_eq!(containers.len(), CALLS);
    assert!(outcomes.iter().all(|outcome| outcome.stdout.is_empty()));
    assert!(outcomes.iter().any(|outcome| outcome.pool == PoolUse::Hit));
    assert!(outcomes.iter().any(|outcome| outcome.pool != PoolUse::Hit));
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_that_died_while_it_waited_is_never_handed_out() {
    let profile = Arc::new(profile("shell"));
    let room = Room::with(config(), &[&profile]).await;
    let hub = &room.sandbox.hub;
    let waiting = hub.yard.engine.list(&hub.config.instance).await.unwrap();
    for container in &waiting {
        let id = container.id.clone().unwrap();
        hub.yard.engine.remove(&id).await.unwrap();
    }
    let outcome = room.run(shell(&profile, "echo alive")).await;
    assert_eq!(outcome.stdout, "alive\n");
    assert!(waiting.iter().all(|dead| dead.id.as_ref() != Some(&outcome.container)));
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_refuses_with_a_delay() {
    let profile = Arc::new(profile("shell"));
    let room = Room::with(Config { capacity: 1, queue: 2, ..config() }, &[&profile]).await;
    let sight = Sight::default();
    let calls = (0..6).map(|_| room.sandbox.execute(shell(&profile, "sleep 0.2"), None, &sight));
    let results = futures::future::join_all(calls).await;
    let refused: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert_eq!(refused.len(), 3, "{refused:?}");
    for error in refused {
        let failure = error.failure();
        assert_eq!(failure.code, Code::RateLimited);
        assert!(failure.retry_after.is_some());
    }
    // A wait that cannot end in time is refused at once.
    let mut patient = Box::pin(room.run(shell(&profile, "sleep 2")));
    let mut hasty = shell(&profile, "true");
    hasty.deadline = Some(Instant::now() + Duration::from_millis(500));
    let begun = Instant::now();
    let error = tokio::select! {
        biased;
        outcome = &mut patient => panic!("{outcome:?}"),
        result = room.sandbox.execute(hasty, None, &sight) => result.unwrap_err(),
    };
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert!(matches!(error, Error::Busy { .. }), "{error:?}");
    drop(patient);
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_sweeps_its_own_dead_and_nobody_elses() {
    let profile = Arc::new(profile("shell"));
    let alive = Room::with(config(), &[&profile]).await;
    // A container that an earlier life of another instance left behind.
    let name = format!("test-{}", uuid::Uuid::new_v4().simple());
    let dead = Owner {
        instance: name.clone(),
        boot: "an earlier boot".to_owned(),
        lifetime: Duration::from_secs(1000),
    };
    let hub = &alive.sandbox.hub;
    let recipe = Recipe::new(&profile, &hub.images.load()).unwrap();
    let engine = &hub.yard.engine;
    engine.create(&format!("left-{name}"), recipe.body(&dead)).await.unwrap();
    let running = alive.run(shell(&profile, "sleep 3; echo whole"));
    let restarts = async {
        for _ in 0..3 {
            let room = Room::with(Config { instance: name.clone(), ..config() }, &[&profile]).await;
            let known = room.sandbox.hub.yard.registry.snapshot();
            for container in engine.list(&name).await.unwrap() {
                let names = container.names.unwrap();
                assert!(
                    names.iter().all(|n| known.contains(n.trim_start_matches('/'))),
                    "{names:?} was not swept"
                );
            }
            room.close().await;
        }
    };
    let (outcome, ()) = tokio::join!(running, restarts);
    assert_eq!(outcome.stdout, "whole\n");
    alive.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_that_no_profile_wants_any_more_is_drained() {
    let room = Room::open(config()).await;
    let old = Arc::new(profile("shell"));
    let mut other = profile("shell");
    other.limits.memory = 48 * MIB;
    let new = Arc::new(other);
    room.keep(&[&old]);
    room.ready().await;
    let before = room.sandbox.hub.yard.registry.snapshot();
    room.keep(&[&new]);
    room.ready().await;
    wait_until(|| {
        let now = room.sandbox.hub.yard.registry.snapshot();
        now.is_disjoint(&before)
    })
    .await;
    // A call that was admitted before the change still runs.
    assert_eq!(room.run(shell(&old, "exit 5")).await.end, End::Exited(5));
    assert_eq!(room.run(shell(&new, "exit 6")).await.pool, PoolUse::Hit);
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_needs_another_kind_takes_the_place_of_a_waiting_container() {
    let kept = Arc::new(profile("shell"));
    let room = Room::with(Config { capacity: 1, ..config() }, &[&kept]).await;
    let mut other = profile("shell");
    other.limits.cpu_millis = 500;
    let outcome = room.run(shell(&Arc::new(other), "echo here")).await;
    assert_eq!(outcome.stdout, "here\n");
    assert_eq!(outcome.pool, PoolUse::Cold);
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_reads_the_limits_back_and_leaves_nothing() {
    let config = config();
    let facts = inspect_engine(&config).await;
    assert_eq!(facts.api.as_deref().map(|api| api.starts_with("1.")), Ok(true));
    assert!(facts.limits.as_ref().unwrap().contains("memory 67108864 bytes"));
    let images = facts.images.unwrap();
    assert!(images.iter().all(|image| image.present), "{images:?}");
    assert!(facts.runtimes.contains(&"runc".to_owned()));
    let engine = Engine::new(config.engine.clone(), config.engine_timeout());
    engine.rise(engine.connect().await.unwrap());
    let left = engine.list(&format!("{}-doctor", config.instance)).await;
    assert_eq!(left.unwrap(), []);
}

const HOLDER: &str = "sandbox::tests::live::hold_containers_until_killed";

/// The victim of the next test: a daemon in a process of its own. Reads its instance from standard
/// input; does nothing when there is none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started by the test that kills it"]
async fn hold_containers_until_killed() {
    let mut instance = String::new();
    std::io::stdin().read_line(&mut instance).unwrap();
    if instance.trim().is_empty() {
        return;
    }
    let profile = Arc::new(profile("shell"));
    let room =
        Room::with(Config { instance: instance.trim().to_owned(), ..config() }, &[&profile]).await;
    let calls = (0..3).map(|_| room.run(order(&profile, &["sleep", "60"])));
    futures::future::join_all(calls).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_daemons_containers_end_by_themselves() {
    let config = config();
    let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", HOLDER, "--ignored"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut input = victim.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, format!("{}\n", config.instance).as_bytes()).unwrap();
    let engine = Engine::new(config.engine.clone(), config.engine_timeout());
    engine.rise(engine.connect().await.unwrap());
    let count = |state: Option<ContainerSummaryStateEnum>| {
        let listed = engine.list(&config.instance);
        async move {
            let listed = listed.await.unwrap();
            let of_state =
                |container: &&ContainerSummary| state.is_none() || container.state == state;
            listed.iter().filter(of_state).count()
        }
    };
    // Three in use, and the reserve that three at once ask for; then none is being made. (One that
    // is made and not started when the daemon dies waits for the next start's sweep.)
    let until = Instant::now() + Duration::from_secs(30);
    while count(Some(ContainerSummaryStateEnum::RUNNING)).await < 7 {
        assert!(Instant::now() < until, "the victim does not start its calls");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
    let killed = Instant::now();
    while count(None).await > 0 {
        assert!(killed.elapsed() < Duration::from_secs(5), "containers outlive their daemon");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
