//! References that are no JSON Pointers: `$anchor`, `$dynamicRef` and `$recursiveRef` in, the one
//! place that each can mean out. Where several could be meant, it is an error, never a guess.

use std::collections::HashMap;

use serde_json::Value;

use super::document::Document;
use super::refs::{Spot, split};
use super::report::Reason;
use crate::pointer;

/// Pointers of the schemas that bear a name, by file and name.
pub(super) type Anchors = HashMap<(usize, String), Vec<String>>;

impl Document {
    /// The schema of a file that bears this anchor.
    pub(super) fn anchor(&self, file: usize, name: &str) -> Result<Spot<'_>, String> {
        match self.anchors_of(file, name) {
            [pointer] => self.at(file, pointer).ok_or_else(|| "points at nothing".to_owned()),
            [] => Err("names an anchor that no schema bears".to_owned()),
            many => Err(format!("names an anchor that {} schemas bear", many.len())),
        }
    }

    /// Pointers of the schemas of a file that bear this anchor.
    pub(super) fn anchors_of(&self, file: usize, name: &str) -> &[String] {
        let anchors = self.anchors.get_or_init(|| self.find_anchors());
        anchors.get(&(file, name.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// What `$dynamicRef` or `$recursiveRef` (the `key`) of the schema at `from` leads to.
    pub(super) fn dynamic<'a>(
        &'a self,
        from: &Spot<'a>,
        key: &str,
        text: &str,
    ) -> Result<Spot<'a>, Reason> {
        let (_, name) = split(text);
        if key == "$dynamicRef" && (name.is_empty() || name.starts_with('/')) {
            return self.resolve(from, text);
        }
        let own = text.starts_with('#');
        let bears = |value: &Value| match key {
            "$recursiveRef" => value.get("$recursiveAnchor") == Some(&Value::Bool(true)),
            _ => value.get("$dynamicAnchor").and_then(Value::as_str) == Some(name),
        };
        let around = self.around(from);
        if own && let Some(found) = around.iter().find(|spot| bears(spot.value)) {
            return Ok(found.clone());
        }
        if key == "$dynamicRef" {
            return self.resolve(from, text);
        }
        // Without a mark it is the whole schema that it stands in.
        let whole = around.into_iter().find(|spot| self.is_whole(spot));
        whole.filter(|_| text == "#").ok_or_else(|| {
            let message = format!("`{key}` `{text}` leads to no schema");
            Reason::new(self.describe(from.file, &from.pointer), message)
        })
    }

    /// Everything that a place stands in, nearest first.
    pub(super) fn around<'a>(&'a self, from: &Spot<'_>) -> Vec<Spot<'a>> {
        let mut found = Vec::new();
        let mut pointer = from.pointer.as_str();
        loop {
            found.extend(self.at(from.file, pointer));
            match pointer.rsplit_once('/') {
                Some((shorter, _)) => pointer = shorter,
                None => return found,
            }
        }
    }

    /// Whether a place is a schema with a name of its own, or a file's only one.
    fn is_whole(&self, spot: &Spot<'_>) -> bool {
        let named = |folder: &str| {
            let name = spot.pointer.strip_prefix(folder);
            name.is_some_and(|name| !name.contains('/'))
        };
        spot.value.get("$id").is_some()
            || named("/components/schemas/")
            || named("/definitions/")
            || (spot.file > 0 && spot.pointer.is_empty())
    }

    pub(super) fn at(&self, file: usize, pointer: &str) -> Option<Spot<'_>> {
        let value = self.root(file).pointer(pointer)?;
        Some(Spot::new(file, pointer, value))
    }

    fn find_anchors(&self) -> Anchors {
        let mut found = Anchors::new();
        for file in 0..self.files.len() {
            gather(file, "", self.root(file), &mut found);
        }
        found
    }
}

fn gather(file: usize, pointer: &str, value: &Value, found: &mut Anchors) {
    match value {
        Value::Object(map) => {
            let mut names: Vec<&str> = ["$anchor", "$dynamicAnchor"]
                .into_iter()
                .filter_map(|key| map.get(key)?.as_str())
                .collect();
            names.dedup();
            for name in names {
                found.entry((file, name.to_owned())).or_default().push(pointer.to_owned());
            }
            for (key, member) in map {
                if member.is_object() || member.is_array() {
                    gather(file, &format!("{pointer}/{}", pointer::escape(key)), member, found);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                gather(file, &format!("{pointer}/{index}"), item, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
