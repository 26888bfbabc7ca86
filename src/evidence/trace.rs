//! What a run knows, as it is written down: evidence with labels, steps in order, the answer. The JSON
//! form is that of `trace.schema.json`. Decides nothing.

mod ending;

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::compare::Operator;
use super::confidence::Config;
use super::derive::Derived;
use super::read::Type;
use super::value::Value;

pub use ending::{Answer, Decision, Known, Partial, Summary};

/// The form of traces that this program writes.
pub const VERSION: u32 = 1;
/// Most summaries of earlier turns that go into the next one (R7).
pub const FOLLOW_UPS: usize = 3;

/// A short name inside one trace: `Q` for the question, `E4` for evidence, `S3` for a step.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Label(String);

impl Label {
    /// A label as somebody wrote it; it may name nothing.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The question itself, which is evidence of what was asked.
    pub fn question() -> Self {
        Self("Q".to_owned())
    }

    pub(super) fn numbered(letter: char, number: usize) -> Self {
        Self(format!("{letter}{number}"))
    }

    /// Its number; 0 for the question.
    pub(super) fn number(&self) -> usize {
        self.0.trim_start_matches(['E', 'S']).parse().unwrap_or_default()
    }

    /// The label as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where evidence comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Source {
    /// The question, and the date that it is asked for.
    Question {},
    /// A version of a unit in the memory.
    Memory {
        /// Its evidence id, `unit@seq`.
        evidence: String,
        /// The collection that holds it.
        collection: String,
    },
    /// The reply of a tool.
    Tool {
        /// The call, as the ledger names it.
        call_id: String,
        /// The tool.
        tool: String,
        /// Whether the tool succeeded.
        success: bool,
        /// The result's digest in the ledger.
        digest: String,
    },
    /// A declared rule.
    Rule {
        /// Its id.
        id: String,
        /// Digest of its declaration.
        digest: String,
    },
    /// What another agent of the run handed over, after its check.
    Message {
        /// The agent.
        from: String,
        /// The message.
        id: String,
    },
    /// What an earlier turn was asked; one of the summaries has it.
    Earlier {
        /// The run of that turn.
        run: String,
    },
    /// How many units a recall brought, and which.
    Recall {
        /// Their evidence ids, best first.
        evidence: Vec<String>,
        /// The collections that were asked; empty for all that were permitted.
        collections: Vec<String>,
    },
}

impl Source {
    /// Whether it is what somebody asked, or a rule: given, not found.
    pub(super) const fn is_given(&self) -> bool {
        matches!(self, Self::Question {} | Self::Earlier { .. } | Self::Rule { .. })
    }
}

/// One value that evidence states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// Its name: an attribute of a unit, a field of a result.
    pub name: String,
    /// As the source spells it.
    pub value: String,
    /// Its unit of measure or currency, where the source gives one apart; empty without.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Where it stands in the source, as a JSON Pointer; empty where it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pointer: String,
}

/// Evidence as it is found, before it has its label.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Where it comes from.
    pub source: Source,
    /// As it was shown to the model.
    pub text: String,
    /// What it states.
    pub facts: Vec<Fact>,
    /// From when on it holds, inclusive; open without it.
    pub valid_from: Option<Timestamp>,
    /// Until when it holds, exclusive; open without it.
    pub valid_to: Option<Timestamp>,
    /// How far its source is believed, 0 to 100.
    pub trust: u8,
    /// How well it fits the question, 0 to 1, by whatever found it.
    pub score: f64,
    /// Whether its words come from outside, and may not ask for anything.
    pub untrusted: bool,
}

impl Found {
    /// Evidence without facts, wholly trusted, that fits and holds at any time.
    pub fn new(source: Source, text: impl Into<String>) -> Self {
        Self {
            source,
            text: text.into(),
            facts: Vec::new(),
            valid_from: None,
            valid_to: None,
            trust: 100,
            score: 1.0,
            untrusted: false,
        }
    }
}

/// Evidence of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Its label.
    pub id: Label,
    /// Where it comes from.
    pub source: Source,
    /// As it was shown to the model.
    pub text: String,
    /// What it states.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
    /// From when on it holds, inclusive; open without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<Timestamp>,
    /// Until when it holds, exclusive; open without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<Timestamp>,
    /// How far its source is believed, 0 to 100.
    pub trust: u8,
    /// How well it fits the question, 0 to 1.
    pub score: f64,
    /// Whether its words come from outside.
    pub untrusted: bool,
    /// SHA-256 in hex over all of the above in canonical form.
    pub digest: String,
}

impl Item {
    /// The fact of this name.
    pub fn fact(&self, name: &str) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.name == name)
    }

    /// Whether it holds at an instant.
    pub fn holds_at(&self, at: Timestamp) -> bool {
        self.valid_from.is_none_or(|from| from <= at) && self.valid_to.is_none_or(|to| at < to)
    }
}

/// What kind of step this is (R6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Something was found: in the question, the memory, a rule.
    FactRetrieval,
    /// Two values were compared, by code.
    NumericalComparison,
    /// Something was concluded from earlier steps.
    LogicalInference,
    /// A tool, or another agent, answered.
    ToolResult,
}

/// How premises make a conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// It holds when all premises do.
    All,
    /// It holds when at least one premise does.
    Any,
    /// A model states it; the code vouches for its premises only.
    State,
}

/// What a step does with its operands or premises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Operation {
    /// Compares two operands.
    Compare(Operator),
    /// Concludes from premises.
    Combine(Combine),
}

/// One side of a comparison: a value, and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operand {
    /// The name that a rule gives it; empty without a rule.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The evidence that states it; absent for what is worked out of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Label>,
    /// The fact of that evidence; absent where the value stands in its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact: Option<String>,
    /// As the evidence spells it; empty for what is worked out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub spelled: String,
    /// The unit or currency that is taken where the spelling has none; empty without.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// The kind that a rule declares; absent without a rule.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Type>,
    /// As what it was read.
    pub value: Value,
    /// How it was worked out of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived: Option<Derived>,
}

/// How sure a step is, and why. Computed, never told by a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confidence {
    /// From 0 to 1.
    pub value: f64,
    /// The formula; see [`super::confidence::Formula`].
    pub formula: super::confidence::Formula,
    /// What went into it, by name.
    pub inputs: BTreeMap<String, f64>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its label.
    pub id: Label,
    /// What kind it is.
    #[serde(rename = "type")]
    pub kind: StepKind,
    /// The evidence that it brings or uses.
    pub evidence: Vec<Label>,
    /// The steps that it builds on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub premises: Vec<Label>,
    /// What it does; absent where it only brings evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
    /// What is compared: left, then right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<Operand>,
    /// What came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// How sure it is.
    pub confidence: Confidence,
    /// When it was done.
    pub at: Timestamp,
    /// In words.
    pub text: String,
}

/// Everything that one run can show for its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Form of the trace.
    pub version: u32,
    /// The run.
    pub run: String,
    /// What was asked.
    pub question: String,
    /// When.
    pub asked_at: Timestamp,
    /// The instant that the question is about.
    pub as_of: Timestamp,
    /// The zone in which its days begin, of the IANA database.
    pub time_zone: String,
    /// The constants behind its confidences.
    pub constants: Config,
    /// The evidence, in the order in which it was found.
    pub evidence: Vec<Item>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The answer, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// What is known, where there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
    /// What earlier turns left for this one, latest first; at most three. Where the run has ended, its own
    /// may stand before them; see [`super::follow::summaries`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follow_ups: Vec<Summary>,
    /// SHA-256 in hex over all of the above in canonical form; empty while it grows.
    pub seal: String,
}

impl Fact {
    /// A fact by its name and spelling.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        let (unit, pointer) = (String::new(), String::new());
        Self { name: name.into(), value: value.into(), unit, pointer }
    }

    /// A fact of a unit in the memory; rules name it `entity.attribute`.
    pub fn of_unit(entity: &str, attribute: &str, value: &str, unit: &str) -> Self {
        Self { unit: unit.to_owned(), ..Self::new(format!("{entity}.{attribute}"), value) }
    }
}

impl Trace {
    /// The evidence of this label.
    pub fn item(&self, label: &Label) -> Option<&Item> {
        self.evidence.iter().find(|item| item.id == *label)
    }

    /// The summaries of earlier turns; that of this one, which a finished trace may have first, is none.
    pub(super) fn earlier(&self) -> impl Iterator<Item = &Summary> {
        self.follow_ups.iter().filter(|one| one.run != self.run)
    }

    /// What an earlier turn was asked, by its run, as the summaries tell it.
    pub fn earlier_question(&self, run: &str) -> Option<&str> {
        let own = self.earlier().find(|one| one.run == run).map(|one| &one.question);
        let passed_on = || {
            let items = self.earlier().flat_map(|one| &one.evidence);
            let mut earlier = items
                .filter(|item| matches!(&item.source, Source::Earlier { run: one } if one == run));
            earlier.next().map(|item| &item.text)
        };
        own.or_else(passed_on).map(String::as_str)
    }

    /// The step of this label.
    pub fn step(&self, label: &Label) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == *label)
    }
}
