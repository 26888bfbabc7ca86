//! A model that answers by script, for the stories of the quickstart: no weights, no network. HTTP on
//! 127.0.0.1 in, answers as the chat completions API of OpenAI gives them out, whole or streamed. Each
//! request is answered by the first line of the script whose texts stand in it; one that fits none is
//! refused, and says what it was asked.
//!
//!   model PORT SCRIPT      a JSON array; `model.json` beside this file describes itself

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt as _;
use serde::Deserialize;
use serde_json::{Value, json};

/// Characters of what was asked that a refusal repeats.
const REPEATED: usize = 4000;
/// Stands in what was asked for each image.
const IMAGE: &str = "[picture]";

/// One answer, and to what it is given.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// What it shows, for readers of the script.
    #[serde(rename = "about")]
    _about: Option<String>,
    /// Texts that all have to stand in the request.
    #[serde(default)]
    when: Vec<String>,
    /// Texts of which none may.
    #[serde(default)]
    unless: Vec<String>,
    /// The text of the answer; an object is sent as its JSON. `{label of TEXT}` in it is the label of the
    /// evidence that TEXT stands in, `{label behind TEXT}` the first one behind it, `{pack of TEXT}` the
    /// pack of a case that TEXT stands in.
    #[serde(default)]
    says: Value,
    /// Tools that are called.
    #[serde(default)]
    calls: Vec<Call>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    #[serde(default)]
    arguments: Value,
}

type Script = Arc<Vec<Line>>;

/// All texts of a request, in their order.
fn asked(body: &Value) -> String {
    let mut text = String::new();
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    for message in messages {
        match &message["content"] {
            Value::String(content) => text.push_str(content),
            Value::Array(parts) => {
                for part in parts {
                    text.push_str(part["text"].as_str().unwrap_or(IMAGE));
                    text.push('\n');
                }
            }
            _ => {}
        }
        text.push('\n');
        if let Some(calls) = message.get("tool_calls") {
            text.push_str(&calls.to_string());
            text.push('\n');
        }
    }
    text
}

/// The answer's text, with the labels that it cites.
fn said(says: &Value, asked: &str) -> Option<String> {
    let mut text = match says {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    for (hole, letter) in [("{label of ", 'E'), ("{label behind ", 'E'), ("{pack of ", 'P')] {
        while let Some((before, rest)) = text.split_once(hole) {
            let (of, after) = rest.split_once('}')?;
            let (left, right) = asked.split_once(of).unwrap_or_default();
            let found = if hole.contains("behind") {
                labels(right, letter).next()
            } else {
                labels(left, letter).last()
            };
            text = format!("{before}{}{after}", found.unwrap_or("none"));
        }
    }
    Some(text)
}

/// The labels in a text: a letter with a number, as a word.
fn labels(text: &str, letter: char) -> impl Iterator<Item = &str> {
    text.match_indices(letter).filter_map(move |(at, _)| {
        let rest = text.get(at + 1..)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let alone = !text.get(..at)?.ends_with(|one: char| one.is_alphanumeric())
            && !rest.get(digits..)?.starts_with(|one: char| one.is_alphanumeric() || one == '-');
        (digits > 0 && alone).then(|| text.get(at..=at + digits)).flatten()
    })
}

async fn answer(State(script): State<Script>, body: Bytes) -> Response {
    let body: Value = match serde_json::from_slice(&body) {
        Ok(body) => body,
        Err(error) => return refuse(&error.to_string()),
    };
    let asked = asked(&body);
    let fits = |line: &&Line| {
        let stands = |text: &String| asked.contains(text.as_str());
        line.when.iter().all(stands) && !line.unless.iter().any(stands)
    };
    let Some(line) = script.iter().find(fits) else {
        let end = asked.chars().count().saturating_sub(REPEATED);
        let end: String = asked.chars().skip(end).collect();
        return refuse(&format!("no line of the script fits what ends with: {end}"));
    };
    let call = |(place, call): (usize, &Call)| {
        json!({
            "id": format!("call_{place}"), "type": "function",
            "function": { "name": call.name, "arguments": call.arguments.to_string() },
        })
    };
    let calls: Vec<Value> = line.calls.iter().enumerate().map(call).collect();
    let mut message = json!({ "role": "assistant", "content": said(&line.says, &asked) });
    if let Some(members) = message.as_object_mut().filter(|_| !calls.is_empty()) {
        members.insert("tool_calls".to_owned(), calls.into());
    }
    let finish = if line.calls.is_empty() { "stop" } else { "tool_calls" };
    let told = message.to_string().len() / 4;
    let usage = json!({
        "prompt_tokens": asked.len() / 4, "completion_tokens": told,
        "total_tokens": asked.len() / 4 + told,
    });
    if body.get("stream") == Some(&json!(true)) {
        streamed(&message, finish, &usage)
    } else {
        whole(&message, finish, &usage)
    }
}

fn whole(message: &Value, finish: &str, usage: &Value) -> Response {
    let body = json!({
        "id": "chatcmpl-script", "object": "chat.completion", "created": 0, "model": "script",
        "choices": [{ "index": 0, "message": message, "finish_reason": finish }], "usage": usage,
    });
    sent(StatusCode::OK, "application/json", body.to_string())
}

/// The message as events: its text word by word, then its calls.
fn streamed(message: &Value, finish: &str, usage: &Value) -> Response {
    let event = |choices: Value, usage: &Value| {
        let chunk = json!({
            "id": "chatcmpl-script", "object": "chat.completion.chunk", "created": 0,
            "model": "script", "choices": choices, "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, finish: Value| {
        event(json!([{ "index": 0, "delta": delta, "finish_reason": finish }]), &Value::Null)
    };
    let mut text = delta(json!({ "role": "assistant", "content": "" }), Value::Null);
    for word in
        message.get("content").and_then(Value::as_str).unwrap_or_default().split_inclusive(' ')
    {
        text.push_str(&delta(json!({ "content": word }), Value::Null));
    }
    let calls =
        message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (index, call) in calls.iter().enumerate() {
        let mut call = call.clone();
        if let Some(members) = call.as_object_mut() {
            members.insert("index".to_owned(), json!(index));
        }
        text.push_str(&delta(json!({ "tool_calls": [call] }), Value::Null));
    }
    text.push_str(&delta(json!({}), json!(finish)));
    text.push_str(&event(json!([]), usage));
    text.push_str("data: [DONE]\n\n");
    sent(StatusCode::OK, "text/event-stream", text)
}

fn refuse(why: &str) -> Response {
    let _gone = writeln!(std::io::stderr(), "model: {why}");
    let body = json!({ "error": { "message": why, "type": "invalid_request_error" } });
    sent(StatusCode::BAD_REQUEST, "application/json", body.to_string())
}

fn sent(status: StatusCode, kind: &'static str, body: String) -> Response {
    (status, [(header::CONTENT_TYPE, kind)], body).into_response()
}

fn script(path: &Path) -> std::io::Result<Vec<Line>> {
    let lines = std::fs::read(path)?;
    serde_json::from_slice(&lines).map_err(std::io::Error::other)
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let port = arguments.next().and_then(|port| port.to_str()?.parse::<u16>().ok());
    let (Some(port), Some(path)) = (port, arguments.next()) else {
        return Err(std::io::Error::other("give a port and a script"));
    };
    let script: Script = Arc::new(script(Path::new(&path))?);
    let app = Router::new().route("/v1/chat/completions", post(answer)).with_state(script);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    writeln!(std::io::stdout(), "model: listening on http://{}", listener.local_addr()?)?;
    // Without this a small answer can wait 40 ms for the peer's delayed acknowledgement. A socket
    // that refuses the option still works.
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap_or_default());
    axum::serve(listener, app).await
}
