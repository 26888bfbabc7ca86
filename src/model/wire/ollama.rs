//! The body for Ollama chat. It knows no way to bind a turn to a call of a native tool.

use serde_json::{Map, Value, json};

use super::bind::Bound;
use super::turns::Message;
use super::{Sheet, object};

pub(super) fn body(sheet: Sheet<'_>) -> Value {
    let Sheet { endpoint, manner, system, messages, tools, bound, most, .. } = sheet;
    let mut said = Vec::with_capacity(messages.len() + 1);
    if !system.is_empty() {
        said.push(json!({ "role": "system", "content": system }));
    }
    said.extend(messages.into_iter().map(message));
    // Without `num_ctx` it cuts what is over its own default, and says nothing of it.
    let mut options = json!({ "num_predict": most, "num_ctx": endpoint.context });
    if let Some(options) = options.as_object_mut().filter(|_| !manner.cold) {
        options.insert("temperature".to_owned(), endpoint.temperature.into());
    }
    let mut body = Map::new();
    let mut add = |key: &str, value: Value| {
        body.insert(key.to_owned(), value);
    };
    add("model", endpoint.model.as_str().into());
    add("messages", said.into());
    // It streams unless it is told not to.
    add("stream", endpoint.stream.into());
    add("options", options);
    if !tools.is_empty() {
        add("tools", tools.into());
    }
    match bound {
        Some(Bound::Schema { schema, .. }) => add("format", schema.clone()),
        Some(Bound::Json) => add("format", "json".into()),
        None => {}
    }
    Value::Object(body)
}

fn message(message: Message) -> Value {
    match message {
        Message::User(text) => json!({ "role": "user", "content": text }),
        Message::Made(made) => made,
        Message::Model { text, calls } if calls.is_empty() => {
            json!({ "role": "assistant", "content": text })
        }
        Message::Model { text, calls } => {
            let calls: Vec<Value> = calls
                .iter()
                .map(|call| {
                    let arguments = object(&call.arguments);
                    json!({ "function": { "name": call.name, "arguments": arguments } })
                })
                .collect();
            json!({ "role": "assistant", "content": text, "tool_calls": calls })
        }
    }
}
