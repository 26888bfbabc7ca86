//! Why a call has no approval, or the queue cannot say: each with what a person, a model or a
//! program can do about it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{Approval, State};
use crate::call::{Code, Failure};

/// Why there is no approval.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// It waits for a person.
    #[error("policy permits this call only after a person has approved it; approval `{}` is pending", .0.id)]
    Required(Box<Approval>),
    /// A person said no.
    #[error("a person refused this call{}", reason(.0))]
    Rejected(Box<Approval>),
    /// The approval that was named does not hold for this call.
    #[error(
        "approval `{id}` does not hold for this call: {why}; send the call without it to ask anew"
    )]
    Unfit {
        /// The approval that was named.
        id: String,
        /// Where it stands; `None` when there is none for this caller.
        state: Option<State>,
        /// Why it does not hold.
        why: &'static str,
    },
    /// Too many calls wait for a person.
    #[error("{pending} calls wait for a person already, {whose}: wait until some are decided")]
    Crowded {
        /// How many wait.
        pending: u32,
        /// Whose they are.
        whose: &'static str,
    },
    /// There is no such approval.
    #[error("there is no approval `{id}`")]
    Unknown {
        /// The id.
        id: String,
    },
    /// It was decided before.
    #[error("approval `{id}` is {}, not pending: nothing was decided", state.as_str())]
    NotPending {
        /// The id.
        id: String,
        /// Where it stands.
        state: State,
    },
    /// The file cannot be had.
    #[error("cannot open the approvals `{}`: {reason}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why, and how to mend it.
        reason: String,
    },
    /// The database said something else.
    #[error("the approvals cannot be written or read")]
    Database(#[source] Arc<rusqlite::Error>),
    /// The daemon is ending.
    #[error("the approvals are closed")]
    Closed,
}

impl Error {
    pub(super) fn unfit(approval: &Approval, why: &'static str) -> Self {
        Self::Unfit { id: approval.id.clone(), state: Some(approval.state), why }
    }

    /// The error as a reply says it.
    pub fn failure(&self) -> Failure {
        let about = |approval: &Approval| {
            json!({
                "approval_id": approval.id,
                "approval_state": approval.state,
                "decide_by": approval.decide_by.to_string(),
                "policies": approval.wanted.policies,
                "policy_version": approval.wanted.policy_version,
            })
        };
        match self {
            Self::Required(approval) => {
                Failure::new(Code::ApprovalRequired, self.to_string()).with_details(about(approval))
            }
            Self::Rejected(approval) => {
                let mut details = about(approval);
                let reason = approval.decided.as_ref().map(|decided| decided.reason.as_str());
                if let Some(details) = details.as_object_mut() {
                    details.insert("reason".to_owned(), reason.into());
                }
                Failure::new(Code::ApprovalRejected, self.to_string()).with_details(details)
            }
            Self::Unfit { id, state, .. } => Failure::new(Code::ApprovalRequired, self.to_string())
                .with_details(json!({ "approval_id": id, "approval_state": state })),
            Self::Crowded { .. } => {
                let mut failure = Failure::new(Code::RateLimited, self.to_string());
                failure.retry_after = Some(Duration::from_secs(60));
                failure
            }
            Self::Unknown { .. }
            | Self::NotPending { .. }
            | Self::Open { .. }
            | Self::Database(_)
            | Self::Closed => {
                Failure::new(Code::Internal, "the queue of approvals cannot be used now")
            }
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(Arc::new(error))
    }
}

fn reason(approval: &Approval) -> String {
    match &approval.decided {
        Some(decided) if !decided.reason.is_empty() => format!(": {}", decided.reason),
        Some(_) | None => String::new(),
    }
}
