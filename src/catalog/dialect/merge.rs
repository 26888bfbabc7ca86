//! Schemas put together: what must all hold becomes one schema, and alternatives become one object
//! that any of them fits. For places where a provider takes no `$ref`, `allOf` or `anyOf`.

use serde_json::{Map, Value, json};

use super::text::Losses;
use super::view::{self, Types, is_closed, join, list, properties, referred, required};
use crate::decimal::compare_values;

/// How deep references and `allOf` in one place are followed.
const MAX_STEPS: usize = 32;
/// Most references that are followed in one place.
const MAX_TRAIL: usize = 512;
/// Most alternatives that one root is made of.
const MAX_BRANCHES: usize = 512;
/// Most alternatives whose requirements are told.
const MAX_TOLD: usize = 12;

/// Parts of one schema that still have to be put together.
pub(super) struct Settler<'s> {
    pub(super) root: &'s Value,
    /// The references that were followed, in order.
    pub(super) trail: Vec<String>,
}

impl Settler<'_> {
    /// The schema without `$ref` and `allOf`: everything that holds, side by side.
    pub(super) fn settle(&mut self, schema: &Map<String, Value>) -> Map<String, Value> {
        self.step(schema, MAX_STEPS)
    }

    fn step(&mut self, schema: &Map<String, Value>, steps: usize) -> Map<String, Value> {
        let mut out: Map<String, Value> = schema
            .iter()
            .filter(|(key, _)| !matches!(key.as_str(), "$ref" | "allOf"))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if steps == 0 || self.trail.len() >= MAX_TRAIL {
            return out;
        }
        if let Some((pointer, target)) = referred(self.root, schema) {
            self.trail.push(pointer);
            match target {
                Value::Object(target) => conjoin(&mut out, self.step(target, steps - 1)),
                Value::Bool(false) => drop(out.insert("not".to_owned(), json!({}))),
                _ => {}
            }
        }
        for part in list(schema, "allOf") {
            match part {
                Value::Object(part) => conjoin(&mut out, self.step(part, steps - 1)),
                Value::Bool(false) => drop(out.insert("not".to_owned(), json!({}))),
                _ => {}
            }
        }
        out
    }
}

/// Adds to one schema what another one says of the same value.
fn conjoin(one: &mut Map<String, Value>, other: Map<String, Value>) {
    for (key, value) in other {
        let merged = match one.get(&key) {
            None => value,
            Some(known) if *known == value => continue,
            Some(known) => match both(&key, known, &value) {
                Some(merged) => merged,
                None => continue,
            },
        };
        one.insert(key, merged);
    }
}

/// What two values of one keyword say together; `None` to keep the first.
fn both(key: &str, one: &Value, other: &Value) -> Option<Value> {
    match key {
        "properties" | "patternProperties" => {
            let mut merged = one.as_object()?.clone();
            for (name, schema) in other.as_object()? {
                let schema = match merged.get(name) {
                    Some(known) if known != schema => json!({ "allOf": [known, schema] }),
                    _ => schema.clone(),
                };
                merged.insert(name.clone(), schema);
            }
            Some(Value::Object(merged))
        }
        "required" => {
            let mut merged = one.as_array()?.clone();
            let more = other.as_array()?.iter().filter(|name| !merged.contains(name));
            let more: Vec<Value> = more.cloned().collect();
            merged.extend(more);
            Some(Value::Array(merged))
        }
        "type" => {
            let names = Types::declared(one).and(Types::declared(other)).names();
            Some(match names.as_slice() {
                [only] => json!(only),
                names => json!(names),
            })
        }
        "enum" => {
            let others = other.as_array()?;
            let kept = one.as_array()?.iter().filter(|member| others.contains(member));
            Some(kept.cloned().collect())
        }
        "items" => Some(json!({ "allOf": [one, other] })),
        "additionalProperties" | "unevaluatedProperties" => {
            (*other == Value::Bool(false)).then(|| other.clone())
        }
        _ if key.starts_with("min") || key == "exclusiveMinimum" => {
            compare_values(other, one)?.is_gt().then(|| other.clone())
        }
        _ if key.starts_with("max") || key == "exclusiveMaximum" => {
            compare_values(other, one)?.is_lt().then(|| other.clone())
        }
        _ => None,
    }
}

/// The root of a tool's schema as one object without references and alternatives. What the alternatives
/// demand is told in sentences.
pub(super) fn flatten(root: &Value, losses: &mut Losses) -> (Map<String, Value>, Vec<String>) {
    let empty = Map::new();
    let mut settler = Settler { root, trail: Vec::new() };
    let mut out = settler.settle(root.as_object().unwrap_or(&empty));
    let mut told = Vec::new();
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = out.shift_remove(keyword) else { continue };
        losses.add(
            &join("", keyword),
            keyword,
            "the alternatives became one object, whose description tells what each needs",
        );
        told.extend(Uniter { root, left: MAX_BRANCHES }.unite(&mut out, &branches, MAX_STEPS));
    }
    for keyword in ["not", "enum", "const"] {
        if let Some(value) = out.shift_remove(keyword) {
            losses.add(&join("", keyword), keyword, "moved to the description");
            told.push(match keyword {
                "not" => format!("Must not fit the schema {}.", super::text::shown(&value)),
                _ => format!("Only {}.", super::text::shown(&value)),
            });
        }
    }
    out.insert("type".to_owned(), json!("object"));
    out.entry("properties").or_insert_with(|| json!({}));
    (out, told)
}

/// Puts the alternatives of one root together.
struct Uniter<'s> {
    root: &'s Value,
    /// Alternatives that may still be looked at.
    left: usize,
}

impl Uniter<'_> {
    /// Makes an object take what any of the alternatives takes; says what they require.
    fn unite(
        &mut self,
        out: &mut Map<String, Value>,
        branches: &[Value],
        steps: usize,
    ) -> Option<String> {
        let mut settled: Vec<Map<String, Value>> = Vec::new();
        for branch in branches.iter().filter_map(Value::as_object) {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            settled.push(self.branch(branch, steps));
        }
        let mut members = properties(out).cloned().unwrap_or_default();
        for branch in &settled {
            for name in properties(branch).into_iter().flatten().map(|(name, _)| name) {
                if !members.contains_key(name) {
                    members.insert(name.clone(), widest(&settled, name));
                }
            }
        }
        let closed = is_closed(out) || (!settled.is_empty() && settled.iter().all(is_closed));
        out.shift_remove("additionalProperties");
        out.shift_remove("unevaluatedProperties");
        if closed {
            out.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        out.insert("properties".to_owned(), Value::Object(members));
        let told = demands(&settled);
        let all = |name: &&str| settled.iter().all(|one| required(one).any(|other| other == *name));
        let first = settled.first().into_iter();
        let shared = first.flat_map(required).filter(all).map(Value::from).collect();
        conjoin(out, Map::from_iter([("required".to_owned(), Value::Array(shared))]));
        told
    }

    /// One alternative as one object.
    fn branch(&mut self, branch: &Map<String, Value>, steps: usize) -> Map<String, Value> {
        let mut map = Settler { root: self.root, trail: Vec::new() }.settle(branch);
        for keyword in ["anyOf", "oneOf"] {
            if let (Some(Value::Array(inner)), true) = (map.shift_remove(keyword), steps > 0) {
                drop(self.unite(&mut map, &inner, steps - 1));
            }
        }
        map
    }
}

/// A schema for a member that fits whatever any of the alternatives says of it.
fn widest(branches: &[Map<String, Value>], name: &str) -> Value {
    let mut versions: Vec<&Value> = Vec::new();
    for branch in branches {
        let version = properties(branch).and_then(|members| members.get(name));
        versions.extend(version.filter(|version| !versions.contains(version)));
    }
    if let [only] = versions.as_slice() {
        return (*only).clone();
    }
    let mut members = Vec::new();
    for version in &versions {
        match version.as_object().and_then(fixed) {
            Some(some) => {
                for one in some {
                    if !members.contains(&one) {
                        members.push(one);
                    }
                }
            }
            None => return json!({ "anyOf": versions }),
        }
    }
    let types = members.iter().map(Types::of).fold(Types::NONE, Types::or).names();
    let description = versions.iter().find_map(|version| version.get("description"));
    let mut merged = match types.as_slice() {
        [only] => json!({ "type": only, "enum": members }),
        _ => json!({ "enum": members }),
    };
    if let (Some(text), Some(merged)) = (description, merged.as_object_mut()) {
        merged.insert("description".to_owned(), text.clone());
    }
    merged
}

/// The values that a schema lists, where it says nothing else of weight.
fn fixed(schema: &Map<String, Value>) -> Option<Vec<Value>> {
    let plain = |key: &String| {
        matches!(key.as_str(), "const" | "enum" | "type" | "description" | "title" | "default")
    };
    if !schema.keys().all(plain) {
        return None;
    }
    match (schema.get("const"), schema.get("enum")) {
        (Some(only), None) => Some(vec![only.clone()]),
        (None, Some(Value::Array(members))) => Some(members.clone()),
        _ => None,
    }
}

/// What the alternatives require, in one sentence.
fn demands(branches: &[Map<String, Value>]) -> Option<String> {
    let mut told: Vec<String> = Vec::new();
    for branch in branches.iter().take(MAX_TOLD) {
        let mut words: Vec<String> = required(branch).map(|name| demand(branch, name)).collect();
        if words.is_empty() {
            words.extend(branch.get("not").map(|not| format!("not {}", super::text::shown(not))));
        }
        let one = words.join(" with ");
        if !one.is_empty() && !told.contains(&one) {
            told.push(one);
        }
    }
    let more = if branches.len() > MAX_TOLD { "; or others" } else { "" };
    (!told.is_empty()).then(|| format!("Give {}{more}.", told.join("; or ")))
}

fn demand(branch: &Map<String, Value>, name: &str) -> String {
    let schema = properties(branch).and_then(|members| members.get(name)?.as_object());
    match schema.and_then(|schema| schema.get("const")) {
        Some(only) => format!("`{name}` = {}", super::text::shown(only)),
        None => format!("`{name}`"),
    }
}

/// Whether a schema has alternatives that say more than which members are required.
pub(super) fn has_weight(branches: &[Value]) -> bool {
    let light = |key: &String| matches!(key.as_str(), "required" | "not" | "description" | "title");
    !branches.iter().all(|branch| {
        branch.as_object().is_some_and(|map| !map.is_empty() && map.keys().all(light))
    })
}

/// The requirements of alternatives that say nothing else.
pub(super) fn requirements(branches: &[Value]) -> Option<String> {
    let maps: Vec<Map<String, Value>> =
        branches.iter().filter_map(Value::as_object).cloned().collect();
    demands(&maps)
}

/// A branch of a union together with what stands beside the union.
pub(super) fn beside(base: &Map<String, Value>, branch: Map<String, Value>) -> Map<String, Value> {
    let mut out = branch;
    let description = out.get("description").cloned();
    conjoin(&mut out, base.clone());
    if let Some(text) = description {
        out.insert("description".to_owned(), text);
    }
    out
}

/// The places of a schema that say nothing of the value itself.
pub(super) fn is_annotation(key: &str) -> bool {
    view::MAPS.iter().skip(3).any(|known| *known == key)
        || key.starts_with("x-")
        || matches!(
            key,
            "title"
                | "description"
                | "default"
                | "examples"
                | "example"
                | "deprecated"
                | "readOnly"
                | "writeOnly"
                | "$comment"
                | "$schema"
                | "$id"
                | "$anchor"
                | "discriminator"
                | "xml"
                | "externalDocs"
                | "contentMediaType"
                | "contentEncoding"
                | "contentSchema"
                | "nullable"
        )
}
