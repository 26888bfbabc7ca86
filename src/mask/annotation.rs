//! What a schema says of its values: `x-sensitive: true`, `writeOnly: true` or `format: password`
//! mark one as sensitive, also behind references and in combinations. Schemas in, what may hold of a
//! member or an item out. Values are not looked at here.

use std::borrow::Cow;
use std::collections::BTreeSet;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::names;

/// Deepest schema, and most parts of one place, that are looked at; what has more is sensitive.
const MOST: usize = 128;
/// Keywords whose value is one schema that holds for the same value or for parts of it.
const ONE: [&str; 12] = [
    "items",
    "contains",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
    "additionalItems",
];
/// Keywords whose value is a list of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords whose value is a map of schemas.
const MAPS: [&str; 5] =
    ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

/// What of one schema is marked, found once: looking through a large schema takes its time.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    /// Names of marked properties, `None` when nothing is marked at all.
    names: Option<BTreeSet<String>>,
}

impl Marks {
    /// Looks through a schema.
    pub fn of(schema: &Value) -> Self {
        if !mentions(schema, 0) {
            return Self::default();
        }
        let mut names = BTreeSet::new();
        let found = Root(schema).walk(schema, 0, &mut names);
        Self { names: found.then_some(names) }
    }

    /// Whether the schema marks anything.
    pub const fn is_some(&self) -> bool {
        self.names.is_some()
    }

    /// Whether a marked property has this name, however it is spelled.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.as_ref().is_some_and(|known| known.contains(&names::plain(name)))
    }
}

/// A schema in which references are resolved.
#[derive(Debug, Clone, Copy)]
pub(super) struct Root<'a>(pub(super) &'a Value);

/// A step from a value to one inside it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'s> {
    Member(&'s str),
    Item(usize),
}

/// What is said of one value.
#[derive(Debug, Clone, Default)]
pub(super) struct Place<'a> {
    /// The schemas that may say something of it, with all that belongs to them.
    parts: Vec<&'a Map<String, Value>>,
    /// Whether one of them marks it.
    pub(super) secret: bool,
    /// Whether its own name stands in a schema, rather than any name or index.
    pub(super) named: bool,
}

impl Place<'_> {
    /// Whether no schema says anything of it.
    pub(super) fn is_unknown(&self) -> bool {
        self.parts.is_empty()
    }
}

impl<'a> Root<'a> {
    /// What is said of a whole value.
    pub(super) fn whole(self) -> Place<'a> {
        self.place(std::iter::once(self.0), false)
    }

    /// What is said of a member or an item.
    pub(super) fn below(self, place: &Place<'a>, step: Step<'_>) -> Place<'a> {
        let mut found: Vec<&'a Value> = Vec::new();
        let mut named = false;
        for part in &place.parts {
            let get = |key: &str| part.get(key);
            match step {
                Step::Member(name) => {
                    let own = get("properties").and_then(|declared| declared.get(name));
                    named |= own.is_some();
                    found.extend(own);
                    if own.is_none() {
                        // Which pattern fits is not asked: each may.
                        let patterns = get("patternProperties").and_then(Value::as_object);
                        found.extend(patterns.into_iter().flat_map(Map::values));
                        found.extend(get("additionalProperties"));
                        found.extend(get("unevaluatedProperties"));
                    }
                }
                Step::Item(index) => {
                    let own = get("prefixItems").and_then(|items| items.get(index));
                    found.extend(own);
                    if own.is_none() {
                        found.extend(get("items"));
                        found.extend(get("additionalItems"));
                        found.extend(get("unevaluatedItems"));
                    }
                    found.extend(get("contains"));
                }
            }
        }
        self.place(found.into_iter(), named)
    }

    fn place(self, schemas: impl Iterator<Item = &'a Value>, named: bool) -> Place<'a> {
        let mut place = Place { named, ..Place::default() };
        for schema in schemas {
            self.flatten(schema, &mut place);
        }
        place.secret |= place.parts.iter().any(|part| is_marked(part));
        place
    }

    /// Adds a schema and all that holds for the same value.
    fn flatten(self, schema: &'a Value, place: &mut Place<'a>) {
        let Value::Object(object) = schema else {
            return;
        };
        if place.parts.iter().any(|part| std::ptr::eq(*part, object)) {
            return;
        }
        if place.parts.len() >= MOST {
            place.secret = true;
            return;
        }
        place.parts.push(object);
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(reference) = object.get(key).and_then(Value::as_str) {
                match self.follow(reference) {
                    Some(target) => self.flatten(target, place),
                    // It may lead to a mark.
                    None => place.secret = true,
                }
            }
        }
        for key in ["allOf", "anyOf", "oneOf"] {
            for part in object.get(key).and_then(Value::as_array).into_iter().flatten() {
                self.flatten(part, place);
            }
        }
        for key in ["if", "then", "else"] {
            object.get(key).into_iter().for_each(|part| self.flatten(part, place));
        }
        let dependent = object.get("dependentSchemas").and_then(Value::as_object);
        for part in dependent.into_iter().flat_map(Map::values) {
            self.flatten(part, place);
        }
    }

    fn follow(self, reference: &str) -> Option<&'a Value> {
        let (_, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment: Cow<'_, str> = percent_decode_str(fragment).decode_utf8().ok()?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.0.pointer(&fragment);
        }
        let named = |schema: &&Value| {
            let anchor = |key: &str| schema.get(key).and_then(Value::as_str) == Some(&*fragment);
            anchor("$anchor") || anchor("$dynamicAnchor")
        };
        let defs = ["$defs", "definitions"].into_iter().filter_map(|key| self.0.get(key));
        let all = defs.filter_map(Value::as_object).flat_map(Map::values);
        std::iter::once(self.0).chain(all).find(named)
    }

    /// Whether anything in a schema is marked; adds the names of the properties that are.
    fn walk(self, schema: &'a Value, depth: usize, found: &mut BTreeSet<String>) -> bool {
        let Value::Object(object) = schema else {
            return false;
        };
        if depth > MOST {
            return true;
        }
        let mut any = is_marked(object);
        let properties = object.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            if self.place(std::iter::once(property), true).secret {
                found.insert(names::plain(name));
                any = true;
            }
        }
        let mut inner: Vec<&Value> = ONE.iter().filter_map(|key| object.get(*key)).collect();
        let lists = LISTS.iter().chain(std::iter::once(&"items"));
        inner.extend(lists.filter_map(|key| object.get(*key)?.as_array()).flatten());
        inner.extend(
            MAPS.iter().filter_map(|key| object.get(*key)?.as_object()).flat_map(Map::values),
        );
        for schema in inner {
            any |= self.walk(schema, depth + 1, found);
        }
        any
    }
}

/// Whether a mark stands anywhere in a schema, be it only in an example.
fn mentions(schema: &Value, depth: usize) -> bool {
    let inner = |value: &Value| mentions(value, depth + 1);
    match schema {
        _ if depth > MOST => true,
        Value::Object(object) => is_marked(object) || object.values().any(inner),
        Value::Array(items) => items.iter().any(inner),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether a schema says that its value is sensitive. A mark that is neither true nor false counts:
/// who wrote it meant something by it.
fn is_marked(schema: &Map<String, Value>) -> bool {
    schema.get("x-sensitive").is_some_and(|mark| *mark != Value::Bool(false))
        || schema.get("writeOnly") == Some(&Value::Bool(true))
        || schema.get("format").and_then(Value::as_str) == Some("password")
}
