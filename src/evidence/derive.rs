//! Works one value out of others, exactly: the time between two dates, a date and a period, sums,
//! differences and products.

use jiff::tz::TimeZone;
use jiff::{Span, ToSpan};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::{Deserialize, Serialize};

use super::compare::Refused;
use super::trace::Operand;
use super::unit;
use super::value::Value;

/// How a value is worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The days from the first to the second, both dates or instants, which count by their day.
    Elapsed,
    /// The first, a date or instant, and then the second, a period.
    Later,
    /// All of them together.
    Sum,
    /// The first without the second.
    Difference,
    /// The first times the second, of which one is a plain number or a percentage.
    Product,
}

impl How {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Elapsed, Self::Later, Self::Sum, Self::Difference, Self::Product];

    /// The name in rules and traces.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Elapsed => "elapsed",
            Self::Later => "later",
            Self::Sum => "sum",
            Self::Difference => "difference",
            Self::Product => "product",
        }
    }
}

/// A value that is worked out, and what of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Derived {
    /// How.
    pub how: How,
    /// What of, in order.
    pub of: Vec<Operand>,
}

/// Works it out.
///
/// # Errors
/// [`Refused`], where the values do not go together or the result would not be exact.
pub fn derive(how: How, of: &[&Value], zone: &TimeZone) -> Result<Value, Refused> {
    match (how, of) {
        (How::Sum, [first, rest @ ..]) => {
            rest.iter().try_fold((*first).clone(), |sum, one| add(&sum, one, false))
        }
        (How::Difference, [from, less]) => add(from, less, true),
        (How::Product, [one, two]) => product(one, two),
        (How::Elapsed, [from, to]) => elapsed(from, to, zone),
        (How::Later, [from, period]) => later(from, period, zone),
        _ => {
            let all: Vec<String> = of.iter().map(ToString::to_string).collect();
            Err(wrong(how, &all.join(", ")))
        }
    }
}

fn wrong(how: How, values: &str) -> Refused {
    Refused::Kinds {
        left: how.as_str().to_owned(),
        left_kind: "a way to work a value out",
        right: values.to_owned(),
        right_kind: "not what it takes",
    }
}

fn pair(how: How, one: &Value, two: &Value) -> Refused {
    wrong(how, &format!("{one}, {two}"))
}

fn inexact(one: &Value, two: &Value) -> Refused {
    Refused::Inexact { left: one.to_string(), right: two.to_string() }
}

/// The sum of two values, or what the first has more.
fn add(one: &Value, two: &Value, less: bool) -> Result<Value, Refused> {
    let how = if less { How::Difference } else { How::Sum };
    let sum = |a: Decimal, b: Decimal| {
        unit::sum(a, if less { -b } else { b }).ok_or_else(|| inexact(one, two))
    };
    match (one, two) {
        (Value::Number { number: a }, Value::Number { number: b }) => {
            Ok(Value::Number { number: sum(*a, *b)? })
        }
        (Value::Percent { number: a }, Value::Percent { number: b }) => {
            Ok(Value::Percent { number: sum(*a, *b)? })
        }
        (Value::Money { number: a, currency: c }, Value::Money { number: b, currency: d }) => {
            if c != d {
                let (left, right) = (one.to_string(), two.to_string());
                return Err(Refused::Currencies { left, right });
            }
            Ok(Value::Money { number: sum(*a, *b)?, currency: c.clone() })
        }
        (Value::Quantity { number: a, unit: u }, Value::Quantity { number: b, unit: v }) => {
            let known = |name: &str| {
                unit::find(name).ok_or_else(|| Refused::Unit { unit: name.to_owned() })
            };
            let (to, from) = (known(u)?, known(v)?);
            if to.dimension != from.dimension {
                return Err(Refused::Dimensions {
                    left: one.to_string(),
                    left_dimension: to.dimension,
                    right: two.to_string(),
                    right_dimension: from.dimension,
                });
            }
            let b = unit::convert(*b, from, to).ok_or_else(|| inexact(one, two))?;
            Ok(Value::Quantity { number: sum(*a, b)?, unit: u.clone() })
        }
        _ => Err(pair(how, one, two)),
    }
}

fn product(one: &Value, two: &Value) -> Result<Value, Refused> {
    let (factor, other) = match (one, two) {
        (Value::Number { number }, other) | (other, Value::Number { number }) => (*number, other),
        (Value::Percent { number }, other) | (other, Value::Percent { number }) => {
            let hundredth = Decimal::new(1, 2);
            (unit::product(*number, hundredth).ok_or_else(|| inexact(one, two))?, other)
        }
        _ => return Err(pair(How::Product, one, two)),
    };
    let times = |number: Decimal| unit::product(number, factor).ok_or_else(|| inexact(one, two));
    match other {
        Value::Number { number } => Ok(Value::Number { number: times(*number)? }),
        Value::Percent { number } => Ok(Value::Percent { number: times(*number)? }),
        Value::Money { number, currency } => {
            Ok(Value::Money { number: times(*number)?, currency: currency.clone() })
        }
        Value::Quantity { number, unit } => {
            Ok(Value::Quantity { number: times(*number)?, unit: unit.clone() })
        }
        _ => Err(pair(How::Product, one, two)),
    }
}

fn elapsed(from: &Value, to: &Value, zone: &TimeZone) -> Result<Value, Refused> {
    let day = |value: &Value| match value {
        Value::Date { date } => Some(*date),
        Value::Instant { instant } => Some(instant.to_zoned_datetime(zone.clone()).date()),
        _ => None,
    };
    let (Some(first), Some(last)) = (day(from), day(to)) else {
        return Err(pair(How::Elapsed, from, to));
    };
    let days = first.until(last).map_err(|_far| Refused::Calendar { value: to.to_string() })?;
    Ok(Value::Quantity { number: Decimal::from(days.get_days()), unit: "d".to_owned() })
}

fn later(from: &Value, period: &Value, zone: &TimeZone) -> Result<Value, Refused> {
    let Some(span) = span(period) else { return Err(pair(How::Later, from, period)) };
    let far = |_far| Refused::Calendar { value: format!("{from} and {period}") };
    match from {
        Value::Date { date } if span.get_seconds() == 0 => {
            Ok(Value::Date { date: date.checked_add(span).map_err(far)? })
        }
        Value::Instant { instant } => {
            let then = instant.to_zoned_datetime(zone.clone()).checked_add(span).map_err(far)?;
            Ok(Value::Instant { instant: then.timestamp() })
        }
        _ => Err(pair(How::Later, from, period)),
    }
}

/// A period in whole months, days or seconds.
fn span(period: &Value) -> Option<Span> {
    let Value::Quantity { number, unit } = period else { return None };
    let unit = unit::find(unit)?;
    let whole = |symbol: &str| {
        let number = unit::convert(*number, unit, unit::find(symbol)?)?;
        if number.fract().is_zero() { number.to_i64() } else { None }
    };
    match unit.dimension {
        "calendar time" => Span::new().try_months(whole("month")?).ok(),
        "time" => match whole("d") {
            Some(days) => Span::new().try_days(days).ok(),
            None => Some(0.days()).and_then(|_| Span::new().try_seconds(whole("s")?).ok()),
        },
        _ => None,
    }
}
