//! Which schemas of a document extend which: the named schemas in, for each the ones that list it in
//! their `allOf`, through any number of steps, out.

use std::collections::{HashMap, HashSet};

use super::document::Document;
use super::refs::Spot;

/// Schemas that extend a schema, by its file and pointer.
pub(super) type Extensions = HashMap<(usize, String), Vec<(usize, String)>>;

impl Document {
    /// The named schemas of the main document.
    pub(super) fn schemas(&self) -> Option<Spot<'_>> {
        let root = Spot::new(0, "", self.root(0));
        root.get("components")
            .and_then(|all| all.get("schemas"))
            .or_else(|| root.get("definitions"))
    }

    /// The schemas that extend the one at `base`, in the order of the document; at most `most` and
    /// one more.
    pub(super) fn extensions_of<'a>(&'a self, base: &Spot<'a>, most: usize) -> Vec<Spot<'a>> {
        let known = self.extensions.get_or_init(|| self.find_extensions());
        let mut found: Vec<Spot<'a>> = Vec::new();
        let mut seen = HashSet::from([(base.file, base.pointer.clone())]);
        let mut next = vec![(base.file, base.pointer.clone())];
        while let Some(key) = next.pop() {
            for child in known.get(&key).into_iter().flatten() {
                if found.len() <= most && seen.insert(child.clone()) {
                    let value = self.root(child.0).pointer(&child.1);
                    found.extend(value.map(|value| Spot::new(child.0, child.1.clone(), value)));
                    next.push(child.clone());
                }
            }
        }
        found
    }

    fn find_extensions(&self) -> Extensions {
        let mut found = Extensions::new();
        for (_, schema) in self.schemas().iter().flat_map(Spot::members) {
            for part in schema.get("allOf").iter().flat_map(Spot::items) {
                if part.text("$ref").is_none() {
                    continue;
                }
                if let Ok(base) = self.follow_refs(part) {
                    let child = (schema.file, schema.pointer.clone());
                    found.entry((base.file, base.pointer)).or_default().push(child);
                }
            }
        }
        found
    }
}
