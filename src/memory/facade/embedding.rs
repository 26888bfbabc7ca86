//! How far the vectors of the model in use are: what is counted of a tenant in, what Stats shows out.

use super::Memory;
use crate::memory::Counts;
use crate::policy::Permit;

/// How far the vectors of the model in use are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Embedding {
    /// Chunks that have one.
    pub made: u64,
    /// Chunks that have none, as it was known some seconds ago.
    pub missing: u64,
    /// The model is being read.
    pub loading: bool,
    /// Why none are made; empty where nothing is wrong.
    pub fault: String,
}

impl Memory {
    /// How far the vectors of the caller's tenant are, of which `counts` tells; nothing without an
    /// embedder.
    pub(in crate::memory) fn embedding(&self, permit: &Permit, counts: &Counts) -> Embedding {
        let Some(embedder) = &self.inner.embedder else { return Embedding::default() };
        let (coverage, model) = (self.inner.writing.coverage(), &embedder.model().name);
        let made = counts.vectors.iter().find(|(name, _)| name == model);
        Embedding {
            made: made.map_or(0, |(_, count)| *count),
            missing: coverage.missing(&permit.caller().tenant),
            loading: embedder.is_loading(),
            fault: coverage.fault(),
        }
    }
}
