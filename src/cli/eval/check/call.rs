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

/// A call in a few words.
pub(super) fn told(ran: &Ran) -> String {
    let arguments: String = ran.arguments.to_string().chars().take(160).collect();
    format!("{} {arguments} ({}, {})", ran.tool, ran.code, ran.call_id)
}
