//! An approval as it is kept and shown, and which of them a list names. Nothing is written here.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Wanted;

/// Where an approval stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Waits for a decision.
    Pending,
    /// May be used once.
    Approved,
    /// Refused by a person.
    Denied,
    /// Nobody decided, or nobody used it, in time.
    Expired,
    /// A call has it; one that ends before its tool could run gives it back.
    Used,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::Approved, Self::Denied, Self::Expired, Self::Used];

    /// The state as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Used => "used",
        }
    }

    /// The state that is written so.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// A person's decision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// Approved or denied.
    pub approve: bool,
    /// Name of the one who decided.
    pub by: String,
    /// Tenant of the one who decided.
    pub tenant: String,
    /// How that was proved.
    pub proof: String,
    /// Why; may be empty.
    pub reason: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// One approval.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// Its id, a UUID of version 7.
    pub id: String,
    /// Where it stands.
    pub state: State,
    /// Grows with every change of any approval.
    pub revision: u64,
    /// What was asked for.
    pub wanted: Wanted,
    /// When it was asked for.
    pub asked: Timestamp,
    /// Until when it can be decided.
    pub decide_by: Timestamp,
    /// What was decided.
    pub decided: Option<Decided>,
    /// Until when it can be used.
    pub use_by: Option<Timestamp>,
    /// The call that used it.
    pub used_by: Option<String>,
}

impl Approval {
    /// Who approved it; `None` unless somebody did.
    pub(super) fn approved(&self) -> Option<Approved> {
        let decided = self.decided.as_ref().filter(|decided| decided.approve)?;
        Some(Approved {
            id: self.id.clone(),
            asked_by: self.wanted.call_id.clone(),
            by: decided.by.clone(),
            tenant: decided.tenant.clone(),
            at_ms: decided.at_ms,
        })
    }
}

/// What the record of an approved call says of its approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approved {
    /// The approval's id.
    pub id: String,
    /// Id of the call that asked for it.
    pub asked_by: String,
    /// Name of the one who approved.
    pub by: String,
    /// Tenant of the one who approved.
    pub tenant: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// Which approvals a list names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only these states; empty for all.
    pub states: Vec<State>,
    /// Only those that changed after this revision, in the order of their last change; `None` for
    /// all, newest first.
    pub changed_after: Option<u64>,
    /// Only those that were asked for before this one.
    pub before: Option<String>,
    /// At most so many.
    pub limit: u32,
}
