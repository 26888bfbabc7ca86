//! The calls that are running now, so that they can be cancelled by id.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::{CancellationToken, DropGuard};

use crate::admission::Caller;
use crate::call::CallId;

type Calls = HashMap<String, (Caller, CancellationToken)>;

/// Call id to caller and the switch that ends the call.
#[derive(Debug, Default)]
pub(super) struct Running(Arc<Mutex<Calls>>);

impl Running {
    /// Enters a call until what is returned is dropped; `None` when the id is in use.
    pub(super) fn enter(&self, id: &CallId, caller: &Caller) -> Option<Entered> {
        let token = CancellationToken::new();
        let mut calls = lock(&self.0);
        if calls.contains_key(id.as_str()) {
            return None;
        }
        calls.insert(id.to_string(), (caller.clone(), token.clone()));
        Some(Entered { calls: Arc::clone(&self.0), id: id.to_string(), token })
    }

    /// Ends a call of this caller; false when there is none.
    pub(super) fn cancel(&self, id: &str, caller: &Caller) -> bool {
        match lock(&self.0).get(id) {
            Some((owner, token)) if owner.name == caller.name && owner.tenant == caller.tenant => {
                token.cancel();
                true
            }
            Some(_) | None => false,
        }
    }

    pub(super) fn cancel_all(&self) {
        lock(&self.0).values().for_each(|(_, token)| token.cancel());
    }
}

fn lock(calls: &Mutex<Calls>) -> MutexGuard<'_, Calls> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call whose id is taken until it is recorded.
#[derive(Debug)]
pub struct Entered {
    calls: Arc<Mutex<Calls>>,
    id: String,
    token: CancellationToken,
}

impl Entered {
    /// Cancels this very call when it is dropped.
    pub fn cancel_on_drop(&self) -> DropGuard {
        self.token.clone().drop_guard()
    }

    /// Ends when the call is cancelled.
    pub(super) async fn cancelled(&self) {
        self.token.cancelled().await;
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        lock(&self.calls).remove(&self.id);
    }
}
