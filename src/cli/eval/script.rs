//! What a model says in a case, as it was recorded or as it is written by hand: one [`Line`] for each
//! answer, with what the question to the model must look like for the answer to fit.

mod braces;

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub(super) use braces::fill;

/// One answer of a model. In a file of recorded answers each is a line of JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    /// The case; a suite fills it in where the answer stands in the case itself.
    #[serde(default)]
    pub(super) case: String,
    /// Which of the case's questions, from 1.
    #[serde(default)]
    pub(super) turn: usize,
    /// The model that is asked, by the name that the daemon asks for; empty for whichever.
    #[serde(default, rename = "as", skip_serializing_if = "String::is_empty")]
    pub(super) model: String,
    /// Texts that must stand in the question to the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) sees: Vec<String>,
    /// Texts that must not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) blind: Vec<String>,
    /// Tools that must be offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) offered: Vec<String>,
    /// Tools that must not be offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) hidden: Vec<String>,
    /// The calls whose results the model is told, all since the question and in their order; a recorder
    /// fills it in. Without it whatever results come fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<Vec<Made>>,
    /// What the model says.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) text: String,
    /// What it calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<Made>,
    /// Its final answer, as the object that stands under `final`; instead of `text`.
    #[serde(default, rename = "final", skip_serializing_if = "Option::is_none")]
    pub(super) last: Option<Value>,
    /// A text that is said so many times over; for answers beyond all measure.
    #[serde(default, skip_serializing_if = "is_one")]
    pub(super) times: Times,
    /// It is said as it stands: braces are braces. A recorder sets it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) raw: bool,
    /// Asked any number of times, it answers the same.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) again: bool,
}

/// How often a text is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Times(pub(super) usize);

impl Default for Times {
    fn default() -> Self {
        Self(1)
    }
}

/// Most times that a text is said.
const MOST_TIMES: usize = 1 << 20;

fn is_one(times: &Times) -> bool {
    times.0 == 1
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A call that a model makes, or has made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Made {
    /// The tool, by its own name.
    pub(super) tool: String,
    /// Its arguments; a text stands for itself, as a model may send any.
    #[serde(default = "nothing")]
    pub(super) arguments: Value,
}

fn nothing() -> Value {
    Value::Object(Map::new())
}

impl Line {
    /// What is wrong with it by itself.
    pub(super) fn check(&self) -> Result<(), String> {
        let silent = self.text.is_empty() && self.calls.is_empty() && self.last.is_none();
        let twice = self.last.is_some() && !(self.text.is_empty() && self.calls.is_empty());
        match (silent, twice, self.times.0) {
            (true, ..) => Err("an answer says nothing: give `text`, `calls` or `final`".to_owned()),
            (_, true, _) => Err("`final` stands beside `text` or `calls`: keep one".to_owned()),
            (.., 0) => Err("`times` is 0: an answer is said at least once".to_owned()),
            (.., times) if times > MOST_TIMES => Err(format!("`times` is over {MOST_TIMES}")),
            _ => Ok(()),
        }
    }

    /// The text that is sent, before what stands in braces is filled in.
    pub(super) fn words(&self) -> String {
        match &self.last {
            Some(last) => json!({ "final": last }).to_string(),
            None => self.text.repeat(self.times.0),
        }
    }
}

/// Reads a file of recorded answers.
pub(super) fn read(path: &Path) -> Result<Vec<Line>, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("the transcript `{}`: {error}", path.display()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            let place = |why: &dyn std::fmt::Display| {
                format!("the transcript `{}` line {}: {why}", path.display(), at + 1)
            };
            let line: Line = serde_json::from_str(line).map_err(|error| place(&error))?;
            match line.case.is_empty() || line.turn == 0 {
                true => Err(place(&"it needs `case` and `turn`")),
                false => Ok(line),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
