//! The reasoning service's core: a question of a caller in, a run out, which is a list of kept events
//! with one end. A run calls tools through the pipeline and asks the memory at its desk, as its own
//! caller and in no other way. Knows nothing of the wire.

mod act;
mod agent;
mod cache;
mod clock;
mod compare;
mod config;
mod drive;
mod errand;
mod error;
pub mod event;
mod follow_up;
mod front;
mod going;
mod judge;
mod life;
mod log;
mod message;
mod observe;
mod output;
mod plan;
mod proof;
mod prompt;
mod recall;
mod refusal;
mod route;
mod rules;
mod run;
mod state;
mod store;
#[cfg(test)]
mod tests;
mod telling;
mod tongue;
mod tools;
mod turn;
mod unasked;
mod worked;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use futures::Stream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::evidence::{Rules, Trace};
use crate::memory::{Desk, context as contexts};
use crate::model::Models;
use crate::pipeline::Pipeline;

pub use agent::{Agents, Surroundings};
pub use cache::{Config as CacheConfig, Served};
pub use config::Config;
pub use error::Error;
pub use event::{Event, Kept};
pub use front::{Front, FrontPlace, Standing, Unserved};
pub use run::{Asked, Filter, Limits, RunId, State, Summary, Visitor};

use going::Going;
use store::Store;

/// What the runs of a daemon are made of.
#[derive(Debug)]
pub struct Place {
    /// The table `reason` of the configuration, with the path of the database.
    pub config: Config,
    /// The table `memory.context`: how contexts are put together.
    pub context: contexts::Config,
    /// The policies folder, for rules and agents.
    pub policies: PathBuf,
    /// The only way to a tool.
    pub pipeline: Arc<Pipeline>,
    /// The only way to the memory.
    pub desk: Desk,
    /// The models.
    pub models: Models,
    /// Where runs and their calls run; a drain waits for it.
    pub tasks: TaskTracker,
    /// Ends everything.
    pub stop: CancellationToken,
}

/// The runs of this daemon. Clones are the same ones.
#[derive(Debug, Clone)]
pub struct Runs {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: Config,
    policies: PathBuf,
    pipeline: Arc<Pipeline>,
    desk: Desk,
    models: Models,
    tasks: TaskTracker,
    store: Store,
    contexts: contexts::Context,
    rules: ArcSwap<Rules>,
    agents: ArcSwap<Agents>,
    cache: cache::Cache,
    /// The runs that are worked on.
    going: Mutex<HashMap<RunId, Arc<Going>>>,
    /// Held while a run is taken up again.
    turn: tokio::sync::Mutex<()>,
    /// No run begins or goes on any more once this is cancelled.
    closing: CancellationToken,
}

impl Runs {
    /// Opens the store, reads rules and agents, and goes on with every run that had not ended.
    pub async fn open(place: Place) -> Result<Self, Error> {
        life::open(place).await
    }

    /// Reads rules and agents again. What is broken keeps its last good state, and the log says so.
    /// Blocks for as long as reading some small files takes.
    pub fn reload(&self) {
        self.inner.reload();
    }

    /// Starts a run. It is on the disk when its id is returned.
    pub async fn start(&self, visitor: &Visitor, asked: Asked) -> Result<RunId, Error> {
        self.inner.begin(visitor, asked).await
    }

    /// Goes on with a run of the caller that waits for an approval, to look whether it was decided. One
    /// that is worked on or has ended stays as it is: there is one executor for a run, ever.
    pub async fn resume(&self, visitor: &Visitor, run: &RunId) -> Result<(), Error> {
        self.inner.poke(visitor, run).await
    }

    /// Ends a run of the caller; false when it had ended. Returns once that is on the disk.
    pub async fn cancel(&self, visitor: &Visitor, run: &RunId) -> Result<bool, Error> {
        self.inner.cancel(visitor, run).await
    }

    /// The events of a run of the caller behind `after`, and those still to come, to its end; any number
    /// of followers see the same. Ends with [`Error::Draining`] where the daemon ends first.
    pub fn follow(
        &self,
        visitor: &Visitor,
        run: &RunId,
        after: u64,
    ) -> impl Stream<Item = Result<Kept, Error>> + Send + 'static + use<> {
        telling::follow(Arc::clone(&self.inner), (visitor.clone(), run.clone()), after)
    }

    /// A run of the caller in short.
    pub async fn summary(&self, visitor: &Visitor, run: &RunId) -> Result<Summary, Error> {
        self.inner.store.summary(&visitor.caller, run).await
    }

    /// The evidence of a run of the caller, as far as it has come.
    pub async fn trace(&self, visitor: &Visitor, run: &RunId) -> Result<Trace, Error> {
        telling::trace(&self.inner, visitor, run).await
    }

    /// Runs of the caller, those started last first.
    pub async fn list(&self, visitor: &Visitor, filter: Filter) -> Result<Vec<Summary>, Error> {
        self.inner.store.list(&visitor.caller, filter).await
    }

    /// Why no run can be started, and how one could; `None` where one can.
    pub fn off(&self) -> Option<&'static str> {
        self.inner.off()
    }

    /// The agents that are declared.
    pub fn agents(&self) -> Arc<Agents> {
        self.inner.agents.load_full()
    }

    /// Begins no run and no step any more: each run ends after what it is doing, to be gone on with by
    /// the next daemon. First thing of a drain.
    pub fn close(&self) {
        self.inner.closing.cancel();
    }
}
