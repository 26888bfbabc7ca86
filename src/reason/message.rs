//! Messages between agents (R9): what a worker reports in, [`Message`]s that carry source, confidence,
//! scope, type and value out. Source and confidence are put in by code, from the evidence that the
//! report cites; what does not pass the check does not travel on.

mod agree;
mod check;
mod report;
#[cfg(test)]
pub(in crate::reason) mod tests;
mod typed;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::agent::Form;
use super::refusal;
use crate::evidence::{Item, Label, Source, Step, Value};

pub(in crate::reason) use agree::{agree, same_scope};
pub(in crate::reason) use check::{Checked, Office, check};
pub(in crate::reason) use report::{instructions, shape};

/// Most messages of one task.
pub(crate) const MOST: usize = 24;

/// What one agent tells the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Message {
    /// Its id in the run: the task and a number, such as `find#1`.
    pub(crate) id: String,
    /// The task that it comes from.
    pub(crate) task: String,
    /// The agent that says it.
    pub(crate) agent: String,
    /// What is stated, by its declared name.
    pub(crate) claim: String,
    /// What it holds for, such as `quarter` = `2026-Q4`.
    pub(crate) scope: BTreeMap<String, String>,
    /// The type of the value.
    #[serde(rename = "type")]
    pub(crate) form: Form,
    /// The value, read and exact.
    pub(crate) value: Value,
    /// Where the data comes from: the sources of the evidence that is cited, each once.
    pub(crate) source: Vec<Source>,
    /// Labels of the evidence and steps that it rests on.
    pub(crate) evidence: Vec<Label>,
    /// How sure it is: the least of what it cites, times the constant of inference where the value does
    /// not stand there as it is. Never told by a model.
    pub(crate) confidence: f64,
    /// Trust of the least trusted evidence, 0 to 100.
    pub(crate) trust: u8,
    /// Share of its scope that the evidence speaks of, 0 to 1.
    pub(crate) coverage: f64,
    /// Who reviewed it, where its confidence is low.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) review: Option<Review>,
}

/// Why a message of low confidence travels on all the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Review {
    /// A message that says the same from other evidence, by its id, or the judge, by its name.
    pub(crate) by: String,
    /// How, in words.
    pub(crate) words: String,
}

/// Why what a task gave does not travel on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Reason {
    /// It is no JSON object, and the task asks for one.
    Unreadable,
    /// A member is missing, of the wrong type, or none that a report has.
    BadShape,
    /// The result does not fit the schema of the task.
    ResultMismatch,
    /// There are more messages than a task may send.
    TooMany,
    /// A claim that the task has to state is not there.
    MissingClaim,
    /// A claim that nobody declared, or that is not the task's.
    UnknownClaim,
    /// The value is not of the claim's type, or not in its unit.
    TypeMismatch,
    /// It cites no evidence, or none that has a source.
    MissingSource,
    /// It cites what the task did not find and was not given.
    UnknownEvidence,
    /// It says less than all of what it holds for.
    MissingScope,
    /// It holds for something else than the task is about.
    OutOfScope,
    /// It is less sure than messages have to be, and nobody reviewed it.
    LowConfidence,
    /// It contradicts what a ruling upheld before the task began.
    AgainstRuling,
    /// It states one claim of one scope twice, with two values.
    ContradictsItself,
}

impl Reason {
    /// Every reason.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 14] = [
        Self::Unreadable,
        Self::BadShape,
        Self::ResultMismatch,
        Self::TooMany,
        Self::MissingClaim,
        Self::UnknownClaim,
        Self::TypeMismatch,
        Self::MissingSource,
        Self::UnknownEvidence,
        Self::MissingScope,
        Self::OutOfScope,
        Self::LowConfidence,
        Self::AgainstRuling,
        Self::ContradictsItself,
    ];

    /// The code as it stands in records.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "UNREADABLE",
            Self::BadShape => "BAD_SHAPE",
            Self::ResultMismatch => "RESULT_MISMATCH",
            Self::TooMany => "TOO_MANY",
            Self::MissingClaim => "MISSING_CLAIM",
            Self::UnknownClaim => "UNKNOWN_CLAIM",
            Self::TypeMismatch => "TYPE_MISMATCH",
            Self::MissingSource => "MISSING_SOURCE",
            Self::UnknownEvidence => "UNKNOWN_EVIDENCE",
            Self::MissingScope => "MISSING_SCOPE",
            Self::OutOfScope => "OUT_OF_SCOPE",
            Self::LowConfidence => "LOW_CONFIDENCE",
            Self::AgainstRuling => "AGAINST_RULING",
            Self::ContradictsItself => "CONTRADICTS_ITSELF",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why what a task gave does not travel on, and where.
pub(crate) type Refusal = refusal::Refusal<Reason>;

/// What the labels that a task may cite stand for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Grounds {
    /// Evidence that the task found or was given.
    pub(crate) items: Vec<Item>,
    /// Steps of the trace that speak of it.
    pub(crate) steps: Vec<Step>,
}

impl Grounds {
    /// The evidence behind a label, through all premises of a step; `None` for a label that stands for
    /// nothing here.
    pub(in crate::reason) fn behind(&self, label: &str) -> Option<Vec<&Item>> {
        if let Some(item) = self.item(label) {
            return Some(vec![item]);
        }
        self.step(label)?;
        let labels = self.chain(label).into_iter().flat_map(|step| &step.evidence);
        Some(labels.filter_map(|one| self.item(one.as_str())).collect())
    }

    /// The step of a label and those that it follows from, each once; none for evidence.
    pub(in crate::reason) fn chain(&self, label: &str) -> Vec<&Step> {
        let (mut found, mut todo): (Vec<&Step>, VecDeque<&str>) = (Vec::new(), [label].into());
        while let Some(label) = todo.pop_front() {
            let is_new = |step: &&Step| !found.iter().any(|known| known.id == step.id);
            if let Some(step) = self.step(label).filter(is_new) {
                todo.extend(step.premises.iter().map(Label::as_str));
                found.push(step);
            }
        }
        found
    }

    /// How sure what a label stands for is: of a step its own, of evidence that of the step that
    /// brought it.
    pub(in crate::reason) fn confidence(&self, label: &str) -> Option<f64> {
        if let Some(step) = self.step(label) {
            return Some(step.confidence.value);
        }
        let brings = |step: &&Step| {
            step.operation.is_none() && step.evidence.iter().any(|one| one.as_str() == label)
        };
        self.steps.iter().find(brings).map(|step| step.confidence.value)
    }

    pub(in crate::reason) fn item(&self, label: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.id.as_str() == label)
    }

    pub(in crate::reason) fn step(&self, label: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.id.as_str() == label)
    }
}

impl Message {
    /// What it states, in one line.
    pub(crate) fn told(&self) -> String {
        let scope: Vec<String> =
            self.scope.iter().map(|(key, value)| format!("{key} {value}")).collect();
        let scope =
            if scope.is_empty() { String::new() } else { format!(" for {}", scope.join(", ")) };
        format!("{}{scope} is {}", self.claim, self.value)
    }
}
