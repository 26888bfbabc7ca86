//! Recorded calls in, those that would now be decided differently out, with whose fault the refusal
//! is or was: the model's, the tool definition's, or the policies'. Nothing runs again.

use serde::Serialize;

use super::{Asked, Outcome, Review};
use crate::mask::MASK;
use crate::policy::Error;

/// A recorded call.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    /// Its id.
    pub call_id: String,
    /// The call; its arguments as they were recorded.
    pub asked: Asked,
    /// What was decided; `None` when it was refused before anything was.
    pub outcome: Option<Outcome>,
    /// Ids of the policies that decided.
    pub policies: Vec<String>,
    /// Digest of the tool's definition then.
    pub tool_digest: String,
    /// Digest of the arguments that ran; empty when they were refused.
    pub arguments_digest: String,
    /// Whether the record lacks part of the arguments.
    pub cut: bool,
}

/// Whose fault a difference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// The model named or filled a tool wrongly, by a definition that is the same today.
    Model,
    /// The tool's definition was, or now is, in the way: it changed, came or went.
    Definition,
    /// The same call of the same tool meets other policies.
    Policy,
}

/// What a recorded call would come to today.
#[derive(Debug, Clone, Serialize)]
pub struct Replayed {
    /// Its id.
    pub call_id: String,
    /// The tool as the record names it.
    pub tool: String,
    /// Who called.
    pub caller: String,
    /// What was decided; `None` when nothing was.
    pub then: Option<Outcome>,
    /// Ids of the policies that decided.
    pub then_policies: Vec<String>,
    /// What would be decided today.
    pub now: Outcome,
    /// Ids of the policies that would decide.
    pub now_policies: Vec<String>,
    /// The refusal of today in words; empty when the call would run.
    pub message: String,
    /// Whose fault it is, where it differs or was and is a model's mistake; else `None`.
    pub fault: Option<Fault>,
    /// Whether it is decided differently.
    pub differs: bool,
    /// Why nothing can be said of it; empty when something can.
    pub unclear: &'static str,
}

impl Review {
    /// Checks one recorded call against the schemas and policies of this load.
    pub fn replay(&self, past: &Past) -> Result<Replayed, Error> {
        let judged = self.judge(&past.asked)?;
        let now = judged.outcome;
        let masked = past.asked.arguments.contains(MASK);
        let changed = judged.tool.as_ref().is_some_and(|tool| tool.digest != past.tool_digest);
        let other = !past.arguments_digest.is_empty() && judged.digest != past.arguments_digest;
        let unclear = match past.outcome {
            None => "nothing was decided then",
            Some(_) if past.cut => "the record has only part of the arguments",
            // Another value than the one that was masked may be decided in another way.
            Some(_) if masked && (other || past.arguments_digest.is_empty()) => {
                "the record has its arguments masked"
            }
            Some(_) => "",
        };
        let differs = unclear.is_empty() && past.outcome != Some(now);
        let fault =
            past.outcome.filter(|_| unclear.is_empty()).and_then(|then| match (then, now) {
                (Outcome::Unknown, Outcome::Unknown) | (Outcome::Invalid, Outcome::Invalid) => {
                    Some(Fault::Model)
                }
                (Outcome::Unknown, _) | (_, Outcome::Unknown) => Some(Fault::Definition),
                (Outcome::Invalid, _) | (_, Outcome::Invalid) if changed => Some(Fault::Definition),
                (Outcome::Invalid, _) | (_, Outcome::Invalid) => Some(Fault::Model),
                _ => differs.then_some(Fault::Policy),
            });
        Ok(Replayed {
            call_id: past.call_id.clone(),
            tool: past.asked.tool.clone(),
            caller: past.asked.caller.name.clone(),
            then: past.outcome,
            then_policies: past.policies.clone(),
            now,
            now_policies: judged.policies,
            message: judged.message,
            fault,
            differs,
            unclear,
        })
    }
}
