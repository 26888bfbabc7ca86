//! Between two decisions of room 4: a call that only a person can permit waits here. What is
//! [`Wanted`] in; a [`Grant`] for exactly that call out, once. Who may approve is for `policy` to say.

mod error;
mod row;
mod store;
#[cfg(test)]
mod tests;
mod waiters;
mod wanted;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::{beside, duration};
pub use error::Error;
pub use row::{Approval, Approved, Decided, Filter, State};
use store::Store;
pub use waiters::Waiter;
use waiters::Waiters;
pub use wanted::Wanted;

/// How often what has expired is looked for.
const TEND_EVERY: Duration = Duration::from_secs(1);
/// How often what is old is forgotten; that looks at every approval.
const FORGET_EVERY: Duration = Duration::from_secs(3600);

/// How long approvals hold, and how many there may be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The database file; default: the ledger's path with `.approvals` added.
    pub path: Option<PathBuf>,
    /// How long a person has to decide; default 1 h.
    #[serde(with = "duration")]
    pub decide_within: Duration,
    /// How long an approval can be used once it was given; default 15 min.
    #[serde(with = "duration")]
    pub use_within: Duration,
    /// Approvals that may be pending at once; default 1000.
    pub pending: u32,
    /// Approvals of one caller that may be pending at once; default 100.
    pub pending_per_caller: u32,
    /// Calls that may wait for a person at once; one more gets its reply at once. Default 256.
    pub waiting: u32,
    /// Calls of one caller that may wait at once; default 64.
    pub waiting_per_caller: u32,
    /// Days after which a settled approval is forgotten; default 30. The ledger has its own.
    pub keep_days: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            path: None,
            decide_within: Duration::from_secs(3600),
            use_within: Duration::from_secs(900),
            pending: 1000,
            pending_per_caller: 100,
            waiting: 256,
            waiting_per_caller: 64,
            keep_days: 30,
        }
    }
}

impl Config {
    /// Gives the database its place beside the ledger, where none is named.
    pub fn place(&mut self, ledger: &Path) {
        self.path.get_or_insert_with(|| beside(ledger, ".approvals"));
    }
}

/// A person's approval of one call, claimed for it and for no other. Only the queue makes one, and
/// each approval makes at most one at a time. One that is dropped unused goes back.
#[derive(Debug)]
pub struct Grant {
    digest: String,
    approved: Approved,
    call_id: String,
    /// Where it goes back to; `None` once it was used.
    queue: Option<Approvals>,
}

impl Grant {
    /// Whether it holds for the call with this digest.
    pub fn covers(&self, digest: &str) -> bool {
        self.digest == digest
    }

    /// Uses it up; who approved what, for the record.
    pub fn approved(mut self) -> Approved {
        self.queue = None;
        self.approved.clone()
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        let (Some(queue), Ok(runtime)) = (self.queue.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let (id, call_id) = (self.approved.id.clone(), self.call_id.clone());
        let tasks = queue.tasks.clone();
        let back = async move { queue.release(&id, &call_id).await };
        tasks.spawn_on(back, &runtime);
    }
}

/// The queue of approvals. Clones are the same queue.
#[derive(Debug, Clone)]
pub struct Approvals {
    store: Arc<Mutex<Store>>,
    config: Arc<Config>,
    /// The revision of the last change.
    changed: Arc<watch::Sender<u64>>,
    deciding: Arc<tokio::sync::Mutex<()>>,
    waiters: Waiters,
    /// Nobody waits any more once this is cancelled.
    closing: CancellationToken,
    tasks: TaskTracker,
}

impl Approvals {
    /// Opens the queue of an earlier daemon, or makes one; tends it in a task until `stop`.
    pub fn open(
        config: &Config,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Result<Self, Error> {
        let path = config.path.clone().unwrap_or_else(|| "approvals.db".into());
        let store = Store::open(&path)?;
        let (changed, _) = watch::channel(store.revision());
        let approvals = Self {
            store: Arc::new(Mutex::new(store)),
            config: Arc::new(config.clone()),
            changed: Arc::new(changed),
            deciding: Arc::default(),
            waiters: Waiters::default(),
            closing: CancellationToken::new(),
            tasks: tasks.clone(),
        };
        let (own, stop) = (approvals.clone(), stop.clone());
        tasks.spawn(stop.run_until_cancelled_owned(async move { own.tend().await }));
        Ok(approvals)
    }

    /// Claims the approval of a call: the one with the id `ticket`, or any that holds for it. Without
    /// one the call is put into the queue, and the error [`Error::Required`] names what it waits for.
    pub async fn claim(&self, wanted: Wanted, ticket: Option<&str>) -> Result<Grant, Error> {
        let (config, ticket) = (Arc::clone(&self.config), ticket.map(str::to_owned));
        let queue = self.clone();
        self.work(move |store| {
            let now = Timestamp::now();
            let known = match &ticket {
                Some(ticket) => Some(store.fitting(ticket, &wanted, now)?),
                None => store.latest(&wanted, now)?,
            };
            let Some(approval) = known else {
                store.room(&wanted, &config)?;
                let decide_by = later(now, config.decide_within);
                return Err(Error::Required(store.insert(&wanted, now, decide_by)?.into()));
            };
            match (approval.state, approval.approved()) {
                (State::Approved, Some(approved)) => {
                    if store.claim(&approval, &wanted.call_id, now)? {
                        let (digest, call_id) = (wanted.digest, wanted.call_id);
                        return Ok(Grant { digest, approved, call_id, queue: Some(queue) });
                    }
                    Err(Error::unfit(&approval, "another call used it just now"))
                }
                (State::Denied, _) => Err(Error::Rejected(approval.into())),
                _ => Err(Error::Required(approval.into())),
            }
        })
        .await
    }

    /// Gives back the approval that a call claimed: it ended before anything could run.
    pub async fn give_back(&self, id: &str, call_id: &str) -> Result<(), Error> {
        let (id, call_id) = (id.to_owned(), call_id.to_owned());
        self.work(move |store| store.unclaim(&id, &call_id)).await
    }

    /// As [`Approvals::give_back`]; one that cannot be given back stays used, and the log says so.
    pub async fn release(&self, id: &str, call_id: &str) {
        if let Err(error) = self.give_back(id, call_id).await {
            tracing::warn!(%error, approval = id, "an approval was not given back");
        }
    }

    /// A place among the calls that wait; `None` when too many do, or nobody may any more.
    pub fn wait(&self, wanted: &Wanted) -> Option<Waiter> {
        let most = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        let (all, own) = (most(self.config.waiting), most(self.config.waiting_per_caller));
        self.waiters.enter(wanted, all, own).filter(|_| !self.closing.is_cancelled())
    }

    /// Lets every call that waits go on, without a decision; none waits from now on.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// Ends when the approval is no longer pending, there is none, or nobody may wait any more: then
    /// with false.
    pub async fn settled(&self, id: &str) -> Result<bool, Error> {
        match self.closing.run_until_cancelled(self.watch(id)).await {
            Some(settled) => settled.map(|()| true),
            None => Ok(false),
        }
    }

    async fn watch(&self, id: &str) -> Result<(), Error> {
        let mut changes = self.changes();
        loop {
            changes.borrow_and_update();
            let pending = self.get(id).await?.is_some_and(|found| found.state == State::Pending);
            if !pending || changes.changed().await.is_err() {
                return Ok(());
            }
        }
    }

    /// One approval.
    pub async fn get(&self, id: &str) -> Result<Option<Approval>, Error> {
        let id = id.to_owned();
        self.work(move |store| store.get(&id, Timestamp::now())).await
    }

    /// The approvals that match, in the order that the filter names.
    pub async fn list(&self, filter: Filter) -> Result<Vec<Approval>, Error> {
        self.work(move |store| store.list(&filter, Timestamp::now())).await
    }

    /// Waits until nobody else decides; so it is until what is returned is dropped.
    pub async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.deciding.lock().await
    }

    /// Approves or denies what is pending; the approval as it is now.
    pub async fn decide(&self, id: &str, decided: Decided) -> Result<Approval, Error> {
        let (id, use_within) = (id.to_owned(), self.config.use_within);
        self.work(move |store| {
            let use_by = decided.approve.then(|| later(Timestamp::now(), use_within));
            store.decide(&id, &decided, use_by)
        })
        .await
    }

    /// Tells the revision of each change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Marks what has expired, so that those who watch hear of it, and forgets what is old.
    async fn tend(&self) {
        let keep = SignedDuration::from_hours(24 * i64::from(self.config.keep_days));
        let mut tick = tokio::time::interval(TEND_EVERY);
        let mut forgot: Option<Instant> = None;
        loop {
            tick.tick().await;
            let forgets = forgot.is_none_or(|at| at.elapsed() >= FORGET_EVERY);
            if forgets {
                forgot = Some(Instant::now());
            }
            let tended = self.work(move |store| {
                let now = Timestamp::now();
                store.expire(now)?;
                store.clear()?;
                if forgets {
                    store.forget(now.saturating_sub(keep).unwrap_or(Timestamp::MIN))?;
                }
                store.pending()
            });
            match tended.await {
                Ok(pending) => metrics::gauge!("switchboard_approvals_pending").set(pending),
                Err(error) => tracing::warn!(%error, "the approvals cannot be tended"),
            }
        }
    }

    /// Works on the database where it holds nobody up, then tells of what changed.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (store, changed) = (Arc::clone(&self.store), Arc::clone(&self.changed));
        let done = tokio::task::spawn_blocking(move || {
            // A transaction of one that panicked was rolled back.
            let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
            let outcome = work(&mut store);
            let revision = store.revision();
            changed.send_if_modified(|known| std::mem::replace(known, revision) != revision);
            outcome
        });
        done.await.map_err(|_cancelled| Error::Closed)?
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    now.saturating_add(by).unwrap_or(Timestamp::MAX)
}
