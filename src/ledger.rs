//! Room 7: one durable record of every call, chained by hashes. A [`Record`] and the reply's exact
//! bytes in; nothing out but the assurance that they are in the database file, which outlives the
//! death of this process. The disk itself is flushed once a second.

mod diagnose;
mod error;
mod export;
mod keeping;
mod key;
mod mark;
mod originals;
mod query;
mod record;
mod reply;
mod seal;
mod store;
mod story;
#[cfg(test)]
mod tests;
mod upkeep;
mod verify;
mod witness;
mod writer;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc as blocking};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::call::Session;
use crate::config::{beside, duration};
pub use error::Error;
use keeping::Keeping;
pub use key::PublicKey;
pub use mark::{Mark, Purpose};
use originals::Vault;
pub use query::{Page, Query};
use record::Row;
pub use record::{DECISION, Entry, Latencies, MEMORY, REASON, Record, Run};
use store::Store;
pub use story::{Mark as StepMark, Step, Story, tell};
pub use verify::{Against, Damage, Kind, Verification};
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
    /// The private key, in PEM, that signs checkpoints; default: the ledger's path with `.key` added.
    /// Made at the first start, with mode 0600.
    pub key: Option<PathBuf>,
    /// The file to which each checkpoint is appended as one line of JSON, so that it can be kept
    /// elsewhere; default: the ledger's path with `.checkpoints` added.
    pub checkpoints: Option<PathBuf>,
    /// Records after which a checkpoint is signed; default 1000. Looked at once a second.
    pub checkpoint_records: u32,
    /// Time after which a checkpoint is signed when there is any new record; default 5 min.
    #[serde(with = "duration")]
    pub checkpoint_every: Duration,
    /// Days after which a record is removed; default 30; 0 keeps records for ever.
    pub retention_days: u32,
    /// Bytes of a call's arguments that are kept; default 65536.
    pub arguments_bytes: usize,
    /// Keeps arguments of which a part was masked as they came too, encrypted, as long as their
    /// record; default: they are kept nowhere.
    pub originals: Option<Originals>,
}

/// How original arguments are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Originals {
    /// A file of 32 random bytes in hex or base64, which others cannot read.
    pub key: PathBuf,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            path: PathBuf::from("/var/lib/switchboard/ledger.db"),
            key: None,
            checkpoints: None,
            checkpoint_records: 1000,
            checkpoint_every: Duration::from_secs(300),
            retention_days: 30,
            arguments_bytes: 64 << 10,
            originals: None,
        }
    }
}

impl Config {
    /// Where the key is.
    pub fn key_path(&self) -> PathBuf {
        self.key.clone().unwrap_or_else(|| beside(&self.path, ".key"))
    }

    /// Where the checkpoints are.
    pub fn checkpoints_path(&self) -> PathBuf {
        self.checkpoints.clone().unwrap_or_else(|| beside(&self.path, ".checkpoints"))
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
    against: Against,
    keeping: Keeping,
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
        let keeping = Keeping::new(config)?;
        let store = Store::open(config)?;
        let reader = store::open_read_only(path)?;
        let (orders, queue) = mpsc::channel(QUEUE_ROWS);
        let (stop, stopped) = blocking::channel();
        let (weak, own) = (orders.downgrade(), config.clone());
        let thread = start(path, "ledger-upkeep", move || {
            upkeep::maintain(&own, &weak, &stopped);
        })?;
        let upkeep = Upkeep { stop, thread };
        start(path, "ledger", move || writer::run(store, queue, upkeep))?;
        Ok(Self {
            inner: Arc::new(Inner {
                path: path.clone(),
                against: Against {
                    checkpoints: Some(config.checkpoints_path()),
                    ..Against::default()
                },
                keeping,
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
                against: Against::default(),
                keeping: Keeping::nothing(),
                writer: None,
                reader: Mutex::new(reader),
            }),
        })
    }

    /// Keeps one record, with the bytes of the reply as they will be sent, but that what they repeat of
    /// sensitive arguments is masked. Returns once both are in the database file. A future that is dropped before that may or may not have kept them.
    pub async fn record(&self, record: Record, reply_json: &str) -> Result<(), Error> {
        let writer = self.inner.writer.as_ref().ok_or(Error::Closed)?;
        let (reply, inner) = (reply_json.to_owned(), Arc::clone(&self.inner));
        let large = record.arguments_json.len() + reply.len() > LARGE_BYTES;
        let make = move || Row::of_record(record, reply, &inner.keeping).map(Box::new);
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

    /// The arguments of one call as they came; `None` when they were not kept, or there is no such
    /// call. `key` is the file of the key that they were sealed with.
    pub async fn original(&self, call_id: &str, key: &Path) -> Result<Option<String>, Error> {
        let (call_id, key) = (call_id.to_owned(), key.to_owned());
        self.read(move |connection| {
            let vault = Vault::open(&key)?;
            let sealed = query::original(connection, &call_id)?;
            sealed.map(|sealed| vault.reveal(&call_id, &sealed)).transpose()
        })
        .await
    }

    /// Records without their replies, newest first.
    pub async fn search(&self, query: Query) -> Result<Vec<Entry>, Error> {
        self.read(move |connection| query::search(connection, &query)).await
    }

    /// What a caller's conversation has come to, by the records that are kept of it.
    pub async fn session(
        &self,
        caller: &str,
        tenant: &str,
        conversation: &str,
    ) -> Result<Session, Error> {
        let whose = [caller, tenant, conversation].map(str::to_owned);
        self.read(move |connection| query::session(connection, &whose)).await
    }

    /// Place and arrival of the oldest record; `None` when there is none.
    pub async fn oldest(&self) -> Result<Option<(u64, Timestamp)>, Error> {
        self.read(query::oldest).await
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

    /// Computes every hash again, holds them against the checkpoints, and names what is not as it
    /// was written. Reads the whole file; calls go on meanwhile.
    pub async fn verify(&self) -> Result<Verification, Error> {
        let inner = self.inner.clone();
        run_blocking(move || verify::database(&inner.path, &inner.against)).await
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

/// Verifies a ledger's database, or an export of one.
pub fn verify(path: &Path, against: &Against) -> Result<Verification, Error> {
    let unopened = |source| Error::Open { path: path.to_owned(), source: Arc::new(source) };
    let mut first = [0];
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut first));
    read.map_err(unopened)?;
    if first == *b"{" { export::verify(path, against) } else { verify::database(path, against) }
}

/// Gives the records that match, oldest first, as lines of JSON that [`verify`] can read; with `raw`
/// the replies are as callers got them, else masked. Ends when `write` answers false.
pub fn export(
    path: &Path,
    query: &Query,
    raw: bool,
    write: &mut dyn FnMut(&str) -> bool,
) -> Result<(), Error> {
    export::write(&store::open_read_only(path)?, (query, raw), write)
}

/// The key with which a ledger says it is signed; `None` for one that never was.
pub fn public_key(path: &Path) -> Result<Option<PublicKey>, Error> {
    let connection = store::open_read_only(path)?;
    if store::is_signed(&connection)? { seal::known_key(&connection, path) } else { Ok(None) }
}

/// The stored reply of a record for the eyes of a person: masked are the places that its record names,
/// values under secret names, and what looks sensitive.
pub fn shown_reply(entry: &Entry) -> serde_json::Value {
    reply::shown(entry.reply_json.as_deref().unwrap_or_default(), &entry.facts)
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
