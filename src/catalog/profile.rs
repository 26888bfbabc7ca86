//! Sandbox profiles: the envelope a tool runs in, from `policies/sandbox/*.toml`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One sandbox profile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profile {
    /// Unique name; the file's stem.
    pub name: String,
    /// Name of the image, for example `python`; its digest is recorded by `sandbox-images/build.sh`.
    pub image: String,
    /// How containers are shared between calls.
    pub tier: Tier,
    /// The engine's runtime.
    pub runtime: Runtime,
    /// Hard limits.
    pub limits: Limits,
    /// Where a tool may connect to. `None`: no port is opened at all. `Some(empty)`: a port is
    /// opened and every attempt is refused and recorded.
    pub egress: Option<Vec<EgressRule>>,
    /// How many containers wait started.
    pub pool: Pool,
}

/// How containers are shared between calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// A fresh container for every call.
    Call,
    /// One container per tool source and caller scope, a fresh process for every call. Only for
    /// tools whose code is ours.
    Worker,
}

/// The engine's runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// The engine's default, namespaces on the host's kernel.
    Runc,
    /// gVisor.
    Runsc,
    /// Kata containers.
    Kata,
}

/// Hard limits of one call. Sizes are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Limits {
    /// Wall time; default 3 s.
    pub wall: Duration,
    /// Memory, without swap; default 512 MiB.
    pub memory: u64,
    /// Processor time in thousandths of a core; default 1000.
    pub cpu_millis: u32,
    /// Processes and threads; default 64.
    pub processes: u32,
    /// Standard output and error together; default 1 MiB.
    pub output: u64,
    /// The writable scratch file system, `/tmp`; default 64 MiB.
    pub disk: u64,
    /// Files in the scratch file system; default 4096.
    pub inodes: u64,
    /// Open files; default 256.
    pub open_files: u32,
}

/// Exact permission to connect.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EgressRule {
    /// Exact host name or address, lower case; or `*.` and a domain for exactly one label.
    pub host: String,
    /// Exact port.
    pub port: u16,
    /// Non-public networks (CIDR) in which the host's address may lie, for example `127.0.0.0/8`.
    #[serde(default)]
    pub networks: Vec<String>,
}

/// How many containers of a profile wait started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Always at least so many; default 1.
    pub min: u32,
    /// Never more than so many; default 8.
    pub max: u32,
}
