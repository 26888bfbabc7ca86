//! A reply as the model reads it and as evidence: what a tool gave stands between marks that it cannot
//! close, with its label in front and the values that it states beside it.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::catalog::{Risk, Tool};
use crate::evidence::{Fact, Found, Source};
use crate::native;
use crate::normalize::Reply;

/// Most facts of one result.
const FACTS: usize = 96;
/// Longest value of a fact, in bytes.
const VALUE: usize = 256;
/// How deep values are looked for.
const DEPTH: usize = 8;
/// Digits of the number in a mark.
const DIGITS: u128 = 10_u128.pow(18);

/// A reply, looked at.
#[derive(Debug)]
pub(super) struct Seen {
    /// What it is evidence of; `None` where no tool ran.
    pub(super) found: Option<Found>,
    /// What the model reads.
    pub(super) told: Value,
    /// Whether the tool ran, so that the same call again would tell nothing new.
    pub(super) ran: bool,
}

/// Looks at a reply; `digest` is that of its record, `note` what the model is told beside it.
pub(super) fn see(reply: &Reply, (digest, note): (String, Option<String>)) -> Seen {
    let mut told = told(reply);
    if let (Some(note), Value::Object(members)) = (note, &mut told) {
        members.insert("note".to_owned(), note.into());
    }
    let code = reply.error.as_ref().map(|error| error.code);
    let ran = reply.metadata.origin.is_some() || reply.metadata.cache_hit || code.is_none();
    let found = ran.then(|| Found {
        facts: facts(&reply.data),
        untrusted: reply.metadata.untrusted,
        ..Found::new(
            Source::Tool {
                call_id: reply.metadata.call_id.clone(),
                tool: reply.tool_name.clone(),
                success: code.is_none(),
                digest,
            },
            match &reply.data {
                Value::Null => told.to_string(),
                data => data.to_string(),
            },
        )
    });
    Seen { found, told, ran }
}

/// The reply as a model reads it; data of a tool between marks.
fn told(reply: &Reply) -> Value {
    let mut told = native::tell(reply).value;
    let Some(members) = told.as_object_mut() else { return told };
    if let Some(view) = &reply.metadata.view
        && (view.summary || view.left_out > 0)
    {
        members.insert("shortened".to_owned(), json!({ "whole_tokens": view.full_tokens }));
    }
    if !reply.metadata.untrusted {
        return told;
    }
    let mark = mark(reply);
    let mut marked = Map::new();
    for (key, value) in std::mem::take(members) {
        let outside = ["data", "files", "logs", "stderr"].contains(&key.as_str());
        if outside && !marked.contains_key("<<<data") {
            marked.insert("<<<data".to_owned(), Value::from(mark.as_str()));
        }
        marked.insert(key, value);
    }
    if marked.contains_key("<<<data") {
        marked.insert(">>>end".to_owned(), mark.into());
    }
    Value::Object(marked)
}

/// A mark whose number stands nowhere in what the tool gave. A small model takes a number alone for the value.
fn mark(reply: &Reply) -> String {
    let text = reply.data.to_string();
    loop {
        let number = format!("{:018}", uuid::Uuid::new_v4().as_u128() % DIGITS);
        if !text.contains(&number) {
            return format!("mark {number}");
        }
    }
}

/// The same with its label in front.
pub(super) fn labelled(told: Value, label: Option<&str>) -> Value {
    match (told, label) {
        (Value::Object(members), Some(label)) => {
            let mut all = Map::new();
            all.insert("evidence".to_owned(), label.into());
            all.extend(members);
            Value::Object(all)
        }
        (told, _) => told,
    }
}

/// What a model reads of a call that was not made.
pub(super) fn refused(code: &str, message: &str) -> Value {
    json!({ "status": "error", "error": { "code": code, "message": message } })
}

/// How old the result of a reply is, in milliseconds.
pub(super) fn age(reply: &Reply) -> u64 {
    let age = reply.metadata.cache_age_ms.map(Duration::from).unwrap_or_default();
    u64::try_from(age.as_millis()).unwrap_or(u64::MAX)
}

/// Whether running a tool twice is as good as once.
pub(super) fn is_repeatable(tool: &Tool) -> bool {
    tool.idempotent || tool.risk == Risk::Read
}

/// The values that a result states, each with its place; the first so many.
pub(super) fn facts(data: &Value) -> Vec<Fact> {
    let mut facts = Vec::new();
    gather(data, ("", String::new()), DEPTH, &mut facts);
    // A name that stands for several values names none; then its place does.
    let names: Vec<String> = facts.iter().map(|fact| fact.name.clone()).collect();
    for fact in &mut facts {
        if names.iter().filter(|name| **name == fact.name).count() > 1 {
            fact.name = fact.pointer.trim_start_matches('/').replace('/', ".");
        }
    }
    facts
}

fn gather(value: &Value, (name, pointer): (&str, String), depth: usize, facts: &mut Vec<Fact>) {
    if facts.len() >= FACTS || depth == 0 {
        return;
    }
    let mut add = |value: String| {
        if !value.is_empty() && value.len() <= VALUE {
            let (name, unit) = (name.to_owned(), String::new());
            facts.push(Fact { name, value, unit, pointer: pointer.clone() });
        }
    };
    match value {
        Value::Null => {}
        Value::Bool(one) => add(one.to_string()),
        Value::Number(one) => add(one.to_string()),
        Value::String(one) => add(one.clone()),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                gather(item, (name, format!("{pointer}/{at}")), depth - 1, facts);
            }
        }
        Value::Object(members) => {
            for (key, item) in members {
                let token = key.replace('~', "~0").replace('/', "~1");
                gather(item, (key, format!("{pointer}/{token}")), depth - 1, facts);
            }
        }
    }
}
