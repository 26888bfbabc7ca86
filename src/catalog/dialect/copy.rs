//! The mapping for hosts that take JSON Schema: `openai`, `anthropic`, `plain`, and what `openai-strict`
//! falls back to. The schema is copied keyword by keyword; only what a provider refuses is changed.
//!
//! | in the input schema | in the definition |
//! |---|---|
//! | `$ref`, recursion | kept; every target is an entry of `$defs`, once, however often it is used |
//! | `anyOf`, `oneOf`, `allOf`, `not`, `enum`, `$ref` at the root | one object; the alternatives are told in the description |
//! | a list without `items`, also inside | `items: {}` |
//! | tuples (`prefixItems`, or a list of `items`) | `items` that fits every position; the positions are told. `anthropic` keeps `prefixItems` |
//! | a pattern that the provider cannot compile | told in the description |
//! | a key that the provider refuses | another key, told in the description; also in `required` and the like |
//! | an empty `enum` | left out, and told |
//! | `x-` and other unknown keywords, `$id`, `$comment` | left out |
//!
//! In `plain` every `type` is one string: `["string", "null"]` of a member is `"string"`, and a member
//! that may be null is left out instead; other lists become `anyOf`. Patterns have explicit classes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value, json};

use super::merge::flatten;
use super::names::Keys;
use super::text::{self, Losses};
use super::view::{MAX_DEPTH, Types, follow, join, list, positions};
use super::{Loss, patterns};
use crate::call::Dialect;

/// Keywords that are copied as they are.
const PLAIN: [&str; 27] = [
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxContains",
    "minContains",
    "maxProperties",
    "minProperties",
    "format",
    "contentEncoding",
    "contentMediaType",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// Copies one tool's schema.
pub(super) struct Copier<'s> {
    root: &'s Value,
    dialect: Dialect,
    keys: &'s Keys,
    defs: Defs,
    losses: Losses,
}

/// The entries of `$defs`, by the pointers that references have.
#[derive(Debug, Default)]
pub(super) struct Defs {
    names: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    queue: VecDeque<String>,
}

impl Defs {
    /// The reference to a place in the tool's schema.
    pub(super) fn reference(&mut self, pointer: &str) -> String {
        match pointer {
            "" => "#".to_owned(),
            pointer => format!("#/$defs/{}", self.name(pointer)),
        }
    }

    /// The name of the entry for a place in the tool's schema.
    fn name(&mut self, pointer: &str) -> String {
        if let Some(known) = self.names.get(pointer) {
            return known.clone();
        }
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let base: String = last.chars().map(|c| if plain(c) { c } else { '_' }).take(64).collect();
        let base = if base.is_empty() { "part".to_owned() } else { base };
        let mut name = base.clone();
        let mut number = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        self.names.insert(pointer.to_owned(), name.clone());
        self.queue.push_back(pointer.to_owned());
        name
    }

    /// The next place that was referred to and has no entry yet, with its name.
    pub(super) fn next(&mut self) -> Option<(String, String)> {
        let pointer = self.queue.pop_front()?;
        let name = self.names.get(&pointer)?.clone();
        Some((pointer, name))
    }
}

/// The schema for a dialect, and what was lost.
pub(super) fn copy(root: &Value, dialect: Dialect, keys: &Keys) -> (Value, Vec<Loss>) {
    let (defs, losses) = (Defs::default(), Losses::default());
    let mut copier = Copier { root, dialect, keys, defs, losses };
    let (flat, told) = flatten(root, &mut copier.losses);
    let mut out = copier.object(&flat, "", MAX_DEPTH);
    text::add(&mut out, &told);
    let mut defs = Map::new();
    while let Some((pointer, name)) = copier.defs.next() {
        if let Some(target) = root.pointer(&pointer) {
            defs.insert(name, copier.schema(target, &pointer, MAX_DEPTH));
        }
    }
    if !defs.is_empty() {
        out.insert("$defs".to_owned(), Value::Object(defs));
    }
    (Value::Object(out), copier.losses.finish())
}

impl Copier<'_> {
    fn schema(&mut self, schema: &Value, at: &str, depth: usize) -> Value {
        match schema {
            Value::Object(map) if depth > 0 => Value::Object(self.object(map, at, depth - 1)),
            Value::Bool(false) => json!({ "not": {} }),
            _ => json!({}),
        }
    }

    fn object(&mut self, map: &Map<String, Value>, at: &str, depth: usize) -> Map<String, Value> {
        let mut out = Map::new();
        let mut notes = Vec::new();
        for (key, value) in map {
            let here = join(at, key);
            match key.as_str() {
                "pattern" => self.pattern(value, at, (&mut out, &mut notes)),
                "enum" if value.as_array().is_some_and(Vec::is_empty) => {
                    self.losses.add(at, "enum", "is empty, so no value fits; left out");
                    notes.push("No value is valid here.".to_owned());
                }
                "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems"
                    if value.is_boolean() =>
                {
                    out.insert(key.clone(), value.clone());
                }
                "items" if value.is_array() => {}
                "prefixItems" if self.dialect != Dialect::Anthropic => {}
                _ => {
                    if let Some(value) = self.keyword(key, value, &here, depth) {
                        out.insert(key.clone(), value);
                    }
                }
            }
        }
        self.settle_required(map, &mut out);
        self.settle_items(map, at, depth, (&mut out, &mut notes));
        if self.dialect == Dialect::Plain {
            single_type(&mut out);
        }
        text::add(&mut out, &notes);
        out
    }

    /// The value of a keyword that is copied with what is in it; `None` for one that is left out.
    fn keyword(&mut self, key: &str, value: &Value, here: &str, depth: usize) -> Option<Value> {
        match key {
            "$ref" => {
                let (pointer, _) = follow(self.root, value.as_str()?)?;
                Some(Value::String(self.defs.reference(&pointer)))
            }
            "properties" => {
                let members = value.as_object()?.iter();
                let members = members.map(|(name, schema)| {
                    (self.keys.of(name).to_owned(), self.member(name, schema, here, depth))
                });
                Some(Value::Object(members.collect()))
            }
            "dependentSchemas" | "patternProperties" => {
                let named = key == "dependentSchemas";
                let mut out = Map::new();
                for (name, schema) in value.as_object()? {
                    if !named && patterns::spell(name, self.dialect).is_none() {
                        self.losses.add(here, key, format!("the pattern `{name}` is left out"));
                        continue;
                    }
                    let inner = self.schema(schema, &join(here, name), depth);
                    let name = if named { self.keys.of(name) } else { name };
                    out.insert(name.to_owned(), inner);
                }
                Some(Value::Object(out))
            }
            "dependentRequired" => {
                let renamed = |names: &Value| match names {
                    Value::Array(names) => Value::Array(self.renamed(names)),
                    other => other.clone(),
                };
                let members = value.as_object()?.iter();
                let members =
                    members.map(|(name, names)| (self.keys.of(name).to_owned(), renamed(names)));
                Some(Value::Object(members.collect()))
            }
            "required" => Some(Value::Array(self.renamed(value.as_array()?))),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                let parts = value.as_array()?.iter().enumerate();
                let copied = parts
                    .map(|(index, part)| self.schema(part, &join(here, &index.to_string()), depth));
                Some(copied.collect())
            }
            "items"
            | "additionalProperties"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames"
            | "unevaluatedItems"
            | "unevaluatedProperties" => Some(self.schema(value, here, depth)),
            _ => PLAIN.contains(&key).then(|| value.clone()),
        }
    }

    fn renamed(&self, names: &[Value]) -> Vec<Value> {
        let renamed = |name: &Value| match name {
            Value::String(name) => Value::String(self.keys.of(name).to_owned()),
            other => other.clone(),
        };
        names.iter().map(renamed).collect()
    }

    /// A member of an object, with its own name in the description where it has another.
    fn member(&mut self, name: &str, schema: &Value, here: &str, depth: usize) -> Value {
        let here = join(here, name);
        let nullable = self.dialect == Dialect::Plain && is_nullable(schema);
        let mut copied = if nullable {
            self.losses.add(&here, "type", "null cannot be given; the member is left out instead");
            self.schema(&without_null(schema), &here, depth)
        } else {
            self.schema(schema, &here, depth)
        };
        if self.keys.of(name) != name
            && let Some(map) = copied.as_object_mut()
        {
            text::add(map, &[text::renamed(name)]);
        }
        copied
    }

    /// In `plain` a member that may be null is left out instead, so it cannot be required.
    fn settle_required(&self, map: &Map<String, Value>, out: &mut Map<String, Value>) {
        if self.dialect != Dialect::Plain {
            return;
        }
        let members = super::view::properties(map);
        let keys = self.keys;
        let may_be_null = |key: &Value| {
            members
                .into_iter()
                .flatten()
                .any(|(name, schema)| Some(keys.of(name)) == key.as_str() && is_nullable(schema))
        };
        if let Some(Value::Array(required)) = out.get_mut("required") {
            required.retain(|key| !may_be_null(key));
        }
    }

    fn pattern(
        &mut self,
        value: &Value,
        at: &str,
        (out, notes): (&mut Map<String, Value>, &mut Vec<String>),
    ) {
        let Some(pattern) = value.as_str() else { return };
        match patterns::spell_or_tell(pattern, self.dialect, at, &mut self.losses) {
            Ok(spelled) => drop(out.insert("pattern".to_owned(), spelled.into())),
            Err(told) => notes.push(told),
        }
    }

    /// Gives every list its `items`.
    fn settle_items(
        &mut self,
        map: &Map<String, Value>,
        at: &str,
        depth: usize,
        (out, notes): (&mut Map<String, Value>, &mut Vec<String>),
    ) {
        let tuple = positions(map);
        if !tuple.is_empty() && !out.contains_key("prefixItems") {
            let keyword = if map.contains_key("prefixItems") { "prefixItems" } else { "items" };
            self.losses.add(at, keyword, "the positions are told in the description");
            notes.push(told_positions(self.root, tuple));
            let rest = map.get("items").filter(|items| !items.is_array());
            let closed = rest == Some(&Value::Bool(false));
            let open = !closed && !rest.is_some_and(Value::is_object);
            let mut fitting: Vec<Value> = Vec::new();
            for (index, position) in tuple.iter().enumerate() {
                let here = join(&join(at, keyword), &index.to_string());
                let copied = self.schema(position, &here, depth);
                if !fitting.contains(&copied) {
                    fitting.push(copied);
                }
            }
            fitting.extend(out.shift_remove("items").filter(|_| !closed));
            let items = match fitting.as_slice() {
                _ if open => json!({}),
                [only] => only.clone(),
                _ => json!({ "anyOf": fitting }),
            };
            out.insert("items".to_owned(), items);
        }
        let is_list = map.get("type").is_some_and(|types| Types::declared(types).has(Types::ARRAY));
        if !out.contains_key("items") && (is_list || !list(map, "prefixItems").is_empty()) {
            out.insert("items".to_owned(), json!({}));
        }
    }
}

/// The positions of a tuple in words.
pub(super) fn told_positions(root: &Value, tuple: &[Value]) -> String {
    let told = tuple.iter().take(16).enumerate().map(|(index, schema)| {
        let names = super::view::types(root, schema).names();
        let names = if names.len() > 5 { "any value".to_owned() } else { names.join(" or ") };
        format!("{}: {names}", index + 1)
    });
    let more = if tuple.len() > 16 { ", and so on" } else { "" };
    format!("By position: {}{more}.", told.collect::<Vec<_>>().join(", "))
}

/// Whether a schema lists null among its types.
pub(super) fn is_nullable(schema: &Value) -> bool {
    let types = schema.get("type").and_then(Value::as_array);
    types.is_some_and(|types| types.len() > 1 && types.iter().any(|one| one == "null"))
}

fn without_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|one| one != "null");
    }
    if let Some(Value::Array(members)) = schema.get_mut("enum") {
        members.retain(|one| !one.is_null());
    }
    schema
}

/// Keywords that speak of one type, by its name.
const SPEAKS: [(&str, &[&str]); 5] = [
    ("string", &["minLength", "maxLength", "pattern", "format"]),
    ("integer", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    (
        "array",
        &["items", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"],
    ),
    (
        "object",
        &[
            "properties",
            "required",
            "additionalProperties",
            "patternProperties",
            "minProperties",
            "maxProperties",
            "propertyNames",
            "dependentRequired",
        ],
    ),
];

/// Makes one string of `type`, or alternatives of one type each, with what speaks of that type.
fn single_type(out: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = out.get("type") else { return };
    let types = types.clone();
    out.shift_remove("type");
    if let [only] = types.as_slice() {
        out.insert("type".to_owned(), only.clone());
        return;
    }
    let mut each = Vec::new();
    for name in &types {
        let mut branch = Map::from_iter([("type".to_owned(), name.clone())]);
        for (_, keywords) in SPEAKS.iter().filter(|(of, _)| *name == *of) {
            let spoken =
                keywords.iter().filter_map(|key| Some(((*key).to_owned(), out.get(*key)?.clone())));
            branch.extend(spoken);
        }
        each.push(Value::Object(branch));
    }
    for key in SPEAKS.iter().flat_map(|(_, keywords)| *keywords) {
        out.shift_remove(*key);
    }
    if each.is_empty() {
        return;
    }
    if out.contains_key("anyOf") {
        let all = out.entry("allOf").or_insert_with(|| json!([]));
        if let Value::Array(all) = all {
            all.push(json!({ "anyOf": each }));
        }
    } else {
        out.insert("anyOf".to_owned(), Value::Array(each));
    }
}
