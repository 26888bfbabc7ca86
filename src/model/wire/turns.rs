//! The turns of a conversation as messages: calls and results in the provider's own way, or in texts
//! where they stood in texts, or where nothing else is possible.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::Provider;
use crate::model::prompt::Turn;
use crate::native::{self, Answer, Asked, Told};

/// One message.
pub(super) enum Message {
    User(String),
    Model {
        text: String,
        calls: Vec<Asked>,
    },
    /// In the provider's own form already.
    Made(Value),
}

/// How the last turn with calls was written, by which its results go.
enum Before {
    Spoken,
    /// The calls as they were sent.
    Native(Vec<Asked>),
}

/// Writes turns for the endpoint of this name. `native` is whether it is told of tools in its own way;
/// `names` are exported names by all that a tool could have been called.
pub(super) fn write(
    (endpoint, provider): (&str, Provider),
    turns: &[Turn],
    native: bool,
    names: &HashMap<String, String>,
) -> Vec<Message> {
    let mut messages = Vec::with_capacity(turns.len());
    let mut before = Before::Spoken;
    for (number, turn) in turns.iter().enumerate() {
        match turn {
            Turn::User(text) => say(&mut messages, text.clone()),
            Turn::Model { text, calls, spoken, own } => {
                let own = own.as_ref().filter(|own| native && own.endpoint == endpoint);
                let own = own.and_then(|own| serde_json::from_str(&own.message).ok());
                if *spoken || !native || calls.is_empty() {
                    let text = aloud(text, calls, *spoken);
                    messages.push(
                        own.map_or_else(
                            || Message::Model { text, calls: Vec::new() },
                            Message::Made,
                        ),
                    );
                    before = Before::Spoken;
                } else {
                    let calls = addressed(provider, calls, number, names);
                    messages.push(match own {
                        Some(own) => Message::Made(own),
                        None => Message::Model { text: text.clone(), calls: calls.clone() },
                    });
                    before = Before::Native(calls);
                }
            }
            Turn::Results(results) => match &before {
                Before::Spoken => say(&mut messages, spoken(results)),
                Before::Native(calls) => {
                    let answers: Vec<Answer<'_>> = calls
                        .iter()
                        .zip(results)
                        .map(|(asked, (_, told))| Answer { asked, told: told.clone() })
                        .collect();
                    let made = native::messages(provider.native(), &answers);
                    let made = made.iter().filter_map(|text| serde_json::from_str(text).ok());
                    messages.extend(made.map(Message::Made));
                }
            },
        }
    }
    messages
}

/// Adds what the user says; to what they said just before, as some models take only one in a row.
fn say(messages: &mut Vec<Message>, text: String) {
    match messages.last_mut() {
        Some(Message::User(before)) => {
            before.push_str("\n\n");
            before.push_str(&text);
        }
        _ => messages.push(Message::User(text)),
    }
}

/// The results of calls as one text.
fn spoken(results: &[(Asked, Told)]) -> String {
    let answers: Vec<Answer<'_>> =
        results.iter().map(|(asked, told)| Answer { asked, told: told.clone() }).collect();
    let message = native::say(native::Provider::Text, &answers);
    let message: Value = serde_json::from_str(&message).unwrap_or_default();
    message.get("content").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// What a model said, with its calls in the text, unless they stand there.
fn aloud(text: &str, calls: &[Asked], spoken: bool) -> String {
    let call = |call: &Asked| {
        let arguments: Value = serde_json::from_str(&call.arguments)
            .unwrap_or_else(|_broken| call.arguments.as_str().into());
        json!({ "name": call.name, "arguments": arguments })
    };
    let called = match calls {
        [] => return text.to_owned(),
        _ if spoken && !text.trim().is_empty() => return text.to_owned(),
        [one] => json!({ "tool_call": call(one) }),
        several => json!({ "tool_calls": several.iter().map(call).collect::<Vec<_>>() }),
    };
    if text.trim().is_empty() { called.to_string() } else { format!("{text}\n{called}") }
}

/// Calls as this provider takes them: with ids where it needs some, and under the names by which it
/// knows the tools, whoever made the call.
fn addressed(
    provider: Provider,
    calls: &[Asked],
    turn: usize,
    names: &HashMap<String, String>,
) -> Vec<Asked> {
    let mut seen = HashSet::new();
    let addressed = |(number, call): (usize, &Asked)| {
        let mut call = call.clone();
        if let Some(name) = names.get(&call.name) {
            call.name.clone_from(name);
        }
        let needs = matches!(provider, Provider::Openai | Provider::Anthropic);
        if needs && (!is_id(&call.id, provider) || seen.contains(&call.id)) {
            call.id = format!("call_{turn}_{number}");
        }
        seen.insert(call.id.clone());
        call
    };
    calls.iter().enumerate().map(addressed).collect()
}

fn is_id(id: &str, provider: Provider) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !id.is_empty() && (provider != Provider::Anthropic || id.chars().all(plain))
}
