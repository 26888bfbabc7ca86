//! What the engine says that it can enforce, held against what a profile asks for. A first look, so
//! that nobody has to make a call to learn of it: what a container really has is read back in each.

use std::collections::BTreeSet;

use bollard::models::SystemInfo;

use super::recipe::runtime;
use crate::catalog::Profile;

/// What the engine can enforce, as far as it says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Abilities {
    /// Names of its runtimes; empty when it names none.
    runtimes: BTreeSet<String>,
    /// Limits that its kernel does not have.
    missing: Vec<&'static str>,
}

impl Abilities {
    /// What an engine's description of itself says.
    pub(super) fn of(info: &SystemInfo) -> Self {
        let limits = [
            ("memory", info.memory_limit),
            ("swap", info.swap_limit),
            ("processor time", info.cpu_cfs_quota),
            ("processes", info.pids_limit),
        ];
        let missing = limits.into_iter().filter(|(_, has)| *has == Some(false));
        Self {
            runtimes: info.runtimes.iter().flatten().map(|(name, _)| name.clone()).collect(),
            missing: missing.map(|(limit, _)| limit).collect(),
        }
    }

    /// Why the walls of a profile cannot stand on this engine.
    pub(super) fn check(&self, profile: &Profile) -> Result<(), String> {
        if let [limit, ..] = self.missing.as_slice() {
            return Err(format!(
                "the engine's kernel does not limit {limit}: enable that control group, or take another \
                 engine"
            ));
        }
        match runtime(profile.runtime) {
            Some(name) if !self.runtimes.is_empty() && !self.runtimes.contains(&name) => {
                let known: Vec<&str> = self.runtimes.iter().map(String::as_str).collect();
                Err(format!(
                    "the engine has no runtime `{name}`; it has {}: register it there, or name another \
                     one in the profile",
                    known.join(", ")
                ))
            }
            Some(_) | None => Ok(()),
        }
    }
}
