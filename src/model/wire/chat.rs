//! The body for `OpenAI` chat completions.

use serde_json::{Map, Value, json};

use super::bind::Bound;
use super::turns::Message;
use super::{ANSWER, Sheet};
use crate::native::{Asked, Kind};

pub(super) fn body(sheet: Sheet<'_>) -> Value {
    let Sheet { endpoint, manner, system, messages, tools, must_call, bound, most } = sheet;
    let mut said = Vec::with_capacity(messages.len() + 1);
    if !system.is_empty() {
        said.push(json!({ "role": "system", "content": system }));
    }
    said.extend(messages.into_iter().map(message));
    let mut body = Map::new();
    let mut add = |key: &str, value: Value| {
        body.insert(key.to_owned(), value);
    };
    add("model", endpoint.model.as_str().into());
    add("messages", said.into());
    add(if manner.renamed { "max_completion_tokens" } else { "max_tokens" }, most.into());
    if !manner.cold {
        add("temperature", endpoint.temperature.into());
    }
    if endpoint.stream {
        add("stream", true.into());
        if !manner.uncounted {
            add("stream_options", json!({ "include_usage": true }));
        }
    }
    if !tools.is_empty() {
        add("tools", tools.into());
    }
    if must_call {
        add("tool_choice", "required".into());
    }
    match bound {
        Some(Bound::Schema { schema, strict }) => {
            let mut inner = json!({ "name": ANSWER, "schema": schema });
            if let Some(inner) = inner.as_object_mut().filter(|_| strict) {
                inner.insert("strict".to_owned(), true.into());
            }
            add("response_format", json!({ "type": "json_schema", "json_schema": inner }));
        }
        Some(Bound::Json) => add("response_format", json!({ "type": "json_object" })),
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
            let text = if text.is_empty() { Value::Null } else { text.into() };
            if let [Asked { kind: Kind::Legacy, name, arguments, .. }] = calls.as_slice() {
                let call = json!({ "name": name, "arguments": arguments });
                return json!({ "role": "assistant", "content": text, "function_call": call });
            }
            let calls: Vec<Value> = calls.iter().map(call).collect();
            json!({ "role": "assistant", "content": text, "tool_calls": calls })
        }
    }
}

fn call(asked: &Asked) -> Value {
    let Asked { id, name, arguments, kind, .. } = asked;
    if *kind == Kind::Custom {
        let custom = json!({ "name": name, "input": arguments });
        return json!({ "id": id, "type": "custom", "custom": custom });
    }
    let function = json!({ "name": name, "arguments": arguments });
    json!({ "id": id, "type": "function", "function": function })
}
