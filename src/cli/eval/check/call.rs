//! Whether a call of the ledger is the one that a suite speaks of.

use serde_json::Value;

use crate::cli::eval::seen::Ran;
use crate::cli::eval::suite::{Call, pattern};

/// Whether it is: the tool, the arguments that are named, and the code where one is.
pub(super) fn fits(wanted: &Call, ran: &Ran) -> bool {
    match wanted {
        Call::Tool(tool) => named(tool, &ran.tool),
        Call::Full { tool, arguments, code } => {
            let same = |(key, value): (&String, &Value)| {
                ran.arguments.get(key).is_some_and(|given| like(value, given))
            };
            named(tool, &ran.tool)
                && (code.is_empty() || *code == ran.code)
                && arguments.iter().all(same)
        }
    }
}

fn named(wanted: &str, tool: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(start) => tool.starts_with(start),
        None => wanted == tool,
    }
}

/// Whether a value is as wanted: members that are not named may be there, and a text between two `/` is a
/// regular expression.
fn like(wanted: &Value, given: &Value) -> bool {
    match (wanted, given) {
        (Value::String(text), _) if pattern(text).is_some() => {
            let given = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
            let found = pattern(text).and_then(|text| regex::Regex::new(text).ok());
            found.is_some_and(|pattern| pattern.is_match(&given))
        }
        (Value::Object(wanted), Value::Object(given)) => {
            wanted.iter().all(|(key, one)| given.get(key).is_some_and(|given| like(one, given)))
        }
        (Value::Array(wanted), Value::Array(given)) => {
            wanted.len() == given.len()
                && wanted.iter().zip(given).all(|(one, given)| like(one, given))
        }
        _ => wanted == given,
    }
}

/// Whether all are there, in this order, others between them.
pub(super) fn in_order(wanted: &[Call], calls: &[Ran]) -> bool {
    let mut calls = calls.iter();
    wanted.iter().all(|one| calls.any(|ran| fits(one, ran)))
}

/// Whether each is another one of the calls, and none is left.
pub(super) fn paired(wanted: &[Call], calls: &[Ran]) -> bool {
    let mut owners = vec![None; calls.len()];
    wanted.len() == calls.len()
        && (0..wanted.len()).all(|at| place(at, wanted, calls, &mut owners, &mut Vec::new()))
}

/// Gives a wanted call a call, for which those that have one already may take another. `tried` are the calls
/// that were looked at for it.
fn place(
    at: usize,
    wanted: &[Call],
    calls: &[Ran],
    owners: &mut [Option<usize>],
    tried: &mut Vec<usize>,
) -> bool {
    for (number, ran) in calls.iter().enumerate() {
        let fit = wanted.get(at).is_some_and(|one| fits(one, ran));
        if !fit || tried.contains(&number) {
            continue;
        }
        tried.push(number);
        let owner = owners.get(number).copied().flatten();
        if owner.is_none_or(|owner| place(owner, wanted, calls, owners, tried)) {
            if let Some(owner) = owners.get_mut(number) {
                *owner = Some(at);
            }
            return true;
        }
    }
    false
}

/// Whether a text stands in a value, in a text of it or in its JSON.
pub(super) fn stands(text: &str, value: &Value) -> bool {
    fn within(text: &str, value: &Value) -> bool {
        match value {
            Value::String(whole) => whole.contains(text),
            Value::Array(items) => items.iter().any(|item| within(text, item)),
            Value::Object(members) => {
                members.iter().any(|(key, item)| key.contains(text) || within(text, item))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    within(text, value) || value.to_string().contains(text)
}

/// A call in a few words.
pub(super) fn told(ran: &Ran) -> String {
    let arguments: String = ran.arguments.to_string().chars().take(160).collect();
    format!("{} {arguments} ({}, {})", ran.tool, ran.code, ran.call_id)
}
