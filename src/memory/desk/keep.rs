//! Puts collections and policies in force, at the start and when their files change. A broken file
//! keeps the last good state, and the log says so.

use std::sync::Arc;

use super::{Desk, Standing};
use crate::memory::{Collection, Collections, Share};
use crate::policy::{Keepers, Shelf};

impl Desk {
    /// Reads the folder `memory` of the policies folder. Blocks for as long as that takes.
    pub fn reload(&self) {
        let place = &self.inner.place;
        if place.config.enabled == Some(false) {
            return self.set(Standing::Off("`memory.enabled` is false".to_owned()));
        }
        let previous = self.inner.collections.load_full();
        let (collections, problems) = Collections::load_with(&place.policies, Some(&previous));
        for problem in &problems {
            let (file, place) = (&problem.file, &problem.place);
            tracing::warn!(file, place, "a collection cannot be used: {}", problem.message);
        }
        let outcome = match Keepers::load(&place.policies, shelves(&collections)) {
            Ok(keepers) => {
                for warning in keepers.warnings() {
                    tracing::warn!("{warning}");
                }
                let count = collections.iter().count();
                let (digest, version) = (collections.digest(), keepers.version());
                tracing::info!(count, digest, policies = version, "collections are in force");
                self.inner.keepers.store(Some(Arc::new(keepers)));
                self.inner.collections.store(Arc::new(collections));
                "loaded"
            }
            Err(error) => {
                tracing::error!(
                    %error,
                    "collections and policies of the memory were not taken; the last good ones stay"
                );
                "refused"
            }
        };
        metrics::counter!("switchboard_memory_reloads_total", "outcome" => outcome).increment(1);
        self.follow();
    }

    /// Opens the memory where there is one to be and none was opened.
    fn follow(&self) {
        let declared = self.inner.collections.load().iter().next().is_some();
        let wanted = self.inner.place.config.enabled.unwrap_or(declared);
        let standing = self.inner.standing.borrow().clone();
        match standing {
            _ if !wanted && !standing.is_open() => self.set(Standing::Off(
                "no collection is declared: write one in `memory/*.toml` of the policies folder"
                    .to_owned(),
            )),
            // One that could not be opened may have been mended.
            Standing::Off(_) | Standing::Down(_, None) => self.open(),
            Standing::Opening | Standing::Open(_) | Standing::Down(_, Some(_)) => {}
        }
    }
}

/// What policies see of the collections.
pub fn shelves(collections: &Collections) -> Vec<Shelf> {
    collections.iter().map(|one| shelf(one)).collect()
}

fn shelf(collection: &Collection) -> Shelf {
    let access = &collection.access;
    Shelf {
        name: collection.name.clone(),
        layer: collection.layer.as_str(),
        own: collection.share == Share::Caller,
        read: access.read.clone(),
        write: access.write.clone(),
        review: access.review.clone(),
    }
}
