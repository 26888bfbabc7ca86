//! How calls end: limits, cancellation, deadlines, loss.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::live::{Room, config, order, profile, shell};
use crate::call::Code;
use crate::catalog::Profile;
use crate::sandbox::{Config, End, Error, Event, Sight};

fn python(profile: &Arc<Profile>, code: &str) -> crate::sandbox::order::Order {
    order(profile, &["python3", "-c", code])
}

fn walled(image: &str, wall: Duration) -> Arc<Profile> {
    let mut profile = profile(image);
    profile.limits.wall = wall;
    Arc::new(profile)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_are_named_and_told_apart() {
    let shell_box = walled("shell", Duration::from_secs(5));
    let room = Room::with(config(), &[&shell_box]).await;
    let table = [
        ("exit 137", End::Exited(137)),
        ("kill -9 $$", End::Signaled(9)),
        ("nosuchcommand", End::Exited(127)),
        ("dd if=/dev/zero of=/tmp/x bs=1M count=200", End::DiskLimit),
        ("i=0; while : > /tmp/f$i; do i=$((i+1)); done; exit 1", End::DiskLimit),
        ("head -c 200M /dev/zero | tail -c 190M > /dev/null", End::OutOfMemory),
        ("(head -c 200M /dev/zero | tail -c 190M) > /dev/null; exit 0", End::Exited(0)),
        ("yes", End::OutputLimit),
        ("yes >&2", End::OutputLimit),
        ("sleep 60 & sleep 60 & wait", End::Timeout),
        ("setsid sleep 60 > /dev/null 2>&1 & exit 0", End::Exited(0)),
    ];
    for (script, end) in table {
        let outcome = room.run(shell(&shell_box, script)).await;
        assert_eq!(outcome.end, end, "{script}: {}", String::from_utf8_lossy(&outcome.stderr));
        if script.starts_with('(') {
            assert!(outcome.oom_kills > 0, "a child was killed");
        }
        if end == End::OutputLimit {
            let kept = outcome.stdout.len() + outcome.stderr.len();
            assert_eq!(kept, 1 << 20, "{script}");
        }
    }
    let outcome = room.run(order(&shell_box, &["nosuchcommand"])).await;
    assert!(matches!(outcome.end, End::NotStarted(_)), "{:?}", outcome.end);
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_python_that_takes_memory_or_forks_without_end_is_named_too() {
    let python_box = walled("python", Duration::from_secs(10));
    let room = Room::with(config(), &[&python_box]).await;
    let memory = room.run(python(&python_box, "x = bytearray(512 * 1024 * 1024)")).await;
    assert_eq!(memory.end, End::OutOfMemory);
    let forks = "import os, time\nfor n in range(500):\n  if os.fork() == 0: time.sleep(60)\n";
    let forked = room.run(python(&python_box, forks)).await;
    assert_eq!(forked.end, End::ProcessLimit);
    let files = room.run(python(&python_box, "f = [open('/dev/null') for n in range(9999)]")).await;
    assert_eq!(files.end, End::Exited(1));
    assert!(String::from_utf8_lossy(&files.stderr).contains("Too many open files"));
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_nearer_of_wall_time_and_deadline_counts() {
    let profile = Arc::new(profile("shell"));
    let room = Room::with(config(), &[&profile]).await;
    let begun = Instant::now();
    let mut call = order(&profile, &["sleep", "60"]);
    call.deadline = Some(begun + Duration::from_secs(1));
    let outcome = room.run(call).await;
    assert_eq!(outcome.end, End::Timeout);
    assert!(outcome.limits.wall <= Duration::from_secs(1));
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());

    let mut late = order(&profile, &["true"]);
    late.deadline = Some(Instant::now());
    let error = room.sandbox.execute(late, None, &Sight::default()).await.unwrap_err();
    assert!(matches!(error, Error::Deadline));
    assert_eq!(error.failure().code, Code::DeadlineExceeded);
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_call_gives_back_its_container_and_its_place() {
    let profile = Arc::new(profile("shell"));
    let room = Room::with(Config { capacity: 1, ..config() }, &[&profile]).await;
    for wait in [0, 20, 150, 300] {
        let call = room.run(order(&profile, &["sleep", "60"]));
        assert!(tokio::time::timeout(Duration::from_millis(wait), call).await.is_err());
    }
    let begun = Instant::now();
    let outcome = room.run(shell(&profile, "echo next")).await;
    assert_eq!(outcome.stdout, "next\n");
    assert!(begun.elapsed() < Duration::from_secs(9), "{:?}", begun.elapsed());
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_killed_from_outside_is_lost_not_timed_out() {
    let profile = Arc::new(profile("shell"));
    let room = Room::with(config(), &[&profile]).await;
    let (events, mut heard) = mpsc::channel(8);
    let sight = Sight::default();
    let call = room.sandbox.execute(order(&profile, &["sleep", "60"]), Some(events), &sight);
    let kill = async {
        assert_eq!(heard.recv().await, Some(Event::Started));
        let hub = &room.sandbox.hub;
        let containers = hub.yard.engine.list(&hub.config.instance).await.unwrap();
        for container in containers {
            hub.yard.engine.remove(&container.id.unwrap()).await.unwrap();
        }
        while heard.recv().await.is_some() {}
    };
    let (outcome, ()) = tokio::join!(call, kill);
    let outcome = outcome.unwrap();
    assert!(matches!(outcome.end, End::Lost(_)), "{:?}", outcome.end);
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_ends_running_calls_as_cancelled() {
    let profile = Arc::new(profile("shell"));
    let room = Room::with(config(), &[&profile]).await;
    let (events, mut heard) = mpsc::channel(8);
    let sandbox = room.sandbox.clone();
    let sight = Sight::default();
    let call = sandbox.execute(order(&profile, &["sleep", "60"]), Some(events), &sight);
    let close = async {
        assert_eq!(heard.recv().await, Some(Event::Started));
        room.close().await;
    };
    let (outcome, ()) = tokio::join!(call, close);
    assert_eq!(outcome.unwrap().end, End::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn output_arrives_while_the_tool_runs_and_whole_in_the_end() {
    let profile = Arc::new(profile("shell"));
    let room = Room::with(config(), &[&profile]).await;
    let (events, mut heard) = mpsc::channel(8);
    let script = "echo one; sleep 0.3; echo two >&2";
    let sight = Sight::default();
    let call = room.sandbox.execute(shell(&profile, script), Some(events), &sight);
    let listen = async {
        let mut all = Vec::new();
        while let Some(event) = heard.recv().await {
            all.push(event);
        }
        all
    };
    let (outcome, all) = tokio::join!(call, listen);
    let outcome = outcome.unwrap();
    assert_eq!(outcome.stdout, "one\n");
    assert_eq!(outcome.stderr, "two\n");
    assert_eq!(all, [Event::Started, Event::Stdout("one\n".into()), Event::Stderr("two\n".into())]);
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn standard_input_is_exact_and_ends() {
    let room = Room::open(config()).await;
    let mut wide = profile("shell");
    wide.limits.output = 16 << 20;
    let profile = Arc::new(wide);
    room.keep(&[&profile]);
    room.ready().await;
    let mut input = "你好👩‍💻\0\r\n".repeat(400_000).into_bytes();
    input.push(0xff);
    let mut call = order(&profile, &["cat"]);
    call.stdin = input.clone();
    let outcome = room.run(call).await;
    assert_eq!(outcome.end, End::Exited(0));
    assert!(outcome.stdout == input, "{} of {}", outcome.stdout.len(), input.len());
    let nothing =
        room.run(shell(&profile, "read x; echo \"got:$x\"; test -t 0 || echo none")).await;
    assert_eq!(nothing.stdout, "got:\nnone\n");
    // A tool that never reads its input ends all the same.
    let mut deaf = order(&profile, &["true"]);
    deaf.stdin = input;
    assert_eq!(room.run(deaf).await.end, End::Exited(0));
    room.close().await;
}
