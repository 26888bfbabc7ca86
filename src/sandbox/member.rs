//! One container from create to READY, and its certain end: whatever is dropped here, at any step,
//! goes to the teardown queue.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use metrics::{gauge, histogram};
use switchboard_runner::CgroupLimits;
use tokio::sync::{Notify, OwnedSemaphorePermit, mpsc};
use tokio_util::task::TaskTracker;

use super::Error;
use super::engine::{Engine, is_absent};
use super::kill::Handle;
use super::link::{Link, receive};
use super::recipe::{Owner, Recipe};
use crate::catalog::Tier;

/// Bound from start to READY.
const READY_BOUND: Duration = Duration::from_secs(10);

/// A container that must be removed, with the capacity that it uses until then.
#[derive(Debug)]
pub(super) struct Waste {
    /// The container's name.
    pub(super) name: String,
    pub(super) permit: OwnedSemaphorePermit,
}

/// Names of the containers that this process is responsible for, and the way to end them.
#[derive(Debug)]
pub(super) struct Registry {
    names: Mutex<HashSet<String>>,
    waste: mpsc::UnboundedSender<Waste>,
    emptied: Notify,
}

impl Registry {
    pub(super) fn new(waste: mpsc::UnboundedSender<Waste>) -> Arc<Self> {
        Arc::new(Self { names: Mutex::default(), waste, emptied: Notify::new() })
    }

    /// Whether the container is known: starting, waiting, in use or in the teardown queue.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.names().contains(name)
    }

    /// The names of all known containers.
    pub(super) fn snapshot(&self) -> HashSet<String> {
        self.names().clone()
    }

    /// Forgets a container that is gone, or that is left to the sweep.
    pub(super) fn forget(&self, name: &str) {
        self.names().remove(name);
        self.emptied.notify_waiters();
    }

    /// Waits until no container is known.
    pub(super) async fn emptied(&self) {
        loop {
            let told = self.emptied.notified();
            if self.names().is_empty() {
                return;
            }
            told.await;
        }
    }

    fn names(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The claim on a container that exists, may exist or is about to. Dropping it has it removed.
#[derive(Debug)]
struct Claim {
    registry: Arc<Registry>,
    name: String,
    permit: Option<OwnedSemaphorePermit>,
}

impl Claim {
    fn new(registry: &Arc<Registry>, name: String, permit: OwnedSemaphorePermit) -> Self {
        registry.names().insert(name.clone());
        Self { registry: Arc::clone(registry), name, permit: Some(permit) }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let Some(permit) = self.permit.take() else {
            return;
        };
        let name = std::mem::take(&mut self.name);
        // The queue holds no more than the permits there are. It is closed only after a drain;
        // then end of file on standard input ends the container.
        drop(self.registry.waste.send(Waste { name, permit }));
    }
}

/// A started container whose runner has announced itself.
#[derive(Debug)]
pub(super) struct Member {
    // Dropped first: end of file reaches the runner before the engine is asked to remove it.
    link: Link,
    _claim: Claim,
    /// The engine's id.
    pub(super) id: String,
    pub(super) recipe: Arc<Recipe>,
    /// The way to end it without the engine.
    pub(super) handle: Handle,
    /// The limits that were read back.
    pub(super) limits: CgroupLimits,
    /// When its making began.
    pub(super) begun: Instant,
    /// When it was ready.
    pub(super) ready: Instant,
}

impl Member {
    pub(super) fn link(&self) -> &Link {
        &self.link
    }
}

#[cfg(test)]
impl Member {
    /// A container that no engine has, for tests of the bookkeeping.
    pub(super) fn for_test(
        recipe: &Arc<Recipe>,
        registry: &Arc<Registry>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        let id = uuid::Uuid::new_v4().simple().to_string();
        Self {
            link: Link::for_test(),
            _claim: Claim::new(registry, id.clone(), permit),
            handle: Handle::of(&id),
            id,
            recipe: Arc::clone(recipe),
            limits: CgroupLimits::default(),
            begun: Instant::now(),
            ready: Instant::now(),
        }
    }
}

/// What a launch needs of the daemon.
#[derive(Debug, Clone)]
pub(super) struct Yard {
    pub(super) engine: Arc<Engine>,
    pub(super) registry: Arc<Registry>,
    pub(super) owner: Owner,
    pub(super) tasks: TaskTracker,
}

impl Yard {
    /// Makes one container: create, attach, start, READY, limits verified. On any failure, and when
    /// the future is dropped, what was made is removed.
    pub(super) async fn launch(
        &self,
        recipe: Arc<Recipe>,
        permit: OwnedSemaphorePermit,
    ) -> Result<Member, Error> {
        let begun = Instant::now();
        let starting = Counted::new("starting");
        let name = format!("switchboard-{}", uuid::Uuid::now_v7().simple());
        let claim = Claim::new(&self.registry, name, permit);
        let body = recipe.body(&self.owner);
        let id = match self.engine.create(&claim.name, body).await {
            Err(error) if is_absent(&error) => {
                return Err(Error::ImageMissing {
                    image: recipe.name.clone(),
                    reason: format!("the engine has no `{}`", recipe.key.image),
                });
            }
            made => made?,
        };
        // Attaching comes before starting, or a fast container's first words are lost.
        let attached = self.engine.attach(&id).await?;
        let mut attached = receive(attached, claim.name.clone());
        self.engine.start(&id).await?;
        let ready =
            tokio::time::timeout(READY_BOUND, attached.ready()).await.map_err(|_elapsed| {
                Error::Slow { step: "bring up the runner", bound: READY_BOUND }
            })??;
        let handle = self.grasp(&id).await;
        let ready = recipe.complete(ready, handle.group());
        recipe.verify(&ready)?;
        drop(starting);
        let link = attached.link(recipe.key.tier == Tier::Worker, &self.tasks);
        histogram!("switchboard_sandbox_create_seconds").record(begun.elapsed());
        Ok(Member {
            link,
            _claim: claim,
            id,
            recipe,
            handle,
            limits: ready.limits,
            begun,
            ready: Instant::now(),
        })
    }

    /// What there is of the container on this host. The engine is asked for a process number only
    /// where the control group is not in its usual place.
    async fn grasp(&self, id: &str) -> Handle {
        let handle = Handle::of(id);
        if handle.group().is_some() || !self.engine.is_local() {
            return handle;
        }
        self.engine.pid(id).await.map_or(handle, |pid| Handle::of_process(id, pid))
    }
}

/// Counts one container in the gauge of its state for as long as it lives.
#[derive(Debug)]
pub(super) struct Counted(&'static str);

impl Counted {
    pub(super) fn new(state: &'static str) -> Self {
        gauge!("switchboard_sandbox_containers", "state" => state).increment(1.0);
        Self(state)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        gauge!("switchboard_sandbox_containers", "state" => self.0).decrement(1.0);
    }
}
