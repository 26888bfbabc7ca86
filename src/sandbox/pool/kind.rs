//! One pool: the containers of one kind that wait, and the calls that wait for one. Decides who gets
//! one, who may wait and how many are to be ready.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::demand::Peak;
use super::queue::Queue;
use super::shares::Shares;
use super::{DEGRADED, Delivery, Lease, Taken, Who};
use crate::catalog;
use crate::sandbox::member::Member;
use crate::sandbox::recipe::Recipe;
use crate::sandbox::{Config, Error, Lack};

/// Ready containers beyond the recent peak.
const SPARE: usize = 2;
/// What a launch is taken to cost before one was measured.
const FIRST_LAUNCH: Duration = Duration::from_millis(300);

#[derive(Debug)]
pub(super) struct Pool {
    pub(super) recipe: Arc<Recipe>,
    /// `None` for a pool that no profile asks for; it makes containers only for waiting calls.
    pub(super) bounds: Option<catalog::Pool>,
    pub(super) ready: VecDeque<Box<Member>>,
    pub(super) starting: usize,
    /// When the last one was begun.
    pub(super) begun: Instant,
    /// Shared with the lease of each container in use.
    pub(super) leases: Arc<()>,
    /// Who took what from the reserve that is not yet replaced.
    pub(super) shares: Shares,
    pub(super) waiting: Queue<oneshot::Sender<Delivery>>,
    /// When a waiting call was served last, or when the queue began.
    pub(super) progress: Instant,
    /// Time between two waiting calls that are served; of the present queue.
    pub(super) gap: Duration,
    pub(super) peak: Peak,
    pub(super) launch: Duration,
    pub(super) failures: u32,
    pub(super) retry_at: Option<Instant>,
    pub(super) cause: Option<Arc<Error>>,
    pub(super) filled: bool,
    pub(super) touched: Instant,
}

impl Pool {
    pub(super) fn new(recipe: Arc<Recipe>, now: Instant) -> Self {
        Self {
            recipe,
            bounds: None,
            ready: VecDeque::new(),
            starting: 0,
            begun: now,
            leases: Arc::new(()),
            shares: Shares::default(),
            waiting: Queue::default(),
            progress: now,
            gap: FIRST_LAUNCH,
            peak: Peak::new(now),
            launch: FIRST_LAUNCH,
            failures: 0,
            retry_at: None,
            cause: None,
            filled: false,
            touched: now,
        }
    }

    /// A ready container, where there is one that this caller may take.
    pub(super) fn take_ready(&mut self, who: &Who, now: Instant) -> Option<Taken> {
        while !self.ready.is_empty() {
            if !self.shares.may(who, self.ready.len(), self.target(now), now) {
                return None;
            }
            let member = self.ready.pop_front()?;
            if member.link().is_alive() {
                self.shares.take(who, now);
                let lease = self.lease();
                self.measure(now);
                return Some(Taken { member, lease });
            }
        }
        None
    }

    /// Counts one more as starting.
    pub(super) fn begin(&mut self, now: Instant) -> Arc<Recipe> {
        self.starting += 1;
        self.begun = now;
        Arc::clone(&self.recipe)
    }

    pub(super) fn lease(&self) -> Lease {
        Lease { _of: Arc::clone(&self.leases) }
    }

    pub(super) fn in_use(&self) -> usize {
        Arc::strong_count(&self.leases).saturating_sub(1)
    }

    pub(super) fn recover(&mut self) {
        self.failures = 0;
        self.retry_at = None;
        self.cause = None;
    }

    pub(super) fn calls_waiting(&self) -> usize {
        self.waiting.iter().filter(|waiter| !waiter.is_closed()).count()
    }

    /// Ready containers to aim at: the recent peak and some to spare, one of them for each caller
    /// beside the first, within the bounds.
    pub(super) fn target(&self, now: Instant) -> usize {
        let Some(bounds) = self.bounds else { return 0 };
        let min = usize::try_from(bounds.min).unwrap_or(usize::MAX);
        let max = usize::try_from(bounds.max).unwrap_or(usize::MAX).max(min);
        let others = self.shares.active(now).saturating_sub(1);
        (self.peak.height() + SPARE + others).clamp(min, max)
    }

    /// Containers to make for the reserve.
    pub(super) fn missing(&mut self, now: Instant) -> usize {
        self.peak.turn(now);
        let target = self.target(now);
        if self.ready.len() >= target {
            // A target that fell meanwhile would leave something unreplaced for ever.
            self.shares.settle();
        }
        target.saturating_sub(self.ready.len() + self.starting)
    }

    /// Remembers the demand: what was taken and not yet replaced, and what waits.
    pub(super) fn measure(&mut self, now: Instant) {
        let demand = self.in_use().max(self.shares.taken()) + self.calls_waiting();
        self.peak.see(demand, now);
    }

    pub(super) fn refusal(&self, now: Instant) -> Option<Error> {
        let cause = self.cause.as_ref()?;
        let wait = self.retry_at?.checked_duration_since(now)?;
        (self.failures >= DEGRADED).then(|| Error::NoContainer {
            retry_after: (!cause.is_lasting()).then_some(wait),
            cause: Arc::clone(cause),
        })
    }

    /// Notes that a waiting call was served.
    pub(super) fn advance(&mut self, now: Instant) {
        let took = now.saturating_duration_since(self.progress);
        self.gap = (self.gap * 3 + took) / 4;
        self.progress = now;
    }

    /// Time until a call with so many before it is served, by the pace at which the present queue
    /// moves.
    pub(super) fn wait(&self, ahead: usize, now: Instant) -> Duration {
        let stalled = match self.waiting.len() {
            0 => Duration::ZERO,
            _ => now.saturating_duration_since(self.progress) / 2,
        };
        self.launch + self.gap.max(stalled) * u32::try_from(ahead).unwrap_or(u32::MAX)
    }

    /// Lets a call into the queue, or says why not.
    pub(super) fn admit(
        &mut self,
        who: &Who,
        patience: Duration,
        config: &Config,
        now: Instant,
    ) -> Result<(), Error> {
        if let Some(refusal) = self.refusal(now) {
            return Err(refusal);
        }
        let ahead = self.waiting.ahead(who);
        let wait = self.wait(ahead, now);
        // The first in line may find its container half made, so only a queue is refused.
        if ahead > 0 && wait > patience {
            return Err(Error::Busy {
                lack: Lack::Late { ahead, wait, patience },
                retry_after: wait,
            });
        }
        let waiting = self.waiting.len();
        if waiting < usize::try_from(config.queue).unwrap_or(usize::MAX) {
            return Ok(());
        }
        let full = |lack| Error::Busy { lack, retry_after: self.wait(waiting, now) };
        let (full, share) = (full(Lack::Full { waiting }), full(Lack::Share { waiting }));
        match self.waiting.displace(who) {
            Some(waiter) => {
                drop(waiter.send(Err(share)));
                Ok(())
            }
            None => Err(full),
        }
    }
}
