//! Answers to equal and nearly equal questions, for some minutes; never to questions about now.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::duration;

/// What is kept, and how long: the table `reason.cache`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How long an answer is given again; default 5 min, at most 10 min; 0 for never.
    #[serde(with = "duration")]
    pub ttl: Duration,
    /// Answers that are kept, at most; default 1000.
    pub entries: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { ttl: Duration::from_secs(300), entries: 1000 }
    }
}
