//! What a candidate policy set says to a call that the active one has decided: a question and that
//! decision in, a [`Flip`] out where the two differ. It has no effect on the call.

use serde::Serialize;

use super::{Error, Policies, Question};

/// What became of a call when policy was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Said {
    /// It may run.
    Permit,
    /// It may run once a person has approved it.
    Approval,
    /// It may not run.
    Deny,
    /// A policy could not be evaluated, so it may not run.
    Error,
}

impl Said {
    /// What a decision comes to.
    pub const fn of<T>(decided: &Result<T, Error>) -> Self {
        match decided {
            Ok(_) => Self::Permit,
            Err(Error::ApprovalRequired { .. }) => Self::Approval,
            Err(Error::Denied { .. }) => Self::Deny,
            Err(_) => Self::Error,
        }
    }

    /// The word for it in metrics and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permit => "permit",
            Self::Approval => "approval",
            Self::Deny => "deny",
            Self::Error => "error",
        }
    }
}

/// A call that a candidate set decides otherwise than the active one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flip {
    /// What the active set said.
    pub from: Said,
    /// What the candidate says.
    pub outcome: Said,
    /// Ids of the candidate's policies that decide; the one that fails, for an error.
    pub policies: Vec<String>,
    /// Digest of the candidate.
    pub version: String,
}

impl Policies {
    /// Decides a call as the candidate; `None` when it comes to the same as was decided.
    pub fn flip(&self, question: &Question<'_>, from: Said) -> Option<Flip> {
        let decided = self.judge(question);
        let outcome = Said::of(&decided);
        if outcome == from {
            return None;
        }
        let policies = match decided {
            Ok(policies) => policies,
            Err(error) => error.decision().map(|decision| decision.policies).unwrap_or_default(),
        };
        Some(Flip { from, outcome, policies, version: self.version().to_owned() })
    }
}
