//! What a question names: part, batch, contract and order numbers by their shape, names in quotes, and
//! the entities that the caller gave. Looks nothing up.

use unicode_normalization::UnicodeNormalization;

use crate::memory::Entity;

/// Entities of one question, at most.
const MOST: usize = 16;
/// Characters of one name, at most.
const LONGEST: usize = 64;
/// Quotes that open a name, and those that end it.
const QUOTES: [(char, char); 8] = [
    ('"', '"'),
    ('\u{201c}', '\u{201d}'),
    ('\u{2018}', '\u{2019}'),
    ('\u{300c}', '\u{300d}'),
    ('\u{300e}', '\u{300f}'),
    ('\u{300a}', '\u{300b}'),
    ('\u{ab}', '\u{bb}'),
    ('`', '`'),
];

/// The entities that were given, then those found in the text; the kind of a found one is empty.
pub(super) fn entities(text: &str, given: &[Entity]) -> Vec<Entity> {
    let mut found: Vec<Entity> = given.to_vec();
    let plain: String = text.nfkc().collect();
    for value in quoted(&plain).into_iter().chain(numbered(&plain)) {
        if found.len() >= MOST {
            break;
        }
        if !found.iter().any(|one| one.value.eq_ignore_ascii_case(&value)) {
            found.push(Entity { kind: String::new(), value });
        }
    }
    found
}

fn quoted(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((at, open)) =
        rest.char_indices().find(|(_, one)| QUOTES.iter().any(|(open, _)| open == one))
    {
        let inside = rest.get(at + open.len_utf8()..).unwrap_or_default();
        let close = QUOTES.iter().find(|(first, _)| *first == open).map_or(open, |(_, last)| *last);
        let Some((name, after)) = inside.split_once(close) else {
            rest = inside;
            continue;
        };
        let name = name.trim();
        if !name.is_empty() && name.chars().count() <= LONGEST {
            found.push(name.to_owned());
        }
        rest = after;
    }
    found
}

fn numbered(text: &str) -> Vec<String> {
    let part =
        |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_' | '/' | '.' | '#');
    text.split(|one| !part(one))
        .map(|word| word.trim_matches(|one: char| !one.is_ascii_alphanumeric()))
        .filter(|word| is_number(word))
        .map(ToOwned::to_owned)
        .collect()
}

/// Whether a word is shaped like a number of the business: letters and digits together, or a long run
/// of digits; no date, no measure such as `45Nm` and no version such as `1.2.3`.
fn is_number(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let letters = word.chars().filter(char::is_ascii_alphabetic).count();
    if digits == 0 || word.chars().count() > LONGEST || is_date(word) {
        return false;
    }
    let measure = word.starts_with(|one: char| one.is_ascii_digit())
        && word
            .trim_start_matches(|one: char| one.is_ascii_digit() || one == '.')
            .chars()
            .all(|one| one.is_ascii_alphabetic());
    match letters {
        0 => digits >= 5 && !word.contains('.'),
        _ => !measure && digits + letters >= 3,
    }
}

/// A date in digits, such as `2024-03-15` or `2024/3`.
fn is_date(word: &str) -> bool {
    let mut parts = word.split(['-', '/', '.']);
    let year = parts
        .next()
        .is_some_and(|one| one.len() == 4 && (one.starts_with("19") || one.starts_with("20")));
    let rest: Vec<&str> = parts.collect();
    year && (1..=2).contains(&rest.len())
        && rest.iter().all(|one| one.len() <= 2 && one.chars().all(|one| one.is_ascii_digit()))
}
