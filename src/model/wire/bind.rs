//! What binds a model to a shape: a JSON Schema in the dialect of its host out, and what it answered in
//! the terms of the shape that was asked for.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::super::config::{Endpoint, Form, Provider};
use super::super::prompt::Prompt;
use super::simple::simplify;
use super::tools::Told;
use super::{Manner, words};
use crate::call::Dialect;
use crate::catalog::Mould;

/// The member that holds an answer which is no object by itself.
const VALUE: &str = "value";
/// Where definitions of a schema stand.
const DEFS: [&str; 2] = ["$defs", "definitions"];

/// What a provider is told.
pub(super) enum Bound<'a> {
    /// A JSON Schema.
    Schema { schema: &'a Value, strict: bool },
    /// Any JSON object.
    Json,
}

impl Bound<'_> {
    /// For a form that binds the model to JSON and no more.
    pub(super) const fn json(form: Form, prompt: &Prompt) -> Option<Self> {
        let wants = prompt.shape.is_some() || !prompt.tools.is_empty();
        if matches!(form, Form::Json) && wants { Some(Bound::Json) } else { None }
    }
}

/// A shape, as the endpoint is bound to it.
#[derive(Debug)]
pub(in crate::model) struct Bind {
    shape: Mould,
    /// Whether the answer stands in a member of an object.
    wrapped: bool,
    /// Whether the provider takes it as the input of a tool.
    called: bool,
    /// Whether it lets through more than the shape does.
    loose: bool,
}

impl Bind {
    /// The shape of a turn in a form, if that form binds the model to one.
    pub(super) fn of(
        endpoint: &Endpoint,
        prompt: &Prompt,
        Manner { form, simple, .. }: Manner,
        told: &[Told],
    ) -> Option<Self> {
        let dialect = endpoint.dialect.unwrap_or_else(|| endpoint.provider.dialect());
        let any = matches!(dialect, Dialect::Openai | Dialect::Plain);
        let mut schema = match (form, told, &prompt.shape) {
            (Form::Native | Form::Schema, [], Some(shape)) => shape.clone(),
            (Form::Schema, [_, ..], shape) => turn(told, (shape.as_ref(), prompt.must_call), any),
            _ => return None,
        };
        let loose = simple && {
            let whole = schema.clone();
            simplify(&mut schema);
            schema != whole
        };
        let wrapped = !any && schema.get("type").and_then(Value::as_str) != Some("object");
        let schema = if wrapped { wrap(schema) } else { schema };
        let called = endpoint.provider == Provider::Anthropic;
        let shape = Mould::of(schema, dialect);
        (!shape.written().is_null()).then_some(Self { shape, wrapped, called, loose })
    }

    /// Whether it lets through more than the shape does, so that the rest has to be told in words.
    pub(super) const fn is_loose(&self) -> bool {
        self.loose
    }

    pub(super) const fn bound(&self) -> Bound<'_> {
        Bound::Schema { schema: self.shape.written(), strict: self.shape.is_strict() }
    }

    /// Whether the answer comes as the arguments of a call.
    pub(in crate::model) const fn is_called(&self) -> bool {
        self.called
    }

    /// The text of an answer in the terms of the shape. What is not of its binding stays as it is.
    pub(in crate::model) fn restore<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Ok(answer) = serde_json::from_str::<Value>(text) else { return text.into() };
        let restored = self.shape.restore(&answer);
        match restored.get(VALUE).filter(|_| self.wrapped) {
            Some(inner) => inner.to_string().into(),
            None if *restored == answer => text.into(),
            None => restored.to_string().into(),
        }
    }
}

/// The schema of one turn: a call of one of the tools, or the final answer unless there must be a call.
/// Where alternatives may not stand at the root, both are members that may be left out.
fn turn(told: &[Told], (shape, must_call): (Option<&Value>, bool), any: bool) -> Value {
    let mut defs = Map::new();
    let calls: Vec<Value> = told
        .iter()
        .enumerate()
        .map(|(number, tool)| {
            let none = || json!({ "type": "object", "properties": {} });
            let arguments = tool.parameters().cloned().unwrap_or_else(none);
            let arguments = lift(arguments, &format!("tool{number}_"), &mut defs);
            json!({
                "type": "object",
                "properties": { "name": { "type": "string", "enum": [tool.name] }, "arguments": arguments },
                "required": ["name", "arguments"], "additionalProperties": false
            })
        })
        .collect();
    let call = match <[Value; 1]>::try_from(calls) {
        Ok([only]) => only,
        Err(several) => json!({ "anyOf": several }),
    };
    let one = |key: &str, schema: &Value| {
        json!({
            "type": "object", "properties": { key: schema }, "required": [key],
            "additionalProperties": false
        })
    };
    let mut turn = if must_call {
        one("tool_call", &call)
    } else {
        let shape = lift(shape.cloned().unwrap_or_else(words::prose), "final_", &mut defs);
        match any {
            true => json!({ "anyOf": [one("tool_call", &call), one("final", &shape)] }),
            false => json!({
                "type": "object", "properties": { "tool_call": call, "final": shape },
                "additionalProperties": false
            }),
        }
    };
    if let Some(turn) = turn.as_object_mut().filter(|_| !defs.is_empty()) {
        turn.insert("$defs".to_owned(), defs.into());
    }
    turn
}

fn wrap(schema: Value) -> Value {
    let mut defs = Map::new();
    let inner = lift(schema, "", &mut defs);
    let mut outer = json!({
        "type": "object", "properties": { VALUE: inner }, "required": [VALUE],
        "additionalProperties": false
    });
    if let Some(outer) = outer.as_object_mut().filter(|_| !defs.is_empty()) {
        outer.insert("$defs".to_owned(), defs.into());
    }
    outer
}

/// A schema that can stand inside another: its definitions moved to `defs` under names with `mark` in
/// front, itself too where it refers to itself.
fn lift(mut schema: Value, mark: &str, defs: &mut Map<String, Value>) -> Value {
    let mut moved = Vec::new();
    for key in DEFS {
        if let Some(Value::Object(own)) = schema.as_object_mut().and_then(|map| map.remove(key)) {
            moved.extend(own);
        }
    }
    let mut is_own = false;
    point(&mut schema, mark, &mut is_own);
    for (name, mut definition) in moved {
        point(&mut definition, mark, &mut is_own);
        defs.insert(format!("{mark}{name}"), definition);
    }
    if is_own {
        let name = format!("{mark}self");
        let reference = json!({ "$ref": format!("#/$defs/{name}") });
        defs.insert(name, std::mem::replace(&mut schema, reference));
    }
    schema
}

/// Lets references point to where definitions are moved.
fn point(schema: &mut Value, mark: &str, is_own: &mut bool) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(target) if key == "$ref" && target.as_str() == "#" => {
                        *is_own = true;
                        *target = format!("#/$defs/{mark}self");
                    }
                    Value::String(target) if key == "$ref" => {
                        let rest = DEFS.iter().find_map(|defs| {
                            target.strip_prefix("#/")?.strip_prefix(defs)?.strip_prefix('/')
                        });
                        if let Some(rest) = rest {
                            *target = format!("#/$defs/{mark}{rest}");
                        }
                    }
                    _ => point(value, mark, is_own),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| point(item, mark, is_own)),
        _ => {}
    }
}
