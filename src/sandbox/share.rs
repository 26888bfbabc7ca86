//! What one caller may have of the containers at once, so that others find some too. Which of the
//! waiting calls is next is decided by the pools.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Config, Error, Lack};

/// When a call comes again that found the queue of its share full.
const RETRY: Duration = Duration::from_secs(1);

/// The share of one caller.
#[derive(Debug)]
pub(super) struct Share {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// A call that waits for a place; counts until it is dropped.
struct Waiting<'s>(&'s AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Share {
    pub(super) fn new(most: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(most)), waiting: AtomicUsize::new(0) }
    }

    /// Whether a call has a place, or waits for one.
    pub(super) fn is_used(share: &Arc<Self>) -> bool {
        Arc::strong_count(share) > 1 || Arc::strong_count(&share.places) > 1
    }

    /// Takes a place of the share, waiting for at most `patience`; `None` when that was too short.
    pub(super) async fn enter(
        &self,
        patience: Duration,
        config: &Config,
    ) -> Result<Option<OwnedSemaphorePermit>, Error> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(Some(place));
        }
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        if waiting >= usize::try_from(config.queue).unwrap_or(usize::MAX) {
            return Err(Error::Busy { lack: Lack::Full { waiting }, retry_after: RETRY });
        }
        let place = tokio::time::timeout(patience, Arc::clone(&self.places).acquire_owned()).await;
        Ok(place.ok().and_then(Result::ok))
    }
}
