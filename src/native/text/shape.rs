//! Whether a JSON value is a call, and of what. The forms that models are known to write:
//!
//! - `{"name": N, "arguments": A}`; for `name` also `tool`, `tool_name`, `function`, `function_name` or
//!   `recipient_name`, for `arguments` also `parameters`, `args`, `params`, `input`, `tool_input` or
//!   `kwargs`, each also written like `toolName`
//! - `{"action": N, "action_input": A}`, and `{"action": "tool_call", "tool": N, "args": A}`
//! - one of these inside `tool_call`, `function_call`, `functionCall`, `tool_use`, `call`, `function`,
//!   `tool` or `action`
//! - an array of these, alone or inside `tool_calls`, `function_calls`, `tool_uses`, `calls` or `actions`
//! - `{"action": "final", "text": T}`, and `{"final_answer": T}`: an answer, not a call
//!
//! `id`, `type` and what a model says of its reasons may stand beside. Any other member makes it data.

use crate::native::node::string;
use crate::native::raw::{parts, span};

/// Calls within calls that are opened.
const MAX_LEVELS: usize = 3;
const NAMES: [&str; 9] = [
    "name",
    "tool",
    "tool_name",
    "toolName",
    "function",
    "function_name",
    "functionName",
    "action",
    ADDRESSEE,
];
/// A name that begins with the room of all functions.
const ADDRESSEE: &str = "recipient_name";
const ARGUMENTS: [&str; 10] = [
    "arguments",
    "parameters",
    "args",
    "params",
    "input",
    "tool_input",
    "toolInput",
    "action_input",
    "actionInput",
    "kwargs",
];
const WRAPPERS: [&str; 17] = [
    "tool_call",
    "toolCall",
    "function_call",
    "functionCall",
    "tool_use",
    "toolUse",
    "call",
    "action",
    "function",
    "tool",
    "tool_calls",
    "toolCalls",
    "function_calls",
    "functionCalls",
    "tool_uses",
    "calls",
    "actions",
];
const BESIDE: [&str; 15] = [
    "id",
    "call_id",
    "tool_call_id",
    "type",
    "index",
    "thought",
    "thoughts",
    "reasoning",
    "rationale",
    "explanation",
    "comment",
    "status",
    "reason",
    "explain",
    "confidence",
];
/// Words that say that a call follows, not which.
const MERE: [&str; 6] = ["tool_call", "call", "call_tool", "tool", "function_call", "tool_use"];
const FINAL: [&str; 5] = ["final", "final_answer", "final answer", "answer", "finish"];
const ANSWERS: [&str; 9] = [
    "text",
    "answer",
    "content",
    "final_answer",
    "final",
    "message",
    "output",
    "action_input",
    "input",
];

/// A call that a text asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) name: String,
    /// JSON text, as it stood there.
    pub(super) arguments: String,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Calls(Vec<Wanted>),
    /// The answer, and the value that holds it.
    Final(String, String),
    /// Something like a call of the first of these that is a tool, and what is wrong with it.
    Broken(Vec<String>, &'static str),
    /// The same, but it may as well be data.
    Odd(Vec<String>, &'static str),
    Data,
}

/// What the value is that `json` holds.
pub(super) fn shape(json: &str) -> Shape {
    shape_at(json, 0)
}

fn shape_at(json: &str, level: usize) -> Shape {
    let json = json.trim();
    if level > MAX_LEVELS {
        return Shape::Data;
    }
    match json.as_bytes().first() {
        Some(b'{') => object(json, level),
        Some(b'[') => array(json, level),
        Some(b'"') => {
            let inner = string(json).filter(|text| span(text) == Ok(text.trim_end().len()));
            inner.map_or(Shape::Data, |inner| shape_at(&inner, level + 1))
        }
        _ => Shape::Data,
    }
}

fn array(json: &str, level: usize) -> Shape {
    let mut calls = Vec::new();
    for (_, item) in parts(json) {
        match shape_at(item, level + 1) {
            Shape::Calls(more) => calls.extend(more),
            broken @ (Shape::Broken(..) | Shape::Odd(..)) => return broken,
            Shape::Final(..) | Shape::Data => return Shape::Data,
        }
    }
    if calls.is_empty() { Shape::Data } else { Shape::Calls(calls) }
}

/// The members of an object by what they may be in a call.
#[derive(Default)]
struct Members<'t> {
    names: Vec<(String, String)>,
    arguments: Vec<&'t str>,
    wrapped: Vec<&'t str>,
    other: Vec<(String, &'t str)>,
    twice: bool,
}

impl<'t> Members<'t> {
    fn of(json: &'t str) -> Self {
        let mut members = Self::default();
        let mut seen: Vec<String> = Vec::new();
        for (key, value) in parts(json) {
            let key = string(key).unwrap_or_default();
            members.twice |= seen.contains(&key);
            // No call has so many members.
            if seen.len() > 32 {
                members.other.push((key, value));
                break;
            }
            seen.push(key.clone());
            let known = |list: &[&str]| list.contains(&key.as_str());
            let text = string(value);
            if known(&WRAPPERS) && value.starts_with(['{', '[']) {
                members.wrapped.push(value);
            } else if let (true, Some(text)) = (known(&NAMES), text) {
                let name = match text.strip_prefix("functions.") {
                    Some(name) if key == ADDRESSEE => name.to_owned(),
                    _ => text,
                };
                members.names.push((key, name));
            } else if known(&ARGUMENTS) {
                members.arguments.push(value);
            } else if known(&BESIDE) || matches!(value, "null" | "\"\"") || key == "role" {
                // Says nothing of what is called.
            } else {
                members.other.push((key, value));
            }
        }
        members
    }
}

impl Members<'_> {
    /// Leaves out names that say nothing more: a mere word for a call, and one name said twice.
    fn settle_names(&mut self) {
        if self.names.len() > 1 {
            self.names.retain(|(key, name)| key != "action" || !MERE.contains(&name.as_str()));
        }
        let first = self.names.first().map(|(_, name)| name.clone());
        if !self.twice && self.names.iter().all(|(_, name)| Some(name) == first.as_ref()) {
            self.names.truncate(1);
        }
    }
}

fn object(json: &str, level: usize) -> Shape {
    let mut members = Members::of(json);
    if let Some(answer) = answer(json, &members) {
        return Shape::Final(answer, json.to_owned());
    }
    members.settle_names();
    let Members { names, arguments, wrapped, other, twice } = members;
    if let ([wrapped], true, true) = (wrapped.as_slice(), arguments.is_empty(), other.is_empty()) {
        let mere = names.iter().all(|(_, name)| MERE.contains(&name.as_str()));
        return if mere && !twice { shape_at(wrapped, level + 1) } else { Shape::Data };
    }
    let told = || names.iter().map(|(_, name)| name.clone()).collect::<Vec<_>>();
    let [(key, name)] = names.as_slice() else {
        let meant =
            names.len() > 1 && arguments.len() == 1 && other.is_empty() && wrapped.is_empty();
        let why = if twice { "it has one member twice" } else { "it names the tool in two places" };
        return if meant { Shape::Broken(told(), why) } else { Shape::Data };
    };
    if !other.is_empty() || !wrapped.is_empty() {
        let described = other.iter().any(|(key, _)| key == "description");
        return match arguments.as_slice() {
            [_] if !described => Shape::Odd(told(), "it has other members beside"),
            _ => Shape::Data,
        };
    }
    let broken = |why| Shape::Broken(told(), why);
    match arguments.as_slice() {
        _ if twice => broken("it has one member twice"),
        [arguments] if is_definition(arguments) => Shape::Data,
        [arguments] => {
            let nothing = matches!(*arguments, "null" | "\"\"");
            let arguments = if nothing { "{}" } else { arguments }.to_owned();
            Shape::Calls(vec![Wanted { name: name.clone(), arguments }])
        }
        // `{"name": ..}` alone is what any data looks like.
        [] if key == "name" => Shape::Data,
        [] => broken("it has no arguments"),
        _ => broken("it has arguments in two places"),
    }
}

/// Whether `arguments` are the schema of some: then a tool is described, not called.
fn is_definition(arguments: &str) -> bool {
    let mut found = (false, false);
    for (key, value) in parts(arguments) {
        match key {
            "\"type\"" => found.0 |= value == "\"object\"",
            "\"properties\"" => found.1 |= value.starts_with('{'),
            _ => {}
        }
    }
    found == (true, true)
}

/// The answer that an object gives, if it is a final one.
fn answer(json: &str, members: &Members<'_>) -> Option<String> {
    let told = |value: &str| string(value).unwrap_or_else(|| value.to_owned());
    let all: Vec<(String, &str)> =
        parts(json).take(16).map(|(key, value)| (string(key).unwrap_or_default(), value)).collect();
    let says = |key: &str| {
        let value = all.iter().find(|(name, _)| name == key).and_then(|(_, value)| string(value));
        value.is_some_and(|value| FINAL.contains(&value.to_ascii_lowercase().as_str()))
    };
    if says("action") || (says("type") && members.names.is_empty()) {
        let found = ANSWERS.iter().find_map(|key| all.iter().find(|(name, _)| name == key));
        return Some(found.map_or_else(|| json.to_owned(), |(_, value)| told(value)));
    }
    let lone = all.iter().filter(|(key, _)| !BESIDE.contains(&key.as_str())).collect::<Vec<_>>();
    match lone.as_slice() {
        [(key, value)] if key == "final" || key == "final_answer" => Some(told(value)),
        _ => None,
    }
}
