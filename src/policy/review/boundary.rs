//! A tool's schema and what policies name in, arguments at every boundary out: each value of an
//! enumeration, each bound, each optional property there and absent, one change at a time.

use serde_json::{Map, Value};

use super::parts::Named;
use super::sample::{Sampler, required};
use crate::catalog::Tool;

/// Sets of arguments of one tool, at most.
const MAX_CALLS: usize = 512;
/// Objects in objects that are varied inside.
const MAX_LEVELS: u32 = 3;

/// Arguments of a tool at its boundaries. Empty when none can be made that its schema may take.
pub(super) fn arguments(tool: &Tool, named: &Named) -> Vec<Value> {
    let schema = &tool.input_schema;
    let sampler = Sampler { root: schema, named };
    let mut found = Vec::new();
    for whole in [false, true] {
        if let Some(base) = sampler.one(schema, whole, 0) {
            keep(&mut found, base.clone());
            vary(&sampler, schema, &base, 0, &mut |changed| keep(&mut found, changed));
        }
    }
    found
}

fn keep(found: &mut Vec<Value>, value: Value) {
    if found.len() < MAX_CALLS && !found.contains(&value) {
        found.push(value);
    }
}

/// Tells of every object that differs from `base` in one place.
fn vary<'s>(
    sampler: &Sampler<'s>,
    schema: &'s Value,
    base: &Value,
    level: u32,
    tell: &mut dyn FnMut(Value),
) {
    let Value::Object(object) = base else { return };
    let node = sampler.node(schema, 0);
    for (name, schema) in sampler.properties(&node) {
        let with = |value: Value| {
            let mut changed: Map<String, Value> = object.clone();
            changed.insert(name.clone(), value);
            Value::Object(changed)
        };
        if !required(&node, name) && object.contains_key(name) {
            let mut changed = object.clone();
            changed.shift_remove(name);
            tell(Value::Object(changed));
        }
        for value in sampler.many(schema) {
            tell(with(value));
        }
        if let Some(inner @ Value::Object(_)) = object.get(name)
            && level < MAX_LEVELS
        {
            vary(sampler, schema, inner, level + 1, &mut |changed| tell(with(changed)));
        }
    }
}
