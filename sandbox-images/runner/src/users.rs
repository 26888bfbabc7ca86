//! User ids for tools: each call that runs has one of its own, so that all it started can be found.
//! They differ from sandbox to sandbox too, because the kernel counts some things (pending signals,
//! timers, pages of pipes) for a user on the whole host, and tools could signal each other by them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

/// Lowest user id of a tool.
const LOWEST: u32 = 10_001;
/// Ids that a sandbox may start with. An engine without root has 65,536 in all.
const STARTS: u32 = 50_000;

/// The ids in use.
#[derive(Debug)]
pub(crate) struct Users {
    first: u32,
    used: RefCell<BTreeSet<u32>>,
}

/// An id for one call; free again when dropped.
#[derive(Debug)]
pub(crate) struct User<'a> {
    users: &'a Users,
    id: u32,
}

impl Users {
    /// Starts at an id that other sandboxes do not know.
    pub(crate) fn new() -> Self {
        let chance = RandomState::new().hash_one(std::process::id());
        let start = u32::try_from(chance % u64::from(STARTS)).unwrap_or_default();
        Self { first: LOWEST + start, used: RefCell::default() }
    }

    /// Lends the lowest free id.
    pub(crate) fn lend(&self) -> User<'_> {
        let mut used = self.used.borrow_mut();
        let mut id = self.first;
        while !used.insert(id) {
            id += 1;
        }
        User { users: self, id }
    }
}

impl User<'_> {
    /// The number.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }
}

impl Drop for User<'_> {
    fn drop(&mut self) {
        self.users.used.borrow_mut().remove(&self.id);
    }
}
