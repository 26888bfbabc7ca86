//! Converts one value to the type or the listed value that its place demands: a [`Scope`] and a
//! value in, the other value and the kind of change out. `None` where something would be lost.

use serde_json::{Number, Value};

use super::scope::{Scope, Types};
use crate::catalog::denoted;
use crate::schema::canon::whole;
use crate::schema::reader::{Bounds, read};

/// The value that the place demands in place of `value`. `depth` is how many more levels may be
/// nested. Only for a place that does not fit as it is.
pub(super) fn convert(
    scope: &Scope<'_>,
    value: &Value,
    depth: usize,
) -> Option<(&'static str, Value)> {
    let types = scope.types();
    if types.allow(Types::of(value)) {
        return match value {
            Value::String(given) => pick(&scope.options()?, given),
            _ => None,
        };
    }
    match value {
        Value::String(text) => decode(types, text, depth),
        // The source spelling, so that 1.10 becomes "1.10"; never where a number is allowed, and
        // not with an exponent, which is not kept as it was spelled.
        Value::Number(number)
            if types.allow(Types::STRING)
                && !number.as_str().contains(['e', 'E'])
                && !types.allow(Types::INTEGER)
                && !types.allow(Types::FRACTION) =>
        {
            Some(("type", Value::String(number.as_str().to_owned())))
        }
        _ => None,
    }
}

/// Reads the text of a string as JSON, where that gives a wanted type.
fn decode(types: Types, text: &str, depth: usize) -> Option<(&'static str, Value)> {
    let bounds = Bounds { bytes: text.len(), depth };
    let value = read(text, bounds).ok()?;
    if !types.allow(Types::of(&value)) {
        return None;
    }
    match value {
        Value::Number(number) if !types.allow(Types::FRACTION) => {
            let digits = whole(number.as_str())?.parse::<Number>().ok()?;
            Some(("type", Value::Number(digits)))
        }
        Value::Number(_) | Value::Bool(_) => Some(("type", value)),
        Value::Array(_) | Value::Object(_) => Some(("decode", value)),
        Value::Null | Value::String(_) => None,
    }
}

/// The only option that `given` is another spelling of.
fn pick(options: &[&Value], given: &str) -> Option<(&'static str, Value)> {
    match denoted(options.iter().copied(), given)? {
        Value::String(same) if same == given => None,
        text @ Value::String(_) => Some(("enum", text.clone())),
        other => Some(("type", other.clone())),
    }
}
