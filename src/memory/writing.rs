//! The way into the memory. Drafts in, receipts out at once, durable; what follows (screen, conflict
//! check, chunks, vectors, store) is worked off behind, in the order of arrival for each source id, and
//! goes on where it stopped after a kill. Whether a caller may write at all was decided before.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::collection::Collections;
use super::embed::Embedder;
use super::fault::Error;
use super::rights::Rights;
use super::store::{Receipt, Store};
use super::unit::{Draft, UnitId};
use crate::config::duration;

/// How much may wait, and how it is worked off.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Acknowledged writes that may wait to be worked on; more are refused with a delay; default
    /// 100000.
    pub waiting: u64,
    /// Bytes of the writes that may wait; default 268435456 (256 MiB).
    pub waiting_bytes: u64,
    /// Writes that are worked on together, 1 to 1024; default 256.
    pub batch: usize,
    /// Longest that a caller can wait for its write to be stored; default 30 s.
    #[serde(with = "duration")]
    pub longest_wait: Duration,
    /// Time for the vectors of one batch, after which its units are stored without; default 30 s.
    #[serde(with = "duration")]
    pub embed_within: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            waiting: 100_000,
            waiting_bytes: 256 << 20,
            batch: 256,
            longest_wait: Duration::from_secs(30),
            embed_within: Duration::from_secs(30),
        }
    }
}

/// What the write path works with.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Where units are kept.
    pub store: Arc<dyn Store>,
    /// Makes vectors; `None`: units are kept without.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The collections in force; swapped when the policies folder changed.
    pub collections: Arc<ArcSwap<Collections>>,
    /// Where the work in the background runs.
    pub tasks: TaskTracker,
    /// Ends it; what was acknowledged waits for the next start then.
    pub stop: CancellationToken,
}

/// The write path. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Writing {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    parts: Parts,
    config: Config,
}

impl Writing {
    /// Begins to work off what waits, and to take more.
    pub async fn start(parts: Parts, config: Config) -> Result<Self, Error> {
        let inner = Inner { parts, config };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Takes drafts of one caller, in this order; each is acknowledged, and then survives a kill, or
    /// refused on its own. With `wait` the receipts tell how far each came within that time.
    pub async fn remember(
        &self,
        rights: &Rights,
        drafts: Vec<Draft>,
        wait: Option<Duration>,
    ) -> Vec<Result<Receipt, Error>> {
        let _ = (rights, wait);
        drafts.into_iter().map(|_| Err(super::store::Error::Closed.into())).collect()
    }

    /// What became of a write of this caller, or, for a reviewer, of anybody's in the tenant; waits
    /// until it is worked on, at most so long.
    pub async fn receipt(
        &self,
        rights: &Rights,
        id: &str,
        wait: Option<Duration>,
    ) -> Result<Receipt, Error> {
        let _ = (rights, wait);
        Err(Error::unknown("receipt", id))
    }

    /// Hides a unit from now on (its history stays), or, with `erase`, removes every version of it
    /// for ever, on every axis. One's own, or as a reviewer anybody's in the tenant. Gives the number
    /// of versions.
    pub async fn forget(&self, rights: &Rights, unit: &UnitId, erase: bool) -> Result<u64, Error> {
        let _ = (rights, erase);
        Err(Error::unknown("unit", unit))
    }

    pub(super) fn store(&self) -> &dyn Store {
        self.inner.parts.store.as_ref()
    }
}
