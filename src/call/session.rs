//! A conversation as one of its calls meets it: how many calls came before, and what their replies
//! brought in. Facts only; the pipeline keeps them, and policies decide by them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a reply brought into its conversation. The names are documented for policy authors in
/// `policies/cedar/default.cedar`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Taint {
    /// Something in it reads like an instruction to a model.
    Flagged,
    /// It came from a tool that reaches beyond its sandbox.
    Outside,
    /// Some of its text was not searched for instructions.
    Unsearched,
    /// It was recalled from the memory, and no person answers for it.
    Noted,
}

impl Taint {
    /// Every label.
    pub const ALL: [Self; 4] = [Self::Flagged, Self::Outside, Self::Unsearched, Self::Noted];

    /// The label as policies, replies and records have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Flagged => "flagged",
            Self::Outside => "outside",
            Self::Unsearched => "unsearched",
            Self::Noted => "noted",
        }
    }
}

impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Taint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|label| label.as_str() == text).ok_or_else(|| {
            format!(
                "`{text}` is no label; the labels are {}",
                Self::ALL.map(Self::as_str).join(", ")
            )
        })
    }
}

/// What a conversation has come to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// Calls that were recorded before, refused and failed ones too.
    pub calls: u64,
    /// What their replies brought in.
    pub taint: BTreeSet<Taint>,
}
