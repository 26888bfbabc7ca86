//! What makes a model choose a tool wrongly or fill it wrongly, though nothing is broken. Tools in,
//! findings out; a finding never keeps a tool from being called.

mod alike;
mod argument;
mod hosts;
mod rules;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Catalog, Target, Tool};
use crate::pointer;
use argument::deref;
pub use rules::{Level, RULES, Rule};
use words::{contradiction, has_verb, parts, words};

/// More arguments than this are hard to fill.
const MAX_ARGUMENTS: usize = 5;
/// Fewer words than this do not tell when to choose a tool.
const MIN_WORDS: usize = 4;
/// Longest description that every host takes.
const MAX_DESCRIPTION: usize = 1024;
/// Deepest objects that must be given.
const MAX_LEVELS: usize = 3;
/// Largest input schema, in bytes of JSON text; four of them are about a token.
const MAX_SIZE: usize = 16 << 10;

/// A rule's name and what it found, in one line.
type Found = (&'static str, String);

/// One remark of the linter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The tool.
    pub tool: String,
    /// JSON Pointer of the place among the arguments; empty for the tool itself.
    pub pointer: String,
    /// Name of the rule, one of [`RULES`].
    pub rule: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What is wrong, in one line.
    pub message: String,
    /// How to mend it, in one line.
    pub mend: &'static str,
    /// The manifest or document that the tool comes from, relative to the policies folder; the source
    /// that names the document, when that does not lie in the folder.
    pub file: String,
    /// JSON Pointer of the operation in its document; empty for a manifest's tool.
    pub operation: String,
}

/// Looks over every tool of a catalog.
pub fn lint(catalog: &Catalog) -> Vec<Finding> {
    let mut found: BTreeMap<&str, Vec<(String, Found)>> = BTreeMap::new();
    for tool in catalog.tools() {
        found.insert(&tool.name, look(tool));
    }
    let texts: Vec<&str> = catalog.tools().iter().map(|tool| tool.description.as_str()).collect();
    for (place, first, count) in alike::twins(&texts) {
        let (Some(tool), Some(twin)) = (catalog.tools().get(place), catalog.tools().get(first))
        else {
            continue;
        };
        let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
        let message =
            format!("description cannot be told apart from that of `{}`{more}", twin.name);
        found.entry(&tool.name).or_default().push((String::new(), ("alike", message)));
    }
    let mut findings = Vec::new();
    for (file, tools) in &catalog.files {
        let file = catalog.document_of(file).unwrap_or(file);
        for tool in tools {
            let own = found.remove(tool.name.as_str()).unwrap_or_default();
            findings.extend(own.into_iter().map(|one| finding(tool, file, one)));
        }
    }
    findings.sort();
    findings
}

fn finding(tool: &Tool, file: &str, (pointer, (rule, message)): (String, Found)) -> Finding {
    let known = RULES.iter().find(|known| known.id == rule);
    Finding {
        tool: tool.name.clone(),
        pointer,
        rule,
        level: known.map_or(Level::Warning, |known| known.level),
        message,
        mend: known.map_or("", |known| known.mend),
        file: file.to_owned(),
        operation: operation(tool),
    }
}

/// Where an operation stands in its document.
fn operation(tool: &Tool) -> String {
    match (&tool.target, &tool.operation) {
        (Target::Http(target), Some(_)) => {
            let query = if target.query.is_empty() { "" } else { "?" };
            let path = format!("{}{query}{}", target.path, target.query);
            let path = pointer::escape(&path);
            format!("/paths/{path}/{}", target.method.to_lowercase())
        }
        (Target::Http(_) | Target::Command(_), _) => String::new(),
    }
}

fn look(tool: &Tool) -> Vec<(String, Found)> {
    let mut found: Vec<Found> = Vec::new();
    found.extend(vague(tool).map(|message| ("description", message)));
    let length = tool.description.chars().count();
    if length > MAX_DESCRIPTION {
        found.push(("length", format!("description has {length} characters")));
    }
    let name = parts(tool.operation.as_deref().unwrap_or(&tool.name));
    found.extend(contradiction(&name, tool.risk).map(|message| ("verb", message)));
    if !has_verb(&name) && !has_verb(&parts(&tool.name)) {
        found.push(("name", format!("name `{}` has no word for what it does", tool.name)));
    }
    if tool.output_schema.is_none() && tool.files.stdout.is_none() {
        found.push(("output", "has no output schema".to_owned()));
    }
    let schema = &tool.input_schema;
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    found.extend(whole(schema, properties));
    found.extend(hosts::unreachable_server(tool).map(|message| ("egress", message)));
    found.extend(hosts::overruled(tool).into_iter().map(|message| ("secret", message)));
    let mut all: Vec<(String, Found)> = found.into_iter().map(|one| (String::new(), one)).collect();
    for (name, property) in properties {
        let pointer = format!("/{}", pointer::escape(name));
        let own = argument::look(schema, property).into_iter();
        all.extend(own.map(|one| (pointer.clone(), one)));
    }
    all
}

/// What is to be said of the arguments together.
fn whole(schema: &Value, properties: &Map<String, Value>) -> Vec<Found> {
    let mut found = Vec::new();
    if properties.len() > MAX_ARGUMENTS {
        let message = format!(
            "takes {} arguments; models fill more than {MAX_ARGUMENTS} badly",
            properties.len()
        );
        found.push(("arguments", message));
    }
    let open = !matches!(schema.get("additionalProperties"), Some(Value::Bool(false)));
    if open && !schema.get("unevaluatedProperties").is_some_and(Value::is_boolean) {
        found.push(("open", "takes arguments that it does not declare".to_owned()));
    }
    let mut folded: BTreeMap<String, &str> = BTreeMap::new();
    for name in properties.keys() {
        let plain: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
        if let Some(other) = folded.insert(plain.to_lowercase(), name) {
            let message = format!("arguments `{other}` and `{name}` are hard to tell apart");
            found.push(("confusable", message));
        }
    }
    let levels = levels(schema, schema, (16, &mut 512));
    if levels > MAX_LEVELS {
        let message = format!("demands objects inside objects, {levels} levels deep");
        found.push(("depth", message));
    }
    let size = schema.to_string().len();
    if size > MAX_SIZE {
        let message = format!("has an input schema of {size} bytes, about {} tokens", size / 4);
        found.push(("size", message));
    }
    found
}

/// How many objects must be given inside each other.
///
/// `fuel` is how deep it may still look, and at how many schemas: shared ones multiply.
fn levels(root: &Value, schema: &Value, (fuel, left): (usize, &mut usize)) -> usize {
    let (Some(fuel), Some(rest)) = (fuel.checked_sub(1), left.checked_sub(1)) else {
        return 0;
    };
    *left = rest;
    let target = deref(root, schema);
    let Some(properties) = target.get("properties").and_then(Value::as_object) else {
        return 0;
    };
    let required: BTreeSet<&str> = target
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .take(64)
        .collect();
    let inner = properties.iter().filter(|(name, _)| required.contains(name.as_str()));
    inner.map(|(_, property)| levels(root, property, (fuel, &mut *left))).max().unwrap_or(0) + 1
}

/// A description must say more than the name does.
fn vague(tool: &Tool) -> Option<String> {
    let words = words(&tool.description);
    let ideographs = tool.description.chars().filter(|c| !c.is_ascii() && c.is_alphabetic());
    let from_path = tool.description.split_once(' ').is_some_and(|(method, path)| {
        path.starts_with('/') && method.bytes().all(|b| b.is_ascii_uppercase())
    });
    if from_path {
        return Some("has no description".to_owned());
    }
    // Chinese and Japanese write without spaces: two characters are about a word.
    if words.len() < MIN_WORDS && ideographs.count() < 2 * MIN_WORDS {
        let message =
            format!("description `{}` is too short to choose by", tool.description.trim());
        return Some(message);
    }
    let name: BTreeSet<String> = parts(&tool.name).into_iter().collect();
    let more = words.iter().filter(|word| !name.contains(*word)).count();
    (more < 2).then(|| "description only repeats the name".to_owned())
}
