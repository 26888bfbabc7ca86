//! The one thread that writes. Jobs come in over a queue; those that have queued up while the last
//! commit was under way share the next, each in a savepoint of its own, and each hears how it went
//! after the commit and after the indexes have followed it.

use std::collections::VecDeque;
use std::fs::File;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Instant;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::super::Error;
use super::entry::Event;
use super::fault::Fault;
use super::file;
use super::log::write_back;
use super::shelves::Shelves;

/// Jobs of one commit, at most.
const BATCH: usize = 64;

/// What the writer can be told.
pub(super) enum Order {
    /// Do this, in one transaction.
    Do(Box<dyn Job>),
    /// Write the log back.
    Flush,
    /// Finish what came before, and end.
    Close(oneshot::Sender<()>),
}

/// One piece of work on the tables.
pub(super) trait Job: Send {
    /// Does it; whatever it wrote is undone when it fails.
    fn run(&mut self, step: &mut Step<'_>) -> Result<(), Fault>;
    /// Tells whoever waits.
    fn finish(self: Box<Self>, result: Result<(), Error>);
}

/// A job out of a closure.
pub(super) struct Task<T, W> {
    work: Option<W>,
    answer: Option<T>,
    done: oneshot::Sender<Result<T, Error>>,
}

impl<T, W> Task<T, W> {
    /// The job, and where its answer comes.
    pub(super) fn new(work: W) -> (Self, oneshot::Receiver<Result<T, Error>>) {
        let (done, answer) = oneshot::channel();
        (Self { work: Some(work), answer: None, done }, answer)
    }
}

impl<T, W> Job for Task<T, W>
where
    T: Send,
    W: FnOnce(&mut Step<'_>) -> Result<T, Fault> + Send,
{
    fn run(&mut self, step: &mut Step<'_>) -> Result<(), Fault> {
        if let Some(work) = self.work.take() {
            self.answer = Some(work(step)?);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, result: Result<(), Error>) {
        let answer = self.answer.take();
        // Whoever waited may have gone; what was done stays.
        let _gone = self.done.send(result.and_then(|()| answer.ok_or(Error::Closed)));
    }
}

/// A job that was done, and how it went.
type Ran = (Box<dyn Job>, Result<(), Error>);

/// What counts up: place and time of the newest version, ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    pub(super) seq: i64,
    pub(super) recorded: i64,
}

/// What a job works with.
pub(super) struct Step<'c> {
    pub(super) connection: &'c Connection,
    pub(super) clock: Clock,
    /// Changes of the indexes that follow from it.
    pub(super) events: Vec<Event>,
}

/// The writing end of the file; no other process has one as long as this lives.
pub(super) struct Desk {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    pub(super) clock: Clock,
    pub(super) shelves: Shelves,
    /// Whether the last commit failed.
    pub(super) is_failing: bool,
    /// Held, not read: its lock ends with the process, however that ends.
    pub(super) _lock: File,
}

/// The thread that keeps the file in order; it ends when `stop` is dropped.
pub(super) struct Upkeep {
    pub(super) stop: Sender<()>,
    pub(super) thread: JoinHandle<()>,
}

/// Works until it is told to close, or until nobody is left to tell it anything.
pub(super) fn run(mut desk: Desk, mut orders: mpsc::Receiver<Order>, upkeep: Upkeep) {
    while let Some(order) = orders.blocking_recv() {
        let (mut jobs, mut other) = (VecDeque::new(), None);
        match order {
            Order::Do(job) => jobs.push_back(job),
            order => other = Some(order),
        }
        while other.is_none() && jobs.len() < BATCH {
            match orders.try_recv() {
                Ok(Order::Do(job)) => jobs.push_back(job),
                Ok(order) => other = Some(order),
                Err(_) => break,
            }
        }
        while !jobs.is_empty() {
            commit(&mut desk, &mut jobs);
        }
        match other {
            Some(Order::Flush) => {
                write_back(&desk.connection, "PASSIVE");
            }
            Some(Order::Close(done)) => {
                drop(orders);
                end(desk, upkeep);
                let _gone = done.send(());
                return;
            }
            Some(Order::Do(_)) | None => {}
        }
    }
    end(desk, upkeep);
}

/// Leaves one file that holds everything, unless somebody still reads.
fn end(desk: Desk, upkeep: Upkeep) {
    drop(upkeep.stop);
    if upkeep.thread.join().is_err() {
        tracing::error!("the memory's upkeep ended early");
    }
    write_back(&desk.connection, "TRUNCATE");
    drop(desk);
}

/// Does jobs in one transaction; those behind one that broke the transaction stay in the queue.
fn commit(desk: &mut Desk, jobs: &mut VecDeque<Box<dyn Job>>) {
    let started = Instant::now();
    let Desk { connection, path, clock, .. } = desk;
    let mut step = Step { connection, clock: *clock, events: Vec::new() };
    let mut ran: Vec<Ran> = Vec::new();
    let mut whole = connection.execute_batch("BEGIN IMMEDIATE").map_err(Fault::from);
    if whole.is_err() {
        ran.extend(jobs.drain(..).map(|job| (job, Ok(()))));
    }
    while let Some(mut job) = jobs.pop_front() {
        let result = alone(&mut *job, &mut step);
        let broke = connection.is_autocommit();
        ran.push((job, Ok(())));
        if broke {
            whole =
                result.and(Err(Fault::Asked(Error::Engine("the transaction ended".to_owned()))));
            break;
        }
        if let (Err(fault), Some((_, told))) = (result, ran.last_mut()) {
            *told = Err(fault.told(path));
        }
    }
    let events = std::mem::take(&mut step.events);
    let moved = step.clock;
    let whole = whole.and_then(|()| close(connection, *clock, moved)).map_err(|f| f.told(path));
    if whole.is_ok() {
        *clock = moved;
        desk.shelves.apply(events);
    }
    note(desk, &ran, whole.as_ref().err());
    metrics::histogram!("switchboard_memory_commit_seconds").record(started.elapsed());
    for (job, result) in ran {
        job.finish(whole.clone().and(result));
    }
}

/// Does one job; leaves no trace of one that fails.
fn alone(job: &mut dyn Job, step: &mut Step<'_>) -> Result<(), Fault> {
    let (clock, events) = (step.clock, step.events.len());
    step.connection.execute_batch("SAVEPOINT job")?;
    let result = job.run(step);
    if result.is_err() {
        step.clock = clock;
        step.events.truncate(events);
        if !step.connection.is_autocommit() {
            step.connection.execute_batch("ROLLBACK TO job; RELEASE job")?;
        }
        return result;
    }
    step.connection.execute_batch("RELEASE job")?;
    Ok(())
}

fn close(connection: &Connection, before: Clock, clock: Clock) -> Result<(), Fault> {
    let closed = (|| {
        if clock != before {
            let sql = "UPDATE clock SET seq = ?1, recorded = ?2";
            connection.prepare_cached(sql)?.execute([clock.seq, clock.recorded])?;
        }
        connection.execute_batch("COMMIT")
    })();
    if closed.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    closed.map_err(Fault::from)
}

/// Counts, and logs the first failure of several and the end of them.
fn note(desk: &mut Desk, ran: &[Ran], whole: Option<&Error>) {
    let failed = match whole {
        Some(_) => ran.len(),
        None => ran.iter().filter(|(_, result)| result.is_err()).count(),
    };
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    metrics::counter!("switchboard_memory_commits_total").increment(1);
    metrics::counter!("switchboard_memory_jobs_total").increment(count(ran.len()));
    metrics::counter!("switchboard_memory_errors_total").increment(count(failed));
    let disk = |error: &&Error| matches!(error, Error::Full(_) | Error::Damaged { .. });
    let error = whole.or_else(|| ran.iter().find_map(|(_, result)| result.as_ref().err()));
    let error = error.filter(|error| whole.is_some() || disk(error));
    match error {
        Some(error) if !desk.is_failing => {
            tracing::error!(%error, file = file::place(&desk.path), "the memory cannot be written");
        }
        None if desk.is_failing => tracing::info!("the memory is written again"),
        _ => {}
    }
    desk.is_failing = error.is_some();
}
