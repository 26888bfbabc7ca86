//! How sure a step is: what went into it in, one number out. Every formula stands here and nowhere
//! else; the checker uses the same ones.
//!
//! - retrieval: score x validity x trust / 100. Validity is `valid` where the evidence holds at the
//!   date asked about, `undated` where it tells no dates, 0 where it does not hold.
//! - tool: `tool_success` or `tool_failure`, by how the tool ended.
//! - comparison: the least of its operands' evidence x `engine`.
//! - combination (a rule's all and any): the least of its premises x `engine`.
//! - statement (a model's inference): the product of its premises x `inference`.
//! - answer: the least of what it cites, x `unsupported` where its text has numbers that stand in
//!   nothing it cites; `free` for an answer without evidence.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::trace::{Confidence, Source};

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
