//! What the gate allows in bytes, numbers and time, with the defaults. Configuration in, durations
//! and the shared parts of all gates out.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::dial::Trust;
use super::names::Resolver;
use crate::catalog::EgressLimits;

/// Limits of the gate. Clones share the trusted roots, so make one and clone it for each gate.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GateLimits {
    /// Bytes of one message head from a tool; default 32 KiB.
    pub head_bytes: usize,
    /// Attempts of one call, further ones are refused; default 256.
    pub attempts: usize,
    /// Connections that one call has open at once; default 32.
    pub connections: usize,
    /// Bytes that one call may send, over all connections; default 64 MiB.
    pub sent_bytes: u64,
    /// Bytes that one call may receive, over all connections; default 64 MiB.
    pub received_bytes: u64,
    /// Milliseconds for each of resolving, connecting, TLS and a tunnel's hello; default 5000.
    pub connect_ms: u64,
    /// Milliseconds without a byte after which a connection ends; default 30,000.
    pub idle_ms: u64,
    /// Milliseconds that one connection of a tool may last; default 300,000.
    pub total_ms: u64,
    /// Milliseconds that an upstream connection waits for the next exchange; default 15,000.
    pub keep_alive_ms: u64,
    /// PEM file with certificates to trust beside the system's; default none.
    pub extra_ca: Option<PathBuf>,
    /// Name servers, as `address:port`, that are asked in place of the host's resolver. No search
    /// list and no hosts file are used then. Default none.
    pub name_servers: Vec<SocketAddr>,
    #[serde(skip)]
    pub(super) trust: Trust,
    #[serde(skip)]
    pub(super) names: Arc<OnceLock<Result<Resolver, String>>>,
}

impl Default for GateLimits {
    fn default() -> Self {
        Self {
            head_bytes: 32 * 1024,
            attempts: 256,
            connections: 32,
            sent_bytes: 64 << 20,
            received_bytes: 64 << 20,
            connect_ms: 5000,
            idle_ms: 30_000,
            total_ms: 300_000,
            keep_alive_ms: 15_000,
            extra_ca: None,
            name_servers: Vec::new(),
            trust: Trust::default(),
            names: Arc::default(),
        }
    }
}

impl GateLimits {
    /// Reads the trusted roots now; says why when there are none. Else the first use reads them.
    pub fn load_roots(&self) -> Result<(), String> {
        self.trust.load(self.extra_ca.as_deref()).map(drop)
    }

    /// The resolver, made at first use and shared by all clones.
    pub(super) fn resolver(&self) -> Result<Resolver, String> {
        let make = || match self.name_servers.as_slice() {
            [] => Ok(Resolver::system()),
            servers => Resolver::at(servers, self.connect())
                .map_err(|error| format!("the name servers cannot be used: {error}")),
        };
        self.names.get_or_init(make).clone()
    }

    /// The same with the tighter limits of a profile.
    #[must_use]
    pub(crate) fn tightened(&self, own: &EgressLimits) -> Self {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
        Self {
            connections: own.connections.map_or(self.connections, |n| n.min(self.connections)),
            attempts: own.attempts.map_or(self.attempts, |n| n.min(self.attempts)),
            sent_bytes: own.sent.map_or(self.sent_bytes, |n| n.min(self.sent_bytes)),
            received_bytes: own
                .received
                .map_or(self.received_bytes, |n| n.min(self.received_bytes)),
            total_ms: own.total.map_or(self.total_ms, |time| millis(time).min(self.total_ms)),
            ..self.clone()
        }
    }

    pub(super) fn connect(&self) -> Duration {
        Duration::from_millis(self.connect_ms)
    }

    pub(super) fn idle(&self) -> Duration {
        Duration::from_millis(self.idle_ms)
    }

    pub(super) fn total(&self) -> Duration {
        Duration::from_millis(self.total_ms)
    }

    pub(super) fn keep_alive(&self) -> Duration {
        Duration::from_millis(self.keep_alive_ms)
    }
}
