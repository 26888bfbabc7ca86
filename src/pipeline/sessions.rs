//! What each conversation has come to: a call in, the [`Session`] that it meets out. Conversations
//! that are alive are kept in memory, all others are in the ledger, so that neither a restart nor a
//! full memory makes one clean again. It decides nothing.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;

use crate::admission::Caller;
use crate::call::{Call, Session, Taint};
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
    session: OnceCell<Mutex<Session>>,
    /// Whether a call came since memory was last full.
    is_fresh: AtomicBool,
}

/// The conversations.
#[derive(Debug)]
pub(super) struct Sessions {
    known: Mutex<HashMap<Key, Arc<Known>>>,
    most: usize,
}

/// A conversation that a call belongs to. It stays in memory as long as this lives.
#[derive(Debug, Clone)]
pub(super) struct Held(Arc<Known>);

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
        let known = self.find(key([&caller.tenant, &caller.name, conversation]));
        let read = async {
            let session = ledger.session(&caller.name, &caller.tenant, conversation).await;
            session.map(Mutex::new)
        };
        known.session.get_or_try_init(|| read).await?;
        Ok(Some(Held(known)))
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
        self.0.session.get().map(|session| lock(session).clone()).unwrap_or_default()
    }

    /// Adds what a caller has seen of a call that is under way.
    pub(super) fn shown(&self, label: Taint) {
        if let Some(session) = self.0.session.get() {
            lock(session).taint.insert(label);
        }
    }

    /// Adds a call that was recorded.
    pub(super) fn recorded(&self, taint: &BTreeSet<Taint>) {
        if let Some(session) = self.0.session.get() {
            let mut session = lock(session);
            session.calls += 1;
            session.taint.extend(taint);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key(parts: [&str; 3]) -> Key {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests;
