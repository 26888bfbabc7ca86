//! Exact values of numbers in JSON text: a spelling in, its one value out, which compares and is spelled
//! again. Never by way of floating point: that is too short for ids and for bounds of databases.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Largest whole number written out in digits.
const MAX_WHOLE_DIGITS: i64 = 100;

/// An exact decimal: 0.DIGITS times ten to the `point`. No digits means zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    digits: String,
    point: i64,
}

impl Decimal {
    /// The value of a JSON number; `None` for other text, and beyond exponents of 32 bits.
    pub(crate) fn parse(spelling: &str) -> Option<Self> {
        let (mantissa, exponent) = split(spelling);
        let exponent = exponent.map_or(Ok(0), str::parse::<i32>).ok()?;
        Self::build(mantissa, i64::from(exponent))
    }

    /// The value of a number; an exponent that is beyond all sense stays beyond it.
    fn of(number: &Number) -> Self {
        let (mantissa, exponent) = split(number.as_str());
        let far = |text: &str| if text.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
        let exponent = exponent.map_or(0, |text| text.parse().unwrap_or_else(|_| far(text)));
        let zero = Self { negative: false, digits: String::new(), point: 0 };
        Self::build(mantissa, exponent.clamp(i64::MIN / 2, i64::MAX / 2)).unwrap_or(zero)
    }

    fn build(mantissa: &str, exponent: i64) -> Option<Self> {
        let unsigned = mantissa.strip_prefix('-');
        let mantissa = unsigned.unwrap_or(mantissa);
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{integer}{fraction}");
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let led = all.trim_start_matches('0');
        let leading = i64::try_from(all.len() - led.len()).ok()?;
        let digits = led.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Self { negative: false, digits, point: 0 });
        }
        let point = i64::try_from(integer.len()).ok()? - leading;
        Some(Self { negative: unsigned.is_some(), digits, point: point.saturating_add(exponent) })
    }

    /// Below, at or above zero.
    fn side(&self) -> Ordering {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => Ordering::Equal,
            (false, true) => Ordering::Less,
            (false, false) => Ordering::Greater,
        }
    }

    fn zeros(count: i64) -> String {
        "0".repeat(usize::try_from(count).unwrap_or_default())
    }

    fn sign(&self) -> &'static str {
        if self.negative { "-" } else { "" }
    }

    /// The digits of a whole number of at most [`MAX_WHOLE_DIGITS`].
    pub(crate) fn whole(&self) -> Option<String> {
        if self.digits.is_empty() {
            return Some("0".to_owned());
        }
        let missing = self.point - i64::try_from(self.digits.len()).ok()?;
        (missing >= 0 && self.point <= MAX_WHOLE_DIGITS).then(|| {
            let Self { digits, .. } = self;
            format!("{}{digits}{}", self.sign(), Self::zeros(missing))
        })
    }

    /// The spelling that ECMAScript gives numbers, with all digits.
    pub(crate) fn spell(&self) -> String {
        let Self { digits, point, .. } = self;
        let sign = self.sign();
        if digits.is_empty() {
            return "0".to_owned();
        }
        let count = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        match *point {
            point if count <= point && point <= 21 => {
                format!("{sign}{digits}{}", Self::zeros(point - count))
            }
            point if 0 < point && point <= 21 => {
                let (integer, fraction) = digits
                    .split_at_checked(usize::try_from(point).unwrap_or_default())
                    .unwrap_or((digits, ""));
                format!("{sign}{integer}.{fraction}")
            }
            point if -6 < point && point <= 0 => {
                format!("{sign}0.{}{digits}", Self::zeros(-point))
            }
            point => {
                let (first, more) = digits.split_at_checked(1).unwrap_or((digits, ""));
                let dot = if more.is_empty() { "" } else { "." };
                let plus = if point > 0 { "+" } else { "" };
                format!("{sign}{first}{dot}{more}e{plus}{}", point - 1)
            }
        }
    }
}

/// A number's mantissa, and the text of its exponent.
fn split(spelling: &str) -> (&str, Option<&str>) {
    match spelling.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (spelling, None),
    }
}

/// Digits of a number that stores keep, and how far they may stand from the point.
const STORED: i64 = 1000;

/// Whether stores can keep a number with all its digits.
pub(crate) fn is_storable(number: &Number) -> bool {
    let is_finite = number.as_f64().is_some_and(f64::is_finite);
    let number = Decimal::of(number);
    let digits = i64::try_from(number.digits.len()).unwrap_or(i64::MAX);
    is_finite && digits <= STORED && number.point.saturating_abs() <= STORED
}

/// The one spelling of a number's value.
pub(crate) fn spell(number: &Number) -> String {
    Decimal::of(number).spell()
}

/// Which of two numbers is larger.
pub(crate) fn compare(one: &Number, two: &Number) -> Ordering {
    // Rounding keeps the order, so that only what it makes equal needs all digits.
    let rounded = one.as_f64().zip(two.as_f64()).and_then(|(one, two)| one.partial_cmp(&two));
    if let Some(order @ (Ordering::Less | Ordering::Greater)) = rounded {
        return order;
    }
    let (one, two) = (Decimal::of(one), Decimal::of(two));
    let size = || one.point.cmp(&two.point).then_with(|| one.digits.cmp(&two.digits));
    one.side().cmp(&two.side()).then_with(|| match one.side() {
        Ordering::Equal => Ordering::Equal,
        Ordering::Less => size().reverse(),
        Ordering::Greater => size(),
    })
}

/// The same of two values; `None` when one is no number.
pub(crate) fn compare_values(one: &Value, two: &Value) -> Option<Ordering> {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => Some(compare(one, two)),
        _ => None,
    }
}

/// Whether a number has no fraction, as JSON Schema's `integer` wants it.
pub(crate) fn is_whole(number: &Number) -> bool {
    let number = Decimal::of(number);
    i64::try_from(number.digits.len()).is_ok_and(|count| count <= number.point.max(0))
}

/// Whether a number is above zero.
pub(crate) fn is_positive(number: &Number) -> bool {
    Decimal::of(number).side() == Ordering::Greater
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap()
    }

    #[test]
    fn numbers_compare_by_their_value_and_not_by_their_spelling() {
        let rising = [
            "-1e400",
            "-18446744073709551617",
            "-18446744073709551616",
            "-1.5",
            "-0.1",
            "0",
            "1e-400",
            "0.1",
            "0.10000000000000000001",
            "1",
            "9",
            "10",
            "18446744073709551616",
            "18446744073709551616.5",
            "18446744073709551617",
            "1e400",
        ];
        for (at, one) in rising.iter().enumerate() {
            for (beside, two) in rising.iter().enumerate() {
                assert_eq!(compare(&number(one), &number(two)), at.cmp(&beside), "{one} {two}");
            }
        }
        for (one, two) in [("1", "1.0"), ("100", "1e2"), ("-0", "0.00"), ("0.05", "5E-2")] {
            assert_eq!(compare(&number(one), &number(two)), Ordering::Equal, "{one} {two}");
        }
        for (text, whole) in
            [("1e400", true), ("5.0", true), ("1.5e1", true), ("1.55e1", false), ("0.0", true)]
        {
            assert_eq!(is_whole(&number(text)), whole, "{text}");
        }
        assert!(!is_whole(&number("10000000000000000000000.5")));
        assert!(is_positive(&number("1e-400")) && !is_positive(&number("-1")));
    }

    proptest! {
        #[test]
        fn small_numbers_compare_as_floats_do(one in -1e9..1e9_f64, two in -1e9..1e9_f64) {
            let number = |value: f64| Number::from_f64(value).unwrap();
            let exact = compare(&number(one), &number(two));
            prop_assert_eq!(exact, one.partial_cmp(&two).unwrap());
        }
    }
}
