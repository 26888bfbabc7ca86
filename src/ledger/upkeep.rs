//! What is done beside the writer, so that no call waits for the disk: the log is flushed and written
//! back, checkpoints are asked for, and so is the removal of old records. Writes no record.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::record::Hash;
use super::writer::{Order, write_back};
use super::{Config, Error, store};

/// How often the log is flushed to the disk.
pub(super) const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// How often records past their retention are looked for.
const PRUNE_EVERY: Duration = Duration::from_secs(3600);
/// Bytes of the log from which on it is written back too. Once all of it is, it begins anew, and its
/// first row then waits for the disk: so not while it is short.
pub(super) const LONG_LOG: i64 = 16 << 20;
/// How often a long log is written back.
const CATCH_UP_EVERY: Duration = Duration::from_millis(100);
/// Bytes of the log beyond which the writer itself writes back what is left, so that it can begin
/// anew also while calls come in without a pause.
const LONGEST_LOG: i64 = 128 << 20;

/// The log beside the database, as upkeep sees it.
#[derive(Debug)]
pub(super) struct Log {
    connection: Connection,
    path: PathBuf,
    page_bytes: i64,
    flushed: Option<SystemTime>,
}

impl Log {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let connection = store::open_beside(path)?;
        let page_bytes = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        Ok(Self { connection, path: log.into(), page_bytes, flushed: None })
    }

    /// Bytes of the log, when some of them are not written back yet.
    pub(super) fn pending(&self) -> Result<i64, Error> {
        let look = "PRAGMA wal_checkpoint(NOOP)";
        let (pages, done): (i64, i64) =
            self.connection.query_row(look, [], |row| Ok((row.get(1)?, row.get(2)?)))?;
        Ok(if pages > done { pages.saturating_mul(self.page_bytes) } else { 0 })
    }

    /// Flushes the log to the disk, and writes a long one back; says when to do so again.
    pub(super) fn tend(&mut self, orders: &mpsc::Sender<Order>) -> Result<Duration, Error> {
        let pending = self.pending()?;
        if pending < LONG_LOG {
            self.flush()?;
            return Ok(FLUSH_EVERY);
        }
        write_back(&self.connection);
        if pending > LONGEST_LOG {
            // A full queue means that the writer is busy; the next time will do.
            let _later = orders.try_send(Order::Flush);
        }
        Ok(CATCH_UP_EVERY)
    }

    fn flush(&mut self) -> Result<(), Error> {
        let failed =
            |source| Error::Open { path: self.path.clone(), source: std::sync::Arc::new(source) };
        let written = std::fs::metadata(&self.path).and_then(|log| log.modified());
        let written = written.map_err(failed)?;
        if self.flushed != Some(written) {
            File::open(&self.path).and_then(|log| log.sync_data()).map_err(failed)?;
            self.flushed = Some(written);
        }
        Ok(())
    }
}

/// When the next checkpoint is due.
#[derive(Debug)]
struct Due {
    records: i64,
    every: Duration,
    /// The newest record that is vouched for.
    marked: i64,
    /// Since when there are newer ones.
    since: Instant,
}

impl Due {
    fn new(config: &Config, log: &Log) -> Result<Self, Error> {
        let newest = "SELECT coalesce(max(seq), 0) FROM mark";
        Ok(Self {
            records: i64::from(config.checkpoint_records.max(1)),
            every: config.checkpoint_every,
            marked: log.connection.query_row(newest, [], |row| row.get(0))?,
            since: Instant::now(),
        })
    }

    /// The newest record, once it is on the disk, when it is to be signed now.
    fn look(&mut self, log: &mut Log) -> Result<Option<(i64, Hash)>, Error> {
        let (seq, hash) = store::head(&log.connection)?;
        if seq <= self.marked {
            self.since = Instant::now();
            return Ok(None);
        }
        if seq - self.marked < self.records && self.since.elapsed() < self.every {
            return Ok(None);
        }
        log.flush()?;
        Ok(Some((seq, hash)))
    }

    fn ask(&mut self, log: &mut Log, orders: &mpsc::Sender<Order>) {
        match self.look(log) {
            Ok(Some((seq, hash))) => {
                // A full queue means that the writer is busy; the next time will do.
                if orders.try_send(Order::Mark { seq, hash }).is_ok() {
                    (self.marked, self.since) = (seq, Instant::now());
                }
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "no checkpoint of the ledger can be made now"),
        }
    }
}

/// Upkeep on a thread of its own. Ends when `stop` is dropped.
pub(super) fn maintain(config: &Config, orders: &mpsc::WeakSender<Order>, stop: &Receiver<()>) {
    let opened = Log::open(&config.path).and_then(|log| Ok((Due::new(config, &log)?, log)));
    let (mut due, mut log) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            tracing::error!(%error, "the ledger has no upkeep");
            return;
        }
    };
    let retention = (config.retention_days > 0)
        .then(|| SignedDuration::from_hours(24 * i64::from(config.retention_days)));
    let (mut pruned, mut pause): (Option<Instant>, Duration) = (None, FLUSH_EVERY);
    while stop.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let Some(orders) = orders.upgrade() else {
            return;
        };
        pause = log.tend(&orders).unwrap_or_else(|error| {
            tracing::warn!(%error, "the ledger's log cannot be flushed");
            FLUSH_EVERY
        });
        due.ask(&mut log, &orders);
        if let Some(retention) = retention
            && pruned.is_none_or(|at| at.elapsed() >= PRUNE_EVERY)
        {
            pruned = Some(Instant::now());
            let before = Timestamp::now().saturating_sub(retention).unwrap_or(Timestamp::MIN);
            let (done, _) = oneshot::channel();
            let _later = orders.try_send(Order::Prune { before, done });
        }
    }
}
