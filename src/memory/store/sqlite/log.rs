//! The log of the file: written back into it, and cut off where what was erased must be nowhere any
//! more. Loses nothing: what cannot be written back yet stays in the log.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rusqlite::Connection;

use super::super::Error;
use super::{Sqlite, file};

/// How often the log is tried to be cut off, each time waiting for as long as a statement may wait,
/// before that is left to the upkeep of the file.
const TRIES: usize = 20;

/// Writes the log back into the file; whether all of it is.
pub(super) fn write_back(connection: &Connection, how: &str) -> bool {
    let sql = format!("PRAGMA wal_checkpoint({how})");
    let written = connection.query_row(&sql, [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
    });
    match written {
        Ok((busy, pages, done)) => busy == 0 && pages == done,
        Err(error) => {
            // Nothing is lost by it: it is all in the log.
            tracing::warn!(%error, "the memory's log cannot be written back");
            false
        }
    }
}

impl Sqlite {
    /// Writes the log back and cuts it off, so that nothing but the file holds anything. Waits for
    /// those who read what was there before; where they take too long, the upkeep of the file goes on
    /// trying, and the log of the daemon says so.
    pub(super) async fn empty_log(&self) -> Result<(), Error> {
        self.empty_log_in(TRIES).await
    }

    pub(super) async fn empty_log_in(&self, tries: usize) -> Result<(), Error> {
        let (path, owed) = (self.path.clone(), Arc::clone(&self.owed));
        let emptied = tokio::task::spawn_blocking(move || {
            let connection = file::open_beside(&path)?;
            if !(0..tries).any(|_| write_back(&connection, "TRUNCATE")) {
                owed.store(true, Ordering::Release);
                tracing::warn!(
                    file = file::place(&path),
                    "what was erased is still in the memory's log, since somebody reads what was \
                     there before: it is tried again every second"
                );
            }
            Ok(())
        });
        emptied.await.map_err(|_cancelled| Error::Closed)?
    }
}
