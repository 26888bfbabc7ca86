//! The tasks that run while the daemon runs: watching the engine, filling the pools, removing what
//! is done with, sweeping. None of them ends before the stop; drain waits for the containers.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use metrics::gauge;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::hub::Hub;
use super::member::Waste;
use super::pool::{Figures, Step};
use super::recipe::Recipe;
use super::{Error, Readiness};

/// Pause between two looks at the engine.
const LOOK: Duration = Duration::from_secs(2);
/// First and longest pause between two attempts to connect.
const RECONNECT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// Looks without an answer after which the engine counts as gone. One may be a hiccup.
const MISSES: u32 = 2;
/// Upkeep of the pools happens at least this often.
const TICK: Duration = Duration::from_secs(1);
/// The reserve is refilled this long after a call took from it, and its container is ended this long
/// after the call, so that the call itself has the processor first. A call that waits is served at
/// once.
pub(super) const COURTESY: Duration = Duration::from_millis(8);

/// Time in which a container is removed, as a rule.
const REMOVAL: Duration = Duration::from_millis(200);

/// Starts the room's tasks.
pub(super) fn start(hub: &Arc<Hub>, waste: mpsc::UnboundedReceiver<Waste>) {
    let queue = Arc::new(tokio::sync::Mutex::new(waste));
    for _ in 0..hub.config.parallel() {
        let (hub, queue) = (Arc::clone(hub), Arc::clone(&queue));
        let tasks = hub.tasks.clone();
        // Runs on after the stop: drain needs it. It ends when the room is dropped.
        tasks.spawn(async move { remove(&hub, &queue).await });
    }
    let watcher = Arc::clone(hub);
    hub.tasks.spawn(async move {
        let stop = watcher.stop.clone();
        stop.run_until_cancelled(watch(&watcher)).await;
    });
    let filler = Arc::clone(hub);
    hub.tasks.spawn(async move {
        let stop = filler.stop.clone();
        stop.run_until_cancelled(fill(&filler)).await;
    });
    let sweeper = Arc::clone(hub);
    hub.tasks.spawn(async move {
        let stop = sweeper.stop.clone();
        stop.run_until_cancelled(sweep(&sweeper)).await;
    });
}

async fn remove(hub: &Hub, queue: &tokio::sync::Mutex<mpsc::UnboundedReceiver<Waste>>) {
    // Capacity comes back with every removal, so a pool may go on.
    tokio::select! {
        () = hub.reaper.work(queue, &hub.changed) => {}
        () = hub.drained.cancelled() => {}
    }
}

/// Connects, sweeps, and looks again and again whether the engine answers.
async fn watch(hub: &Hub) {
    let mut pause = RECONNECT.0;
    loop {
        let connected = connect(hub).await;
        hub.asked.cancel();
        match connected {
            Ok(()) => {
                pause = RECONNECT.0;
                let error = outlast(hub).await;
                tracing::error!(error, "container engine lost");
                hub.yard.engine.fall(error);
            }
            Err(error) => {
                let line = error.line();
                tracing::warn!(error = line, "container engine not usable yet");
                let reason = match error {
                    Error::EngineAbsent { reason, .. } => reason,
                    _ => line,
                };
                hub.yard.engine.fall(reason);
            }
        }
        report(hub);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(RECONNECT.1);
    }
}

async fn connect(hub: &Hub) -> Result<(), Error> {
    let engine = &hub.yard.engine;
    let docker = engine.connect().await?;
    hub.abilities.store(Arc::new(engine.examine(&docker).await?));
    engine.rise(docker);
    // What an earlier life left behind goes before anything new is made.
    if let Err(error) = hub.reaper.sweep().await {
        engine.fall(error.line());
        return Err(error);
    }
    hub.pools().recover();
    hub.changed.notify_one();
    tracing::info!(api = engine.version().unwrap_or_default(), "container engine connected");
    Ok(())
}

/// Returns once the engine no longer answers, with the reason.
async fn outlast(hub: &Hub) -> String {
    let mut misses = 0;
    loop {
        report(hub);
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = hub.suspect.notified() => {}
        }
        match hub.yard.engine.ping().await {
            Ok(()) => misses = 0,
            Err(error) => {
                misses += 1;
                if misses >= MISSES {
                    return error.line();
                }
                hub.suspect.notify_one();
            }
        }
    }
}

async fn sweep(hub: &Hub) {
    loop {
        tokio::time::sleep(hub.config.sweep_interval()).await;
        if let Err(error) = hub.reaper.sweep().await {
            tracing::warn!(error = error.line(), "sweep failed");
        }
    }
}

/// Makes containers as the pools ask for them, never more at once than there are permits.
async fn fill(hub: &Arc<Hub>) {
    let (mut upkeep, mut pause) = (Instant::now(), TICK);
    loop {
        let _tick = tokio::time::timeout(pause, hub.changed.notified()).await;
        if !hub.pools().is_urgent() {
            let _courtesy = tokio::time::timeout(COURTESY, hub.urgent.notified()).await;
        }
        if upkeep.elapsed() >= TICK {
            upkeep = Instant::now();
            tend(hub);
        }
        pause = TICK;
        if hub.yard.engine.client().is_ok() {
            pause = pause.min(plan(hub));
        }
    }
}

/// Removes what is too old or dead.
fn tend(hub: &Hub) {
    let old = hub.pools().expire(hub.config.idle(), Instant::now());
    drop(old);
    hub.retire_workers();
    report(hub);
}

/// Begins what is to be made now; gives the time after which to look again.
fn plan(hub: &Arc<Hub>) -> Duration {
    while let Ok(create) = Arc::clone(&hub.creates).try_acquire_owned() {
        let step = hub.pools().next(Instant::now());
        let (recipe, urgent) = match step {
            Step::Make(recipe, urgent) => (recipe, urgent),
            Step::Pause(pause) => return pause,
            Step::Rest => break,
        };
        let Ok(room) = Arc::clone(&hub.capacity).try_acquire_owned() else {
            hub.pools().unstart(&recipe.key);
            if urgent {
                make_room(hub, &recipe);
            }
            break;
        };
        let maker = Arc::clone(hub);
        hub.tasks.spawn(async move {
            // Runs to its end even after the stop: a create request that is dropped half way
            // leaves a container that appears only later.
            Box::pin(make(&maker, recipe, room)).await;
            drop(create);
            maker.changed.notify_one();
        });
    }
    TICK
}

fn make_room(hub: &Hub, recipe: &Recipe) {
    // The room of one that was evicted comes back only when it is removed; until then no further
    // reserve is given up for the same call.
    let mut last = hub.evicted.lock().unwrap_or_else(PoisonError::into_inner);
    if last.is_some_and(|at| at.elapsed() < REMOVAL) {
        return;
    }
    *last = Some(Instant::now());
    drop(last);
    let evicted = hub.pools().evict(&recipe.key);
    if evicted.is_none() {
        hub.evict_worker();
    }
}

async fn make(hub: &Hub, recipe: Arc<Recipe>, room: OwnedSemaphorePermit) {
    match hub.yard.launch(Arc::clone(&recipe), room).await {
        Ok(member) => {
            let unwanted = hub.pools().publish(Box::new(member));
            drop(unwanted);
        }
        Err(error) => {
            tracing::warn!(image = recipe.name, error = error.line(), "no sandbox made");
            if matches!(error, Error::Slow { .. } | Error::Engine { .. }) {
                hub.suspect.notify_one();
            }
            hub.pools().fail(&recipe.key, error, Instant::now());
        }
    }
    report(hub);
}

/// Says whether calls can be served, and why not.
pub(super) fn report(hub: &Hub) {
    let (reasons, figures) = {
        let mut pools = hub.pools();
        let mut reasons: Vec<String> = Vec::new();
        for pool in pools.conditions() {
            if !pool.has_members {
                let cause = pool.cause.unwrap_or_else(|| "it is being filled".to_owned());
                reasons.push(format!("pool `{}` has no members: {cause}", pool.name));
            }
        }
        (reasons, pools.figures(hub.config.parallel(), Instant::now()))
    };
    let mut reasons = reasons;
    if let Err(absent) = hub.yard.engine.client() {
        reasons = vec![absent.line()];
    }
    reasons.extend(hub.lacking().iter().cloned());
    reasons.extend(hub.unenforced());
    reasons.extend(hub.vault.lacking());
    show(&figures);
    let now = Readiness { ready: reasons.is_empty(), reason: reasons.join("; ") };
    hub.readiness.send_if_modified(|was| {
        let changed = *was != now;
        if changed {
            *was = now;
        }
        changed
    });
}

fn show(figures: &HashMap<String, Figures>) {
    let ready = figures.values().map(|pool| pool.ready).sum();
    gauge!("switchboard_sandbox_containers", "state" => "ready").set(to_f64(ready));
    for (name, pool) in figures {
        let gauge = |what: &'static str| gauge!(what, "pool" => name.clone());
        gauge("switchboard_sandbox_pool_ready").set(to_f64(pool.ready));
        gauge("switchboard_sandbox_pool_target").set(to_f64(pool.target));
        gauge("switchboard_sandbox_pool_queue").set(to_f64(pool.waiting));
        gauge("switchboard_sandbox_pool_refill_rate").set(pool.refill);
    }
}

fn to_f64(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}
