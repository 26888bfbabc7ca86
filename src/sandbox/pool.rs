//! The pools of started containers: who waits, what is ready, how many to make. Pure bookkeeping
//! under one lock: it neither talks to the engine nor sleeps.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::member::Member;
use super::recipe::{Key, Recipe};
use super::{Config, Error};
use crate::catalog;

/// Ready containers beyond the recent peak.
const SPARE: usize = 1;
/// How long a peak of demand is remembered: at least this, at most twice this.
const PEAK_WINDOW: Duration = Duration::from_secs(30);
/// What a launch is taken to cost before one was measured.
const FIRST_LAUNCH: Duration = Duration::from_millis(300);
const BACKOFF_FIRST: Duration = Duration::from_millis(200);
const BACKOFF_LAST: Duration = Duration::from_secs(30);
/// Failures in a row after which callers are told at once. The first may be chance.
const DEGRADED: u32 = 2;

/// What a waiting call gets in the end.
pub(super) type Delivery = Result<Taken, Error>;

/// A container that left the reserve. It counts as in use while its lease lives, also when the call
/// that it was sent to is gone before it arrives.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) member: Box<Member>,
    pub(super) lease: Lease,
}

/// One of the containers that a pool has in use.
#[derive(Debug)]
pub(super) struct Lease {
    _of: Arc<()>,
}

/// All pools.
#[derive(Debug, Default)]
pub(super) struct Pools {
    by_key: HashMap<Key, Pool>,
}

/// A call that asks for a container.
#[derive(Debug)]
pub(super) enum Asked {
    /// It has one.
    Ready(Taken),
    /// It will be told.
    Waiting(oneshot::Receiver<Delivery>),
}

/// What there is to know of one pool from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) name: String,
    pub(super) has_members: bool,
    pub(super) cause: Option<String>,
}

#[derive(Debug)]
struct Pool {
    recipe: Arc<Recipe>,
    /// `None` for a pool that no profile asks for; it makes containers only for waiting calls.
    bounds: Option<catalog::Pool>,
    ready: VecDeque<Box<Member>>,
    starting: usize,
    /// Shared with the lease of each container in use.
    leases: Arc<()>,
    /// Taken from the reserve and not yet replaced.
    unreplaced: usize,
    waiting: VecDeque<oneshot::Sender<Delivery>>,
    peak: Peak,
    launch: Duration,
    failures: u32,
    retry_at: Option<Instant>,
    cause: Option<Arc<Error>>,
    filled: bool,
    touched: Instant,
}

/// The highest demand of the last one to two windows.
#[derive(Debug)]
struct Peak {
    now: usize,
    before: usize,
    turned: Instant,
}

impl Peak {
    fn see(&mut self, demand: usize, at: Instant) {
        self.turn(at);
        self.now = self.now.max(demand);
    }

    fn turn(&mut self, at: Instant) {
        let passed = at.saturating_duration_since(self.turned);
        if passed >= PEAK_WINDOW {
            self.before = if passed < 2 * PEAK_WINDOW { self.now } else { 0 };
            self.now = 0;
            self.turned = at;
        }
    }

    fn height(&self) -> usize {
        self.now.max(self.before)
    }
}

impl Pools {
    /// Sets which pools there are, from `(recipe, bounds)` of every profile in use. The ready
    /// containers of pools that are no longer wanted are handed back, to be removed.
    pub(super) fn furnish(
        &mut self,
        wanted: Vec<(Recipe, catalog::Pool)>,
        now: Instant,
    ) -> VecDeque<Box<Member>> {
        for pool in self.by_key.values_mut() {
            pool.bounds = None;
        }
        for (recipe, bounds) in wanted {
            let pool = self.pool(&Arc::new(recipe), now);
            let min = pool.bounds.map_or(bounds.min, |had| had.min.max(bounds.min));
            let max = pool.bounds.map_or(bounds.max, |had| had.max.max(bounds.max));
            pool.bounds = Some(catalog::Pool { min, max });
            pool.recover();
        }
        let mut drained = VecDeque::new();
        for pool in self.by_key.values_mut().filter(|p| p.bounds.is_none()) {
            drained.extend(pool.ready.drain(..));
        }
        drained
    }

    fn pool(&mut self, recipe: &Arc<Recipe>, now: Instant) -> &mut Pool {
        self.by_key.entry(recipe.key.clone()).or_insert_with(|| Pool::new(Arc::clone(recipe), now))
    }

    /// Asks for a container. Refuses at once when the pool cannot make any, when too many wait, or
    /// when the wait would be longer than `patience`.
    pub(super) fn ask(
        &mut self,
        recipe: &Arc<Recipe>,
        patience: Duration,
        config: &Config,
    ) -> Result<Asked, Error> {
        let now = Instant::now();
        let pool = self.pool(recipe, now);
        pool.touched = now;
        while let Some(member) = pool.ready.pop_front() {
            if member.link().is_alive() {
                let lease = pool.lease();
                pool.unreplaced += 1;
                pool.measure(now);
                return Ok(Asked::Ready(Taken { member, lease }));
            }
        }
        pool.waiting.retain(|waiter| !waiter.is_closed());
        pool.refuse(now, patience, config)?;
        let (deliver, delivery) = oneshot::channel();
        pool.waiting.push_back(deliver);
        pool.measure(now);
        Ok(Asked::Waiting(delivery))
    }

    /// Whether a call waits for a container that nobody is making yet.
    pub(super) fn is_urgent(&self) -> bool {
        self.by_key.values().any(|pool| pool.calls_waiting() > pool.starting)
    }

    /// Chooses what to make next, calls that wait before reserves, and counts it as starting. The
    /// flag says whether a call waits for it.
    pub(super) fn next(&mut self, now: Instant) -> Option<(Arc<Recipe>, bool)> {
        let may = |pool: &&mut Pool| pool.retry_at.is_none_or(|at| at <= now);
        let urgent = self
            .by_key
            .values_mut()
            .filter(may)
            .map(|pool| (pool.calls_waiting().saturating_sub(pool.starting), pool))
            .filter(|(missing, _)| *missing > 0)
            .max_by_key(|(missing, _)| *missing);
        if let Some((_, pool)) = urgent {
            pool.starting += 1;
            return Some((Arc::clone(&pool.recipe), true));
        }
        let (_, pool) = self
            .by_key
            .values_mut()
            .filter(may)
            .map(|pool| (pool.missing(now), pool))
            .filter(|(missing, _)| *missing > 0)
            .max_by_key(|(missing, _)| *missing)?;
        pool.starting += 1;
        Some((Arc::clone(&pool.recipe), false))
    }

    /// Takes back what [`next`](Self::next) counted, when it was not begun after all.
    pub(super) fn unstart(&mut self, key: &Key) {
        if let Some(pool) = self.by_key.get_mut(key) {
            pool.starting = pool.starting.saturating_sub(1);
        }
    }

    /// A container was made: for the first call that still waits, or for the reserve. Hands back
    /// one that nobody wants.
    pub(super) fn publish(&mut self, member: Box<Member>) -> Option<Box<Member>> {
        let Some(pool) = self.by_key.get_mut(&member.recipe.key) else {
            return Some(member);
        };
        pool.starting = pool.starting.saturating_sub(1);
        pool.recover();
        pool.filled = true;
        let took = member.ready.saturating_duration_since(member.begun);
        pool.launch = (pool.launch * 3 + took) / 4;
        let mut offer = member;
        while let Some(waiter) = pool.waiting.pop_front() {
            match waiter.send(Ok(Taken { member: offer, lease: pool.lease() })) {
                Ok(()) => return None,
                Err(Ok(back)) => offer = back.member,
                Err(Err(_)) => return None,
            }
        }
        if pool.bounds.is_none() {
            return Some(offer);
        }
        pool.unreplaced = pool.unreplaced.saturating_sub(1);
        pool.ready.push_back(offer);
        None
    }

    /// A container could not be made: backs off, and tells the calls that wait once it is no chance.
    pub(super) fn fail(&mut self, key: &Key, error: Error, now: Instant) {
        let Some(pool) = self.by_key.get_mut(key) else {
            return;
        };
        pool.starting = pool.starting.saturating_sub(1);
        let lasting = error.is_lasting();
        pool.failures = pool.failures.saturating_add(if lasting { DEGRADED } else { 1 });
        let wait = BACKOFF_FIRST * 2_u32.saturating_pow(pool.failures.min(10) - 1);
        pool.retry_at = Some(now + wait.min(BACKOFF_LAST));
        pool.cause = Some(Arc::new(error));
        if let Some(refusal) = pool.refusal(now) {
            drop(refusal);
            for waiter in std::mem::take(&mut pool.waiting) {
                if let Some(refusal) = pool.refusal(now) {
                    drop(waiter.send(Err(refusal)));
                }
            }
        }
    }

    /// Takes out what must be removed: dead containers, and those that waited longer than `idle`.
    /// Forgets pools that nobody asked for in that time.
    pub(super) fn expire(&mut self, idle: Duration, now: Instant) -> VecDeque<Box<Member>> {
        let mut old = VecDeque::new();
        for pool in self.by_key.values_mut() {
            let (keep, out) =
                std::mem::take(&mut pool.ready).into_iter().partition::<VecDeque<_>, _>(|member| {
                    member.link().is_alive() && now.saturating_duration_since(member.ready) < idle
                });
            pool.ready = keep;
            old.extend(out);
        }
        self.by_key.retain(|_, pool| {
            let busy = pool.starting + pool.in_use() + pool.waiting.len() + pool.ready.len() > 0;
            let asked = now.saturating_duration_since(pool.touched) < idle;
            pool.bounds.is_some() || busy || asked
        });
        old
    }

    /// Takes the longest waiting container of the fullest pool, to make room for a call that needs
    /// another kind.
    pub(super) fn evict(&mut self, not: &Key) -> Option<Box<Member>> {
        self.by_key
            .iter_mut()
            .filter(|(key, _)| *key != not)
            .map(|(_, pool)| pool)
            .max_by_key(|pool| pool.ready.len())?
            .ready
            .pop_front()
    }

    /// Takes out every ready container, and tells every waiting call that the daemon stops.
    pub(super) fn clear(&mut self) -> VecDeque<Box<Member>> {
        let mut all = VecDeque::new();
        for (_, mut pool) in self.by_key.drain() {
            all.extend(pool.ready.drain(..));
        }
        all
    }

    /// Lets every pool try again at once, after the engine came back.
    pub(super) fn recover(&mut self) {
        self.by_key.values_mut().for_each(Pool::recover);
    }

    /// The condition of each pool that must have members.
    pub(super) fn conditions(&self) -> Vec<Condition> {
        self.by_key
            .values()
            .filter(|pool| pool.bounds.is_some_and(|bounds| bounds.min > 0))
            .map(|pool| Condition {
                name: pool.recipe.name.clone(),
                has_members: pool.filled
                    && (pool.failures < DEGRADED || !pool.ready.is_empty() || pool.in_use() > 0),
                cause: pool.cause.as_ref().map(|cause| cause.line()),
            })
            .collect()
    }

    /// Ready containers of all pools.
    pub(super) fn ready(&self) -> usize {
        self.by_key.values().map(|pool| pool.ready.len()).sum()
    }
}

impl Pool {
    fn new(recipe: Arc<Recipe>, now: Instant) -> Self {
        Self {
            recipe,
            bounds: None,
            ready: VecDeque::new(),
            starting: 0,
            leases: Arc::new(()),
            unreplaced: 0,
            waiting: VecDeque::new(),
            peak: Peak { now: 0, before: 0, turned: now },
            launch: FIRST_LAUNCH,
            failures: 0,
            retry_at: None,
            cause: None,
            filled: false,
            touched: now,
        }
    }

    fn lease(&self) -> Lease {
        Lease { _of: Arc::clone(&self.leases) }
    }

    fn in_use(&self) -> usize {
        Arc::strong_count(&self.leases).saturating_sub(1)
    }

    fn recover(&mut self) {
        self.failures = 0;
        self.retry_at = None;
        self.cause = None;
    }

    fn calls_waiting(&self) -> usize {
        self.waiting.iter().filter(|waiter| !waiter.is_closed()).count()
    }

    /// Ready containers to aim at: the recent peak and one to spare, within the bounds.
    fn target(&self) -> usize {
        let Some(bounds) = self.bounds else { return 0 };
        let min = usize::try_from(bounds.min).unwrap_or(usize::MAX);
        let max = usize::try_from(bounds.max).unwrap_or(usize::MAX).max(min);
        (self.peak.height() + SPARE).clamp(min, max)
    }

    /// Containers to make for the reserve.
    fn missing(&mut self, now: Instant) -> usize {
        self.peak.turn(now);
        self.target().saturating_sub(self.ready.len() + self.starting)
    }

    /// Remembers the demand: what was taken and not yet replaced, and what waits.
    fn measure(&mut self, now: Instant) {
        let demand = self.in_use().max(self.unreplaced) + self.calls_waiting();
        self.peak.see(demand, now);
    }

    fn refusal(&self, now: Instant) -> Option<Error> {
        let cause = self.cause.as_ref()?;
        let wait = self.retry_at?.checked_duration_since(now)?;
        (self.failures >= DEGRADED).then(|| Error::NoContainer {
            retry_after: (!cause.is_lasting()).then_some(wait),
            cause: Arc::clone(cause),
        })
    }

    fn refuse(&self, now: Instant, patience: Duration, config: &Config) -> Result<(), Error> {
        if let Some(refusal) = self.refusal(now) {
            return Err(refusal);
        }
        let ahead = self.waiting.len();
        let round = ahead / config.parallel() + 1;
        let estimate = self.launch * u32::try_from(round).unwrap_or(u32::MAX);
        if ahead >= usize::try_from(config.queue).unwrap_or(usize::MAX) {
            return Err(Error::Busy {
                reason: format!("{ahead} calls wait already"),
                retry_after: estimate,
            });
        }
        // The first in line may find its container half made, so only a queue is refused.
        if ahead > 0 && estimate > patience {
            return Err(Error::Busy {
                reason: format!(
                    "{ahead} calls wait already, about {} ms, and this one has {} ms",
                    estimate.as_millis(),
                    patience.as_millis()
                ),
                retry_after: estimate,
            });
        }
        Ok(())
    }
}
