//! From a dialect's terms to the tool's own: a call's arguments as they came in, the same with the
//! tool's names and values out, for the check and for the record; and what is told of them back in the
//! dialect's. Checks nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::Error;
use super::reader::join;
use super::repair::{MAX_UNWRAPS, inner, reading};
use crate::call::{Call, Dialect};
use crate::catalog::{Tool, exported_keys, restore};
use crate::pointer;

/// A value in the tool's own terms.
pub(super) fn own<'v>(
    dialect: Option<Dialect>,
    tool: &Tool,
    value: Cow<'v, Value>,
) -> Cow<'v, Value> {
    match dialect {
        Some(dialect) => restore(tool, dialect, value),
        None => value,
    }
}

/// The text of a call's arguments in the tool's own terms, where they came in a dialect's and can be
/// read at all: what is masked by name has to be found in the record, also of a call that is refused.
pub(crate) fn own_terms(call: &Call, tool: &Tool) -> Option<String> {
    let dialect = call.dialect?;
    let text = &call.arguments_json;
    let read = reading(text).ok().map(|(value, _)| value);
    let mut value = read.or_else(|| serde_json::from_str(text).ok())?;
    for _ in 0..MAX_UNWRAPS {
        let Value::String(text) = &value else { break };
        let Ok(unwrapped) = serde_json::from_str(text) else { break };
        value = unwrapped;
    }
    let value = inner(tool, &value).unwrap_or(value);
    Some(restore(tool, dialect, Cow::Owned(value)).to_string())
}

/// Keywords whose violations name arguments in their words, and not values.
const NAMING: [&str; 6] = [
    "required",
    "additionalProperties",
    "unevaluatedProperties",
    "dependentRequired",
    "propertyNames",
    "conflict",
];

/// An error as the model that wrote in a dialect knows the arguments: each under its exported name.
pub(super) fn told(error: Error, dialect: Option<Dialect>, tool: &Tool) -> Error {
    let Error::Violations { mut violations, total, mut repairs } = error else { return error };
    let keys = dialect.map(|dialect| exported_keys(tool, dialect)).filter(|keys| !keys.is_empty());
    if let Some(keys) = keys {
        for change in &mut repairs {
            change.pointer = pointer(&change.pointer, keys);
        }
        for violation in &mut violations {
            let names = NAMING.contains(&violation.kind.as_str());
            violation.pointer = pointer(&violation.pointer, keys);
            violation.message = message(&violation.message, names, keys);
            if names {
                rename(&mut violation.expected, keys);
            }
        }
    }
    Error::Violations { violations, total, repairs }
}

fn pointer(own: &str, keys: &BTreeMap<String, String>) -> String {
    own.split('/').skip(1).fold(String::new(), |told, token| {
        let token = pointer::unescape(token);
        join(&told, keys.get(&token).unwrap_or(&token))
    })
}

/// A message whose places, and where it `names` arguments those, stand in backticks.
fn message(own: &str, names: bool, keys: &BTreeMap<String, String>) -> String {
    let part = |(number, part): (usize, &str)| match keys.get(part) {
        _ if number % 2 == 0 => part.to_owned(),
        Some(key) if names => key.clone(),
        _ if part.starts_with('/') => pointer(part, keys),
        _ => part.to_owned(),
    };
    own.split('`').enumerate().map(part).collect::<Vec<_>>().join("`")
}

/// Gives names in a list their exported ones.
fn rename(expected: &mut Value, keys: &BTreeMap<String, String>) {
    match expected {
        Value::String(name) => {
            if let Some(key) = keys.get(name.as_str()) {
                name.clone_from(key);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, keys)),
        Value::Object(members) => {
            members
                .values_mut()
                .filter(|member| member.is_array())
                .for_each(|list| rename(list, keys));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
