//! The embedded store: one SQLite file that holds everything, one thread that writes it, a few
//! connections that read it, and indexes of it in memory that are made anew at every start. Serves
//! one daemon; decides nothing about what it keeps.
//!
//! Times are kept in whole microseconds; what is finer is left off. A write is in the file when it is
//! acknowledged, and outlives the death of this process; the disk itself is flushed once a second.

mod amend;
mod contract;
mod entry;
mod erase;
mod fault;
mod file;
mod load;
mod log;
mod models;
mod postings;
mod purge;
mod read;
mod rows;
mod search;
mod settle;
mod shelf;
mod shelves;
mod tags;
pub(super) mod terms;
#[cfg(test)]
mod tests;
mod triggers;
mod upkeep;
mod vectors;
mod writer;

use std::collections::{HashMap, HashSet};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc as blocking};
use std::thread;

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, mpsc};

use super::{Error, words};
use fault::Fault;
use shelves::Shelves;
use writer::{Clock, Desk, Order, Step, Task, Upkeep};

/// Jobs that may wait for the writer.
const QUEUE: usize = 256;
/// Connections that read, at most.
const READERS: usize = 8;

/// Where the file is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The database file; default the ledger's path with `.memory` added. Its folder is made with mode
    /// 0700, the file with mode 0600.
    pub path: PathBuf,
    /// Bytes that the file may have; default none. What does not fit any more is refused, and what was
    /// there stays.
    pub max_bytes: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self { path: PathBuf::new(), max_bytes: None }
    }
}

/// The store.
pub(super) struct Sqlite {
    path: PathBuf,
    orders: mpsc::Sender<Order>,
    shelves: Shelves,
    readers: Arc<Readers>,
    closed: AtomicBool,
    bare: Mutex<BareFrom>,
    /// Whether the log still has what was erased.
    owed: Arc<AtomicBool>,
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").field("path", &self.path).finish_non_exhaustive()
    }
}

/// By model: the chunk from which on there can be some without a vector.
#[derive(Default)]
struct BareFrom {
    chunks: HashMap<String, i64>,
    /// How often it was forgotten: what was read before holds no more.
    forgotten: u64,
    /// By model: chunks that are passed over.
    passed: HashMap<String, Arc<HashSet<i64>>>,
}

/// Connections that read; each serves one question at a time.
struct Readers {
    all: u32,
    idle: Mutex<Vec<Connection>>,
    turns: Arc<Semaphore>,
}

impl Sqlite {
    /// Opens the file, makes it where there is none, and makes the indexes.
    pub(super) async fn open(config: &Config) -> Result<Self, Error> {
        let config = config.clone();
        let opened = tokio::task::spawn_blocking(move || Self::open_now(&config));
        opened.await.map_err(|_cancelled| Error::Closed)?
    }

    fn open_now(config: &Config) -> Result<Self, Error> {
        let path = config.path.clone();
        let (connection, lock) = file::open(config)?;
        // What was erased before a kill is still in it.
        log::write_back(&connection, "TRUNCATE");
        let clock = connection
            .query_row("SELECT seq, recorded FROM clock", [], |row| {
                Ok(Clock { seq: row.get(0)?, recorded: row.get(1)? })
            })
            .map_err(|error| file::told(&error, &path))?;
        let shelves = Shelves::default();
        load::load(&path, clock.seq, &shelves)?;
        let readers = Arc::new(Readers::open(&path)?);
        let (orders, queue) = mpsc::channel(QUEUE);
        let (stop, stopped) = blocking::channel();
        let (own, weak) = (path.clone(), orders.downgrade());
        let owed = Arc::new(AtomicBool::new(false));
        let debt = Arc::clone(&owed);
        let tend = move || upkeep::tend(&own, &weak, (&stopped, &debt));
        let thread = start("memory-upkeep", &path, tend)?;
        let upkeep = Upkeep { stop, thread };
        let desk = Desk {
            connection,
            path: path.clone(),
            clock,
            shelves: shelves.clone(),
            is_failing: false,
            _lock: lock,
        };
        start("memory", &path, move || writer::run(desk, queue, upkeep))?;
        let (closed, bare) = (AtomicBool::new(false), Mutex::default());
        Ok(Self { path, orders, shelves, readers, closed, bare, owed })
    }

    /// Has the writer do something in one transaction.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Step<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Error> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::Closed);
        }
        let (task, answer) = Task::new(work);
        let sent = self.orders.send(Order::Do(Box::new(task))).await;
        sent.map_err(|_closed| Error::Closed)?;
        answer.await.map_err(|_closed| Error::Closed)?
    }

    /// Reads on a thread of its own, with a connection of its own.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, &Shelves) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Error> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::Closed);
        }
        let (readers, shelves) = (Arc::clone(&self.readers), self.shelves.clone());
        let path = self.path.clone();
        let turns = Arc::clone(&self.readers.turns);
        let turn = turns.acquire_owned().await.map_err(|_closed| Error::Closed)?;
        let read = tokio::task::spawn_blocking(move || {
            // Held until the thread is done, also where nobody waits for it any more.
            let _turn = turn;
            let connection = readers.take();
            let connection = match connection {
                Some(connection) => connection,
                // One that panicked took its connection along.
                None => file::open_reader(&path)?,
            };
            let result = work(&connection, &shelves).map_err(|fault| fault.told(&path));
            readers.give(connection);
            result
        });
        read.await.map_err(|_cancelled| Error::Closed)?
    }

    fn look_again_for_bare(&self) {
        let mut bare = self.bare.lock().unwrap_or_else(PoisonError::into_inner);
        bare.chunks.clear();
        bare.forgotten += 1;
    }
}

impl Readers {
    fn open(path: &Path) -> Result<Self, Error> {
        let all = thread::available_parallelism().map_or(2, NonZero::get).clamp(2, READERS);
        let idle = (0..all).map(|_| file::open_reader(path)).collect::<Result<_, _>>()?;
        let turns = Arc::new(Semaphore::new(all));
        Ok(Self { all: u32::try_from(all).unwrap_or(u32::MAX), idle: Mutex::new(idle), turns })
    }

    /// Waits for those at work, closes all connections, and serves nobody any more.
    async fn close(&self) {
        if let Ok(turns) = self.turns.acquire_many(self.all).await {
            turns.forget();
        }
        self.turns.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn take(&self) -> Option<Connection> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn give(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

fn start(
    name: &str,
    path: &Path,
    work: impl FnOnce() + Send + 'static,
) -> Result<thread::JoinHandle<()>, Error> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map_err(|error| Error::Open { place: file::place(path), reason: error.to_string() })
}
