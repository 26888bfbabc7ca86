//! Numbers in digits: what stands at the beginning of a text in, its exact value out. A separator that
//! can be a decimal point or part thousands is refused.

use std::str::FromStr;

use rust_decimal::Decimal;

use super::{Unread, is_edge, shown};
use crate::evidence::unit;

/// The number in digits with which a text begins, with a word for its size, and its bytes.
pub(super) fn lead(text: &str, machine: bool) -> Option<(Result<Decimal, Unread>, usize)> {
    let length = length(text, machine)?;
    let spelled = text.get(..length)?;
    let number = if machine { by_program(spelled) } else { by_person(spelled) };
    let Some((power, more)) = size(text.get(length..)?) else { return Some((number, length)) };
    let number = number.and_then(|number| {
        let factor = 10_i64.checked_pow(power).map(Decimal::from);
        let number = factor.and_then(|factor| unit::product(number, factor));
        number.ok_or_else(|| Unread::Long { text: shown(text) })
    });
    Some((number, length + more))
}

/// The bytes of a sign, digits, and the separators between them.
pub(super) fn length(text: &str, machine: bool) -> Option<usize> {
    let signed = usize::from(text.starts_with(['-', '+']));
    let mut end = 0;
    let mut exponent = false;
    for (at, c) in text.char_indices().skip(signed) {
        match c {
            '0'..='9' => end = at + 1,
            '.' | ',' if at > signed && end == at && !exponent => {}
            'e' | 'E' if machine && end == at && at > signed && !exponent => exponent = true,
            '-' | '+' if exponent && end + 1 == at => {}
            _ => break,
        }
    }
    (end > signed).then_some(end)
}

fn by_program(text: &str) -> Result<Decimal, Unread> {
    if text.contains(',') {
        return by_person(text);
    }
    let plain = text.strip_prefix('+').unwrap_or(text);
    let number = match plain.contains(['e', 'E']) {
        true => Decimal::from_scientific(plain),
        false => Decimal::from_str_exact(plain),
    };
    number.map_err(|_wide| Unread::Long { text: shown(text) })
}

/// `15,000`, `15000.5`, `1.234.567`, `1.234,56`; not `1.234`, not `15,00`.
fn by_person(text: &str) -> Result<Decimal, Unread> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let dots = digits.matches('.').count();
    let commas = digits.matches(',').count();
    let bad = || Unread::Number { text: shown(text) };
    let both = |at: char| {
        let one = format!("{sign}{}", digits.replace(at, "."));
        let two = format!("{sign}{}", digits.replace(at, ""));
        Unread::Ambiguous { text: shown(text), one, two }
    };
    let plain = match (dots, commas) {
        (0, 0) => digits.to_owned(),
        (1, 0) if grouped(digits, '.') => return Err(both('.')),
        (1, 0) => digits.to_owned(),
        (_, 0) if grouped(digits, '.') => digits.replace('.', ""),
        (0, _) if grouped(digits, ',') => digits.replace(',', ""),
        (0, 1) => return Err(both(',')),
        _ => {
            let found = mixed(digits, ',', '.').or_else(|| mixed(digits, '.', ','));
            found.ok_or_else(bad)?
        }
    };
    let number = Decimal::from_str(&format!("{sign}{plain}")).map_err(|_wide| bad())?;
    let exact = Decimal::from_str_exact(&format!("{sign}{plain}"));
    exact.map(|_| number).map_err(|_wide| Unread::Long { text: shown(text) })
}

/// Whether a sign parts thousands: three digits behind each, one to three before, no zero in front.
fn grouped(digits: &str, sign: char) -> bool {
    let mut parts = digits.split(sign);
    let first = parts.next().unwrap_or_default();
    (1..=3).contains(&first.len()) && !first.starts_with('0') && parts.all(|part| part.len() == 3)
}

/// Thousands by one sign, and the fraction by another one.
fn mixed(digits: &str, group: char, point: char) -> Option<String> {
    let (whole, fraction) = digits.split_once(point)?;
    let sound =
        whole.contains(group) && grouped(whole, group) && !fraction.contains([group, point]);
    sound.then(|| format!("{}.{fraction}", whole.replace(group, "")))
}

/// `k`, `thousand`, `million`, `billion` behind a number: the power of ten, and the bytes. Not the beginning
/// of a unit such as `MN·m`.
fn size(rest: &str) -> Option<(u32, usize)> {
    const WORDS: [(&str, u32); 7] = [
        ("thousand", 3),
        ("million", 6),
        ("mn", 6),
        ("billion", 9),
        ("bn", 9),
        ("trillion", 12),
        ("grand", 3),
    ];
    if rest.starts_with('k') && is_edge(rest.get(1..)) {
        return Some((3, 1));
    }
    let trimmed = rest.trim_start_matches(' ');
    let lower = trimmed.get(..8).unwrap_or(trimmed).to_ascii_lowercase();
    let (word, power) = WORDS
        .into_iter()
        .find(|(word, _)| lower.starts_with(word) && is_edge(trimmed.get(word.len()..)))?;
    let beyond = trimmed.get(word.len()..).unwrap_or_default();
    if word.len() == 2
        && (trimmed.starts_with("MN") || beyond.starts_with(['·', '*', '.', '/', '^']))
    {
        return None;
    }
    Some((power, rest.len() - trimmed.len() + word.len()))
}
