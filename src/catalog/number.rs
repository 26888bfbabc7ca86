//! Two JSON numbers in, which is larger out: exactly, by their digits, however large they are. Floats
//! are too short for ids and for what schemas of databases have as bounds.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// A number as digits without zeros around them, and where its point stands.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    /// Empty for zero.
    digits: String,
    /// Power of ten of the first digit, and one more.
    power: i64,
}

impl Decimal {
    fn of(number: &Number) -> Self {
        let text = number.as_str();
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read(exponent)),
            None => (text, 0),
        };
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{part}");
        let digits = all.trim_start_matches('0');
        let leading = all.len() - digits.len();
        let digits = digits.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Self { negative: false, digits, power: 0 };
        }
        let length = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let power = exponent.saturating_add(length(whole.len())).saturating_sub(length(leading));
        Self { negative, digits, power }
    }

    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }
}

/// An exponent; what is beyond all sense stays beyond it.
fn read(exponent: &str) -> i64 {
    let beyond = if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
    exponent.parse().unwrap_or(beyond).clamp(i64::MIN / 2, i64::MAX / 2)
}

/// Which of two numbers is larger.
pub(super) fn compare(one: &Number, two: &Number) -> Ordering {
    let (one, two) = (Decimal::of(one), Decimal::of(two));
    let size = || one.power.cmp(&two.power).then_with(|| one.digits.cmp(&two.digits));
    one.sign().cmp(&two.sign()).then_with(|| match one.sign() {
        0 => Ordering::Equal,
        -1 => size().reverse(),
        _ => size(),
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
pub(super) fn is_whole(number: &Number) -> bool {
    let number = Decimal::of(number);
    i64::try_from(number.digits.len()).is_ok_and(|count| count <= number.power.max(0))
}

/// Whether a number is above zero.
pub(super) fn is_positive(number: &Number) -> bool {
    Decimal::of(number).sign() > 0
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
