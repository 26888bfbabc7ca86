//! Who works on a question, as `policies/agents/*.toml` declares it: that folder in, [`Agents`] out. A
//! broken file costs its own agent only, or nothing where its last good state is known. Runs nothing.

mod check;
mod lint;
mod load;
#[cfg(test)]
pub(in crate::reason) mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catalog::Named;
use crate::memory::Layer;

pub use lint::Surroundings;
pub(in crate::reason) use lint::hint;

/// The agent that answers where none is named. No file declares it.
pub(in crate::reason) const DEFAULT: &str = "default";

/// The agents of a policies folder. Immutable: a reload makes a new one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Agents {
    named: Named<Agent>,
}

impl Agents {
    /// An agent by its name.
    pub fn get(&self, name: &str) -> Option<&Arc<Agent>> {
        self.named.get(name)
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Agent>> {
        self.named.iter()
    }

    /// The agents to which `lead` may give tasks: its team, and for the last task itself.
    pub fn team<'a>(&'a self, lead: &'a Agent) -> impl Iterator<Item = &'a Arc<Agent>> {
        self.iter().filter(|one| lead.may_lead(one))
    }

    /// The judge of `lead`, where it has one.
    pub fn judge(&self, lead: &Agent) -> Option<&Arc<Agent>> {
        self.get(lead.team.judge.as_deref()?).filter(|one| one.role == Role::Judge)
    }

    /// SHA-256 in hex over all declarations: equal declarations, equal digest.
    pub fn digest(&self) -> &str {
        self.named.digest()
    }
}

/// An agent as its file declares it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Its name: lower-case words with dots or dashes between them.
    pub name: String,
    /// What it is good for; the orchestrator's model chooses by it.
    pub description: String,
    /// See [`Role`].
    pub role: Role,
    /// What its model is told beside the rules of the loop.
    pub instructions: String,
    /// Tools that it sees: names, with `*` for any run of characters. Policy has to permit them too.
    #[serde(default)]
    pub tools: Vec<String>,
    /// What it recalls from.
    #[serde(default)]
    pub memory: Shelves,
    /// A role of `[models.roles]`, or the name of an endpoint; default `judge` for a judge, otherwise
    /// `reasoner`.
    #[serde(default)]
    pub model: Option<String>,
    /// What it may spend in one task, within what its run may spend; looked at before each question to a
    /// model, so that the last one can go beyond it.
    #[serde(default)]
    pub budget: Budget,
    /// Bounds of one task.
    #[serde(default)]
    pub limits: Limits,
    /// Whom an orchestrator works with.
    #[serde(default)]
    pub team: Team,
    /// What the messages of an orchestrator's team can state, by name. Without any, messages state
    /// what they like and are compared by their names and scopes alone.
    #[serde(default)]
    pub claims: BTreeMap<String, Claim>,
}

/// What an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Makes the plan.
    Orchestrator,
    /// Works on one task at a time.
    Worker,
    /// Settles contradictions between workers, by evidence packs alone.
    Judge,
}

/// What an agent recalls from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Shelves {
    /// Collections: names, with `*` for any run of characters. Empty for none.
    #[serde(default)]
    pub collections: Vec<String>,
    /// The only layers; empty for both.
    #[serde(default)]
    pub layers: Vec<Layer>,
}

/// What an agent may spend in one task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Tokens, in and out.
    #[serde(default)]
    pub tokens: Option<u64>,
    /// Money as a decimal, in the currency of the endpoints' prices.
    #[serde(default)]
    pub money: Option<String>,
}

/// Bounds of one task, or, for an orchestrator, of its plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Steps of the loop; default that of the run.
    #[serde(default)]
    pub steps: Option<u32>,
    /// Time for one task; default that of the run.
    #[serde(default, with = "optional")]
    pub wall: Option<Duration>,
    /// Orchestrator: tasks of a plan, 1 to 32; default 12.
    #[serde(default)]
    pub tasks: Option<u32>,
    /// Orchestrator: tasks at the same time, 1 to 16; default 4.
    #[serde(default)]
    pub parallel: Option<u32>,
}

/// Whom an orchestrator works with, and how it settles what they disagree about.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Team {
    /// Workers: names, with `*` for any run of characters. Empty for all.
    #[serde(default)]
    pub workers: Vec<String>,
    /// The judge; without one `settle` decides.
    #[serde(default)]
    pub judge: Option<String>,
    /// Without a judge: what decides between two messages, the first that differs. Empty: undecided.
    #[serde(default)]
    pub settle: Vec<Settle>,
    /// Confidence below which a message does not travel on without a review, 0 to 1; default 0.5.
    #[serde(default)]
    pub review_below: Option<f64>,
}

/// What code can decide a contradiction by: the message that has more of it is upheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Settle {
    /// Trust of the least trusted evidence.
    Trust,
    /// Share of the scope that the evidence speaks of.
    Coverage,
    /// Confidence.
    Confidence,
}

impl Settle {
    /// The word for it in files and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trust => "trust",
            Self::Coverage => "coverage",
            Self::Confidence => "confidence",
        }
    }
}

/// Something that messages can state.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What it is, for models and people.
    pub description: String,
    /// Its type.
    #[serde(rename = "type")]
    pub form: Form,
    /// Unit of a number, such as `EUR`, `%` or `kg`; a message in another one of its dimension is
    /// converted, one that cannot be is refused.
    #[serde(default)]
    pub unit: Option<String>,
    /// Relative difference up to which two numbers agree, as a decimal; default 0.
    #[serde(default)]
    pub tolerance: String,
    /// Scopes that a message has to name, such as `quarter`.
    #[serde(default)]
    pub scope: Vec<String>,
    /// Ids of the rules that a judge is shown.
    #[serde(default)]
    pub rules: Vec<String>,
}

/// Types of what is stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A number, exact, with a unit where it has one.
    Number,
    /// A date or an instant.
    Date,
    /// `true` or `false`.
    Boolean,
    /// A text of one line.
    Text,
    /// A set of texts.
    Set,
}

impl Form {
    /// The word for it in files and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Date => "date",
            Self::Boolean => "boolean",
            Self::Text => "text",
            Self::Set => "set",
        }
    }
}

impl Agent {
    /// Tasks of a plan where the file says nothing.
    const TASKS: u32 = 12;
    /// Tasks at the same time where the file says nothing.
    const PARALLEL: u32 = 4;
    /// Confidence below which a message is reviewed where the file says nothing.
    const REVIEW_BELOW: f64 = 0.5;

    /// Whether it sees a tool.
    pub fn may_use(&self, tool: &str) -> bool {
        self.tools.iter().any(|pattern| fits(pattern, tool))
    }

    /// Whether it recalls from a collection.
    pub fn may_recall(&self, collection: &str, layer: Layer) -> bool {
        let Shelves { collections, layers } = &self.memory;
        collections.iter().any(|pattern| fits(pattern, collection))
            && (layers.is_empty() || layers.contains(&layer))
    }

    /// Whether it may give a task to `other`: a worker of its team, or itself.
    pub fn may_lead(&self, other: &Self) -> bool {
        let workers = &self.team.workers;
        self.role == Role::Orchestrator
            && (self.name == other.name
                || other.role == Role::Worker
                    && (workers.is_empty()
                        || workers.iter().any(|pattern| fits(pattern, &other.name))))
    }

    /// The role or endpoint that it asks.
    pub fn model(&self) -> &str {
        self.model.as_deref().unwrap_or(match self.role {
            Role::Judge => "judge",
            Role::Orchestrator | Role::Worker => "reasoner",
        })
    }

    /// Most tasks of its plans.
    pub fn most_tasks(&self) -> usize {
        usize::try_from(self.limits.tasks.unwrap_or(Self::TASKS)).unwrap_or(usize::MAX)
    }

    /// Most tasks at the same time.
    pub fn parallel(&self) -> usize {
        usize::try_from(self.limits.parallel.unwrap_or(Self::PARALLEL)).unwrap_or(1).max(1)
    }

    /// Confidence below which a message does not travel on without a review.
    pub fn review_below(&self) -> f64 {
        self.team.review_below.unwrap_or(Self::REVIEW_BELOW)
    }
}

/// Whether a text fits a pattern in which `*` stands for any run of characters.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part).and_then(|at| rest.get(at + part.len()..)) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    true
}

/// A duration that need not be there.
mod optional {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::config::duration::parse;

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| parse(&text).map_err(D::Error::custom)).transpose()
    }

    pub(super) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.collect_str(&format_args!("{value:?}")),
            None => to.serialize_none(),
        }
    }
}
