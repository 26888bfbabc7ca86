//! The one thread that writes. Rows come in over a queue; whatever has queued up while the last
//! commit was under way goes into the next, and each sender hears of its own row after the commit.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Instant;

use jiff::Timestamp;
use rusqlite::{Connection, params};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::Error;
use super::mark::Purpose;
use super::record::{Hash, Row};
use super::store::{self, Store};

/// Rows of one commit, at most.
const BATCH_ROWS: usize = 256;
/// Bytes of one commit after which it takes no further row.
const BATCH_BYTES: usize = 4 << 20;
/// Records that one transaction prunes, so that calls do not wait for long.
const PRUNE_ROWS: i64 = 500;

/// What the writer can be told.
#[derive(Debug)]
pub(super) enum Order {
    /// Write this row; the permit is its share of the queue's memory.
    Write { row: Box<Row>, done: oneshot::Sender<Result<(), Error>>, permit: OwnedSemaphorePermit },
    /// Remove records that are older than this; answers how many were.
    Prune { before: Timestamp, done: oneshot::Sender<Result<u64, Error>> },
    /// Sign this place in the chain, which is on the disk.
    Mark { seq: i64, hash: Hash },
    /// Write the log back.
    Flush,
    /// Finish what came before, and end.
    Close { done: oneshot::Sender<()> },
}

/// The thread that keeps the file in order; it ends when `stop` is dropped.
#[derive(Debug)]
pub(super) struct Upkeep {
    pub(super) stop: Sender<()>,
    pub(super) thread: JoinHandle<()>,
}

/// A row that waits for its commit.
type Waiting = (Box<Row>, oneshot::Sender<Result<(), Error>>, OwnedSemaphorePermit);

/// Writes until it is told to close, or until nobody is left to tell it anything.
pub(super) fn run(mut store: Store, mut orders: mpsc::Receiver<Order>, upkeep: Upkeep) {
    let mut held: VecDeque<Order> = VecDeque::new();
    while let Some(order) = held.pop_front().or_else(|| orders.blocking_recv()) {
        match order {
            Order::Write { row, done, permit } => {
                let batch = vec![(row, done, permit)];
                held.extend(write(&mut store, batch, &mut orders));
            }
            Order::Prune { before, done } => {
                let mut removed = 0;
                let result = loop {
                    match prune(&mut store, before) {
                        Ok(0) => break Ok(removed),
                        Ok(rows) => removed += rows,
                        Err(error) => break Err(error),
                    }
                    held.extend(write(&mut store, Vec::new(), &mut orders));
                };
                // Whoever asked may have gone; the records are gone all the same.
                let _gone = done.send(result);
            }
            Order::Mark { seq, hash } => mark(&mut store, seq, &hash),
            Order::Flush => write_back(&store.connection),
            Order::Close { done } => {
                drop(orders);
                end(store, upkeep);
                let _gone = done.send(());
                return;
            }
        }
    }
    end(store, upkeep);
}

/// Leaves one file that holds everything, unless somebody still reads.
fn end(mut store: Store, upkeep: Upkeep) {
    drop(upkeep.stop);
    if upkeep.thread.join().is_err() {
        tracing::error!("the ledger's upkeep ended early");
    }
    // What is signed must be on the disk before.
    write_back(&store.connection);
    match store.head() {
        Ok((seq, hash)) => mark(&mut store, seq, &hash),
        Err(error) => tracing::error!(%error, "the ledger's end cannot be signed"),
    }
    let whole = "PRAGMA wal_checkpoint(TRUNCATE)";
    if let Err(error) = store.connection.query_row(whole, [], |_| Ok(())) {
        tracing::warn!(%error, "the ledger's log cannot be written back");
    }
    drop(store);
}

fn mark(store: &mut Store, seq: i64, hash: &Hash) {
    if let Err(error) = store.mark(seq, hash) {
        // The records are there; the next checkpoint vouches for them too.
        let error: &dyn std::error::Error = &error;
        tracing::error!(error, "a checkpoint of the ledger cannot be signed");
    }
}

/// Commits a batch with all that already waits; returns the first order that is no row.
fn write(
    store: &mut Store,
    mut batch: Vec<Waiting>,
    orders: &mut mpsc::Receiver<Order>,
) -> Option<Order> {
    let other = fill(&mut batch, orders);
    if !batch.is_empty() {
        commit(store, batch);
    }
    other
}

/// Adds the rows that already wait; returns the first order that is no row.
fn fill(batch: &mut Vec<Waiting>, orders: &mut mpsc::Receiver<Order>) -> Option<Order> {
    let mut bytes: usize = batch.iter().map(|(row, ..)| row.size()).sum();
    while batch.len() < BATCH_ROWS && bytes < BATCH_BYTES {
        match orders.try_recv() {
            Ok(Order::Write { row, done, permit }) => {
                bytes += row.size();
                batch.push((row, done, permit));
            }
            Ok(other) => return Some(other),
            Err(_) => break,
        }
    }
    None
}

fn commit(store: &mut Store, batch: Vec<Waiting>) {
    let started = Instant::now();
    let result = insert(&mut store.connection, batch.iter().map(|(row, ..)| &**row));
    if let Err(error) = &result
        && batch.len() > 1
        && !error.concerns_all()
    {
        // One row is at fault; the others must not share its fate.
        for waiting in batch {
            commit(store, vec![waiting]);
        }
        return;
    }
    let rows = u64::try_from(batch.len()).unwrap_or(u64::MAX);
    match &result {
        Ok(()) => metrics::counter!("switchboard_ledger_records_total").increment(rows),
        Err(_) => metrics::counter!("switchboard_ledger_errors_total").increment(rows),
    }
    tell(store, result.as_ref().err());
    metrics::histogram!("switchboard_ledger_commit_seconds").record(started.elapsed());
    for (_, done, _) in batch {
        // Whoever waited may have gone away; its record stays.
        let _gone = done.send(result.clone());
    }
}

/// Logs the first failure of several, and the end of them.
fn tell(store: &mut Store, error: Option<&Error>) {
    match error {
        Some(error) if !store.is_failing => {
            let error: &dyn std::error::Error = error;
            tracing::error!(error, "records cannot be written, so no call is answered");
        }
        None if store.is_failing => tracing::info!("records are written again"),
        _ => {}
    }
    store.is_failing = error.is_some_and(Error::concerns_all);
}

/// Appends rows to the chain in one transaction.
fn insert<'a>(
    connection: &mut Connection,
    rows: impl Iterator<Item = &'a Row>,
) -> Result<(), Error> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let (mut seq, mut hash) = store::head(&transaction)?;
    {
        let mut statement = transaction.prepare_cached(
            "INSERT INTO call VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?;
        let mut original = transaction.prepare_cached("INSERT INTO original VALUES (?1, ?2)")?;
        for row in rows {
            seq += 1;
            hash = row.parts().link(&hash, seq);
            statement.execute(params![
                seq,
                row.call_id,
                row.time_ms,
                row.caller,
                row.tenant,
                row.conversation,
                row.tool,
                row.status,
                row.code,
                row.arguments,
                row.facts,
                row.reply,
                row.reply_digest,
                hash,
            ])?;
            if let Some(sealed) = &row.original {
                original.execute(params![seq, sealed])?;
            }
        }
    }
    transaction
        .prepare_cached("UPDATE chain SET head_seq = ?1, head_hash = ?2")?
        .execute(params![seq, hash])?;
    transaction.commit()?;
    Ok(())
}

/// Removes some of the oldest records, if they are older than `before`, and lets the chain begin
/// after them, which a signed anchor says; answers how many.
fn prune(store: &mut Store, before: Timestamp) -> Result<u64, Error> {
    let Store { connection, seal, .. } = store;
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let mut last: Option<(i64, Hash)> = None;
    {
        let mut statement = transaction
            .prepare_cached("SELECT seq, hash, time_ms FROM call ORDER BY seq LIMIT ?1")?;
        let mut rows = statement.query([PRUNE_ROWS])?;
        while let Some(row) = rows.next()? {
            if row.get::<_, i64>(2)? >= before.as_millisecond() {
                break;
            }
            last = Some((row.get(0)?, row.get(1)?));
        }
    }
    let Some((seq, hash)) = last else {
        return Ok(0);
    };
    let rows = transaction.execute("DELETE FROM call WHERE seq <= ?1", [seq])?;
    transaction.execute("DELETE FROM original WHERE seq <= ?1", [seq])?;
    transaction.execute("UPDATE chain SET base_seq = ?1, base_hash = ?2", params![seq, hash])?;
    transaction.execute("DELETE FROM mark WHERE seq < ?1", [seq])?;
    seal.sign(Purpose::Anchor, seq, &hash)?.insert(&transaction)?;
    transaction.commit()?;
    Ok(u64::try_from(rows).unwrap_or(u64::MAX))
}

pub(super) fn write_back(connection: &Connection) {
    let passive = "PRAGMA wal_checkpoint(PASSIVE)";
    if let Err(error) = connection.query_row(passive, [], |_| Ok(())) {
        // Nothing is lost by it: the records are in the log.
        tracing::warn!(%error, "the ledger's log cannot be written back");
    }
}
