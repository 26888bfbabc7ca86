//! The daemon: wires the rooms, opens the listeners, reloads on change, drains on SIGTERM.

mod error;
mod health;
mod http;
mod janitor;
mod listen;
mod reload;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::Admission;
use crate::config::Config;
use crate::ledger::Ledger;
use crate::pipeline::{Pipeline, Snapshot};
use crate::sandbox::{self, Sandbox};
use crate::telemetry::Telemetry;

pub use error::Error;
pub use listen::Bound;

/// What the parts of the running daemon share.
#[derive(Debug, Clone)]
pub(crate) struct Daemon {
    pub(crate) config: Arc<Config>,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) sandbox: Sandbox,
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
    let mut signals = Signals::register()?;
    let telemetry = Telemetry::install(&config.telemetry)?;
    // Before the sandbox sweeps: a daemon that cannot listen must not touch another's containers.
    let listeners = listen::bind(&config.server).await?;
    let made = listeners.made();
    let daemon = start(config).await?;
    let _janitor = janitor::start(&daemon.config.sandbox, daemon.sandbox.boot())?;
    let health = health::start(&daemon).await;
    reload::watch(&daemon, signals.hangup);
    let bound = listeners.serve(&daemon, &health, telemetry.metrics())?;
    bound.announce(&daemon.config.server)?;
    tokio::select! {
        _ = signals.terminate.recv() => tracing::info!("SIGTERM: draining"),
        _ = signals.interrupt.recv() => tracing::info!("SIGINT: draining"),
    }
    drain(&daemon, &health, made).await;
    telemetry.close();
    Ok(())
}

async fn start(config: Config) -> Result<Daemon, Error> {
    let (tasks, calls, stop) = (TaskTracker::new(), TaskTracker::new(), CancellationToken::new());
    let ledger = Ledger::open(&config.ledger)?;
    if let Err(error) = config.sandbox.gate.load_roots() {
        tracing::warn!(%error, "tools cannot reach hosts over TLS");
    }
    let sandbox = Sandbox::start(config.sandbox.clone(), tasks.clone(), stop.clone()).await?;
    let images = sandbox::images(&config.sandbox);
    let snapshot =
        Snapshot::load(&config.policies.folder, &|name| images.get(name).cloned(), None)?;
    reload::report(&snapshot);
    let admission = Admission::new(config.admission.clone())?;
    let pipeline = Pipeline::new(admission, snapshot, &config.replies, sandbox.clone(), ledger);
    let (config, pipeline) = (Arc::new(config), Arc::new(pipeline));
    Ok(Daemon { config, pipeline, sandbox, tasks, calls, stop })
}

/// The signals that the daemon answers.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn register() -> Result<Self, Error> {
        let listen = |kind| {
            signal(kind).map_err(|source| Error::System { what: "cannot wait for signals", source })
        };
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }
}

/// No new calls; running ones end, or are cancelled at the grace limit; containers gone.
async fn drain(daemon: &Daemon, health: &health::Health, made: Option<listen::Made>) {
    health.draining().await;
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
