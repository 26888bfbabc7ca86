//! What can go wrong in this room: a policy set that cannot be used, and a call that is not
//! permitted. Each says what a person, a model or a program can do about it.

use std::fmt;
use std::path::PathBuf;

use serde_json::json;

use super::{Decision, Ruling};
use crate::approval::Wanted;
use crate::call::{Code, Failure};
use crate::catalog::Problem;
use crate::schema::Checked;

/// Why a policy set was refused, or a call was not authorized.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder of the policy set cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// At least one policy cannot be used, so none is.
    #[error("the policy set is refused: {}", Listed(problems))]
    Invalid {
        /// Each problem with its file and line.
        problems: Vec<Problem>,
    },
    /// The catalog cannot be told to Cedar.
    #[error("the schema made from the catalog is not valid: {reason}")]
    Schema {
        /// What Cedar said.
        reason: String,
    },
    /// Policy says no, and no person's approval would change that.
    #[error("policy does not permit this call: {}", denial(policies))]
    Denied {
        /// Ids of the policies that forbid it; empty when none permits it.
        policies: Vec<String>,
        /// Digest of the policy set that decided.
        version: String,
    },
    /// Policy permits the call once a person has approved it.
    #[error("policy permits this call only after a person has approved it")]
    ApprovalRequired {
        /// Ids of the policies that would permit it.
        policies: Vec<String>,
        /// Digest of the policy set that decided.
        version: String,
        /// What a person would be asked; `None` where only the decision was.
        wanted: Option<Box<Wanted>>,
    },
    /// A policy could not be evaluated, so nothing is permitted.
    #[error("policy `{policy}` cannot be evaluated for this call: {reason}")]
    Evaluation {
        /// Id of the first such policy; empty when the call itself cannot be expressed.
        policy: String,
        /// What Cedar said.
        reason: String,
        /// Digest of the policy set that decided.
        version: String,
    },
    /// The tool is not the one that the policies were checked against.
    #[error("the definition of `{tool}` changed while the call was under way: send it again")]
    Stale {
        /// The tool's name.
        tool: String,
        /// Digest of the policy set that was asked.
        version: String,
    },
}

impl Error {
    /// The error as a reply says it. Evaluation errors name the policy, not its text.
    pub fn failure(&self) -> Failure {
        let (code, policies, version): (Code, &[String], &str) = match self {
            Self::Read { .. } | Self::Invalid { .. } | Self::Schema { .. } => {
                return Failure::new(Code::Internal, "the policy set cannot be used");
            }
            Self::Denied { policies, version } => (Code::PolicyDenied, policies, version),
            Self::ApprovalRequired { policies, version, .. } => {
                (Code::ApprovalRequired, policies, version)
            }
            Self::Evaluation { policy, version, .. } => {
                (Code::PolicyDenied, named(policy), version)
            }
            Self::Stale { version, .. } => (Code::PolicyDenied, &[], version),
        };
        Failure::new(code, self.message())
            .with_details(json!({ "policies": policies, "policy_version": version }))
    }

    /// What decided, for the ledger; `None` when no decision was taken.
    pub fn decision(&self) -> Option<Decision> {
        let (ruling, policies, version) = match self {
            Self::Denied { policies, version } => (Ruling::Deny, policies.clone(), version),
            Self::ApprovalRequired { policies, version, .. } => {
                (Ruling::ApprovalRequired, policies.clone(), version)
            }
            Self::Evaluation { policy, version, .. } => {
                (Ruling::Deny, named(policy).to_vec(), version)
            }
            Self::Read { .. } | Self::Invalid { .. } | Self::Schema { .. } | Self::Stale { .. } => {
                return None;
            }
        };
        Some(Decision { ruling, policies, version: version.clone(), approval: None })
    }

    /// Says what a person would be asked about a call that needs one.
    pub(super) fn wanting(self, checked: &Checked) -> Self {
        match self {
            Self::ApprovalRequired { policies, version, .. } => {
                let wanted = Some(Box::new(Wanted::of(checked, &policies, &version)));
                Self::ApprovalRequired { policies, version, wanted }
            }
            other => other,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Evaluation { policy, .. } if policy.is_empty() => {
                "this call cannot be put before the policies, so it is denied".to_owned()
            }
            Self::Evaluation { policy, .. } => {
                format!("policy `{policy}` cannot be evaluated for this call, so it is denied")
            }
            other => other.to_string(),
        }
    }
}

/// The policy as a list; empty when there is none.
fn named(policy: &String) -> &[String] {
    if policy.is_empty() { &[] } else { std::slice::from_ref(policy) }
}

fn denial(policies: &[String]) -> String {
    if policies.is_empty() {
        "no policy permits it".to_owned()
    } else {
        format!("forbidden by `{}`", policies.join("`, `"))
    }
}

/// Problems in one line.
struct Listed<'a>(&'a [Problem]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{}:{}: {}", problem.file, problem.place, problem.message)?;
        }
        Ok(())
    }
}
