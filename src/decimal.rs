//! Exact values of numbers in JSON text: a spelling in, its one value out, which compares and is spelled
//! again. Never by way of floating point.

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
