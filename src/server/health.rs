//! grpc.health.v1. `""` and the tool service tell readiness: the engine answers and each pool has
//! members. The memory service tells whether the memory is open, the reason service whether there are runs. `liveness` tells only that the process
//! runs, since a restart mends no engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tonic_health::ServingStatus;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};

use super::{Daemon, memory, reason};

/// The name that answers for the process alone.
pub(super) const LIVENESS: &str = "liveness";
const READINESS: [&str; 2] = ["", "switchboard.tools.v1.ToolService"];

/// Tells whether the memory answers; a daemon without one, or with a broken one, still runs tools.
const MEMORY: &str = "switchboard.memory.v1.MemoryService";
/// Tells whether runs can be started; a daemon without, or with broken ones, still runs tools.
const REASON: &str = "switchboard.reason.v1.ReasonService";

/// The health of this daemon.
#[derive(Debug, Clone)]
pub(super) struct Health {
    reporter: HealthReporter,
    draining: Arc<AtomicBool>,
}

/// Follows the sandbox's readiness in a task of the daemon.
pub(super) async fn start(daemon: &Daemon) -> Health {
    let health =
        Health { reporter: HealthReporter::new(), draining: Arc::new(AtomicBool::new(false)) };
    health.reporter.set_service_status(LIVENESS, ServingStatus::Serving).await;
    let mut readiness = daemon.sandbox.readiness();
    let ready = readiness.borrow_and_update().ready;
    health.set(ready).await;
    memory::follow(daemon, &health).await;
    reason::follow(daemon, &health).await;
    let (follower, stop) = (health.clone(), daemon.stop.clone());
    daemon.tasks.spawn(stop.run_until_cancelled_owned(async move {
        while readiness.changed().await.is_ok() {
            let ready = readiness.borrow_and_update().ready;
            follower.set(ready).await;
        }
    }));
    health
}

impl Health {
    async fn set(&self, ready: bool) {
        let ready = ready && !self.draining.load(Ordering::Acquire);
        let status = if ready { ServingStatus::Serving } else { ServingStatus::NotServing };
        for name in READINESS {
            self.reporter.set_service_status(name, status).await;
        }
    }

    /// Tells whether the memory answers.
    pub(super) async fn memory(&self, open: bool) {
        self.tell(MEMORY, open).await;
    }

    /// Tells whether runs can be started.
    pub(super) async fn reason(&self, open: bool) {
        self.tell(REASON, open).await;
    }

    async fn tell(&self, name: &str, open: bool) {
        let open = open && !self.draining.load(Ordering::Acquire);
        let status = if open { ServingStatus::Serving } else { ServingStatus::NotServing };
        self.reporter.set_service_status(name, status).await;
    }

    /// Tells that no call will be taken any more.
    pub(super) async fn draining(&self) {
        self.draining.store(true, Ordering::Release);
        self.set(false).await;
        self.memory(false).await;
        self.reason(false).await;
    }

    /// Ends the streams of those who watch, so that their connections can close.
    pub(super) async fn close(&self) {
        let mut reporter = self.reporter.clone();
        for name in READINESS.into_iter().chain([MEMORY, REASON, LIVENESS]) {
            reporter.clear_service_status(name).await;
        }
    }

    /// The service, for one listener.
    pub(super) fn service(&self) -> HealthServer<HealthService> {
        HealthServer::new(HealthService::from_health_reporter(self.reporter.clone()))
    }
}
