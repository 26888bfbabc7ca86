//! The models that reason: a [`Prompt`] in, what one of the role's endpoints [`Said`] out, with what it
//! cost and every attempt before it. Keeps budgets, asks again where a fault may pass, and goes to the
//! next endpoint where it does not. Runs no call and believes no answer.

mod config;
mod error;
mod money;
mod prompt;
mod purse;
mod said;
mod spending;

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

pub use config::{Allowance, Config, Endpoint, Form, Forms, Provider, Role};
pub use error::Error;
pub use money::{Currency, Money};
pub use prompt::{Offer, Own, Prompt, Turn};
pub use purse::{Budget, Purse, Spent};
pub use said::{Delta, Failed, Limit, Outcome, Said, Tried, Usage};

use spending::Spending;

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who<'a> {
    /// The endpoints of a role, one after the other.
    Role(Role),
    /// One endpoint by its name.
    Endpoint(&'a str),
}

/// The configured models. Clones are the same models.
#[derive(Debug, Clone)]
pub struct Models {
    config: Arc<Config>,
    spending: Arc<Spending>,
}

impl Models {
    /// Checks the configuration and reads what was spent today. Asks nobody yet, and a key need not be
    /// there. Without an endpoint no file is made.
    pub fn open(config: &Config, tasks: &TaskTracker) -> Result<Self, Error> {
        let path = config.spending.as_deref().filter(|_| !config.endpoints.is_empty());
        let all = budget("tenant", &config.tenant, config.currency)?;
        let named = config.tenants.iter().map(|(name, allowance)| {
            let key = format!("tenants.{name}");
            Ok((name.clone(), budget(&key, allowance, config.currency)?))
        });
        let named = named.collect::<Result<BTreeMap<_, _>, Error>>()?;
        let spending = Spending::open(config.currency, (all, named), path, tasks)?;
        Ok(Self { config: Arc::new(config.clone()), spending: Arc::new(spending) })
    }

    /// Whether a role has an endpoint.
    pub fn serves(&self, role: Role) -> bool {
        self.lead(role).is_some()
    }

    /// The endpoint of a role that is asked first.
    pub fn lead(&self, role: Role) -> Option<&Endpoint> {
        self.endpoint(self.config.roles.get(&role)?.first()?)
    }

    /// The endpoint of that name.
    pub fn endpoint(&self, name: &str) -> Option<&Endpoint> {
        self.config.endpoints.get(name)
    }

    /// The currency of all prices and budgets.
    pub fn currency(&self) -> Currency {
        self.config.currency
    }

    /// The purse of a run of this tenant; `spent` is what the run spent before, as one that goes on has.
    pub fn purse(&self, tenant: &str, budget: Budget, spent: Spent) -> Purse {
        Purse::new(tenant, budget, spent, &self.spending)
    }

    /// Asks, until an endpoint answers; text goes to `said` as it comes. Dropping this ends the attempt.
    pub async fn ask(
        &self,
        who: Who<'_>,
        prompt: &Prompt,
        purse: &Purse,
        said: Option<&mpsc::Sender<Delta>>,
    ) -> Result<Said, Failed> {
        let _unused = (prompt, purse, said);
        match who {
            Who::Role(role) if !self.serves(role) => Err(Failed::Unconfigured(role)),
            Who::Endpoint(name) if self.endpoint(name).is_none() => {
                Err(Failed::Unknown(name.to_owned()))
            }
            Who::Role(_) | Who::Endpoint(_) => Err(Failed::Exhausted { tried: Vec::new() }),
        }
    }
}

fn budget(key: &str, allowance: &Allowance, currency: Currency) -> Result<Budget, Error> {
    let wrong = |reason| Error::Config { key: format!("{key}.money"), reason };
    let money = allowance.money.as_ref().map(|text| Money::parse(text, currency)).transpose();
    Ok(Budget { tokens: allowance.tokens, money: money.map_err(wrong)? })
}
