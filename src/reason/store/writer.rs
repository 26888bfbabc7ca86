//! The one thread that writes. Events come in over a queue; what has queued up while the last commit was
//! under way goes into the next, and each sender hears of its own after the commit. Where many come, a commit
//! waits a moment for more of them, since its cost is that of its pages and not of its events.

use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, TransactionBehavior, params};
use tokio::sync::{mpsc, oneshot};

use super::super::{Error, State};
use super::file::File;
use super::{Birth, Head, Kept};

/// Events of one commit, at most.
const BATCH: usize = 256;
/// Events of a commit behind which the next one waits for more.
const CROWD: usize = 8;
/// How long it waits; little beside what a crowd's event waits for anyway.
const GATHER: Duration = Duration::from_millis(1);
/// Runs that one transaction forgets, so that events do not wait for long.
const FORGET: i64 = 64;

/// What the writer can be told.
#[derive(Debug)]
pub(super) enum Order {
    /// Keep this event.
    Write { row: Box<Row>, done: oneshot::Sender<Result<(), Error>> },
    /// Forget some of the runs that ended before this.
    Forget { before: Timestamp, done: oneshot::Sender<Result<u64, Error>> },
}

/// An event as it is stored.
#[derive(Debug)]
pub(super) struct Row {
    run: String,
    seq: i64,
    at: Timestamp,
    step: u32,
    task: String,
    event: String,
    birth: Option<Birth>,
    head: Head,
}

type Waiting = (Box<Row>, oneshot::Sender<Result<(), Error>>);

impl Row {
    pub(super) fn of(kept: &Kept, event: String, birth: Option<Birth>, head: Head) -> Self {
        Self {
            run: kept.run.to_string(),
            seq: i64::try_from(kept.seq).unwrap_or(i64::MAX),
            at: kept.at,
            step: kept.step,
            task: kept.task.clone(),
            event,
            birth,
            head,
        }
    }
}

/// Writes until nobody is left to send anything.
pub(super) fn run(mut file: File, mut orders: mpsc::UnboundedReceiver<Order>) {
    let (mut held, mut last) = (None, 0);
    while let Some(order) = held.take().or_else(|| orders.blocking_recv()) {
        match order {
            Order::Write { row, done } => {
                if last >= CROWD {
                    std::thread::sleep(GATHER);
                }
                let mut batch = vec![(row, done)];
                held = fill(&mut batch, &mut orders);
                last = batch.len();
                commit(&mut file.connection, batch);
            }
            Order::Forget { before, done } => {
                // Whoever asked may have gone; the runs are gone all the same.
                drop(done.send(forget(&mut file.connection, before)));
            }
        }
    }
}

/// Adds the events that already wait; returns the first order that is none.
fn fill(batch: &mut Vec<Waiting>, orders: &mut mpsc::UnboundedReceiver<Order>) -> Option<Order> {
    while batch.len() < BATCH {
        match orders.try_recv() {
            Ok(Order::Write { row, done }) => batch.push((row, done)),
            Ok(other) => return Some(other),
            Err(_) => break,
        }
    }
    None
}

fn commit(connection: &mut Connection, batch: Vec<Waiting>) {
    let result = insert(connection, batch.iter().map(|(row, _)| &**row)).map_err(Error::from);
    if result.is_err() && batch.len() > 1 {
        // One event is at fault; the others must not share its fate.
        for waiting in batch {
            commit(connection, vec![waiting]);
        }
        return;
    }
    if let Err(error) = &result {
        let error: &dyn std::error::Error = error;
        tracing::error!(error, "events of a run cannot be kept, so the run stops");
    }
    let events = u64::try_from(batch.len()).unwrap_or(u64::MAX);
    let outcome = if result.is_ok() { "kept" } else { "failed" };
    metrics::counter!("switchboard_reason_events_total", "outcome" => outcome).increment(events);
    for (_, done) in batch {
        // Whoever waited may have gone away; its event stays.
        drop(done.send(result.clone()));
    }
}

fn insert<'r>(
    connection: &mut Connection,
    rows: impl Iterator<Item = &'r Row>,
) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut born = transaction.prepare_cached(
            "INSERT INTO run VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL, ?8, 0, 0, 0, 0, 0, '0', '')",
        )?;
        let mut event =
            transaction.prepare_cached("INSERT INTO event VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        let mut head = transaction.prepare_cached(
            "UPDATE run SET last_seq = ?2, state = ?3, ended_ms = ?4, steps = ?5, input = ?6, \
             output = ?7, estimated = ?8, money = ?9, code = ?10 \
             WHERE id = ?1 AND last_seq = ?2 - 1",
        )?;
        for row in rows {
            if let Some(birth) = &row.birth {
                born.execute(params![
                    row.run,
                    birth.caller.name,
                    birth.caller.tenant,
                    birth.conversation,
                    birth.agent,
                    birth.question,
                    row.at.as_millisecond(),
                    State::Running.as_str(),
                ])?;
            }
            let at = row.at.as_microsecond();
            event.execute(params![row.run, row.seq, at, row.step, row.task, row.event])?;
            let Head { state, ended, steps, input, output, estimated, money, code } = &row.head;
            let known = head.execute(params![
                row.run,
                row.seq,
                state.unwrap_or(State::Running).as_str(),
                ended.map(Timestamp::as_millisecond),
                steps,
                i64::try_from(*input).unwrap_or(i64::MAX),
                i64::try_from(*output).unwrap_or(i64::MAX),
                estimated,
                money,
                code,
            ])?;
            if known != 1 {
                // The one before it could not be kept: behind it is nothing.
                return Err(rusqlite::Error::StatementChangedRows(known));
            }
        }
    }
    transaction.commit()
}

/// Forgets some runs that ended before this; how many.
fn forget(connection: &mut Connection, before: Timestamp) -> Result<u64, Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let old = "SELECT id FROM run WHERE ended_ms < ?1 ORDER BY ended_ms LIMIT ?2";
    let cut = params![before.as_millisecond(), FORGET];
    transaction.execute(&format!("DELETE FROM event WHERE run IN ({old})"), cut)?;
    let gone = transaction.execute(&format!("DELETE FROM run WHERE id IN ({old})"), cut)?;
    transaction.commit()?;
    Ok(u64::try_from(gone).unwrap_or(u64::MAX))
}
