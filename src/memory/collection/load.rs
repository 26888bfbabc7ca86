//! Reads `memory/*.toml` of a policies folder: files in, [`Collections`] and what is wrong with them out.

use std::path::Path;

use super::{Collection, Collections, check};
use crate::catalog::{Flaw, Named, Problem, parse_toml};

/// The subfolder with the declarations.
const FOLDER: &str = "memory";

impl Collections {
    /// Reads the folder `memory` of a policies folder. A folder that is not there holds no collections.
    /// Blocks for as long as reading some small files takes.
    pub fn load(policies: &Path) -> (Self, Vec<Problem>) {
        Self::load_with(policies, None)
    }

    /// As [`Collections::load`]; a file that is broken now keeps what it declared in `previous`, and the
    /// problem says so. One that is gone takes its collection with it.
    pub fn load_with(policies: &Path, previous: Option<&Self>) -> (Self, Vec<Problem>) {
        let previous = previous.map(|old| &old.named);
        let (named, problems) = Named::load((policies, FOLDER), previous, name, read);
        if let Ok(count) = u32::try_from(problems.len()) {
            metrics::gauge!("switchboard_memory_collection_problems").set(count);
        }
        (Self { named }, problems)
    }
}

fn name(one: &Collection) -> &str {
    &one.name
}

/// One file; all that is wrong with it, by place.
fn read(text: &str) -> Result<Collection, Vec<Flaw>> {
    let collection: Collection =
        parse_toml(text).map_err(|fault| vec![(fault.place, fault.message)])?;
    let wrong = check::check(&collection);
    if wrong.is_empty() { Ok(collection) } else { Err(wrong) }
}
