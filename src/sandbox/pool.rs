//! The pools of started containers: who waits, what is ready, how many to make. Pure bookkeeping
//! under one lock: it neither talks to the engine nor sleeps.

pub(super) mod demand;
mod kind;
pub(super) mod pace;
pub(super) mod queue;
pub(super) mod shares;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::member::Member;
use super::recipe::{Key, Recipe};
use super::{Config, Error};
use crate::catalog;
use demand::Rate;
use kind::Pool;
use pace::Pace;

/// A caller: tenant and name.
pub(super) type Who = Arc<(String, String)>;

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
#[derive(Debug)]
pub(super) struct Pools {
    by_key: HashMap<Key, Pool>,
    /// Calls of all pools.
    arrivals: Rate,
    pace: Pace,
}

/// What to do about the pools.
#[derive(Debug)]
pub(super) enum Step {
    /// Make one container; the flag says whether a call waits for it.
    Make(Arc<Recipe>, bool),
    /// Look again after this time.
    Pause(Duration),
    /// There is nothing to make.
    Rest,
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

/// Figures of all pools that make containers of one image.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) ready: usize,
    /// Ready containers to aim at.
    pub(super) target: usize,
    pub(super) waiting: usize,
    /// Containers that can be made in a second.
    pub(super) refill: f64,
}

impl Pools {
    pub(super) fn new(now: Instant) -> Self {
        Self { by_key: HashMap::new(), arrivals: Rate::new(now), pace: Pace::new(now) }
    }

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
    /// when the wait would be longer than `patience`. A full queue makes room for a caller that has
    /// fewer calls in it than another.
    pub(super) fn ask(
        &mut self,
        recipe: &Arc<Recipe>,
        who: &Who,
        patience: Duration,
        config: &Config,
    ) -> Result<Asked, Error> {
        let now = Instant::now();
        self.arrivals.see(now);
        let pool = self.pool(recipe, now);
        pool.touched = now;
        if let Some(taken) = pool.take_ready(who, now) {
            return Ok(Asked::Ready(taken));
        }
        pool.waiting.retain(|waiter| !waiter.is_closed());
        pool.admit(who, patience, config, now)?;
        let (deliver, delivery) = oneshot::channel();
        if pool.waiting.len() == 0 {
            pool.progress = now;
            pool.gap = pool.launch / u32::try_from(config.parallel()).unwrap_or(1);
        }
        pool.waiting.push(who, deliver);
        pool.shares.wait(who, now);
        pool.measure(now);
        Ok(Asked::Waiting(delivery))
    }

    /// Whether a call waits for a container that nobody is making yet.
    pub(super) fn is_urgent(&self) -> bool {
        self.by_key.values().any(|pool| pool.calls_waiting() > pool.starting)
    }

    /// Chooses what to make next, calls that wait before reserves, and counts it as starting. Pools
    /// in which calls wait take turns, whatever the length of their queues; of the reserves, that
    /// comes first of which the greatest part is missing. A reserve that is at least half full is
    /// refilled at a pace that leaves the machine to the calls.
    pub(super) fn next(&mut self, now: Instant) -> Step {
        let may = |pool: &&mut Pool| pool.retry_at.is_none_or(|at| at <= now);
        let urgent = self
            .by_key
            .values_mut()
            .filter(may)
            .filter(|pool| pool.calls_waiting() > pool.starting)
            .min_by_key(|pool| pool.begun);
        if let Some(pool) = urgent {
            return Step::Make(pool.begin(now), true);
        }
        let wanting = self
            .by_key
            .values_mut()
            .filter(may)
            .map(|pool| (pool.missing(now), pool))
            .filter(|(missing, _)| *missing > 0)
            .max_by_key(|(missing, pool)| missing * 1000 / pool.target(now).max(1));
        let Some((missing, pool)) = wanting else { return Step::Rest };
        let short = 2 * missing > pool.target(now);
        if !short && let Err(pause) = self.pace.take(self.arrivals.per_second(now), now) {
            return Step::Pause(pause);
        }
        Step::Make(pool.begin(now), false)
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
        while let Some((_, waiter)) = pool.waiting.pop() {
            match waiter.send(Ok(Taken { member: offer, lease: pool.lease() })) {
                Ok(()) => {
                    pool.advance(Instant::now());
                    return None;
                }
                Err(Ok(back)) => offer = back.member,
                Err(Err(_)) => return None,
            }
        }
        if pool.bounds.is_none() {
            return Some(offer);
        }
        pool.shares.replace();
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
            for waiter in pool.waiting.take() {
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
            pool.shares.forget(now);
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

    #[cfg(test)]
    pub(super) fn in_use(&self, key: &Key) -> usize {
        self.by_key.get(key).map_or(0, Pool::in_use)
    }

    /// Figures of the pools, by the name of their image.
    pub(super) fn figures(&mut self, parallel: usize, now: Instant) -> HashMap<String, Figures> {
        let mut all: HashMap<String, Figures> = HashMap::new();
        for pool in self.by_key.values_mut() {
            pool.peak.turn(now);
            let sum = all.entry(pool.recipe.name.clone()).or_default();
            sum.ready += pool.ready.len();
            sum.target += pool.target(now);
            sum.waiting += pool.calls_waiting();
            let each = pool.launch.as_secs_f64().max(f64::EPSILON);
            sum.refill = sum.refill.max(f64::from(u32::try_from(parallel).unwrap_or(1)) / each);
        }
        all
    }
}
