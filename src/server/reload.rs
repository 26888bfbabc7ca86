//! Reload of the policies folder, when a file in it changes and on SIGHUP. A broken file keeps the
//! last good state, and the log says so.

use std::sync::Arc;
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use tokio::signal::unix::Signal;
use tokio::sync::mpsc;

use super::Daemon;
use crate::catalog::{Cache, Profile, Usable};
use crate::config::{Config, Policies};
use crate::pipeline::Snapshot;
use crate::{policy, sandbox};

/// Changes come in bursts; a load starts when none has come for this long.
const QUIET: Duration = Duration::from_millis(150);

/// What a start loads.
pub(super) fn first(config: &Config) -> Result<Snapshot, policy::Error> {
    let images = sandbox::images(&config.sandbox);
    let image = |name: &str| images.get(name).cloned();
    let cache = cache(&config.policies);
    let loaded = Snapshot::load_cached(&config.policies.folder, &image, None, cache.as_ref())?;
    Ok(loaded.shadowed_by(config.policies.shadow.as_deref()))
}

/// The cache; without one everything is worked out anew, which only takes longer.
fn cache(policies: &Policies) -> Option<Cache> {
    let folder = policies.cache.as_deref().filter(|folder| !folder.as_os_str().is_empty())?;
    Cache::open(folder)
        .inspect_err(|error| {
            tracing::warn!(folder = %folder.display(), %error, "there is no cache of the catalog");
        })
        .ok()
}

/// Watches in a task of the daemon until it stops.
pub(super) fn watch(daemon: &Daemon, hangup: Signal) {
    let (changed, changes) = mpsc::channel(1);
    let watcher = watcher(daemon, changed.clone());
    hangups(daemon, hangup, changed);
    let (follower, stop) = (daemon.clone(), daemon.stop.clone());
    daemon.tasks.spawn(stop.run_until_cancelled_owned(async move {
        follow(&follower, changes).await;
        drop(watcher);
    }));
}

fn watcher(daemon: &Daemon, changed: mpsc::Sender<()>) -> Option<notify::RecommendedWatcher> {
    let folder = &daemon.config.policies.folder;
    let told = move |event: notify::Result<notify::Event>| {
        let reading = event.is_ok_and(|event| event.kind.is_access());
        if !reading {
            // A full channel means that a load is due anyway.
            changed.try_send(()).ok();
        }
    };
    let watching = notify::recommended_watcher(told).and_then(|mut watcher| {
        watcher.watch(folder, RecursiveMode::Recursive)?;
        // The candidate is not worth the changes of the active set.
        let shadow = daemon.config.policies.shadow.as_deref();
        if let Some(shadow) = shadow.filter(|shadow| !shadow.starts_with(folder))
            && let Err(error) = watcher.watch(shadow, RecursiveMode::Recursive)
        {
            tracing::error!(folder = %shadow.display(), %error, "changes are not seen; use SIGHUP");
        }
        Ok(watcher)
    });
    watching
        .inspect_err(|error| {
            tracing::error!(folder = %folder.display(), %error, "changes are not seen; use SIGHUP");
        })
        .ok()
}

fn hangups(daemon: &Daemon, mut hangup: Signal, changed: mpsc::Sender<()>) {
    let stop = daemon.stop.clone();
    daemon.tasks.spawn(stop.run_until_cancelled_owned(async move {
        while hangup.recv().await.is_some() {
            changed.try_send(()).ok();
        }
    }));
}

async fn follow(daemon: &Daemon, mut changes: mpsc::Receiver<()>) {
    while changes.recv().await.is_some() {
        while let Ok(Some(())) = tokio::time::timeout(QUIET, changes.recv()).await {}
        let daemon = daemon.clone();
        let loaded = tokio::task::spawn_blocking(move || load(&daemon)).await;
        if let Err(error) = loaded {
            tracing::error!(%error, "a reload ended early; the last good state stays");
        }
    }
}

fn load(daemon: &Daemon) {
    if let Err(error) = daemon.pipeline.reload_identity() {
        tracing::error!(%error, "tokens and keys were not taken; those from before stay in force");
    }
    let previous = daemon.pipeline.snapshot();
    let images = sandbox::images(&daemon.config.sandbox);
    let image = |name: &str| images.get(name).cloned();
    let usable = |profile: &Arc<Profile>| daemon.sandbox.check(profile);
    let last = Some((&*previous, &usable as Usable<'_>));
    let policies = &daemon.config.policies;
    let cache = cache(policies);
    let outcome = match Snapshot::load_cached(&policies.folder, &image, last, cache.as_ref()) {
        Ok(snapshot) => {
            let shadow = daemon.config.policies.shadow.as_deref();
            daemon.pipeline.replace(snapshot.shadowed_by(shadow));
            report(&daemon.pipeline.snapshot());
            "loaded"
        }
        Err(error) => {
            tracing::error!(%error, "the policies were not taken; the last good state stays");
            "refused"
        }
    };
    metrics::counter!("switchboard_reloads_total", "outcome" => outcome).increment(1);
    daemon.desk.reload();
    daemon.front.reload();
}

/// Logs what was loaded and each thing that could not be used.
pub(super) fn report(snapshot: &Snapshot) {
    for problem in snapshot.problems() {
        tracing::warn!(
            file = problem.file,
            place = problem.place,
            whole_file = problem.fatal,
            "{}",
            problem.message
        );
    }
    for warning in snapshot.policies.warnings() {
        tracing::warn!("{warning}");
    }
    let tools = snapshot.catalog.tools().len();
    tracing::info!(
        tools,
        catalog = snapshot.catalog.digest(),
        policies = snapshot.policies.version(),
        "catalog and policies are in force"
    );
}
