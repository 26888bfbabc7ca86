//! A memory built of a file of units in a folder of its own, which is removed after it.

use super::{Error, Memory, Over, Progress, units};

/// A memory that was built.
#[derive(Debug)]
pub(super) struct Built {
    recall: super::Recall,
    caller: super::Caller,
    collections: Vec<super::Owned>,
    units: Vec<(String, usize)>,
}

impl Built {
    pub(super) fn memory(&self) -> Memory<'_> {
        Memory {
            recall: &self.recall,
            caller: &self.caller,
            collections: &self.collections,
            units: Some(self.units.clone()),
        }
    }
}

/// Writes all units, and waits until they are found.
pub(super) async fn build(
    over: &Over,
    progress: &(dyn Fn(Progress) + Send + Sync),
) -> Result<Built, Error> {
    if let Over::Units { units, .. } = over {
        let drafts = units::read(units)?;
        progress(Progress { stage: "writing", done: 0, total: drafts.len() });
    }
    Err(Error::Build("the embedded store is not there yet".to_owned()))
}
