//! How a trace ends: the answer with its decision, or what is known so far, and what the next turn gets.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Confidence, Item, Label, Operand};
use crate::evidence::compare::Operator;

/// What was decided, and by which step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The decision in a word: `permitted`, `needs_approval`.
    pub value: String,
    /// The comparison or inference that it follows from.
    pub step: Label,
    /// Whether that step holds.
    pub holds: bool,
    /// The rule that decided, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// In words.
    pub text: String,
    /// The evidence and steps that support it.
    pub evidence: Vec<Label>,
    /// What was decided, where something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// What could not be found out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Numbers, dates and ids in the text that stand in no evidence that it cites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported: Vec<String>,
    /// Whether it was given without evidence, as small talk is.
    pub free: bool,
    /// How sure it is: never surer than what it rests on.
    pub confidence: Confidence,
    /// When it was given.
    pub at: Timestamp,
}

/// What is known and what is missing, where a run ended before its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partial {
    /// Why it ended.
    pub reason: String,
    /// Evidence and steps, each with its words.
    pub known: Vec<Known>,
    /// What is missing.
    pub missing: Vec<String>,
}

/// One thing that is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The evidence or step.
    pub id: Label,
    /// In words.
    pub text: String,
}

/// What one turn leaves for the next, so that a question after it can be decided again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// The run.
    pub run: String,
    /// What was asked.
    pub question: String,
    /// For which instant.
    pub as_of: Timestamp,
    /// What was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The comparison that decided, where no rule did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<Operator>,
    /// What was compared.
    pub operands: Vec<Operand>,
    /// The evidence of the operands, whole.
    pub evidence: Vec<Item>,
}
