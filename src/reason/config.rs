//! The table `reason` of the configuration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Error;
use crate::config::{beside, duration};
use crate::evidence;

/// How questions are answered, and inside which limits.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Whether there are runs. Default: where a model has the role `reasoner`, or a rule is declared.
    pub enabled: Option<bool>,
    /// The database file; default: the ledger's path with `.runs` added.
    pub path: Option<PathBuf>,
    /// Questions to the reasoning model, at most; default 5.
    pub steps: u32,
    /// Tokens of all models in one run, in and out, at most; default 100000.
    pub tokens: u64,
    /// Money for models in one run, at most, a decimal number; default none, so that only tokens bound it.
    pub money: Option<String>,
    /// Time from start to end, at most, without waiting for people; default 5 min.
    #[serde(with = "duration")]
    pub wall: Duration,
    /// Tokens of the context that a model is given, at most; default 8000. A model with less has less.
    pub context: usize,
    /// Tokens that one result of a tool may take in it, at most; default 1500.
    pub observation: u32,
    /// Tools that a model is shown, at most: those that fit the question best; default 12.
    pub tools: usize,
    /// Units of the memory that a question brings, at most; default 8.
    pub recalled: usize,
    /// Score below which a unit is not brought, 0 to 1; default 0. A small model takes what it is shown for
    /// the answer.
    pub relevance: f64,
    /// Calls of one turn that run at once; default 8.
    pub parallel: usize,
    /// Zone in which days begin, as `Asia/Shanghai`; default `UTC`.
    pub time_zone: String,
    /// Runs of all callers at once; one more is refused. Default 1000.
    pub running: u32,
    /// Runs of one caller at once; default 250.
    pub running_per_caller: u32,
    /// Days after which an ended run is forgotten; default 30.
    pub keep_days: u32,
    /// The constants of confidences.
    pub confidence: evidence::Config,
    /// Answers to equal questions.
    pub cache: super::cache::Config,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            enabled: None,
            path: None,
            steps: 5,
            tokens: 100_000,
            money: None,
            wall: Duration::from_secs(300),
            context: 8000,
            observation: 1500,
            tools: 12,
            recalled: 8,
            relevance: 0.0,
            parallel: 8,
            time_zone: "UTC".to_owned(),
            running: 1000,
            running_per_caller: 250,
            keep_days: 30,
            confidence: evidence::Config::default(),
            cache: super::cache::Config::default(),
        }
    }
}

impl Config {
    /// Gives the database its place beside the ledger, where none is named.
    pub fn place(&mut self, ledger: &Path) {
        self.path.get_or_insert_with(|| beside(ledger, ".runs"));
    }

    /// Refuses what no run could work with.
    pub(super) fn check(&self) -> Result<(), Error> {
        let wrong = |key, reason: &str| Err(Error::Config { key, reason: reason.to_owned() });
        if !(512..=1_000_000).contains(&self.context) {
            return wrong("reason.context", "must be 512 to 1000000 tokens");
        }
        if self.observation < 32 {
            return wrong("reason.observation", "must be 32 tokens or more");
        }
        if jiff::tz::TimeZone::get(&self.time_zone).is_err() {
            return wrong("reason.time_zone", "is no zone: write one as `Asia/Shanghai`");
        }
        if let Some((key, reason)) = self.cache.wrong() {
            return wrong(key, reason);
        }
        if !(0.0..=1.0).contains(&self.relevance) {
            return wrong("reason.relevance", "must be 0 to 1");
        }
        if self.parallel == 0 {
            return wrong("reason.parallel", "is 0, so that no call could run: give 1 or more");
        }
        Ok(())
    }
}
