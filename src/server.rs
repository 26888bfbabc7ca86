//! The daemon: wires the rooms, opens the listeners, reloads on change, drains on SIGTERM.

mod error;
mod health;
mod http;
mod janitor;
mod listen;
mod memory;
mod reason;
mod reload;
mod signals;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::Admission;
use crate::approval::Approvals;
use crate::config::Config;
use crate::ledger::Ledger;
use crate::memory::Desk;
use crate::pipeline::Pipeline;
use crate::reason::Front;
use crate::sandbox::Sandbox;
use crate::telemetry::Telemetry;
use signals::Signals;

pub use error::Error;
pub use listen::Bound;

/// What the parts of the running daemon share.
#[derive(Debug, Clone)]
pub(crate) struct Daemon {
    pub(crate) config: Arc<Config>,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) sandbox: Sandbox,
    pub(crate) desk: Desk,
    pub(crate) front: Front,
    /// Tasks that serve; they end when `stop` is cancelled.
    pub(crate) tasks: TaskTracker,
    /// Running calls; drain waits for them.
    pub(crate) calls: TaskTracker,
    /// Ends everything.
    pub(crate) stop: CancellationToken,
}

/// Runs the daemon until SIGTERM or SIGINT, then drains it.
pub async fn serve(config: Config) -> Result<(), Error> {
    // First, so that a signal during the start ends in a drain too.
    let signals = Signals::register()?;
    let telemetry = Telemetry::install(&config.telemetry)?;
    // Before the sandbox sweeps: a daemon that cannot listen must not touch another's containers.
    let listeners = listen::bind(&config.server).await?;
    let made = listeners.made();
    let (daemon, _janitor) = start(config).await?;
    let health = health::start(&daemon).await;
    let served = attend(&daemon, &health, listeners, &telemetry, signals).await;
    // Also when it could not serve: the sandbox has begun to make containers.
    drain(&daemon, &health, made).await;
    telemetry.close();
    served
}

/// Wires the rooms. What fails here leaves no container.
async fn start(config: Config) -> Result<(Daemon, janitor::Janitor), Error> {
    let (tasks, calls, stop) = (TaskTracker::new(), TaskTracker::new(), CancellationToken::new());
    let admission = Admission::new(config.admission.clone())?;
    let ledger = Ledger::open(&config.ledger)?;
    let approvals = Approvals::open(&config.approvals, &tasks, &stop)?;
    if let Err(error) = config.sandbox.gate.load_roots() {
        tracing::warn!(%error, "tools cannot reach hosts over TLS");
    }
    let sandbox = Sandbox::start(config.sandbox.clone(), tasks.clone(), stop.clone()).await?;
    // The janitor comes before the pipeline, with which the first container is made.
    let prepared = reload::first(&config)
        .map_err(Error::from)
        .and_then(|s| Ok((s, janitor::start(&config.sandbox, sandbox.boot())?)));
    if prepared.is_err() {
        sandbox.drain().await;
    }
    let (snapshot, janitor) = prepared?;
    reload::report(&snapshot);
    let (replies, kept) = (&config.replies, (approvals, ledger));
    let pipeline = Pipeline::new(admission, snapshot, replies, sandbox.clone(), kept);
    let (config, pipeline) = (Arc::new(config), Arc::new(pipeline));
    let desk = memory::start(&config, &pipeline, &tasks, &stop);
    let front = reason::start(&config, (&pipeline, &desk), (&calls, &tasks), &stop);
    Ok((Daemon { config, pipeline, sandbox, desk, front, tasks, calls, stop }, janitor))
}

/// Serves until a signal comes.
async fn attend(
    daemon: &Daemon,
    health: &health::Health,
    listeners: listen::Listeners,
    telemetry: &Telemetry,
    mut signals: Signals,
) -> Result<(), Error> {
    reload::watch(daemon, signals.hangup);
    let bound = listeners.serve(daemon, health, telemetry.metrics())?;
    bound.announce(&daemon.config.server)?;
    tokio::select! {
        _ = signals.terminate.recv() => tracing::info!("SIGTERM: draining"),
        _ = signals.interrupt.recv() => tracing::info!("SIGINT: draining"),
    }
    Ok(())
}

/// No new calls; running ones end, or are cancelled at the grace limit; containers gone.
async fn drain(daemon: &Daemon, health: &health::Health, made: Option<listen::Made>) {
    health.draining().await;
    daemon.front.close();
    daemon.pipeline.close();
    daemon.calls.close();
    if !ended(&daemon.calls, daemon.config.server.drain_grace, "the grace time is over").await {
        daemon.pipeline.cancel_all();
        ended(&daemon.calls, Duration::from_secs(5), "calls did not end when cancelled").await;
    }
    // While it still answers, so that no successor can have its own in this place.
    if let Some(made) = made {
        made.remove();
    }
    daemon.stop.cancel();
    health.close().await;
    daemon.sandbox.drain().await;
    daemon.tasks.close();
    ended(&daemon.tasks, Duration::from_secs(5), "some connections stay open and are cut").await;
    daemon.desk.close().await;
    if let Err(error) = daemon.pipeline.ledger().clone().close().await {
        tracing::error!(%error, "the ledger could not be closed");
    }
}

/// Waits for tasks; false, and a warning, when the time is over before they are.
async fn ended(tasks: &TaskTracker, time: Duration, otherwise: &str) -> bool {
    let ended = tokio::time::timeout(time, tasks.wait()).await.is_ok();
    if !ended {
        tracing::warn!(running = tasks.len(), "{otherwise}");
    }
    ended
}
