//! What is in a tool's own schema: its references, the names of its members, the JSON types that a
//! part of it lets through. Schemas in, facts out. Changes nothing.

use std::collections::BTreeSet;

use crate::decimal::is_whole;
use crate::pointer;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// Deepest that schemas and values are followed; what lies deeper is taken as anything.
pub(super) const MAX_DEPTH: usize = 100;
/// Keywords that hold schemas by name.
pub(super) const MAPS: [&str; 5] =
    ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
/// Keywords that hold lists of schemas.
pub(super) const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords that hold one schema.
pub(super) const SINGLES: [&str; 11] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];

/// A pointer with one more step.
pub(super) fn join(pointer: &str, step: &str) -> String {
    format!("{pointer}/{}", pointer::escape(step))
}

/// Where a reference inside a schema leads: the pointer and the schema there.
pub(super) fn follow<'s>(root: &'s Value, reference: &str) -> Option<(String, &'s Value)> {
    let fragment = reference.strip_prefix('#')?;
    let pointer = percent_decode_str(fragment).decode_utf8_lossy().into_owned();
    root.pointer(&pointer).map(|target| (pointer, target))
}

/// The reference of a schema, followed.
pub(super) fn referred<'s>(
    root: &'s Value,
    schema: &Map<String, Value>,
) -> Option<(String, &'s Value)> {
    follow(root, schema.get("$ref")?.as_str()?)
}

/// The schemas in a list.
pub(super) fn list<'s>(schema: &'s Map<String, Value>, keyword: &str) -> &'s [Value] {
    schema.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The text of a keyword.
pub(super) fn text<'s>(schema: &'s Map<String, Value>, keyword: &str) -> Option<&'s str> {
    schema.get(keyword).and_then(Value::as_str)
}

/// The members that a schema declares.
pub(super) fn properties(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// The names that a schema requires.
pub(super) fn required(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    list(schema, "required").iter().filter_map(Value::as_str)
}

/// The positions of a tuple, in today's form or the one before 2020-12; empty for other lists.
pub(super) fn positions(schema: &Map<String, Value>) -> &[Value] {
    match schema.get("items") {
        Some(Value::Array(items)) => items,
        _ => list(schema, "prefixItems"),
    }
}

/// The values that a schema lists: those of `enum`, else the one of `const`.
pub(super) fn enumerated(schema: &Map<String, Value>) -> Option<&[Value]> {
    let only = schema.get("const").map(std::slice::from_ref);
    schema.get("enum").and_then(Value::as_array).map(Vec::as_slice).or(only)
}

/// Whether an object takes no undeclared members.
pub(super) fn is_closed(schema: &Map<String, Value>) -> bool {
    ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .any(|key| schema.get(*key) == Some(&Value::Bool(false)))
}

/// The alternatives of a schema: those of `anyOf`, else those of `oneOf`.
pub(super) fn alternatives(schema: &Map<String, Value>) -> Option<(&'static str, &[Value])> {
    ["anyOf", "oneOf"]
        .into_iter()
        .map(|keyword| (keyword, list(schema, keyword)))
        .find(|(_, branches)| !branches.is_empty())
}

/// Every name that a schema gives to a member of an object, at any depth.
pub(super) fn names(root: &Value) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut todo = vec![root];
    while let Some(schema) = todo.pop() {
        let Some(map) = schema.as_object() else { continue };
        found.extend(properties(map).into_iter().flatten().map(|(name, _)| name.as_str()));
        found.extend(required(map));
        for keyword in ["dependentRequired", "dependentSchemas"] {
            let members = map.get(keyword).and_then(Value::as_object);
            for (name, others) in members.into_iter().flatten() {
                found.insert(name);
                found.extend(others.as_array().into_iter().flatten().filter_map(Value::as_str));
            }
        }
        todo.extend(inside(map));
    }
    found
}

/// The schemas directly inside a schema.
fn inside(map: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let named = MAPS.iter().filter_map(|keyword| map.get(*keyword)?.as_object());
    let listed = LISTS.iter().chain(["items"].iter()).filter_map(|key| map.get(*key)?.as_array());
    let single = SINGLES.iter().filter_map(|keyword| map.get(*keyword));
    named.flat_map(Map::values).chain(listed.flatten()).chain(single)
}

// === Types ===

/// A set of JSON types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const NONE: Self = Self(0);
    pub(super) const ANY: Self = Self(0x7f);
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    /// Numbers that are not whole.
    const FRACTION: Self = Self(8);
    /// Numbers, whole ones too.
    pub(super) const NUMBER: Self = Self(8 | 4);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);
    /// Each with its name.
    pub(super) const NAMED: [(Self, &'static str); 7] = [
        (Self::STRING, "string"),
        (Self::NUMBER, "number"),
        (Self::INTEGER, "integer"),
        (Self::BOOLEAN, "boolean"),
        (Self::ARRAY, "array"),
        (Self::OBJECT, "object"),
        (Self::NULL, "null"),
    ];

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The names of the types, the larger ones first where one holds another.
    pub(super) fn names(self) -> Vec<&'static str> {
        let mut left = self;
        let mut names = Vec::new();
        for (types, name) in Self::NAMED {
            let is_number = types == Self::NUMBER && left.has(Self::FRACTION);
            if is_number || left.has(types) {
                names.push(name);
                left = left.without(types);
            }
        }
        names
    }

    /// The types that `type` names.
    pub(super) fn declared(value: &Value) -> Self {
        let one = |name: &str| {
            let known = Self::NAMED.iter().find(|(_, known)| *known == name);
            known.map_or(Self::NONE, |(types, _)| *types)
        };
        match value {
            Value::String(name) => one(name),
            Value::Array(names) => {
                names.iter().filter_map(Value::as_str).map(one).fold(Self::NONE, Self::or)
            }
            _ => Self::ANY,
        }
    }

    /// The type of a value.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if is_whole(number) => Self::INTEGER,
            Value::Number(_) => Self::FRACTION,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }
}

/// Most schemas that are looked at to tell the types of one.
const MAX_LOOKS: usize = 4096;

/// The types that a schema can let through; never fewer than it does.
pub(super) fn types(root: &Value, schema: &Value) -> Types {
    match schema {
        Value::Bool(false) => Types::NONE,
        Value::Object(map) => types_of(root, map),
        _ => Types::ANY,
    }
}

/// The types that the keywords of a schema can let through.
pub(super) fn types_of(root: &Value, map: &Map<String, Value>) -> Types {
    Looker { root, looks: MAX_LOOKS }.types(map, MAX_DEPTH)
}

struct Looker<'s> {
    root: &'s Value,
    looks: usize,
}

impl Looker<'_> {
    fn of(&mut self, schema: &Value, depth: usize) -> Types {
        self.looks = self.looks.saturating_sub(1);
        match schema {
            Value::Bool(false) => Types::NONE,
            Value::Object(map) if depth > 0 && self.looks > 0 => self.types(map, depth - 1),
            _ => Types::ANY,
        }
    }

    fn types(&mut self, map: &Map<String, Value>, depth: usize) -> Types {
        let mut allowed = map.get("type").map_or(Types::ANY, Types::declared);
        if let Some(members) = map.get("enum").and_then(Value::as_array) {
            allowed = allowed.and(members.iter().map(Types::of).fold(Types::NONE, Types::or));
        }
        if let Some(only) = map.get("const") {
            allowed = allowed.and(Types::of(only));
        }
        if let Some((_, target)) = referred(self.root, map) {
            allowed = allowed.and(self.of(target, depth));
        }
        for part in list(map, "allOf") {
            allowed = allowed.and(self.of(part, depth));
        }
        for keyword in ["anyOf", "oneOf"] {
            let branches = list(map, keyword);
            if !branches.is_empty() {
                let each = branches.iter().map(|branch| self.of(branch, depth));
                allowed = allowed.and(each.fold(Types::NONE, Types::or));
            }
        }
        allowed
    }
}
