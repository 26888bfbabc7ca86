//! A sandbox profile in, what a person reads of it out. It says nothing that the profile does not.

use serde::{Deserialize, Serialize};

use super::{EgressRule, Profile, Runtime, Tier};

/// What a tool runs in. Sizes are bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is named as in the sandbox profile")]
pub struct Envelope {
    pub profile: String,
    pub image: String,
    /// Id of the image; empty when it is not known here.
    pub image_digest: String,
    pub tier: Tier,
    pub runtime: Runtime,
    pub seccomp: String,
    pub wall_ms: u64,
    pub memory: u64,
    pub cpu_millis: u32,
    pub processes: u32,
    pub output: u64,
    pub disk: u64,
    /// `host:port`, and the networks that the rule names; empty for no way out.
    pub hosts: Vec<String>,
    /// Names of the secrets that the gate adds.
    pub secrets: Vec<String>,
}

impl Envelope {
    /// What a profile says.
    pub fn of(profile: &Profile) -> Self {
        let rules = profile.egress.as_deref().unwrap_or_default();
        let host = |rule: &EgressRule| match rule.networks.as_slice() {
            [] => format!("{}:{}", rule.host, rule.port),
            networks => format!("{}:{} in {}", rule.host, rule.port, networks.join(", ")),
        };
        Self {
            profile: profile.name.clone(),
            image: profile.image.clone(),
            image_digest: String::new(),
            tier: profile.tier,
            runtime: profile.runtime,
            seccomp: profile.seccomp.name.clone(),
            wall_ms: u64::try_from(profile.limits.wall.as_millis()).unwrap_or(u64::MAX),
            memory: profile.limits.memory,
            cpu_millis: profile.limits.cpu_millis,
            processes: profile.limits.processes,
            output: profile.limits.output,
            disk: profile.limits.disk,
            hosts: rules.iter().map(host).collect(),
            secrets: profile.secrets.iter().map(|secret| secret.name.clone()).collect(),
        }
    }
}
