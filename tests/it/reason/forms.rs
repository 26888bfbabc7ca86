//! What a model says in each provider's own words, whole or as a stream.

use serde_json::{Value, json};

use super::model::{Say, Seen};

/// Whose wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Openai,
    Anthropic,
    Gemini,
    Ollama,
}

impl Form {
    pub(crate) const ALL: [Self; 4] = [Self::Openai, Self::Anthropic, Self::Gemini, Self::Ollama];

    /// Its name in the configuration.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// The path that every request begins with.
    pub(super) const fn base(self) -> &'static str {
        match self {
            Self::Openai => "/v1",
            Self::Gemini => "/v1beta",
            Self::Anthropic | Self::Ollama => "",
        }
    }

    pub(super) fn of(path: &str) -> Self {
        match path {
            path if path.contains("/chat/completions") => Self::Openai,
            path if path.contains("/messages") => Self::Anthropic,
            path if path.contains("generatecontent") => Self::Gemini,
            path if path.contains("/api/chat") => Self::Ollama,
            path => panic!("no provider has the path {path}"),
        }
    }

    /// How many results of calls stand in a request's conversation.
    pub(super) fn results(self, body: &Value) -> usize {
        let messages = match self {
            Self::Gemini => &body["contents"],
            _ => &body["messages"],
        };
        let of = |message: &Value| match self {
            Self::Openai | Self::Ollama => usize::from(message["role"] == "tool"),
            Self::Anthropic => count(&message["content"], |part| part["type"] == "tool_result"),
            Self::Gemini => count(&message["parts"], |part| !part["functionResponse"].is_null()),
        };
        messages.as_array().map_or(0, |all| all.iter().map(of).sum())
    }
}

fn count(parts: &Value, is: impl Fn(&Value) -> bool) -> usize {
    parts.as_array().map_or(0, |parts| parts.iter().filter(|part| is(part)).count())
}

/// Content type and text of the answer.
pub(super) fn body(seen: &Seen, say: &Say) -> (&'static str, String) {
    let (text, calls, cut) = match say {
        Say::Text(text) => (text.as_str(), Vec::new(), false),
        Say::Cut(text) => (text.as_str(), Vec::new(), true),
        Say::Calls(calls) => ("", calls.clone(), false),
        say => panic!("{say:?} is no right answer"),
    };
    // As the tool was offered: not every provider takes dots in names.
    let offered = seen.body["tools"].to_string();
    let named = |name: String| match offered.contains(&format!("\"{name}\"")) {
        true => name,
        false => name.replace('.', "_dot_"),
    };
    let calls: Vec<(String, Value)> =
        calls.into_iter().map(|(name, value)| (named(name), value)).collect();
    let streams = seen.body["stream"] == true || seen.head.contains("streamgeneratecontent");
    let tokens = (seen.shown().len() / 4, text.len() / 4 + 8 * calls.len() + 1);
    match seen.form {
        Form::Openai => openai(text, &calls, cut, (streams, tokens)),
        Form::Anthropic => anthropic(text, &calls, cut, (streams, tokens)),
        Form::Gemini => gemini(text, &calls, cut, (streams, tokens)),
        Form::Ollama => ollama(text, &calls, cut, (streams, tokens)),
    }
}

type Counted = (bool, (usize, usize));

fn events(events: &[(Option<&str>, Value)], last: &str) -> (&'static str, String) {
    let mut out = String::new();
    for (name, data) in events {
        if let Some(name) = name {
            out.push_str(&format!("event: {name}\n"));
        }
        out.push_str(&format!("data: {data}\n\n"));
    }
    ("text/event-stream", out + last)
}

/// A text in two pieces, as streams have it.
fn pieces(text: &str) -> [&str; 2] {
    let (first, rest) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first, rest]
}

fn openai(
    text: &str,
    calls: &[(String, Value)],
    cut: bool,
    (streams, (input, output)): Counted,
) -> (&'static str, String) {
    let reason = match (cut, calls.is_empty()) {
        (true, _) => "length",
        (false, true) => "stop",
        (false, false) => "tool_calls",
    };
    let one = |(at, (name, arguments)): (usize, &(String, Value))| {
        json!({
            "index": at, "id": format!("call_{at}"), "type": "function",
            "function": { "name": name, "arguments": arguments.to_string() },
        })
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(one).collect();
    let usage = json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
    });
    if !streams {
        let mut message = json!({ "role": "assistant", "content": text });
        if !calls.is_empty() {
            message["content"] = Value::Null;
            message["tool_calls"] = calls.into();
        }
        let choice = json!({ "index": 0, "message": message, "finish_reason": reason });
        let whole = json!({ "id": "c", "object": "chat.completion", "model": "scripted",
            "choices": [choice], "usage": usage });
        return ("application/json", whole.to_string());
    }
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        let whole = json!({ "id": "c", "object": "chat.completion.chunk", "model": "scripted",
            "choices": [choice] });
        (None, whole)
    };
    let mut all = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    all.extend(pieces(text).map(|text| chunk(json!({ "content": text }), Value::Null)));
    for call in calls {
        all.push(chunk(json!({ "tool_calls": [call] }), Value::Null));
    }
    all.push(chunk(json!({}), reason.into()));
    all.push((
        None,
        json!({ "id": "c", "object": "chat.completion.chunk", "choices": [],
        "usage": usage }),
    ));
    events(&all, "data: [DONE]\n\n")
}

fn anthropic(
    text: &str,
    calls: &[(String, Value)],
    cut: bool,
    (streams, (input, output)): Counted,
) -> (&'static str, String) {
    let reason = match (cut, calls.is_empty()) {
        (true, _) => "max_tokens",
        (false, true) => "end_turn",
        (false, false) => "tool_use",
    };
    let usage = json!({ "input_tokens": input, "output_tokens": output });
    let one = |(at, (name, arguments)): (usize, &(String, Value))| json!({ "type": "tool_use", "id": format!("toolu_{at}"), "name": name, "input": arguments });
    let mut blocks: Vec<Value> = calls.iter().enumerate().map(one).collect();
    if !text.is_empty() {
        blocks.insert(0, json!({ "type": "text", "text": text }));
    }
    let message = |content: Value, reason: Value| {
        json!({ "id": "m", "type": "message", "role": "assistant", "model": "scripted",
            "content": content, "stop_reason": reason, "stop_sequence": null, "usage": usage })
    };
    if !streams {
        return ("application/json", message(blocks.into(), reason.into()).to_string());
    }
    let start = message(json!([]), Value::Null);
    let mut all =
        vec![(Some("message_start"), json!({ "type": "message_start", "message": start }))];
    for (at, block) in blocks.into_iter().enumerate() {
        let (empty, deltas) = match block["type"] == "text" {
            true => {
                let delta = |text| json!({ "type": "text_delta", "text": text });
                (json!({ "type": "text", "text": "" }), pieces(text).map(delta))
            }
            false => {
                let whole = block["input"].to_string();
                let delta = |text| json!({ "type": "input_json_delta", "partial_json": text });
                let mut empty = block.clone();
                empty["input"] = json!({});
                (empty, pieces(&whole).map(delta))
            }
        };
        let begun = json!({ "type": "content_block_start", "index": at, "content_block": empty });
        all.push((Some("content_block_start"), begun));
        for delta in deltas {
            let delta = json!({ "type": "content_block_delta", "index": at, "delta": delta });
            all.push((Some("content_block_delta"), delta));
        }
        let ended = json!({ "type": "content_block_stop", "index": at });
        all.push((Some("content_block_stop"), ended));
    }
    let last = json!({ "type": "message_delta",
        "delta": { "stop_reason": reason, "stop_sequence": null }, "usage": usage });
    all.push((Some("message_delta"), last));
    all.push((Some("message_stop"), json!({ "type": "message_stop" })));
    events(&all, "")
}

fn gemini(
    text: &str,
    calls: &[(String, Value)],
    cut: bool,
    (streams, (input, output)): Counted,
) -> (&'static str, String) {
    let one = |(name, arguments): &(String, Value)| json!({ "functionCall": { "name": name, "args": arguments } });
    let mut parts: Vec<Value> = calls.iter().map(one).collect();
    if !text.is_empty() {
        parts.insert(0, json!({ "text": text }));
    }
    let reason = if cut { "MAX_TOKENS" } else { "STOP" };
    let candidate = json!({ "content": { "role": "model", "parts": parts },
        "finishReason": reason, "index": 0 });
    let usage = json!({ "promptTokenCount": input, "candidatesTokenCount": output,
        "totalTokenCount": input + output });
    let whole = json!({ "candidates": [candidate], "usageMetadata": usage,
        "modelVersion": "scripted" });
    match streams {
        false => ("application/json", whole.to_string()),
        true => events(&[(None, whole)], ""),
    }
}

fn ollama(
    text: &str,
    calls: &[(String, Value)],
    cut: bool,
    (streams, (input, output)): Counted,
) -> (&'static str, String) {
    let one = |(name, arguments): &(String, Value)| json!({ "function": { "name": name, "arguments": arguments } });
    let calls: Vec<Value> = calls.iter().map(one).collect();
    let line = |text: &str, calls: &[Value], done: bool| {
        let mut message = json!({ "role": "assistant", "content": text });
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        let mut line = json!({ "model": "scripted", "created_at": "2026-11-30T08:00:00Z",
            "message": message, "done": done });
        if done {
            line["done_reason"] = if cut { "length" } else { "stop" }.into();
            line["prompt_eval_count"] = input.into();
            line["eval_count"] = output.into();
        }
        line.to_string()
    };
    if !streams {
        return ("application/json", line(text, &calls, true));
    }
    let [first, rest] = pieces(text);
    let lines = [line(first, &[], false), line(rest, &calls, false), line("", &[], true)];
    ("application/x-ndjson", lines.join("\n") + "\n")
}
