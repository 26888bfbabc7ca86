//! What a model is told whose text holds something like a call that cannot be run: what was found, where,
//! and the form to send with the tool's real argument names.

use serde_json::{Map, Value, json};

use super::answer::user;
use super::{Known, Provider, Turn};

/// Most arguments of a tool that are named.
const MAX_ARGUMENTS: usize = 24;
/// Most values of a list that are named.
const MAX_OPTIONS: usize = 16;

/// Something like a call in a text, which did not run.
#[derive(Debug, Clone, PartialEq)]
pub struct Unclear {
    /// What was found and why it did not run; one line.
    pub message: String,
    /// Line and character of the place in the text, each from 1.
    pub place: (usize, usize),
    /// What to send instead: a call with the arguments of the tool that seems to be meant.
    pub send: Value,
    /// The arguments of that tool, each as `name: type, required`.
    pub takes: Vec<String>,
}

impl Unclear {
    /// Names a place in `text` and the tool that seems to be meant.
    pub(super) fn new(message: String, text: &str, at: usize, tool: Option<&Known>) -> Self {
        let before = text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |found| found + 1);
        let column = before.get(start..).unwrap_or_default().chars().count() + 1;
        let (name, arguments, takes) = match tool {
            Some(tool) => (tool.name.as_str(), form(tool), takes(tool)),
            None => ("<tool>", json!({}), Vec::new()),
        };
        let send = json!({ "name": name, "arguments": arguments });
        Self { message, place: (line, column), send, takes }
    }

    /// The message to append to the conversation.
    pub fn say(&self, provider: Provider) -> String {
        let (line, column) = self.place;
        let mut details = Map::new();
        details.insert("line".to_owned(), line.into());
        details.insert("column".to_owned(), column.into());
        details.insert("send".to_owned(), self.send.clone());
        if !self.takes.is_empty() {
            details.insert("arguments".to_owned(), json!(self.takes));
        }
        user(provider, &told(&self.message, &details))
    }
}

impl Turn {
    /// The message to append where the provider could not read the call of its own model. None beside
    /// calls, whose results have to come first.
    pub fn say_malformed(&self, provider: Provider) -> Option<String> {
        let said = self.malformed.as_ref().filter(|_| self.calls.is_empty());
        let said: String = said?.chars().take(1000).collect();
        let mut details = Map::new();
        if !said.is_empty() {
            details.insert("provider".to_owned(), said.into());
        }
        let message = "the function call could not be read, so nothing ran: call the function \
                       again, by its declared name and with arguments that are one JSON object";
        Some(user(provider, &told(message, &details)))
    }
}

fn told(message: &str, details: &Map<String, Value>) -> String {
    let error = json!({ "code": "UNREADABLE_CALL", "message": message, "details": details });
    json!({ "status": "error", "error": error }).to_string()
}

fn properties(tool: &Known) -> impl Iterator<Item = (&String, &Value, bool)> {
    let schema = &tool.schema;
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    members.map(move |(name, schema)| (name, schema, required.contains(&name.as_str())))
}

/// Arguments with a place holder for each that is required; for each, where none is.
fn form(tool: &Known) -> Value {
    let any = properties(tool).any(|(_, _, required)| required);
    let shown = properties(tool).filter(|(_, _, required)| *required || !any).take(MAX_ARGUMENTS);
    Value::Object(shown.map(|(name, schema, _)| (name.clone(), holder(schema))).collect())
}

fn holder(schema: &Value) -> Value {
    if let Some(Value::Array(options)) = schema.get("enum")
        && let Some(first) = options.first()
    {
        return first.clone();
    }
    match kind(schema) {
        "integer" | "number" => json!(0),
        "boolean" => json!(false),
        "array" => json!([]),
        "object" => json!({}),
        kind => json!(format!("<{kind}>")),
    }
}

fn kind(schema: &Value) -> &str {
    let kind = schema.get("type");
    let first = kind.and_then(Value::as_array).and_then(|kinds| kinds.first());
    first.or(kind).and_then(Value::as_str).unwrap_or("value")
}

fn takes(tool: &Known) -> Vec<String> {
    let told = |(name, schema, required): (&String, &Value, bool)| {
        let options = schema.get("enum").and_then(Value::as_array);
        let options = options.map(|options| {
            let texts = options.iter().take(MAX_OPTIONS).map(ToString::to_string);
            format!(", one of {}", texts.collect::<Vec<_>>().join(" "))
        });
        let need = if required { ", required" } else { "" };
        format!("{name}: {}{need}{}", kind(schema), options.unwrap_or_default())
    };
    properties(tool).take(MAX_ARGUMENTS).map(told).collect()
}
