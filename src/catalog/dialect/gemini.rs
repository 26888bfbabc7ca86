//! The mapping for `gemini`: the subset of OpenAPI 3.0 schemas that `parameters` of a
//! functionDeclaration takes. (`parametersJsonSchema` takes more, but only the newest versions of one of
//! the two services know it, and they do not say which keywords they heed; `parameters` works in both.)
//!
//! | in the input schema | in the definition |
//! |---|---|
//! | types | one, upper case; null among them is `nullable`; several others are `anyOf` |
//! | `anyOf`, `oneOf` | `anyOf`, with nothing beside it: a description stands in each alternative |
//! | `$ref`, `allOf` | put in place. Inside itself a schema is put twice, then it is JSON text; so is what lies deeper than 16 levels, or than fewer, down to 1, where a tool would have more than 2,000 schemas or 128 KiB |
//! | maps and objects without declared members | `STRING` that holds JSON text |
//! | `enum`, `const` of texts | `enum` without empty texts |
//! | `enum`, `const` of others | the type, with the values in the description |
//! | formats but float, double, int32, int64, date-time | told in the description |
//! | a list without `items` | `items` that takes text, numbers and booleans |
//! | tuples | `items` that fits every position; the positions are told |
//! | no arguments | no `parameters` |
//! | `default`, `exclusiveMinimum`, `uniqueItems`, `not`, `if` and the like | told in the description |
//!
//! JSON text is only used where the tool's own schema takes no text, so that it can be told apart. Its
//! shape is told in the description: the members of the object, or of the items, with their types. What
//! a cut leaves out is a loss at its place; a call is checked by the tool's own schema all the same.

use serde_json::{Map, Value, json};

use super::merge::{self, Settler, flatten};
use super::names::Keys;
use super::text::{self, Losses};
use super::view::{
    self, Types, alternatives, join, list, positions, properties, required, types_of,
};
use super::{Loss, patterns};
use crate::call::Dialect;

mod words;

/// How often a schema stands inside itself.
const RECURSION: usize = 2;
/// Levels that are tried, until a tool has at most [`MAX_SCHEMAS`] and [`MAX_BYTES`].
const LEVELS: [usize; 9] = [16, 12, 9, 7, 5, 4, 3, 2, 1];
/// Most schemas in one tool, if fewer levels help.
const MAX_SCHEMAS: usize = 2000;
/// Most bytes of one tool's schema as JSON text, if fewer levels help.
const MAX_BYTES: usize = 128 << 10;
/// Most alternatives of one place.
const MAX_BRANCHES: usize = 24;

/// Writes one tool's schema.
struct Writer<'s> {
    root: &'s Value,
    keys: &'s Keys,
    losses: Losses,
    /// The references that lead to the place being written.
    open: Vec<String>,
    schemas: usize,
    /// Bytes of what was written so far, about.
    bytes: usize,
    /// Bytes that one tool may have: as many as its own schema, if those are more.
    room: usize,
}

/// A schema that was written.
struct Built {
    schema: Map<String, Value>,
    nullable: bool,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// What it says.
    Plain,
    /// JSON text in place of an object or a list.
    Json,
    /// Takes null alone.
    Null,
}

impl Built {
    const fn new(schema: Map<String, Value>) -> Self {
        Self { schema, nullable: false, kind: Kind::Plain }
    }
}

/// The parameters, if there are any; sentences for the tool's description; and what was lost.
pub(super) fn write(root: &Value, keys: &Keys) -> (Option<Value>, Vec<String>, Vec<Loss>) {
    let room = MAX_BYTES.max(root.to_string().len());
    let mut last = (None, Vec::new(), Vec::new());
    for levels in LEVELS {
        let (losses, open) = (Losses::default(), Vec::new());
        let mut writer = Writer { root, keys, losses, open, schemas: 0, bytes: 0, room };
        let (flat, told) = flatten(root, &mut writer.losses);
        let built = (properties(&flat).is_some_and(|members| !members.is_empty()))
            .then(|| Value::Object(writer.object(&flat, "", levels).schema));
        let size = built.as_ref().map_or(0, |built| built.to_string().len());
        let fits = writer.schemas <= MAX_SCHEMAS && size <= MAX_BYTES;
        last = (built, told, writer.losses.finish());
        if fits {
            break;
        }
    }
    last
}

impl Writer<'_> {
    /// Writes any schema. `levels` is how much deeper it may go.
    fn schema(&mut self, schema: &Value, at: &str, levels: usize) -> Built {
        self.schemas += 1;
        let map = match schema {
            // Alternatives within alternatives do not go deeper, so the levels do not bound them.
            Value::Object(map) if !self.is_beyond(4) => map,
            _ => return self.any(&Map::new(), at),
        };
        let mut settler = Settler { root: self.root, trail: Vec::new() };
        let flat = settler.settle(map);
        let trail = settler.trail;
        let cut = levels == 0
            || self.is_beyond(2)
            || trail
                .iter()
                .any(|new| self.open.iter().filter(|known| *known == new).count() >= RECURSION);
        let before = self.open.len();
        self.open.extend(trail);
        let built = self.place(&flat, at, if cut { 0 } else { levels });
        self.open.truncate(before);
        let told =
            ["description", "enum", "pattern"].iter().filter_map(|key| built.schema.get(*key));
        self.bytes += 32 + told.map(|value| value.to_string().len()).sum::<usize>();
        built
    }

    /// Whether more was written than `times` what a tool may have.
    const fn is_beyond(&self, times: usize) -> bool {
        self.schemas > times * MAX_SCHEMAS || self.bytes > times * self.room
    }

    /// Writes a schema without references; at level 0 only what has nothing inside.
    fn place(&mut self, flat: &Map<String, Value>, at: &str, levels: usize) -> Built {
        let may_be_null = flat.get("nullable") == Some(&Value::Bool(true));
        let mut built = match alternatives(flat) {
            Some((keyword, branches)) if merge::has_weight(branches) => {
                self.union(flat, (keyword, branches), at, levels)
            }
            _ => self.typed(flat, at, levels),
        };
        built.nullable |= may_be_null;
        built
    }

    /// Writes a schema without alternatives: one for each of its types.
    fn typed(&mut self, flat: &Map<String, Value>, at: &str, levels: usize) -> Built {
        let empty = list(flat, "enum").is_empty() && flat.contains_key("enum");
        let mut allowed = match (empty, flat.get("type")) {
            (false, _) => types_of(self.root, flat),
            (true, Some(types)) => Types::declared(types),
            (true, None) => Types::STRING,
        };
        if !["type", "enum", "const"].iter().any(|keyword| flat.contains_key(*keyword)) {
            allowed = meant(flat);
        }
        let nullable = allowed.has(Types::NULL);
        let each = allowed.without(Types::NULL).names();
        let mut built = match each.as_slice() {
            _ if allowed == Types::ANY => self.any(flat, at),
            [] => {
                let mut schema = Map::from_iter([("type".to_owned(), json!("STRING"))]);
                text::add(&mut schema, &words::notes(flat, at, &mut Losses::default()));
                text::add(&mut schema, &["Only null.".to_owned()]);
                Built { schema, nullable, kind: Kind::Null }
            }
            [only] => self.one(only, flat, at, levels),
            several => {
                let built = several.iter().map(|name| self.one(name, flat, at, levels)).collect();
                self.join(built, at)
            }
        };
        built.nullable |= nullable;
        built
    }

    /// Writes the part of a schema that one type has.
    fn one(&mut self, name: &str, flat: &Map<String, Value>, at: &str, levels: usize) -> Built {
        match name {
            "object" if levels > 0 && properties(flat).is_some_and(|all| !all.is_empty()) => {
                self.object(flat, at, levels)
            }
            "array" if levels > 0 => self.array(flat, at, levels),
            "object" | "array" => self.json(name, flat, (at, levels == 0)),
            _ => Built::new(words::scalar(name, flat, at, &mut self.losses)),
        }
    }

    /// An object or a list as JSON text, where the tool's own schema takes no text.
    fn json(&mut self, name: &str, flat: &Map<String, Value>, (at, cut): (&str, bool)) -> Built {
        if types_of(self.root, flat).has(Types::STRING) {
            return self.any(flat, at);
        }
        let what = if name == "array" { "list" } else { "object" };
        let why = if cut { ": what lies deeper, or within itself, would be too much" } else { "" };
        self.losses.add(at, "type", format!("the {what} is given as JSON text{why}"));
        let mut schema = Map::from_iter([("type".to_owned(), json!("STRING"))]);
        text::add(&mut schema, &words::notes(flat, at, &mut self.losses));
        let inside = words::inside(self.root, flat, name);
        text::add(&mut schema, &[format!("A JSON {what} as text{inside}.")]);
        Built { schema, nullable: false, kind: Kind::Json }
    }

    /// What takes text, numbers and booleans, in place of anything.
    fn any(&mut self, flat: &Map<String, Value>, at: &str) -> Built {
        self.losses.add(at, "type", "takes any value; lists and objects cannot be given");
        let notes = words::notes(flat, at, &mut self.losses);
        let each = ["STRING", "NUMBER", "BOOLEAN"].iter().map(|name| {
            let mut schema = Map::from_iter([("type".to_owned(), json!(name))]);
            text::add(&mut schema, &notes);
            Value::Object(schema)
        });
        let mut built =
            Built::new(Map::from_iter([("anyOf".to_owned(), Value::Array(each.collect()))]));
        built.nullable = true;
        built
    }

    fn object(&mut self, flat: &Map<String, Value>, at: &str, levels: usize) -> Built {
        let mut schema = Map::from_iter([("type".to_owned(), json!("OBJECT"))]);
        text::add(&mut schema, &words::notes(flat, at, &mut self.losses));
        if let Some((_, branches)) = alternatives(flat)
            && let Some(told) = merge::requirements(branches)
        {
            self.losses.add(at, "anyOf", "moved to the description");
            text::add(&mut schema, &[told]);
        }
        if flat.get("additionalProperties").is_some_and(|rest| *rest != Value::Bool(false)) {
            let message = "members that are not declared cannot be given";
            self.losses.add(at, "additionalProperties", message);
        }
        let here = join(at, "properties");
        let mut members = Map::new();
        for (name, member) in properties(flat).into_iter().flatten() {
            let built = self.schema(member, &join(&here, name), levels - 1);
            let mut made = finish(built);
            let exported = self.keys.of(name);
            if exported != name {
                tell(&mut made, &text::renamed(name));
            }
            members.insert(exported.to_owned(), Value::Object(made));
        }
        let needed: Vec<Value> = required(flat)
            .map(|name| Value::from(self.keys.of(name)))
            .filter(|key| key.as_str().is_some_and(|key| members.contains_key(key)))
            .collect();
        schema.insert("properties".to_owned(), Value::Object(members));
        if !needed.is_empty() {
            schema.insert("required".to_owned(), Value::Array(needed));
        }
        Built::new(schema)
    }

    fn array(&mut self, flat: &Map<String, Value>, at: &str, levels: usize) -> Built {
        let mut schema = Map::from_iter([("type".to_owned(), json!("ARRAY"))]);
        text::add(&mut schema, &words::notes(flat, at, &mut self.losses));
        let here = join(at, "items");
        let tuple = positions(flat);
        let rest = flat.get("items").filter(|items| !items.is_array());
        let items = if tuple.is_empty() {
            self.schema(rest.unwrap_or(&Value::Bool(true)), &here, levels - 1)
        } else {
            self.losses.add(at, "prefixItems", "the positions are told in the description");
            text::add(&mut schema, &[super::copy::told_positions(self.root, tuple)]);
            let rest = rest.filter(|rest| rest.is_object());
            let parts: Vec<&Value> = tuple.iter().chain(rest).collect();
            let built =
                parts.into_iter().map(|part| self.schema(part, &here, levels - 1)).collect();
            self.join(built, &here)
        };
        for keyword in ["minItems", "maxItems"] {
            if let Some(value) = flat.get(keyword) {
                schema.insert(keyword.to_owned(), value.clone());
            }
        }
        schema.insert("items".to_owned(), Value::Object(finish(items)));
        Built::new(schema)
    }

    /// Writes alternatives, each with what stands beside them.
    fn union(
        &mut self,
        flat: &Map<String, Value>,
        (keyword, branches): (&str, &[Value]),
        at: &str,
        levels: usize,
    ) -> Built {
        let mut base = flat.clone();
        base.shift_remove(keyword);
        let here = join(at, keyword);
        if branches.len() > MAX_BRANCHES {
            let message = format!("only the first {MAX_BRANCHES} alternatives can be given");
            self.losses.add(at, keyword, message);
        }
        let mut built = Vec::new();
        for (index, branch) in branches.iter().take(MAX_BRANCHES).enumerate() {
            let Value::Object(branch) = branch else { continue };
            // The description of the whole goes to each, in front of its own.
            let own = view::text(branch, "description").map(str::to_owned);
            let whole = view::text(&base, "description").unwrap_or_default();
            let both = text::describe(whole, own.as_slice());
            let mut joined = merge::beside(&base, branch.clone());
            if !both.is_empty() {
                joined.insert("description".to_owned(), both.into());
            }
            let here = join(&here, &index.to_string());
            built.push(self.schema(&Value::Object(joined), &here, levels));
        }
        self.join(built, at)
    }

    /// Several schemas as one. JSON text and plain text cannot be told apart, so the former goes.
    fn join(&mut self, built: Vec<Built>, at: &str) -> Built {
        let nullable = built.iter().any(|one| one.nullable);
        let null = built.iter().find(|one| one.kind == Kind::Null).map(|one| one.schema.clone());
        let mut parts: Vec<(Value, Kind)> = Vec::new();
        for one in built.into_iter().filter(|one| one.kind != Kind::Null) {
            let split = match one.schema.get("anyOf") {
                Some(Value::Array(inner)) => inner.clone(),
                _ => vec![Value::Object(one.schema)],
            };
            for part in split {
                let is_text = part.get("type").is_some_and(|name| name == "STRING");
                let kind = if is_text { one.kind } else { Kind::Plain };
                if !parts.iter().any(|(known, _)| *known == part) {
                    parts.push((part, kind));
                }
            }
        }
        let is_text = |(part, kind): &(Value, Kind)| {
            *kind == Kind::Plain && part.get("type").is_some_and(|name| name == "STRING")
        };
        if parts.iter().any(is_text) && parts.iter().any(|(_, kind)| *kind == Kind::Json) {
            self.losses.add(at, "anyOf", "an alternative that would be JSON text cannot be given");
            parts.retain(|(_, kind)| *kind != Kind::Json);
        }
        let kind = match parts.iter().any(|(_, kind)| *kind == Kind::Json) {
            true => Kind::Json,
            false => Kind::Plain,
        };
        let mut schemas: Vec<Value> = parts.into_iter().map(|(part, _)| part).collect();
        match (schemas.len(), schemas.pop()) {
            (_, None) => match null {
                Some(schema) => Built { schema, nullable, kind: Kind::Null },
                None => self.any(&Map::new(), at),
            },
            (1, Some(Value::Object(schema))) => Built { schema, nullable, kind },
            (_, Some(last)) => {
                schemas.push(last);
                let schema = Map::from_iter([("anyOf".to_owned(), Value::Array(schemas))]);
                Built { schema, nullable, kind }
            }
        }
    }
}

/// The types that a schema without `type` speaks of.
fn meant(flat: &Map<String, Value>) -> Types {
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| flat.contains_key(*keyword));
    if has(&["properties"]) {
        Types::OBJECT
    } else if has(&["items", "prefixItems"]) {
        Types::ARRAY
    } else if has(&["pattern", "format", "minLength", "maxLength"]) {
        Types::STRING
    } else {
        Types::ANY
    }
}

/// The schema with its `nullable`.
fn finish(built: Built) -> Map<String, Value> {
    let mut schema = built.schema;
    if !built.nullable {
        return schema;
    }
    match schema.get_mut("anyOf") {
        // Nothing may stand beside `anyOf`.
        Some(Value::Array(parts)) => {
            for part in parts.iter_mut().filter_map(Value::as_object_mut) {
                part.insert("nullable".to_owned(), Value::Bool(true));
            }
        }
        _ => drop(schema.insert("nullable".to_owned(), Value::Bool(true))),
    }
    schema
}

/// Adds a sentence where a description can stand.
fn tell(schema: &mut Map<String, Value>, sentence: &str) {
    let sentences = [sentence.to_owned()];
    match schema.get_mut("anyOf") {
        Some(Value::Array(parts)) => {
            for part in parts.iter_mut().filter_map(Value::as_object_mut) {
                text::add(part, &sentences);
            }
        }
        _ => text::add(schema, &sentences),
    }
}
