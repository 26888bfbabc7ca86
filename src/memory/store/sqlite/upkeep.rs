//! What is done beside the writer, so that no write waits for the disk: the log is flushed once a
//! second, and written back into the file when it has become long.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, SystemTime};

use rusqlite::Connection;
use tokio::sync::mpsc;

use super::super::Error;
use super::file;
use super::log::write_back;
use super::writer::Order;

/// How often the log is flushed to the disk.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// Bytes of the log from which on it is written back too.
const LONG_LOG: i64 = 16 << 20;
/// How often a long log is written back.
const CATCH_UP_EVERY: Duration = Duration::from_millis(100);
/// Bytes of the log beyond which the writer itself writes back what is left, so that it can begin
/// anew also while writes come in without a pause.
const LONGEST_LOG: i64 = 128 << 20;

struct Log {
    connection: Connection,
    path: PathBuf,
    page_bytes: i64,
    flushed: Option<SystemTime>,
}

/// Tends the log on a thread of its own, and cuts it off where that is owed. Ends when `stop` is
/// dropped.
pub(super) fn tend(
    path: &Path,
    orders: &mpsc::WeakSender<Order>,
    (stop, owed): (&Receiver<()>, &AtomicBool),
) {
    let mut log = match Log::open(path) {
        Ok(log) => log,
        Err(error) => {
            tracing::error!(%error, "the memory's log has no upkeep");
            return;
        }
    };
    let mut pause = FLUSH_EVERY;
    while stop.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let Some(orders) = orders.upgrade() else {
            return;
        };
        log.settle(owed);
        pause = log.tend(&orders).unwrap_or_else(|error| {
            tracing::warn!(%error, "the memory's log cannot be flushed");
            FLUSH_EVERY
        });
    }
}

impl Log {
    fn open(path: &Path) -> Result<Self, Error> {
        let connection = file::open_beside(path)?;
        let page_bytes = connection
            .query_row("PRAGMA page_size", [], |row| row.get(0))
            .map_err(|error| file::told(&error, path))?;
        let path = crate::config::beside(path, "-wal");
        Ok(Self { connection, path, page_bytes, flushed: None })
    }

    /// Cuts it off, where that is owed to somebody who erased something.
    fn settle(&self, owed: &AtomicBool) {
        if !owed.swap(false, Ordering::AcqRel) {
            return;
        }
        if write_back(&self.connection, "TRUNCATE") {
            tracing::info!("the memory's log is empty: what was erased is gone");
        } else {
            owed.store(true, Ordering::Release);
        }
    }

    fn tend(&mut self, orders: &mpsc::Sender<Order>) -> Result<Duration, std::io::Error> {
        let look = "PRAGMA wal_checkpoint(NOOP)";
        let pages = self.connection.query_row(look, [], |row| Ok((row.get(1)?, row.get(2)?)));
        let (pages, done): (i64, i64) = pages.map_err(std::io::Error::other)?;
        let pending = if pages > done { pages.saturating_mul(self.page_bytes) } else { 0 };
        if pending < LONG_LOG {
            self.flush()?;
            return Ok(FLUSH_EVERY);
        }
        write_back(&self.connection, "PASSIVE");
        if pending > LONGEST_LOG {
            // A full queue means that the writer is busy; the next time will do.
            let _later = orders.try_send(Order::Flush);
        }
        Ok(CATCH_UP_EVERY)
    }

    fn flush(&mut self) -> Result<(), std::io::Error> {
        let written = match std::fs::metadata(&self.path) {
            Ok(about) => about.modified()?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if self.flushed != Some(written) {
            File::open(&self.path)?.sync_data()?;
            self.flushed = Some(written);
        }
        Ok(())
    }
}
