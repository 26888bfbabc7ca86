//! What can be seen of a call from outside while it runs: its container, its limits, its attempts to
//! connect. For the record of a call that is dropped before it has an outcome.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::egress::Trail;
use super::{End, Killer, Outcome, PoolUse};
use crate::catalog::Limits;

/// A look at one call. Clones share it; it is empty until the call has a container.
#[derive(Debug, Clone, Default)]
pub struct Sight(Arc<Mutex<Option<Seen>>>);

/// What is known once the call has its container.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) pool: PoolUse,
    pub(super) queue: Duration,
    pub(super) begun: Instant,
    pub(super) image_digest: String,
    pub(super) container: String,
    pub(super) limits: Limits,
    pub(super) killed: Option<Killer>,
    pub(super) trail: Option<Trail>,
}

impl Sight {
    pub(super) fn see(&self, seen: Seen) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
    }

    /// Notes who ended the tool of a call that was dropped.
    pub(super) fn killed(&self, by: Killer) {
        if let Some(seen) = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            seen.killed = Some(by);
        }
    }

    /// The outcome of a call that is dropped now; `None` when it had no container. Output and
    /// figures are the runner's to report, so they are empty here.
    pub fn outcome(&self) -> Option<Outcome> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = held.as_ref()?;
        Some(Outcome {
            end: End::Cancelled,
            killed: seen.killed,
            stdout: Bytes::new(),
            stderr: Bytes::new(),
            http: None,
            files: Vec::new(),
            stdout_bytes: 0,
            stderr_bytes: 0,
            oom_kills: 0,
            egress: seen.trail.as_ref().map(Trail::attempts).unwrap_or_default(),
            pool: seen.pool,
            queue: seen.queue,
            sandbox: seen.begun.elapsed(),
            tool: Duration::ZERO,
            cpu: Duration::ZERO,
            peak_memory: 0,
            image_digest: seen.image_digest.clone(),
            container: seen.container.clone(),
            limits: seen.limits,
        })
    }
}
