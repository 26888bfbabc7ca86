//! What each tenant spent on models in a day: added up in memory, and kept in a file, so that a restart
//! forgets nothing of what was settled. Knows no prices and no models.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use metrics::counter;
use rusqlite::{Connection, params};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use super::Error;
use super::money::{Currency, Money};
use super::purse::{Account, Budget, Spent};
use crate::config::{self, database};

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
    store: Option<Arc<Mutex<Store>>>,
    tasks: TaskTracker,
}

/// The day that it is, and those of before that are not written yet.
#[derive(Debug)]
struct Days {
    today: Date,
    accounts: HashMap<String, Account>,
    /// The tenants whose sums of today are to be written.
    dirty: HashSet<String>,
    /// Sums of days that ended before they were written.
    past: Vec<Sum>,
}

/// What a tenant spent in a day.
#[derive(Debug)]
struct Sum {
    tenant: String,
    day: Date,
    spent: Spent,
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
        let days = Days { today, accounts, dirty: HashSet::new(), past: Vec::new() };
        Ok(Self {
            currency,
            all,
            named,
            days: Arc::new(Mutex::new(days)),
            store: store.map(|store| Arc::new(Mutex::new(store))),
            tasks: tasks.clone(),
        })
    }

    pub(super) const fn currency(&self) -> Currency {
        self.currency
    }

    /// The account of a tenant for the day that it is.
    pub(super) fn with<T>(&self, tenant: &str, work: impl FnOnce(&mut Account) -> T) -> T {
        let mut days = self.days();
        days.turn(today(), self.currency);
        if !days.accounts.contains_key(tenant) {
            let budget = self.named.get(tenant).copied().unwrap_or(self.all);
            let account = Account::new(budget, Spent::nothing(self.currency));
            days.accounts.insert(tenant.to_owned(), account);
        }
        let mut spare = Account::new(self.all, Spent::nothing(self.currency));
        work(days.accounts.get_mut(tenant).unwrap_or(&mut spare))
    }

    /// Adds to what a tenant spent, in the day that it is now.
    pub(super) fn book(&self, tenant: &str, spent: Spent) {
        if spent.tokens == 0 && spent.money.is_zero() {
            return;
        }
        self.with(tenant, |account| account.spent.add(spent));
        self.days().dirty.insert(tenant.to_owned());
    }

    /// Ends when all that was booked before is in the file. One commit serves all who wait for it.
    pub(super) async fn flushed(&self) {
        if let Some(flush) = self.flush()
            && let Err(error) = self.tasks.spawn_blocking(flush).await
        {
            tracing::error!(%error, "what was spent on models was not written");
        }
    }

    /// The same, for nobody to wait.
    pub(super) fn flush_soon(&self) {
        if let (Some(flush), Ok(runtime)) = (self.flush(), Handle::try_current()) {
            self.tasks.spawn_blocking_on(flush, &runtime);
        }
    }

    fn flush(&self) -> Option<impl FnOnce() + Send + use<>> {
        let (store, days) = (Arc::clone(self.store.as_ref()?), Arc::clone(&self.days));
        let currency = self.currency;
        Some(move || {
            // A transaction of one that panicked was rolled back.
            let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
            let lock = || days.lock().unwrap_or_else(PoisonError::into_inner);
            let rows = lock().take(currency);
            if rows.is_empty() {
                return;
            }
            if let Err(error) = store.write(&rows) {
                counter!("switchboard_model_spending_errors_total").increment(1);
                tracing::error!(%error, "what was spent on models was not written; it is tried again");
                lock().put_back(rows);
            }
        })
    }

    fn days(&self) -> MutexGuard<'_, Days> {
        self.days.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Days {
    /// Begins another day, where it is one.
    fn turn(&mut self, today: Date, currency: Currency) {
        // A clock that is set back begins no day anew.
        if today <= self.today {
            return;
        }
        let rows = self.take(currency);
        self.past.extend(rows);
        self.today = today;
        self.accounts.retain(|_, account| account.is_held());
        for account in self.accounts.values_mut() {
            account.spent = Spent::nothing(currency);
        }
    }

    /// What is to be written.
    fn take(&mut self, currency: Currency) -> Vec<Sum> {
        let mut rows = std::mem::take(&mut self.past);
        for tenant in self.dirty.drain() {
            let spent = self.accounts.get(&tenant).map(|account| account.spent);
            let spent = spent.unwrap_or_else(|| Spent::nothing(currency));
            rows.push(Sum { tenant, day: self.today, spent });
        }
        rows
    }

    /// Keeps what could not be written for the next time.
    fn put_back(&mut self, rows: Vec<Sum>) {
        for row in rows {
            if row.day == self.today {
                self.dirty.insert(row.tenant);
            } else {
                self.past.push(row);
            }
        }
    }
}

impl Store {
    fn open(path: &Path) -> Result<Self, Error> {
        let refused = |reason: String| Error::Open { path: path.to_owned(), reason };
        let (connection, lock) = database(path, &FORM).map_err(refused)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // A sum that a loss of power forgets is a part of a day's spending; a kill forgets none.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        Ok(Self { connection, _lock: lock })
    }

    fn read(&self, today: Date, currency: Currency) -> Result<Vec<(String, Spent)>, Error> {
        let old = today.saturating_sub(Span::new().days(KEEP_DAYS)).to_string();
        self.connection.execute("DELETE FROM spent WHERE day < ?1", [old])?;
        let mut rows = self
            .connection
            .prepare("SELECT tenant, tokens, money FROM spent WHERE day = ?1 AND currency = ?2")?;
        let keys = [today.to_string(), currency.to_string()];
        let rows = rows.query_map(keys, |row| {
            let (tenant, tokens, money) = (row.get(0)?, row.get(1)?, row.get::<_, String>(2)?);
            Ok((tenant, tokens, money))
        })?;
        let mut found = Vec::new();
        for row in rows {
            let (tenant, tokens, money): (String, i64, String) = row?;
            // What cannot be read was not written here; it must not set the budget back to full.
            let most = Money::most(currency);
            let money = Money::parse(&money, currency).unwrap_or(most);
            found.push((tenant, Spent { tokens: u64::try_from(tokens).unwrap_or(0), money }));
        }
        Ok(found)
    }

    fn write(&mut self, rows: &[Sum]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        let mut write = transaction.prepare_cached(WRITE)?;
        for Sum { tenant, day, spent } in rows {
            let tokens = i64::try_from(spent.tokens).unwrap_or(i64::MAX);
            let (day, currency) = (day.to_string(), spent.money.currency().to_string());
            write.execute(params![tenant, day, currency, tokens, spent.money.amount()])?;
        }
        drop(write);
        transaction.commit()
    }
}

fn today() -> Date {
    TimeZone::UTC.to_datetime(Timestamp::now()).date()
}
