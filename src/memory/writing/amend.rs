//! Stores what a reviewer's decision makes of versions. It goes through the inbox like any write, so
//! that a kill in between loses nothing, and is worked on at once.

use std::sync::Arc;

use super::Writing;
use super::prepare::prepare;
use super::vectors::Made;
use crate::memory::store::{Error, Write};

impl Writing {
    /// Stores amended versions, in one transaction. The order must be held.
    pub(in crate::memory) async fn amend(&self, writes: Vec<Write>) -> Result<(), Error> {
        let (inner, collections) = (&self.inner, self.collections());
        let prepared: Option<Vec<_>> = writes
            .iter()
            .map(|write| {
                let collection = collections.get(&write.draft.collection)?;
                prepare(write.clone(), Arc::clone(collection)).map(Arc::new)
            })
            .collect();
        let Some(prepared) = prepared else {
            let reason = "the collection of a rival is not declared: mend its file first";
            return Err(Error::Engine(reason.to_owned()));
        };
        let taker = inner.inbox.taker();
        writes.iter().for_each(|write| taker.add(&write.draft));
        inner.parts.store.accept(writes.clone()).await.inspect_err(|_error| {
            inner.inbox.release(writes.iter().map(|write| &write.draft));
        })?;
        drop(taker);
        inner.settle(&prepared, &Made::default()).await
    }
}
