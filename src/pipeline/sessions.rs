//! What each conversation has come to: a call in, the [`Session`] that it meets out. Conversations
//! that are alive are kept in memory, all others are in the ledger, so that neither a restart nor a
//! full memory makes one clean again. It decides nothing.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

use crate::admission::Caller;
use crate::call::{Call, Session, Taint, digest_of};
use crate::ledger::{self, Ledger};

/// Conversations in memory. Beyond it those that were quiet are forgotten; reading one again takes
/// one query, so this is no setting.
const MOST: usize = 16_384;

/// Digest of tenant, caller and conversation.
type Key = [u8; 32];

/// One conversation. It is read once, before any record of it is written by this process, so that no
/// call counts twice or not at all.
#[derive(Debug, Default)]
struct Known {
    state: OnceCell<Mutex<State>>,
    /// Whether a call came since memory was last full.
    is_fresh: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    session: Session,
    /// Calls under way whose output the caller sees before it was searched; and those of them whose
    /// tool reaches outside.
    shown: [usize; 2],
}

/// The conversations.
#[derive(Debug)]
pub(super) struct Sessions {
    known: Mutex<HashMap<Key, Arc<Known>>>,
    most: usize,
}

/// A conversation that a call belongs to. It stays in memory as long as this lives.
#[derive(Debug)]
pub(super) struct Held {
    known: Arc<Known>,
    /// How often the call stands in [`State::shown`].
    shown: [usize; 2],
}

impl Default for Sessions {
    fn default() -> Self {
        Self { known: Mutex::default(), most: MOST }
    }
}

impl Sessions {
    /// Takes hold of the call's conversation; `None` when the call names none. An error when what it
    /// came to cannot be read: then nothing can be decided.
    pub(super) async fn hold(
        &self,
        call: &Call,
        caller: &Caller,
        ledger: &Ledger,
    ) -> Result<Option<Held>, ledger::Error> {
        let conversation = &call.conversation;
        if conversation.is_empty() {
            return Ok(None);
        }
        let known = self.find(digest_of([&caller.tenant, &caller.name, conversation]));
        let read = async {
            let session = ledger.session(&caller.name, &caller.tenant, conversation).await;
            session.map(|session| Mutex::new(State { session, ..State::default() }))
        };
        known.state.get_or_try_init(|| read).await?;
        Ok(Some(Held { known, shown: [0, 0] }))
    }

    fn find(&self, key: Key) -> Arc<Known> {
        let mut all = lock(&self.known);
        if all.len() >= self.most && !all.contains_key(&key) {
            // What a call holds must stay: its record is not written yet. A second round takes what
            // was left of the first, when nothing was quiet.
            let is_held = |known: &Arc<Known>| Arc::strong_count(known) > 1;
            all.retain(|_, known| is_held(known) || known.is_fresh.swap(false, Ordering::Relaxed));
            if all.len() >= self.most {
                all.retain(|_, known| is_held(known));
            }
        }
        let known = all.entry(key).or_default();
        known.is_fresh.store(true, Ordering::Relaxed);
        Arc::clone(known)
    }
}

impl Held {
    /// What the conversation has come to by now.
    pub(super) fn now(&self) -> Session {
        self.with(|state| {
            let mut session = state.session.clone();
            let labels = [Taint::Unsearched, Taint::Outside].into_iter().zip(state.shown);
            session.taint.extend(labels.filter(|(_, calls)| *calls > 0).map(|(label, _)| label));
            session
        })
        .unwrap_or_default()
    }

    /// From here on the caller sees what its call writes, which nobody has searched before the end.
    pub(super) fn show(&mut self, outside: bool) {
        let more = [1, usize::from(outside)];
        self.with(|state| state.shown = sum(state.shown, more));
        self.shown = sum(self.shown, more);
    }

    /// Adds a call that has ended.
    pub(super) fn add(&self, taint: &BTreeSet<Taint>) {
        self.with(|state| {
            state.session.calls += 1;
            state.session.taint.extend(taint);
        });
    }

    /// `None` never comes: who holds a conversation has read it.
    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> Option<T> {
        self.known.state.get().map(|state| work(&mut lock(state)))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let own = self.shown;
        self.with(|state| state.shown = less(state.shown, own));
    }
}

fn sum([a, b]: [usize; 2], [c, d]: [usize; 2]) -> [usize; 2] {
    [a + c, b + d]
}

fn less([a, b]: [usize; 2], [c, d]: [usize; 2]) -> [usize; 2] {
    [a.saturating_sub(c), b.saturating_sub(d)]
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
