//! The counters behind admission: governor for rates, semaphores for what is in flight.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Caller, Config, Error, Limit};

/// Callers remembered before idle ones are forgotten.
const REMEMBERED: usize = 4096;

type ByCaller = DefaultKeyedRateLimiter<String>;

pub(super) struct Rates {
    all: DefaultDirectRateLimiter,
    callers: ByCaller,
    tools: Mutex<HashMap<String, Arc<Meter>>>,
    in_flight: Arc<Semaphore>,
    in_flight_of: Mutex<HashMap<String, Arc<Semaphore>>>,
    limits: Config,
    clock: DefaultClock,
}

/// The limits of one tool, over all callers.
struct Meter {
    limit: Limit,
    rate: Option<DefaultDirectRateLimiter>,
    places: Option<Arc<Semaphore>>,
}

impl Meter {
    fn new(limit: Limit) -> Arc<Self> {
        let rate = limit.per_second.map(|per_second| RateLimiter::direct(quota(per_second)));
        Arc::new(Self { limit, rate, places: limit.in_flight.map(permits) })
    }
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
    pub(super) fn new(config: Config) -> Self {
        Self {
            all: RateLimiter::direct(quota(config.calls_per_second)),
            callers: RateLimiter::keyed(quota(config.calls_per_second_per_caller)),
            tools: Mutex::default(),
            in_flight: permits(config.in_flight),
            in_flight_of: Mutex::default(),
            limits: config,
            clock: DefaultClock::default(),
        }
    }

    /// Takes one place in every limit, or none.
    pub(super) fn enter(&self, caller: &Caller) -> Result<[OwnedSemaphorePermit; 2], Error> {
        let Caller { name, tenant, .. } = caller;
        // Tenants may have callers of the same name.
        let key = format!("{tenant}\0{name}");
        let own = self
            .own_semaphore(&key)
            .try_acquire_owned()
            .map_err(|_full| in_flight(format!("`{name}`"), self.limits.in_flight_per_caller))?;
        let shared = Arc::clone(&self.in_flight)
            .try_acquire_owned()
            .map_err(|_full| in_flight("the daemon".to_owned(), self.limits.in_flight))?;
        self.callers.check_key(&key).map_err(|until| Error::Rate {
            scope: format!("`{name}`"),
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

    pub(super) fn meter(
        &self,
        tool: &str,
        limit: Limit,
    ) -> Result<Option<OwnedSemaphorePermit>, Error> {
        if limit == Limit::default() {
            return Ok(None);
        }
        let meter = self.meter_of(tool, limit);
        let place = match (&meter.places, limit.in_flight) {
            (Some(places), Some(most)) => {
                let place = Arc::clone(places).try_acquire_owned();
                Some(place.map_err(|_full| in_flight(format!("`{tool}`"), most))?)
            }
            _ => None,
        };
        if let (Some(rate), Some(per_second)) = (&meter.rate, limit.per_second) {
            rate.check().map_err(|until| Error::Rate {
                scope: format!("`{tool}`"),
                per_second,
                retry_after: until.wait_time_from(self.clock.now()),
            })?;
        }
        Ok(place)
    }

    /// The tool's meter; a new one when its limits have changed.
    fn meter_of(&self, tool: &str, limit: Limit) -> Arc<Meter> {
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        match tools.get(tool) {
            Some(meter) if meter.limit == limit => Arc::clone(meter),
            Some(_) | None => {
                let meter = Meter::new(limit);
                tools.insert(tool.to_owned(), Arc::clone(&meter));
                meter
            }
        }
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
