//! What a run may spend, and behind it its tenant's day: taken before a model is asked, settled after; the
//! tenant's part in its file too, so that a question counts that a kill cuts.
//! Tokens and money count alike; none of either means none at all.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::money::{Currency, Money, Price};
use super::said::Limit;
use super::spending::Spending;

/// What may be spent; `None` is no limit, and zero refuses everything, also what costs nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Tokens, those read and those written together.
    pub tokens: Option<u64>,
    /// Money.
    pub money: Option<Money>,
}

/// What was spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Tokens, those read and those written together.
    pub tokens: u64,
    /// Money.
    pub money: Money,
}

impl Spent {
    pub(super) const fn nothing(currency: Currency) -> Self {
        Self { tokens: 0, money: Money::zero(currency) }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.money = self.money.plus(other.money);
    }

    fn take_off(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_sub(other.tokens);
        self.money = self.money.minus(other.money);
    }
}

/// One budget with what is gone of it.
#[derive(Debug, Clone)]
pub(super) struct Account {
    pub(super) budget: Budget,
    pub(super) spent: Spent,
    /// Taken for attempts that are under way.
    held: Spent,
}

impl Account {
    pub(super) const fn new(budget: Budget, spent: Spent) -> Self {
        let held = Spent::nothing(spent.money.currency());
        Self { budget, spent, held }
    }

    pub(super) const fn is_held(&self) -> bool {
        self.held.tokens > 0
    }

    /// Gives back what was taken, and adds what was spent.
    pub(super) fn settle(&mut self, taken: Spent, spent: Spent) {
        self.held.take_off(taken);
        self.spent.add(spent);
    }

    fn left(&self) -> Budget {
        let mut gone = self.spent;
        gone.add(self.held);
        Budget {
            tokens: self.budget.tokens.map(|all| all.saturating_sub(gone.tokens)),
            money: self.budget.money.map(|all| all.minus(gone.money)),
        }
    }

    /// How many tokens may be written after `read` were read; or which limit says none.
    fn room(&self, want: Want, limits: (Limit, Limit)) -> Result<u64, Short> {
        let (left, mut room) = (self.left(), want.written);
        if let Some(tokens) = left.tokens {
            room = room.min(tokens.saturating_sub(want.read));
            if room == 0 {
                let needed = want.read.saturating_add(1).to_string();
                return Err(Short { limit: limits.0, left: tokens.to_string(), needed });
            }
        }
        if let Some(money) = left.money {
            let most = want.price.written_for(money, want.read).unwrap_or(u64::MAX);
            room = room.min(if money.is_zero() { 0 } else { most });
            if room == 0 {
                let needed = want.price.of(want.read, 1).to_string();
                return Err(Short { limit: limits.1, left: money.to_string(), needed });
            }
        }
        Ok(room)
    }
}

/// What an attempt would take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Want {
    pub(super) price: Price,
    /// Tokens that the model reads.
    pub(super) read: u64,
    /// Tokens that it may write, at most.
    pub(super) written: u64,
}

/// Which limit is too low.
#[derive(Debug)]
pub(super) struct Short {
    pub(super) limit: Limit,
    pub(super) left: String,
    pub(super) needed: String,
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not enough: {} left, {} needed", self.limit, self.left, self.needed)
    }
}

/// The budget of one run, shared by its clones, with the allowance of its tenant behind it.
#[derive(Debug, Clone)]
pub struct Purse {
    run: Arc<Mutex<Account>>,
    tenant: Arc<str>,
    spending: Arc<Spending>,
}

impl Purse {
    pub(super) fn new(
        tenant: &str,
        budget: Budget,
        spent: Spent,
        spending: &Arc<Spending>,
    ) -> Self {
        let spending = Arc::clone(spending);
        // What is of another currency cannot be counted in this one, and buys nothing.
        let currency = spending.currency();
        let counted = |money: Money| match money.currency() == currency {
            true => money,
            false => Money::zero(currency),
        };
        let budget = Budget { money: budget.money.map(counted), ..budget };
        let mut before = Spent::nothing(currency);
        before.add(spent);
        let run = Arc::new(Mutex::new(Account::new(budget, before)));
        Self { run, tenant: tenant.into(), spending }
    }

    /// What is left: of the run's budget, or of the tenant's day where that is less.
    pub fn left(&self) -> Budget {
        let run = self.account().left();
        let tenant = self.spending.with(&self.tenant, |account| account.left());
        Budget { tokens: lesser(run.tokens, tenant.tokens), money: lesser(run.money, tenant.money) }
    }

    /// What the run spent so far, with what it had spent when the purse was made.
    pub fn spent(&self) -> Spent {
        self.account().spent
    }

    /// Takes what an attempt may use, and tells how many tokens may be written.
    pub(super) fn take(&self, want: Want) -> Result<(Held, u64), Short> {
        let mut run = self.account();
        let room = run.room(want, (Limit::RunTokens, Limit::RunMoney))?;
        let taken = |written: u64| Spent {
            tokens: want.read.saturating_add(written),
            money: want.price.of(want.read, written),
        };
        let written = self.spending.with(&self.tenant, |account| {
            let limits = (Limit::TenantTokens, Limit::TenantMoney);
            let written = account.room(Want { written: room, ..want }, limits)?;
            account.held.add(taken(written));
            Ok(written)
        })?;
        let taken = taken(written);
        run.held.add(taken);
        drop(run);
        let sure = Spent::nothing(self.spending.currency());
        let purse = self.clone();
        let held = Held { purse, price: want.price, taken, sure, kept: None, open: true };
        Ok((held, written))
    }

    fn account(&self) -> std::sync::MutexGuard<'_, Account> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lesser<T: Ord>(one: Option<T>, two: Option<T>) -> Option<T> {
    match (one, two) {
        (Some(one), Some(two)) => Some(one.min(two)),
        (one, two) => one.or(two),
    }
}

/// What was taken for one attempt. Dropped, it gives back all but what is sure to be spent.
#[derive(Debug)]
pub(super) struct Held {
    purse: Purse,
    price: Price,
    taken: Spent,
    sure: Spent,
    /// Its number in the file of what tenants spent.
    kept: Option<i64>,
    open: bool,
}

impl Held {
    /// From now on so much counts as spent, whatever becomes of the attempt.
    pub(super) fn sure(&mut self, read: u64, written: u64) {
        let tokens = read.saturating_add(written);
        self.sure = Spent { tokens, money: self.price.of(read, written) };
    }

    /// Ends when the file of what tenants spent has what was taken: should the process end before it is
    /// settled, all of it counts.
    pub(super) async fn keep(&mut self) {
        let spending = &self.purse.spending;
        self.kept = spending.hold(&self.purse.tenant, self.taken);
        if self.kept.is_some() {
            spending.flushed().await;
        }
    }

    /// Books what was used; what it cost. The file has it soon after, and what was taken until then.
    pub(super) fn settle(mut self, read: u64, written: u64) -> Money {
        self.sure(read, written);
        self.book();
        self.sure.money
    }

    fn book(&mut self) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        let (taken, sure, kept) = (self.taken, self.sure, self.kept.take());
        self.purse.account().settle(taken, sure);
        let spending = &self.purse.spending;
        spending.book(&self.purse.tenant, taken, sure, kept);
        if kept.is_some() || sure.tokens > 0 {
            spending.flush_soon();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.book();
    }
}
