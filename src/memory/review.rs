//! What waits for a person: held and quarantined versions out, a decision in. Nobody decides about
//! what they wrote themselves, and where a collection wants two people, two have to agree.

use serde::{Deserialize, Serialize};

use super::fault::Error;
use super::rights::Rights;
use super::store::Vote;
use super::unit::{State, Version};
use super::writing::Writing;

/// A version that waits, and what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// The version.
    pub version: Version,
    /// Those in use that it contradicts.
    pub rivals: Vec<Version>,
    /// Decisions so far.
    pub votes: Vec<Vote>,
    /// People who must agree.
    pub reviewers: u8,
}

/// What a reviewer decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whether it may be used.
    pub approve: bool,
    /// What becomes of those in use that it contradicts, where it is approved.
    pub manner: Manner,
    /// Why; not empty.
    pub reason: String,
}

/// What becomes of those that an approved version contradicts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Manner {
    /// Each ends to hold where the approved one begins to; one that would begin only then, or where
    /// the approved one has no beginning, is superseded whole. History stays.
    #[default]
    Replace,
    /// Both are used.
    KeepBoth,
}

/// What a decision led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The version's state now: still held or quarantined while a second person is to agree.
    pub state: State,
    /// People who must still agree.
    pub missing: u8,
}

impl Writing {
    /// What waits for a decision in the collections that the caller reviews, oldest first, behind the
    /// version `after`.
    pub async fn pending(
        &self,
        rights: &Rights,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Pending>, Error> {
        let _ = (rights, after, limit);
        Ok(Vec::new())
    }

    /// Decides about the version that an evidence id (`unit@seq`) names.
    pub async fn decide(
        &self,
        rights: &Rights,
        evidence: &str,
        decision: Decision,
    ) -> Result<Outcome, Error> {
        let _ = (rights, decision);
        Err(Error::unknown("evidence", evidence))
    }
}
