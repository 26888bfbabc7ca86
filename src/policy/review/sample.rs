//! A JSON Schema in, values at its boundaries out: one that fits, and its enumerations, bounds and
//! absences. What it makes is checked by whoever uses it; what it cannot make is left out.

use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Map, Number, Value, json};

use super::parts::Named;

/// Schemas nested deeper than this are not followed.
const MAX_DEPTH: u32 = 8;
/// Longest text that is made for a bound.
const MAX_TEXT: usize = 4096;
/// Values of one place.
const MAX_VALUES: usize = 64;
/// Usual texts for formats that a validator enforces.
const FORMATS: [(&str, &str); 9] = [
    ("date", "2026-01-31"),
    ("date-time", "2026-01-31T12:00:00Z"),
    ("time", "12:00:00Z"),
    ("duration", "PT1S"),
    ("uuid", "00000000-0000-4000-8000-000000000000"),
    ("email", "a@example.com"),
    ("uri", "https://example.com/"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
];

/// The schema of items that have none.
static NULL: Value = Value::Null;

/// Reads one schema document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampler<'s> {
    pub(super) root: &'s Value,
    pub(super) named: &'s Named,
}

impl<'s> Sampler<'s> {
    /// A value that should fit; `whole` also gives every optional property.
    pub(super) fn one(&self, schema: &'s Value, whole: bool, depth: u32) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        let node = self.node(schema, 0);
        for key in ["const", "default"] {
            if let Some(value) = node.get(key) {
                return Some((*value).clone());
            }
        }
        for key in ["enum", "examples"] {
            if let Some(value) = node.get(key).copied().and_then(|list| list.get(0)) {
                return Some(value.clone());
            }
        }
        if let Some(value) = node.get("example") {
            return Some((*value).clone());
        }
        match kind(&node) {
            Some("object") => self.object(&node, whole, depth),
            Some("array") => {
                let least = node.get("minItems").and_then(|n| n.as_u64()).unwrap_or(0);
                let items = node.get("items").copied();
                let count = if whole { least.max(u64::from(items.is_some())) } else { least };
                let item = || self.one(items.unwrap_or(&NULL), whole, depth + 1);
                (0..count.min(16)).map(|_| item()).collect::<Option<Vec<_>>>().map(Value::Array)
            }
            Some("string") => Some(Value::String(text(&node)?)),
            Some("integer" | "number") => Some(least(&node)),
            Some("boolean") => Some(Value::Bool(false)),
            Some("null") => Some(Value::Null),
            _ => {
                let other =
                    ["anyOf", "oneOf"].iter().find_map(|key| node.get(*key).copied()?.get(0));
                match other {
                    Some(other) => self.one(other, whole, depth + 1),
                    None => Some(Value::String("x".to_owned())),
                }
            }
        }
    }

    fn object(&self, node: &Node<'s>, whole: bool, depth: u32) -> Option<Value> {
        let mut object = Map::new();
        for (name, schema) in self.properties(node) {
            let required = required(node, name);
            if required || whole {
                match self.one(schema, whole, depth + 1) {
                    Some(value) => drop(object.insert(name.clone(), value)),
                    None if required => return None,
                    None => {}
                }
            }
        }
        Some(Value::Object(object))
    }

    /// Values at the boundaries of one place, and at those that policies name.
    pub(super) fn many(&self, schema: &'s Value) -> Vec<Value> {
        let node = self.node(schema, 0);
        let mut values: Vec<Value> = self.one(schema, false, 0).into_iter().collect();
        if let Some(Value::Array(list)) = node.get("enum") {
            values.extend(list.iter().cloned());
        }
        let alternatives =
            ["anyOf", "oneOf"].iter().filter_map(|key| node.get(*key).copied()?.as_array());
        for alternative in alternatives.flatten().take(8) {
            values.extend(self.one(alternative, false, 1));
        }
        match kind(&node) {
            Some("boolean") => values.extend([Value::Bool(false), Value::Bool(true)]),
            Some("integer") => values.extend(self.numbers(&node)),
            Some("number") => {
                values.extend(self.numbers(&node));
                let near = self.named.decimals.iter().flat_map(|text| around(text));
                values
                    .extend(near.filter_map(|text| text.parse::<Number>().ok().map(Value::Number)));
            }
            Some("string") => values.extend(self.texts(&node)),
            Some("array") => {
                values.push(json!([]));
                let items = node.get("items").copied().unwrap_or(&NULL);
                let item = self.node(items, 0);
                if kind(&item) == Some("string") {
                    values.extend(self.texts(&item).into_iter().map(|text| json!([text])));
                } else {
                    values.extend(self.one(items, true, 1).map(|item| json!([item])));
                }
            }
            Some("object") => values.extend(self.one(schema, true, 1)),
            _ => {}
        }
        let mut seen = Vec::new();
        for value in values {
            if !seen.contains(&value) && seen.len() < MAX_VALUES {
                seen.push(value);
            }
        }
        seen
    }

    fn numbers(&self, node: &Node<'_>) -> Vec<Value> {
        let mut found = vec![json!(0), json!(1)];
        for key in ["minimum", "maximum"] {
            found.extend(node.get(key).map(|value| (*value).clone()));
        }
        for key in ["exclusiveMinimum", "exclusiveMaximum"] {
            let bound = node.get(key).and_then(|value| value.as_i64());
            found.extend(
                bound.iter().flat_map(|n| [json!(n.saturating_sub(1)), json!(n.saturating_add(1))]),
            );
        }
        for number in &self.named.numbers {
            let near = [number.saturating_sub(1), *number, number.saturating_add(1)];
            found.extend(near.map(|near| json!(near)));
        }
        found
    }

    fn texts(&self, node: &Node<'_>) -> Vec<Value> {
        let mut found: Vec<Value> = self.named.texts.iter().map(|text| json!(text)).collect();
        found.push(json!(""));
        let most =
            node.get("maxLength").and_then(|n| n.as_u64()).and_then(|n| usize::try_from(n).ok());
        found.extend(most.filter(|most| *most <= MAX_TEXT).map(|most| json!("x".repeat(most))));
        found
    }

    /// The properties that the node declares, with their schemas.
    pub(super) fn properties(&self, node: &Node<'s>) -> Vec<(&'s String, &'s Value)> {
        let Some(Value::Object(properties)) = node.get("properties").copied() else {
            return Vec::new();
        };
        properties.iter().collect()
    }

    /// The schema with what `$ref` and `allOf` add to it; the schema's own keys win.
    pub(super) fn node(&self, schema: &'s Value, depth: u32) -> Node<'s> {
        let mut node = Node::new();
        let Value::Object(own) = schema else { return node };
        node.extend(own.iter().map(|(key, value)| (key.as_str(), value)));
        if depth > MAX_DEPTH {
            return node;
        }
        let target =
            own.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix('#'));
        let target = target.and_then(|pointer| self.root.pointer(pointer));
        let parts = own.get("allOf").and_then(Value::as_array).into_iter().flatten();
        for part in target.into_iter().chain(parts) {
            for (key, value) in self.node(part, depth + 1) {
                node.entry(key).or_insert(value);
            }
        }
        node
    }
}

/// The keys of a schema.
pub(super) type Node<'s> = std::collections::BTreeMap<&'s str, &'s Value>;

pub(super) fn required(node: &Node<'_>, name: &str) -> bool {
    node.get("required")
        .and_then(|list| list.as_array())
        .is_some_and(|list| list.iter().any(|item| item == name))
}

/// The first type that is not null.
fn kind<'s>(node: &Node<'s>) -> Option<&'s str> {
    match node.get("type").copied() {
        Some(Value::String(name)) => Some(name),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null")
        }
        _ if node.contains_key("properties") => Some("object"),
        _ => None,
    }
}

fn least(node: &Node<'_>) -> Value {
    if let Some(Value::Number(number)) = node.get("minimum") {
        return Value::Number(number.clone());
    }
    let above = node.get("exclusiveMinimum").and_then(|value| value.as_i64());
    let below = node.get("maximum").and_then(|value| value.as_i64());
    match (above, below) {
        (Some(above), _) => json!(above.saturating_add(1)),
        (None, Some(most)) if most < 0 => json!(most),
        _ => json!(0),
    }
}

fn text(node: &Node<'_>) -> Option<String> {
    if let Some(pattern) = node.get("pattern").and_then(|value| value.as_str()) {
        let hir = regex_syntax::parse(pattern).ok()?;
        let mut made = String::new();
        return shortest(&hir, &mut made).then_some(made);
    }
    let format = node.get("format").and_then(|value| value.as_str());
    let usual = FORMATS.iter().find(|(name, _)| format == Some(*name));
    let text = usual.map_or("x", |(_, text)| *text).to_owned();
    let least = node.get("minLength").and_then(|n| n.as_u64()).unwrap_or(0);
    let least = usize::try_from(least).ok().filter(|least| *least <= MAX_TEXT)?;
    Some(if text.len() < least { "x".repeat(least) } else { text })
}

/// Appends a text that the expression matches; false when none can be made.
fn shortest(hir: &Hir, made: &mut String) -> bool {
    if made.len() > MAX_TEXT {
        return false;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
            Ok(text) => {
                made.push_str(text);
                true
            }
            Err(_) => false,
        },
        HirKind::Class(Class::Unicode(class)) => {
            let plain = class.iter().find(|range| range.end() >= ' ');
            match plain.map(|range| range.start().max(' ')) {
                Some(first) => {
                    made.push(first);
                    true
                }
                None => false,
            }
        }
        HirKind::Class(Class::Bytes(_)) => false,
        HirKind::Repetition(repetition) => {
            (0..repetition.min).all(|_| shortest(&repetition.sub, made))
        }
        HirKind::Capture(capture) => shortest(&capture.sub, made),
        HirKind::Concat(parts) => parts.iter().all(|part| shortest(part, made)),
        HirKind::Alternation(parts) => parts.first().is_some_and(|part| shortest(part, made)),
    }
}

/// The decimal, and the next one on either side.
fn around(text: &str) -> Vec<String> {
    let Some((whole, places)) = text.split_once('.') else { return vec![text.to_owned()] };
    let Ok(scaled) = format!("{whole}{places:0<4}").parse::<i64>() else {
        return vec![text.to_owned()];
    };
    let print = |scaled: i64| {
        let sign = if scaled < 0 { "-" } else { "" };
        let size = scaled.unsigned_abs();
        format!("{sign}{}.{:04}", size / 10_000, size % 10_000)
    };
    vec![print(scaled.saturating_sub(1)), print(scaled), print(scaled.saturating_add(1))]
}
