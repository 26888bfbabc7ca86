//! Engines that are absent, hang, lie, or go away in the middle of a call.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::future::join_all;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::live::{Room, config, order, profile, shell};
use crate::call::Code;
use crate::sandbox::{Config, End, Error, Sight};

/// What a fake engine was asked, and what it did.
#[derive(Default)]
struct Ledger {
    /// Method and path.
    log: Vec<String>,
    /// Names of the containers that it has.
    containers: BTreeSet<String>,
    /// Names of all that it ever made.
    made: Vec<String>,
    /// Create requests that it is at, now and at most.
    creating: (usize, usize),
}

struct Fake {
    folder: TempDir,
    ledger: Arc<Mutex<Ledger>>,
    tasks: TaskTracker,
}

impl Fake {
    fn path(&self) -> PathBuf {
        self.folder.path().join("engine.sock")
    }

    fn config(&self) -> Config {
        Config {
            engine: format!("unix://{}", self.path().display()),
            engine_timeout_ms: 1000,
            ..config()
        }
    }

    /// An engine that answers well, except on paths that `answer` takes over. It does what it is
    /// asked for in any case.
    fn start<F>(answer: F) -> Self
    where
        F: Fn(&str) -> Option<Misdeed> + Clone + Send + Sync + 'static,
    {
        let fake = Self {
            folder: tempfile::tempdir().unwrap(),
            ledger: Arc::default(),
            tasks: TaskTracker::new(),
        };
        let listener = UnixListener::bind(fake.path()).unwrap();
        let ledger = Arc::clone(&fake.ledger);
        let router = Router::new().fallback(move |request: Request| {
            let asked = format!("{} {}", request.method(), request.uri().path());
            let query = request.uri().query().unwrap_or_default().to_owned();
            let (ledger, answer) = (Arc::clone(&ledger), answer.clone());
            async move {
                let good = act(&ledger, &asked, &query).await;
                match answer(&asked) {
                    Some(Misdeed::Hang) => std::future::pending().await,
                    Some(Misdeed::Answer(status, body)) => (status, body).into_response(),
                    Some(Misdeed::Cut) => panic!("cutting the connection, as the test wants"),
                    None => good,
                }
            }
        });
        fake.tasks.spawn(async move { axum::serve(listener, router).await });
        fake
    }

    fn asked(&self, what: &str) -> usize {
        let ledger = self.ledger.lock().unwrap();
        ledger.log.iter().filter(|asked| asked.contains(what)).count()
    }
}

#[derive(Clone, Copy)]
enum Misdeed {
    Hang,
    Answer(StatusCode, &'static str),
    /// The connection ends without an answer.
    Cut,
}

/// Does what was asked; gives the good answer.
async fn act(ledger: &Mutex<Ledger>, asked: &str, query: &str) -> Response {
    let creates = asked.ends_with("/containers/create");
    let mut status = StatusCode::OK;
    {
        let mut ledger = ledger.lock().unwrap();
        ledger.log.push(asked.to_owned());
        if creates {
            let name = query.split('&').find_map(|part| part.strip_prefix("name="));
            let name = name.unwrap().to_owned();
            ledger.creating.0 += 1;
            ledger.creating.1 = ledger.creating.1.max(ledger.creating.0);
            ledger.containers.insert(name.clone());
            ledger.made.push(name);
        }
        if asked.starts_with("DELETE") {
            let name = asked.rsplit('/').next().unwrap();
            let had = ledger.containers.remove(name);
            status = if had { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND };
        }
    }
    if creates {
        // Long enough for others to come meanwhile.
        tokio::time::sleep(Duration::from_millis(20)).await;
        ledger.lock().unwrap().creating.0 -= 1;
    }
    let body = if asked.ends_with("/version") {
        r#"{"ApiVersion":"1.41"}"#
    } else if asked.ends_with("/containers/json") {
        "[]"
    } else if creates {
        r#"{"Id":"c1","Warnings":[]}"#
    } else if asked.ends_with("/info") {
        r#"{"SecurityOptions":["name=seccomp,profile=default"]}"#
    } else {
        r#"{"message":"no such container"}"#
    };
    (status, body).into_response()
}

/// 20 calls with a deadline of 3 s: each must fail in time, for the sandbox's sake.
async fn assert_refused(room: &Room) -> Vec<Error> {
    let profile = Arc::new(profile("shell"));
    let begun = Instant::now();
    let calls = (0..20).map(|_| async {
        let mut call = order(&profile, &["true"]);
        call.deadline = Some(begun + Duration::from_secs(3));
        room.sandbox.execute(call, None, &Sight::default()).await.unwrap_err()
    });
    let errors = join_all(calls).await;
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    for error in &errors {
        let code = error.failure().code;
        // Those that would have had to wait too long are told so at once.
        assert!([Code::SandboxUnavailable, Code::RateLimited].contains(&code), "{error:?}");
    }
    errors
}

async fn stop(room: Room) {
    room.stop.cancel();
    tokio::time::timeout(Duration::from_secs(20), room.sandbox.drain())
        .await
        .expect("drain is bounded");
    room.tasks.close();
    tokio::time::timeout(Duration::from_secs(5), room.tasks.wait())
        .await
        .expect("no task stays behind");
}

#[tokio::test]
async fn without_an_engine_calls_fail_at_once_and_it_is_found_when_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.sock");
    let room =
        Room::open(Config { engine: format!("unix://{}", path.display()), ..config() }).await;
    let profile = Arc::new(profile("shell"));
    room.keep(&[&profile]);
    let begun = Instant::now();
    let error =
        room.sandbox.execute(shell(&profile, "true"), None, &Sight::default()).await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert!(matches!(error, Error::EngineAbsent { .. }), "{error:?}");
    assert!(error.failure().retry_after.is_some());
    assert!(!room.sandbox.readiness().borrow().ready);

    std::os::unix::fs::symlink("/var/run/docker.sock", &path).unwrap();
    room.ready().await;
    assert_eq!(room.run(shell(&profile, "exit 4")).await.end, End::Exited(4));
    room.close().await;
}

#[tokio::test]
async fn an_engine_that_accepts_and_says_nothing_delays_no_call() {
    let fake = Fake::start(|_| Some(Misdeed::Hang));
    let room = Room::open(fake.config()).await;
    assert_refused(&room).await;
    assert!(!room.sandbox.readiness().borrow().ready);
    stop(room).await;
}

#[tokio::test]
async fn an_engine_that_hangs_on_create_or_attach_delays_no_call() {
    for step in ["/containers/create", "/attach"] {
        let fake = Fake::start(move |asked| asked.ends_with(step).then_some(Misdeed::Hang));
        let room = Room::open(fake.config()).await;
        wait_until(|| fake.asked("/containers/json") > 0).await;
        let errors = assert_refused(&room).await;
        let told = errors.iter().any(|error| error.failure().message.contains("within 1000 ms"));
        assert!(told, "{step}: {errors:?}");
        // What may have been created is removed by its name.
        wait_until(|| fake.asked("DELETE") > 0).await;
        stop(room).await;
    }
}

#[tokio::test]
async fn a_warning_at_create_is_an_error_and_the_container_goes() {
    let fake = Fake::start(|asked| {
        let body = r#"{"Id":"c1","Warnings":["Your kernel does not support swap limit"]}"#;
        asked.ends_with("/containers/create").then_some(Misdeed::Answer(StatusCode::CREATED, body))
    });
    let room = Room::open(fake.config()).await;
    wait_until(|| fake.asked("/containers/json") > 0).await;
    let errors = assert_refused(&room).await;
    let told = errors.iter().any(|error| error.failure().message.contains("swap limit"));
    assert!(told, "{errors:?}");
    wait_until(|| fake.asked("DELETE") > 0).await;
    assert_eq!(fake.asked("/start"), 0);
    stop(room).await;
}

#[tokio::test]
async fn an_engine_without_seccomp_runs_nothing() {
    let fake = Fake::start(|asked| {
        let without = r#"{"SecurityOptions":["name=apparmor","name=cgroupns"]}"#;
        asked.ends_with("/info").then_some(Misdeed::Answer(StatusCode::OK, without))
    });
    let room = Room::open(fake.config()).await;
    wait_until(|| fake.asked("/info") > 0).await;
    wait_until(|| room.sandbox.readiness().borrow().reason.contains("seccomp")).await;
    let errors = assert_refused(&room).await;
    assert!(errors.iter().all(|error| error.failure().message.contains("seccomp")), "{errors:?}");
    assert_eq!(fake.asked("/create"), 0);
    stop(room).await;
}

#[tokio::test]
async fn a_removal_that_fails_is_tried_again_and_then_left_to_the_sweep() {
    let fake = Fake::start(|asked| {
        let broken = Misdeed::Answer(StatusCode::INTERNAL_SERVER_ERROR, r#"{"message":"no"}"#);
        let missing = Misdeed::Answer(StatusCode::CONFLICT, r#"{"message":"no start"}"#);
        match asked {
            _ if asked.starts_with("DELETE") => Some(broken),
            _ if asked.ends_with("/attach") => Some(missing),
            _ => None,
        }
    });
    let room = Room::open(Config { capacity: 1, ..fake.config() }).await;
    wait_until(|| fake.asked("/containers/json") > 0).await;
    assert_refused(&room).await;
    wait_until(|| fake.asked("DELETE") >= 4).await;
    wait_until(|| room.sandbox.hub.yard.registry.snapshot().is_empty()).await;
    let tried = fake.asked("DELETE");
    // Its capacity is not given back before a sweep sees that it is gone.
    assert_eq!(room.sandbox.hub.capacity.available_permits(), 0);
    room.sandbox.hub.reaper.sweep().await.unwrap();
    assert_eq!(room.sandbox.hub.capacity.available_permits(), 1);
    assert!(tried < 9, "retries are bounded: {tried}");
    stop(room).await;
}

const NO: Misdeed = Misdeed::Answer(StatusCode::INTERNAL_SERVER_ERROR, r#"{"message":"no"}"#);

#[tokio::test]
async fn a_failure_after_any_step_of_a_launch_leaves_no_container() {
    // Attaching to this engine fails at the latest, as it does not switch protocols.
    for step in ["/containers/create", "/attach", "/start"] {
        for misdeed in [NO, Misdeed::Cut, Misdeed::Hang] {
            let fake = Fake::start(move |asked| asked.ends_with(step).then_some(misdeed));
            let room = Room::open(Config { engine_timeout_ms: 300, ..fake.config() }).await;
            wait_until(|| fake.asked("/containers/json") > 0).await;
            assert_refused(&room).await;
            wait_until(|| !fake.ledger.lock().unwrap().made.is_empty()).await;
            wait_until(|| fake.ledger.lock().unwrap().containers.is_empty()).await;
            wait_until(|| room.sandbox.hub.yard.registry.snapshot().is_empty()).await;
            stop(room).await;
            let ledger = fake.ledger.lock().unwrap();
            assert!(ledger.containers.is_empty(), "{step}: {:?}", ledger.containers);
            let names: BTreeSet<&String> = ledger.made.iter().collect();
            assert_eq!(names.len(), ledger.made.len(), "a name was used again");
        }
    }
}

#[tokio::test]
async fn a_removal_ends_well_whatever_the_engine_answers_first() {
    let conflict = |message| Misdeed::Answer(StatusCode::CONFLICT, message);
    let going = conflict(r#"{"message":"removal of container c1 is already in progress"}"#);
    let other = conflict(r#"{"message":"container c1 is in use by something"}"#);
    let not_modified = Misdeed::Answer(StatusCode::NOT_MODIFIED, "");
    let missing = Misdeed::Answer(StatusCode::NOT_FOUND, r#"{"message":"no such container"}"#);
    // What is said first, and whether the engine has to be asked again.
    let table = [
        (not_modified, false),
        (missing, false),
        (going, true),
        (other, true),
        (NO, true),
        (Misdeed::Cut, true),
        (Misdeed::Hang, true),
    ];
    for (number, (misdeed, again)) in table.into_iter().enumerate() {
        let first = Arc::new(AtomicBool::new(true));
        let fake = Fake::start(move |asked| {
            let now = asked.starts_with("DELETE") && first.swap(false, Ordering::SeqCst);
            // Creating fails, so that there is something to remove.
            let broken = asked.ends_with("/attach").then_some(NO);
            if now { Some(misdeed) } else { broken }
        });
        let config = Config { engine_timeout_ms: 300, capacity: 1, ..fake.config() };
        let room = Room::open(config).await;
        wait_until(|| fake.asked("/containers/json") > 0).await;
        let profile = Arc::new(profile("shell"));
        let mut call = order(&profile, &["true"]);
        call.deadline = Some(Instant::now() + Duration::from_millis(100));
        drop(room.sandbox.execute(call, None, &Sight::default()).await);
        wait_until(|| fake.asked("DELETE") > usize::from(again)).await;
        let registry = &room.sandbox.hub.yard.registry;
        wait_until(|| registry.snapshot().is_empty()).await;
        wait_until(|| room.sandbox.hub.capacity.available_permits() == 1).await;
        assert!(fake.ledger.lock().unwrap().containers.is_empty(), "case {number}");
        stop(room).await;
    }
}

#[tokio::test]
async fn however_many_calls_come_no_more_containers_are_made_at_once_than_set() {
    let fake = Fake::start(|asked| asked.ends_with("/attach").then_some(NO));
    let room = Room::open(Config { creates: 3, ..fake.config() }).await;
    wait_until(|| fake.asked("/containers/json") > 0).await;
    let profile = Arc::new(profile("shell"));
    let calls = (0..64).map(|_| async {
        let mut call = order(&profile, &["true"]);
        call.deadline = Some(Instant::now() + Duration::from_secs(2));
        room.sandbox.execute(call, None, &Sight::default()).await.unwrap_err()
    });
    for error in join_all(calls).await {
        assert!(error.failure().retry_after.is_some(), "{error:?}");
    }
    let (_, most) = fake.ledger.lock().unwrap().creating;
    assert!((1..=3).contains(&most), "{most} at once");
    stop(room).await;
}

#[tokio::test]
async fn a_stream_that_never_ends_holds_up_no_call_longer_than_its_wall() {
    let wire = Wire::deaf();
    let room =
        Room::open(Config { engine: format!("unix://{}", wire.path().display()), ..config() })
            .await;
    let mut short = profile("shell");
    short.limits.wall = Duration::from_secs(1);
    let profile = Arc::new(short);
    room.keep(&[&profile]);
    room.ready().await;
    // The report ends a call; the end of the stream, which this engine never tells, is not waited for.
    assert_eq!(room.run(shell(&profile, "exit 5")).await.end, End::Exited(5));
    let (events, mut heard) = tokio::sync::mpsc::channel(4);
    let sight = Sight::default();
    let begun = Instant::now();
    let call = room.sandbox.execute(order(&profile, &["sleep", "60"]), Some(events), &sight);
    let kill = async {
        heard.recv().await.expect("started");
        let container = sight.outcome().unwrap().container;
        room.sandbox.hub.yard.engine.remove(&container).await.unwrap();
    };
    let (outcome, ()) = tokio::join!(call, kill);
    assert!(matches!(outcome.unwrap().end, End::Lost(_) | End::Timeout));
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    room.close().await;
    drop(wire);
}

#[tokio::test]
async fn an_image_that_the_engine_lacks_is_named() {
    let images = tempfile::NamedTempFile::new().unwrap();
    let id = format!("sha256:{}", "0".repeat(64));
    let text = format!("[image.shell]\nreference = \"none:none\"\nid = \"{id}\"\n");
    std::fs::write(images.path(), text).unwrap();
    let room = Room::open(Config { images: images.path().to_owned(), ..config() }).await;
    let profile = Arc::new(profile("shell"));
    room.keep(&[&profile]);
    wait_until(|| room.sandbox.hub.yard.engine.client().is_ok()).await;
    let begun = Instant::now();
    let error =
        room.sandbox.execute(shell(&profile, "true"), None, &Sight::default()).await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(5));
    let failure = error.failure();
    assert_eq!(failure.code, Code::SandboxUnavailable);
    assert!(failure.message.contains("image `shell` is missing"), "{}", failure.message);
    assert!(failure.retry_after.is_none());
    let reason = room.sandbox.readiness().borrow().reason.clone();
    assert!(reason.contains("sandbox-images/build.sh"), "{reason}");
    room.close().await;
}

#[tokio::test]
async fn an_engine_that_goes_away_under_a_call_loses_it_and_is_found_again() {
    let wire = Wire::lay();
    let room =
        Room::open(Config { engine: format!("unix://{}", wire.path().display()), ..config() })
            .await;
    let profile = Arc::new(profile("shell"));
    room.keep(&[&profile]);
    room.ready().await;
    let (events, mut heard) = tokio::sync::mpsc::channel(4);
    let sight = Sight::default();
    let call = room.sandbox.execute(order(&profile, &["sleep", "60"]), Some(events), &sight);
    let cut = async {
        heard.recv().await.expect("started");
        wire.cut();
    };
    let (outcome, ()) = tokio::join!(call, cut);
    assert!(matches!(outcome.unwrap().end, End::Lost(_)));
    let mut readiness = room.sandbox.readiness();
    let fell = readiness.wait_for(|now| !now.ready);
    tokio::time::timeout(Duration::from_secs(10), fell).await.expect("unready in time").unwrap();
    let error =
        room.sandbox.execute(shell(&profile, "true"), None, &Sight::default()).await.unwrap_err();
    assert_eq!(error.failure().code, Code::SandboxUnavailable);

    let wire = wire.mend();
    room.ready().await;
    let mut end = None;
    for _ in 0..20 {
        if let Ok(outcome) =
            room.sandbox.execute(shell(&profile, "exit 7"), None, &Sight::default()).await
        {
            end = Some(outcome.end);
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(end, Some(End::Exited(7)));
    room.close().await;
    drop(wire);
}

/// A socket that leads to the real engine until it is cut.
struct Wire {
    folder: Arc<TempDir>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Wire {
    fn lay() -> Self {
        Self::at(Arc::new(tempfile::tempdir().unwrap()), false)
    }

    /// One that does not tell when the engine has ended a connection.
    fn deaf() -> Self {
        Self::at(Arc::new(tempfile::tempdir().unwrap()), true)
    }

    fn at(folder: Arc<TempDir>, deaf: bool) -> Self {
        let wire = Self { folder, stop: CancellationToken::new(), tasks: TaskTracker::new() };
        let listener = UnixListener::bind(wire.path()).unwrap();
        let (stop, tasks) = (wire.stop.clone(), wire.tasks.clone());
        wire.tasks.spawn(async move {
            while let Some(Ok((near, _))) = stop.run_until_cancelled(listener.accept()).await {
                let stop = stop.clone();
                tasks.spawn(async move { stop.run_until_cancelled(pass(near, deaf)).await });
            }
        });
        wire
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("wire.sock")
    }

    fn cut(&self) {
        self.stop.cancel();
        std::fs::remove_file(self.path()).unwrap();
    }

    fn mend(&self) -> Self {
        Self::at(Arc::clone(&self.folder), false)
    }
}

async fn pass(mut near: UnixStream, deaf: bool) {
    if let Ok(mut far) = UnixStream::connect(Path::new("/var/run/docker.sock")).await {
        if !deaf {
            tokio::io::copy_bidirectional(&mut near, &mut far).await.ok();
            return;
        }
        let (mut from_near, mut to_near) = near.split();
        let (mut from_far, mut to_far) = far.split();
        let up = async {
            tokio::io::copy(&mut from_near, &mut to_far).await.ok();
            to_far.shutdown().await.ok();
        };
        let down = async {
            tokio::io::copy(&mut from_far, &mut to_near).await.ok();
            std::future::pending::<()>().await;
        };
        // Until this side closes; what the engine said to the end before that, it has heard.
        tokio::select! {
            () = up => {}
            () = down => {}
        }
    }
}

pub(super) async fn wait_until(met: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(15);
    while !met() {
        assert!(Instant::now() < until, "the condition is not met");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
