//! Ending a tool past the engine, and past a runner that does not answer.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::mpsc;

use super::broken::wait_until;
use super::live::{Room, config, order, profile, shell};
use crate::catalog::Profile;
use crate::sandbox::cgroup::{Counters, Fate, Group};
use crate::sandbox::kill::{Handle, Init};
use crate::sandbox::{End, Event, Killer, Sight};

fn walled(wall: Duration) -> Arc<Profile> {
    let mut profile = profile("shell");
    profile.limits.wall = wall;
    Arc::new(profile)
}

/// Engine's number of the first process of the container that a call is in.
async fn init(room: &Room, sight: &Sight) -> (String, i32) {
    let id = sight.outcome().unwrap().container;
    let pid = room.sandbox.hub.yard.engine.pid(&id).await.unwrap();
    (id, pid)
}

fn is_alive(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let state = status.lines().find(|line| line.starts_with("State:"));
    state.is_some_and(|state| !state.contains('Z') && !state.contains('X'))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_is_stopped_holds_nobody_up() {
    let wall = Duration::from_secs(2);
    let profile = walled(wall);
    let room = Room::with(config(), &[&profile]).await;
    let (events, mut heard) = mpsc::channel(8);
    let sight = Sight::default();
    let begun = Instant::now();
    let call = room.sandbox.execute(shell(&profile, "echo said; sleep 60"), Some(events), &sight);
    let stop = async {
        assert_eq!(heard.recv().await, Some(Event::Started));
        assert_eq!(heard.recv().await, Some(Event::Stdout("said\n".into())));
        let (_, pid) = init(&room, &sight).await;
        kill_process(Pid::from_raw(pid).unwrap(), Signal::STOP).unwrap();
        pid
    };
    let (outcome, pid) = tokio::join!(call, stop);
    let (outcome, took) = (outcome.unwrap(), begun.elapsed());
    assert_eq!(outcome.end, End::Timeout);
    assert_eq!(outcome.killed, Some(Killer::Cgroup));
    assert_eq!(outcome.stdout, "said\n", "what was heard is kept");
    assert!(took < wall + Duration::from_secs(1), "{took:?}");
    wait_until(|| !is_alive(pid)).await;
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_call_is_killed_even_when_its_runner_is_stopped() {
    let profile = walled(Duration::from_secs(30));
    let room = Room::with(config(), &[&profile]).await;
    let (events, mut heard) = mpsc::channel(8);
    let sight = Sight::default();
    let pid = {
        let call = room.sandbox.execute(order(&profile, &["sleep", "60"]), Some(events), &sight);
        tokio::pin!(call);
        let stop = async {
            assert_eq!(heard.recv().await, Some(Event::Started));
            let (_, pid) = init(&room, &sight).await;
            kill_process(Pid::from_raw(pid).unwrap(), Signal::STOP).unwrap();
            pid
        };
        tokio::select! {
            outcome = &mut call => panic!("{outcome:?}"),
            pid = stop => pid,
        }
    };
    let seen = sight.outcome().unwrap();
    assert_eq!((seen.end, seen.killed), (End::Cancelled, Some(Killer::Cgroup)));
    wait_until(|| !is_alive(pid)).await;
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_ended_the_tool_is_told() {
    let profile = walled(Duration::from_millis(500));
    let room = Room::with(config(), &[&profile]).await;
    let own = room.run(shell(&profile, "kill -9 $$")).await;
    assert_eq!((own.end, own.killed), (End::Signaled(9), None));
    let flood = room.run(shell(&profile, "yes")).await;
    assert_eq!((flood.end, flood.killed), (End::OutputLimit, Some(Killer::Runner)));
    // A busy machine may make the runner late for its own deadline; then the daemon acts.
    let late = room.run(shell(&profile, "trap '' TERM; kill -STOP 0; sleep 60")).await;
    assert_eq!(late.end, End::Timeout);
    assert!(matches!(late.killed, Some(Killer::Runner | Killer::Cgroup)), "{:?}", late.killed);
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_process_of_the_container_is_held_and_its_death_ends_all_of_it() {
    let profile = walled(Duration::from_secs(30));
    let room = Room::with(config(), &[&profile]).await;
    let (events, mut heard) = mpsc::channel(8);
    let sight = Sight::default();
    let call = room.sandbox.execute(shell(&profile, "sleep 60"), Some(events), &sight);
    let kill = async {
        assert_eq!(heard.recv().await, Some(Event::Started));
        let (id, pid) = init(&room, &sight).await;
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(Init::open(own, &id).is_none(), "this process is no part of the container");
        assert!(Init::open(pid, &"0".repeat(64)).is_none(), "the container is another one");
        assert!(Init::open(pid, "").is_none());
        assert!(Handle::of_process(&id, own).group().is_none());
        let found = Handle::of_process(&id, pid);
        assert_eq!(found.group(), Handle::of(&id).group(), "both ways lead to one group");
        assert!(found.group().is_some());
        assert_eq!(found.counters(), Some(Counters::default()));
        let held = Init::open(pid, &id).unwrap();
        assert!(held.kill());
        wait_until(|| !is_alive(pid)).await;
        wait_until(|| !held.kill()).await;
    };
    let (outcome, ()) = tokio::join!(call, kill);
    assert!(matches!(outcome.unwrap().end, End::Lost(_)));
    room.close().await;
}

#[test]
fn a_group_is_read_in_both_versions_of_the_hierarchy() {
    let id = "ab".repeat(32);
    let write = |path: std::path::PathBuf, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let two = tempfile::tempdir().unwrap();
    let folder = two.path().join(format!("system.slice/docker-{id}.scope"));
    write(two.path().join("cgroup.controllers"), "cpu memory pids");
    for (name, text) in [
        ("cgroup.procs", "12\n"),
        ("cgroup.kill", ""),
        ("memory.max", "67108864\n"),
        ("memory.swap.max", "0\n"),
        ("memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n"),
        ("pids.max", "33\n"),
        ("pids.events", "max 4\n"),
        ("cpu.max", "50000 100000\n"),
    ] {
        write(folder.join(name), text);
    }
    let one = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("pids/docker/ID/cgroup.procs", "12\n"),
        ("pids/docker/ID/pids.max", "33\n"),
        ("pids/docker/ID/pids.events", "max 4\n"),
        ("memory/docker/ID/memory.limit_in_bytes", "67108864\n"),
        ("memory/docker/ID/memory.memsw.limit_in_bytes", "67108864\n"),
        ("memory/docker/ID/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
        ("cpu,cpuacct/docker/ID/cpu.cfs_quota_us", "50000\n"),
        ("cpu,cpuacct/docker/ID/cpu.cfs_period_us", "100000\n"),
    ] {
        write(one.path().join(name.replace("ID", &id)), text);
    }
    for root in [one.path(), two.path()] {
        let group = Group::below(root, &id).unwrap();
        let limits = group.limits();
        assert_eq!(limits.memory_bytes, Some(64 << 20), "{group:?}");
        assert_eq!(limits.memory_and_swap_bytes, Some(64 << 20), "{group:?}");
        assert_eq!((limits.processes, limits.cpu_millis), (Some(33), Some(500)), "{group:?}");
        assert_eq!(group.counters(), Some(Counters { oom_kills: 2, forks_refused: 4 }));
        assert!(Group::below(root, &"cd".repeat(32)).is_none());
    }
    let group = Group::below(two.path(), &id).unwrap();
    assert_eq!(group.kill(), Fate::Killed);
    assert_eq!(fs::read_to_string(folder.join("cgroup.kill")).unwrap(), "1");
    // No limit is not a limit.
    fs::write(folder.join("memory.max"), "max\n").unwrap();
    assert_eq!(group.limits().memory_bytes, None);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(group.counters(), None);
    assert_eq!(group.kill(), Fate::Dead, "what is gone is not killed");
}
