//! Which of the values that a schema lists a text means: listed values and a text in, one of them out.
//! Guesses nothing: where two would do, it is none.

use serde_json::{Number, Value};

use crate::decimal::Decimal;

/// Longest text that is read as a number.
const MAX_NUMBER: usize = 64;

/// The listed value that a text denotes. The very text comes first, then the number or truth value that
/// is spelled so; then the only value that differs from it in nothing but the spelling of a number, case
/// or surrounding space.
pub(crate) fn denoted<'v>(
    listed: impl Iterator<Item = &'v Value> + Clone,
    text: &str,
) -> Option<&'v Value> {
    let mut texts = listed.clone();
    if let Some(same) = texts.find(|one| one.as_str() == Some(text)) {
        return Some(same);
    }
    let spelled = |one: &&Value| match one {
        Value::Number(number) => number.as_str() == text,
        Value::Bool(truth) => text.parse() == Ok(*truth),
        _ => false,
    };
    let mut exact = listed.clone();
    exact.find(spelled).or_else(|| alike(listed, text))
}

fn alike<'v>(mut listed: impl Iterator<Item = &'v Value>, text: &str) -> Option<&'v Value> {
    let folded = fold(text);
    let number = decimal(text);
    let is_number = |other: &str| number.is_some() && decimal(other) == number;
    let fits = |one: &&Value| match one {
        Value::String(other) => fold(other) == folded || is_number(other),
        Value::Number(other) => is_number(other.as_str()),
        Value::Bool(truth) => folded == truth.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    };
    let found = listed.find(fits)?;
    let same = |other: &Value| other == found || (other.is_number() && found.is_number());
    let only = listed.filter(|one| fits(one)).all(same);
    // A text that only counts as much as another is another text.
    let is_meant = found.as_str().is_none_or(|other| fold(other) == folded);
    (only && is_meant).then_some(found)
}

fn fold(text: &str) -> String {
    text.trim().to_lowercase()
}

fn decimal(text: &str) -> Option<Decimal> {
    let text = text.trim();
    let number: Number = (text.len() <= MAX_NUMBER).then(|| text.parse().ok())??;
    Decimal::parse(number.as_str())
}
