//! The models that reason: a [`Prompt`] in, what one of the role's endpoints [`Said`] out, with what it
//! cost and every attempt before it. Keeps budgets, asks again where a fault may pass, and goes to the
//! next endpoint where it does not. Runs no call and believes no answer.

mod ask;
mod attempt;
mod blame;
mod config;
mod error;
mod line;
mod money;
mod prompt;
mod purse;
mod said;
mod spending;
mod tally;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use crate::catalog::Exports;

pub use config::{Allowance, Config, Endpoint, Form, Forms, Provider, Role};
pub use error::Error;
pub use money::{Currency, Money};
pub use prompt::{Offer, Own, Prompt, Turn};
pub use purse::{Budget, Purse, Spent};
pub use said::{Delta, Failed, Limit, Outcome, Said, Tried, Usage};

use ask::Question;
use line::Line;
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
    lines: Arc<BTreeMap<String, Arc<Line>>>,
    roles: Arc<BTreeMap<Role, Vec<Arc<Line>>>>,
    exports: Arc<Exports>,
    spending: Arc<Spending>,
}

impl Models {
    /// Checks the configuration and reads what was spent today. Asks nobody yet, and a key need not be
    /// there. Without an endpoint no file is made.
    pub fn open(config: &Config, tasks: &TaskTracker) -> Result<Self, Error> {
        let mut lines = BTreeMap::new();
        for (name, endpoint) in &config.endpoints {
            let line = Line::open(name, endpoint, config.currency, tasks)?;
            lines.insert(name.clone(), Arc::new(line));
        }
        let mut roles = BTreeMap::new();
        for (role, names) in &config.roles {
            roles.insert(*role, named(*role, names, &lines)?);
        }
        let all = budget("tenant", &config.tenant, config.currency)?;
        let each = config.tenants.iter().map(|(name, allowance)| {
            let key = format!("tenants.{name}");
            Ok((name.clone(), budget(&key, allowance, config.currency)?))
        });
        let each = each.collect::<Result<BTreeMap<_, _>, Error>>()?;
        let path = config.spending.as_deref().filter(|_| !lines.is_empty());
        let spending = Spending::open(config.currency, (all, each), path, tasks)?;
        Ok(Self {
            lines: Arc::new(lines),
            roles: Arc::new(roles),
            exports: Arc::default(),
            spending: Arc::new(spending),
        })
    }

    /// Whether a role has an endpoint.
    pub fn serves(&self, role: Role) -> bool {
        self.lead(role).is_some()
    }

    /// The endpoint of a role that is asked first.
    pub fn lead(&self, role: Role) -> Option<&Endpoint> {
        Some(&self.roles.get(&role)?.first()?.endpoint)
    }

    /// The endpoint of that name.
    pub fn endpoint(&self, name: &str) -> Option<&Endpoint> {
        self.lines.get(name).map(|line| &line.endpoint)
    }

    /// The currency of all prices and budgets.
    pub fn currency(&self) -> Currency {
        self.spending.currency()
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
        let one;
        let lines = match who {
            Who::Role(role) => {
                let lines = self.roles.get(&role).filter(|lines| !lines.is_empty());
                lines.map(Vec::as_slice).ok_or(Failed::Unconfigured(role))?
            }
            Who::Endpoint(name) => {
                one = self.lines.get(name).ok_or_else(|| Failed::Unknown(name.to_owned()))?;
                std::slice::from_ref(one)
            }
        };
        let exports = &self.exports;
        let question = Question { prompt, purse, said, exports, tried: Vec::new(), short: None };
        // Large, as all of an attempt is in it.
        Box::pin(question.ask(lines)).await
    }
}

/// The endpoints of a role.
fn named(
    role: Role,
    names: &[String],
    lines: &BTreeMap<String, Arc<Line>>,
) -> Result<Vec<Arc<Line>>, Error> {
    let wrong = |reason| Error::Config { key: format!("roles.{role}"), reason };
    let mut found: Vec<Arc<Line>> = Vec::with_capacity(names.len());
    for name in names {
        let line = lines.get(name).ok_or_else(|| {
            wrong(format!("there is no endpoint `{name}`: write `[models.endpoints.{name}]`"))
        })?;
        if found.iter().any(|known| known.name == *name) {
            return Err(wrong(format!("`{name}` is there twice")));
        }
        found.push(Arc::clone(line));
    }
    Ok(found)
}

fn budget(key: &str, allowance: &Allowance, currency: Currency) -> Result<Budget, Error> {
    let wrong = |reason| Error::Config { key: format!("{key}.money"), reason };
    let money = allowance.money.as_ref().map(|text| Money::parse(text, currency)).transpose();
    Ok(Budget { tokens: allowance.tokens, money: money.map_err(wrong)? })
}
