//! The counters behind admission: governor for rates, semaphores for what is in flight.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Config, Error};

/// Callers remembered before idle ones are forgotten.
const REMEMBERED: usize = 4096;

type ByCaller = DefaultKeyedRateLimiter<String>;

pub(super) struct Rates {
    all: DefaultDirectRateLimiter,
    callers: ByCaller,
    tools: Mutex<HashMap<(String, u32), Arc<ByCaller>>>,
    in_flight: Arc<Semaphore>,
    in_flight_of: Mutex<HashMap<String, Arc<Semaphore>>>,
    limits: Config,
    clock: DefaultClock,
}

impl std::fmt::Debug for Rates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rates").field("limits", &self.limits).finish_non_exhaustive()
    }
}

fn quota(per_second: u32) -> Quota {
    Quota::per_second(NonZeroU32::new(per_second).unwrap_or(NonZeroU32::MIN))
}

fn permits(limit: u32) -> Arc<Semaphore> {
    let limit = usize::try_from(limit).unwrap_or(Semaphore::MAX_PERMITS);
    Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS)))
}

impl Rates {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            all: RateLimiter::direct(quota(config.calls_per_second)),
            callers: RateLimiter::keyed(quota(config.calls_per_second_per_caller)),
            tools: Mutex::default(),
            in_flight: permits(config.in_flight),
            in_flight_of: Mutex::default(),
            limits: config.clone(),
            clock: DefaultClock::default(),
        }
    }

    /// Takes one place in every limit, or none.
    pub(super) fn enter(&self, caller: &str) -> Result<[OwnedSemaphorePermit; 2], Error> {
        let own = self
            .own_semaphore(caller)
            .try_acquire_owned()
            .map_err(|_full| in_flight(format!("`{caller}`"), self.limits.in_flight_per_caller))?;
        let shared = Arc::clone(&self.in_flight)
            .try_acquire_owned()
            .map_err(|_full| in_flight("the daemon".to_owned(), self.limits.in_flight))?;
        self.callers.check_key(&caller.to_owned()).map_err(|until| Error::Rate {
            scope: format!("`{caller}`"),
            per_second: self.limits.calls_per_second_per_caller,
            retry_after: until.wait_time_from(self.clock.now()),
        })?;
        self.all.check().map_err(|until| Error::Rate {
            scope: "everyone together".to_owned(),
            per_second: self.limits.calls_per_second,
            retry_after: until.wait_time_from(self.clock.now()),
        })?;
        Ok([own, shared])
    }

    pub(super) fn meter(&self, caller: &str, tool: &str, per_second: u32) -> Result<(), Error> {
        let limiter = Arc::clone(
            self.tools
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entry((tool.to_owned(), per_second))
                .or_insert_with(|| Arc::new(RateLimiter::keyed(quota(per_second)))),
        );
        limiter.check_key(&caller.to_owned()).map_err(|until| Error::Rate {
            scope: format!("`{caller}` calling `{tool}`"),
            per_second,
            retry_after: until.wait_time_from(self.clock.now()),
        })
    }

    fn own_semaphore(&self, caller: &str) -> Arc<Semaphore> {
        let mut known = self.in_flight_of.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
            self.callers.retain_recent();
        }
        Arc::clone(
            known
                .entry(caller.to_owned())
                .or_insert_with(|| permits(self.limits.in_flight_per_caller)),
        )
    }
}

fn in_flight(scope: String, limit: u32) -> Error {
    Error::InFlight { scope, limit }
}
