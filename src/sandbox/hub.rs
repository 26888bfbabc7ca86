//! What the tasks of this room share, and how a call gets its container: from the reserve, from a
//! shared worker, or made for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::abilities::Abilities;
use super::engine::Engine;
use super::keeper::COURTESY;
use super::member::{Counted, Member, Yard};
use super::order::Scope;
use super::pool::{Asked, Pools, Taken, Who};
use super::recipe::{Images, Key, Recipe};
use super::secrets::Vault;
use super::share::Share;
use super::teardown::Reaper;
use super::{Config, Error, Killer, Lack, PoolUse, Readiness};
use crate::catalog::Profile;

/// Callers whose shares are remembered before idle ones are forgotten.
const REMEMBERED: usize = 4096;

/// Shared by all tasks of the room.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) config: Config,
    pub(super) images: ArcSwap<Images>,
    pub(super) yard: Yard,
    pub(super) reaper: Reaper,
    pub(super) pools: Mutex<Pools>,
    pub(super) posts: Mutex<HashMap<(Key, Scope), Arc<Post>>>,
    /// Values of secrets.
    pub(super) vault: Arc<Vault>,
    /// The engine was asked for the first time, and answered or did not.
    pub(super) asked: CancellationToken,
    /// What the engine can enforce; nothing is known of one that never answered.
    pub(super) abilities: ArcSwap<Abilities>,
    /// The profiles in force.
    pub(super) profiles: ArcSwap<Vec<Arc<Profile>>>,
    /// Why some profile can have no pool.
    pub(super) lacking: Mutex<Vec<String>>,
    /// One permit for every container that may exist.
    pub(super) capacity: Arc<Semaphore>,
    /// One permit for every container being made.
    pub(super) creates: Arc<Semaphore>,
    /// Something in the pools changed.
    pub(super) changed: Notify,
    /// A call waits for a container.
    pub(super) urgent: Notify,
    /// The engine should be looked at now.
    pub(super) suspect: Notify,
    /// When a container last made room for a call of another kind.
    pub(super) evicted: Mutex<Option<Instant>>,
    /// What each caller may have of the containers.
    pub(super) shares: Mutex<HashMap<Who, Arc<Share>>>,
    pub(super) readiness: watch::Sender<Readiness>,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
    /// Every container is gone; the removing tasks may end.
    pub(super) drained: CancellationToken,
}

/// The place of one scope's worker.
#[derive(Debug, Default)]
pub(super) struct Post {
    worker: tokio::sync::Mutex<Option<Arc<Worker>>>,
}

/// A container that serves many calls of one scope, one process each.
#[derive(Debug)]
pub(super) struct Worker {
    member: Box<Member>,
    slots: Arc<Semaphore>,
    served: AtomicU64,
    /// It did not answer a call in time.
    doubtful: AtomicBool,
    _counted: Counted,
}

/// A container for one call.
#[derive(Debug)]
pub(super) struct Grant {
    pub(super) holding: Holding,
    pub(super) pool: PoolUse,
}

/// How a call holds its container.
#[derive(Debug)]
pub(super) enum Holding {
    /// For itself; dropping it ends the container.
    Own(Own),
    /// With others.
    Shared { worker: Arc<Worker>, _slot: OwnedSemaphorePermit },
}

/// A container that belongs to one call.
#[derive(Debug)]
pub(super) struct Own {
    taken: Arc<Taken>,
    hub: Arc<Hub>,
    share: Option<OwnedSemaphorePermit>,
    _counted: Counted,
}

impl Drop for Own {
    fn drop(&mut self) {
        let (hub, taken, share) =
            (Arc::clone(&self.hub), Arc::clone(&self.taken), self.share.take());
        // The end of a container takes the processor that the call's reply needs now; nothing of its
        // tool is alive any more.
        let end = async move {
            if !hub.pools().is_urgent() {
                hub.stop.run_until_cancelled(tokio::time::sleep(COURTESY)).await;
            }
            drop((taken, share));
            hub.changed.notify_one();
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            self.hub.tasks.spawn_on(end, &runtime);
        }
    }
}

impl Holding {
    pub(super) fn member(&self) -> &Member {
        match self {
            Self::Own(own) => &own.taken.member,
            Self::Shared { worker, .. } => &worker.member,
        }
    }

    /// Ends a call that has no report yet. A container that is the call's own is killed at once. In one
    /// that is shared the runner ends the call when its stream is reset, by the stream's drop.
    pub(super) fn end(&self) -> Killer {
        match self {
            Self::Own(own) => {
                let killer = own.taken.member.handle.kill();
                own.taken.member.link().cut();
                killer
            }
            Self::Shared { .. } => Killer::Runner.count(),
        }
    }

    /// The runner did not answer a call, or broke the rules. One that is shared gets no further calls,
    /// and those that it has go on.
    pub(super) fn doubt(&self) {
        if let Self::Shared { worker, .. } = self {
            worker.doubtful.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a container that went away under its only call had too little memory for its first
    /// process. Under gVisor that is how every want of memory ends.
    pub(super) async fn starved(&self, engine: &Engine) -> bool {
        let Self::Own(own) = self else { return false };
        match own.taken.member.handle.counters() {
            Some(counters) => counters.oom_kills > 0,
            // Its group is gone already; the engine was told.
            None => engine.starved(&own.taken.member.id).await,
        }
    }

    /// Whether it went away at its process limit, which takes gVisor's kernel down.
    pub(super) fn outgrew(&self) -> bool {
        let Self::Own(own) = self else { return false };
        own.taken.member.handle.counters().is_some_and(|counters| counters.forks_refused > 0)
    }

    pub(super) const fn is_shared(&self) -> bool {
        matches!(self, Self::Shared { .. })
    }
}

impl Hub {
    pub(super) fn pools(&self) -> MutexGuard<'_, Pools> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the engine cannot enforce some profile that is in force.
    pub(super) fn unenforced(&self) -> Vec<String> {
        let (abilities, profiles) = (self.abilities.load(), self.profiles.load());
        let line = |profile: &Arc<Profile>| {
            let why = abilities.check(profile).err()?;
            Some(format!("profile `{}`: {why}", profile.name))
        };
        profiles.iter().filter_map(line).collect()
    }

    pub(super) fn lacking(&self) -> MutexGuard<'_, Vec<String>> {
        self.lacking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn posts(&self) -> MutexGuard<'_, HashMap<(Key, Scope), Arc<Post>>> {
        self.posts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A container of its own for one call.
    pub(super) async fn take(
        self: &Arc<Self>,
        recipe: &Arc<Recipe>,
        who: &Who,
        patience: Duration,
    ) -> Result<Grant, Error> {
        let until = Instant::now() + patience;
        let share = match self.share(who) {
            Some(share) => {
                let place = share.enter(patience, &self.config).await?;
                Some(place.ok_or_else(|| self.waited(patience))?)
            }
            None => None,
        };
        let left = until.saturating_duration_since(Instant::now());
        let (taken, pool) = self.obtain(recipe, who, left).await?;
        let counted = Counted::new("in_use");
        let taken = Arc::new(taken);
        let own = Own { taken, hub: Arc::clone(self), share, _counted: counted };
        Ok(Grant { holding: Holding::Own(own), pool })
    }

    /// The containers that one caller may have in use at once, so that others find some too; `None`
    /// where that is all of them. Then the pools' queues hold the calls back.
    fn share(&self, who: &Who) -> Option<Arc<Share>> {
        let most = self.config.share();
        if most >= self.config.containers() {
            return None;
        }
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if shares.len() >= REMEMBERED {
            shares.retain(|_, share| Share::is_used(share));
        }
        let share = shares.entry(Arc::clone(who)).or_insert_with(|| Arc::new(Share::new(most)));
        Some(Arc::clone(share))
    }

    async fn obtain(
        &self,
        recipe: &Arc<Recipe>,
        who: &Who,
        patience: Duration,
    ) -> Result<(Taken, PoolUse), Error> {
        if self.stop.is_cancelled() {
            return Err(Self::stopping());
        }
        self.yard.engine.client()?;
        let asked_at = Instant::now();
        let asked = self.pools().ask(recipe, who, patience, &self.config);
        self.changed.notify_one();
        let delivery = match asked? {
            Asked::Ready(taken) => return Ok((taken, PoolUse::Hit)),
            Asked::Waiting(delivery) => delivery,
        };
        self.urgent.notify_one();
        match tokio::time::timeout(patience, delivery).await {
            Ok(Ok(delivered)) => {
                let taken = delivered?;
                let pool =
                    if taken.member.begun < asked_at { PoolUse::Waited } else { PoolUse::Cold };
                Ok((taken, pool))
            }
            Ok(Err(_dropped)) => Err(Self::stopping()),
            Err(_elapsed) => Err(self.waited(patience)),
        }
    }

    fn stopping() -> Error {
        Error::Busy { lack: Lack::Stopping, retry_after: Duration::from_secs(1) }
    }

    fn waited(&self, patience: Duration) -> Error {
        // When the engine went away meanwhile, that is the reason.
        if let Err(absent) = self.yard.engine.client() {
            return absent;
        }
        self.suspect.notify_one();
        Error::Busy { lack: Lack::Unserved { patience }, retry_after: Duration::from_secs(1) }
    }

    /// A place in the worker of `scope`, which is started when there is none.
    pub(super) async fn join(
        self: &Arc<Self>,
        recipe: &Arc<Recipe>,
        (scope, who): (&Scope, &Who),
        patience: Duration,
    ) -> Result<Grant, Error> {
        let until = Instant::now() + patience;
        let key = (recipe.key.clone(), scope.clone());
        let post = Arc::clone(self.posts().entry(key).or_default());
        let hired = tokio::time::timeout(patience, self.hire(&post, recipe, who, patience)).await;
        let (worker, pool) = hired.map_err(|_elapsed| self.waited(patience))??;
        let left = until.saturating_duration_since(Instant::now());
        let slot = tokio::time::timeout(left, Arc::clone(&worker.slots).acquire_owned()).await;
        match slot {
            Ok(Ok(slot)) => Ok(Grant { holding: Holding::Shared { worker, _slot: slot }, pool }),
            Ok(Err(_closed)) => Err(Self::stopping()),
            Err(_elapsed) => Err(self.waited(patience)),
        }
    }

    async fn hire(
        &self,
        post: &Post,
        recipe: &Arc<Recipe>,
        who: &Who,
        patience: Duration,
    ) -> Result<(Arc<Worker>, PoolUse), Error> {
        self.yard.engine.client()?;
        let mut place = post.worker.lock().await;
        if let Some(worker) = place.as_ref().filter(|worker| worker.is_fit(&self.config)) {
            worker.count();
            return Ok((Arc::clone(worker), PoolUse::Hit));
        }
        // The old one ends when its last call does.
        *place = None;
        let (Taken { member, lease }, pool) = self.obtain(recipe, who, patience).await?;
        // A worker is no demand that the reserve must follow.
        drop(lease);
        let slots = recipe.places(self.config.worker_concurrency);
        let worker = Arc::new(Worker {
            member,
            slots: Arc::new(Semaphore::new(slots)),
            served: AtomicU64::new(1),
            doubtful: AtomicBool::new(false),
            _counted: Counted::new("in_use"),
        });
        *place = Some(Arc::clone(&worker));
        Ok((worker, pool))
    }

    /// Lets go of workers that are dead or due, and of places that stand empty.
    pub(super) fn retire_workers(&self) {
        self.posts().retain(|_, post| {
            let Ok(mut place) = post.worker.try_lock() else {
                return true;
            };
            if !place.as_ref().is_some_and(|worker| worker.is_fit(&self.config)) {
                *place = None;
            }
            place.is_some() || Arc::strong_count(post) > 1
        });
    }

    /// Lets go of one worker that no call uses, to make room.
    pub(super) fn evict_worker(&self) -> bool {
        self.posts().values().any(|post| {
            let Ok(mut place) = post.worker.try_lock() else {
                return false;
            };
            let idle = place.as_ref().is_some_and(|worker| Arc::strong_count(worker) == 1);
            if idle {
                *place = None;
            }
            idle
        })
    }
}

impl Worker {
    fn is_fit(&self, config: &Config) -> bool {
        let served = self.served.load(Ordering::Relaxed);
        self.member.link().is_alive()
            && !self.doubtful.load(Ordering::Relaxed)
            && served < config.worker_calls
            && self.member.ready.elapsed() < config.worker_age()
    }

    fn count(&self) {
        self.served.fetch_add(1, Ordering::Relaxed);
    }
}
