//! Wires the reasoning into the daemon: its front, its service, its health. The daemon starts and serves
//! tools without waiting for it; a drain leaves each run where it is, for the next daemon.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Daemon;
use super::health::Health;
use crate::config::Config;
use crate::memory::Desk;
use crate::pipeline::Pipeline;
use crate::reason::{Front, FrontPlace};
use crate::service::Reasons;

/// Reads the policies on runs, and begins to open the runs.
pub(super) fn start(
    config: &Config,
    (pipeline, desk): (&Arc<Pipeline>, &Desk),
    (calls, tasks): (&TaskTracker, &TaskTracker),
    stop: &CancellationToken,
) -> Front {
    Front::start(FrontPlace {
        config: config.reason.clone(),
        models: config.models.clone(),
        context: config.memory.context.clone(),
        policies: config.policies.folder.clone(),
        pipeline: Arc::clone(pipeline),
        desk: desk.clone(),
        calls: calls.clone(),
        tasks: tasks.clone(),
        stop: stop.clone(),
    })
}

/// The service, for one listener.
pub(super) fn service(daemon: &Daemon) -> Reasons {
    let parts = (Arc::clone(&daemon.pipeline), daemon.front.clone());
    Reasons::new(parts, (daemon.calls.clone(), daemon.tasks.clone()), daemon.stop.clone())
}

/// Follows the standing of the runs in a task of the daemon.
pub(super) async fn follow(daemon: &Daemon, health: &Health) {
    let mut standing = daemon.front.standing();
    let open = standing.borrow_and_update().is_open();
    health.reason(open).await;
    let (health, stop) = (health.clone(), daemon.stop.clone());
    daemon.tasks.spawn(stop.run_until_cancelled_owned(async move {
        while standing.changed().await.is_ok() {
            let open = standing.borrow_and_update().is_open();
            health.reason(open).await;
        }
    }));
}
