//! The end of every container: removal by name with force, retried, then left to the sweep; and the
//! sweep, which removes what this instance left behind in an earlier life.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bollard::models::ContainerSummary;
use metrics::counter;
use tokio::sync::{Notify, OwnedSemaphorePermit, mpsc};

use super::Error;
use super::engine::{Engine, Removed};
use super::member::{Counted, Registry, Waste};
use super::recipe::{LABEL_BOOT, LABEL_DEADLINE, Owner, unix_seconds};

/// Waits between the attempts to remove one container; after the last it is left to the sweep.
const RETRIES: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(4)];

/// Pauses between looks at a container that the engine is removing, in milliseconds.
const GOING: [u64; 9] = [10, 20, 40, 80, 160, 320, 640, 1280, 2560];

/// Pause between two looks at what is left during a drain.
const LOOK: Duration = Duration::from_millis(50);

/// Removes what the queue brings, and sweeps.
#[derive(Debug)]
pub(super) struct Reaper {
    pub(super) engine: Arc<Engine>,
    pub(super) registry: Arc<Registry>,
    pub(super) owner: Owner,
    /// Capacity held by containers that could not be removed; given back once they are.
    orphans: Mutex<Vec<(String, OwnedSemaphorePermit)>>,
}

impl Reaper {
    pub(super) fn new(engine: Arc<Engine>, registry: Arc<Registry>, owner: Owner) -> Self {
        Self { engine, registry, owner, orphans: Mutex::default() }
    }

    /// Removes containers as they come, until the queue closes. Says through `changed` that there is
    /// room again.
    pub(super) async fn work(
        &self,
        queue: &tokio::sync::Mutex<mpsc::UnboundedReceiver<Waste>>,
        changed: &Notify,
    ) {
        loop {
            let next = queue.lock().await.recv().await;
            let Some(waste) = next else { return };
            self.end(waste).await;
            changed.notify_one();
        }
    }

    /// Removes everything that this boot made, running or not, and waits until the engine lists none
    /// of it, at most for `bound`.
    pub(super) async fn drain(&self, bound: Duration) {
        let all = async {
            // Containers that are being made now are not listed yet, but known.
            let removals = self.registry.snapshot().into_iter().map(|name| async move {
                drop(self.see_off(&name).await);
            });
            futures::future::join_all(removals).await;
            self.registry.emptied().await;
            while let Err(left) = self.clear().await {
                tracing::debug!(left, "not drained yet");
                tokio::time::sleep(LOOK).await;
            }
        };
        if tokio::time::timeout(bound, all).await.is_err() {
            let left = self.registry.snapshot().len();
            tracing::error!(left, "containers left to the next start's sweep");
        }
    }

    /// Removes what the engine lists of this boot; an error says why that may not be all.
    async fn clear(&self) -> Result<(), String> {
        if self.engine.client().is_err() {
            return Ok(());
        }
        let found = self.engine.list(&self.owner.instance).await;
        let found = found.map_err(|error| error.line())?;
        let mut left = Ok(());
        for container in found.iter().filter(|container| is_of(container, &self.owner.boot)) {
            let name = name_of(container);
            drop(self.engine.remove(&name).await);
            left = Err(name);
        }
        left
    }

    async fn end(&self, waste: Waste) {
        let _counted = Counted::new("teardown");
        let mut waits = RETRIES.into_iter();
        loop {
            let error = match self.see_off(&waste.name).await {
                Ok(()) => {
                    self.registry.forget(&waste.name);
                    return;
                }
                Err(error) => error,
            };
            // An engine that is gone has its own loop of attempts; the sweep runs when it is back.
            let absent = matches!(error, Error::EngineAbsent { .. });
            match waits.next().filter(|_| !absent) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return self.leave(waste, &error),
            }
        }
    }

    /// Removes a container, and waits until the engine has no trace of it: until then it counts.
    async fn see_off(&self, name: &str) -> Result<(), Error> {
        for pause in GOING {
            if self.engine.remove(name).await? == Removed::Gone {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        Ok(())
    }

    fn leave(&self, waste: Waste, error: &Error) {
        counter!("switchboard_sandbox_teardown_failures_total").increment(1);
        tracing::warn!(container = %waste.name, error = %error.line(), "container left to the sweep");
        self.registry.forget(&waste.name);
        self.orphans().push((waste.name, waste.permit));
    }

    fn orphans(&self) -> std::sync::MutexGuard<'_, Vec<(String, OwnedSemaphorePermit)>> {
        self.orphans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes every container of this instance that no living process answers for.
    pub(super) async fn sweep(&self) -> Result<(), Error> {
        // Known before the listing or after it: a container that this process removes or makes
        // meanwhile is not a leftover.
        let before = self.registry.snapshot();
        let found = self.engine.list(&self.owner.instance).await?;
        let now = unix_seconds();
        let mut left: HashSet<String> = found.iter().map(name_of).collect();
        for container in &found {
            let name = name_of(container);
            let known = before.contains(&name) || self.registry.knows(&name);
            if !is_leftover(container, &self.owner.boot, now, known) {
                continue;
            }
            match self.see_off(&name).await {
                Ok(()) => {
                    left.remove(&name);
                    counter!("switchboard_sandbox_sweep_removals_total").increment(1);
                    tracing::info!(container = name, "swept a leftover container");
                }
                Err(error) => {
                    counter!("switchboard_sandbox_teardown_failures_total").increment(1);
                    tracing::warn!(container = name, error = %error.line(), "sweep failed");
                }
            }
        }
        // What the engine no longer lists is gone, and so is what was just removed; only then does
        // its capacity come back.
        self.orphans().retain(|(name, _permit)| left.contains(name));
        Ok(())
    }
}

/// Whether nobody answers for a container of this instance: another boot made it, or this boot does
/// not know it, or its deadline has passed.
pub(super) fn is_leftover(container: &ContainerSummary, boot: &str, now: u64, known: bool) -> bool {
    let late = label(container, LABEL_DEADLINE)
        .and_then(|at| at.parse::<u64>().ok())
        .is_none_or(|at| at < now);
    !is_of(container, boot) || !known || late
}

pub(super) fn is_of(container: &ContainerSummary, boot: &str) -> bool {
    label(container, LABEL_BOOT) == Some(boot)
}

fn label<'c>(container: &'c ContainerSummary, name: &str) -> Option<&'c str> {
    container.labels.as_ref()?.get(name).map(String::as_str)
}

pub(super) fn name_of(container: &ContainerSummary) -> String {
    container
        .names
        .as_ref()
        .and_then(|names| names.first())
        .map(|name| name.trim_start_matches('/').to_owned())
        .or_else(|| container.id.clone())
        .unwrap_or_default()
}
