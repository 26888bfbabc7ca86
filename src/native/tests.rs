//! What the room promises: messages of each provider, streams, texts, and results.

mod answers;
mod leads;
mod marks;
mod messages;
mod streams;
mod sturdy;
mod texts;

use serde_json::{Value, json};

use super::{Asked, Kind, Known, Provider, Reading, Turn, assemble, read, search};

const PROVIDERS: [Provider; 5] = [
    Provider::OpenaiChat,
    Provider::OpenaiResponses,
    Provider::Anthropic,
    Provider::Gemini,
    Provider::Ollama,
];

/// The calls of a turn as `name(arguments)`, each with its id where it has one.
fn calls(turn: &Turn) -> Vec<String> {
    turn.calls.iter().map(spelled).collect()
}

fn spelled(call: &Asked) -> String {
    let id = if call.id.is_empty() { String::new() } else { format!("{} ", call.id) };
    let fault = if call.fault.is_some() { " withheld" } else { "" };
    format!("{id}{}({}){fault}", call.name, call.arguments)
}

/// Tools of a caller: `rm`, `ls`, `note` and `get_weather`.
fn find(name: &str) -> Option<Known> {
    let schema = match name {
        "rm" => json!({"type": "object", "required": ["path"], "properties": {
            "path": {"type": "string"}, "force": {"type": "boolean"}}}),
        "ls" => json!({"type": "object", "properties": {"all": {"type": "boolean"}}}),
        "note" => json!({"type": "object", "properties": {
            "code": {"type": "string"}, "level": {"enum": ["low", "high"]}}}),
        "get_weather" => json!({"type": "object", "required": ["city"], "properties": {
            "city": {"type": "string"}, "days": {"type": "integer"}}}),
        _ => return None,
    };
    Some(Known { name: name.to_owned(), schema })
}

fn reading(text: &str) -> Reading {
    search(text, &find)
}

/// What a text is, in few words.
fn told(text: &str) -> String {
    match reading(text) {
        Reading::Prose => "prose".to_owned(),
        Reading::Final { text, .. } => format!("final {text}"),
        Reading::Calls(calls) => calls.iter().map(spelled).collect::<Vec<_>>().join(" "),
        Reading::Unclear(unclear) => format!("unclear: {}", unclear.message),
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
