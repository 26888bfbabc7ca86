//! What can change of a version that is there, and how a change does: the same for both stores. Instants
//! are whole microseconds in both.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Change;
use crate::memory::unit::{Ended, State, UnitId};

/// All that can change of a version, as the journal keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) state: State,
    pub(super) ended: Option<Ended>,
    pub(super) conflicts: Vec<UnitId>,
    pub(super) remarks: Vec<String>,
}

impl Mark {
    /// Changes it. The version ends at `at`, where that is given; never before it was recorded.
    pub(super) fn apply(&mut self, change: &Change, at: Option<Timestamp>, recorded: Timestamp) {
        if let Some(state) = change.state {
            self.state = state;
        }
        if let Some(ended) = &change.ended {
            self.ended = ended.clone().map(|ended| {
                let end = at.unwrap_or_else(|| kept(ended.at)).max(recorded);
                Ended { at: end, ..ended }
            });
        }
        for unit in &change.conflicts {
            if !self.conflicts.contains(unit) {
                self.conflicts.push(unit.clone());
            }
        }
        self.remarks.extend(change.remarks.iter().cloned());
    }
}

/// The remark on a write whose unit was taken out while it waited.
pub(super) fn too_late(how: &str) -> String {
    format!("its unit was {how} before it was stored")
}

/// Whole microseconds; what is finer is left off.
pub(super) fn micros(at: Timestamp) -> i64 {
    at.as_microsecond().saturating_sub(if at.subsec_nanosecond() % 1000 < 0 { 1 } else { 0 })
}

/// An instant as the stores keep it.
pub(super) fn kept(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(micros(at)).unwrap_or(at)
}
