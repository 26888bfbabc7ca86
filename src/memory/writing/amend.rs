//! What a decision of a reviewer comes to: what it would contradict, and what it makes of versions. It
//! goes through the inbox like any write, so that a kill in between loses nothing, and is worked on at
//! once.

use std::sync::Arc;

use super::Writing;
use super::lookup::lookup;
use super::prepare::{Prepared, prepare};
use super::settle::clashes;
use super::vectors::Made;
use crate::memory::conflict::{self, Clash, Reading};
use crate::memory::gate::Ruling;
use crate::memory::store::{Error, Write};
use crate::memory::unit::Version;

impl Writing {
    /// What a version that waits contradicts of what is in use now. The order must be held.
    pub(in crate::memory) async fn contradicted(
        &self,
        version: &Version,
        (write, ruling): (Write, Ruling),
    ) -> Result<Vec<Clash>, Error> {
        let collections = self.collections();
        let Some(collection) = collections.get(&write.draft.collection).map(Arc::clone) else {
            let reason = "the collection of the unit is not declared: mend its file first";
            return Err(Error::Engine(reason.to_owned()));
        };
        let reading = Reading::of(&write.draft);
        let (suspicions, chunks) = (Vec::new(), Vec::new());
        let marks = conflict::marks(&write.draft, &collection);
        let write = Arc::new(write);
        let one = Prepared { write, ruling, collection, suspicions, chunks, reading, marks };
        let one = Arc::new(one);
        let known = lookup(self.store(), std::slice::from_ref(&one), self.now()).await?;
        let known = known.into_iter().next().unwrap_or_default();
        Ok(clashes(&one, &known, version))
    }

    /// Stores amended versions, in one transaction. The order must be held.
    pub(in crate::memory) async fn amend(&self, writes: Vec<Write>) -> Result<(), Error> {
        let (inner, collections) = (&self.inner, self.collections());
        let prepared: Option<Vec<_>> = writes
            .iter()
            .map(|write| {
                let collection = collections.get(&write.draft.collection)?;
                prepare(Arc::new(write.clone()), Arc::clone(collection)).map(Arc::new)
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
