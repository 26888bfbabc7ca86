//! Whether two messages say the same: by typed comparison and the declared tolerance, in code.

use std::collections::BTreeMap;
use std::str::FromStr;

use jiff::tz::TimeZone;
use rust_decimal::Decimal;

use super::Message;
use crate::evidence::compare::compare;
use crate::evidence::{Operator, Value};
use crate::reason::agent::Claim;

/// Whether two scopes are one: the same names with the same values, whatever their case.
pub(in crate::reason) fn same_scope(
    one: &BTreeMap<String, String>,
    two: &BTreeMap<String, String>,
) -> bool {
    one.len() == two.len()
        && one
            .iter()
            .all(|(key, value)| two.get(key).is_some_and(|other| fold(value) == fold(other)))
}

/// A text without regard to case and to the space around it.
pub(in crate::reason) fn fold(text: &str) -> String {
    text.trim().to_lowercase()
}

/// Whether two messages of one claim agree, within its tolerance. The error says why they cannot be
/// compared: they do not agree then.
pub(in crate::reason) fn agree(
    claim: Option<&Claim>,
    (one, two): (&Message, &Message),
    zone: &TimeZone,
) -> Result<bool, String> {
    let tolerance = claim.map(|claim| claim.tolerance.as_str()).unwrap_or_default();
    values_agree(&one.value, &two.value, tolerance, zone)
}

/// The same of two values. The tolerance is a share of the larger one.
pub(super) fn values_agree(
    one: &Value,
    two: &Value,
    tolerance: &str,
    zone: &TimeZone,
) -> Result<bool, String> {
    let holds = |left: &Value, operator, right: &Value| {
        compare(left, operator, right, zone)
            .map(|compared| compared.holds)
            .map_err(|refused| refused.to_string())
    };
    if holds(one, Operator::Equal, two)? {
        return Ok(true);
    }
    let Some(share) = Decimal::from_str(tolerance).ok().filter(|share| *share > Decimal::ZERO)
    else {
        return Ok(false);
    };
    let (Some(left), Some(right)) = (number(one), number(two)) else { return Ok(false) };
    if left.is_sign_negative() != right.is_sign_negative() {
        return Ok(false);
    }
    // Each is at least so far from zero as the other is, but for the share.
    let towards = if left.is_sign_negative() { Operator::AtMost } else { Operator::AtLeast };
    let rest = Decimal::ONE.saturating_sub(share);
    let (Some(less_left), Some(less_right)) = (times(one, rest), times(two, rest)) else {
        return Err(format!("`{one}` and `{two}` have more digits than can be computed exactly"));
    };
    Ok(holds(one, towards, &less_right)? && holds(two, towards, &less_left)?)
}

const fn number(value: &Value) -> Option<Decimal> {
    match value {
        Value::Number { number }
        | Value::Quantity { number, .. }
        | Value::Money { number, .. }
        | Value::Percent { number } => Some(*number),
        Value::Date { .. }
        | Value::Instant { .. }
        | Value::Bool { .. }
        | Value::Text { .. }
        | Value::Set { .. }
        | Value::Range { .. } => None,
    }
}

/// A value with its number multiplied.
fn times(value: &Value, by: Decimal) -> Option<Value> {
    let scaled = number(value)?.checked_mul(by)?;
    let mut value = value.clone();
    match &mut value {
        Value::Number { number }
        | Value::Quantity { number, .. }
        | Value::Money { number, .. }
        | Value::Percent { number } => *number = scaled,
        Value::Date { .. }
        | Value::Instant { .. }
        | Value::Bool { .. }
        | Value::Text { .. }
        | Value::Set { .. }
        | Value::Range { .. } => return None,
    }
    Some(value)
}
