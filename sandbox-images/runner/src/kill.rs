//! Ends processes: all of the sandbox, or all of one call. Never signals anything outside.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_process, kill_process_group};
use tokio::time::sleep;

/// Rounds of looking for processes of a call; forks between two looks need another one.
const ROUNDS: usize = 500;
const PAUSE: Duration = Duration::from_millis(1);

/// Whether this process is the first of its PID namespace, so that "all" means the sandbox.
pub(crate) fn is_first() -> bool {
    getpid() == Pid::INIT
}

/// Kills every other process of the sandbox. Does nothing outside a PID namespace of our own.
pub(crate) fn all() {
    if is_first() {
        // The group of number 1 is how kill(2) spells "everything": -1.
        kill_process_group(Pid::INIT, Signal::KILL).ok();
    }
}

/// Kills every other process of the sandbox until none is left, not even one that is about to end.
/// False when that cannot be brought about, or be seen.
pub(crate) async fn all_gone() -> bool {
    if !is_first() {
        return false;
    }
    for _ in 0..ROUNDS {
        all();
        match others() {
            Some(0) => return true,
            Some(_) => sleep(PAUSE).await,
            None => return false,
        }
    }
    false
}

/// Processes beside this one, those included that nobody has collected yet: their threads may live.
fn others() -> Option<usize> {
    let own = getpid().as_raw_nonzero().get();
    let entries = fs::read_dir("/proc").ok()?;
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let pids: Vec<i32> = pids.collect();
    pids.contains(&own).then(|| pids.len() - 1)
}

/// Kills the session that `leader` leads, as far as it kept its group.
pub(crate) fn group(leader: Pid) {
    if kill_process_group(leader, Signal::KILL).is_err() {
        kill_process(leader, Signal::KILL).ok();
    }
}

/// Kills what is left of the session of a leader that has ended and was collected.
pub(crate) fn remains(leader: Pid) {
    kill_process_group(leader, Signal::KILL).ok();
}

/// Kills every process of a user until none is left alive.
pub(crate) async fn user(uid: u32) {
    for _ in 0..ROUNDS {
        let alive = living(uid);
        if alive.is_empty() {
            return;
        }
        for pid in alive {
            kill_process(pid, Signal::KILL).ok();
        }
        sleep(PAUSE).await;
    }
}

/// Threads of all processes of a user.
pub(crate) fn count(uid: u32) -> u64 {
    let threads = |pid: Pid| {
        let tasks = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()));
        tasks.map_or(0, Iterator::count)
    };
    let all: usize = living(uid).into_iter().map(threads).sum();
    u64::try_from(all).unwrap_or(u64::MAX)
}

fn living(uid: u32) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw)?;
            belongs(&entry.path(), uid).then_some(pid)
        })
        .collect()
}

fn belongs(process: &Path, uid: u32) -> bool {
    let Ok(status) = fs::read_to_string(process.join("status")) else {
        return false;
    };
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next())
    };
    let dead = matches!(field("State:"), Some("Z" | "X"));
    !dead && field("Uid:").and_then(|value| value.parse().ok()) == Some(uid)
}
