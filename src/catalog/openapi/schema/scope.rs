//! What the names in `$dynamicRef`s stand for: the schema that bears the name in the outermost of the
//! named schemas on the way to it. Nothing in a document without such names.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Converter;
use crate::catalog::openapi::refs::Spot;
use crate::catalog::openapi::resources::{Place, RECURSIVE};

/// Names, and the schemas that they stand for.
pub(super) type Scope = BTreeMap<String, Place>;

impl<'a> Converter<'a> {
    /// What names stand for in a schema that is reached from here.
    pub(super) fn scope_in(&self, spot: &Spot<'_>) -> Scope {
        let mut scope = self.scope.clone();
        for (name, place) in self.document.dynamic_anchors(spot) {
            scope.entry(name.to_owned()).or_insert(place);
        }
        scope
    }

    /// The schema that stands for one that a `$dynamicRef` or `$recursiveRef` (the `key`) leads to.
    pub(super) fn outermost(&self, key: &str, found: Spot<'a>) -> Spot<'a> {
        let name = match key {
            "$recursiveRef" if found.value.get(RECURSIVE) == Some(&Value::Bool(true)) => RECURSIVE,
            "$dynamicRef" => found.text("$dynamicAnchor").unwrap_or_default(),
            _ => "",
        };
        let bound =
            self.scope.get(name).and_then(|(file, pointer)| self.document.at(*file, pointer));
        bound.unwrap_or(found)
    }
}
