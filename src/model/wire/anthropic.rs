//! The body for Anthropic messages. A shape is the input of a tool that the model has to use, as that
//! is what binds it.

use serde_json::{Map, Value, json};

use super::bind::Bound;
use super::turns::Message;
use super::{ANSWER, Sheet, object};

/// The highest temperature that it takes.
const HOTTEST: f64 = 1.0;

pub(super) fn body(sheet: Sheet<'_>) -> Value {
    let Sheet { endpoint, manner, system, messages, mut tools, must_call, bound, most } = sheet;
    let mut body = Map::new();
    let mut add = |key: &str, value: Value| {
        body.insert(key.to_owned(), value);
    };
    add("model", endpoint.model.as_str().into());
    if !system.is_empty() {
        add("system", system.into());
    }
    add("messages", messages.into_iter().map(message).collect());
    add("max_tokens", most.into());
    if !manner.cold {
        add("temperature", endpoint.temperature.min(HOTTEST).into());
    }
    if endpoint.stream {
        add("stream", true.into());
    }
    if must_call {
        add("tool_choice", json!({ "type": "any" }));
    }
    if let Some(Bound::Schema { schema, .. }) = bound {
        let description = "Gives the answer.";
        tools = vec![json!({
            "name": ANSWER, "description": description, "input_schema": schema
        })];
        add("tool_choice", json!({ "type": "tool", "name": ANSWER }));
    }
    if !tools.is_empty() {
        add("tools", tools.into());
    }
    Value::Object(body)
}

fn message(message: Message) -> Value {
    match message {
        Message::User(text) => {
            json!({ "role": "user", "content": [{ "type": "text", "text": text }] })
        }
        Message::Made(made) => made,
        Message::Model { text, calls } => {
            let mut blocks = Vec::with_capacity(calls.len() + 1);
            // An empty block is refused.
            if !text.trim().is_empty() {
                blocks.push(json!({ "type": "text", "text": text.trim_end() }));
            }
            blocks.extend(calls.iter().map(|call| {
                let input = object(&call.arguments);
                json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
            }));
            if blocks.is_empty() {
                blocks.push(json!({ "type": "text", "text": "(nothing)" }));
            }
            json!({ "role": "assistant", "content": blocks })
        }
    }
}
