//! What stands where JSON has something else, in words that say how to mend it: the text from the place
//! on in, a message out. Knows what models write, and reads nothing.

use super::flaw::FlawKind;

/// Longest piece of a text that a message repeats, in characters.
const MAX_ECHO: usize = 24;
const SINGLE: &str = "keys and strings stand in double quotes, not single ones";

/// Whether nobody sees a character, or sees it as a space; JSON knows four others.
pub(super) const fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{b}' | '\u{c}' | '\u{85}' | '\u{a0}' | '\u{ad}' | '\u{180e}' | '\u{1680}' | '\u{2000}'
            ..='\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}'..='\u{2064}' | '\u{3000}'
            | '\u{feff}'
    )
}

/// Whether a character is a space, or nobody sees it.
pub(super) fn is_blank(character: char) -> bool {
    character.is_whitespace() || is_unseen(character)
}

/// The character of JSON that a wide one looks like.
pub(super) const fn narrow(character: char) -> Option<char> {
    Some(match character {
        '：' => ':',
        '，' => ',',
        '｛' => '{',
        '｝' => '}',
        '［' => '[',
        '］' => ']',
        _ => return None,
    })
}

/// Whether Python puts this before a string.
pub(super) fn is_prefix(word: &str) -> bool {
    ["u", "f", "r", "b", "fr", "rf", "br", "rb"].contains(&word.to_ascii_lowercase().as_str())
}

/// What stands where a key has to.
pub(super) fn key(rest: &str) -> String {
    let word = word(rest);
    match rest.chars().next() {
        Some('\'') => SINGLE.to_owned(),
        Some('}') => "a comma must not stand before `}`".to_owned(),
        Some(',') => "a comma too many stands here: leave it out".to_owned(),
        _ if ["True", "False", "None"].contains(&word) => {
            format!("`{word}` is no key: a key is text in double quotes")
        }
        _ if !word.is_empty() => format!("the key `{}` must stand in double quotes", echo(word)),
        _ => foreign(rest).unwrap_or_else(|| "expected a key in double quotes".to_owned()),
    }
}

/// What stands where the colon after a key has to.
pub(super) fn colon(rest: &str) -> String {
    match rest.chars().next() {
        Some(',' | '}') => {
            "expected `:` after a key: a list, or a set of Python, stands in `[` and `]`".to_owned()
        }
        _ => foreign(rest).unwrap_or_else(|| "expected `:` after a key".to_owned()),
    }
}

/// What stands where a value has to. `first` says that it is the first thing in the text.
pub(super) fn value(rest: &str, first: bool) -> (FlawKind, String) {
    let word = word(rest);
    let after = rest.get(word.len()..).unwrap_or_default();
    let quoted = after.starts_with(['"', '\'']) && is_prefix(word);
    let text = match rest.chars().next() {
        Some('+') => return number("JSON has no leading `+`: write the number without it"),
        Some('.') if rest.starts_with("...") => {
            "`...` stands for something that was left out: write all of it".to_owned()
        }
        Some('.') => {
            return number("a number needs a digit before its point: write `0.5`, not `.5`");
        }
        Some('\'') => SINGLE.to_owned(),
        Some(']' | '}') => "a value is missing before this bracket".to_owned(),
        Some(',') => "a value is missing before this comma".to_owned(),
        _ if ["NaN", "nan", "Infinity", "inf"].contains(&word) => {
            let what = format!("JSON has no {word}: give a finite number or null");
            return (FlawKind::Number, what);
        }
        _ if ["True", "False", "None"].contains(&word) => {
            "JSON writes `true`, `false` and `null` in lower case".to_owned()
        }
        _ if word == "undefined" => {
            "JSON has no `undefined`: leave the key out, or give null".to_owned()
        }
        _ if first && rest.contains('{') && !word.is_empty() => format!(
            "text stands before the JSON object (`{}`): send the object and nothing else",
            echo(rest)
        ),
        _ if quoted => format!(
            "`{word}` before a string is Python, which JSON does not have: write the text in double \
             quotes"
        ),
        _ if !word.is_empty() && after.starts_with(['(', '.', '[']) => {
            format!("`{}` is an expression, and nothing is evaluated: write its value", echo(rest))
        }
        _ if !word.is_empty() => {
            format!("`{}` is no JSON value: text stands in double quotes", echo(word))
        }
        _ => foreign(rest).unwrap_or_else(|| "expected a JSON value".to_owned()),
    };
    (FlawKind::Syntax, text)
}

fn number(what: &str) -> (FlawKind, String) {
    (FlawKind::Number, what.to_owned())
}

/// What stands where a comma or a bracket has to; `wanted` says so.
pub(super) fn after(rest: &str, wanted: &str) -> String {
    if let Some(foreign) = foreign(rest) {
        return foreign;
    }
    let why = match rest.chars().next() {
        Some('"' | '\'') => {
            "two strings stand side by side: join them into one, put a comma between them, or write \
             `\\\"` for a quote inside a string"
        }
        Some(c) if "+-*/%|&<>=.(".contains(c) => "an expression is not evaluated: write its value",
        Some(c) if c.is_alphanumeric() || c == '_' => "a quote inside a string is written `\\\"`",
        _ => return wanted.to_owned(),
    };
    format!("{wanted}; {why}")
}

/// What follows the whole value.
pub(super) fn trailing(rest: &str) -> String {
    match rest.chars().next() {
        Some('{' | '[') => {
            "a second JSON value follows the first: send one call for each".to_owned()
        }
        _ => format!(
            "more text follows the JSON value (`{}`): send the JSON object and nothing else",
            echo(rest)
        ),
    }
}

/// What is no part of JSON wherever it stands.
fn foreign(rest: &str) -> Option<String> {
    let first = rest.chars().next()?;
    let code = u32::from(first);
    Some(match first {
        '/' if rest.starts_with("//") || rest.starts_with("/*") => comment(),
        '#' => comment(),
        '“' | '”' | '„' | '‟' | '‘' | '’' | '«' | '»' | '＂' => format!(
            "a typographic quote `{first}` (U+{code:04X}) stands where JSON has `\"`: write straight \
             double quotes"
        ),
        '`' => {
            "a backtick stands where JSON has `\"`, or begins a fence: send the JSON object alone, \
                with straight double quotes"
                .to_owned()
        }
        '<' => format!("a mark (`{}`) stands here: send the JSON object alone", echo(rest)),
        '&' if rest.starts_with("&quot;") => {
            "`&quot;` stands where JSON has `\"`: write straight double quotes".to_owned()
        }
        _ if is_unseen(first) => format!(
            "the character U+{code:04X} stands here, which JSON has only inside strings: leave it out"
        ),
        _ => {
            let narrow = narrow(first)?;
            format!("a wide `{first}` (U+{code:04X}) stands where JSON has `{narrow}`: write that")
        }
    })
}

fn comment() -> String {
    "a comment stands here, and JSON has none: leave it out".to_owned()
}

/// The identifier that a text begins with.
fn word(rest: &str) -> &str {
    let end = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$'));
    let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    if word.starts_with(|c: char| c.is_numeric()) { "" } else { word }
}

/// The beginning of a text for a message.
fn echo(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(MAX_ECHO).collect();
    let shown = short.replace('`', "'").escape_debug().to_string();
    if short.len() < line.len() { format!("{shown}…") } else { shown }
}
