//! How many calls wait for a person at once, over all and for each caller: they hold no other place.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Wanted;

/// Tenant and name of a caller.
type Who = (String, String);

/// The calls that wait.
#[derive(Debug, Clone, Default)]
pub(super) struct Waiters(Arc<Mutex<HashMap<Who, usize>>>);

/// The place of one call that waits.
#[derive(Debug)]
pub struct Waiter {
    waiters: Waiters,
    who: Who,
}

impl Waiters {
    /// A place for one call more; `None` when there are `all`, or `own` of its caller.
    pub(super) fn enter(&self, wanted: &Wanted, all: usize, own: usize) -> Option<Waiter> {
        let who = (wanted.tenant.clone(), wanted.caller.clone());
        let mut waiting = self.lock();
        let used = waiting.get(&who).copied().unwrap_or_default();
        if used >= own || waiting.values().sum::<usize>() >= all {
            return None;
        }
        waiting.insert(who.clone(), used + 1);
        Some(Waiter { waiters: self.clone(), who })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Who, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut waiting = self.waiters.lock();
        let left = waiting.get(&self.who).map_or(0, |used| used.saturating_sub(1));
        if left == 0 {
            waiting.remove(&self.who);
        } else {
            waiting.insert(self.who.clone(), left);
        }
    }
}
