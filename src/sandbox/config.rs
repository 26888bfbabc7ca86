//! The sandbox room's part of the configuration file: which engine, how many containers, how long
//! each step may take.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Error, GateLimits};

/// Settings of the sandbox room. Every field has a default.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Endpoint of the Docker engine: `unix:///path` or `tcp://host:port`. Default
    /// `unix:///var/run/docker.sock`.
    pub engine: String,
    /// Name of this daemon, unique among all daemons that use the same engine and equal after a
    /// restart; the sweep removes only containers that carry it. Default: the host's name and eight
    /// hex digits that stand for the ledger's path.
    pub instance: String,
    /// The file that `sandbox-images/build.sh` writes, with the id of each image. Default
    /// `target/images.toml`.
    pub images: PathBuf,
    /// Containers at once: starting, waiting, in use and being removed. Default 64.
    pub capacity: u32,
    /// Containers that one caller may have in use at once, of those for a single call; 0 stands for
    /// seven eighths of `capacity`. Default 0.
    pub capacity_per_caller: u32,
    /// Calls that may wait for a container of one pool. Default 256.
    pub queue: u32,
    /// Longest wait for a container in milliseconds, for a call without a nearer deadline.
    /// Default 10,000.
    pub queue_wait_ms: u64,
    /// Containers being created at once; 0 stands for the number of cores. Default 0: start latency
    /// explodes when an engine creates more than that.
    pub creates: u32,
    /// Bound of one request to the engine, in milliseconds. Default 10,000.
    pub engine_timeout_ms: u64,
    /// How long past a call's wall time the runner may take to report, in milliseconds; then the
    /// container is killed. Default 20, so that the end comes within 50 ms of the wall time.
    pub grace_ms: u64,
    /// Age at which a waiting container is replaced, in seconds. Default 600.
    pub idle_seconds: u64,
    /// Time between two sweeps, in seconds. Default 30.
    pub sweep_seconds: u64,
    /// Calls after which a container of the worker tier is replaced. Default 10,000.
    pub worker_calls: u64,
    /// Age at which a container of the worker tier is replaced, in seconds. Default 600.
    pub worker_seconds: u64,
    /// Calls at once in one container of the worker tier, where its process limit can hold so many:
    /// 6 processes are the runner's, and 2 are counted for each call. Default 32.
    pub worker_concurrency: u32,
    /// Limits of the egress gate.
    pub gate: GateLimits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            engine: "unix:///var/run/docker.sock".to_owned(),
            instance: String::new(),
            images: PathBuf::from("target/images.toml"),
            capacity: 64,
            capacity_per_caller: 0,
            queue: 256,
            queue_wait_ms: 10_000,
            creates: 0,
            engine_timeout_ms: 10_000,
            grace_ms: 20,
            idle_seconds: 600,
            sweep_seconds: 30,
            worker_calls: 10_000,
            worker_seconds: 600,
            worker_concurrency: 32,
            gate: GateLimits::default(),
        }
    }
}

impl Config {
    /// Names the instance where no name is given: after the host, and after `place`, a path that no
    /// other daemon of the host has.
    pub fn name_instance(&mut self, place: &Path) {
        if self.instance.is_empty() {
            let hash = hex::encode(Sha256::digest(place.as_os_str().as_encoded_bytes()));
            let digits: String = hash.chars().take(8).collect();
            self.instance = format!("{}-{digits}", host_name());
        }
    }

    /// Refuses settings that cannot work.
    pub(super) fn check(&self) -> Result<(), Error> {
        let wrong = |key, reason: &str| Err(Error::Config { key, reason: reason.to_owned() });
        if self.instance.is_empty() || self.instance.chars().any(char::is_control) {
            return wrong("instance", "it is empty or has control characters");
        }
        if !["unix://", "tcp://", "http://"].iter().any(|scheme| self.engine.starts_with(scheme)) {
            return wrong("engine", "it begins with neither `unix://` nor `tcp://`");
        }
        if self.capacity == 0 {
            return wrong("capacity", "at least 1 container is needed");
        }
        Ok(())
    }

    pub(super) fn engine_timeout(&self) -> Duration {
        Duration::from_millis(self.engine_timeout_ms)
    }

    pub(super) fn queue_wait(&self) -> Duration {
        Duration::from_millis(self.queue_wait_ms)
    }

    pub(super) fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }

    pub(super) fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds)
    }

    pub(super) fn sweep_interval(&self) -> Duration {
        Duration::from_secs(self.sweep_seconds.max(1))
    }

    pub(super) fn worker_age(&self) -> Duration {
        Duration::from_secs(self.worker_seconds)
    }

    /// Creates in flight.
    pub(super) fn parallel(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(2, NonZeroUsize::get);
        match usize::try_from(self.creates) {
            Ok(0) | Err(_) => cores,
            Ok(creates) => creates,
        }
    }

    /// Containers that one caller may have in use.
    pub(super) fn share(&self) -> usize {
        let all = self.containers();
        match usize::try_from(self.capacity_per_caller) {
            Ok(0) | Err(_) => (all - all / 8).max(1),
            Ok(share) => share.min(all),
        }
    }

    pub(super) fn containers(&self) -> usize {
        usize::try_from(self.capacity).unwrap_or(usize::MAX).max(1)
    }
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "switchboard".to_owned(), |name| name.trim().to_owned())
}
