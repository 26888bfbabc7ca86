//! What whoever keeps answers of the memory needs, to know when they are answers no longer. A permit
//! in, how its collections stand out.

use std::sync::Arc;

use super::Memory;
use crate::memory::StoreError;
use crate::memory::embed::Embedder;
use crate::policy::Permit;

impl Memory {
    /// How the collections of the permit stand: another text after each change of what it may find.
    pub(in crate::memory) async fn revision(&self, permit: &Permit) -> Result<String, StoreError> {
        let mut names: Vec<String> =
            permit.grants().iter().map(|access| access.collection.clone()).collect();
        names.sort_unstable();
        names.dedup();
        let revision = self.inner.store.revision(&permit.caller().tenant, &names).await?;
        let model = self.inner.embedder.as_ref().map_or("", |one| one.model().name.as_str());
        Ok(format!("{}\n{model}\n{revision}", names.join("\n")))
    }

    /// What makes vectors of its texts.
    pub(in crate::memory) fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.inner.embedder.clone()
    }
}
