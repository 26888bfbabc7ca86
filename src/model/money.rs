//! Exact money: decimal text in, an amount in one currency out, which is added and compared without a
//! loss. Nothing here is floating point.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// Digits after the point of an amount: those of a price of a million tokens, and six more for one.
const PLACES: usize = 12;
/// Digits after the point of a price of a million tokens.
const PRICE_PLACES: usize = 6;
/// Digits before the point.
const WHOLE: usize = 15;

/// A currency by its three letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

impl Default for Currency {
    fn default() -> Self {
        Self(*b"USD")
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|letter| write!(f, "{}", char::from(*letter)))
    }
}

impl FromStr for Currency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        <[u8; 3]>::try_from(text.as_bytes())
            .ok()
            .filter(|letters| letters.iter().all(u8::is_ascii_uppercase))
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no currency: write three capital letters, as USD"))
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// An amount that is not negative, exact to a millionth of a millionth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money {
    currency: Currency,
    /// In parts of 10 to the -12.
    parts: u128,
}

impl Money {
    /// Nothing.
    pub const fn zero(currency: Currency) -> Self {
        Self { currency, parts: 0 }
    }

    /// More than anything costs.
    pub(super) const fn most(currency: Currency) -> Self {
        Self { currency, parts: u128::MAX }
    }

    /// Reads decimal text such as `0.25`.
    pub fn parse(text: &str, currency: Currency) -> Result<Self, String> {
        Ok(Self { currency, parts: decimal(text, PLACES)? })
    }

    /// Its currency.
    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// Whether it is nothing.
    pub const fn is_zero(self) -> bool {
        self.parts == 0
    }

    /// The amount as decimal text.
    pub fn amount(self) -> String {
        let digits = format!("{:0width$}", self.parts, width = PLACES + 1);
        let (whole, fraction) =
            digits.split_at_checked(digits.len().saturating_sub(PLACES)).unwrap_or((&digits, ""));
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
    }

    /// Both together; what is of another currency does not count.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { parts: self.parts.saturating_add(self.parts_of(other)), ..self }
    }

    /// What is left of it; nothing where that would be less than nothing.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self { parts: self.parts.saturating_sub(self.parts_of(other)), ..self }
    }

    fn parts_of(self, other: Self) -> u128 {
        if self.currency == other.currency { other.parts } else { 0 }
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.amount(), self.currency)
    }
}

/// As text, for example `0.00125 USD`.
impl Serialize for Money {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let (amount, currency) = text.split_once(' ').unwrap_or((&text, ""));
        let currency = currency.parse().map_err(D::Error::custom)?;
        Self::parse(amount, currency).map_err(D::Error::custom)
    }
}

/// What a model costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Price {
    currency: Currency,
    /// Parts of 10 to the -12 for one token that is read, and for one that is written.
    read: u128,
    written: u128,
}

impl Price {
    /// Reads the prices of a million tokens.
    pub(super) fn parse(read: &str, written: &str, currency: Currency) -> Result<Self, String> {
        // A millionth of a millionth of the price: its last digits are those of one token.
        let read = decimal(read, PRICE_PLACES)?;
        Ok(Self { currency, read, written: decimal(written, PRICE_PLACES)? })
    }

    /// What so many tokens cost.
    pub(super) fn of(self, read: u64, written: u64) -> Money {
        let read = self.read.saturating_mul(u128::from(read));
        let written = self.written.saturating_mul(u128::from(written));
        Money { currency: self.currency, parts: read.saturating_add(written) }
    }

    /// How many tokens may be written for what is left after `read` were read; `None` for any number.
    pub(super) fn written_for(self, left: Money, read: u64) -> Option<u64> {
        let Some(rest) = left.parts.checked_sub(self.of(read, 0).parts) else { return Some(0) };
        Some(u64::try_from(rest.checked_div(self.written)?).unwrap_or(u64::MAX))
    }
}

/// Decimal text as a whole number of its last place.
fn decimal(text: &str, places: usize) -> Result<u128, String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = whole.len() <= WHOLE && fraction.len() <= places;
    if !(digits(whole) && digits(fraction) && fits) {
        return Err(format!(
            "`{}` is no amount: write digits with at most {places} after the point, as 0.25",
            text.chars().take(40).collect::<String>()
        ));
    }
    format!("{whole}{fraction:0<places$}").parse().map_err(|error| format!("`{text}`: {error}"))
}
