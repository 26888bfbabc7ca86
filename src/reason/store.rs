//! Where runs are kept: an event in, and a receipt once it is in the file, so that it survives the end of
//! the process. Reads beside the writer. Knows nothing of what the events mean.

mod file;
mod read;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::event::Kept;
use super::{Error, Filter, RunId, State, Summary};
use crate::admission::Caller;
use writer::Order;

/// Events that one read gives at most.
const PAGE: u32 = 256;

/// The store of runs. Clones are the same one.
#[derive(Debug, Clone)]
pub(super) struct Store {
    orders: mpsc::UnboundedSender<Order>,
    reader: Arc<Mutex<Connection>>,
}

/// What a list says of a run, brought up to date with each event.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Head {
    pub(super) state: Option<State>,
    pub(super) ended: Option<Timestamp>,
    pub(super) steps: u32,
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) estimated: bool,
    pub(super) money: String,
    pub(super) code: String,
}

/// The row of a run that begins.
#[derive(Debug, Clone)]
pub(super) struct Birth {
    pub(super) caller: Caller,
    pub(super) conversation: String,
    pub(super) agent: String,
    pub(super) question: String,
}

/// An event on its way into the file; ends once it is there.
#[derive(Debug)]
pub(super) struct Receipt(oneshot::Receiver<Result<(), Error>>);

impl Receipt {
    pub(super) async fn kept(self) -> Result<(), Error> {
        self.0.await.unwrap_or(Err(Error::Draining))
    }
}

impl Store {
    /// Opens the runs of an earlier daemon, or makes the file; no other daemon can have it meanwhile.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let file = file::File::open(path)?;
        let reader = file::beside(path)?;
        let (orders, queue) = mpsc::unbounded_channel();
        let name = "switchboard-runs".to_owned();
        let thread = std::thread::Builder::new().name(name);
        thread.spawn(move || writer::run(file, queue)).map_err(|error| Error::Open {
            path: path.to_owned(),
            reason: format!("its thread cannot be started: {error}"),
        })?;
        Ok(Self { orders, reader: Arc::new(Mutex::new(reader)) })
    }

    /// Sends an event on its way, behind all that were sent before; `birth` with the first of a run.
    pub(super) fn send(&self, kept: &Kept, birth: Option<Birth>, head: Head) -> Receipt {
        let (done, receipt) = oneshot::channel();
        match serde_json::to_string(&kept.event) {
            Ok(event) => {
                let row = Box::new(writer::Row::of(kept, event, birth, head));
                // Where the thread is gone, so is the other end of `done`.
                drop(self.orders.send(Order::Write { row, done }));
            }
            Err(error) => {
                let unread = Error::Unread {
                    run: kept.run.to_string(),
                    seq: kept.seq,
                    reason: error.to_string(),
                };
                drop(done.send(Err(unread)));
            }
        }
        Receipt(receipt)
    }

    /// Forgets runs that ended before this, some at a time, so that events are kept between; how many.
    pub(super) async fn forget(&self, before: Timestamp) -> Result<u64, Error> {
        let mut forgotten = 0;
        loop {
            let (done, receipt) = oneshot::channel();
            drop(self.orders.send(Order::Forget { before, done }));
            match receipt.await.unwrap_or(Err(Error::Draining))? {
                0 => return Ok(forgotten),
                some => forgotten += some,
            }
        }
    }

    /// All events of a run behind `after`, a page of them.
    pub(super) async fn events(&self, run: &RunId, after: u64) -> Result<Vec<Kept>, Error> {
        let run = run.clone();
        self.read(move |connection| read::events(connection, &run, after, PAGE)).await
    }

    /// Every event of a run.
    pub(super) async fn whole(&self, run: &RunId) -> Result<Vec<Kept>, Error> {
        let run = run.clone();
        self.read(move |connection| read::events(connection, &run, 0, u32::MAX)).await
    }

    /// The runs that have not ended, with whose they are, oldest first.
    pub(super) async fn open_runs(&self) -> Result<Vec<(RunId, String, String)>, Error> {
        self.read(read::open_runs).await
    }

    /// A run of this caller in short.
    pub(super) async fn summary(&self, caller: &Caller, run: &RunId) -> Result<Summary, Error> {
        let (caller, id) = (caller.clone(), run.clone());
        let found = self.read(move |connection| read::summary(connection, &caller, &id)).await?;
        found.ok_or_else(|| Error::Unknown(run.to_string()))
    }

    /// Runs of this caller, those started last first.
    pub(super) async fn list(&self, by: &Caller, filter: Filter) -> Result<Vec<Summary>, Error> {
        let by = by.clone();
        self.read(move |connection| read::list(connection, &by, &filter)).await
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let reader = Arc::clone(&self.reader);
        let read = tokio::task::spawn_blocking(move || {
            work(&reader.lock().unwrap_or_else(PoisonError::into_inner))
        });
        read.await.map_err(|_cancelled| Error::Draining)?
    }
}
