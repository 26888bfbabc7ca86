//! How sure a step is: what went into it in, one number out. Every formula stands here and nowhere
//! else; the checker uses the same ones.
//!
//! - retrieval: score x validity x trust / 100. Validity is `valid` where the evidence holds at the
//!   date asked about, `undated` where it tells no dates, 0 where it does not hold.
//! - tool: `tool_success` or `tool_failure`, by how the tool ended.
//! - comparison: the least of its operands' evidence x `engine`.
//! - combination (a rule's all and any): the least of its premises x `engine`.
//! - statement (a model's inference): the product of its premises x `inference`.
//! - answer: the least of what it cites, x `unsupported` where its text has numbers, dates or ids
//!   that stand in nothing it cites; `free` for an answer without evidence.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::trace::{Confidence, Item, Source};

/// Digits behind the point that a confidence keeps.
const SCALE: f64 = 1e6;
/// What rounding may cost.
const ALMOST: f64 = 1e-6;

/// The constants: table `[reason.confidence]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Evidence that tells from when or until when it holds, and holds then.
    pub valid: f64,
    /// Evidence that tells neither.
    pub undated: f64,
    /// The reply of a tool that succeeded.
    pub tool_success: f64,
    /// The reply of a tool that failed: it is evidence of the failure only.
    pub tool_failure: f64,
    /// Code that compares and combines: exact.
    pub engine: f64,
    /// A model's own conclusion from its premises.
    pub inference: f64,
    /// An answer with numbers that nothing it cites has.
    pub unsupported: f64,
    /// An answer without evidence.
    pub free: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            valid: 1.0,
            undated: 0.9,
            tool_success: 0.95,
            tool_failure: 0.2,
            engine: 1.0,
            inference: 0.8,
            unsupported: 0.5,
            free: 0.0,
        }
    }
}

/// Which formula gave a confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Formula {
    /// score x validity x trust / 100.
    Retrieval,
    /// A constant by the tool's outcome.
    Tool,
    /// The least operand x engine.
    Comparison,
    /// The least premise x engine.
    Combination,
    /// The product of the premises x inference.
    Statement,
    /// The least of what is cited x support.
    Answer,
}

impl Config {
    /// All constants by name.
    pub(super) fn named(&self) -> [(&'static str, f64); 8] {
        [
            ("valid", self.valid),
            ("undated", self.undated),
            ("tool_success", self.tool_success),
            ("tool_failure", self.tool_failure),
            ("engine", self.engine),
            ("inference", self.inference),
            ("unsupported", self.unsupported),
            ("free", self.free),
        ]
    }

    /// Checks that every constant is from 0 to 1.
    ///
    /// # Errors
    /// The first that is not, and how to mend it.
    pub fn check(&self) -> Result<(), String> {
        let wrong = self.named().into_iter().find(|(_, value)| !(0.0..=1.0).contains(value));
        match wrong {
            Some((name, value)) => Err(format!(
                "[reason.confidence] {name} = {value} is no confidence: give a number from 0 to 1"
            )),
            None => Ok(()),
        }
    }
}

fn made(formula: Formula, value: f64, inputs: BTreeMap<String, f64>) -> Confidence {
    let value = if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 };
    Confidence { value: (value * SCALE).round() / SCALE, formula, inputs }
}

/// Whether two confidences are the same but for rounding.
pub(super) fn agrees(one: &Confidence, two: &Confidence) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= ALMOST;
    one.formula == two.formula
        && near(one.value, two.value)
        && one.inputs.len() == two.inputs.len()
        && one
            .inputs
            .iter()
            .all(|(name, value)| two.inputs.get(name).is_some_and(|other| near(*value, *other)))
}

/// Of the step that brings this evidence.
pub(super) fn of_item(item: &Item, as_of: Timestamp, constants: &Config) -> Confidence {
    let inputs = |all: &[(&str, f64)]| {
        all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    };
    if let Source::Tool { success, .. } = item.source {
        let outcome = if success { constants.tool_success } else { constants.tool_failure };
        return made(Formula::Tool, outcome, inputs(&[("outcome", outcome)]));
    }
    let dated = item.valid_from.is_some() || item.valid_to.is_some();
    let validity = match (item.source.is_given(), item.holds_at(as_of), dated) {
        (true, ..) => 1.0,
        (false, false, _) => 0.0,
        (false, true, true) => constants.valid,
        (false, true, false) => constants.undated,
    };
    let trust = f64::from(item.trust);
    let value = item.score * validity * trust / 100.0;
    let all = [("score", item.score), ("validity", validity), ("trust", trust)];
    made(Formula::Retrieval, value, inputs(&all))
}

fn least(inputs: &BTreeMap<String, f64>) -> f64 {
    inputs.values().copied().reduce(f64::min).unwrap_or(0.0)
}

fn with(mut inputs: BTreeMap<String, f64>, name: &str, value: f64) -> BTreeMap<String, f64> {
    inputs.insert(name.to_owned(), value);
    inputs
}

/// Of a comparison, by the confidences of its evidence.
pub(super) fn comparison(inputs: BTreeMap<String, f64>, constants: &Config) -> Confidence {
    let value = least(&inputs) * constants.engine;
    made(Formula::Comparison, value, with(inputs, "engine", constants.engine))
}

/// Of a rule's conclusion, by the confidences of its premises.
pub(super) fn combination(inputs: BTreeMap<String, f64>, constants: &Config) -> Confidence {
    let value = least(&inputs) * constants.engine;
    made(Formula::Combination, value, with(inputs, "engine", constants.engine))
}

/// Of a model's conclusion, by the confidences of its premises.
pub(super) fn statement(inputs: BTreeMap<String, f64>, constants: &Config) -> Confidence {
    let value = inputs.values().product::<f64>() * constants.inference;
    made(Formula::Statement, value, with(inputs, "inference", constants.inference))
}

/// Of an answer, by the confidences of what it cites.
pub(super) fn answer(
    inputs: BTreeMap<String, f64>,
    (is_supported, constants): (bool, &Config),
) -> Confidence {
    let (value, inputs) = match (inputs.is_empty(), is_supported) {
        (true, _) => (constants.free, with(inputs, "free", constants.free)),
        (false, true) => (least(&inputs), inputs),
        (false, false) => {
            let value = least(&inputs) * constants.unsupported;
            (value, with(inputs, "unsupported", constants.unsupported))
        }
    };
    made(Formula::Answer, value, inputs)
}
