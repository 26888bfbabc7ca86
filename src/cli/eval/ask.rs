//! A question to a model in the form of `OpenAI` chat, as far as a script needs to know it; and an answer in
//! the same form, whole or as a stream of one piece after the other.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::script::Made;
use crate::call::Dialect;
use crate::catalog::exported_name;

/// A question to a model.
#[derive(Debug, Clone, Default)]
pub(super) struct Ask {
    /// The model, by the name that is asked for.
    pub(super) model: String,
    /// Everything that the model is told, one message after the other.
    pub(super) told: String,
    /// Names of the tools that it is offered, as they are exported.
    pub(super) offered: Vec<String>,
    /// The calls that it has made, by their exported names.
    pub(super) made: Vec<(String, Value)>,
    /// Whether the answer is to be a stream.
    pub(super) stream: bool,
}

impl Ask {
    /// Reads the body of a request.
    pub(super) fn read(body: &[u8]) -> Result<Self, String> {
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| format!("the question to the model is not JSON: {error}"))?;
        let Some(messages) = body.get("messages").and_then(Value::as_array) else {
            return Err("the question to the model has no `messages`: the endpoint must have \
                        `provider = \"openai\"`"
                .to_owned());
        };
        let mut ask = Self {
            model: text(&body, "model").into_owned(),
            stream: body.get("stream") == Some(&Value::Bool(true)),
            ..Self::default()
        };
        for message in messages {
            ask.hear(message);
        }
        let tools = body.get("tools").and_then(Value::as_array);
        ask.offered = tools
            .into_iter()
            .flatten()
            .filter_map(|tool| tool.pointer("/function/name")?.as_str())
            .map(str::to_owned)
            .collect();
        Ok(ask)
    }

    fn hear(&mut self, message: &Value) {
        match message.get("content") {
            Some(Value::String(words)) => self.told.push_str(words),
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.told.push_str(&text(part, "text"));
                }
            }
            _ => {}
        }
        self.told.push('\n');
        let calls = message.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let Some(function) = call.get("function") else { continue };
            let arguments = text(function, "arguments");
            let value = serde_json::from_str(&arguments);
            let value = value.unwrap_or_else(|_not_json| Value::from(arguments.into_owned()));
            self.made.push((text(function, "name").into_owned(), value));
        }
    }

    /// Whether a tool is offered, by its own name.
    pub(super) fn offers(&self, tool: &str) -> bool {
        let exported = exported_name(tool, Dialect::Openai);
        self.offered.iter().any(|name| *name == exported)
    }

    /// Tokens, roughly.
    pub(super) fn tokens(&self) -> usize {
        self.told.chars().count() / 4
    }
}

fn text<'v>(value: &'v Value, key: &str) -> Cow<'v, str> {
    value.get(key).and_then(Value::as_str).unwrap_or_default().into()
}

/// What a model answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Said {
    /// Its words.
    pub(super) text: String,
    /// Its calls, by the tools' own names.
    pub(super) calls: Vec<Made>,
}

impl Said {
    /// The calls as they stand in a message; `number` tells those of one answer from those of others.
    fn calls(&self, number: usize) -> Vec<Value> {
        let calls = self.calls.iter().enumerate();
        calls
            .map(|(at, Made { tool, arguments })| {
                let arguments = match arguments {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                json!({
                    "id": format!("call_{number}_{at}"), "type": "function",
                    "function": { "name": exported_name(tool, Dialect::Openai), "arguments": arguments },
                })
            })
            .collect()
    }

    fn stop(&self) -> &'static str {
        if self.calls.is_empty() { "stop" } else { "tool_calls" }
    }

    /// The body of an answer to `ask`, the `number`th of its question.
    pub(super) fn body(&self, ask: &Ask, number: usize) -> String {
        let (tokens, said) = (ask.tokens(), self.text.chars().count() / 4 + 1);
        let usage = json!({
            "prompt_tokens": tokens, "completion_tokens": said, "total_tokens": tokens + said,
        });
        let (id, calls) = (format!("recorded-{number}"), self.calls(number));
        let object = if ask.stream { "chat.completion.chunk" } else { "chat.completion" };
        let whole = |choices: Value, usage: Option<&Value>| {
            json!({
                "id": id, "object": object, "created": 0, "model": ask.model,
                "choices": choices, "usage": usage,
            })
        };
        let choice = |part: &str, message: Value, stop: Option<&str>| json!([{ "index": 0, part: message, "finish_reason": stop }]);
        let mut message = json!({ "role": "assistant", "content": self.text });
        if !ask.stream {
            if let Some(members) = message.as_object_mut().filter(|_| !calls.is_empty()) {
                members.insert("tool_calls".to_owned(), Value::from(calls));
            }
            return whole(choice("message", message, Some(self.stop())), Some(&usage)).to_string();
        }
        let mut chunks = vec![whole(choice("delta", message, None), None)];
        for (at, mut call) in calls.into_iter().enumerate() {
            if let Some(members) = call.as_object_mut() {
                members.insert("index".to_owned(), json!(at));
            }
            chunks.push(whole(choice("delta", json!({ "tool_calls": [call] }), None), None));
        }
        chunks.push(whole(choice("delta", json!({}), Some(self.stop())), None));
        chunks.push(whole(json!([]), Some(&usage)));
        let events = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
        events.chain(["data: [DONE]\n\n".to_owned()]).collect()
    }
}
