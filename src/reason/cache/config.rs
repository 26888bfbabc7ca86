//! The table `reason.cache` of the configuration.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::duration;

/// Longest time to live that can be configured.
const LONGEST: Duration = Duration::from_secs(600);

/// What is kept, and how long.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How long an answer is given again; default 5 min, at most 10 min; 0 for never.
    #[serde(with = "duration")]
    pub ttl: Duration,
    /// Answers that are kept, at most, and as many routings and recalls; default 1000.
    pub entries: u64,
    /// Whether a nearly equal question counts; default true. It needs an embedder of the memory.
    pub nearly: bool,
    /// Calibrated similarity that two wordings of one question have, at least; default 0.85. With the default
    /// model it is .88 to .99; but up to .996 where names have changed places, so that it never decides alone.
    pub similarity: f32,
    /// Words that make a question one about now, beside those that are built in, in any case; such as
    /// `on shift`. They are looked for as whole words, or anywhere where a script has no spaces.
    pub now: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(300),
            entries: 1000,
            nearly: true,
            similarity: 0.85,
            now: Vec::new(),
        }
    }
}

impl Config {
    /// What is wrong with it: the key, and why; `None` where it can be used.
    pub(in crate::reason) fn wrong(&self) -> Option<(&'static str, &'static str)> {
        if self.ttl > LONGEST {
            return Some(("reason.cache.ttl", "is over 10 min: what is older may be true no more"));
        }
        if !(0.0..=1.0).contains(&self.similarity) {
            return Some(("reason.cache.similarity", "must be a number from 0 to 1"));
        }
        if self.now.iter().any(|word| word.trim().is_empty()) {
            return Some(("reason.cache.now", "has an empty word: take it out"));
        }
        None
    }
}
