//! Values that evidence states, exact: numbers are decimals, never floating point. Computes nothing.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};

/// One value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Value {
    /// A number without a unit.
    Number {
        /// The number.
        number: Decimal,
    },
    /// A number with a unit of measure.
    Quantity {
        /// The number.
        number: Decimal,
        /// The unit's symbol, as the table of units has it.
        unit: String,
    },
    /// An amount of money; currencies do not convert.
    Money {
        /// The amount.
        number: Decimal,
        /// Its currency by ISO 4217.
        currency: String,
    },
    /// A share, in hundredths.
    Percent {
        /// So many hundredths.
        number: Decimal,
    },
    /// A day, in the zone of the trace.
    Date {
        /// The day.
        date: Date,
    },
    /// An instant.
    Instant {
        /// The instant.
        instant: Timestamp,
    },
    /// Yes or no.
    Bool {
        /// Which.
        holds: bool,
    },
    /// Words; spaces at the ends and case do not matter when they are compared.
    Text {
        /// The words.
        text: String,
    },
    /// Several values.
    Set {
        /// Its members.
        members: BTreeSet<Value>,
    },
    /// All from one value to another, both included.
    Range {
        /// The least.
        from: Box<Value>,
        /// The most.
        to: Box<Value>,
    },
}

impl Value {
    /// A yes or no.
    pub const fn of(holds: bool) -> Self {
        Self::Bool { holds }
    }

    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// What kind of value it is, in words.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Number { .. } => "a number",
            Self::Quantity { .. } => "a quantity",
            Self::Money { .. } => "an amount of money",
            Self::Percent { .. } => "a percentage",
            Self::Date { .. } => "a date",
            Self::Instant { .. } => "an instant",
            Self::Bool { .. } => "a yes or no",
            Self::Text { .. } => "a text",
            Self::Set { .. } => "a set",
            Self::Range { .. } => "a range",
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { number } => write!(f, "{number}"),
            Self::Quantity { number, unit } => write!(f, "{number} {unit}"),
            Self::Money { number, currency } => write!(f, "{number} {currency}"),
            Self::Percent { number } => write!(f, "{number}%"),
            Self::Date { date } => write!(f, "{date}"),
            Self::Instant { instant } => write!(f, "{instant}"),
            Self::Bool { holds: true } => f.write_str("yes"),
            Self::Bool { holds: false } => f.write_str("no"),
            Self::Text { text } => f.write_str(text),
            Self::Set { members } => {
                f.write_str("{")?;
                for (at, member) in members.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    write!(f, "{comma}{member}")?;
                }
                f.write_str("}")
            }
            Self::Range { from, to } => write!(f, "{from} to {to}"),
        }
    }
}

impl Value {
    /// The unit or currency of a value that has one.
    pub(super) fn unit(&self) -> Option<&str> {
        match self {
            Self::Quantity { unit, .. } => Some(unit),
            Self::Money { currency, .. } => Some(currency),
            Self::Percent { .. } => Some("%"),
            _ => None,
        }
    }

    /// The number of a value that has one.
    pub(super) const fn number(&self) -> Option<Decimal> {
        match self {
            Self::Number { number }
            | Self::Quantity { number, .. }
            | Self::Money { number, .. }
            | Self::Percent { number } => Some(*number),
            _ => None,
        }
    }

    /// The same with fewer decimal places; `None` where it has no number with so many.
    pub(super) fn rounded(&self, places: u32) -> Option<Self> {
        let mut value = self.clone();
        let (Self::Number { number }
        | Self::Quantity { number, .. }
        | Self::Money { number, .. }
        | Self::Percent { number }) = &mut value
        else {
            return None;
        };
        *number = Some(number.normalize()).filter(|number| number.scale() > places)?;
        *number = number.round_dp_with_strategy(places, RoundingStrategy::MidpointAwayFromZero);
        Some(value)
    }
}
