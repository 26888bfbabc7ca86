//! Compares two values: the values and an operator in, whether it holds and why out, or a refusal.
//! Exact: nothing is rounded, and what would have to be is refused.

use std::cmp::Ordering;
use std::fmt;

use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::unit;
use super::value::Value;

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Operator {
    /// Less; of dates, earlier.
    #[serde(rename = "<")]
    Less,
    /// At most.
    #[serde(rename = "<=")]
    AtMost,
    /// Equal.
    #[serde(rename = "=", alias = "==")]
    Equal,
    /// At least.
    #[serde(rename = ">=")]
    AtLeast,
    /// More; of dates, later.
    #[serde(rename = ">")]
    More,
    /// Not equal.
    #[serde(rename = "!=")]
    NotEqual,
    /// A member of a set; of two sets, all members are.
    #[serde(rename = "in")]
    In,
    /// Inside a range, its ends included; of two ranges, both ends are.
    #[serde(rename = "within")]
    Within,
    /// Earlier, of dates and instants only.
    #[serde(rename = "before")]
    Before,
    /// Later, of dates and instants only.
    #[serde(rename = "after")]
    After,
}

impl Operator {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Less,
        Self::AtMost,
        Self::Equal,
        Self::AtLeast,
        Self::More,
        Self::NotEqual,
        Self::In,
        Self::Within,
        Self::Before,
        Self::After,
    ];

    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Equal => "=",
            Self::AtLeast => ">=",
            Self::More => ">",
            Self::NotEqual => "!=",
            Self::In => "in",
            Self::Within => "within",
            Self::Before => "before",
            Self::After => "after",
        }
    }

    /// Reads an operator; also the signs that models write for one.
    pub fn parse(text: &str) -> Option<Self> {
        let known = match text.trim() {
            "==" => "=",
            "≤" | "=<" => "<=",
            "≥" | "=>" => ">=",
            "≠" | "<>" => "!=",
            other => other,
        };
        Self::ALL.into_iter().find(|one| one.as_str() == known)
    }

    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less | Self::Before => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Equal | Self::In | Self::Within => order.is_eq(),
            Self::AtLeast => order.is_ge(),
            Self::More | Self::After => order.is_gt(),
            Self::NotEqual => order.is_ne(),
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What came out of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// Whether it holds.
    pub holds: bool,
    /// The left value.
    pub left: Value,
    /// The right value.
    pub right: Value,
    /// Both, and how they stand to each other, in words.
    pub why: String,
}

/// Why two values cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// They are of different kinds.
    #[error(
        "`{left}` is {left_kind} and `{right}` is {right_kind}: compare values of one kind, and write the unit, the currency or the % with each"
    )]
    Kinds {
        /// The left one.
        left: String,
        /// Its kind.
        left_kind: &'static str,
        /// The right one.
        right: String,
        /// Its kind.
        right_kind: &'static str,
    },
    /// Their units measure different things.
    #[error(
        "`{left}` measures {left_dimension} and `{right}` measures {right_dimension}: compare values of one dimension"
    )]
    Dimensions {
        /// The left one.
        left: String,
        /// What its unit measures.
        left_dimension: &'static str,
        /// The right one.
        right: String,
        /// What its unit measures.
        right_dimension: &'static str,
    },
    /// Their currencies differ.
    #[error(
        "`{left}` and `{right}` are of different currencies, and no rate is evidence: look for the amount in one currency"
    )]
    Currencies {
        /// The left one.
        left: String,
        /// The right one.
        right: String,
    },
    /// The table of units does not have it.
    #[error("there is no unit `{unit}`: write one such as kg, m, min, days, pcs")]
    Unit {
        /// As it was written.
        unit: String,
    },
    /// The operator does not go with the values.
    #[error("`{operator}` does not compare {kind}: use {mend}")]
    Operator {
        /// The operator.
        operator: Operator,
        /// What was to be compared.
        kind: &'static str,
        /// Operators that do.
        mend: &'static str,
    },
    /// Too many digits for an exact result.
    #[error(
        "`{left}` and `{right}` have more digits than can be computed exactly: round them first"
    )]
    Inexact {
        /// The left one.
        left: String,
        /// The right one.
        right: String,
    },
    /// A date or time that the calendar does not reach.
    #[error("`{value}` is outside of the calendar")]
    Calendar {
        /// What was computed with.
        value: String,
    },
}

/// Compares two values.
///
/// - Numbers, percentages and amounts of one currency by their size; quantities of one dimension in
///   their base unit, by exact factors.
/// - Dates by their day, instants by their time; an instant beside a date by its day in `zone`.
/// - Yes and no, texts and sets only by `=`, `!=` and `in`; texts without regard to case and width.
///
/// # Errors
/// [`Refused`], where the two do not belong together or the result would not be exact.
pub fn compare(
    left: &Value,
    operator: Operator,
    right: &Value,
    zone: &TimeZone,
) -> Result<Compared, Refused> {
    let holds = match operator {
        Operator::In => is_in(left, right, zone)?,
        Operator::Within => is_within(left, right, zone)?,
        Operator::Before | Operator::After if !(is_time(left) && is_time(right)) => {
            let kind = if is_time(left) { right.kind() } else { left.kind() };
            return Err(Refused::Operator { operator, kind, mend: "<, <=, =, >=, > or !=" });
        }
        _ => by_order(left, operator, right, zone)?,
    };
    let not = if holds { "holds" } else { "does not hold" };
    let why = format!("{left} {operator} {right} {not}{}", base(left, right));
    Ok(Compared { holds, left: left.clone(), right: right.clone(), why })
}

/// Two quantities of different units, in the base unit that they were compared in.
fn base(left: &Value, right: &Value) -> String {
    match (left, right) {
        (
            Value::Quantity { number: one, unit: first },
            Value::Quantity { number: two, unit: second },
        ) if first != second => {
            let in_first = unit::find(first)
                .zip(unit::find(second))
                .and_then(|(to, from)| unit::convert(*two, from, to));
            let in_second = unit::find(first)
                .zip(unit::find(second))
                .and_then(|(from, to)| unit::convert(*one, from, to));
            match (in_first, in_second) {
                (Some(number), _) => format!(" ({right} is {number} {first})"),
                (None, Some(number)) => format!(" ({left} is {number} {second})"),
                (None, None) => String::new(),
            }
        }
        _ => String::new(),
    }
}

const fn is_time(value: &Value) -> bool {
    matches!(value, Value::Date { .. } | Value::Instant { .. })
}

fn by_order(
    left: &Value,
    operator: Operator,
    right: &Value,
    zone: &TimeZone,
) -> Result<bool, Refused> {
    if let Some(order) = order(left, right, zone)? {
        return Ok(operator.holds(order));
    }
    let same = match (left, right) {
        (Value::Bool { holds: one }, Value::Bool { holds: two }) => one == two,
        (Value::Text { text: one }, Value::Text { text: two }) => fold(one) == fold(two),
        (Value::Set { .. }, Value::Set { .. }) => {
            is_in(left, right, zone)? && is_in(right, left, zone)?
        }
        (Value::Range { from: one, to: other }, Value::Range { from: first, to: last }) => {
            let equal = |one, two| by_order(one, Operator::Equal, two, zone);
            equal(one, first)? && equal(other, last)?
        }
        _ => return Err(kinds(left, right)),
    };
    match operator {
        Operator::Equal => Ok(same),
        Operator::NotEqual => Ok(!same),
        _ => Err(Refused::Operator { operator, kind: left.kind(), mend: "=, != or in" }),
    }
}

/// Which of two values is larger; `None` where they are of kinds without an order.
fn order(left: &Value, right: &Value, zone: &TimeZone) -> Result<Option<Ordering>, Refused> {
    let order = match (left, right) {
        (Value::Number { number: one }, Value::Number { number: two })
        | (Value::Percent { number: one }, Value::Percent { number: two }) => one.cmp(two),
        (
            Value::Money { number: one, currency: first },
            Value::Money { number: two, currency: second },
        ) => {
            if first != second {
                let (left, right) = (left.to_string(), right.to_string());
                return Err(Refused::Currencies { left, right });
            }
            one.cmp(two)
        }
        (
            Value::Quantity { number: one, unit: first },
            Value::Quantity { number: two, unit: second },
        ) => sizes((*one, first), (*two, second))?,
        (Value::Date { date: one }, Value::Date { date: two }) => one.cmp(two),
        (Value::Instant { instant: one }, Value::Instant { instant: two }) => one.cmp(two),
        (Value::Date { date }, Value::Instant { instant }) => {
            date.cmp(&instant.to_zoned_datetime(zone.clone()).date())
        }
        (Value::Instant { instant }, Value::Date { date }) => {
            instant.to_zoned_datetime(zone.clone()).date().cmp(date)
        }
        _ => return Ok(None),
    };
    Ok(Some(order))
}

fn sizes(left: (Decimal, &str), right: (Decimal, &str)) -> Result<Ordering, Refused> {
    let known =
        |name: &str| unit::find(name).ok_or_else(|| Refused::Unit { unit: name.to_owned() });
    let (one, two) = (known(left.1)?, known(right.1)?);
    let shown = |side: (Decimal, &str)| format!("{} {}", side.0, side.1);
    if one.dimension != two.dimension {
        return Err(Refused::Dimensions {
            left: shown(left),
            left_dimension: one.dimension,
            right: shown(right),
            right_dimension: two.dimension,
        });
    }
    unit::order((left.0, one), (right.0, two))
        .ok_or_else(|| Refused::Inexact { left: shown(left), right: shown(right) })
}

fn is_in(left: &Value, right: &Value, zone: &TimeZone) -> Result<bool, Refused> {
    let Value::Set { members } = right else {
        let (operator, kind) = (Operator::In, right.kind());
        return Err(Refused::Operator { operator, kind, mend: "a set on the right, or =" });
    };
    if let Value::Set { members: wanted } = left {
        for one in wanted {
            if !is_in(one, right, zone)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    let mut refused = None;
    for member in members {
        match by_order(left, Operator::Equal, member, zone) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(wrong) => refused = refused.or(Some(wrong)),
        }
    }
    refused.map_or(Ok(false), Err)
}

fn is_within(left: &Value, right: &Value, zone: &TimeZone) -> Result<bool, Refused> {
    let Value::Range { from, to } = right else {
        let (operator, kind) = (Operator::Within, right.kind());
        return Err(Refused::Operator { operator, kind, mend: "a range on the right, or <=" });
    };
    let (least, most) = match left {
        Value::Range { from, to } => (from.as_ref(), to.as_ref()),
        single => (single, single),
    };
    Ok(by_order(least, Operator::AtLeast, from, zone)?
        && by_order(most, Operator::AtMost, to, zone)?)
}

fn kinds(left: &Value, right: &Value) -> Refused {
    Refused::Kinds {
        left: left.to_string(),
        left_kind: left.kind(),
        right: right.to_string(),
        right_kind: right.kind(),
    }
}

/// A text without case, width and space at its ends.
fn fold(text: &str) -> String {
    use unicode_normalization::UnicodeNormalization;
    text.nfkc().collect::<String>().trim().to_lowercase()
}
