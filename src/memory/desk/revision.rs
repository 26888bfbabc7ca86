//! For those in this daemon that keep answers of the memory: whether what they keep is an answer still.
//! Nothing of a unit is told, so nothing is recorded.

use std::sync::Arc;

use super::{Desk, Standing};
use crate::admission::Caller;
use crate::memory::embed::Embedder;
use crate::policy::{Verb, Wish};

impl Desk {
    /// How the memory stands for a caller that asks these collections, all that it may read where none
    /// is named: another text whenever a question may find something else there, but for what begins or
    /// ends to be valid meanwhile. `None` where that cannot be told: then nothing is to be kept.
    pub async fn revision(&self, caller: &Caller, collections: &[String]) -> Option<String> {
        let standing = self.inner.standing.borrow().clone();
        let memory = match standing {
            Standing::Off(_) => return Some("off".to_owned()),
            Standing::Open(memory) => memory,
            Standing::Opening | Standing::Down(..) => return None,
        };
        let keepers = self.keepers().ok()?;
        let wish = Wish::Read { verb: Verb::Recall, collections, held: false, archived: false };
        let permit = keepers.permit(caller, &wish).ok()?;
        let revision = memory.revision(&permit).await.ok()?;
        let declared = self.collections();
        Some(format!("{}\n{}\n{revision}", keepers.version(), declared.digest()))
    }

    /// What makes vectors of texts here, where the memory is open and has it.
    pub fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        match &*self.inner.standing.borrow() {
            Standing::Open(memory) => memory.embedder(),
            Standing::Off(_) | Standing::Opening | Standing::Down(..) => None,
        }
    }
}
