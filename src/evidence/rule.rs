//! Rules declared in `rules/*.toml` of a policies folder: a question in, the rule for it out, then a
//! plan of what to read, then a decision. No model takes part. What the plan asks for is read by
//! whoever holds it.

mod check;
mod decide;
mod fact;
mod load;
mod pick;
mod plan;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::compare::Operator;
use super::derive::How;
use super::read::Type;

pub(super) use fact::{Untaken, can_be, in_question, is_chinese, plain_text, taken, told};
pub use pick::Unfit;
pub(super) use plan::COUNT;
pub use plan::{MemoryRead, Plan, Read, Stuck, Want};

/// A declared rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its id; versions of one rule have the same id and dates that do not overlap.
    pub id: String,
    /// Who answers for it.
    pub owner: String,
    /// What it decides, in a sentence.
    pub description: String,
    /// The first day on which it is in force; always without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<String>,
    /// The last day on which it is in force; for ever without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<String>,
    /// The zone in which its days begin, of the IANA database.
    #[serde(default = "utc")]
    pub time_zone: String,
    /// Which questions it is for.
    pub when: When,
    /// The facts that it compares, by name.
    pub facts: BTreeMap<String, Fact>,
    /// What is compared.
    pub decide: Decide,
    /// What is decided where it holds.
    pub then: Outcome,
    /// What is decided where it does not hold.
    #[serde(rename = "else")]
    pub otherwise: Outcome,
}

fn utc() -> String {
    "UTC".to_owned()
}

/// Which questions a rule is for: every condition that is there must be met.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    /// Groups of words; of each group one must stand in the question. A Latin word is matched whole, or
    /// by its beginning where it ends with `*`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub all: Vec<Vec<String>>,
    /// Regular expressions, of which one must match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// Words that must not stand in the question.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub none: Vec<String>,
}

/// Where a fact comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The question.
    Question,
    /// The date that the question is about.
    AsOf,
    /// The rule itself: a constant.
    Rule,
    /// The memory.
    Memory,
    /// A tool.
    Tool,
    /// Other facts.
    Derived,
}

/// Which of several values counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// The only one; several that differ are a refusal.
    #[default]
    One,
    /// That of the best hit that has one.
    Best,
    /// The least.
    Least,
    /// The most.
    Most,
    /// How many hits there are.
    Count,
}

/// One fact of a rule. Which keys it has depends on `from`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// Where it comes from.
    pub from: Origin,
    /// What kind of value it is.
    #[serde(rename = "type")]
    pub kind: Type,
    /// Unit or currency of a number without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// question, memory: a regular expression; its first group, or all of it, is the value. Without it
    /// the only value of its kind in the question.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pattern: String,
    /// rule: the constant.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// memory: what is asked; `{name}` stands for a fact that is known by then.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub question: String,
    /// memory: the collection.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub collection: String,
    /// memory: metadata that must be equal; `{name}` as above.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub filter: Map<String, Json>,
    /// memory: the fact of a unit, `entity.attribute`, or the name of its metadata.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fact: String,
    /// memory: which of several values counts.
    #[serde(default)]
    pub take: Take,
    /// tool: its name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// tool: its arguments; `{name}` as above.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Json>,
    /// tool: where the value stands in the result, as a JSON Pointer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pointer: String,
    /// derived: how it is worked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<How>,
    /// derived: of which facts, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<String>,
}

/// What is compared: `all` must hold, or one of `any`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Decide {
    /// Comparisons that must all hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub all: Vec<Compare>,
    /// Comparisons of which one must hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any: Vec<Compare>,
}

/// One comparison of two facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// The fact on the left.
    pub left: String,
    /// How.
    pub operator: Operator,
    /// The fact on the right.
    pub right: String,
}

/// What is decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// In a word, for programs.
    pub decision: String,
    /// In words by language, `en` and `zh`; `{name}` stands for a fact, `{as_of}` for the day.
    pub answer: BTreeMap<String, String>,
}

/// A rule as it is loaded.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The rule.
    pub rule: Rule,
    /// SHA-256 in hex of its canonical JSON.
    pub digest: String,
    /// From when on it is in force, inclusive.
    pub from: Option<Timestamp>,
    /// Until when it is in force, exclusive.
    pub to: Option<Timestamp>,
    /// The file, relative to the policies folder.
    pub file: String,
    when: pick::Compiled,
}

/// All rules of a policies folder.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    all: Vec<Arc<Loaded>>,
    digest: String,
}

impl Rules {
    /// All rules, by file.
    pub fn all(&self) -> &[Arc<Loaded>] {
        &self.all
    }

    /// Digest of all of them.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The version of a rule that is in force at an instant.
    pub fn get(&self, id: &str, at: Timestamp) -> Option<&Arc<Loaded>> {
        self.all.iter().find(|one| one.rule.id == id && one.holds_at(at))
    }
}

impl Loaded {
    /// Whether it is in force at an instant.
    pub fn holds_at(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at < to)
    }
}
