//! What can change of a version that is there, and how a change does: the same for both stores. Instants
//! are whole microseconds in both.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Change;
use crate::memory::unit::{Ended, State, UnitId};

/// Stands in the place of a remark that told something of a unit that was erased.
const ERASED: &str = "it was marked beside a unit that has been erased since";

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
        for remark in &change.remarks {
            if !self.remarks.contains(remark) {
                self.remarks.push(remark.clone());
            }
        }
    }

    /// Says nothing more of a unit.
    pub(super) fn forget(&mut self, unit: &UnitId) {
        self.conflicts.retain(|other| other != unit);
        forget(&mut self.remarks, unit);
    }
}

/// Takes out of remarks what they tell of a unit: a line that names it may quote it.
pub(super) fn forget(remarks: &mut [String], unit: &UnitId) {
    for remark in remarks {
        if remark.contains(unit.as_str()) {
            ERASED.clone_into(remark);
        }
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
