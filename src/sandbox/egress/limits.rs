//! What the gate allows in bytes, numbers and time, with the defaults. Configuration in, durations
//! and the shared parts of all gates out.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::dial::{Resolver, Trust};

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
    #[serde(skip)]
    pub(super) trust: Trust,
    #[serde(skip)]
    pub(super) resolver: Resolver,
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
            trust: Trust::default(),
            resolver: Resolver::default(),
        }
    }
}

impl GateLimits {
    /// Reads the trusted roots now; says why when there are none. Else the first use reads them.
    pub fn load_roots(&self) -> Result<(), String> {
        self.trust.load(self.extra_ca.as_deref()).map(drop)
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
