//! Room 1: who calls, and whether there is room for one call more. A [`Peer`] in, its [`Caller`]
//! out; a [`Call`] and its caller in, [`Admitted`] out. Does not know which tools exist; the per-tool meter is asked once it is known.

mod identity;
mod rates;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::OwnedSemaphorePermit;

use crate::call::{Call, Code, Failure};
use identity::Identity;
use rates::Rates;

pub use identity::{
    Caller, Link, NewToken, Peer, Rules as IdentityRules, Unproven, User, mint, names,
};

/// Rates, in-flight limits and the names of local users.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Calls per second over all callers; default 5000.
    pub calls_per_second: u32,
    /// Calls per second of one caller; default 1000.
    pub calls_per_second_per_caller: u32,
    /// Calls in flight over all callers; default 1024.
    pub in_flight: u32,
    /// Calls in flight of one caller; default 256.
    pub in_flight_per_caller: u32,
    /// Names, tenants and roles of local users who call over the Unix socket.
    pub users: Vec<User>,
    /// How other callers are known.
    pub identity: IdentityRules,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            calls_per_second: 5000,
            calls_per_second_per_caller: 1000,
            in_flight: 1024,
            in_flight_per_caller: 256,
            users: Vec::new(),
            identity: IdentityRules::default(),
        }
    }
}

/// Limits of one thing; `None` for no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// Calls per second.
    pub per_second: Option<u32>,
    /// Calls in flight.
    pub in_flight: Option<u32>,
}

/// A call whose sender is known and which is inside every rate and in-flight limit.
#[derive(Debug)]
pub struct Admitted {
    pub(crate) call: Call,
    pub(crate) caller: Caller,
    _permits: [OwnedSemaphorePermit; 2],
}

/// The place of something else than a call inside the same limits; given back when it is dropped.
#[derive(Debug)]
pub struct Entrance {
    _permits: [OwnedSemaphorePermit; 2],
}

#[cfg(test)]
impl Admitted {
    /// A call that tests of later rooms start from.
    pub(crate) fn for_test(call: Call, caller: Caller) -> Self {
        let permit = || {
            let one = std::sync::Arc::new(tokio::sync::Semaphore::new(1));
            one.try_acquire_owned().unwrap()
        };
        Self { call, caller, _permits: [permit(), permit()] }
    }
}

/// Why a call was not admitted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Too many calls in too short a time.
    #[error("{scope}: more than {per_second} calls a second; wait {} ms", retry_after.as_millis())]
    Rate {
        /// Whose limit it is.
        scope: String,
        /// The limit.
        per_second: u32,
        /// When the next call fits.
        retry_after: Duration,
    },
    /// Too many calls at once.
    #[error("{scope}: {limit} calls are in flight, which is the limit; wait for one to end")]
    InFlight {
        /// Whose limit it is.
        scope: String,
        /// The limit.
        limit: u32,
    },
    /// The daemon is on its way out.
    #[error("the daemon is shutting down")]
    Draining,
    /// A file with tokens or keys cannot be used.
    #[error("cannot use `{path}`: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A setting cannot be used.
    #[error("the configuration key `{key}` is wrong: {reason}")]
    Setting {
        /// The key.
        key: &'static str,
        /// What is wrong and how to mend it.
        reason: String,
    },
}

impl Error {
    /// The error as a reply tells it.
    pub fn failure(&self) -> Failure {
        let code = match self {
            Self::Rate { .. } | Self::InFlight { .. } => Code::RateLimited,
            Self::Draining => Code::Draining,
            Self::File { .. } | Self::Setting { .. } => Code::Internal,
        };
        let retry_after = match self {
            Self::Rate { retry_after, .. } => *retry_after,
            Self::InFlight { .. } => Duration::from_millis(100),
            Self::Draining | Self::File { .. } | Self::Setting { .. } => Duration::from_secs(1),
        };
        Failure { retry_after: Some(retry_after), ..Failure::new(code, self.to_string()) }
    }
}

/// Knows callers and admits calls.
#[derive(Debug)]
pub struct Admission {
    identity: Identity,
    rates: Rates,
    draining: AtomicBool,
}

impl Admission {
    /// Sets up the limits, and reads the files that callers are known by.
    pub fn new(config: Config) -> Result<Self, Error> {
        Ok(Self {
            identity: Identity::new(&config)?,
            rates: Rates::new(config),
            draining: AtomicBool::new(false),
        })
    }

    /// Tells who is at the other end, without admitting anything.
    pub fn identify(&self, peer: &Peer) -> Result<Caller, Unproven> {
        self.identity.identify(peer).inspect_err(|why| {
            metrics::counter!("switchboard_admission_unproven_total", "reason" => why.as_str())
                .increment(1);
        })
    }

    /// Reads the files that callers are known by again. What was read before stays in force when
    /// one of them is broken.
    pub fn reload(&self) -> Result<(), Error> {
        self.identity.reload()
    }

    /// Admits a call, or says when to come back. The permits are returned when the call is dropped.
    pub fn admit(&self, call: Call, caller: Caller) -> Result<Admitted, Error> {
        let Entrance { _permits } = self.enter(&caller)?;
        Ok(Admitted { call, caller, _permits })
    }

    /// Admits what is no call of a tool, such as a question to the memory, under the same limits.
    pub fn enter(&self, caller: &Caller) -> Result<Entrance, Error> {
        if self.draining.load(Ordering::Acquire) {
            return Err(Error::Draining);
        }
        let entered = self.rates.enter(caller).map(|permits| Entrance { _permits: permits });
        let outcome = if entered.is_ok() { "admitted" } else { "refused" };
        metrics::counter!("switchboard_admission_calls_total", "outcome" => outcome).increment(1);
        entered
    }

    /// Counts one call of a tool that has limits of its own, over all callers. What is returned is
    /// the call's place among those in flight.
    pub fn meter(&self, tool: &str, limit: Limit) -> Result<Option<OwnedSemaphorePermit>, Error> {
        self.rates.meter(tool, limit)
    }

    /// Admits nothing from now on.
    pub fn close(&self) {
        self.draining.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
