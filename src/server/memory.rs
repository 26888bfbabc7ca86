//! Wires the memory into the daemon: its desk, its service, its health. The daemon starts and serves
//! tools without waiting for it.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Daemon;
use super::health::Health;
use crate::config::Config;
use crate::memory::{Desk, DeskPlace};
use crate::pipeline::Pipeline;
use crate::service::Memories;

/// Reads what is declared, and begins to open the memory.
pub(super) fn start(
    config: &Config,
    pipeline: &Pipeline,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> Desk {
    Desk::start(DeskPlace {
        policies: config.policies.folder.clone(),
        config: config.memory.clone(),
        ledger: pipeline.ledger().clone(),
        tasks: tasks.clone(),
        stop: stop.clone(),
    })
}

/// The service, for one listener.
pub(super) fn service(daemon: &Daemon) -> Memories {
    let (pipeline, desk) = (Arc::clone(&daemon.pipeline), daemon.desk.clone());
    Memories::new(pipeline, desk, daemon.calls.clone(), daemon.stop.clone())
}

/// Follows the memory's standing in a task of the daemon.
pub(super) async fn follow(daemon: &Daemon, health: &Health) {
    let mut standing = daemon.desk.standing();
    let open = standing.borrow_and_update().is_open();
    health.memory(open).await;
    let (health, stop) = (health.clone(), daemon.stop.clone());
    daemon.tasks.spawn(stop.run_until_cancelled_owned(async move {
        while standing.changed().await.is_ok() {
            let open = standing.borrow_and_update().is_open();
            health.memory(open).await;
        }
    }));
}
