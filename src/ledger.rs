//! Room 7: one durable record of every call, chained by hashes. A [`Record`] and the reply's exact
//! bytes in; nothing out but the assurance that they are in the database file, which outlives the
//! death of this process. The disk itself is flushed once a second.

mod error;
mod mask;
mod query;
mod record;
mod store;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc as blocking};
use std::thread::{self, JoinHandle};

use jiff::SignedDuration;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, mpsc, oneshot};

pub use error::Error;
pub use query::{Break, Page, Query, Verification};
use record::Row;
pub use record::{Entry, Latencies, Record, Run};
use store::Store;
use writer::{Order, Upkeep};

/// Rows that may wait for the writer.
const QUEUE_ROWS: usize = 4096;
/// Bytes of arguments and reply beyond which a row is made on a thread of its own.
const LARGE_BYTES: usize = 16 << 10;
/// Memory of the rows that may wait for the writer, in KiB.
const QUEUE_KIB: u32 = 64 << 10;

/// Where the ledger is, and how much it keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The database file; default `/var/lib/switchboard/ledger.db`. Its folder is made with mode
    /// 0700, the file with mode 0600.
    pub path: PathBuf,
    /// Days after which a record is removed; default 30; 0 keeps records for ever.
    pub retention_days: u32,
    /// Bytes of a call's arguments that are kept; default 65536.
    pub arguments_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            path: PathBuf::from("/var/lib/switchboard/ledger.db"),
            retention_days: 30,
            arguments_bytes: 64 << 10,
        }
    }
}

/// A ledger file, open. Clones are the same ledger.
#[derive(Debug, Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    keep: usize,
    /// `None` for a ledger that is only read.
    writer: Option<Writer>,
    reader: Mutex<Connection>,
}

#[derive(Debug)]
struct Writer {
    orders: mpsc::Sender<Order>,
    room: Arc<Semaphore>,
}

impl Ledger {
    /// Opens the ledger for writing, and makes it when there is none. Refuses a file of another
    /// kind, a damaged one, and one that another daemon writes to.
    pub fn open(config: &Config) -> Result<Self, Error> {
        let path = &config.path;
        let store = Store::open(path)?;
        let reader = store::open_read_only(path)?;
        let (orders, queue) = mpsc::channel(QUEUE_ROWS);
        let (stop, stopped) = blocking::channel();
        let retention = (config.retention_days > 0)
            .then(|| SignedDuration::from_hours(24 * i64::from(config.retention_days)));
        let (weak, beside) = (orders.downgrade(), path.clone());
        let thread = start(path, "ledger-upkeep", move || {
            writer::maintain(&beside, &weak, &stopped, retention);
        })?;
        let upkeep = Upkeep { stop, thread };
        start(path, "ledger", move || writer::run(store, queue, upkeep))?;
        Ok(Self {
            inner: Arc::new(Inner {
                path: path.clone(),
                keep: config.arguments_bytes,
                writer: Some(Writer {
                    orders,
                    room: Arc::new(Semaphore::new(
                        usize::try_from(QUEUE_KIB).unwrap_or(usize::MAX),
                    )),
                }),
                reader: Mutex::new(reader),
            }),
        })
    }

    /// Opens an existing ledger for reading, whether or not a daemon writes to it.
    pub fn open_read_only(path: &Path) -> Result<Self, Error> {
        let reader = store::open_read_only(path)?;
        Ok(Self {
            inner: Arc::new(Inner {
                path: path.to_owned(),
                keep: 0,
                writer: None,
                reader: Mutex::new(reader),
            }),
        })
    }

    /// Keeps one record, with the bytes of the reply as they will be sent. Returns once both are in
    /// the database file. A future that is dropped before that may or may not have kept them.
    pub async fn record(&self, record: Record, reply_json: &str) -> Result<(), Error> {
        let writer = self.inner.writer.as_ref().ok_or(Error::Closed)?;
        let (reply, keep) = (reply_json.to_owned(), self.inner.keep);
        let large = record.arguments_json.len() + reply.len() > LARGE_BYTES;
        let make = move || Ok(Box::new(Row::of_record(record, reply, keep)));
        // Masking and digests of much text take their time, which other calls should not wait for.
        let row = if large { run_blocking(make).await? } else { make()? };
        let kib = u32::try_from(row.size() / 1024 + 1).unwrap_or(QUEUE_KIB);
        let room = writer.room.clone();
        let permit =
            room.acquire_many_owned(kib.min(QUEUE_KIB)).await.map_err(|_closed| Error::Closed)?;
        let (done, kept) = oneshot::channel();
        self.send(Order::Write { row, done, permit }).await?;
        kept.await.map_err(|_closed| Error::Closed)?
    }

    /// The record of one call, with its reply.
    pub async fn get(&self, call_id: &str) -> Result<Option<Entry>, Error> {
        let call_id = call_id.to_owned();
        self.read(move |connection| query::get(connection, &call_id)).await
    }

    /// Records without their replies, newest first.
    pub async fn search(&self, query: Query) -> Result<Vec<Entry>, Error> {
        self.read(move |connection| query::search(connection, &query)).await
    }

    /// `limit` bytes of a call's stored reply from `offset`; `None` when there is no such call. A
    /// `limit` of 0 tells whose it is and how long.
    pub async fn result(
        &self,
        call_id: &str,
        offset: u64,
        limit: u32,
    ) -> Result<Option<Page>, Error> {
        let call_id = call_id.to_owned();
        self.read(move |connection| query::page(connection, &call_id, offset, limit)).await
    }

    /// Computes every hash again and finds the first record that was changed or removed. Reads the
    /// whole file; calls go on meanwhile. It finds what was changed in the file, not a file that
    /// somebody wrote anew from end to end.
    pub async fn verify(&self) -> Result<Verification, Error> {
        let path = self.inner.path.clone();
        run_blocking(move || query::verify(&store::open_read_only(&path)?)).await
    }

    /// Writes what was handed in before, and closes the file. Later records are refused.
    pub async fn close(self) -> Result<(), Error> {
        let (done, closed) = oneshot::channel();
        self.send(Order::Close { done }).await?;
        closed.await.map_err(|_closed| Error::Closed)
    }

    async fn send(&self, order: Order) -> Result<(), Error> {
        let writer = self.inner.writer.as_ref().ok_or(Error::Closed)?;
        let sent = writer.orders.send(order).await;
        sent.map_err(|_closed| Error::Closed)
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let inner = self.inner.clone();
        run_blocking(move || {
            // A reader that panicked has left the connection as it was.
            let connection = inner.reader.lock().unwrap_or_else(PoisonError::into_inner);
            work(&connection)
        })
        .await
    }
}

/// JSON text with what looks secret masked, for the eyes of a person: a stored reply is kept as the
/// caller got it.
pub fn mask_json(text: &str) -> String {
    mask::Masker::of_tool(None).json(text, usize::MAX)
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|_cancelled| Error::Closed)?
}

fn start(
    path: &Path,
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, Error> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map_err(|source| Error::Open { path: path.to_owned(), source: Arc::new(source) })
}
