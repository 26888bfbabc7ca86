//! The time of writes, which never goes back, whatever the machine's clock does.

use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// Gives times, each later than the one before.
#[derive(Debug)]
pub(super) struct Clock(Mutex<Timestamp>);

impl Clock {
    /// A clock whose times are later than this one.
    pub(super) fn after(latest: Option<Timestamp>) -> Self {
        Self(Mutex::new(latest.unwrap_or(Timestamp::UNIX_EPOCH)))
    }

    pub(super) fn now(&self) -> Timestamp {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = last.saturating_add(SignedDuration::from_micros(1)).unwrap_or(*last);
        *last = Timestamp::now().max(next);
        *last
    }
}
