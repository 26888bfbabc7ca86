//! Where a call stands in a batch: facts for its record.

use serde::Serialize;

/// A call's place in a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Member {
    /// The batch.
    #[serde(rename = "id")]
    pub batch: String,
    /// The call's name in it.
    pub name: String,
    /// Names of the calls whose results it uses.
    pub refers: Vec<String>,
}
