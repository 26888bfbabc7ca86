//! Room 1: who calls, and whether there is room for one call more. [`Call`] and [`Peer`] in,
//! [`Admitted`] out. Does not know which tools exist; the per-tool meter is asked once it is known.

mod rates;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::OwnedSemaphorePermit;

use crate::call::{Call, Code, Failure};
use rates::Rates;

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
}

impl Default for Config {
    fn default() -> Self {
        Self {
            calls_per_second: 5000,
            calls_per_second_per_caller: 1000,
            in_flight: 1024,
            in_flight_per_caller: 256,
            users: Vec::new(),
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

/// What a local user is called.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// Numeric user id, as the kernel reports it for the socket's peer.
    pub uid: u32,
    /// Caller name; default `uid:N`.
    pub name: Option<String>,
    /// Tenant; default `default`.
    pub tenant: Option<String>,
    /// Roles beside `local`.
    #[serde(default)]
    pub roles: Vec<String>,
}

/// The other end of a connection, as the transport knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// A process on this machine, over the Unix socket.
    Unix {
        /// Its user id, from the kernel.
        uid: u32,
    },
    /// A connection to the loopback TCP listener.
    Loopback(SocketAddr),
    /// This daemon itself, or a test of it.
    Inside,
}

/// Who sent a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    /// Stable name, for example `uid:1000` or `loopback`.
    pub name: String,
    /// The tenant whose data the caller may touch; scopes cache and duplicates.
    pub tenant: String,
    /// Roles that policies can name.
    pub roles: Vec<String>,
}

/// A call whose sender is known and which is inside every rate and in-flight limit.
#[derive(Debug)]
pub struct Admitted {
    pub(crate) call: Call,
    pub(crate) caller: Caller,
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
}

impl Error {
    /// The error as a reply tells it.
    pub fn failure(&self) -> Failure {
        let code = match self {
            Self::Rate { .. } | Self::InFlight { .. } => Code::RateLimited,
            Self::Draining => Code::Draining,
        };
        let retry_after = match self {
            Self::Rate { retry_after, .. } => *retry_after,
            Self::InFlight { .. } => Duration::from_millis(100),
            Self::Draining => Duration::from_secs(1),
        };
        Failure { retry_after: Some(retry_after), ..Failure::new(code, self.to_string()) }
    }
}

/// Admits calls.
#[derive(Debug)]
pub struct Admission {
    config: Config,
    rates: Rates,
    draining: AtomicBool,
}

impl Admission {
    /// Sets up the limits.
    pub fn new(config: Config) -> Self {
        Self { rates: Rates::new(&config), config, draining: AtomicBool::new(false) }
    }

    /// Tells who is at the other end, without admitting anything.
    pub fn identify(&self, peer: &Peer) -> Caller {
        let (name, user) = match peer {
            Peer::Unix { uid } => {
                (format!("uid:{uid}"), self.config.users.iter().find(|user| user.uid == *uid))
            }
            Peer::Loopback(_) => ("loopback".to_owned(), None),
            Peer::Inside => ("switchboard".to_owned(), None),
        };
        let mut roles = vec!["local".to_owned()];
        roles.extend(user.iter().flat_map(|user| user.roles.iter().cloned()));
        Caller {
            name: user.and_then(|user| user.name.clone()).unwrap_or(name),
            tenant: user
                .and_then(|user| user.tenant.clone())
                .unwrap_or_else(|| "default".to_owned()),
            roles,
        }
    }

    /// Admits a call, or says when to come back. The permits are returned when the call is dropped.
    pub fn admit(&self, call: Call, peer: &Peer) -> Result<Admitted, Error> {
        if self.draining.load(Ordering::Acquire) {
            return Err(Error::Draining);
        }
        let caller = self.identify(peer);
        let admitted = self.rates.enter(&caller.name).map(|permits| Admitted {
            call,
            caller,
            _permits: permits,
        });
        let outcome = if admitted.is_ok() { "admitted" } else { "refused" };
        metrics::counter!("switchboard_admission_calls_total", "outcome" => outcome).increment(1);
        admitted
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
