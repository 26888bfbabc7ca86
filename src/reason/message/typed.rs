//! The value of a message as a model wrote it in, the exact value of its claim's type out. Guesses
//! nothing: what can be read in two ways is refused.

use jiff::tz::TimeZone;
use serde_json::Value as Json;

use crate::evidence::compare::compare;
use crate::evidence::{Expect, Operator, Type, Value, read};
use crate::reason::agent::{Claim, Form};
use crate::reason::refusal::brief;

/// Reads a value. The error says what is wrong and how to mend it.
pub(super) fn typed(
    claim: Option<&Claim>,
    (value, unit): (&Json, Option<&str>),
    zone: &TimeZone,
) -> Result<(Form, Value), String> {
    let own = claim.and_then(|claim| claim.unit.as_deref());
    let expect = |kind, machine| Expect { kind, unit: unit.or(own).unwrap_or_default(), machine };
    let plain = |kind| Expect { kind, unit: "", machine: false };
    let found = match (claim.map(|claim| claim.form), value) {
        (Some(Form::Number) | None, Json::Number(number)) => {
            read(&number.to_string(), &expect(None, true), zone)
        }
        (Some(Form::Number), Json::String(text)) => read(text, &expect(None, false), zone),
        (Some(Form::Date), Json::String(text)) => read(text, &plain(None), zone),
        (Some(Form::Text), Json::String(text)) => read(text, &plain(Some(Type::Text)), zone),
        (None, Json::String(text)) if unit.is_some() => read(text, &expect(None, false), zone),
        (None, Json::String(text)) => {
            // What is no value of another kind is words.
            Ok(read(text, &plain(None), zone).unwrap_or_else(|_unread| Value::text(text.trim())))
        }
        (Some(Form::Boolean) | None, Json::Bool(holds)) => Ok(Value::of(*holds)),
        (Some(Form::Boolean), Json::String(text)) => read(text, &plain(Some(Type::Bool)), zone),
        (Some(Form::Set) | None, Json::Array(items)) => return set(items),
        (wanted, other) => {
            let wanted = wanted.map_or("one value", Form::as_str);
            return Err(format!("is {}, where a {wanted} is wanted", kind(other)));
        }
    };
    let found = found.map_err(|unread| unread.to_string())?;
    let form = form(&found);
    if let Some(claim) = claim
        && claim.form != form
    {
        let (is, wanted) = (found.kind(), claim.form.as_str());
        return Err(format!("`{found}` is {is}, where a {wanted} is wanted"));
    }
    in_unit(&found, own, zone)?;
    Ok((form, found))
}

/// Whether a number can stand beside one in the claim's unit.
fn in_unit(value: &Value, unit: Option<&str>, zone: &TimeZone) -> Result<(), String> {
    let Some(unit) = unit else { return Ok(()) };
    let one = read("1", &Expect { kind: None, unit, machine: true }, zone)
        .map_err(|unread| format!("the unit `{unit}` of the claim cannot be used: {unread}"))?;
    compare(value, Operator::Equal, &one, zone)
        .map(drop)
        .map_err(|refused| format!("is not in {unit}: {refused}"))
}

fn set(items: &[Json]) -> Result<(Form, Value), String> {
    let mut members = std::collections::BTreeSet::new();
    for item in items {
        let member = match item {
            Json::String(text) => Value::text(text.trim()),
            Json::Bool(holds) => Value::of(*holds),
            Json::Number(number) => Value::text(number.to_string()),
            other => return Err(format!("has {} among its members; write texts", kind(other))),
        };
        members.insert(member);
    }
    Ok((Form::Set, Value::Set { members }))
}

/// The form of a value.
const fn form(value: &Value) -> Form {
    match value {
        Value::Number { .. }
        | Value::Quantity { .. }
        | Value::Money { .. }
        | Value::Percent { .. }
        | Value::Range { .. } => Form::Number,
        Value::Date { .. } | Value::Instant { .. } => Form::Date,
        Value::Bool { .. } => Form::Boolean,
        Value::Text { .. } => Form::Text,
        Value::Set { .. } => Form::Set,
    }
}

fn kind(value: &Json) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(_) => "true or false".to_owned(),
        Json::Number(number) => format!("the number {}", brief(&number.to_string())),
        Json::String(text) => format!("the text `{}`", brief(text)),
        Json::Array(_) => "an array".to_owned(),
        Json::Object(_) => "an object".to_owned(),
    }
}
