//! What is asked of policy, and what it answers: the question about one call, the decision on it, and
//! the call that may run. Nothing is decided here.

use serde_json::Value;

use crate::admission::Caller;
use crate::approval::Approved;
use crate::call::{FileFacts, Session};
use crate::catalog::Tool;
use crate::schema::Checked;

/// A call that policy permits. Only this room makes one.
#[derive(Debug)]
pub struct Authorized {
    pub(crate) checked: Checked,
    pub(crate) decision: Decision,
}

/// How a call was decided, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What was decided.
    pub ruling: Ruling,
    /// Ids of the policies that decided.
    pub policies: Vec<String>,
    /// Digest of the policy set that decided.
    pub version: String,
    /// The approval that the call has, when it has one.
    pub approval: Option<Approved>,
}

/// What policy says to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// It may run.
    Permit,
    /// It may run, since a person approved it.
    Approved,
    /// It may run once a person has approved it.
    ApprovalRequired,
    /// It may not run.
    Deny,
}

impl Ruling {
    /// The ruling as the ledger has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permit => "permit",
            Self::Approved => "approved",
            Self::ApprovalRequired => "approval_required",
            Self::Deny => "deny",
        }
    }
}

/// What is asked about one call, whoever asks: the daemon before it runs, or a reviewer who has no
/// daemon at all.
#[derive(Debug, Clone)]
pub struct Question<'q> {
    /// Who calls.
    pub caller: &'q Caller,
    /// The tool.
    pub tool: &'q Tool,
    /// The arguments that would run: after repair, defaults and aliases.
    pub input: &'q Value,
    /// The conversation; empty for none.
    pub conversation: &'q str,
    /// What the conversation has come to.
    pub session: &'q Session,
    /// The files that the call brings.
    pub files: Vec<&'q FileFacts>,
}

impl<'q> Question<'q> {
    pub(super) fn of(checked: &'q Checked) -> Self {
        let admitted = &checked.resolved.admitted;
        Self {
            caller: &admitted.caller,
            tool: &checked.resolved.tool,
            input: &checked.arguments.value,
            conversation: &admitted.call.conversation,
            session: &admitted.call.session,
            files: admitted.call.files.iter().map(|file| &file.facts).collect(),
        }
    }
}
