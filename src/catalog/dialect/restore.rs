//! The way back: arguments that a provider's model wrote in, the same as the tool's own schema means
//! them out. Goes through schema and value side by side; checks nothing.
//!
//! Only what an export can have brought about is undone, and only where the own schema shows that it
//! was one:
//! - A key is given its own name where the schema at that place declares this name, does not declare the
//!   key, and the object has no member of this name yet.
//! - A null is taken out where strict mode was used, the member is optional, and its own schema does not
//!   take null. Where it does, null stays, and the text `__omit__` is taken out.
//! - In `plain`, a missing member that is required and lists null among its types gets null.
//! - A null is taken out of the root where the member is one of some alternatives only, which the export
//!   shows side by side, and none of them could have null there.
//! - In `gemini`, a text becomes the object or list that it is the JSON text of, or the number that it
//!   spells, where the own schema takes no text; and the listed number, true or false that it denotes,
//!   where its list holds no such text: a list of mixed types is one of texts to the provider. `1e2` and
//!   `100.0` denote a listed 100; what two listed values could be stays as it is, and is refused.
//!
//! So a call that is valid as it stands stays as it is, except that the text `__omit__` cannot be given
//! to an optional member that may be null in strict mode. Where alternatives meet, those that the value
//! can belong to decide: their types, listed values, required and declared members are compared.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value};

use super::copy;
use super::names::Keys;
use super::plan::Plan;
use super::strict::OMIT;
use super::view::{Types, enumerated, list, positions, properties, referred, required, types_of};
use crate::call::Dialect;
use crate::catalog::listed::denoted;
use crate::catalog::node::Node;

mod fit;

/// Deepest that arguments can be.
const MAX_DEPTH: usize = 64;
/// Schemas that are looked at for one call, at least.
const LOOKS: usize = 50_000;
/// Most schemas that apply to one place.
const MAX_FACETS: usize = 256;
/// Longest text that is read as a number.
const MAX_NUMBER: usize = 64;
/// Longest exponent in JSON text, with its sign.
const MAX_EXPONENT: usize = 5;

/// Puts arguments into the tool's own terms.
pub(super) fn restore<'v>(
    (root, dialect): (&Value, Dialect),
    plan: &Plan,
    arguments: Cow<'v, Value>,
) -> Cow<'v, Value> {
    let decodes = matches!(dialect, Dialect::Gemini | Dialect::Plain);
    let is_plain = plan.keys.is_plain() && !plan.strict && !decodes;
    if (is_plain && plan.lent.is_empty()) || !arguments.is_object() {
        return arguments;
    }
    let mut arguments = arguments.into_owned();
    if let Value::Object(members) = &mut arguments {
        let own = |key: &str| plan.lent.contains(plan.keys.own(key).unwrap_or(key));
        members.retain(|key, member| !(member.is_null() && own(key)));
    }
    if !is_plain {
        let (keys, strict) = (&plan.keys, plan.strict);
        let mut restorer =
            Restorer { root, dialect, keys, strict, looks: LOOKS, known: HashMap::new() };
        restorer.place(&mut arguments, &[root], MAX_DEPTH);
    }
    Cow::Owned(arguments)
}

/// One walk over the arguments of one call.
struct Restorer<'s> {
    root: &'s Value,
    dialect: Dialect,
    keys: &'s Keys,
    /// Whether the tool was exported in strict mode.
    strict: bool,
    /// Schemas that may still be looked at.
    looks: usize,
    /// The types of the schemas that were asked for.
    known: HashMap<*const Map<String, Value>, Types>,
}

/// What applies to a place.
struct Facets<'s> {
    schemas: Vec<&'s Map<String, Value>>,
    /// Whether each of them applies for certain.
    certain: bool,
}

impl<'s> Restorer<'s> {
    fn place(&mut self, value: &mut Value, nodes: &[&'s Value], depth: usize) {
        if depth == 0 || self.looks == 0 {
            return;
        }
        if self.dialect == Dialect::Gemini
            && let Value::String(text) = &*value
            && let Some(meant) = self.meant(text, nodes, depth)
        {
            *value = meant;
        }
        match value {
            Value::Object(_) => {
                let facets = self.facets(nodes, value);
                if let Value::Object(map) = value {
                    self.object(map, &facets, depth);
                }
            }
            Value::Array(_) => {
                let facets = self.facets(nodes, value);
                for (index, item) in value.as_array_mut().into_iter().flatten().enumerate() {
                    let nodes: Vec<&Value> =
                        facets.schemas.iter().filter_map(|facet| item_of(facet, index)).collect();
                    self.place(item, &nodes, depth - 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// What a text stands for at a place.
    fn meant(&mut self, text: &str, nodes: &[&Value], depth: usize) -> Option<Value> {
        // No listed number or truth value is longer.
        let short = text.trim().len() <= MAX_NUMBER;
        let mut maps = nodes.iter().filter(|_| short).filter_map(|node| node.as_object());
        let found = maps.find_map(|map| self.denoted(map, text, depth));
        found.or_else(|| decode(text, self.types(nodes), depth))
    }

    /// The listed number or truth value that a text denotes, in what holds for certain at a place.
    fn denoted(&mut self, map: &Map<String, Value>, text: &str, depth: usize) -> Option<Value> {
        self.looks = self.looks.saturating_sub(1);
        if depth == 0 || self.looks == 0 {
            return None;
        }
        if let Some(found) = listed(self.root, map, text) {
            return Some(found);
        }
        let target = referred(self.root, map).map(|(_, target)| target);
        let mut parts: Vec<&Value> = list(map, "allOf").iter().chain(target).collect();
        for keyword in ["anyOf", "oneOf"] {
            let value = Value::from(text);
            let mut fitting =
                list(map, keyword).iter().filter(|branch| self.fits(branch, &value, depth));
            let only = fitting.next();
            parts.extend(only.filter(|_| fitting.next().is_none()));
        }
        let mut maps = parts.into_iter().filter_map(Value::as_object);
        maps.find_map(|map| self.denoted(map, text, depth - 1))
    }

    /// The types that all schemas of a place take.
    fn types(&mut self, nodes: &[&Value]) -> Types {
        let each = nodes.iter().filter_map(|node| node.as_object());
        each.fold(Types::ANY, |types, map| types.and(self.types_of(map)))
    }

    /// The types that one schema takes. Many values share a schema, so each is looked at once.
    fn types_of(&mut self, map: &Map<String, Value>) -> Types {
        let root = self.root;
        *self.known.entry(map).or_insert_with(|| types_of(root, map))
    }

    fn takes_null(&mut self, schema: &Value) -> bool {
        match schema {
            Value::Object(map) => self.types_of(map).has(Types::NULL),
            other => *other != Value::Bool(false),
        }
    }

    /// The schemas that apply to a place: references followed, and of alternatives those that the value
    /// can belong to, or all of them when it seems to belong to none.
    fn facets(&mut self, nodes: &[&'s Value], value: &Value) -> Facets<'s> {
        let mut facets = Facets { schemas: Vec::new(), certain: true };
        let mut seen: HashSet<*const Map<String, Value>> = HashSet::new();
        let mut todo: Vec<&'s Map<String, Value>> =
            nodes.iter().rev().filter_map(|node| node.as_object()).collect();
        while let Some(map) = todo.pop() {
            self.looks = self.looks.saturating_sub(1);
            if facets.schemas.len() >= MAX_FACETS || self.looks == 0 || !seen.insert(map) {
                continue;
            }
            let target = referred(self.root, map);
            todo.extend(target.and_then(|(_, target)| target.as_object()));
            todo.extend(list(map, "allOf").iter().filter_map(Value::as_object));
            for keyword in ["then", "else"] {
                todo.extend(map.get(keyword).and_then(Value::as_object));
            }
            let dependent = map.get("dependentSchemas").and_then(Value::as_object);
            todo.extend(dependent.into_iter().flat_map(Map::values).filter_map(Value::as_object));
            for keyword in ["anyOf", "oneOf"] {
                let branches = list(map, keyword);
                let fitting: Vec<&Value> =
                    branches.iter().filter(|branch| self.fits(branch, value, MAX_DEPTH)).collect();
                facets.certain &= branches.is_empty() || fitting.len() == 1;
                let chosen = if fitting.is_empty() { branches.iter().collect() } else { fitting };
                todo.extend(chosen.into_iter().filter_map(Value::as_object));
            }
            facets.schemas.push(map);
        }
        facets
    }

    fn object(&mut self, map: &mut Map<String, Value>, facets: &Facets<'s>, depth: usize) {
        if !self.keys.is_plain() {
            self.rename(map, facets);
        }
        if self.strict {
            map.retain(|name, member| !self.is_left_out(name, member, facets));
        }
        if self.dialect == Dialect::Plain && facets.certain {
            for schema in &facets.schemas {
                for name in required(schema) {
                    let own = properties(schema).and_then(|members| members.get(name));
                    if !map.contains_key(name) && own.is_some_and(copy::is_nullable) {
                        map.insert(name.to_owned(), Value::Null);
                    }
                }
            }
        }
        for (name, member) in map.iter_mut() {
            let nodes: Vec<&Value> =
                facets.schemas.iter().flat_map(|facet| member_of(facet, name)).collect();
            self.place(member, &nodes, depth - 1);
        }
    }

    /// Gives members their own names, in their order.
    fn rename(&self, map: &mut Map<String, Value>, facets: &Facets<'_>) {
        let declared: BTreeSet<&str> = facets
            .schemas
            .iter()
            .filter_map(|facet| properties(facet))
            .flat_map(|members| members.keys().map(String::as_str))
            .collect();
        let own = |key: &str| {
            let own = self.keys.own(key)?;
            (declared.contains(own) && !declared.contains(key)).then_some(own)
        };
        if !map.keys().any(|key| own(key).is_some_and(|own| !map.contains_key(own))) {
            return;
        }
        let old = std::mem::take(map);
        let present: BTreeSet<String> = old.keys().cloned().collect();
        for (key, member) in old {
            match own(&key).filter(|own| !present.contains(*own)) {
                Some(own) => map.insert(own.to_owned(), member),
                None => map.insert(key, member),
            };
        }
    }

    /// Whether a member says in strict mode that it is not given.
    fn is_left_out(&mut self, name: &str, member: &Value, facets: &Facets<'_>) -> bool {
        let sign = member.is_null() || member.as_str() == Some(OMIT);
        if !sign || facets.schemas.iter().any(|facet| required(facet).any(|known| known == name)) {
            return false;
        }
        let own: Vec<&Value> =
            facets.schemas.iter().filter_map(|facet| properties(facet)?.get(name)).collect();
        let mut null = |schema: &&Value| self.takes_null(schema);
        !own.is_empty()
            && if member.is_null() { !own.iter().any(null) } else { own.iter().all(&mut null) }
    }
}

/// The schemas of a member.
fn member_of<'s>(schema: &'s Map<String, Value>, name: &str) -> Vec<&'s Value> {
    if let Some(own) = properties(schema).and_then(|members| members.get(name)) {
        return vec![own];
    }
    let patterns = schema.get("patternProperties").and_then(Value::as_object);
    let rest = ["additionalProperties", "unevaluatedProperties"];
    let rest = rest.into_iter().filter_map(|keyword| schema.get(keyword));
    patterns.into_iter().flat_map(Map::values).chain(rest).collect()
}

/// The schema of an item.
fn item_of(schema: &Map<String, Value>, index: usize) -> Option<&Value> {
    let items = schema.get("items").filter(|items| !items.is_array());
    positions(schema).get(index).or(items).or_else(|| schema.get("unevaluatedItems"))
}

/// The listed number or truth value that a text denotes, where no listed text is meant.
fn listed(root: &Value, schema: &Map<String, Value>, text: &str) -> Option<Value> {
    let referred = || referred(root, schema).and_then(|(_, target)| target.as_object());
    let listed = enumerated(schema).or_else(|| enumerated(referred()?))?;
    denoted(listed.iter(), text).filter(|one| !one.is_string()).cloned()
}

/// What a text stands for at a place that takes none.
fn decode(text: &str, allowed: Types, depth: usize) -> Option<Value> {
    if allowed.has(Types::STRING) {
        return None;
    }
    let trimmed = text.trim();
    let nested = trimmed.starts_with(['{', '[']);
    if !nested && trimmed.len() > MAX_NUMBER {
        return None;
    }
    let Node(value) = serde_json::from_str(trimmed).ok()?;
    let fits = value.is_object() || value.is_array() || value.is_number();
    (fits && allowed.meets(Types::of(&value)) && is_tame(&value, depth)).then_some(value)
}

/// Whether a value is no deeper, and has no larger numbers, than arguments may have.
fn is_tame(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| is_tame(item, depth - 1)),
        Value::Object(map) => depth > 0 && map.values().all(|item| is_tame(item, depth - 1)),
        Value::Number(number) => {
            let text = number.to_string();
            let exponent = text.split(['e', 'E']).nth(1).unwrap_or_default();
            text.len() <= 1000 && exponent.len() <= MAX_EXPONENT
        }
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}
