//! How many chunks have no vector of the model in use, by tenant, as the work in the background found it;
//! recall tells of it and Stats shows it. Counts nothing itself.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

/// What is missing. Empty before it was counted the first time.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    missing: BTreeMap<String, u64>,
    fault: String,
}

impl Coverage {
    /// Takes over what was counted.
    pub(super) fn set(&self, missing: Vec<(String, u64)>) {
        let all: u64 = missing.iter().map(|(_, count)| count).sum();
        let shown = u32::try_from(all).unwrap_or(u32::MAX);
        metrics::gauge!("switchboard_memory_missing_vectors").set(shown);
        self.known.write().unwrap_or_else(PoisonError::into_inner).missing =
            missing.into_iter().collect();
    }

    /// Notes why no vectors are made; empty where nothing is wrong.
    pub(super) fn blame(&self, fault: &str) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.fault != fault {
            fault.clone_into(&mut known.fault);
        }
    }

    /// Chunks of a tenant without a vector.
    pub(super) fn missing(&self, tenant: &str) -> u64 {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.missing.get(tenant).copied().unwrap_or_default()
    }

    /// Why no vectors are made.
    pub(super) fn fault(&self) -> String {
        self.known.read().unwrap_or_else(PoisonError::into_inner).fault.clone()
    }
}
