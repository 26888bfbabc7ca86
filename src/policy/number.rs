//! JSON numbers in, the exact numbers that Cedar knows out: 64-bit integers and decimals with four
//! places. Never rounds: what does not fit exactly is `None`.

/// Places after the point of a Cedar decimal.
const PLACES: i64 = 4;
/// No number with more significant digits fits into 64 bits, whatever its exponent.
const MAX_DIGITS: usize = 24;

/// The value of a JSON number as a Cedar Long, if it is whole and fits.
pub(super) fn long(text: &str) -> Option<i64> {
    scaled(text, 0)
}

/// The value of a JSON number as the text of a Cedar decimal, if it fits exactly.
pub(super) fn decimal(text: &str) -> Option<String> {
    let value = scaled(text, PLACES)?;
    let sign = if value < 0 { "-" } else { "" };
    let magnitude = value.unsigned_abs();
    Some(format!("{sign}{}.{:04}", magnitude / 10_000, magnitude % 10_000))
}

/// The value times ten to the power of `places`, if that is whole and fits.
fn scaled(text: &str, places: i64) -> Option<i64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>()),
        None => (text, Ok(0)),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let trimmed = digits.trim_end_matches('0');
    let dropped = i64::try_from(digits.len() - trimmed.len()).ok()?;
    let significant = trimmed.trim_start_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    let power = exponent
        .ok()?
        .checked_sub(i64::try_from(fraction.len()).ok()?)?
        .checked_add(dropped)?
        .checked_add(places)?;
    let power = u32::try_from(power).ok().filter(|power| *power <= 19)?;
    if significant.len() > MAX_DIGITS {
        return None;
    }
    let value = significant.parse::<i128>().ok()?.checked_mul(10_i128.checked_pow(power)?)?;
    i64::try_from(if negative { -value } else { value }).ok()
}
