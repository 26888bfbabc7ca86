//! A run from outside: how it is asked for, what bounds it, how far it is. Nothing is run here.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::admission::Caller;

/// Names one run for ever: a UUID of version 7, so that ids sort by time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunId(String);

impl RunId {
    /// Makes a new id.
    pub fn generate() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }

    /// The id that is written so; `None` when it is not a UUID in its usual form.
    pub fn parse(text: &str) -> Option<Self> {
        let id = uuid::Uuid::try_parse(text).ok()?.to_string();
        (id == text).then_some(Self(id))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for RunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who asks, and how that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    /// The caller.
    pub caller: Caller,
    /// How it was proved, in words for the record.
    pub proof: String,
}

/// A question, and what belongs to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// In the words of a person.
    pub question: String,
    /// Who answers; empty for the default agent.
    pub agent: String,
    /// The caller's name for what the run is part of; may be empty.
    pub conversation: String,
    /// An ended run of the caller that this question follows up.
    pub previous: Option<RunId>,
    /// The date that is asked about; empty for now.
    pub as_of: String,
    /// Collections of the memory to look into; empty for all.
    pub collections: Vec<String>,
    /// What it may take; what is not set is as the configuration says, and none can be more.
    pub limits: Limits,
    /// Whether an equal question's answer must not be given.
    pub no_cache: bool,
}

/// What a run may take. Zero is a limit like others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Questions to the reasoning model.
    pub steps: Option<u32>,
    /// Tokens of all models, in and out.
    pub tokens: Option<u64>,
    /// Money, a decimal number.
    pub money: Option<String>,
    /// Milliseconds from start to end, without those in which it waits for a person or no daemon runs.
    pub wall_ms: Option<u64>,
}

impl Limits {
    /// The wall time.
    pub fn wall(&self) -> Option<Duration> {
        self.wall_ms.map(Duration::from_millis)
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is worked on, or will be as soon as a daemon runs.
    Running,
    /// It waits for a person's approval.
    Waiting,
    /// It ended with an answer.
    Answered,
    /// It ended at a limit, with what was known.
    Partial,
    /// It ended without an answer.
    Failed,
    /// Its caller ended it.
    Cancelled,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Running,
        Self::Waiting,
        Self::Answered,
        Self::Partial,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The state as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Answered => "answered",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state that is written so.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Whether nothing comes after it.
    pub const fn is_end(self) -> bool {
        !matches!(self, Self::Running | Self::Waiting)
    }
}

/// A run in short.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The run.
    pub run: RunId,
    /// How far it is.
    pub state: State,
    /// The question, masked, at most 200 characters of it.
    pub question: String,
    /// The agent; empty for the default.
    pub agent: String,
    /// The caller's name for what it is part of.
    pub conversation: String,
    /// When it started.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// Number of its last event.
    pub last_seq: u64,
    /// Questions to the reasoning model so far.
    pub steps: u32,
    /// Tokens that went in.
    pub input: u64,
    /// Tokens that came out.
    pub output: u64,
    /// Whether some were counted here.
    pub estimated: bool,
    /// What it cost, a decimal number.
    pub money: String,
    /// The code of a failure; else empty.
    pub code: String,
}

/// Which runs a list names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only these states; empty for all.
    pub states: Vec<State>,
    /// Only runs of this conversation; empty for all.
    pub conversation: String,
    /// Only runs that started before this one.
    pub before: Option<RunId>,
    /// At most so many; 0 for 50. Whoever asks bounds it.
    pub limit: u32,
}
