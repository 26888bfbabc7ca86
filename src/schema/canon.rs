//! The one canonical spelling of a JSON value (RFC 8785), and its digest. Unlike the RFC, a number
//! keeps its exact value: two numbers share a spelling only when they are equal.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Largest whole number written out in digits.
const MAX_WHOLE_DIGITS: i64 = 100;

/// The canonical JSON text of `value`: no spaces, keys in UTF-16 order, numbers in one spelling,
/// strings as they are (not normalised).
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// SHA-256 of `text`, in lower-case hex.
pub fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => out.push_str(&value.to_string()),
        Value::Number(number) => match Decimal::parse(number.as_str()) {
            Some(decimal) => out.push_str(&decimal.spell()),
            None => out.push_str(number.as_str()),
        },
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
            out.push('{');
            for (index, (key, item)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                write(item, out);
            }
            out.push('}');
        }
    }
}

/// The digits of a whole number, when `spelling` is one and not beyond all bounds.
pub(super) fn whole(spelling: &str) -> Option<String> {
    Decimal::parse(spelling)?.whole()
}

/// An exact decimal: 0.DIGITS times ten to the `point`. No digits means zero.
struct Decimal {
    negative: bool,
    digits: String,
    point: i64,
}

impl Decimal {
    fn parse(spelling: &str) -> Option<Self> {
        let unsigned = spelling.strip_prefix('-');
        let (mantissa, exponent) = match unsigned.unwrap_or(spelling).split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (unsigned.unwrap_or(spelling), 0),
        };
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
        Some(Self {
            negative: unsigned.is_some(),
            digits,
            point: i64::try_from(integer.len()).ok()? - leading + i64::from(exponent),
        })
    }

    fn zeros(count: i64) -> String {
        "0".repeat(usize::try_from(count).unwrap_or_default())
    }

    fn sign(&self) -> &'static str {
        if self.negative { "-" } else { "" }
    }

    fn whole(&self) -> Option<String> {
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
    fn spell(&self) -> String {
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
