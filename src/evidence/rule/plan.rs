//! What a rule needs to know before it decides: the facts that the question gives in, the reads that
//! are left out, step by step, since a read may need what another one brings.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value as Json};

use super::fact;
use super::{Fact, Loaded, Origin, Take};
use crate::evidence::builder::{Builder, Grown, Pick};
use crate::evidence::compare::Refused;
use crate::evidence::derive::{self, Derived};
use crate::evidence::draft::Draft;
use crate::evidence::read::Unread;
use crate::evidence::refusal::Refusal;
use crate::evidence::trace::{self, Found, Item, Label, Operand, Source};

/// Name of the fact that tells how many hits a recall brought.
pub(super) const COUNT: &str = "count";

/// One thing to read.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The fact that it is for.
    pub fact: String,
    /// What to read.
    pub want: Want,
}

/// What to read, and where.
#[derive(Debug, Clone, PartialEq)]
pub enum Want {
    /// From the memory: hand the hits to [`Plan::recalled`].
    Memory(MemoryRead),
    /// From a tool: hand the reply to [`Plan::replied`].
    Tool {
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Map<String, Json>,
    },
}

/// A question to the memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryRead {
    /// In words; empty for the filters alone.
    pub question: String,
    /// The collection.
    pub collection: String,
    /// Metadata that must be equal.
    pub filter: Map<String, Json>,
    /// Whether every hit matters, not only the best.
    pub is_count: bool,
}

/// Why a rule cannot decide.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stuck {
    /// A fact is not there.
    #[error("rule `{rule}` needs `{fact}`: {why}")]
    Missing {
        /// The rule.
        rule: String,
        /// The fact.
        fact: String,
        /// Where it was looked for, and how to give it.
        why: String,
    },
    /// A fact has several values.
    #[error("rule `{rule}` finds several values for `{fact}`: {values}; say which one is meant")]
    Several {
        /// The rule.
        rule: String,
        /// The fact.
        fact: String,
        /// The values.
        values: String,
    },
    /// A fact cannot be read.
    #[error("rule `{rule}` cannot read `{fact}`: {source}")]
    Unread {
        /// The rule.
        rule: String,
        /// The fact.
        fact: String,
        /// Why.
        source: Unread,
    },
    /// A fact cannot be worked out.
    #[error("rule `{rule}` cannot work out `{fact}`: {source}")]
    Underived {
        /// The rule.
        rule: String,
        /// The fact.
        fact: String,
        /// Why.
        source: Refused,
    },
    /// What was found cannot be shown to be so.
    #[error("rule `{rule}`: {source}")]
    Refused {
        /// The rule.
        rule: String,
        /// Why.
        source: Refusal,
    },
}

/// What a rule decided: the steps it took, and the answer to be finished from them.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// Evidence and steps, in order; they are in the builder already.
    pub grown: Vec<Grown>,
    /// The answer, with its decision and what it rests on.
    pub draft: Draft,
}

/// A rule at work.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) rule: Arc<Loaded>,
    pub(super) known: BTreeMap<String, Operand>,
    pub(super) label: Label,
}
