//! A tool's JSON Schema in, the part of it that Cedar can type out; and arguments in, Cedar values
//! of exactly that type out. What has no Cedar type is left out of both, so that a policy that
//! reads it is refused when it is loaded, not skipped when it is asked.

use std::collections::BTreeMap;
use std::fmt::Write;

use cedar_policy::RestrictedExpression;
use serde_json::{Map, Value};

use super::number;

/// Values nested deeper than this are left out; it also ends recursive schemas.
const MAX_DEPTH: u32 = 6;
/// Attributes of one tool; those after it are left out.
const MAX_ATTRIBUTES: u32 = 256;
/// Subschemas that may apply to one value by `$ref` and `allOf`.
const MAX_PARTS: usize = 64;
/// Name of a value that Cedar cannot hold, as it shows in an evaluation error.
const UNREPRESENTABLE: &str = "unrepresentable argument";

/// The Cedar type of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// `String`: strings and enumerations of strings.
    Text,
    /// `Bool`.
    Bool,
    /// `Long`: integers.
    Long,
    /// `decimal`: numbers.
    Decimal,
    /// `Set`: arrays whose items have one type.
    Set(Box<Shape>),
    /// Record: the declared properties of an object, by name.
    Record(BTreeMap<String, Field>),
}

/// One attribute of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    shape: Shape,
    /// Whether it is always there: required, and never null.
    required: bool,
}

impl Shape {
    /// The readable part of a tool's input schema.
    pub(super) fn of_schema(schema: &Value) -> Self {
        let mut reader = Reader { root: schema, left: MAX_ATTRIBUTES };
        match reader.read(&[schema], 0) {
            Some((record @ Self::Record(_), _)) => record,
            _ => Self::Record(BTreeMap::new()),
        }
    }

    /// Appends the type in Cedar's schema syntax.
    pub(super) fn print(&self, out: &mut String) {
        match self {
            Self::Text => out.push_str("__cedar::String"),
            Self::Bool => out.push_str("__cedar::Bool"),
            Self::Long => out.push_str("__cedar::Long"),
            Self::Decimal => out.push_str("__cedar::decimal"),
            Self::Set(items) => {
                out.push_str("Set<");
                items.print(out);
                out.push('>');
            }
            Self::Record(fields) => {
                out.push('{');
                for (index, (name, field)) in fields.iter().enumerate() {
                    out.push_str(if index == 0 { " " } else { ", " });
                    quote(name, out);
                    out.push_str(if field.required { ": " } else { "?: " });
                    field.shape.print(out);
                }
                out.push_str(if fields.is_empty() { "}" } else { " }" });
            }
        }
    }

    /// The value as this type. A value that the type cannot hold becomes an unknown: a policy that
    /// reads it cannot be decided, and the call is denied; a policy that does not is unaffected.
    pub(super) fn express(&self, value: &Value) -> RestrictedExpression {
        self.convert(value).unwrap_or_else(|| RestrictedExpression::new_unknown(UNREPRESENTABLE))
    }

    fn convert(&self, value: &Value) -> Option<RestrictedExpression> {
        Some(match (self, value) {
            (Self::Text, Value::String(text)) => RestrictedExpression::new_string(text.clone()),
            (Self::Bool, Value::Bool(flag)) => RestrictedExpression::new_bool(*flag),
            (Self::Long, Value::Number(number)) => {
                RestrictedExpression::new_long(number::long(number.as_str())?)
            }
            (Self::Decimal, Value::Number(number)) => {
                RestrictedExpression::new_decimal(number::decimal(number.as_str())?)
            }
            (Self::Set(items), Value::Array(values)) => {
                RestrictedExpression::new_set(values.iter().map(|value| items.express(value)))
            }
            (Self::Record(fields), Value::Object(object)) => {
                let attributes = fields
                    .iter()
                    .filter_map(|(name, field)| Some((name.clone(), field.express(object, name)?)));
                RestrictedExpression::new_record(attributes).ok()?
            }
            _ => return None,
        })
    }
}

impl Field {
    /// The attribute's value; `None` when it is absent. A null counts as absent.
    fn express(&self, object: &Map<String, Value>, name: &str) -> Option<RestrictedExpression> {
        match object.get(name) {
            None | Some(Value::Null) if !self.required => None,
            value => Some(self.shape.express(value.unwrap_or(&Value::Null))),
        }
    }
}

/// Appends a string literal in Cedar's syntax.
pub(super) fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            // Writing to a String cannot fail.
            c => write!(out, "\\u{{{:x}}}", u32::from(c)).unwrap_or_default(),
        }
    }
    out.push('"');
}

/// Reads one schema document.
struct Reader<'a> {
    root: &'a Value,
    left: u32,
}

impl<'a> Reader<'a> {
    /// The type of a value to which all of `nodes` apply, and whether it may be null.
    fn read(&mut self, nodes: &[&'a Value], depth: u32) -> Option<(Shape, bool)> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut parts = Vec::new();
        for node in nodes {
            self.flatten(node, &mut parts);
        }
        let (types, nullable) = declared_types(&parts);
        let shape = match types.as_slice() {
            ["string"] => Shape::Text,
            ["boolean"] => Shape::Bool,
            ["integer"] => Shape::Long,
            ["number"] | ["integer", "number"] => Shape::Decimal,
            ["array"] => Shape::Set(Box::new(self.items(&parts, depth)?)),
            ["object"] => self.record(&parts, depth),
            [] if parts.iter().any(|part| part.contains_key("properties")) => {
                self.record(&parts, depth)
            }
            [] => return self.union(&parts, depth),
            _ => return None,
        };
        Some((shape, nullable))
    }

    /// Lists the node itself and all that `$ref` and `allOf` add to it.
    fn flatten(&self, node: &'a Value, parts: &mut Vec<&'a Map<String, Value>>) {
        let Value::Object(object) = node else { return };
        if parts.len() >= MAX_PARTS || parts.iter().any(|part| std::ptr::eq(*part, object)) {
            return;
        }
        parts.push(object);
        if let Some(target) = object.get("$ref").and_then(|name| self.resolve(name)) {
            self.flatten(target, parts);
        }
        for part in array(object, "allOf") {
            self.flatten(part, parts);
        }
    }

    fn resolve(&self, reference: &Value) -> Option<&'a Value> {
        self.root.pointer(reference.as_str()?.strip_prefix('#')?)
    }

    fn items(&mut self, parts: &[&'a Map<String, Value>], depth: u32) -> Option<Shape> {
        if parts.iter().any(|part| part.contains_key("prefixItems")) {
            return None;
        }
        let nodes: Vec<&Value> = parts.iter().filter_map(|part| part.get("items")).collect();
        // A null inside an array has no place in a Cedar set; such an item becomes an unknown.
        self.read(&nodes, depth + 1).map(|(shape, _)| shape)
    }

    fn record(&mut self, parts: &[&'a Map<String, Value>], depth: u32) -> Shape {
        let mut properties: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for part in parts {
            if let Some(Value::Object(declared)) = part.get("properties") {
                for (name, schema) in declared {
                    properties.entry(name).or_default().push(schema);
                }
            }
        }
        let required: Vec<&str> = parts
            .iter()
            .flat_map(|part| array(part, "required"))
            .filter_map(Value::as_str)
            .collect();
        let mut fields = BTreeMap::new();
        for (name, schemas) in properties {
            if self.left == 0 {
                break;
            }
            if let Some((shape, nullable)) = self.read(&schemas, depth + 1) {
                self.left = self.left.saturating_sub(1);
                let required = required.contains(&name) && !nullable;
                fields.insert(name.to_owned(), Field { shape, required });
            }
        }
        Shape::Record(fields)
    }

    /// The one type that all alternatives have, null aside.
    fn union(&mut self, parts: &[&'a Map<String, Value>], depth: u32) -> Option<(Shape, bool)> {
        let mut found: Option<Shape> = None;
        let mut nullable = false;
        let alternatives =
            parts.iter().flat_map(|part| array(part, "anyOf").chain(array(part, "oneOf")));
        for alternative in alternatives {
            if alternative.get("type").and_then(Value::as_str) == Some("null") {
                nullable = true;
                continue;
            }
            let (shape, null) = self.read(&[alternative], depth + 1)?;
            nullable |= null;
            match &found {
                Some(other) if *other != shape => return None,
                _ => found = Some(shape),
            }
        }
        Some((found?, nullable))
    }
}

fn array<'a>(
    object: &'a Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a Value> + use<'a> {
    object.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// The types that the parts name, sorted, null aside; and whether null is among them.
fn declared_types<'a>(parts: &[&'a Map<String, Value>]) -> (Vec<&'a str>, bool) {
    let mut types: Vec<&'a str> = Vec::new();
    for part in parts.iter().copied() {
        match part.get("type") {
            Some(Value::String(name)) => types.push(name),
            Some(Value::Array(names)) => types.extend(names.iter().filter_map(Value::as_str)),
            _ => match part.get("const") {
                Some(value) => types.push(type_of(value)),
                None => {
                    for value in array(part, "enum") {
                        types.push(type_of(value));
                    }
                }
            },
        }
    }
    types.sort_unstable();
    types.dedup();
    let nullable = types.contains(&"null");
    types.retain(|name| *name != "null");
    (types, nullable)
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number::long(number.as_str()).is_some() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
