//! What a batch of writes has to know before it is decided on, asked in one go: a question for each
//! write in, the versions that bear on it out. A store that has no better way asks one by one.

use futures::future::try_join_all;

use super::{Ask, Error, Store};
use crate::memory::scope::Scope;
use crate::memory::unit::{Draft, Version};

/// Questions that are asked at once.
const AT_ONCE: usize = 8;

/// What is asked for one write.
#[derive(Debug, Clone)]
pub struct Look {
    /// The tenant.
    pub tenant: String,
    /// The draft, of which collection, source and source id count.
    pub draft: Draft,
    /// Its digest, where units that say the same matter.
    pub digest: Option<String>,
    /// Searches, each in a scope of this tenant; what the layers find is joined.
    pub kin: Vec<(Scope, Ask)>,
}

/// What bears on one write.
#[derive(Debug, Clone, Default)]
pub struct Looked {
    /// As [`Store::of_source`].
    pub same: Vec<Version>,
    /// As [`Store::equal`].
    pub equal: Vec<Version>,
    /// What the searches found, in the order of recording, each once. A layer that does not work finds
    /// nothing.
    pub kin: Vec<Version>,
}

/// Asks one by one.
pub(super) async fn look<S: Store + ?Sized>(
    store: &S,
    looks: &[Look],
) -> Result<Vec<Looked>, Error> {
    let mut found = Vec::with_capacity(looks.len());
    for some in looks.chunks(AT_ONCE) {
        found.extend(try_join_all(some.iter().map(|look| one(store, look))).await?);
    }
    Ok(found)
}

async fn one<S: Store + ?Sized>(store: &S, look: &Look) -> Result<Looked, Error> {
    let (tenant, collection) = (look.tenant.as_str(), look.draft.collection.as_str());
    let mut looked =
        Looked { same: store.of_source(tenant, &look.draft).await?, ..Looked::default() };
    if let Some(digest) = &look.digest {
        looked.equal = store.equal((tenant, collection), digest).await?;
    }
    let mut seqs = Vec::new();
    for (scope, ask) in &look.kin {
        let found = store.search(scope, ask).await?;
        let layers = [found.entity, found.words].into_iter().flatten();
        seqs.extend(layers.filter_map(Result::ok).flatten().map(|hit| hit.seq));
    }
    seqs.sort_unstable();
    seqs.dedup();
    if !seqs.is_empty() {
        looked.kin = store.load(tenant, &seqs).await?;
    }
    Ok(looked)
}
