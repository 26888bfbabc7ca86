//! A schema and a JSON Pointer in, the types that a value at that place can have out. What it does not
//! understand it takes for possible, so that only what surely cannot be is refused.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::pointer;
use crate::schema::follow;

/// Deepest schemas that are looked into, and most parts of one.
const DEEPEST: usize = 64;
const PARTS: usize = 4096;

/// A set of JSON types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

const NULL: u8 = 1;
const BOOLEAN: u8 = 2;
const INTEGER: u8 = 4;
const FRACTION: u8 = 8;
const STRING: u8 = 16;
const ARRAY: u8 = 32;
const OBJECT: u8 = 64;
const ALL: u8 = 127;
/// The types by their names; a number is a whole one, or another.
const NAMES: [(&str, u8); 7] = [
    ("null", NULL),
    ("boolean", BOOLEAN),
    ("number", INTEGER | FRACTION),
    ("integer", INTEGER),
    ("string", STRING),
    ("array", ARRAY),
    ("object", OBJECT),
];

impl Types {
    /// Whether nothing can be there.
    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether some value of these types can be given where those are taken, `repaired` where that
    /// loses nothing.
    pub(super) const fn fit(self, taken: Self, repaired: bool) -> bool {
        let Self(given) = self;
        let Self(taken) = taken;
        // 5.0 is a whole number too.
        let whole = given & FRACTION != 0 && taken & INTEGER != 0;
        // Text may say anything; a number can be written as text; null can be left out.
        let mended = given & (STRING | NULL) != 0
            || (given & (INTEGER | FRACTION | BOOLEAN) != 0 && taken & STRING != 0);
        given & taken != 0 || whole || (repaired && mended)
    }

    fn names(self) -> Vec<&'static str> {
        let mut left = self.0;
        let mut names = Vec::new();
        for (name, bits) in NAMES {
            if left & bits == bits {
                names.push(name);
                left &= !bits;
            }
        }
        names
    }

    /// As a piece of JSON Schema.
    pub(super) fn schema(self) -> Value {
        json!({ "type": self.names() })
    }
}

impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().join(" or "))
    }
}

/// The types of the value at a place of those that fit a schema.
pub(super) fn types_at(schema: &Value, pointer: &str) -> Types {
    let tokens: Vec<String> = pointer.split('/').skip(1).map(pointer::unescape).collect();
    let mut walker = Walker { root: schema, parts: 0 };
    Types(walker.walk(schema, &tokens, 0))
}

struct Walker<'w> {
    root: &'w Value,
    parts: usize,
}

impl Walker<'_> {
    fn walk(&mut self, schema: &Value, tokens: &[String], depth: usize) -> u8 {
        self.parts += 1;
        if depth > DEEPEST || self.parts > PARTS {
            return ALL;
        }
        let Some(members) = schema.as_object() else {
            return if schema == &Value::Bool(false) { 0 } else { ALL };
        };
        let mut types = match tokens.split_first() {
            Some((token, rest)) => self.step(members, (token, rest), depth),
            None => own_types(members),
        };
        if let Some(target) = members.get("$ref").and_then(Value::as_str)
            && let Some(target) = follow(self.root, target)
        {
            types &= self.walk(target, tokens, depth + 1);
        }
        for part in list(members, "allOf") {
            types &= self.walk(part, tokens, depth + 1);
        }
        for key in ["anyOf", "oneOf"] {
            if members.get(key).is_some_and(Value::is_array) {
                let any = list(members, key)
                    .fold(0, |any, part| any | self.walk(part, tokens, depth + 1));
                types &= any;
            }
        }
        types
    }

    /// One step further into what an object says of its own parts.
    fn step(
        &mut self,
        members: &Map<String, Value>,
        (token, rest): (&str, &[String]),
        depth: usize,
    ) -> u8 {
        let own = own_types(members);
        let (mut types, deeper) = (0, depth + 1);
        if own & OBJECT != 0 {
            types |= match object_part(members, token) {
                Some(part) => self.walk(part, rest, deeper),
                None => ALL,
            };
        }
        if own & ARRAY != 0
            && let Some(index) = index(token)
        {
            types |= match array_part(members, index) {
                Some(part) => self.walk(part, rest, deeper),
                None => ALL,
            };
        }
        // What is listed whole is known whole.
        let pointer = || {
            let tokens = std::iter::once(token).chain(rest.iter().map(String::as_str));
            tokens.map(|t| format!("/{}", pointer::escape(t))).collect::<String>()
        };
        match listed(members) {
            Some(values) => {
                let pointer = pointer();
                let found = values.iter().filter_map(|value| value.pointer(&pointer));
                types & found.fold(0, |all, value| all | type_of(value))
            }
            None => types,
        }
    }
}

/// What a schema says of a member; `None` when it says nothing.
fn object_part<'s>(members: &'s Map<String, Value>, name: &str) -> Option<&'s Value> {
    let known = members.get("properties").and_then(|known| known.get(name));
    if known.is_some() || members.contains_key("patternProperties") {
        return known;
    }
    members.get("additionalProperties")
}

/// What a schema says of an item; `None` when it says nothing.
fn array_part(members: &Map<String, Value>, index: usize) -> Option<&Value> {
    const NOTHING: &Value = &Value::Bool(false);
    let most = members.get("maxItems").and_then(Value::as_u64);
    if most.is_some_and(|most| usize::try_from(most).is_ok_and(|most| index >= most)) {
        return Some(NOTHING);
    }
    let first = members.get("prefixItems").and_then(|first| first.get(index));
    first.or_else(|| members.get("items"))
}

/// An array's index as a JSON Pointer has it.
fn index(token: &str) -> Option<usize> {
    let digits = token.bytes().all(|b| b.is_ascii_digit());
    let plain = token == "0" || !token.starts_with('0');
    token.parse().ok().filter(|_| digits && plain)
}

/// The types that a schema's own keywords allow.
fn own_types(members: &Map<String, Value>) -> u8 {
    let bits =
        |name: &str| NAMES.iter().find(|(known, _)| *known == name).map_or(ALL, |(_, bits)| *bits);
    let types = match members.get("type") {
        Some(Value::String(name)) => bits(name),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).fold(0, |all, name| all | bits(name))
        }
        _ => ALL,
    };
    let known = listed(members);
    known.map_or(types, |values| types & values.iter().fold(0, |all, value| all | type_of(value)))
}

/// The values that a schema lists.
fn listed(members: &Map<String, Value>) -> Option<Vec<&Value>> {
    match (members.get("const"), members.get("enum")) {
        (Some(one), _) => Some(vec![one]),
        (None, Some(Value::Array(values))) => Some(values.iter().collect()),
        _ => None,
    }
}

fn type_of(value: &Value) -> u8 {
    match value {
        Value::Null => NULL,
        Value::Bool(_) => BOOLEAN,
        Value::Number(number) if number.is_i64() || number.is_u64() => INTEGER,
        Value::Number(_) => INTEGER | FRACTION,
        Value::String(_) => STRING,
        Value::Array(_) => ARRAY,
        Value::Object(_) => OBJECT,
    }
}

fn list<'s>(members: &'s Map<String, Value>, key: &str) -> impl Iterator<Item = &'s Value> {
    members.get(key).and_then(Value::as_array).into_iter().flatten()
}
