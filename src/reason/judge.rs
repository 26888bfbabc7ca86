//! Contradictions between messages, and how they are settled (R10): messages in, [`Case`]s with
//! evidence packs out; of a case and what a judge said, or a declared rule, a [`Ruling`]. Contradictions
//! are found and rulings are checked by code. Asks nobody.

mod case;
mod ruling;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::agent::Settle;
use super::refusal;
use crate::evidence::{Fact, Label, Source, Value};

pub(in crate::reason) use case::{Bench, contradictions, review};
pub(in crate::reason) use ruling::{instructions, mend, nobody, question, read, settle, shape};

/// What a judge is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Case {
    /// What it is about: the claim and its scope, such as `revenue (quarter 2026-Q4)`.
    pub(crate) id: String,
    /// Whether it is about one message of low confidence, and not about several that contradict.
    pub(crate) is_review: bool,
    /// The claim.
    pub(crate) claim: String,
    /// What the claim holds for.
    pub(crate) scope: BTreeMap<String, String>,
    /// How the packs differ, in words of the code.
    pub(crate) why: String,
    /// What stands against each other.
    pub(crate) packs: Vec<Pack>,
    /// The rules that apply.
    pub(crate) rules: Vec<Law>,
}

/// One side of a case: what is claimed and what it rests on. No words of an agent are in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pack {
    /// Its name in the case: `P1`, `P2`.
    pub(crate) id: String,
    /// The message.
    pub(crate) message: String,
    /// The agent that says it.
    pub(crate) agent: String,
    /// The value that is claimed.
    pub(crate) value: Value,
    /// The evidence behind it.
    pub(crate) evidence: Vec<Exhibit>,
    /// Trust of the least trusted evidence, 0 to 100.
    pub(crate) trust: u8,
    /// Share of the scope that the evidence speaks of, 0 to 1.
    pub(crate) coverage: f64,
    /// How sure the message is, by code.
    pub(crate) confidence: f64,
    /// The other packs that say the same, within the tolerance.
    pub(crate) agrees: Vec<String>,
}

/// Evidence as a judge sees it: where it comes from and what it states, without its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Exhibit {
    /// Its label.
    pub(crate) label: Label,
    /// Where it comes from.
    pub(crate) source: Source,
    /// What it states; what has to do with the claim and the scope first.
    pub(crate) facts: Vec<Fact>,
    /// How far its source is believed, 0 to 100.
    pub(crate) trust: u8,
    /// From when on it holds; empty where it does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) valid_from: String,
    /// Until when it holds; empty where it does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) valid_to: String,
    /// Whether it comes from outside.
    pub(crate) untrusted: bool,
}

/// A rule that applies to a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Law {
    /// Its id.
    pub(crate) id: String,
    /// What it says.
    pub(crate) description: String,
}

/// How a case was settled, and why: what the run's record has of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ruling {
    /// The case, with all that was shown.
    pub(crate) case: Case,
    /// What was decided.
    pub(crate) verdict: Verdict,
    /// Who decided.
    pub(crate) by: By,
    /// The evidence that it rests on, by label.
    pub(crate) grounds: Vec<Label>,
    /// The rules that it goes by, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) rules: Vec<String>,
    /// Why, in one or two sentences.
    pub(crate) words: String,
    /// Why earlier rulings of the judge did not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) refused: Vec<Refusal>,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// This message holds; the others of the case do not.
    Upheld {
        /// The pack.
        pack: String,
        /// Its message.
        message: String,
    },
    /// None is preferred: whoever reads them is shown that they are disputed.
    Undecided,
}

/// Who decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub(crate) enum By {
    /// A judge.
    Judge {
        /// The agent.
        agent: String,
    },
    /// Code, by what the orchestrator's file declares in `team.settle`.
    Declared {
        /// By what.
        settle: Settle,
    },
    /// Nobody could.
    Nobody,
}

/// Why a ruling does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Reason {
    /// It is no JSON object.
    Unreadable,
    /// A member is missing, or of the wrong type.
    BadShape,
    /// It names none of the packs, and not `undecided`.
    UnknownPack,
    /// It upholds a pack and names no evidence for it.
    NoGrounds,
    /// It names evidence that is in none of the packs.
    UnknownGround,
    /// None of its evidence is in the pack that it upholds.
    GroundElsewhere,
    /// It names a rule that does not apply.
    UnknownRule,
}

impl Reason {
    /// Every reason.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 7] = [
        Self::Unreadable,
        Self::BadShape,
        Self::UnknownPack,
        Self::NoGrounds,
        Self::UnknownGround,
        Self::GroundElsewhere,
        Self::UnknownRule,
    ];

    /// The code as it stands in records.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "UNREADABLE",
            Self::BadShape => "BAD_SHAPE",
            Self::UnknownPack => "UNKNOWN_PACK",
            Self::NoGrounds => "NO_GROUNDS",
            Self::UnknownGround => "UNKNOWN_GROUND",
            Self::GroundElsewhere => "GROUND_ELSEWHERE",
            Self::UnknownRule => "UNKNOWN_RULE",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a ruling does not hold, and where.
pub(crate) type Refusal = refusal::Refusal<Reason>;

impl Case {
    /// A pack by its id.
    pub(crate) fn pack(&self, id: &str) -> Option<&Pack> {
        self.packs.iter().find(|pack| pack.id == id)
    }

    /// Whether it is about the same messages.
    pub(in crate::reason) fn is_same(&self, other: &Self) -> bool {
        let messages = |case: &Self| -> Vec<String> {
            case.packs.iter().map(|pack| pack.message.clone()).collect()
        };
        self.is_review == other.is_review && messages(self) == messages(other)
    }
}

impl Ruling {
    /// The message that it upholds.
    pub(crate) fn upheld(&self) -> Option<&str> {
        match &self.verdict {
            Verdict::Upheld { message, .. } => Some(message),
            Verdict::Undecided => None,
        }
    }

    /// The messages that it does not uphold; none where it is undecided.
    pub(crate) fn overruled(&self) -> impl Iterator<Item = &str> {
        let upheld = self
            .upheld()
            .and_then(|upheld| self.case.packs.iter().find(|pack| pack.message == upheld));
        self.case
            .packs
            .iter()
            .filter(move |pack| {
                upheld
                    .is_some_and(|upheld| upheld.id != pack.id && !upheld.agrees.contains(&pack.id))
            })
            .map(|pack| pack.message.as_str())
    }

    /// In one line, for agents and people.
    pub(crate) fn told(&self) -> String {
        let by = match &self.by {
            By::Judge { agent } => format!("`{agent}` ruled"),
            By::Declared { settle } => format!("decided by {}", settle.as_str()),
            By::Nobody => "nobody decided".to_owned(),
        };
        let values: Vec<String> = self
            .case
            .packs
            .iter()
            .map(|pack| format!("{} ({})", pack.value, pack.message))
            .collect();
        let sides = values.join(" against ");
        let id = &self.case.id;
        match self
            .upheld()
            .and_then(|upheld| self.case.packs.iter().find(|pack| pack.message == upheld))
        {
            Some(pack) => format!("{id}: {sides}; {by}: {} holds. {}", pack.value, self.words),
            None => format!("{id}: {sides}; {by}: undecided, so it is disputed. {}", self.words),
        }
    }
}
