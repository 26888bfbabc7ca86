//! Schemas of a document (3.0 or 3.1) in, JSON Schema 2020-12 out. A referenced schema becomes one
//! entry of `$defs`, so neither recursion nor shared references can make a tool's schema explode.

mod keyword;
mod lists;
mod value;

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};

use super::document::{Document, Version};
use super::refs::Spot;
use super::report::{Note, Reason};

/// Most schemas, counted with everything inside them, that one tool may need.
const MAX_SCHEMAS: usize = 50_000;
/// A referenced schema without schemas inside and of at most this many members is copied in place.
const MAX_INLINE: usize = 64;

/// The extension that marks a value to be masked wherever a person could see it.
pub(super) const SENSITIVE: &str = "x-sensitive";

/// Whether a schema or a parameter is marked.
pub(super) fn is_sensitive(object: &Map<String, Value>) -> bool {
    object.get(SENSITIVE).is_some_and(|mark| *mark != Value::Bool(false))
}

/// Which way the values go; decides what readOnly and writeOnly mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Request,
    Response,
}

/// Converts the schemas of one tool.
pub(super) struct Converter<'a> {
    pub(super) document: &'a Document,
    direction: Direction,
    names: HashMap<(usize, String), String>,
    taken: HashSet<String>,
    queue: VecDeque<(String, Spot<'a>)>,
    count: usize,
    /// What was adapted on the way.
    pub(super) notes: Vec<Note>,
}

/// One schema object on its way: its source, and what it becomes.
struct Work<'w, 'a> {
    spot: &'w Spot<'a>,
    source: &'a Map<String, Value>,
    out: Map<String, Value>,
}

impl<'a> Converter<'a> {
    pub(super) fn new(document: &'a Document, direction: Direction) -> Self {
        Self {
            document,
            direction,
            names: HashMap::new(),
            taken: HashSet::new(),
            queue: VecDeque::new(),
            count: 0,
            notes: Vec::new(),
        }
    }

    /// Converts one schema; what it refers to is converted by [`Self::finish`].
    pub(super) fn convert(&mut self, spot: &Spot<'a>) -> Result<Value, Reason> {
        self.count += 1;
        if self.count > MAX_SCHEMAS {
            let message = format!("needs more than {MAX_SCHEMAS} schemas");
            return Err(self.reason(spot, message));
        }
        match spot.value {
            Value::Bool(all) => Ok(Value::Bool(*all)),
            Value::Object(source) => match source.get("$ref") {
                Some(Value::String(reference)) => self.reference(spot, source, reference),
                Some(_) => Err(self.reason(spot, "has a `$ref` that is not text")),
                None => self.object(spot, source).map(Value::Object),
            },
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(self.reason(spot, "is not a schema"))
            }
        }
    }

    /// Converts all that was referred to and returns it as the members of `$defs`.
    pub(super) fn finish(&mut self) -> Result<Map<String, Value>, Reason> {
        let mut defs = Map::new();
        while let Some((name, spot)) = self.queue.pop_front() {
            let schema = self.convert(&spot)?;
            defs.insert(name, schema);
        }
        Ok(defs)
    }

    pub(super) fn note(&mut self, spot: &Spot<'_>, key: &str, message: impl Into<String>) {
        let pointer = format!("{}/{}", spot.pointer, super::refs::escape(key));
        let note = Note::new(self.document.describe(spot.file, &pointer), message);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub(super) fn reason(&self, spot: &Spot<'_>, message: impl Into<String>) -> Reason {
        Reason::new(self.document.describe(spot.file, &spot.pointer), message)
    }

    fn is_old(&self) -> bool {
        self.document.version == Version::V30
    }

    fn reference(
        &mut self,
        spot: &Spot<'a>,
        source: &'a Map<String, Value>,
        reference: &str,
    ) -> Result<Value, Reason> {
        let target = self.target(self.document.resolve(spot, reference)?)?;
        let mut out = if is_leaf(target.value) {
            self.convert(&target)?
        } else {
            let name = self.name(&target);
            serde_json::json!({ "$ref": format!("#/$defs/{name}") })
        };
        let Value::Object(out_map) = &mut out else {
            return Ok(out);
        };
        if self.is_old() {
            // 3.0 ignores what stands beside a reference; a mark is meant all the same, and a
            // description still helps a reader.
            if is_sensitive(source) {
                out_map.insert(SENSITIVE.to_owned(), Value::Bool(true));
            }
            if let Some(Value::String(text)) = source.get("description") {
                out_map.insert("description".to_owned(), text.as_str().into());
            }
            if source.contains_key("nullable") {
                self.note(spot, "nullable", "has no effect beside `$ref` in 3.0");
            }
        } else if source.len() > 1 {
            let beside = self.object(spot, source)?;
            if beside.keys().any(|key| out_map.contains_key(key)) && !out_map.contains_key("$ref") {
                let both = vec![Value::Object(out_map.clone()), Value::Object(beside)];
                return Ok(serde_json::json!({ "allOf": both }));
            }
            out_map.extend(beside);
        }
        Ok(out)
    }

    /// Follows references that carry nothing of their own.
    fn target(&self, spot: Spot<'a>) -> Result<Spot<'a>, Reason> {
        let mut at = spot;
        let mut seen = HashSet::new();
        while let Some(reference) = at.text("$ref") {
            if !self.is_old() && at.value.as_object().is_some_and(|map| map.len() > 1) {
                break;
            }
            if !seen.insert((at.file, at.pointer.clone())) {
                return Err(self.reason(&at, "is a reference loop without a schema"));
            }
            at = self.document.resolve(&at, reference)?;
        }
        Ok(at)
    }

    /// The name in `$defs` of a referenced schema.
    fn name(&mut self, target: &Spot<'a>) -> String {
        let key = (target.file, target.pointer.clone());
        if let Some(name) = self.names.get(&key) {
            return name.clone();
        }
        let last = target.pointer.rsplit('/').next().unwrap_or_default();
        let mut base: String = last
            .replace("~1", "/")
            .replace("~0", "~")
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' })
            .take(64)
            .collect();
        if base.is_empty() {
            base.push_str("schema");
        }
        let mut name = base.clone();
        let mut number = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        self.names.insert(key, name.clone());
        self.queue.push_back((name.clone(), target.clone()));
        name
    }

    fn object(
        &mut self,
        spot: &Spot<'a>,
        source: &'a Map<String, Value>,
    ) -> Result<Map<String, Value>, Reason> {
        let mut work = Work { spot, source, out: Map::new() };
        for (key, value) in source {
            self.keyword(&mut work, key, value)?;
        }
        self.settle_bounds(&mut work);
        self.settle_hidden(&mut work);
        self.settle_enum(&mut work);
        self.settle_default(&mut work);
        Ok(work.out)
    }
}

/// Whether a schema holds no other schema and is small.
fn is_leaf(value: &Value) -> bool {
    const NESTING: [&str; 16] = [
        "$ref",
        "properties",
        "items",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "additionalProperties",
        "patternProperties",
        "prefixItems",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "dependentSchemas",
    ];
    let Some(map) = value.as_object() else {
        return true;
    };
    let listed = map.get("enum").and_then(Value::as_array).map_or(0, Vec::len);
    map.len() + listed <= MAX_INLINE && !NESTING.iter().any(|key| map.contains_key(*key))
}
