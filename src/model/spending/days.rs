//! What tenants spent and hold as far as this process knows, and what of it the file does not have yet.
//! Writes nothing itself.

use std::collections::{HashMap, HashSet};

use jiff::civil::Date;

use super::{Account, Currency, Spent};

/// The day that it is, and what is to be written of it and of those before.
#[derive(Debug)]
pub(super) struct Days {
    today: Date,
    accounts: HashMap<String, Account>,
    /// The tenants whose sums of today are to be written.
    dirty: HashSet<String>,
    /// Sums of days that ended before they were written.
    past: Vec<Sum>,
    /// What is held for questions under way, by number, and the numbers of those that came to their end.
    held: Vec<(i64, Sum)>,
    freed: Vec<i64>,
    /// The last number. The file has none of an earlier process.
    last: i64,
    /// How often something was to be written.
    changes: u64,
}

/// What a tenant spent in a day, or holds since then.
#[derive(Debug)]
pub(super) struct Sum {
    pub(super) tenant: String,
    pub(super) day: Date,
    pub(super) spent: Spent,
}

/// What is written at once.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// The changes up to which it has everything.
    pub(super) changes: u64,
    pub(super) sums: Vec<Sum>,
    pub(super) held: Vec<(i64, Sum)>,
    pub(super) freed: Vec<i64>,
}

impl Batch {
    pub(super) const fn is_empty(&self) -> bool {
        self.sums.is_empty() && self.held.is_empty() && self.freed.is_empty()
    }
}

impl Days {
    pub(super) fn new(today: Date, accounts: HashMap<String, Account>) -> Self {
        let (dirty, past, held, freed) = Default::default();
        Self { today, accounts, dirty, past, held, freed, last: 0, changes: 0 }
    }

    /// Begins another day, where it is one.
    pub(super) fn turn(&mut self, today: Date, currency: Currency) {
        // A clock that is set back begins no day anew.
        if today <= self.today {
            return;
        }
        let sums = self.sums(currency);
        self.past = sums;
        self.today = today;
        self.accounts.retain(|_, account| account.is_held());
        for account in self.accounts.values_mut() {
            account.spent = Spent::nothing(currency);
        }
    }

    /// The account of a tenant; a new one where there is none.
    pub(super) fn account(&mut self, tenant: &str, new: impl FnOnce() -> Account) -> &mut Account {
        self.accounts.entry(tenant.to_owned()).or_insert_with(new)
    }

    /// What a tenant spent today is to be written.
    pub(super) fn touch(&mut self, tenant: &str) {
        self.changes += 1;
        if !self.dirty.contains(tenant) {
            self.dirty.insert(tenant.to_owned());
        }
    }

    /// What is held for a question is to be written; its number.
    pub(super) fn hold(&mut self, tenant: &str, spent: Spent) -> i64 {
        self.last += 1;
        self.changes += 1;
        let sum = Sum { tenant: tenant.to_owned(), day: self.today, spent };
        self.held.push((self.last, sum));
        self.last
    }

    /// What is held under a number is held no longer.
    pub(super) fn free(&mut self, id: i64) {
        self.changes += 1;
        self.freed.push(id);
    }

    /// How often something was to be written so far.
    pub(super) const fn changes(&self) -> u64 {
        self.changes
    }

    fn sums(&mut self, currency: Currency) -> Vec<Sum> {
        let mut sums = std::mem::take(&mut self.past);
        for tenant in self.dirty.drain() {
            let spent = self.accounts.get(&tenant).map(|account| account.spent);
            let spent = spent.unwrap_or_else(|| Spent::nothing(currency));
            sums.push(Sum { tenant, day: self.today, spent });
        }
        sums
    }

    /// What is to be written.
    pub(super) fn take(&mut self, currency: Currency) -> Batch {
        let (held, freed) = (std::mem::take(&mut self.held), std::mem::take(&mut self.freed));
        Batch { changes: self.changes, sums: self.sums(currency), held, freed }
    }

    /// Keeps what could not be written for the next time.
    pub(super) fn put_back(&mut self, batch: Batch) {
        let Batch { sums, mut held, mut freed, .. } = batch;
        for sum in sums {
            if sum.day == self.today {
                self.dirty.insert(sum.tenant);
            } else {
                self.past.push(sum);
            }
        }
        held.append(&mut self.held);
        self.held = held;
        freed.append(&mut self.freed);
        self.freed = freed;
    }
}
