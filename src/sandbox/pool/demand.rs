//! What a pool can expect: the highest demand of the recent past, and how often calls arrive. Pure
//! arithmetic on times that it is given.

use std::time::{Duration, Instant};

/// How long a peak of demand is remembered: at least this, at most twice this.
pub(super) const WINDOW: Duration = Duration::from_secs(60);
/// Time over which the rate of arrivals is averaged.
const MEMORY: Duration = Duration::from_secs(10);

/// The highest demand of the last one to two windows.
#[derive(Debug, Clone)]
pub(in crate::sandbox) struct Peak {
    now: usize,
    before: usize,
    turned: Instant,
}

impl Peak {
    pub(in crate::sandbox) const fn new(at: Instant) -> Self {
        Self { now: 0, before: 0, turned: at }
    }

    /// Remembers a demand.
    pub(in crate::sandbox) fn see(&mut self, demand: usize, at: Instant) {
        self.turn(at);
        self.now = self.now.max(demand);
    }

    /// Forgets what is too long ago.
    pub(in crate::sandbox) fn turn(&mut self, at: Instant) {
        let passed = at.saturating_duration_since(self.turned);
        if passed >= WINDOW {
            self.before = if passed < 2 * WINDOW { self.now } else { 0 };
            self.now = 0;
            self.turned = at;
        }
    }

    /// The highest demand that is remembered.
    pub(in crate::sandbox) fn height(&self) -> usize {
        self.now.max(self.before)
    }
}

/// Events a second, the older the less.
#[derive(Debug, Clone)]
pub(in crate::sandbox) struct Rate {
    /// Events, each worth less the longer it is ago.
    weight: f64,
    at: Instant,
}

impl Rate {
    pub(in crate::sandbox) const fn new(at: Instant) -> Self {
        Self { weight: 0.0, at }
    }

    /// Counts one event.
    pub(in crate::sandbox) fn see(&mut self, at: Instant) {
        self.weight = self.decayed(at) + 1.0;
        self.at = at;
    }

    /// Events a second.
    pub(in crate::sandbox) fn per_second(&self, at: Instant) -> f64 {
        self.decayed(at) / MEMORY.as_secs_f64()
    }

    fn decayed(&self, at: Instant) -> f64 {
        let passed = at.saturating_duration_since(self.at).as_secs_f64();
        self.weight * (-passed / MEMORY.as_secs_f64()).exp()
    }
}
