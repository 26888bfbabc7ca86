//! A worked example for the prompt, made of the very tools at hand: two calls of which the second uses
//! what the first gave, and the answer that cites them. A small model that saw none calls once and
//! guesses the rest.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::tools::Toolset;
use crate::call::Dialect;
use crate::catalog::{Tool, exported_name};

/// Longest example of a value, in characters.
const VALUE: usize = 40;
/// Most arguments of a call in it.
const ARGUMENTS: usize = 4;

/// How a model calls: whether into its text, and in whose terms it knows tools.
type Manner = (bool, Dialect);

/// An example in the manner of a model. `None` without tools.
pub(super) fn example(tools: &Toolset, manner: Manner) -> Option<String> {
    let (first, second) = pair(&tools.tools)?;
    let given = json!({ "value": "R-1" });
    let mut lines = vec!["Example of the form only; its names and values are made up:".to_owned()];
    lines.push(call(first, &arguments(first, None), manner));
    lines.push(told("E1", &given));
    let last = match second {
        Some(second) => {
            lines.push(call(second, &arguments(second, Some("R-1")), manner));
            lines.push(told("E2", &json!({ "state": "ready" })));
            json!({ "final": { "answer": "R-1 is ready [E2]", "evidence": ["E1", "E2"] } })
        }
        None => json!({ "final": { "answer": "It is R-1 [E1]", "evidence": ["E1"] } }),
    };
    lines.push(format!("you: {last}"));
    Some(lines.join("\n"))
}

/// The best tool, and another one that can use what it gives: one with a required text.
fn pair(tools: &[Arc<Tool>]) -> Option<(&Tool, Option<&Tool>)> {
    let first = tools.first()?;
    let rest = tools.iter().skip(1);
    let second = rest.into_iter().find(|tool| text(tool).is_some());
    Some((first, second.map(|tool| &**tool)))
}

/// The first required argument that is a text without a list of values.
fn text(tool: &Tool) -> Option<String> {
    required(tool).into_iter().find(|name| {
        let schema = property(tool, name);
        let kind = schema.and_then(|schema| schema.get("type")).and_then(Value::as_str);
        kind == Some("string") && schema.is_some_and(|schema| schema.get("enum").is_none())
    })
}

fn required(tool: &Tool) -> Vec<String> {
    let list = tool.input_schema.get("required").and_then(Value::as_array);
    let names = list.into_iter().flatten().filter_map(Value::as_str);
    names.take(ARGUMENTS).map(str::to_owned).collect()
}

fn property<'t>(tool: &'t Tool, name: &str) -> Option<&'t Value> {
    tool.input_schema.get("properties")?.get(name)
}

/// Arguments that show the form; `used` stands where a value of before can stand.
fn arguments(tool: &Tool, used: Option<&str>) -> Value {
    let place = used.and_then(|_| text(tool));
    let mut all = Map::new();
    for name in required(tool) {
        let value = match used {
            Some(used) if place.as_ref() == Some(&name) => json!(used),
            _ => property(tool, &name).map_or_else(|| json!("x"), sample),
        };
        all.insert(name, value);
    }
    Value::Object(all)
}

/// A value that a schema allows, as far as that is easily told.
fn sample(schema: &Value) -> Value {
    let declared = [schema.get("const"), schema.get("default")].into_iter().flatten();
    let listed = ["examples", "enum"].into_iter().filter_map(|key| schema.get(key)?.get(0));
    let short = |value: &&Value| value.to_string().chars().count() <= VALUE;
    if let Some(value) = declared.chain(listed).find(short) {
        return value.clone();
    }
    let least = schema.get("minimum").filter(|least| least.is_number());
    match schema.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => least.cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => json!(true),
        Some("array") => json!([schema.get("items").map_or_else(|| json!("x"), sample)]),
        Some("object") => json!({}),
        _ => match schema.get("format").and_then(Value::as_str) {
            Some("date") => json!("2026-01-31"),
            Some("date-time") => json!("2026-01-31T08:00:00Z"),
            _ => json!(".."),
        },
    }
}

fn call(tool: &Tool, arguments: &Value, (spoken, dialect): Manner) -> String {
    let name = exported_name(&tool.name, dialect);
    match spoken {
        true => {
            let call = json!({ "tool_call": { "name": name, "arguments": arguments } });
            format!("you: {call}")
        }
        false => format!("you call `{name}` with {arguments}"),
    }
}

fn told(label: &str, data: &Value) -> String {
    format!("you are told: {}", json!({ "evidence": label, "status": "success", "data": data }))
}
