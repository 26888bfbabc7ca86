//! User ids for tools: each call that runs has one of its own, so that all it started can be found.

use std::cell::RefCell;
use std::collections::BTreeSet;

/// First user id of a tool.
const FIRST: u32 = 10_001;

/// The ids in use.
#[derive(Debug, Default)]
pub(crate) struct Users(RefCell<BTreeSet<u32>>);

/// An id for one call; free again when dropped.
#[derive(Debug)]
pub(crate) struct User<'a> {
    users: &'a Users,
    id: u32,
}

impl Users {
    /// Lends the lowest free id.
    pub(crate) fn lend(&self) -> User<'_> {
        let mut used = self.0.borrow_mut();
        let mut id = FIRST;
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
        self.users.0.borrow_mut().remove(&self.id);
    }
}
