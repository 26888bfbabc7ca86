//! What came of asking: the answer with what it cost and what was tried before, or why there is none.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::config::{Form, Role};
use super::money::Money;
use super::prompt::Own;
use crate::call::Dialect;
use crate::native::Asked;

/// What a model answered, as it came: nothing in it was repaired.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// The text; JSON where a shape was asked for, unless the model did otherwise.
    pub text: String,
    /// The provider's own calls, under exported names and with arguments in `dialect`.
    pub calls: Vec<Asked>,
    /// Why the model stopped, in the provider's own word.
    pub stop: String,
    /// Why nothing of it may run, where it was cut off.
    pub cut: Option<String>,
    /// What the provider says of a call that it could not read itself.
    pub malformed: Option<String>,
    /// The tokens.
    pub usage: Usage,
    /// What they cost.
    pub cost: Money,
    /// The endpoint that answered.
    pub endpoint: String,
    /// Its model.
    pub model: String,
    /// In which form it was asked.
    pub form: Form,
    /// In which dialect it was told of the tools.
    pub dialect: Dialect,
    /// The message in the provider's own form, to be handed back in [`Turn::Model`](super::Turn::Model).
    pub own: Option<Own>,
    /// Every attempt in its order; the last is the one that answered.
    pub tried: Vec<Tried>,
}

/// A piece of an answer while it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// More text.
    Text(String),
    /// All text so far is void: the attempt failed, and another one begins.
    Void,
}

/// Tokens of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Those that the model read.
    pub input: u64,
    /// Those that it wrote.
    pub output: u64,
    /// Whether they were counted here, as the provider did not tell them.
    pub estimated: bool,
}

/// One attempt, or why there was none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// The endpoint's name.
    pub endpoint: String,
    /// What came of it.
    pub outcome: Outcome,
    /// In which form it was asked.
    pub form: Form,
    /// The HTTP status, where there was an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The part of what was sent that it was refused for, as a JSON Pointer where that is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    /// What was said, masked and without the key.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// How long it was waited before.
    pub waited_ms: u64,
    /// How long it took.
    pub took_ms: u64,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It answered.
    Ok,
    /// It answered with a status that may pass.
    Status,
    /// It did not answer in time.
    Timeout,
    /// There was no connection, or it broke.
    Connection,
    /// It refuses what it was sent.
    Refused,
    /// It answers with a redirect, which nobody follows.
    Redirect,
    /// Its answer is too large, or not what its provider sends.
    Malformed,
    /// The key cannot be read.
    Key,
    /// The prompt is longer than what it can hold; it was not asked.
    TooLong,
    /// What is left is not enough for it; it was not asked.
    Budget,
}

impl Outcome {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Status => "status",
            Self::Timeout => "timeout",
            Self::Connection => "connection",
            Self::Refused => "refused",
            Self::Redirect => "redirect",
            Self::Malformed => "malformed",
            Self::Key => "key",
            Self::TooLong => "too_long",
            Self::Budget => "budget",
        }
    }
}

/// Which budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The tokens of the run.
    RunTokens,
    /// The money of the run.
    RunMoney,
    /// The tokens of the tenant's day.
    TenantTokens,
    /// The money of the tenant's day.
    TenantMoney,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RunTokens => "the run's budget of tokens",
            Self::RunMoney => "the run's budget of money",
            Self::TenantTokens => "the tenant's tokens of this day",
            Self::TenantMoney => "the tenant's money of this day",
        })
    }
}

/// Why there is no answer. Nothing in it holds a key; what endpoints say in it is masked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// What is left is not enough.
    #[error("{limit} is not enough: {left} left, {needed} needed; raise it, or ask for less")]
    Budget {
        /// Which budget.
        limit: Limit,
        /// What is left of it.
        left: String,
        /// What the last attempt would have needed at least.
        needed: String,
        /// What was tried before.
        tried: Vec<Tried>,
    },
    /// Every endpoint failed.
    #[error("no model answered: {}", told(tried))]
    Exhausted {
        /// What was tried.
        tried: Vec<Tried>,
    },
    /// The role has no endpoint.
    #[error("no model is configured for the role `{0}`: name endpoints in `models.roles`")]
    Unconfigured(Role),
    /// There is no endpoint of that name.
    #[error("there is no model endpoint `{0}`: see `models.endpoints`")]
    Unknown(String),
    /// The time that was given is over.
    #[error("the time for the model's answer is over: {}", told(tried))]
    Deadline {
        /// What was tried.
        tried: Vec<Tried>,
    },
}

impl Failed {
    /// What was tried.
    pub fn tried(&self) -> &[Tried] {
        match self {
            Self::Budget { tried, .. } | Self::Exhausted { tried } | Self::Deadline { tried } => {
                tried
            }
            Self::Unconfigured(_) | Self::Unknown(_) => &[],
        }
    }
}

/// The last attempt of each endpoint, in few words.
fn told(tried: &[Tried]) -> String {
    let mut said: Vec<String> = Vec::new();
    for (at, one) in tried.iter().enumerate() {
        let again = tried.iter().skip(at + 1).any(|later| later.endpoint == one.endpoint);
        if !again {
            said.push(one.to_string());
        }
    }
    if said.is_empty() { "nothing was tried".to_owned() } else { said.join("; ") }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.endpoint, self.outcome.as_str())?;
        if let Some(status) = self.status {
            write!(f, " {status}")?;
        }
        if !self.part.is_empty() {
            write!(f, " at {}", self.part)?;
        }
        if !self.message.is_empty() {
            write!(f, " ({})", self.message)?;
        }
        Ok(())
    }
}
