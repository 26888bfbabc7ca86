//! The body for Gemini `generateContent`. The model and whether it streams stand in the URL.

use serde_json::{Map, Value, json};

use super::bind::Bound;
use super::turns::Message;
use super::{Sheet, object};

pub(super) fn body(sheet: Sheet<'_>) -> Value {
    let Sheet { endpoint, manner, system, messages, tools, must_call, bound, most } = sheet;
    let mut body = Map::new();
    if !system.is_empty() {
        let parts = json!({ "parts": [{ "text": system }] });
        body.insert("systemInstruction".to_owned(), parts);
    }
    body.insert("contents".to_owned(), messages.into_iter().map(message).collect());
    if !tools.is_empty() {
        body.insert("tools".to_owned(), json!([{ "functionDeclarations": tools }]));
    }
    if must_call {
        let any = json!({ "functionCallingConfig": { "mode": "ANY" } });
        body.insert("toolConfig".to_owned(), any);
    }
    let mut config = Map::new();
    config.insert("maxOutputTokens".to_owned(), most.into());
    if !manner.cold {
        config.insert("temperature".to_owned(), endpoint.temperature.into());
    }
    if let Some(bound) = bound {
        config.insert("responseMimeType".to_owned(), "application/json".into());
        if let Bound::Schema { schema, .. } = bound {
            config.insert("responseSchema".to_owned(), schema.clone());
        }
    }
    body.insert("generationConfig".to_owned(), config.into());
    Value::Object(body)
}

fn message(message: Message) -> Value {
    match message {
        Message::User(text) => json!({ "role": "user", "parts": [{ "text": text }] }),
        Message::Made(made) => made,
        Message::Model { text, calls } => {
            let mut parts = Vec::with_capacity(calls.len() + 1);
            if !text.is_empty() || calls.is_empty() {
                parts.push(json!({ "text": text }));
            }
            parts.extend(calls.iter().map(|call| {
                let mut inner = Map::new();
                if !call.id.is_empty() {
                    inner.insert("id".to_owned(), call.id.as_str().into());
                }
                inner.insert("name".to_owned(), call.name.as_str().into());
                inner.insert("args".to_owned(), object(&call.arguments));
                json!({ "functionCall": inner })
            }));
            json!({ "role": "model", "parts": parts })
        }
    }
}
