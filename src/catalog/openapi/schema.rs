//! Schemas of a document (3.0 or 3.1) in, JSON Schema 2020-12 out. A referenced schema becomes one
//! entry of `$defs`, so neither recursion nor shared references can make a tool's schema explode.

mod closed;
mod keyword;
mod kinds;
mod lists;
mod scope;
mod unions;
mod value;

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};

use super::document::{Document, Version};
use super::flatten::has_beside;
use super::refs::Spot;
use super::report::{Note, Reason};
use crate::pointer;
use closed::Closing;
use scope::Scope;

/// Most schemas, counted with everything inside them, that one tool may need.
const MAX_SCHEMAS: usize = 50_000;
/// Most notes on one operation.
const MAX_NOTES: usize = 200;
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

/// Which schema a name in `$defs` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Form {
    /// The schema as it is written.
    Own,
    /// The schemas that extend it, told apart by its discriminator.
    Kinds,
    /// As it is written, but without refusing what the schemas beside it declare.
    Open,
}

/// A schema as it is reached: its place, how it is taken, and what names stand for in it.
type Reached = (usize, String, Form, Scope);

/// Converts the schemas of one tool.
pub(super) struct Converter<'a> {
    pub(super) document: &'a Document,
    direction: Direction,
    names: HashMap<Reached, String>,
    taken: HashSet<String>,
    queue: VecDeque<(String, Spot<'a>, Form, Scope)>,
    scope: Scope,
    count: usize,
    /// Most bytes of JSON text that referenced schemas may take.
    room: usize,
    /// Offers the keys of security schemes as arguments, where the operator wants it so.
    pub(super) offers_keys: bool,
    /// What was adapted on the way.
    pub(super) notes: Vec<Note>,
}

/// One schema object on its way: its source, and what it becomes.
struct Work<'w, 'a> {
    spot: &'w Spot<'a>,
    source: &'a Map<String, Value>,
    out: Map<String, Value>,
    /// Part of a composition that is closed as a whole.
    open: bool,
}

impl<'a> Converter<'a> {
    /// `room` bounds the schemas that are referred to, in bytes of JSON text.
    pub(super) fn new(document: &'a Document, direction: Direction, room: usize) -> Self {
        Self {
            document,
            direction,
            names: HashMap::new(),
            taken: HashSet::new(),
            queue: VecDeque::new(),
            scope: Scope::new(),
            count: 0,
            room,
            offers_keys: false,
            notes: Vec::new(),
        }
    }

    /// Converts one schema; what it refers to is converted by [`Self::finish`].
    pub(super) fn convert(&mut self, spot: &Spot<'a>) -> Result<Value, Reason> {
        let within = self.scope_in(spot);
        let around = std::mem::replace(&mut self.scope, within);
        let made = self.convert_here(spot);
        self.scope = around;
        made
    }

    fn convert_here(&mut self, spot: &Spot<'a>) -> Result<Value, Reason> {
        self.tally(spot)?;
        match spot.value {
            Value::Bool(all) => Ok(Value::Bool(*all)),
            Value::Object(source) => match self.pointed(spot, source)? {
                Some(target) => self.reference(spot, source, target),
                None => self.object(spot, source).map(Value::Object),
            },
            Value::Null => {
                self.note(spot, "", "is empty; any value is taken");
                Ok(serde_json::json!({}))
            }
            Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(self.reason(spot, "is not a schema"))
            }
        }
    }

    /// Converts all that was referred to and returns it as the members of `$defs`, nearest first.
    ///
    /// What has no room any more is left open, so that a document in which everything refers to
    /// everything still makes tools of a bearable size; a note says so.
    pub(super) fn finish(&mut self, operation: &Spot<'_>) -> Result<Map<String, Value>, Reason> {
        let mut defs = Map::new();
        let (mut left, mut open) = (self.room, 0_usize);
        while let Some((name, spot, form, scope)) = self.queue.pop_front() {
            if left == 0 {
                open += 1;
                defs.insert(name, stub(&spot));
                continue;
            }
            self.scope = scope;
            let schema = match form {
                Form::Own => self.own(&spot)?,
                Form::Kinds => self.kinds(&spot)?,
                Form::Open => self.open_part(&spot)?,
            };
            left = left.saturating_sub(length(&schema) + name.len());
            defs.insert(name, schema);
        }
        self.scope.clear();
        if open > 0 {
            let message = format!(
                "refers to schemas of more than {} bytes; the {open} that are reached last take any \
                 value (`max_schema` in the source's file)",
                self.room
            );
            self.note(operation, "", message);
        }
        Ok(defs)
    }

    fn own(&mut self, spot: &Spot<'a>) -> Result<Value, Reason> {
        match spot.value {
            Value::Object(source) if !source.contains_key("$ref") => {
                self.tally(spot)?;
                self.object(spot, source).map(Value::Object)
            }
            _ => self.convert(spot),
        }
    }

    fn tally(&mut self, spot: &Spot<'_>) -> Result<(), Reason> {
        self.count += 1;
        if self.count > MAX_SCHEMAS {
            let message = format!("needs more than {MAX_SCHEMAS} schemas");
            return Err(self.reason(spot, message));
        }
        Ok(())
    }

    pub(super) fn note(&mut self, spot: &Spot<'_>, key: &str, message: impl Into<String>) {
        let pointer = match key {
            "" => spot.pointer.clone(),
            key => format!("{}/{}", spot.pointer, pointer::escape(key)),
        };
        self.remark(Note::new(self.document.describe(spot.file, &pointer), message));
    }

    pub(super) fn remark(&mut self, note: Note) {
        match self.notes.len() {
            ..MAX_NOTES if !self.notes.contains(&note) => self.notes.push(note),
            MAX_NOTES => {
                let message = "there is more of this kind in the operation";
                self.notes.push(Note::new(note.place, message));
            }
            _ => {}
        }
    }

    pub(super) fn reason(&self, spot: &Spot<'_>, message: impl Into<String>) -> Reason {
        Reason::new(self.document.describe(spot.file, &spot.pointer), message)
    }

    fn is_old(&self) -> bool {
        self.document.version != Version::V31
    }

    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// Whether the document is Swagger 2.0.
    pub(super) fn is_swagger(&self) -> bool {
        self.document.version == Version::V20
    }

    /// What a schema refers to by any of the keywords for it.
    fn pointed(
        &self,
        spot: &Spot<'a>,
        source: &'a Map<String, Value>,
    ) -> Result<Option<Spot<'a>>, Reason> {
        for key in ["$ref", "$recursiveRef", "$dynamicRef"] {
            match source.get(key) {
                None => {}
                Some(Value::String(text)) if key == "$ref" => {
                    return self.document.resolve(spot, text).map(Some);
                }
                Some(Value::String(text)) => {
                    let found = self.document.dynamic(spot, key, text)?;
                    return Ok(Some(self.outermost(key, found)));
                }
                Some(_) => {
                    return Err(self.reason(spot, format!("has a `{key}` that is not text")));
                }
            }
        }
        Ok(None)
    }

    fn reference(
        &mut self,
        spot: &Spot<'a>,
        source: &'a Map<String, Value>,
        target: Spot<'a>,
    ) -> Result<Value, Reason> {
        let target = self.target(target)?;
        let form = match self.has_kinds(&target) {
            _ if has_beside(self, spot) && self.closing(spot) != Closing::Own => Form::Open,
            true => Form::Kinds,
            false => Form::Own,
        };
        let mut out = if is_leaf(target.value) && form == Form::Own {
            self.convert(&target)?
        } else {
            self.named(&target, form)
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
        while let Some(source) = at.value.as_object() {
            let Some(next) = self.pointed(&at, source)? else {
                break;
            };
            if !self.is_old() && at.value.as_object().is_some_and(|map| map.len() > 1) {
                break;
            }
            if !seen.insert((at.file, at.pointer.clone())) {
                return Err(self.reason(&at, "is a reference loop without a schema"));
            }
            at = next;
        }
        Ok(at)
    }

    /// A reference to a schema in `$defs`.
    fn named(&mut self, target: &Spot<'a>, form: Form) -> Value {
        serde_json::json!({ "$ref": format!("#/$defs/{}", self.name(target, form)) })
    }

    /// The name in `$defs` of a referenced schema.
    fn name(&mut self, target: &Spot<'a>, form: Form) -> String {
        let scope = self.scope_in(target);
        let key = (target.file, target.pointer.clone(), form, scope.clone());
        if let Some(name) = self.names.get(&key) {
            return name.clone();
        }
        let mut base: String = target
            .key()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' })
            .take(64)
            .collect();
        if base.is_empty() {
            base.push_str("schema");
        }
        match form {
            Form::Own if self.has_kinds(target) => base.push_str(".own"),
            Form::Open => base.push_str(".open"),
            Form::Own | Form::Kinds => {}
        }
        let mut name = base.clone();
        let mut number = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        self.names.insert(key, name.clone());
        self.queue.push_back((name.clone(), target.clone(), form, scope));
        name
    }

    fn object(
        &mut self,
        spot: &Spot<'a>,
        source: &'a Map<String, Value>,
    ) -> Result<Map<String, Value>, Reason> {
        self.object_in(spot, source, false)
    }

    /// `open` says that it is a part of something that is closed as a whole.
    fn object_in(
        &mut self,
        spot: &Spot<'a>,
        source: &'a Map<String, Value>,
        open: bool,
    ) -> Result<Map<String, Value>, Reason> {
        self.heed(spot)?;
        let closing = if open { Closing::Own } else { self.closing(spot) };
        let open = open || closing != Closing::Own;
        let mut work = Work { spot, source, out: Map::new(), open };
        for (key, value) in source {
            self.keyword(&mut work, key, value)?;
        }
        self.settle_bounds(&mut work);
        self.settle_demands(&mut work);
        self.settle_hidden(&mut work);
        self.settle_enum(&mut work);
        self.settle_default(&mut work);
        self.settle_kinds(&mut work)?;
        self.settle_union(&mut work);
        self.settle_closed(&mut work, closing);
        self.settle_required(&mut work);
        Ok(work.out)
    }
}

/// Stands for a schema that is too much.
fn stub(spot: &Spot<'_>) -> Value {
    let text = "Not described further: the whole schema would be too large.";
    match spot.value.get("properties") {
        Some(_) => serde_json::json!({ "type": "object", "description": text }),
        None => serde_json::json!({ "description": text }),
    }
}

/// How long a value is as JSON text.
pub(super) fn length(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => usize::MAX,
    }
}

/// Whether a schema holds no other schema and is small.
fn is_leaf(value: &Value) -> bool {
    const NESTING: [&str; 19] = [
        "$ref",
        "$recursiveRef",
        "$dynamicRef",
        "discriminator",
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
