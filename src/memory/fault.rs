//! Why the write path, the review or the upkeep does not do what it is asked for. What is wrong with a
//! draft is listed whole, so that it can be mended in one turn.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use super::store::Error as StoreError;

/// One thing that is wrong with a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The place in the draft: a JSON Pointer, empty for the whole.
    pub place: String,
    /// What is wrong there, and what to send instead.
    pub message: String,
}

impl Violation {
    pub(super) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.place.is_empty() { "the draft" } else { &self.place };
        write!(f, "{place}: {}", self.message)
    }
}

/// Why something is not done.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The draft is not taken; everything that is wrong with it.
    #[error("the draft is refused: {}", join(.0))]
    Refused(Vec<Violation>),
    /// What the draft says is there already: it was recalled, and is not stored again as new.
    #[error(
        "the memory holds this already, in unit `{unit}`: nothing to do, or name that unit in \
         `derived_from` and write what is new"
    )]
    Known {
        /// The unit that says it.
        unit: String,
    },
    /// More writes wait than are taken.
    #[error("{waiting} writes wait already: send this one again in {} ms", .retry_after.as_millis())]
    Busy {
        /// Writes that wait.
        waiting: u64,
        /// When to send it again.
        retry_after: Duration,
    },
    /// There is no such unit, evidence, receipt or run, or the caller may not be told of it.
    #[error("there is no {what} `{name}` that you may see")]
    Unknown {
        /// What was asked for.
        what: &'static str,
        /// The name that was given.
        name: String,
    },
    /// The caller sees it, and may not do this with it.
    #[error("{0}")]
    Forbidden(String),
    /// It is not in a state in which this can be done.
    #[error("{0}")]
    State(String),
    /// An argument cannot be used.
    #[error("`{name}` {reason}")]
    Argument {
        /// The argument.
        name: Cow<'static, str>,
        /// What is wrong, and what to give instead.
        reason: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Error {
    pub(super) fn unknown(what: &'static str, name: impl fmt::Display) -> Self {
        Self::Unknown { what, name: name.to_string() }
    }
}

fn join(violations: &[Violation]) -> String {
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
