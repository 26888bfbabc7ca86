//! What a worker reports, as its model wrote it: a final answer with a result and messages beside its
//! words in, these out. Looks at the form only.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Reason, Refusal};
use crate::pointer::escape;
use crate::reason::agent::Claim;
use crate::reason::plan::Task;
use crate::reason::refusal::unread;
use crate::schema::loosely;

/// A report as it was read.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) text: String,
    pub(super) result: Value,
    /// The labels that it cites, beside those of each message.
    pub(super) evidence: Vec<String>,
    /// Whether it is words alone, for a task that asks for nothing else.
    pub(super) is_plain: bool,
    pub(super) stated: Vec<Stated>,
}

/// One thing that is stated; nothing of it has been checked.
#[derive(Debug, Default)]
pub(super) struct Stated {
    /// Where it stands.
    pub(super) place: String,
    pub(super) claim: String,
    pub(super) scope: BTreeMap<String, String>,
    pub(super) value: Value,
    pub(super) unit: Option<String>,
    pub(super) evidence: Vec<String>,
}

/// What a worker is told of its report.
pub(in crate::reason) fn instructions(task: &Task, claims: &BTreeMap<String, Claim>) -> String {
    if task.output.claims.is_empty() && task.output.schema.is_none() {
        return "Your answer goes to other agents: say what you found in few words, with the labels of \
                the evidence that it rests on."
            .to_owned();
    }
    let list: Vec<String> = task
        .output
        .claims
        .iter()
        .map(|name| match claims.get(name) {
            Some(claim) => {
                let unit =
                    claim.unit.as_deref().map_or_else(String::new, |unit| format!(" in {unit}"));
                let form = claim.form.as_str();
                format!("- `{name}` ({form}{unit}): {}", claim.description.trim())
            }
            None => format!("- `{name}`"),
        })
        .collect();
    let scope = match task.output.scope.len() {
        0 => String::new(),
        _ => format!("\nAll of it is about {}.", json!(task.output.scope)),
    };
    let stated = if list.is_empty() {
        String::new()
    } else {
        format!(
            "\n`messages` states each of these, with the value as the evidence has it and the labels \
             of the evidence that it rests on; leave out what you did not find evidence for:\n{}",
            list.join("\n")
        )
    };
    let schema =
        task.output.schema.as_ref().map_or_else(String::new, |schema| {
            format!("\n`result` fits this JSON Schema: {schema}")
        });
    format!(
        "Your final answer goes to other agents, which cannot ask you back. It has more than words: \
         {{\"answer\": \"what you found, in one or two sentences\", \"evidence\": [\"E1\"], \
         \"result\": ..., \"messages\": [{{\"claim\": \"NAME\", \"scope\": {{}}, \"value\": \
         \"1200000\", \"unit\": \"EUR\", \"evidence\": [\"E1\"]}}]}}{scope}{stated}{schema}"
    )
}

/// JSON Schema of a report.
pub(in crate::reason) fn shape(task: &Task) -> Value {
    let text = json!({ "type": "string" });
    let claim = match task.output.claims.as_slice() {
        [] => text.clone(),
        claims => json!({ "type": "string", "enum": claims }),
    };
    let result = task.output.schema.clone().unwrap_or_else(|| json!({}));
    json!({
        "type": "object",
        "required": ["answer", "evidence", "messages"],
        "properties": {
            "answer": text,
            "evidence": { "type": "array", "items": text },
            "result": result,
            "messages": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["claim", "value", "evidence"],
                    "additionalProperties": false,
                    "properties": {
                        "claim": claim,
                        "scope": { "type": "object", "additionalProperties": text },
                        "value": {},
                        "unit": text,
                        "evidence": { "type": "array", "items": text },
                    },
                },
            },
        },
    })
}

/// Reads a report. Words alone are one for a task that asks for nothing else.
pub(super) fn read(task: &Task, text: &str) -> Result<Report, Vec<Refusal>> {
    let is_open = task.output.claims.is_empty() && task.output.schema.is_none();
    let value = loosely(text).map(|(value, _)| value);
    let members = match value {
        Ok(Value::Object(members)) if !is_open || members.contains_key("messages") => members,
        _ if is_open => {
            let text = text.trim().to_owned();
            let result = Value::String(text.clone());
            return Ok(Report { text, result, is_plain: true, ..Report::default() });
        }
        Ok(_) => {
            let words = "the report is no JSON object; write {\"answer\": ..., \"evidence\": [...], \
                         \"result\": ..., \"messages\": [...]}";
            return Err(vec![Refusal::new(Reason::Unreadable, "", words)]);
        }
        Err(error) => {
            let words =
                format!("the report cannot be read: {}; write one JSON object", unread(&error));
            return Err(vec![Refusal::new(Reason::Unreadable, "", words)]);
        }
    };
    let members = inside(members);
    let mut wrong = Vec::new();
    let report = members_of(&members, &mut wrong);
    if wrong.is_empty() { Ok(report) } else { Err(wrong) }
}

/// The report itself, where a model put the whole of it as JSON text into `answer`.
fn inside(members: Map<String, Value>) -> Map<String, Value> {
    if members.contains_key("messages") || members.contains_key("result") {
        return members;
    }
    let answer = members.get("answer").and_then(Value::as_str);
    let inner = answer.and_then(|answer| loosely(answer).ok()).map(|(inner, _)| inner);
    match inner {
        Some(Value::Object(mut inner)) if inner.contains_key("messages") => {
            if let (Some(evidence), false) =
                (members.get("evidence"), inner.contains_key("evidence"))
            {
                inner.insert("evidence".to_owned(), evidence.clone());
            }
            if let Some(text) = inner.shift_remove("text") {
                inner.entry("answer").or_insert(text);
            }
            inner
        }
        _ => members,
    }
}

fn members_of(members: &Map<String, Value>, wrong: &mut Vec<Refusal>) -> Report {
    let mut say = |place: &str, words: &str| {
        wrong.push(Refusal::new(Reason::BadShape, place, words));
    };
    let text = match members.get("answer") {
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(_) => {
            say("/answer", "must be text");
            String::new()
        }
        None => String::new(),
    };
    let mut stated = Vec::new();
    match members.get("messages") {
        None | Some(Value::Null) => {}
        Some(Value::Array(items)) => {
            for (at, item) in items.iter().enumerate() {
                stated.extend(one(item, format!("/messages/{at}"), &mut say));
            }
        }
        Some(_) => say("/messages", "must be an array of messages"),
    }
    let result = match members.get("result") {
        Some(result) => result.clone(),
        None => Value::String(text.clone()),
    };
    let evidence = labels(members.get("evidence"), "/evidence", &mut say);
    Report { text, result, evidence, is_plain: false, stated }
}

fn one(item: &Value, place: String, say: &mut impl FnMut(&str, &str)) -> Option<Stated> {
    let Value::Object(members) = item else {
        say(&place, "must be an object with `claim`, `value` and `evidence`");
        return None;
    };
    let known = ["claim", "scope", "value", "unit", "evidence"];
    for name in members.keys().filter(|name| !known.contains(&name.as_str())) {
        // A confidence that a model gives itself is worth nothing, and would look like one.
        let words =
            "is no member of a message: there are `claim`, `scope`, `value`, `unit`, `evidence`";
        say(&format!("{place}/{}", escape(name)), words);
    }
    let text = |name: &str, say: &mut dyn FnMut(&str, &str)| match members.get(name) {
        Some(Value::String(text)) => Some(text.trim().to_owned()),
        None | Some(Value::Null) => None,
        Some(_) => {
            say(&format!("{place}/{name}"), "must be text");
            None
        }
    };
    let claim = text("claim", say);
    if claim.is_none() {
        say(&place, "`claim` is missing; name what is stated");
    }
    if !members.contains_key("value") {
        say(&place, "`value` is missing");
    }
    let unit = text("unit", say).filter(|unit| !unit.is_empty());
    let evidence = labels(members.get("evidence"), &format!("{place}/evidence"), say);
    let mut scope = BTreeMap::new();
    match members.get("scope") {
        Some(Value::Object(parts)) => {
            for (name, part) in parts {
                match part {
                    Value::String(text) => drop(scope.insert(name.clone(), text.trim().to_owned())),
                    Value::Number(number) => drop(scope.insert(name.clone(), number.to_string())),
                    _ => say(&format!("{place}/scope/{}", escape(name)), "must be text"),
                }
            }
        }
        None | Some(Value::Null) => {}
        Some(_) => say(&format!("{place}/scope"), "must be an object of texts"),
    }
    let value = members.get("value").cloned().unwrap_or_default();
    Some(Stated { claim: claim.unwrap_or_default(), scope, value, unit, evidence, place })
}

/// Labels as they were written, without the brackets that models put around them.
fn labels(given: Option<&Value>, place: &str, say: &mut impl FnMut(&str, &str)) -> Vec<String> {
    match given {
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            let labels = items.iter().filter_map(Value::as_str);
            labels.map(|label| label.trim_matches(['[', ']', ' ']).to_owned()).collect()
        }
        None | Some(Value::Null) => Vec::new(),
        Some(_) => {
            say(place, "must be an array of labels such as \"E1\"");
            Vec::new()
        }
    }
}
