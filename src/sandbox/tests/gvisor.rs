//! Calls under gVisor, in a second engine that `tests/escape/engine.sh` starts. Skipped in the open
//! where gVisor cannot run.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::mpsc;

use super::live::{Room, config, order, profile, shell};
use crate::catalog::{Profile, Runtime, Unread};
use crate::sandbox::{Config, End, Error, Event, Killer, Sight};

const WORKS: &str = include_str!("../../../tests/fixtures/seccomp/works.py");

/// An engine of its own, ended with this.
struct Second {
    folder: TempDir,
    socket: String,
}

impl Second {
    /// Starts it; without gVisor says so and gives none.
    fn start() -> Option<Self> {
        // The engine's sockets need a short path.
        let folder = tempfile::Builder::new().prefix("sb").tempdir_in("/tmp").unwrap();
        let output = script("start", &folder);
        if output.status.code() == Some(3) {
            println!("SKIPPED, no gVisor: {}", String::from_utf8_lossy(&output.stderr));
            return None;
        }
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let socket = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        Some(Self { folder, socket })
    }

    fn config(&self) -> Config {
        Config { engine: self.socket.clone(), ..config() }
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        script("stop", &self.folder);
    }
}

fn script(verb: &str, folder: &TempDir) -> std::process::Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/escape/engine.sh");
    Command::new(script).arg(verb).arg(folder.path().join("e")).output().unwrap()
}

fn guarded(image: &str, wall: Duration) -> Profile {
    let mut profile = profile(image);
    profile.runtime = Runtime::Runsc;
    profile.accept_unread = vec![Unread::Inodes];
    profile.limits.memory = 128 << 20;
    profile.limits.processes = 24;
    profile.limits.wall = wall;
    profile
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_under_gvisor_end_in_distinct_verdicts() {
    let Some(engine) = Second::start() else { return };
    let guarded_shell = Arc::new(guarded("shell", Duration::from_secs(5)));
    let room = Room::with(engine.config(), &[&guarded_shell]).await;
    let table = [
        ("uname -r | grep 4.4.0", End::Exited(0), None),
        ("exit 137", End::Exited(137), None),
        ("kill -9 $$", End::Signaled(9), None),
        ("sh -c 'kill -9 $$'; exit 0", End::Exited(0), None),
        ("dd if=/dev/zero of=/tmp/x bs=1M count=200", End::DiskLimit, None),
        ("head -c 400M /dev/zero | tail -c 390M > /dev/null", End::OutOfMemory, None),
        ("yes", End::OutputLimit, Some(Killer::Runner)),
        ("for i in $(seq 99); do sleep 60 & done; exit 1", End::ProcessLimit, None),
        ("setsid sleep 60 > /dev/null 2>&1 & exit 0", End::Exited(0), None),
    ];
    for (script, end, killed) in table {
        let outcome = room.run(shell(&guarded_shell, script)).await;
        let error = String::from_utf8_lossy(&outcome.stderr);
        // A fork bomb can end gVisor's own kernel on a busy host: then nobody is left to say why.
        let died = end == End::ProcessLimit && matches!(outcome.end, End::Lost(_));
        let right = (&outcome.end, outcome.killed) == (&end, killed);
        assert!(right || died, "{script}: {:?}, {:?}: {error}", outcome.end, outcome.killed);
    }
    let late = room.run(shell(&guarded_shell, "sleep 60 & sleep 60 & wait")).await;
    assert_eq!(late.end, End::Timeout);
    assert!(late.killed.is_some());

    let (events, mut heard) = mpsc::channel(8);
    let sight = Sight::default();
    let call = room.sandbox.execute(shell(&guarded_shell, "sleep 60"), Some(events), &sight);
    let kill = async {
        assert_eq!(heard.recv().await, Some(Event::Started));
        let id = sight.outcome().unwrap().container;
        room.sandbox.hub.yard.engine.remove(&id).await.unwrap();
        while heard.recv().await.is_some() {}
    };
    let (outcome, ()) = tokio::join!(call, kill);
    let outcome = outcome.unwrap();
    assert!(matches!(outcome.end, End::Lost(_)), "{:?}", outcome.end);

    let sight = Sight::default();
    let dropped = room.sandbox.execute(shell(&guarded_shell, "sleep 60"), None, &sight);
    assert!(tokio::time::timeout(Duration::from_secs(2), dropped).await.is_err());
    let seen = sight.outcome().unwrap();
    // The runner hears that nobody listens any more, and may be faster than the daemon's own kill.
    let by = [Some(Killer::Cgroup), Some(Killer::Runner)];
    assert!(seen.end == End::Cancelled && by.contains(&seen.killed), "{seen:?}");
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_works_under_gvisor_and_a_wall_that_nothing_shows_is_refused() {
    let Some(engine) = Second::start() else { return };
    let room = Room::open(engine.config()).await;
    let mut wide = guarded("python", Duration::from_secs(60));
    wide.limits.memory = 512 << 20;
    wide.limits.processes = 64;
    let python = Arc::new(wide);
    room.keep(&[&python]);
    room.ready().await;
    let save = "import os, sys\nopen('/tmp/works.py', 'w').write(sys.stdin.read())\n\
                os.execv(sys.executable, ['python3', '/tmp/works.py'])";
    let mut call = order(&python, &["python3", "-c", save]);
    call.stdin = WORKS.as_bytes().to_vec();
    let outcome = room.run(call).await;
    let error = String::from_utf8_lossy(&outcome.stderr);
    assert_eq!(outcome.end, End::Exited(0), "{error}");

    let mut strict = guarded("shell", Duration::from_secs(5));
    strict.accept_unread = Vec::new();
    let (strict, sight) = (Arc::new(strict), Sight::default());
    let refused = room.sandbox.execute(shell(&strict, "true"), None, &sight);
    let error = refused.await.unwrap_err();
    let Error::NoContainer { cause, .. } = &error else { panic!("{error:?}") };
    assert!(matches!(**cause, Error::Unenforced { .. }), "{error:?}");
    assert!(error.failure().message.contains("files on the disk"), "{error:?}");
    room.close().await;
}
