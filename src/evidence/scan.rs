//! Finds the values that stand in a text, and whether a spelling stands in it whole: `5000` does not
//! stand in `15000`, nor in `5000 kg`, where it would lose its unit.

use jiff::tz::TimeZone;

use super::read::{self, Expect, Unread};
use super::value::Value;

/// Longest name that is looked through, in characters.
const NAME: usize = 64;

/// A value in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    /// Where it begins, in bytes of the text in its normal form.
    pub(super) start: usize,
    /// Where it ends.
    pub(super) end: usize,
    /// The value, or why it is none.
    pub(super) found: Result<Value, Unread>,
    /// Where the word behind a plain number ends that may be its unit: `5 florps`, `3箱`.
    pub(super) counted: Option<usize>,
}

/// The values of a text in its normal form, in order: dates, instants, numbers with what belongs to
/// them.
pub(super) fn scan(text: &str, expect: &Expect<'_>, zone: &TimeZone) -> Vec<Spot> {
    let mut spots: Vec<Spot> = Vec::new();
    let mut end = 0;
    for (start, c) in text.char_indices() {
        if start < end || !can_start(c) || !is_border(text, start) {
            continue;
        }
        let Some(rest) = text.get(start..) else { continue };
        let Some((found, length)) = read::lead(rest, expect, zone) else { continue };
        let spelled = rest.get(..length).unwrap_or_default();
        if is_word(spelled, &found) {
            end = start + length;
            continue;
        }
        if length == 0 || !ends_well(text, start + length) {
            continue;
        }
        end = start + length;
        let each = text.get(..start).and_then(read::rate_before);
        if let Some(each) = each.filter(|_| found.is_ok()) {
            let spelled = read::shown(text.get(each..end).unwrap_or_default());
            let found = Err(Unread::Unit { text: spelled });
            spots.push(Spot { start: each, end, found, counted: None });
            continue;
        }
        let plain = matches!(found, Ok(Value::Number { .. }));
        let word = text.get(end..).filter(|_| plain).and_then(read::word_behind);
        spots.push(Spot { start, end, found, counted: word.map(|length| end + length) });
    }
    spots
}

/// Whether a spelling stands in a text whole; both in any form.
pub(super) fn holds(text: &str, spelled: &str, zone: &TimeZone) -> bool {
    let (text, spelled) = (read::normal(text), read::normal(spelled));
    let spelled = spelled.trim();
    if spelled.is_empty() || !text.contains(spelled) {
        return false;
    }
    let spots = scan(&text, &Expect::default(), zone);
    text.match_indices(spelled).any(|(start, _)| {
        let end = start + spelled.len();
        // They stand in order, so that only those in question are looked at.
        let first = spots.partition_point(|spot| spot.end <= start);
        let mut near = spots.iter().skip(first).take_while(|spot| spot.start < end);
        let is_whole = near.all(|spot| start <= spot.start && spot.end <= end);
        is_whole && is_border(&text, start) && ends_well(&text, end)
    })
}

/// The value of a text that a spelling is only a part of.
pub(super) fn around(text: &str, spelled: &str, zone: &TimeZone) -> Option<String> {
    let (text, spelled) = (read::normal(text), read::normal(spelled));
    let spelled = spelled.trim();
    let spots = scan(&text, &Expect::default(), zone);
    let mut whole = spots.iter().filter_map(|spot| text.get(spot.start..spot.end));
    whole.find(|value| value.len() > spelled.len() && value.starts_with(spelled)).map(str::to_owned)
}

fn can_start(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || matches!(c, '-' | '+' | '$' | '€' | '£' | '¥' | '₩' | '₹' | '₽')
        || !c.is_ascii()
}

/// Whether a value can begin here: not inside of a word, a number or an id such as `PX-200`.
fn is_border(text: &str, start: usize) -> bool {
    let before = text.get(..start).unwrap_or_default();
    let first = text.get(start..).and_then(|rest| rest.chars().next());
    let Some(last) = before.chars().next_back() else { return true };
    let ahead = before.chars().rev().nth(1);
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    if matches!(last, ',' | '.') && is_digit(ahead) && is_digit(first) {
        return false;
    }
    match first {
        Some('-' | '+') => !last.is_alphanumeric() && !matches!(last, ')' | '%'),
        Some(c) if c.is_ascii_digit() && last == '-' && !is_digit(ahead) => {
            // A minus sign, or a hyphen in a name: either way the number does not begin here.
            false
        }
        Some(c) if c.is_ascii_alphanumeric() => !in_name(before),
        _ => true,
    }
}

/// Whether a text ends inside of a name: letters or digits, dots and hyphens, with a letter in it.
fn in_name(before: &str) -> bool {
    let name = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@' | '#');
    let mut run = before.chars().rev().take(NAME).take_while(name).peekable();
    match run.peek() {
        Some(c) if c.is_ascii_alphanumeric() => true,
        Some('.') => false,
        _ => run.any(|c| c.is_ascii_alphabetic()),
    }
}

/// Whether a value can end here.
fn ends_well(text: &str, end: usize) -> bool {
    let last = text.get(..end).and_then(|text| text.chars().next_back());
    let mut rest = text.get(end..).unwrap_or_default().chars();
    let (next, then) = (rest.next(), rest.next());
    if !last.is_some_and(|c| c.is_ascii_alphanumeric()) {
        return true;
    }
    match next {
        Some(c) if c.is_ascii_alphanumeric() || c == '_' => false,
        Some('-' | '.' | ',') if last.is_some_and(|c| c.is_ascii_digit()) => {
            !then.is_some_and(|c| c.is_ascii_digit())
        }
        _ => true,
    }
}

/// Whether a numeral is rather a part of a word: `一` in `一下`, `one` in `one of them`.
fn is_word(spelled: &str, found: &Result<Value, Unread>) -> bool {
    const SIZES: [&str; 4] = ["hundred", "thousand", "million", "billion"];
    if !matches!(found, Ok(Value::Number { .. })) || spelled.contains(|c: char| c.is_ascii_digit())
    {
        return false;
    }
    let lower = spelled.to_lowercase();
    let sized = spelled.chars().count() > 1 && spelled.chars().any(read::is_size);
    !sized && !SIZES.iter().any(|word| lower.contains(word))
}
