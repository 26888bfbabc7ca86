//! Reads values as people and programs write them: a text in, one exact value out. It guesses nothing:
//! what can be read in two ways is refused, and both readings are named.

mod date;
mod digits;
mod measure;
mod numeral;
mod several;

pub(super) use date::parts;
pub(super) use measure::{rate_before, word_behind};
pub(super) use numeral::is_size;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use super::unit;
use super::value::Value;
use measure::{After, behind, goes_on, sign};
use several::{range, set};

/// Longest text of a value that an error repeats, in characters.
const SHOWN: usize = 48;

/// The kind of value that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Type {
    /// A number without a unit.
    Number,
    /// A number with a unit of measure.
    Quantity,
    /// An amount of money.
    Money,
    /// A percentage.
    Percent,
    /// A day.
    Date,
    /// An instant.
    Instant,
    /// Yes or no.
    Bool,
    /// Words.
    Text,
    /// Several values.
    Set,
    /// From one value to another.
    Range,
}

/// What is known of a text before it is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Expect<'e> {
    /// The kind of value; `None` for any.
    pub kind: Option<Type>,
    /// The unit or currency of a number that has none; empty for none.
    pub unit: &'e str,
    /// Whether a program wrote it, for which a dot is always the decimal point.
    pub machine: bool,
}

/// Why a text is no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// It can be read in two ways.
    #[error("`{text}` can mean `{one}` or `{two}`: write the one that is meant")]
    Ambiguous {
        /// The text.
        text: String,
        /// One reading.
        one: String,
        /// The other.
        two: String,
    },
    /// A date without all its parts.
    #[error("`{text}` is no whole date: write it as 2026-03-01")]
    Part {
        /// The text.
        text: String,
    },
    /// No such day or time.
    #[error(
        "there is no day or time `{text}`: write a date such as 2026-03-01, or a time such as 2026-03-01T09:00:00+08:00"
    )]
    Calendar {
        /// The text.
        text: String,
    },
    /// What stands behind the number is no unit.
    #[error(
        "`{text}` has no unit that is known behind its number: write one such as kg, m, min, days, pcs, or a currency such as CNY"
    )]
    Unit {
        /// The text.
        text: String,
    },
    /// Separators that make no number.
    #[error(
        "`{text}` is no number: write it with a dot before its fraction and without other signs"
    )]
    Number {
        /// The text.
        text: String,
    },
    /// Too many digits.
    #[error("`{text}` has more than 28 digits: no exact value is kept for it")]
    Long {
        /// The text.
        text: String,
    },
    /// It is of another kind.
    #[error("`{text}` is {is}, where {wanted} is wanted")]
    Kind {
        /// The text.
        text: String,
        /// What it is.
        is: &'static str,
        /// What was wanted.
        wanted: &'static str,
    },
    /// There is nothing.
    #[error("there is no value: write one")]
    Empty,
}

/// What stands at the beginning of a text: the value or why it is none, and its bytes.
pub(super) type Lead = (Result<Value, Unread>, usize);

/// A text in the form in which it is read: full-width signs as plain ones, one minus sign, one dot
/// between units.
pub(super) fn normal(text: &str) -> String {
    let plain = |c: char| match c {
        '\u{2212}' | '\u{2010}' | '\u{2011}' => '-',
        '\u{22c5}' | '\u{2219}' | '\u{2022}' => '·',
        c => c,
    };
    text.nfkc().map(plain).collect()
}

/// Reads one value.
///
/// - Numbers: `15,000`, `1.5万`, `八千`, `eight thousand`. `1.234` is refused unless a program wrote it.
/// - Quantities and money: `5 kg`, `三公斤`, `¥8,000`, `1.5万元`, `CNY 300`; shares: `5%`, `百分之五`.
/// - Dates: `2026-03-01`, `2026年3月1日`, `1 March 2026`; `03/04/2026` is refused. Instants: RFC 3339;
///   without an offset in `zone`.
/// - Sets: `["a", "b"]`, or `a, b` where a set is wanted. Ranges: `10..20 kg`, `10 to 20 kg`.
///
/// # Errors
/// [`Unread`], with what to write instead.
pub fn read(text: &str, expect: &Expect<'_>, zone: &TimeZone) -> Result<Value, Unread> {
    let normal = normal(text);
    let text = normal.trim();
    if text.is_empty() {
        return Err(Unread::Empty);
    }
    let value = match expect.kind {
        Some(Type::Text) => Value::text(text),
        Some(Type::Set) => set(text, expect, zone)?,
        Some(Type::Range) => {
            range(text, expect, zone).ok_or_else(|| other(text, Type::Range))??
        }
        _ => any(text, expect, zone)?,
    };
    fit(text, with_unit(value, expect.unit), expect.kind, zone)
}

/// A value of any kind.
fn any(text: &str, expect: &Expect<'_>, zone: &TimeZone) -> Result<Value, Unread> {
    if let Some(holds) = truth(text) {
        return Ok(Value::of(holds));
    }
    if text.starts_with('[') {
        return set(text, expect, zone);
    }
    match lead(text, expect, zone) {
        Some((found, length)) if length == text.len() => found,
        Some((found, length)) => {
            if let Some(range) = range(text, expect, zone) {
                return range;
            }
            found?;
            let rest = text.get(length..).unwrap_or_default().trim_start();
            // A number inside of an id or a name is part of a text.
            let is_name = text.contains(|c: char| c.is_ascii_alphabetic()) && !text.contains(' ');
            match is_name && !rest.starts_with(char::is_alphabetic) {
                true => Ok(Value::text(text)),
                false => Err(Unread::Unit { text: shown(text) }),
            }
        }
        None => Ok(Value::text(text)),
    }
}

/// What a text begins with, where that is a date, an instant or a number with what belongs to it.
pub(super) fn lead(text: &str, expect: &Expect<'_>, zone: &TimeZone) -> Option<Lead> {
    date::lead(text, zone).or_else(|| amount(text, expect))
}

/// A number with its sign of currency before it, or its unit, currency or % behind it.
fn amount(text: &str, expect: &Expect<'_>) -> Option<Lead> {
    if let Some((share, end)) = share(text, expect) {
        let share = match goes_on(text.get(end..)?) {
            Some(more) => (Err(Unread::Unit { text: shown(text.get(..end + more)?) }), end + more),
            None => (share, end),
        };
        return Some(share);
    }
    let (before, skip) = match sign(text, expect.unit) {
        Some((code, length)) => (code, length),
        None => ("", 0),
    };
    let rest = text.get(skip..)?;
    let spaces = rest.len() - rest.trim_start_matches(' ').len();
    let (number, length) = number(rest.trim_start_matches(' '), expect.machine)?;
    let end = skip + spaces + length;
    let number = match number {
        Ok(number) => number,
        Err(wrong) => return Some((Err(wrong), end + behind(text, end, expect.unit).1)),
    };
    let (value, more) = behind(text, end, expect.unit);
    let value = match (before, value) {
        ("", After::Nothing) => Ok(Value::Number { number }),
        ("", After::Percent) => Ok(Value::Percent { number }),
        ("", After::Unit(unit)) => Ok(Value::Quantity { number, unit: unit.to_owned() }),
        ("", After::Money(code)) => Ok(Value::Money { number, currency: code.to_owned() }),
        ("", After::Unknown) => Err(Unread::Unit { text: shown(text.get(..end + more)?) }),
        (code, After::Nothing) => Ok(Value::Money { number, currency: code.to_owned() }),
        (code, After::Money(other)) if code == other => {
            Ok(Value::Money { number, currency: code.to_owned() })
        }
        _ => Err(Unread::Unit { text: shown(text.get(..end + more)?) }),
    };
    Some((value, end + more))
}

/// `百分之五`, `千分之三`.
fn share(text: &str, expect: &Expect<'_>) -> Option<Lead> {
    let (rest, scale) = match text.strip_prefix("百分之") {
        Some(rest) => (rest, 0),
        None => (text.strip_prefix("千分之")?, 1),
    };
    let (number, length) = number(rest, expect.machine)?;
    let skip = text.len() - rest.len();
    let share = number.and_then(|number| {
        let number = unit::product(number, Decimal::new(1, scale));
        let number = number.ok_or_else(|| Unread::Long { text: shown(text) })?;
        Ok(Value::Percent { number })
    });
    Some((share, skip + length))
}

/// The first number of a text, whatever belongs to it.
pub(super) fn plain(text: &str) -> Option<Value> {
    let first = text.char_indices().find_map(|(at, _)| number(text.get(at..)?, false));
    first?.0.ok().map(|number| Value::Number { number })
}

/// A number in digits, numerals or words, and its bytes.
fn number(text: &str, machine: bool) -> Option<(Result<Decimal, Unread>, usize)> {
    numeral::chinese(text, machine)
        .or_else(|| numeral::english(text))
        .or_else(|| digits::lead(text, machine))
}

/// Whether a Latin word can end before this.
pub(super) fn is_edge(rest: Option<&str>) -> bool {
    let goes_on = |c: char| c == '_' || (c.is_alphanumeric() && !is_east_asian(c));
    !rest.is_some_and(|rest| rest.starts_with(goes_on))
}

/// Whether a character is of a script that puts no spaces between words.
const fn is_east_asian(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

fn truth(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "true" | "yes" | "是" => Some(true),
        "false" | "no" | "否" => Some(false),
        _ => None,
    }
}

/// A plain number with the unit that is taken where it has none.
fn with_unit(value: Value, unit: &str) -> Value {
    let Value::Number { number } = value else { return value };
    if unit == "%" {
        return Value::Percent { number };
    }
    match (unit::currency(unit, unit), unit::find(unit)) {
        (Some(code), _) => Value::Money { number, currency: code.to_owned() },
        (None, Some(unit)) => Value::Quantity { number, unit: unit.symbol.to_owned() },
        (None, None) => value,
    }
}

/// The value as the kind that is wanted, where it is of that kind.
fn fit(text: &str, value: Value, kind: Option<Type>, zone: &TimeZone) -> Result<Value, Unread> {
    let Some(kind) = kind else { return Ok(value) };
    match (kind, value) {
        (Type::Date, Value::Instant { instant }) => {
            Ok(Value::Date { date: instant.to_zoned_datetime(zone.clone()).date() })
        }
        (kind, value) if kind.has(&value) => Ok(value),
        (kind, value) => {
            let (is, wanted) = (value.kind(), kind.words());
            Err(Unread::Kind { text: shown(text), is, wanted })
        }
    }
}

fn other(text: &str, wanted: Type) -> Unread {
    Unread::Kind { text: shown(text), is: "something else", wanted: wanted.words() }
}

impl Type {
    /// Whether a value is of this kind.
    pub(super) const fn has(self, value: &Value) -> bool {
        matches!(
            (self, value),
            (Self::Number, Value::Number { .. })
                | (Self::Quantity, Value::Quantity { .. })
                | (Self::Money, Value::Money { .. })
                | (Self::Percent, Value::Percent { .. })
                | (Self::Date, Value::Date { .. })
                | (Self::Instant, Value::Instant { .. })
                | (Self::Bool, Value::Bool { .. })
                | (Self::Text, Value::Text { .. })
                | (Self::Set, Value::Set { .. })
                | (Self::Range, Value::Range { .. })
        )
    }

    /// In words.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Quantity => "a quantity with its unit",
            Self::Money => "an amount with its currency",
            Self::Percent => "a percentage",
            Self::Date => "a date",
            Self::Instant => "an instant",
            Self::Bool => "yes or no",
            Self::Text => "a text",
            Self::Set => "a set",
            Self::Range => "a range",
        }
    }
}

/// A text as an error shows it.
pub(super) fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect()
}

/// An instant as text, which [`read`] reads again.
pub(super) fn spell(instant: Timestamp) -> String {
    instant.to_string()
}
