//! The mapping for `openai-strict`. A tool that can be written in strict mode is; another one is
//! exported as for `openai`, with `strict: false` and a loss that tells the tool and the place.
//!
//! | in the input schema | in the definition |
//! |---|---|
//! | an object | `additionalProperties: false`, and every member required |
//! | an optional member | required, and null stands for leaving it out |
//! | an optional member that may be null | null is null; the text `__omit__` stands for leaving it out |
//! | `oneOf` | `anyOf` |
//! | `$ref`, recursion | kept, as entries of `$defs`; nothing stands beside a `$ref` |
//! | `minLength`, `uniqueItems`, `default`, formats that are not published and the like | told in the description |
//! | maps, open objects, `allOf`, `not`, `if`, tuples, `patternProperties`, anything without a type | not expressible |
//! | alternatives at the root, more than 10 levels, 5,000 members, 1,000 listed values, 120,000 characters of names and values | not expressible |
//!
//! The limits are those that the provider publishes for structured outputs. A level is an object or a
//! list; a recursive schema counts once.

use serde_json::{Map, Value, json};

use super::copy::Defs;
use super::names::Keys;
use super::text::{self, Losses};
use super::view::{
    self, MAX_DEPTH, Types, alternatives, join, list, properties, referred, required, types,
};
use super::{Loss, patterns};
use crate::call::Dialect;

mod limits;

pub(super) use limits::refusal;

/// Stands for leaving out a member that may be null.
pub(super) const OMIT: &str = "__omit__";
/// The formats that strict mode knows.
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/// Keywords that strict mode checks.
const CHECKED: [&str; 7] = [
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "minItems",
    "maxItems",
];
/// Keywords that are told, with how.
const TOLD: [(&str, &str); 9] = [
    ("minLength", "Characters at least"),
    ("maxLength", "Characters at most"),
    ("minProperties", "Members at least"),
    ("maxProperties", "Members at most"),
    ("uniqueItems", "Items differ"),
    ("contains", "At least one item fits"),
    ("minContains", "Such items at least"),
    ("maxContains", "Such items at most"),
    ("default", "Default"),
];

/// Writes one tool's schema in strict mode. Only for what [`refusal`] has nothing against.
struct Writer<'s> {
    root: &'s Value,
    keys: &'s Keys,
    defs: Defs,
    losses: Losses,
}

/// The schema in strict mode, and what was lost.
pub(super) fn write(root: &Value, keys: &Keys) -> (Value, Vec<Loss>) {
    let mut writer = Writer { root, keys, defs: Defs::default(), losses: Losses::default() };
    let empty = Map::new();
    let mut out = writer.schema(root.as_object().unwrap_or(&empty), "", MAX_DEPTH);
    let mut defs = Map::new();
    while let Some((pointer, name)) = writer.defs.next() {
        if let Some(Value::Object(target)) = root.pointer(&pointer) {
            defs.insert(name, Value::Object(writer.schema(target, &pointer, MAX_DEPTH)));
        }
    }
    if !defs.is_empty() {
        out.insert("$defs".to_owned(), Value::Object(defs));
    }
    (Value::Object(out), writer.losses.finish())
}

/// The schema that stands for this one where it only wraps another.
pub(super) fn unwrapped(schema: &Map<String, Value>) -> &Map<String, Value> {
    let mut at = schema;
    for _ in 0..8 {
        let alone = at.keys().all(|key| key == "allOf" || super::merge::is_annotation(key));
        match list(at, "allOf") {
            [Value::Object(only)] if alone => at = only,
            _ => break,
        }
    }
    at
}

/// Whether null fits a schema.
pub(super) fn takes_null(root: &Value, schema: &Value) -> bool {
    types(root, schema).has(Types::NULL)
}

impl Writer<'_> {
    fn schema(
        &mut self,
        schema: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Map<String, Value> {
        let inner = unwrapped(schema);
        let described = [schema, inner].into_iter().find_map(|map| view::text(map, "description"));
        let mut out = Map::new();
        let mut notes = Vec::new();
        if let Some((pointer, _)) = referred(self.root, inner) {
            out.insert("$ref".to_owned(), self.defs.reference(&pointer).into());
        } else if let Some((keyword, branches)) = alternatives(inner) {
            self.union(keyword, branches, (at, depth), &mut out);
        } else {
            self.value(inner, (at, depth), (&mut out, &mut notes));
        }
        self.tell(inner, at, &mut notes);
        let description = text::describe(described.unwrap_or_default(), &notes);
        if !description.is_empty() {
            out = describable(out);
            out.insert("description".to_owned(), description.into());
        }
        out
    }

    fn union(
        &mut self,
        keyword: &str,
        branches: &[Value],
        (at, depth): (&str, usize),
        out: &mut Map<String, Value>,
    ) {
        if keyword == "oneOf" {
            self.losses.add(
                at,
                keyword,
                "became `anyOf`: a value that fits several is not refused",
            );
        }
        let here = join(at, keyword);
        let mut copied: Vec<Value> = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            let Some(branch) = branch.as_object().filter(|_| depth > 0) else { continue };
            let branch = self.schema(branch, &join(&here, &index.to_string()), depth - 1);
            copied.push(Value::Object(branch));
        }
        out.insert("anyOf".to_owned(), Value::Array(copied));
    }

    /// A schema that is neither reference nor union.
    fn value(
        &mut self,
        schema: &Map<String, Value>,
        (at, depth): (&str, usize),
        (out, notes): (&mut Map<String, Value>, &mut Vec<String>),
    ) {
        let types = view::types_of(self.root, schema).names();
        let declared = schema.get("type").cloned();
        let inferred = match types.as_slice() {
            _ if properties(schema).is_some() => json!("object"),
            _ if schema.contains_key("items") => json!("array"),
            [only] => json!(only),
            several => json!(several),
        };
        out.insert("type".to_owned(), declared.unwrap_or(inferred));
        for keyword in ["enum", "const"].iter().chain(&CHECKED) {
            if let Some(value) = schema.get(*keyword) {
                out.insert((*keyword).to_owned(), value.clone());
            }
        }
        self.text(schema, at, (out, notes));
        if let Some(members) = properties(schema) {
            self.object(schema, members, (at, depth), out);
        } else if out.get("type").is_some_and(|types| Types::declared(types).has(Types::OBJECT)) {
            self.object(schema, &Map::new(), (at, depth), out);
        }
        if let Some(Value::Object(items)) = schema.get("items") {
            let items = match depth {
                0 => Map::new(),
                _ => self.schema(items, &join(at, "items"), depth - 1),
            };
            out.insert("items".to_owned(), Value::Object(items));
        }
    }

    fn text(
        &mut self,
        schema: &Map<String, Value>,
        at: &str,
        (out, notes): (&mut Map<String, Value>, &mut Vec<String>),
    ) {
        if let Some(Value::String(pattern)) = schema.get("pattern") {
            match patterns::spell_or_tell(pattern, Dialect::OpenaiStrict, at, &mut self.losses) {
                Ok(spelled) => drop(out.insert("pattern".to_owned(), spelled.into())),
                Err(told) => notes.push(told),
            }
        }
        if let Some(Value::String(format)) = schema.get("format") {
            if FORMATS.contains(&format.as_str()) {
                out.insert("format".to_owned(), format.as_str().into());
            } else {
                self.losses.add(at, "format", "is not published; moved to the description");
                notes.push(format!("Format: {format}."));
            }
        }
    }

    fn object(
        &mut self,
        schema: &Map<String, Value>,
        members: &Map<String, Value>,
        (at, depth): (&str, usize),
        out: &mut Map<String, Value>,
    ) {
        if !view::is_closed(schema) {
            self.losses.add(
                at,
                "additionalProperties",
                "members that are not declared cannot be given",
            );
        }
        let here = join(at, "properties");
        let (mut made, mut names) = (Map::new(), Vec::new());
        for (name, member) in members {
            let optional = !required(schema).any(|known| known == name);
            let inner = join(&here, name);
            let Some(map) = member.as_object().filter(|_| depth > 0) else { continue };
            let mut copied = self.schema(map, &inner, depth - 1);
            if optional {
                self.leave_out(member, &inner, &mut copied);
            }
            let exported = self.keys.of(name);
            if exported != name {
                copied = describable(copied);
                text::add(&mut copied, &[text::renamed(name)]);
            }
            names.push(Value::from(exported));
            made.insert(exported.to_owned(), Value::Object(copied));
        }
        out.insert("properties".to_owned(), Value::Object(made));
        out.insert("required".to_owned(), Value::Array(names));
        out.insert("additionalProperties".to_owned(), Value::Bool(false));
    }

    /// Lets a member be left out.
    fn leave_out(&mut self, own: &Value, at: &str, copied: &mut Map<String, Value>) {
        if !takes_null(self.root, own) {
            add_null(copied);
            return;
        }
        let message = format!("null is null; the text `{OMIT}` stands for leaving the member out");
        self.losses.add(at, "required", message);
        let free = types(self.root, own).has(Types::STRING)
            && !["enum", "const", "anyOf", "$ref", "pattern", "format"]
                .iter()
                .any(|keyword| copied.contains_key(*keyword));
        if !free {
            let description = copied.shift_remove("description");
            let omit = json!({ "type": "string", "enum": [OMIT] });
            match copied.get_mut("anyOf") {
                Some(Value::Array(branches)) => branches.push(omit),
                _ => {
                    let inner = Value::Object(std::mem::take(copied));
                    copied.insert("anyOf".to_owned(), json!([inner, omit]));
                }
            }
            copied.extend(description.map(|text| ("description".to_owned(), text)));
        }
        text::add(copied, &[format!("To leave it out, give \"{OMIT}\"; null is sent as null.")]);
    }

    /// What stands in words only.
    fn tell(&mut self, schema: &Map<String, Value>, at: &str, notes: &mut Vec<String>) {
        for (keyword, words) in TOLD {
            let Some(told) = text::keyword(schema, keyword, words) else { continue };
            notes.push(told);
            if keyword != "default" {
                self.losses.add(at, keyword, "moved to the description");
            }
        }
    }
}

/// The same schema in a form that takes a description.
fn describable(schema: Map<String, Value>) -> Map<String, Value> {
    match schema.contains_key("$ref") {
        true => Map::from_iter([("anyOf".to_owned(), json!([schema]))]),
        false => schema,
    }
}

/// Lets null through where the own schema does not.
fn add_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        branches.push(json!({ "type": "null" }));
    } else if schema.contains_key("$ref") {
        let reference = Value::Object(std::mem::take(schema));
        schema.insert("anyOf".to_owned(), json!([reference, { "type": "null" }]));
    } else {
        if let Some(only) = schema.shift_remove("const") {
            schema.insert("enum".to_owned(), json!([only]));
        }
        if let Some(Value::Array(members)) = schema.get_mut("enum") {
            members.push(Value::Null);
        }
        match schema.get_mut("type") {
            Some(Value::Array(types)) if types.iter().any(|one| one == "null") => {}
            Some(Value::Array(types)) => types.push(json!("null")),
            Some(one) => *one = json!([one, "null"]),
            None => {}
        }
    }
}
