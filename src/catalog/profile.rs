//! Sandbox profiles: the envelope a tool runs in, from `policies/sandbox/*.toml`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::file::{Fault, nearest, parse_toml};
use super::seccomp::{DEFAULT, Seccomp};
use super::secret::{self, Secret, SecretFile};
use super::units::{Cores, Size, Span};

/// Longest wall time of a call; containers are taken for left over some time after it.
pub const LONGEST_WALL: Duration = Duration::from_secs(3600);
/// What the runner of a worker keeps beside the tools: the process that makes helpers, the one in
/// between while it does, and four helpers that wait.
const WORKER_OWN: u32 = 6;
/// Each call's own process, and one more: a thread of the HTTP client, or the helper that is made
/// while the call ends.
const WORKER_EACH: u32 = 2;

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
    /// The system calls that its tools may make; default `default`.
    pub seccomp: Arc<Seccomp>,
    /// Walls that may stand unseen. Default none: what cannot be read back refuses the call.
    pub accept_unread: Vec<Unread>,
    /// Hard limits.
    pub limits: Limits,
    /// Where a tool may connect to. `None`: no port is opened at all. `Some(empty)`: a port is
    /// opened and every attempt is refused and recorded.
    pub egress: Option<Vec<EgressRule>>,
    /// Tighter limits at the egress gate than the daemon's own.
    pub egress_limits: EgressLimits,
    /// What the gate adds to messages outside the sandbox, sorted by name.
    pub secrets: Vec<Secret>,
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

/// A wall that the daemon cannot see inside a sandbox whose kernel is not the host's, and that the
/// operator takes for standing nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unread {
    /// The memory limit, swap included. The runner then bounds each process (RLIMIT_AS).
    Memory,
    /// The process limit. The runner then bounds the tool's user (RLIMIT_NPROC).
    Processes,
    /// The processor limit.
    Cpus,
    /// The number of files on the scratch disk; gVisor's has none, so the memory limit bounds it.
    Inodes,
    /// The seccomp profile; gVisor applies one only with its flag `--oci-seccomp`.
    Seccomp,
}

/// Hard limits of one call. Sizes are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Limits {
    /// Wall time; default 3 s, at most 1 h.
    pub wall: Duration,
    /// Memory, without swap; default 512 MiB.
    pub memory: u64,
    /// Processor time in thousandths of a core; default 1000.
    pub cpu_millis: u32,
    /// Processes and threads; default 64. In the worker tier, of all calls in the container together,
    /// and at least 8.
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

impl EgressRule {
    /// Whether it is about this host, given in lower case and without brackets.
    pub(super) fn names(&self, host: &str) -> bool {
        let address = |text: &str| text.parse::<std::net::IpAddr>().ok();
        match self.host.strip_prefix("*.") {
            Some(domain) => host
                .split_once('.')
                .is_some_and(|(label, rest)| !label.is_empty() && rest == domain),
            None if address(host).is_some() => address(&self.host) == address(host),
            None => self.host == host,
        }
    }
}

/// What one call of a profile may do at the egress gate; where nothing is said, or more than the
/// daemon's configuration gives, that one holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct EgressLimits {
    /// Connections open at once.
    pub connections: Option<usize>,
    /// Attempts.
    pub attempts: Option<usize>,
    /// Bytes sent.
    pub sent: Option<u64>,
    /// Bytes received.
    pub received: Option<u64>,
    /// Time that one connection may last.
    pub total: Option<Duration>,
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

/// Calls at once for which one container of the worker tier has processes, when each tool is one
/// process. A profile whose tools start others needs a higher limit.
pub const fn worker_calls(processes: u32) -> u32 {
    processes.saturating_sub(WORKER_OWN) / WORKER_EACH
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(3),
            memory: 512 << 20,
            cpu_millis: 1000,
            processes: 64,
            output: 1 << 20,
            disk: 64 << 20,
            inodes: 4096,
            open_files: 256,
        }
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self { min: 1, max: 8 }
    }
}

/// A profile as it stands in its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileFile {
    image: String,
    #[serde(default = "call")]
    tier: Tier,
    #[serde(default = "runc")]
    runtime: Runtime,
    seccomp: Option<String>,
    #[serde(default)]
    accept_unread: Vec<Unread>,
    #[serde(default)]
    limits: LimitsFile,
    egress: Option<Vec<EgressRule>>,
    #[serde(default)]
    egress_limits: EgressLimitsFile,
    #[serde(default)]
    secrets: BTreeMap<String, SecretFile>,
    pool: Option<PoolFile>,
}

const fn call() -> Tier {
    Tier::Call
}

const fn runc() -> Runtime {
    Runtime::Runc
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsFile {
    wall: Option<Span>,
    memory: Option<Size>,
    cpus: Option<Cores>,
    processes: Option<u32>,
    output: Option<Size>,
    disk: Option<Size>,
    inodes: Option<u64>,
    open_files: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct EgressLimitsFile {
    connections: Option<usize>,
    attempts: Option<usize>,
    sent: Option<Size>,
    received: Option<Size>,
    total: Option<Span>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PoolFile {
    min: Option<u32>,
    max: Option<u32>,
}

/// Reads the text of one profile.
pub(super) fn parse(
    name: &str,
    text: &str,
    seccomp: &BTreeMap<String, Arc<Seccomp>>,
) -> Result<Profile, Fault> {
    let file: ProfileFile = parse_toml(text)?;
    if file.image.trim().is_empty() {
        return Err(Fault::new("image", "is empty; name an image of sandbox-images"));
    }
    let limits = limits(file.limits)?;
    if file.tier == Tier::Worker && worker_calls(limits.processes) == 0 {
        let least = WORKER_OWN + WORKER_EACH;
        let message = format!(
            "is too low; the worker tier needs {least}, and {WORKER_EACH} more for each further \
             call at once"
        );
        return Err(Fault::new("limits.processes", message));
    }
    let egress = match file.egress {
        Some(rules) => Some(rules.into_iter().map(rule).collect::<Result<_, _>>()?),
        None => None,
    };
    let secrets = secret::check(file.secrets, egress.as_deref().unwrap_or_default())?;
    let usual = Pool::default();
    let pool = file.pool.map_or(usual, |pool| {
        let max = pool.max.unwrap_or(usual.max);
        Pool { min: pool.min.unwrap_or_else(|| usual.min.min(max)), max }
    });
    if pool.max == 0 || pool.min > pool.max {
        let message = format!(
            "min {} and max {} do not fit; max is at least 1 and at least min",
            pool.min, pool.max
        );
        return Err(Fault::new("pool", message));
    }
    let seccomp = find(file.seccomp.as_deref().unwrap_or(DEFAULT), seccomp)?;
    let mut accept_unread = file.accept_unread;
    accept_unread.sort_unstable();
    accept_unread.dedup();
    if file.runtime == Runtime::Runc && !accept_unread.is_empty() {
        let message = "is for runtimes with a kernel of their own; under `runc` every wall is read";
        return Err(Fault::new("accept_unread", message));
    }
    Ok(Profile {
        name: name.to_owned(),
        image: file.image,
        tier: file.tier,
        runtime: file.runtime,
        seccomp,
        accept_unread,
        limits,
        egress,
        egress_limits: egress_limits(file.egress_limits)?,
        secrets,
        pool,
    })
}

fn find(wanted: &str, known: &BTreeMap<String, Arc<Seccomp>>) -> Result<Arc<Seccomp>, Fault> {
    known.get(wanted).cloned().ok_or_else(|| {
        let hint = match nearest(wanted, known.keys().map(String::as_str)).first() {
            Some(best) => format!("; did you mean `{best}`?"),
            None => format!("; write or mend seccomp/{wanted}.toml"),
        };
        let message = format!("names `{wanted}`, which is no usable seccomp profile{hint}");
        Fault::new("seccomp", message)
    })
}

fn egress_limits(file: EgressLimitsFile) -> Result<EgressLimits, Fault> {
    let limits = EgressLimits {
        connections: file.connections,
        attempts: file.attempts,
        sent: file.sent.map(|size| size.0),
        received: file.received.map(|size| size.0),
        total: file.total.map(|span| span.0),
    };
    let zero = [
        ("connections", limits.connections == Some(0)),
        ("attempts", limits.attempts == Some(0)),
        ("sent", limits.sent == Some(0)),
        ("received", limits.received == Some(0)),
        ("total", limits.total == Some(Duration::ZERO)),
    ];
    match zero.into_iter().find(|(_, zero)| *zero) {
        Some((key, _)) => Err(Fault::new(
            format!("egress_limits.{key}"),
            "is 0; leave `egress` out where nothing may be reached",
        )),
        None => Ok(limits),
    }
}

fn limits(file: LimitsFile) -> Result<Limits, Fault> {
    let usual = Limits::default();
    let limits = Limits {
        wall: file.wall.map_or(usual.wall, |wall| wall.0),
        memory: file.memory.map_or(usual.memory, |size| size.0),
        cpu_millis: file.cpus.map_or(usual.cpu_millis, |cores| cores.0),
        processes: file.processes.unwrap_or(usual.processes),
        output: file.output.map_or(usual.output, |size| size.0),
        disk: file.disk.map_or(usual.disk, |size| size.0),
        inodes: file.inodes.unwrap_or(usual.inodes),
        open_files: file.open_files.unwrap_or(usual.open_files),
    };
    if limits.wall > LONGEST_WALL {
        return Err(Fault::new("limits.wall", "is too high; the most is 1h"));
    }
    // Zero means "no limit" to the engine, so it is never passed on.
    let least = [
        ("wall", limits.wall >= Duration::from_millis(1), "1ms"),
        // The engine refuses less.
        ("memory", limits.memory >= 6 << 20, "6MiB"),
        ("processes", limits.processes >= 2, "2, the runner is one"),
        ("output", limits.output > 0, "1B"),
        ("disk", limits.disk >= 4 << 10, "4KiB"),
        ("inodes", limits.inodes >= 2, "2"),
        ("open_files", limits.open_files >= 8, "8"),
    ];
    match least.into_iter().find(|(_, enough, _)| !enough) {
        Some((key, _, low)) => {
            Err(Fault::new(format!("limits.{key}"), format!("is too low; the least is {low}")))
        }
        None => Ok(limits),
    }
}

/// Brings a rule into the one spelling that the gate compares, or says what is wrong with it.
fn rule(rule: EgressRule) -> Result<EgressRule, Fault> {
    let fail = |message: String| Err(Fault::new("egress", message));
    let host = rule.host.trim_end_matches('.').to_ascii_lowercase();
    let bare = host.strip_prefix("*.").unwrap_or(&host);
    let address = bare.parse::<std::net::IpAddr>().is_ok();
    let label = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    if !address && !bare.split('.').all(label) || address && bare.len() != host.len() {
        return fail(format!(
            "`{}` is no host; write an exact name or address, or `*.` and a domain",
            rule.host
        ));
    }
    if rule.port == 0 {
        return fail(format!("the rule for `{host}` needs a port from 1 to 65535"));
    }
    if let Some(wrong) = rule.networks.iter().find(|network| !is_network(network)) {
        return fail(format!(
            "`{wrong}` is no network, or wider than any internal one; write for example `127.0.0.0/8`"
        ));
    }
    Ok(EgressRule { host, ..rule })
}

/// Wider ones would name loopback and the metadata service by accident.
fn is_network(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let sizes = match address.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(_)) => 8..=32,
        Ok(std::net::IpAddr::V6(_)) => 7..=128,
        Err(_) => return false,
    };
    bits.parse::<u8>().is_ok_and(|bits| sizes.contains(&bits))
}
