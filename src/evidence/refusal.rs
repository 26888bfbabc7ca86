//! What is refused in a trace, an answer or a comparison: a reason that stays the same, a place, and
//! words that say how to mend it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why something is refused; stable, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Reason {
    /// It names evidence or a step that the run does not have.
    NotRetrieved,
    /// The evidence does not state the value.
    NotInEvidence,
    /// It uses what was found only later.
    TooEarly,
    /// The result is another one when it is computed again.
    DoesNotFollow,
    /// The confidence is not what its formula gives.
    Confidence,
    /// A digest is not that of what it stands for.
    Digest,
    /// Steps or times are out of order.
    Order,
    /// A label stands for two things.
    Duplicate,
    /// The evidence does not hold at the time that is asked about.
    NotInForce,
    /// The two values cannot be compared.
    Incomparable,
    /// An answer without evidence, or a decision without a step.
    Unsupported,
    /// The trace is not of the form that the schema has.
    Form,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::NotRetrieved,
        Self::NotInEvidence,
        Self::TooEarly,
        Self::DoesNotFollow,
        Self::Confidence,
        Self::Digest,
        Self::Order,
        Self::Duplicate,
        Self::NotInForce,
        Self::Incomparable,
        Self::Unsupported,
        Self::Form,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotRetrieved => "NOT_RETRIEVED",
            Self::NotInEvidence => "NOT_IN_EVIDENCE",
            Self::TooEarly => "TOO_EARLY",
            Self::DoesNotFollow => "DOES_NOT_FOLLOW",
            Self::Confidence => "CONFIDENCE",
            Self::Digest => "DIGEST",
            Self::Order => "ORDER",
            Self::Duplicate => "DUPLICATE",
            Self::NotInForce => "NOT_IN_FORCE",
            Self::Incomparable => "INCOMPARABLE",
            Self::Unsupported => "UNSUPPORTED",
            Self::Form => "FORM",
        }
    }
}

/// One thing that is refused.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error,
)]
#[error("{place}: {message} ({})", .reason.as_str())]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// Where, as a JSON Pointer into the trace, the answer or the comparison.
    pub place: String,
    /// What is wrong, and how to mend it.
    pub message: String,
}

impl Refusal {
    pub(super) fn new(
        reason: Reason,
        place: impl fmt::Display,
        message: impl Into<String>,
    ) -> Self {
        Self { reason, place: place.to_string(), message: message.into() }
    }
}
