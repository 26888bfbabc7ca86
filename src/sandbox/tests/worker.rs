//! The worker tier: one container for many calls of one scope.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use super::live::{Room, config, order, profile, shell};
use crate::catalog::{Profile, Tier};
use crate::sandbox::{Config, End};

fn worker() -> Arc<Profile> {
    Arc::new(Profile { tier: Tier::Worker, ..profile("shell") })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_one_scope_share_a_container_and_other_scopes_do_not() {
    let profile = worker();
    let room = Room::with(config(), &[&profile]).await;
    let calls = (0..20).map(|n| room.run(shell(&profile, &format!("echo {n}"))));
    let outcomes = join_all(calls).await;
    for (n, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.end, End::Exited(0));
        assert_eq!(outcome.stdout, format!("{n}\n"), "{outcome:?}");
    }
    let containers: HashSet<_> = outcomes.iter().map(|o| o.container.clone()).collect();
    assert_eq!(containers.len(), 1);

    let mut other = shell(&profile, "true");
    other.scope.tenant = "another".to_owned();
    let outcome = room.run(other).await;
    assert!(!containers.contains(&outcome.container));
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_takes_no_more_calls_at_once_than_its_process_limit_holds() {
    let room = Room::open(config()).await;
    let mut small = Profile { tier: Tier::Worker, ..profile("shell") };
    small.limits.processes = 16;
    let small = Arc::new(small);
    room.keep(&[&small]);
    room.ready().await;
    let calls = (0..60).map(|_| room.run(order(&small, &["sleep", "0.1"])));
    for outcome in join_all(calls).await {
        assert_eq!(outcome.end, End::Exited(0));
    }
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_is_replaced_after_its_calls() {
    let profile = worker();
    let room = Room::with(Config { worker_calls: 3, ..config() }, &[&profile]).await;
    let mut containers = Vec::new();
    for _ in 0..6 {
        containers.push(room.run(shell(&profile, "true")).await.container);
    }
    assert_eq!(containers[0], containers[2]);
    assert_ne!(containers[2], containers[3]);
    assert_eq!(containers[3], containers[5]);
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_died_is_replaced_and_one_call_lost() {
    let profile = worker();
    let room = Room::with(config(), &[&profile]).await;
    let first = room.run(shell(&profile, "true")).await;
    let running = room.run(order(&profile, &["sleep", "60"]));
    let kill = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        room.sandbox.hub.yard.engine.remove(&first.container).await.unwrap();
    };
    let (lost, ()) = tokio::join!(running, kill);
    assert!(matches!(lost.end, End::Lost(_)), "{:?}", lost.end);
    let next = room.run(shell(&profile, "true")).await;
    assert_eq!(next.end, End::Exited(0));
    assert_ne!(next.container, first.container);
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_one_call_leaves_its_neighbours_alone() {
    let profile = worker();
    let room = Room::with(config(), &[&profile]).await;
    let first = room.run(shell(&profile, "true")).await;
    let neighbour = room.run(shell(&profile, "sleep 1; echo done"));
    let dropped = tokio::time::timeout(
        Duration::from_millis(300),
        room.run(order(&profile, &["sleep", "60"])),
    );
    let (neighbour, dropped) = tokio::join!(neighbour, dropped);
    assert!(dropped.is_err());
    assert_eq!(neighbour.stdout, "done\n");
    assert_eq!(neighbour.container, first.container);
    // The dropped call's process is gone; the container is not.
    let mut seen = String::new();
    for _ in 0..50 {
        let processes = room.run(shell(&profile, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")).await;
        assert_eq!(processes.container, first.container);
        seen = String::from_utf8_lossy(&processes.stdout).into_owned();
        if !seen.contains("sleep 60") {
            break;
        }
    }
    assert!(!seen.contains("sleep 60"), "{seen}");
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_answers_too_late_gets_no_further_calls() {
    let room = Room::open(Config { grace_ms: 300, ..config() }).await;
    let mut short = Profile { tier: Tier::Worker, ..profile("shell") };
    short.limits.wall = Duration::from_millis(500);
    let profile = Arc::new(short);
    room.keep(&[&profile]);
    room.ready().await;
    let first = room.run(shell(&profile, "true")).await;
    let stop = std::process::Command::new("docker")
        .args(["kill", "--signal=STOP", &first.container])
        .output()
        .unwrap();
    assert!(stop.status.success(), "{stop:?}");
    let begun = std::time::Instant::now();
    let late = room.run(shell(&profile, "true")).await;
    assert_eq!(late.container, first.container);
    assert!(matches!(late.end, End::Lost(_) | End::Timeout), "{:?}", late.end);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    let next = room.run(shell(&profile, "echo well")).await;
    assert_ne!(next.container, first.container);
    assert_eq!(next.stdout, "well\n");
    room.close().await;
}
