//! A run that is worked on: its events so far, for those who follow it, and the switches that end it or
//! wake it up. Exactly one executor holds it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::event::Kept;
use crate::admission::Caller;

/// A run that is worked on.
#[derive(Debug)]
pub(super) struct Going {
    /// Name and tenant of the one whose it is.
    pub(super) whose: (String, String),
    /// Ends it.
    pub(super) cancel: CancellationToken,
    /// Lets it look whether what it waits for has come.
    pub(super) poke: Notify,
    /// In order, also those that are not in the file yet.
    events: Mutex<Vec<Arc<Kept>>>,
    /// Up to which place they are in the file.
    kept: watch::Sender<u64>,
    /// Whether its executor has ended.
    done: watch::Sender<bool>,
}

impl Going {
    pub(super) fn new(caller: &Caller, events: Vec<Kept>) -> Self {
        let last = events.last().map_or(0, |kept| kept.seq);
        Self {
            whose: (caller.name.clone(), caller.tenant.clone()),
            cancel: CancellationToken::new(),
            poke: Notify::new(),
            events: Mutex::new(events.into_iter().map(Arc::new).collect()),
            kept: watch::channel(last).0,
            done: watch::channel(false).0,
        }
    }

    pub(super) fn is_of(&self, caller: &Caller) -> bool {
        self.whose.0 == caller.name && self.whose.1 == caller.tenant
    }

    /// Adds an event that is on its way into the file.
    pub(super) fn add(&self, kept: Arc<Kept>) {
        self.lock().push(kept);
    }

    /// Tells that the event at this place is in the file, and so are all before it.
    pub(super) fn keep(&self, seq: u64) {
        self.kept.send_if_modified(|known| {
            let more = seq > *known;
            *known = seq.max(*known);
            more
        });
    }

    /// Tells that nothing more comes of this executor.
    pub(super) fn end(&self) {
        self.done.send_replace(true);
    }

    /// Ends once the executor has.
    pub(super) async fn ended(&self) {
        // The sender lives as long as this does.
        drop(self.done.subscribe().wait_for(|done| *done).await);
    }

    /// Those behind `after` that are in the file.
    pub(super) fn behind(&self, after: u64) -> Vec<Arc<Kept>> {
        let last = *self.kept.borrow();
        let all = self.lock();
        all.iter().filter(|one| one.seq > after && one.seq <= last).cloned().collect()
    }

    /// Place of the last one that is in the file.
    pub(super) fn last(&self) -> u64 {
        *self.kept.borrow()
    }

    /// Waits for one behind `after`; false when none comes any more.
    pub(super) async fn more(&self, after: u64) -> bool {
        let (mut kept, mut done) = (self.kept.subscribe(), self.done.subscribe());
        tokio::select! {
            biased;
            more = kept.wait_for(|last| *last > after) => more.is_ok(),
            _ = done.wait_for(|done| *done) => *self.kept.borrow() > after,
        }
    }

    /// All of them, for whoever works the run off.
    pub(super) fn all(&self) -> Vec<Arc<Kept>> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Kept>>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
