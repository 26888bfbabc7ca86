//! Whether a tool can be written in strict mode: its schema in, the first places that cannot out. Walks
//! each part once, however often it is referred to.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::unwrapped;
use crate::catalog::dialect::text::Losses;
use crate::catalog::dialect::view::{
    LISTS, MAX_DEPTH, Types, alternatives, enumerated, is_closed, join, list, positions,
    properties, referred,
};
use crate::catalog::dialect::{Loss, merge};

/// Levels of objects and lists, the root included.
const MAX_LEVELS: usize = 10;
/// Members of all objects together.
const MAX_MEMBERS: usize = 5000;
/// Listed values of all `enum`s together.
const MAX_LISTED: usize = 1000;
/// Characters of the texts in an `enum` of more than [`LARGE`] values.
const MAX_LARGE: usize = 15_000;
/// Values of a large `enum`.
const LARGE: usize = 250;
/// Characters of all names and listed values together.
const MAX_CHARACTERS: usize = 120_000;
/// Places that are told.
const MAX_PLACES: usize = 8;

/// Keywords that cannot be expressed, whatever they say.
const NEVER: [&str; 10] = [
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "patternProperties",
    "dependentRequired",
    "dependentSchemas",
    "propertyNames",
    "unevaluatedItems",
];

/// Why a tool cannot be written in strict mode; empty when it can.
pub(in crate::catalog::dialect) fn refusal(root: &Value) -> Vec<Loss> {
    let mut judge = Judge::of(root);
    match root.as_object().map(unwrapped) {
        None => judge.against("", "type", "is no object"),
        Some(map) => {
            let union = ["anyOf", "oneOf", "enum", "const", "$ref"];
            if let Some(keyword) = union.into_iter().find(|key| map.contains_key(*key)) {
                judge.against("", keyword, "stands at the root");
            } else {
                judge.schema(map, "", MAX_DEPTH);
                while let Some(pointer) = judge.waiting.pop() {
                    match root.pointer(&pointer) {
                        Some(Value::Object(target)) => judge.schema(target, &pointer, MAX_DEPTH),
                        _ => judge.against(&pointer, "$ref", "is no schema with a type"),
                    }
                }
                judge.weigh();
            }
        }
    }
    judge.losses.finish()
}

struct Judge<'s> {
    root: &'s Value,
    losses: Losses,
    places: usize,
    seen: BTreeSet<String>,
    waiting: Vec<String>,
    members: usize,
    listed: usize,
    characters: usize,
}

impl<'s> Judge<'s> {
    fn of(root: &'s Value) -> Self {
        Self {
            root,
            losses: Losses::default(),
            places: 0,
            seen: BTreeSet::new(),
            waiting: Vec::new(),
            members: 0,
            listed: 0,
            characters: 0,
        }
    }

    fn against(&mut self, at: &str, keyword: &str, why: &str) {
        self.places += 1;
        if self.places <= MAX_PLACES {
            let message =
                format!("{why}, which strict mode cannot say; exported with `strict: false`");
            self.losses.add(at, keyword, message);
        }
    }

    fn schema(&mut self, schema: &Map<String, Value>, at: &str, depth: usize) {
        let schema = unwrapped(schema);
        if depth == 0 || self.places > MAX_PLACES {
            return;
        }
        if let Some(keyword) = NEVER.into_iter().find(|keyword| schema.contains_key(*keyword)) {
            return self.against(at, keyword, "has a keyword");
        }
        if !positions(schema).is_empty() {
            return self.against(at, "prefixItems", "is a tuple");
        }
        if let Some((pointer, _)) = referred(self.root, schema) {
            if self.has_beside(schema, &["$ref"]) {
                self.against(at, "$ref", "has a reference with other keywords beside it");
            } else if !pointer.is_empty() && self.seen.insert(pointer.clone()) {
                self.characters += pointer.rsplit('/').next().map_or(0, str::len);
                self.waiting.push(pointer);
            }
            return;
        }
        if schema.contains_key("$ref") {
            return self.against(at, "$ref", "has a reference that leads nowhere");
        }
        match alternatives(schema) {
            Some((keyword, branches)) => self.union(keyword, branches, schema, (at, depth)),
            None => self.value(schema, at, depth),
        }
    }

    fn has_beside(&self, schema: &Map<String, Value>, known: &[&str]) -> bool {
        schema.keys().any(|key| !known.contains(&key.as_str()) && !merge::is_annotation(key))
    }

    fn union(
        &mut self,
        keyword: &'static str,
        branches: &[Value],
        schema: &Map<String, Value>,
        (at, depth): (&str, usize),
    ) {
        if self.has_beside(schema, &[keyword, "type"]) {
            return self.against(at, keyword, "has alternatives with other keywords beside them");
        }
        let here = join(at, keyword);
        for (index, branch) in branches.iter().enumerate() {
            let here = join(&here, &index.to_string());
            match branch {
                Value::Object(branch) => self.schema(branch, &here, depth - 1),
                _ => self.against(&here, "type", "is no schema with a type"),
            }
        }
    }

    fn value(&mut self, schema: &Map<String, Value>, at: &str, depth: usize) {
        let members = properties(schema);
        let declared = schema.get("type").map(Types::declared);
        let typed = members.is_some()
            || declared.is_some_and(|types| types != Types::NONE)
            || ["enum", "const", "items"].iter().any(|key| schema.contains_key(*key));
        if !typed {
            return self.against(at, "type", "takes any value");
        }
        self.list(schema, at);
        let has = |types: Types| declared.is_some_and(|declared| declared.has(types));
        if members.is_some() || has(Types::OBJECT) {
            self.object(schema, members, at, depth);
        }
        if has(Types::ARRAY) || schema.contains_key("items") {
            match schema.get("items") {
                Some(Value::Object(items)) => self.schema(items, &join(at, "items"), depth - 1),
                _ => self.against(at, "items", "is a list of anything"),
            }
        }
    }

    /// The values that a schema lists.
    fn list(&mut self, schema: &Map<String, Value>, at: &str) {
        let Some(listed) = enumerated(schema) else { return };
        if listed.is_empty() {
            return self.against(at, "enum", "is empty");
        }
        if listed.iter().any(|one| one.is_array() || one.is_object()) {
            return self.against(at, "enum", "lists objects or lists");
        }
        let texts: usize =
            listed.iter().filter_map(Value::as_str).map(|one| one.chars().count()).sum();
        if listed.len() > LARGE && texts > MAX_LARGE {
            self.against(at, "enum", "lists too much text");
        }
        self.listed += listed.len();
        self.characters += texts;
    }

    fn object(
        &mut self,
        schema: &Map<String, Value>,
        members: Option<&Map<String, Value>>,
        at: &str,
        depth: usize,
    ) {
        let open = ["additionalProperties", "unevaluatedProperties"]
            .into_iter()
            .find(|key| schema.get(*key).is_some_and(|value| *value != Value::Bool(false)));
        if let Some(keyword) = open {
            return self.against(at, keyword, "takes members that are not declared");
        }
        if members.is_none_or(Map::is_empty) && !is_closed(schema) && !at.is_empty() {
            return self.against(at, "properties", "is an object with any members");
        }
        let here = join(at, "properties");
        for (name, member) in members.into_iter().flatten() {
            self.members += 1;
            self.characters += name.chars().count();
            let here = join(&here, name);
            match member {
                Value::Object(member) => self.schema(member, &here, depth - 1),
                _ => self.against(&here, "type", "takes any value"),
            }
        }
        let declared = |name: &str| members.is_some_and(|members| members.contains_key(name));
        let unknown = super::required(schema).find(|name| !declared(name));
        if let Some(name) = unknown {
            let why = format!("requires `{name}`, which it does not declare");
            self.against(at, "required", &why);
        }
    }

    /// The limits that count over the whole.
    fn weigh(&mut self) {
        let limits = [
            (self.members, MAX_MEMBERS, "properties", "members"),
            (self.listed, MAX_LISTED, "enum", "listed values"),
            (self.characters, MAX_CHARACTERS, "properties", "characters of names and values"),
        ];
        for (count, most, keyword, what) in limits {
            if count > most {
                self.against("", keyword, &format!("has {count} {what}, more than {most}"));
            }
        }
        if self.places > 0 {
            return;
        }
        let known = BTreeMap::from([(String::new(), 0)]);
        let mut levels = Levels { root: self.root, known };
        let count = levels.of(self.root, MAX_DEPTH);
        if count > MAX_LEVELS {
            self.against(
                "",
                "properties",
                &format!("is {count} levels deep, more than {MAX_LEVELS}"),
            );
        }
    }
}

/// Counts levels; each target of a reference once.
struct Levels<'s> {
    root: &'s Value,
    /// By pointer; what is being counted has none yet.
    known: BTreeMap<String, usize>,
}

impl Levels<'_> {
    fn of(&mut self, schema: &Value, depth: usize) -> usize {
        let Some(map) = schema.as_object().filter(|_| depth > 0) else { return 0 };
        if let Some((pointer, target)) = referred(self.root, map) {
            if let Some(known) = self.known.get(&pointer) {
                return *known;
            }
            self.known.insert(pointer.clone(), 0);
            let count = self.of(target, depth - 1);
            self.known.insert(pointer, count);
            return count;
        }
        let members = properties(map).into_iter().flat_map(Map::values);
        let inside: Vec<&Value> = members.chain(map.get("items")).collect();
        let is_level = !inside.is_empty();
        let below = inside.into_iter().map(|part| self.of(part, depth - 1)).max().unwrap_or(0);
        let beside = LISTS.iter().flat_map(|keyword| list(map, keyword));
        let beside = beside.map(|part| self.of(part, depth - 1)).max().unwrap_or(0);
        beside.max(below + usize::from(is_level))
    }
}
