//! The fire: the daemon is killed and the engine restarted as the calls go on.

use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::Plan;
use crate::daemon::spawn;
use crate::dice::Dice;
use crate::engine::Engine;
use crate::measure::{figure, row};
use crate::stage::Stage;

/// One kill in so many strikes the new daemon as it starts.
const EARLY: u64 = 5;
/// How soon after its start that is, at most.
const EARLY_MS: u64 = 400;
/// What the daemons say, for whoever has to find out what went wrong.
pub const LOG: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/chaos.log");
/// A drain takes at most so long.
const DRAIN: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(5);

/// A death of the daemon.
#[derive(Debug, Clone)]
pub struct Kill {
    pub at: Instant,
    /// The boot that died; `None` when it had not come so far as to make a container.
    pub boot: Option<String>,
}

/// Keeps the daemon running in one folder.
pub struct Keeper {
    config: std::path::PathBuf,
    child: Mutex<Child>,
    kills: Mutex<Vec<Kill>>,
}

impl Keeper {
    pub fn start(stage: &Stage) -> Self {
        let config = stage.setup.write_config();
        std::fs::write(LOG, "").unwrap();
        let child = Mutex::new(begin(&config));
        Self { config, child, kills: Mutex::default() }
    }

    pub fn kills(&self) -> Vec<Kill> {
        self.kills.lock().unwrap().clone()
    }

    async fn strike(self: &Arc<Self>) {
        let keeper = Arc::clone(self);
        tokio::task::spawn_blocking(move || keeper.kill()).await.unwrap();
    }

    /// Kills the daemon and starts it again at once.
    fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        let boot = boot(child.id());
        // Before the blow: a caller may notice it before this program goes on.
        let at = Instant::now();
        child.kill().unwrap();
        child.wait().unwrap();
        self.kills.lock().unwrap().push(Kill { at, boot });
        *child = begin(&self.config);
    }

    /// Lets the last daemon drain; 0 when it ended well.
    pub async fn end(&self) -> usize {
        let pid = self.child.lock().unwrap().id().to_string();
        let signalled = std::process::Command::new("kill").args(["-s", "TERM", &pid]).status();
        assert!(signalled.unwrap().success());
        let end = Instant::now() + DRAIN;
        let status = loop {
            let over = self.child.lock().unwrap().try_wait().unwrap();
            if over.is_some() || Instant::now() > end {
                break over;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let code = status.and_then(|status| status.code());
        row("chaos.exit_code", code.unwrap_or(-1), "exit code of the last daemon");
        usize::from(code != Some(0))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // After a failure.
        drop(self.child.lock().unwrap().kill());
    }
}

fn begin(config: &std::path::Path) -> Child {
    let mut child = spawn(config, &[]);
    let mut said = child.stderr.take().unwrap();
    let mut log = std::fs::OpenOptions::new().create(true).append(true).open(LOG).unwrap();
    std::thread::spawn(move || std::io::copy(&mut said, &mut log));
    child
}

/// The boot of a daemon, from the command line of its janitor.
fn boot(daemon: u32) -> Option<String> {
    let parent = format!("PPid:\t{daemon}\n");
    std::fs::read_dir("/proc").unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        let status = std::fs::read_to_string(path.join("status")).ok()?;
        let line = std::fs::read(path.join("cmdline")).ok()?;
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let at = words.iter().position(|word| *word == b"--boot")?;
        let is = status.contains(&parent) && words.contains(&&b"janitor"[..]);
        is.then(|| String::from_utf8_lossy(words[at + 1]).into_owned())
    })
}

/// When something happens, by how many calls are over then.
fn moments(dice: &mut Dice, count: usize, calls: usize) -> Vec<usize> {
    let mut moments: Vec<usize> =
        (0..count).map(|_| (calls / 50 + dice.below(calls as u64) as usize) * 9 / 10).collect();
    moments.sort_unstable();
    moments
}

/// How far the calls have come.
#[derive(Debug, Default)]
pub struct Progress {
    over: AtomicUsize,
    replied: AtomicUsize,
}

impl Progress {
    /// One call is over; the flag says whether it had a reply.
    pub fn note(&self, replied: bool) {
        self.over.fetch_add(1, Ordering::Relaxed);
        self.replied.fetch_add(usize::from(replied), Ordering::Relaxed);
    }

    /// Waits until so many calls are over.
    async fn reached(&self, count: usize) {
        while self.over.load(Ordering::Relaxed) < count {
            tokio::time::sleep(TICK).await;
        }
    }

    /// Waits until there is a further reply, or `calls` are over.
    async fn resumed(&self, calls: usize) {
        let before = self.replied.load(Ordering::Relaxed);
        while self.replied.load(Ordering::Relaxed) == before
            && self.over.load(Ordering::Relaxed) < calls
        {
            tokio::time::sleep(TICK).await;
        }
    }
}

/// Opens the fire; it ends when all of the plan was done.
pub fn open(
    plan: Plan,
    keeper: &Arc<Keeper>,
    engine: &Arc<Engine>,
    progress: &Arc<Progress>,
    tasks: &TaskTracker,
) -> JoinHandle<()> {
    let mut dice = Dice::new(plan.seed);
    let kills = moments(&mut dice, plan.kills, plan.calls);
    let restarts = moments(&mut dice, plan.restarts, plan.calls);
    let (killed, keeper) = (Arc::clone(progress), Arc::clone(keeper));
    let kill = async move {
        for moment in kills {
            killed.reached(moment).await;
            // Calls fail fast while there is no daemon: one that serves is to be killed.
            killed.resumed(plan.calls).await;
            let early = dice.below(EARLY) == 0;
            let pause = dice.below(if early { EARLY_MS } else { 50 });
            tokio::time::sleep(Duration::from_millis(pause)).await;
            keeper.strike().await;
            if early {
                // The next kill follows while the new daemon starts, whatever the calls do.
                tokio::time::sleep(Duration::from_millis(dice.below(EARLY_MS))).await;
                keeper.strike().await;
            }
        }
    };
    let (engine, progress) = (Arc::clone(engine), Arc::clone(progress));
    let restart = async move {
        for (moment, signal) in restarts.into_iter().zip(["TERM", "KILL"].into_iter().cycle()) {
            progress.reached(moment).await;
            let begun = Instant::now();
            engine.restart(signal).await;
            let took = begun.elapsed().as_secs_f64();
            figure(&format!("chaos.engine_restart.{signal}"), took, "s without an engine");
        }
    };
    tasks.spawn(async move {
        tokio::join!(kill, restart);
    })
}
