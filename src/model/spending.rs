//! What each tenant spent on models in a day: added up in memory, and kept in a file together with what is
//! held for questions under way, so that neither a restart nor a kill forgets any of it. Knows no prices
//! and no models.

mod days;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use metrics::counter;
use rusqlite::{Connection, OptionalExtension, params};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use super::Error;
use super::money::{Currency, Money};
use super::purse::{Account, Budget, Spent};
use crate::config::{self, database};
use days::{Batch, Days, Sum};

/// Days after which what was spent is forgotten.
const KEEP_DAYS: i64 = 400;

const FORM: config::Form = config::Form {
    key: "models.spending",
    // `SWSP`.
    application: 0x5357_5350,
    format: 1,
    schema: CREATE,
};
const CREATE: &str = "
    CREATE TABLE spent (
        tenant TEXT NOT NULL,
        day TEXT NOT NULL,
        currency TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        money TEXT NOT NULL,
        PRIMARY KEY (day, tenant, currency)
    ) STRICT, WITHOUT ROWID;
";
/// What is held for questions under way. Made where it is missing: a version that does not know it reads the
/// sums all the same.
const CREATE_HELD: &str = "
    CREATE TABLE IF NOT EXISTS held (
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        day TEXT NOT NULL,
        currency TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        money TEXT NOT NULL
    ) STRICT;
";
const HOLD: &str = "
    INSERT INTO held (id, tenant, day, currency, tokens, money) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const READ_ONE: &str = "
    SELECT tokens, money FROM spent WHERE tenant = ?1 AND day = ?2 AND currency = ?3";
const WRITE: &str = "
    INSERT INTO spent (tenant, day, currency, tokens, money) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT DO UPDATE SET tokens = excluded.tokens, money = excluded.money";

/// The spending of all tenants.
#[derive(Debug)]
pub(super) struct Spending {
    currency: Currency,
    all: Budget,
    named: BTreeMap<String, Budget>,
    days: Arc<Mutex<Days>>,
    writer: Option<Arc<Writer>>,
    tasks: TaskTracker,
}

/// Brings into the file what is to be written.
#[derive(Debug)]
struct Writer {
    store: Mutex<Store>,
    days: Arc<Mutex<Days>>,
    /// Whose turn it is to write.
    turn: tokio::sync::Mutex<()>,
    /// The changes up to which the file has everything.
    written: AtomicU64,
    /// Whether somebody is on the way to write, for whom nobody waits.
    comes: AtomicBool,
}

/// The file; no other process has it as long as this lives.
#[derive(Debug)]
struct Store {
    connection: Connection,
    /// Held, not read: its lock ends with the process, however that ends.
    _lock: File,
}

impl Spending {
    /// Reads what was spent today; without a path nothing is kept.
    pub(super) fn open(
        currency: Currency,
        budgets: (Budget, BTreeMap<String, Budget>),
        path: Option<&Path>,
        tasks: &TaskTracker,
    ) -> Result<Self, Error> {
        let today = today();
        let (all, named) = budgets;
        let mut accounts = HashMap::new();
        let store = path.map(Store::open).transpose()?;
        if let Some(store) = &store {
            for (tenant, spent) in store.read(today, currency)? {
                let budget = named.get(&tenant).copied().unwrap_or(all);
                accounts.insert(tenant, Account::new(budget, spent));
            }
        }
        let days = Arc::new(Mutex::new(Days::new(today, accounts)));
        let writer = store.map(|store| Writer::new(store, &days));
        Ok(Self { currency, all, named, days, writer, tasks: tasks.clone() })
    }

    pub(super) const fn currency(&self) -> Currency {
        self.currency
    }

    /// The account of a tenant for the day that it is.
    pub(super) fn with<T>(&self, tenant: &str, work: impl FnOnce(&mut Account) -> T) -> T {
        self.open_account(&mut self.days(), tenant, work)
    }

    fn open_account<T>(
        &self,
        days: &mut Days,
        tenant: &str,
        work: impl FnOnce(&mut Account) -> T,
    ) -> T {
        days.turn(today(), self.currency);
        let budget = || self.named.get(tenant).copied().unwrap_or(self.all);
        work(days.account(tenant, || Account::new(budget(), Spent::nothing(self.currency))))
    }

    /// Holds an amount in the file too; [`Spending::flushed`] tells when it is there. `None` without one.
    pub(super) fn hold(&self, tenant: &str, held: Spent) -> Option<i64> {
        self.writer.as_ref().map(|_| self.days().hold(tenant, held))
    }

    /// Gives back what was taken of a tenant's account and held under `id`, and adds what was spent, in the
    /// day that it is now.
    pub(super) fn book(&self, tenant: &str, taken: Spent, spent: Spent, id: Option<i64>) {
        let mut days = self.days();
        self.open_account(&mut days, tenant, |account| account.settle(taken, spent));
        if spent.tokens > 0 || !spent.money.is_zero() {
            days.touch(tenant);
        }
        if let Some(id) = id {
            days.free(id);
        }
    }

    /// Ends when all that was booked before is in the file. One commit serves all who wait for it.
    pub(super) async fn flushed(&self) {
        if let Some(writer) = &self.writer {
            writer.flushed(&self.tasks, self.currency).await;
        }
    }

    /// The same, for nobody to wait.
    pub(super) fn flush_soon(&self) {
        let Some(writer) = &self.writer else { return };
        if let Ok(runtime) = Handle::try_current()
            && !writer.comes.swap(true, Ordering::AcqRel)
        {
            let (writer, tasks, currency) = (Arc::clone(writer), self.tasks.clone(), self.currency);
            let soon = async move {
                // Whoever books from here on sends another.
                writer.comes.swap(false, Ordering::AcqRel);
                writer.flushed(&tasks, currency).await;
            };
            self.tasks.spawn_on(soon, &runtime);
        }
    }

    fn days(&self) -> MutexGuard<'_, Days> {
        self.days.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    fn new(store: Store, days: &Arc<Mutex<Days>>) -> Arc<Self> {
        let (turn, written, comes) = Default::default();
        Arc::new(Self { store: Mutex::new(store), days: Arc::clone(days), turn, written, comes })
    }

    /// Ends when all that is booked by now is in the file, or could not be written. Those who wait take turns,
    /// so that one thread writes, and what came meanwhile is one commit.
    async fn flushed(self: &Arc<Self>, tasks: &TaskTracker, currency: Currency) {
        let changes = self.lock().changes();
        let _turn = self.turn.lock().await;
        if self.written.load(Ordering::Acquire) >= changes {
            return;
        }
        let writer = Arc::clone(self);
        if let Err(error) = tasks.spawn_blocking(move || writer.write(currency)).await {
            tracing::error!(%error, "what was spent on models was not written");
        }
    }

    fn write(&self, currency: Currency) {
        let batch = self.lock().take(currency);
        if batch.is_empty() {
            return;
        }
        // A transaction of one that panicked was rolled back.
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        match store.write(&batch) {
            Ok(()) => self.written.store(batch.changes, Ordering::Release),
            Err(error) => {
                counter!("switchboard_model_spending_errors_total").increment(1);
                tracing::error!(%error, "what was spent on models was not written; it is tried again");
                self.lock().put_back(batch);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Days> {
        self.days.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    fn open(path: &Path) -> Result<Self, Error> {
        let refused = |reason: String| Error::Open { path: path.to_owned(), reason };
        let (connection, lock) = database(path, &FORM).map_err(refused)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // A sum that a loss of power forgets is a part of a day's spending; a kill forgets none.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.execute_batch(CREATE_HELD)?;
        let mut store = Self { connection, _lock: lock };
        store.book_left()?;
        Ok(store)
    }

    /// Books what an earlier daemon held when it ended: nobody can tell what became of those questions, so
    /// all of it counts, in its own day.
    fn book_left(&mut self) -> Result<(), Error> {
        let transaction = self.connection.transaction()?;
        let mut held =
            transaction.prepare("SELECT tenant, day, currency, tokens, money FROM held")?;
        let left = held.query_map([], |row| {
            let (tokens, money) = (row.get(3)?, row.get(4)?);
            Ok(((row.get(0)?, row.get(1)?, row.get(2)?), (tokens, money)))
        })?;
        let left = left.collect::<rusqlite::Result<Vec<(Key, Cells)>>>()?;
        drop(held);
        for ((tenant, day, currency), cells) in &left {
            let Ok(known) = currency.parse() else { continue };
            let keys = params![tenant, day, currency];
            let before =
                transaction.query_row(READ_ONE, keys, |row| Ok((row.get(0)?, row.get(1)?)));
            let mut sum = spent(cells, known);
            if let Some(before) = before.optional()? {
                sum.add(spent(&before, known));
            }
            let row = params![tenant, day, currency, number(sum.tokens), sum.money.amount()];
            transaction.execute(WRITE, row)?;
        }
        transaction.execute("DELETE FROM held", [])?;
        transaction.commit()?;
        if !left.is_empty() {
            let asks = left.len();
            tracing::warn!(
                asks,
                "questions to models were cut by an earlier end: all that they held counts"
            );
        }
        Ok(())
    }

    fn read(&self, today: Date, currency: Currency) -> Result<Vec<(String, Spent)>, Error> {
        let old = today.saturating_sub(Span::new().days(KEEP_DAYS)).to_string();
        self.connection.execute("DELETE FROM spent WHERE day < ?1", [old])?;
        let mut rows = self
            .connection
            .prepare("SELECT tenant, tokens, money FROM spent WHERE day = ?1 AND currency = ?2")?;
        let keys = [today.to_string(), currency.to_string()];
        let rows = rows.query_map(keys, |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
        let mut found = Vec::new();
        for row in rows {
            let (tenant, cells): (String, Cells) = row?;
            found.push((tenant, spent(&cells, currency)));
        }
        Ok(found)
    }

    /// All or nothing. What is held is written before what is free again, as one can be both.
    fn write(&mut self, batch: &Batch) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        let mut hold = transaction.prepare_cached(HOLD)?;
        for (id, Sum { tenant, day, spent }) in &batch.held {
            let (day, currency) = (day.to_string(), spent.money.currency().to_string());
            let (tokens, money) = (number(spent.tokens), spent.money.amount());
            hold.execute(params![id, tenant, day, currency, tokens, money])?;
        }
        let mut write = transaction.prepare_cached(WRITE)?;
        for Sum { tenant, day, spent } in &batch.sums {
            let (day, currency) = (day.to_string(), spent.money.currency().to_string());
            let (tokens, money) = (number(spent.tokens), spent.money.amount());
            write.execute(params![tenant, day, currency, tokens, money])?;
        }
        let mut free = transaction.prepare_cached("DELETE FROM held WHERE id = ?1")?;
        for id in &batch.freed {
            free.execute([id])?;
        }
        drop((hold, write, free));
        transaction.commit()
    }
}

/// Tenant, day and currency of a row.
type Key = (String, String, String);
/// Tokens and money of a row.
type Cells = (i64, String);

/// What a row says. What cannot be read was not written here; it must not set a budget back to full.
fn spent((tokens, money): &Cells, currency: Currency) -> Spent {
    let money = Money::parse(money, currency).unwrap_or_else(|_broken| Money::most(currency));
    Spent { tokens: u64::try_from(*tokens).unwrap_or(0), money }
}

fn number(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

fn today() -> Date {
    TimeZone::UTC.to_datetime(Timestamp::now()).date()
}
