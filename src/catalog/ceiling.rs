//! The operator's ceiling, `sandbox/ceiling.toml`: what no sandbox profile may exceed. Its text and a
//! profile in, every way in which the profile is wider out. What the ceiling does not name is free.

use serde::{Deserialize, Serialize};

use super::file::{Fault, parse_toml};
use super::units::{Cores, Size, Span};
use super::{EgressRule, Profile, Runtime, Tier, Unread};

/// Stem of its file; no profile can have this name.
pub(super) const STEM: &str = "ceiling";
/// Put before the place of what is wider, so that a reviewer's tools can tell it apart.
const PLACE: &str = "ceiling";

/// What no profile may exceed.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Ceiling {
    wall_ms: Option<u64>,
    memory: Option<u64>,
    cpu_millis: Option<u64>,
    processes: Option<u64>,
    output: Option<u64>,
    disk: Option<u64>,
    inodes: Option<u64>,
    open_files: Option<u64>,
    pool_max: Option<u64>,
    images: Option<Vec<String>>,
    tiers: Option<Vec<Tier>>,
    runtimes: Option<Vec<Runtime>>,
    seccomp: Option<Vec<String>>,
    accept_unread: Option<Vec<Unread>>,
    hosts: Option<Vec<String>>,
    networks: Option<Vec<String>>,
    secrets: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CeilingFile {
    #[serde(default)]
    limits: LimitsFile,
    pool: Option<PoolFile>,
    images: Option<Vec<String>>,
    tiers: Option<Vec<Tier>>,
    runtimes: Option<Vec<Runtime>>,
    seccomp: Option<Vec<String>>,
    accept_unread: Option<Vec<Unread>>,
    /// `host:port`, as profiles write them; `*.domain:port` allows each of its hosts.
    hosts: Option<Vec<String>>,
    networks: Option<Vec<String>>,
    secrets: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PoolFile {
    max: u32,
}

/// Reads the text of the ceiling.
pub(super) fn parse(text: &str) -> Result<Ceiling, Fault> {
    let file: CeilingFile = parse_toml(text)?;
    for host in file.hosts.iter().flatten() {
        let port = host.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        if port.is_none_or(|port| port == 0) {
            let message = format!("`{host}` is no host with its port; write `api.example.com:443`");
            return Err(Fault::new("hosts", message));
        }
    }
    let limits = file.limits;
    Ok(Ceiling {
        wall_ms: limits.wall.map(|span| u64::try_from(span.0.as_millis()).unwrap_or(u64::MAX)),
        memory: limits.memory.map(|size| size.0),
        cpu_millis: limits.cpus.map(|cores| u64::from(cores.0)),
        processes: limits.processes.map(u64::from),
        output: limits.output.map(|size| size.0),
        disk: limits.disk.map(|size| size.0),
        inodes: limits.inodes,
        open_files: limits.open_files.map(u64::from),
        pool_max: file.pool.map(|pool| u64::from(pool.max)),
        images: file.images,
        tiers: file.tiers,
        runtimes: file.runtimes,
        seccomp: file.seccomp,
        accept_unread: file.accept_unread,
        hosts: file.hosts.map(|hosts| hosts.iter().map(|host| host.to_ascii_lowercase()).collect()),
        networks: file.networks,
        secrets: file.secrets,
    })
}

impl Ceiling {
    /// Refuses a profile that is wider, with every way in which it is.
    pub(super) fn check(&self, profile: &Profile) -> Result<(), Fault> {
        let mut wider = self.numbers(profile);
        wider.extend(self.lists(profile));
        if wider.is_empty() {
            return Ok(());
        }
        let message = format!(
            "is wider than sandbox/{STEM}.toml allows: {}; narrow the profile, or have the operator \
             raise the ceiling",
            wider.join("; ")
        );
        Err(Fault::new(PLACE, message))
    }

    fn numbers(&self, profile: &Profile) -> Vec<String> {
        let limits = &profile.limits;
        let wall = u64::try_from(limits.wall.as_millis()).unwrap_or(u64::MAX);
        let pairs = [
            ("limits.wall in ms", wall, self.wall_ms),
            ("limits.memory in bytes", limits.memory, self.memory),
            ("limits.cpus in thousandths", u64::from(limits.cpu_millis), self.cpu_millis),
            ("limits.processes", u64::from(limits.processes), self.processes),
            ("limits.output in bytes", limits.output, self.output),
            ("limits.disk in bytes", limits.disk, self.disk),
            ("limits.inodes", limits.inodes, self.inodes),
            ("limits.open_files", u64::from(limits.open_files), self.open_files),
            ("pool.max", u64::from(profile.pool.max), self.pool_max),
        ];
        let over = |(key, has, most): (&str, u64, Option<u64>)| {
            let most = most.filter(|most| has > *most)?;
            Some(format!("{key} is {has}, at most {most}"))
        };
        pairs.into_iter().filter_map(over).collect()
    }

    fn lists(&self, profile: &Profile) -> Vec<String> {
        let mut wider = Vec::new();
        let mut hold = |key: &str, has: String, allowed: Option<bool>| {
            if allowed == Some(false) {
                wider.push(format!("{key} `{has}` is not among those allowed"));
            }
        };
        let among = |list: &Option<Vec<String>>, one: &str| {
            list.as_ref().map(|list| list.iter().any(|allowed| allowed == one))
        };
        hold("image", profile.image.clone(), among(&self.images, &profile.image));
        hold("seccomp", profile.seccomp.name.clone(), among(&self.seccomp, &profile.seccomp.name));
        let tier = self.tiers.as_ref().map(|tiers| tiers.contains(&profile.tier));
        hold("tier", format!("{:?}", profile.tier).to_lowercase(), tier);
        let runtime = self.runtimes.as_ref().map(|runtimes| runtimes.contains(&profile.runtime));
        hold("runtime", format!("{:?}", profile.runtime).to_lowercase(), runtime);
        for unread in &profile.accept_unread {
            let allowed = self.accept_unread.as_ref().map(|list| list.contains(unread));
            hold("accept_unread", format!("{unread:?}").to_lowercase(), allowed);
        }
        for rule in profile.egress.iter().flatten() {
            let allowed =
                self.hosts.as_ref().map(|hosts| hosts.iter().any(|host| fits(host, rule)));
            hold("egress", format!("{}:{}", rule.host, rule.port), allowed);
            for network in &rule.networks {
                hold("egress networks", network.clone(), among(&self.networks, network));
            }
        }
        for secret in &profile.secrets {
            hold("secrets", secret.name.clone(), among(&self.secrets, &secret.name));
        }
        wider
    }
}

/// Whether a `host:port` of the ceiling allows all that a rule does.
fn fits(allowed: &str, rule: &EgressRule) -> bool {
    let Some((host, port)) = allowed.rsplit_once(':') else { return false };
    if port.parse() != Ok(rule.port) {
        return false;
    }
    let allowed = EgressRule { host: host.to_owned(), port: rule.port, networks: Vec::new() };
    host == rule.host || !rule.host.starts_with("*.") && allowed.names(&rule.host)
}
