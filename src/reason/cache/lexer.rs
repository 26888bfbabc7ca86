//! A question as the parts that are held against another's: words, runs of a script without spaces,
//! numbers with their units, dates, names. Text in, parts in their order out; judges nothing.

use super::words::{month, power, unit};

/// Quotes that open a name, and those that end it.
const QUOTES: &[(char, char)] = &[
    ('"', '"'),
    ('\u{201c}', '\u{201d}'),
    ('\u{2018}', '\u{2019}'),
    ('\u{300c}', '\u{300d}'),
    ('\u{300e}', '\u{300f}'),
    ('\u{300a}', '\u{300b}'),
    ('\u{ab}', '\u{bb}'),
    ('`', '`'),
];
/// Signs that belong to a word, between its letters and digits.
const INSIDE: [char; 6] = ['-', '_', '/', '.', '\'', ':'];

/// A part of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// A word of letters, as it is written.
    Word(String),
    /// A run of a script without spaces.
    Run(String),
    /// A number, with its unit behind a space.
    Number(String),
    /// A day.
    Date(String),
    /// A name: in quotes, of letters with digits, or a sign.
    Name(String),
    /// The end of a sentence.
    Stop,
}

/// The parts of a question.
pub(super) fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let behind = rest.get(first.len_utf8()..).unwrap_or_default();
        rest = match read(first, behind, rest, parts.last()) {
            Some((part, after)) => {
                parts.push(part);
                after
            }
            None => behind,
        };
    }
    with_dates(&parts)
}

/// The part that begins here, and what is behind it; `None` where none does.
fn read<'t>(
    first: char,
    behind: &'t str,
    rest: &'t str,
    last: Option<&Part>,
) -> Option<(Part, &'t str)> {
    if let Some((_, close)) = QUOTES.iter().find(|(open, _)| *open == first)
        && let Some((name, after)) = behind.split_once(*close)
    {
        return Some((Part::Name(name.trim().to_lowercase()), after));
    }
    let digit = |text: &str| text.starts_with(|one: char| one.is_ascii_digit());
    let leads = matches!(first, '$' | '€' | '£' | '¥' | '-' | '+');
    if digit(rest) || leads && digit(behind) {
        return Some(number(rest));
    }
    if is_run(first) {
        let (run, after) = split(rest, is_run);
        return Some((Part::Run(run.to_owned()), after));
    }
    if first.is_alphabetic() {
        let (word, after) = word(rest);
        let has_digit = word.contains(|one: char| one.is_ascii_digit());
        let part = if has_digit { Part::Name(named(word)) } else { Part::Word(word.to_owned()) };
        return Some((part, after));
    }
    match first {
        '?' | '!' | '.' | ';' | '\u{3002}' if last != Some(&Part::Stop) => {
            Some((Part::Stop, behind))
        }
        '<' | '>' | '=' | '+' | '*' | '/' | '^' | '&' | '|' | '~' | '#' | '@' => {
            Some((Part::Name(first.to_string()), behind))
        }
        _ => None,
    }
}

/// A number with what stands beside it, or the name or the day that only begins like one.
fn number(rest: &str) -> (Part, &str) {
    let sign = rest.trim_start_matches(['$', '€', '£', '¥']);
    let lead = rest.get(..rest.len() - sign.len()).unwrap_or_default();
    let (whole, after) = word(sign.trim_start_matches(['-', '+']));
    let minus = if sign.starts_with('-') { "-" } else { "" };
    if let Some((day, after)) = chinese_day(whole, after) {
        return (Part::Date(day), after);
    }
    let (digits, letters) = split(whole, |one| matches!(one, '0'..='9' | '.' | ','));
    let digits_only = letters.is_empty();
    let attached = letters.to_lowercase();
    let known = unit(&attached).is_some() || power(&attached).is_some();
    if !digits_only && !known {
        let part = day(whole).map_or_else(|| Part::Name(named(whole)), Part::Date);
        return (part, after);
    }
    let from = if digits_only { after } else { behind(rest, letters) };
    let (powers, named, after) = measured(from);
    let unit = if named.is_empty() { unit(lead).unwrap_or_default() } else { named };
    let value = scaled(digits, powers).unwrap_or_else(|| digits.to_owned());
    (Part::Number(format!("{minus}{value} {unit}").trim_end().to_owned()), after)
}

/// A name in small letters, without the `'s` of what it has.
fn named(word: &str) -> String {
    let lower = word.to_lowercase();
    lower.strip_suffix("'s").unwrap_or(&lower).to_owned()
}

/// What stands in `text` from this part of it on.
fn behind<'t>(text: &'t str, part: &str) -> &'t str {
    text.find(part).and_then(|at| text.get(at..)).unwrap_or_default()
}

/// The powers of ten and the unit behind a number.
fn measured(mut rest: &str) -> (usize, &'static str, &str) {
    let mut powers = 0;
    loop {
        let next = rest.trim_start_matches(' ');
        // `千` alone is a thousand, and `千克` a kilogram.
        let named = beginning(next, unit);
        match beginning(next, power) {
            Some((by, after)) if named.is_none_or(|(_, rest)| after.len() < rest.len()) => {
                powers += by;
                rest = after;
            }
            _ => {
                let (unit, after) = named.unwrap_or(("", rest));
                return (powers, unit, after);
            }
        }
    }
}

/// What the word that begins here is, by the table, and what is behind it. Where a script has no spaces,
/// the longest beginning counts.
fn beginning<T>(rest: &str, table: impl Fn(&str) -> Option<T>) -> Option<(T, &str)> {
    let first = rest.chars().next()?;
    if first.is_alphabetic() && !is_run(first) {
        let (word, after) = split(rest, |one| one.is_alphabetic() && !is_run(one));
        return table(&word.to_lowercase()).map(|found| (found, after));
    }
    let ends = rest.char_indices().take(4).map(|(at, one)| at + one.len_utf8());
    let mut ends: Vec<usize> = ends.collect();
    ends.reverse();
    ends.into_iter().find_map(|end| {
        let found = table(&rest.get(..end)?.to_lowercase())?;
        Some((found, rest.get(end..)?))
    })
}

/// A number in one spelling, times a power of ten; `None` where its spelling has two readings.
fn scaled(digits: &str, powers: usize) -> Option<String> {
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let mut groups = whole.split(',');
    let mut value = groups.next()?.to_owned();
    let is_grouped = whole.contains(',');
    for group in groups {
        if group.len() != 3 {
            return None;
        }
        value.push_str(group);
    }
    // `1.234` may be a thousand and more, and `1.234.567` surely is.
    if part.contains(['.', ',']) || is_grouped && value.len() < 4 {
        return None;
    }
    let mut part = part.to_owned();
    for _ in 0..powers {
        value.push(if part.is_empty() { '0' } else { part.remove(0) });
    }
    let value = value.trim_start_matches('0');
    let part = part.trim_end_matches('0');
    let value = if value.is_empty() { "0" } else { value };
    Some(if part.is_empty() { value.to_owned() } else { format!("{value}.{part}") })
}

/// A day in digits, year first.
fn day(word: &str) -> Option<String> {
    let mark = ['-', '/', '.'].into_iter().find(|mark| word.contains(*mark))?;
    let parts: Vec<&str> = word.split(mark).collect();
    let [year, month, day] = parts.as_slice() else { return None };
    dated(year.parse().ok().filter(|_| year.len() == 4)?, month.parse().ok()?, day.parse().ok()?)
}

/// A day such as 2026年3月4日.
fn chinese_day<'t>(year: &str, after: &'t str) -> Option<(String, &'t str)> {
    let digits = |one: char| one.is_ascii_digit();
    let rest = after.strip_prefix('年')?;
    let (month, rest) = split(rest, digits);
    let (day, rest) = split(rest.strip_prefix('月')?, digits);
    let rest = rest.strip_prefix(['日', '号']).unwrap_or(rest);
    Some((dated(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)?, rest))
}

fn dated(year: i16, month: i8, day: i8) -> Option<String> {
    jiff::civil::Date::new(year, month, day).ok().map(|day| day.to_string())
}

/// Days whose month is a word, joined: `4 March 2026`, `March 4th, 2026`.
fn with_dates(parts: &[Part]) -> Vec<Part> {
    let mut joined = Vec::with_capacity(parts.len());
    let mut rest = parts;
    while let Some((first, after)) = rest.split_first() {
        match spelled(rest) {
            Some((day, left)) => {
                joined.push(Part::Date(day));
                rest = left;
            }
            None => {
                joined.push(first.clone());
                rest = after;
            }
        }
    }
    joined
}

fn spelled(parts: &[Part]) -> Option<(String, &[Part])> {
    let (month, day, rest) = match parts {
        [Part::Word(word), day, rest @ ..] | [day, Part::Word(word), rest @ ..] => {
            let capital = word.starts_with(|one: char| one.is_uppercase());
            (month(&word.to_lowercase()).filter(|_| capital)?, whole(day)?, rest)
        }
        _ => return None,
    };
    if !(1..=31).contains(&day) {
        return None;
    }
    match rest.split_first() {
        Some((year, rest)) if whole(year).is_some_and(|year| (1000..=9999).contains(&year)) => {
            Some((format!("{:04}-{month:02}-{day:02}", whole(year)?), rest))
        }
        _ => Some((format!("{month:02}-{day:02}"), rest)),
    }
}

/// A whole number without a unit; also `4th`.
fn whole(part: &Part) -> Option<u32> {
    match part {
        Part::Number(text) => text.parse().ok(),
        Part::Name(text) => {
            let ends = ["st", "nd", "rd", "th"];
            ends.into_iter().find_map(|end| text.strip_suffix(end)?.parse().ok())
        }
        Part::Word(_) | Part::Run(_) | Part::Date(_) | Part::Stop => None,
    }
}

/// The word that begins here: letters and digits, and signs between them.
fn word(text: &str) -> (&str, &str) {
    let mut end = 0;
    let mut waits = false;
    for (at, one) in text.char_indices() {
        if one.is_alphanumeric() && !is_run(one) {
            end = at + one.len_utf8();
            waits = false;
        } else if !waits && (INSIDE.contains(&one) || one == ',' && is_thousand(text, at)) {
            waits = true;
        } else {
            break;
        }
    }
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Whether a comma stands between digits.
fn is_thousand(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|text| text.chars().next_back());
    let after = text.get(at + 1..).and_then(|text| text.chars().next());
    [before, after].into_iter().all(|one| one.is_some_and(|one| one.is_ascii_digit()))
}

/// What is so from the beginning on, and what is behind it.
fn split(text: &str, is: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|one: char| !is(one)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Whether a character is of a script that has no spaces between words.
const fn is_run(one: char) -> bool {
    matches!(one, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
