//! Results as a provider's own messages: calls and what is told of each in, the messages to append to
//! the conversation out. Every call gets its result, else the provider refuses the whole history.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{Asked, Kind, Provider, Told};

/// A call and what is told of it.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The call.
    pub asked: &'a Asked,
    /// Its result.
    pub told: Told,
}

/// The messages that carry the results of native calls, as JSON texts in the order of the calls. Calls
/// with one id get one result, as a provider takes no second.
pub fn messages(provider: Provider, answers: &[Answer<'_>]) -> Vec<String> {
    let mut seen = HashSet::new();
    let once = |answer: &&Answer<'_>| {
        let id = &answer.asked.id;
        id.is_empty() || seen.insert(id.clone())
    };
    let answers: Vec<&Answer<'_>> = answers.iter().filter(once).collect();
    let each = |make: fn(&Answer<'_>) -> Value| {
        answers.iter().map(|answer| make(answer).to_string()).collect::<Vec<_>>()
    };
    let parts = |make: fn(&Answer<'_>) -> Value| {
        Value::Array(answers.iter().map(|answer| make(answer)).collect())
    };
    if answers.is_empty() {
        return Vec::new();
    }
    match provider {
        Provider::OpenaiChat => each(chat),
        Provider::OpenaiResponses => each(response),
        Provider::Ollama => each(ollama),
        Provider::Anthropic => {
            vec![json!({ "role": "user", "content": parts(anthropic) }).to_string()]
        }
        Provider::Gemini => vec![json!({ "role": "user", "parts": parts(gemini) }).to_string()],
        Provider::Text => vec![spoken(provider, &answers)],
    }
}

/// One user's message with the results of calls that stood in a text: `{"tool_results": [..]}`, each
/// with the name as the model wrote it.
pub fn say(provider: Provider, answers: &[Answer<'_>]) -> String {
    spoken(provider, &answers.iter().collect::<Vec<_>>())
}

fn spoken(provider: Provider, answers: &[&Answer<'_>]) -> String {
    let results = answers.iter().map(|answer| {
        let mut result = Map::new();
        result.insert("name".to_owned(), answer.asked.name.as_str().into());
        if let Value::Object(told) = &answer.told.value {
            result.extend(told.clone());
        }
        Value::Object(result)
    });
    let results: Vec<Value> = results.collect();
    user(provider, &json!({ "tool_results": results }).to_string())
}

/// A user's message with this text.
pub(super) fn user(provider: Provider, text: &str) -> String {
    let message = match provider {
        Provider::Gemini => json!({ "role": "user", "parts": [{ "text": text }] }),
        Provider::Anthropic => {
            json!({ "role": "user", "content": [{ "type": "text", "text": text }] })
        }
        Provider::OpenaiResponses => json!({ "type": "message", "role": "user", "content": text }),
        Provider::OpenaiChat | Provider::Ollama | Provider::Text => {
            json!({ "role": "user", "content": text })
        }
    };
    message.to_string()
}

fn text(answer: &Answer<'_>) -> Value {
    answer.told.value.to_string().into()
}

fn chat(answer: &Answer<'_>) -> Value {
    let Asked { id, name, kind, .. } = answer.asked;
    match kind {
        Kind::Legacy => json!({ "role": "function", "name": name, "content": text(answer) }),
        // A server that gives no ids goes by order or by name.
        _ if id.is_empty() => json!({ "role": "tool", "name": name, "content": text(answer) }),
        _ => json!({ "role": "tool", "tool_call_id": id, "content": text(answer) }),
    }
}

fn response(answer: &Answer<'_>) -> Value {
    let kind = match answer.asked.kind {
        Kind::Custom => "custom_tool_call_output",
        Kind::Function | Kind::Legacy => "function_call_output",
    };
    json!({ "type": kind, "call_id": answer.asked.id, "output": text(answer) })
}

fn anthropic(answer: &Answer<'_>) -> Value {
    let mut block = Map::new();
    block.insert("type".to_owned(), "tool_result".into());
    block.insert("tool_use_id".to_owned(), answer.asked.id.as_str().into());
    block.insert("content".to_owned(), text(answer));
    if answer.told.is_error {
        block.insert("is_error".to_owned(), true.into());
    }
    Value::Object(block)
}

fn gemini(answer: &Answer<'_>) -> Value {
    let Asked { id, name, .. } = answer.asked;
    let mut response = Map::new();
    if !id.is_empty() {
        response.insert("id".to_owned(), id.as_str().into());
    }
    response.insert("name".to_owned(), name.as_str().into());
    let key = if answer.told.is_error { "error" } else { "output" };
    response.insert("response".to_owned(), json!({ key: answer.told.value }));
    json!({ "functionResponse": response })
}

fn ollama(answer: &Answer<'_>) -> Value {
    let Asked { id, name, .. } = answer.asked;
    let mut message = Map::new();
    message.insert("role".to_owned(), "tool".into());
    message.insert("tool_name".to_owned(), name.as_str().into());
    if !id.is_empty() {
        message.insert("tool_call_id".to_owned(), id.as_str().into());
    }
    message.insert("content".to_owned(), text(answer));
    Value::Object(message)
}
