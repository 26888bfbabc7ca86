//! One request to the memory from its arrival to its answer: asks policy, has the memory do it, and
//! keeps its record before the answer leaves. Holds what is in force (collections, policies, the open
//! memory) and puts it in force again when files change. Knows nothing of the wire.

mod ask;
mod error;
mod filters;
mod keep;
mod order;
mod record;
mod revision;
mod standing;
mod write;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::facade::Memory;
use super::{Collections, Config, Vision};
use crate::admission::{Caller, Entrance};
use crate::ledger::Ledger;
use crate::policy::Keepers;

pub use ask::{Asking, Shown, Stats, When};
pub use error::Error;
pub use keep::shelves;
pub use order::{Upkeep, UpkeepDone};
pub use record::Answered;
pub use standing::Standing;

/// Who asks, how that is known, and how long it waits for the answer.
#[derive(Debug)]
pub struct Visit {
    /// The caller.
    pub caller: Caller,
    /// How it was proved.
    pub proof: String,
    /// When the request arrived.
    pub received: Instant,
    /// When the caller stops waiting.
    pub deadline: Option<Instant>,
    /// Its place inside the limits; given back at the end.
    pub entrance: Entrance,
}

impl Visit {
    /// How long the caller still waits; `None` for as long as it takes.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|at| at.saturating_duration_since(Instant::now()))
    }
}

/// What a desk is made of.
#[derive(Debug, Clone)]
pub struct Place {
    /// The policies folder.
    pub policies: PathBuf,
    /// The table `memory` of the configuration.
    pub config: Config,
    /// Where records are kept.
    pub ledger: Ledger,
    /// Where the work in the background runs.
    pub tasks: TaskTracker,
    /// Ends it.
    pub stop: CancellationToken,
}

/// The desk of this daemon's memory. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Desk {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    place: Place,
    collections: Arc<ArcSwap<Collections>>,
    /// `None` while the policies cannot be used.
    keepers: ArcSwapOption<Keepers>,
    standing: watch::Sender<Standing>,
    /// Whether a task is about to open it.
    opening: AtomicBool,
    vision: Option<Arc<Vision>>,
}

impl Desk {
    /// Reads collections and policies, and begins to open the memory where there is one to be. Takes
    /// no longer than reading some small files: requests that come before it is open are told so.
    pub fn start(place: Place) -> Self {
        let (standing, _) = watch::channel(Standing::Off("it was not opened yet".to_owned()));
        let vision = place.config.vision.as_ref().map(Vision::open).transpose();
        let vision = vision.unwrap_or_else(|error| {
            tracing::error!(%error, "nothing says what images show");
            None
        });
        let inner = Inner {
            vision: vision.map(Arc::new),
            place,
            collections: Arc::new(ArcSwap::from_pointee(Collections::default())),
            keepers: ArcSwapOption::empty(),
            standing,
            opening: AtomicBool::new(false),
        };
        let desk = Self { inner: Arc::new(inner) };
        desk.reload();
        desk
    }

    /// Whether the memory is open, and why not; changes are seen by who waits for them.
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.inner.standing.subscribe()
    }

    /// What is declared.
    pub fn collections(&self) -> Arc<Collections> {
        self.inner.collections.load_full()
    }

    /// What says what an image shows, where that is configured.
    pub fn vision(&self) -> Option<Arc<Vision>> {
        self.inner.vision.clone()
    }

    fn keepers(&self) -> Result<Arc<Keepers>, Error> {
        self.inner.keepers.load_full().ok_or(Error::Unavailable(
            "the policies in `memory/*.cedar` cannot be used; the log says why".to_owned(),
        ))
    }

    /// The memory, where it is open.
    fn memory(&self) -> Result<Memory, Error> {
        match &*self.inner.standing.borrow() {
            Standing::Open(memory) => Ok(memory.clone()),
            Standing::Off(why) => Err(Error::Off(why.clone())),
            Standing::Opening => Err(Error::Unavailable("the memory is being opened".to_owned())),
            Standing::Down(why, _) => Err(Error::Unavailable(why.clone())),
        }
    }
}
