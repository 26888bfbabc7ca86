//! What a caller may do with which collection, in the terms of the write path: names of collections in,
//! whether it may see, write or review a version out. What policy permits was decided before.

use std::collections::BTreeSet;

use super::collection::{Collections, Share};
use super::scope::Owned;
use super::unit::{State, Version};
use crate::admission::Caller;

/// A caller, and the collections that it may read, write and review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    /// Who asks.
    pub caller: Caller,
    /// Collections that it may be told of.
    pub read: BTreeSet<String>,
    /// Collections that it may write.
    pub write: BTreeSet<String>,
    /// Collections in which it decides what is used.
    pub review: BTreeSet<String>,
}

impl Rights {
    /// The collections that the caller may read, and whose units of each; a reviewer sees those of
    /// everybody in the tenant.
    pub fn owned(&self, collections: &Collections) -> Vec<Owned> {
        let own = |name: &String| {
            let share = collections.get(name)?.share;
            let alone = share == Share::Caller && !self.review.contains(name);
            let owner = alone.then(|| self.caller.name.clone());
            Some(Owned { collection: name.clone(), owner })
        };
        self.read.union(&self.review).filter_map(own).collect()
    }

    /// Whether the caller may be told that a version is there.
    pub fn sees(&self, version: &Version, collections: &Collections) -> bool {
        let name = &version.draft.collection;
        let shared = collections.get(name).is_some_and(|one| one.share == Share::Tenant);
        let own = version.owner == self.caller.name;
        version.tenant == self.caller.tenant
            && (self.review.contains(name) || (self.read.contains(name) && (shared || own)))
    }

    /// Whether the caller is shown a version of which it may know: what reads like orders to a model is
    /// shown to nobody but its owner and those who review, and so is what was refused.
    pub fn shows(&self, version: &Version) -> bool {
        !matches!(version.state, State::Quarantined | State::Rejected) || self.knows(version)
    }

    /// Whether the caller knows why a version waits: it wrote it, or decides about it.
    pub fn knows(&self, version: &Version) -> bool {
        version.owner == self.caller.name || self.reviews(version)
    }

    /// Whether the caller may put another in the place of a version.
    pub fn writes(&self, version: &Version, collections: &Collections) -> bool {
        self.sees(version, collections) && self.write.contains(&version.draft.collection)
    }

    /// Whether the caller decides about a version that others wrote.
    pub fn reviews(&self, version: &Version) -> bool {
        version.tenant == self.caller.tenant && self.review.contains(&version.draft.collection)
    }
}

#[cfg(test)]
impl Rights {
    /// What the collections' access lists give to a caller, where every policy permits it.
    pub fn of(caller: &Caller, collections: &Collections) -> Self {
        use super::collection::Collection;
        use crate::policy::listed;
        let names = |list: fn(&Collection) -> &Vec<String>| {
            let open = |one: &&std::sync::Arc<Collection>| listed(list(one), caller);
            collections.iter().filter(open).map(|one| one.name.clone()).collect()
        };
        Self {
            caller: caller.clone(),
            read: names(|one| &one.access.read),
            write: names(|one| &one.access.write),
            review: names(|one| &one.access.review),
        }
    }
}
