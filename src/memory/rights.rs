//! What a caller may do with which collection: their access lists in, names of collections out. The
//! Cedar policies may allow less, and are asked elsewhere: [`Rights::keep`] takes away what they do not.

use std::collections::BTreeSet;

use super::collection::{Collection, Collections, Share};
use super::scope::Owned;
use super::unit::Version;
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

/// One thing to do with a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// Recall, Context, Get, List, Explain.
    Read,
    /// Remember, Forget of one's own, Consolidate.
    Write,
    /// Review, and Forget of what others wrote.
    Review,
}

impl Rights {
    /// What the collections' access lists give to a caller.
    pub fn of(caller: &Caller, collections: &Collections) -> Self {
        let names = |list: fn(&Collection) -> &Vec<String>| {
            let open = |one: &Collection| list(one).iter().any(|entry| admits(entry, caller));
            collections.iter().filter(|one| open(one)).map(|one| one.name.clone()).collect()
        };
        Self {
            caller: caller.clone(),
            read: names(|one| &one.access.read),
            write: names(|one| &one.access.write),
            review: names(|one| &one.access.review),
        }
    }

    /// Takes away what `allows` does not allow.
    #[must_use]
    pub fn keep(mut self, allows: impl Fn(Right, &str) -> bool) -> Self {
        self.read.retain(|name| allows(Right::Read, name));
        self.write.retain(|name| allows(Right::Write, name));
        self.review.retain(|name| allows(Right::Review, name));
        self
    }

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

    /// Whether the caller may put another in the place of a version.
    pub fn writes(&self, version: &Version, collections: &Collections) -> bool {
        self.sees(version, collections) && self.write.contains(&version.draft.collection)
    }

    /// Whether the caller decides about a version that others wrote.
    pub fn reviews(&self, version: &Version) -> bool {
        version.tenant == self.caller.tenant && self.review.contains(&version.draft.collection)
    }
}

/// Whether an entry of an access list, such as `role:curator`, means a caller.
fn admits(entry: &str, caller: &Caller) -> bool {
    match entry.split_once(':') {
        None => entry == "any",
        Some(("caller", name)) => caller.name == name,
        Some(("role", role)) => caller.roles.iter().any(|one| one == role),
        Some(("tenant", tenant)) => caller.tenant == tenant,
        Some(_) => false,
    }
}
