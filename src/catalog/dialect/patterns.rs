//! Regular expressions for the engine of a provider: an ECMA 262 pattern in, the spelling that the
//! engine compiles out, or nothing. One bad pattern makes a provider refuse the whole message.

use serde_json::Value;

use super::text::{self, Losses};
use crate::call::Dialect;

/// Longest pattern that is sent.
const MAX_PATTERN: usize = 512;

/// The pattern as `dialect` can take it; `None` when it has to be left out.
///
/// `OpenAI` and Anthropic compile patterns as Python does: look-around is fine (look-behind of one
/// length), `\p{..}`, `\u{..}` and named groups of ECMA are not. Gemini has no look-around. Grammars of
/// local servers know explicit classes only, and want the pattern anchored at both ends.
pub(super) fn spell(pattern: &str, dialect: Dialect) -> Option<String> {
    if pattern.len() > MAX_PATTERN || fancy_regex::Expr::parse_tree(pattern).is_err() {
        return None;
    }
    let parts = take_apart(pattern)?;
    match dialect {
        Dialect::Openai | Dialect::OpenaiStrict | Dialect::Anthropic => {
            fits_python(&parts).then(|| pattern.to_owned())
        }
        Dialect::Gemini => {
            let fits = parts.iter().all(|part| fits_linear(part));
            (fits && regex_syntax::Parser::new().parse(pattern).is_ok()).then(|| pattern.to_owned())
        }
        Dialect::Plain => {
            let anchored = pattern.starts_with('^') && pattern.ends_with('$');
            let spelled: Option<String> = parts.iter().map(explicit).collect();
            spelled.filter(|_| anchored && !pattern.ends_with("\\$"))
        }
    }
}

/// The pattern as `dialect` can take it, or else the sentence that tells it; that is a loss at `at`.
pub(super) fn spell_or_tell(
    pattern: &str,
    dialect: Dialect,
    at: &str,
    losses: &mut Losses,
) -> Result<String, String> {
    spell(pattern, dialect).ok_or_else(|| {
        losses.add(at, "pattern", "the provider cannot compile it; moved to the description");
        let shown = text::shown(&Value::from(pattern));
        format!("Must match the regular expression {shown}.")
    })
}

/// One piece of a pattern.
#[derive(Debug, PartialEq)]
enum Part<'p> {
    /// An escape with its letter; inside a class or not.
    Escape { letter: char, text: &'p str, class: bool },
    /// The opening of a group that is more than `(`, up to where its content begins, with the content.
    Group { kind: &'p str, content: &'p str },
    /// Anything else.
    Plain(char),
}

/// A pattern in pieces. Parentheses and question marks inside a class are only text.
fn take_apart(pattern: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut class = false;
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '\\' => {
                let letter = rest.chars().nth(1)?;
                let end = escape(rest, letter)?;
                parts.push(Part::Escape { letter, text: rest.get(..end)?, class });
                end
            }
            '(' if !class && rest.starts_with("(?") => {
                let end = group(rest);
                let content = rest.get(end..)?;
                parts.push(Part::Group { kind: rest.get(..end)?, content });
                end
            }
            _ => {
                match c {
                    '[' if !class => class = true,
                    ']' if class => class = false,
                    _ => {}
                }
                parts.push(Part::Plain(c));
                c.len_utf8()
            }
        };
        rest = rest.get(length..)?;
    }
    Some(parts)
}

/// Bytes of an escape, its braces included.
fn escape(rest: &str, letter: char) -> Option<usize> {
    let plain = 1 + letter.len_utf8();
    let braced = matches!(letter, 'p' | 'P' | 'u' | 'x') && rest.get(plain..)?.starts_with('{');
    Some(if braced { rest.find('}')? + 1 } else { plain })
}

/// Bytes of the opening of a group.
fn group(rest: &str) -> usize {
    ["(?<=", "(?<!", "(?=", "(?!", "(?:"]
        .into_iter()
        .find(|kind| rest.starts_with(kind))
        .map_or("(?".len(), str::len)
}

fn fits_python(parts: &[Part<'_>]) -> bool {
    let mut quantified = false;
    parts.iter().all(|part| {
        let again = matches!(part, Part::Plain('+'));
        // `a++` is possessive, which older versions of the engine refuse.
        let possessive = again && std::mem::replace(&mut quantified, again);
        quantified = matches!(part, Part::Plain('+' | '*' | '}'))
            || (matches!(part, Part::Plain('?')) && quantified);
        let fits = match part {
            Part::Escape { letter, text, .. } => {
                !letter.is_ascii_alphabetic()
                    || (matches!(letter, 'x' | 'u') && !text.ends_with('}'))
                    || "AbBdDsSwWafnrtv".contains(*letter)
            }
            Part::Group { kind: "(?<=" | "(?<!", content } => is_even(content),
            Part::Group { kind, .. } => *kind != "(?",
            Part::Plain(_) => true,
        };
        fits && !possessive
    })
}

/// Whether what stands in a look-behind has one length.
fn is_even(content: &str) -> bool {
    let end = content.find(')').unwrap_or(content.len());
    let inside = content.get(..end).unwrap_or_default();
    !inside.contains(['*', '+', '?', '{', '|', '('])
}

fn fits_linear(part: &Part<'_>) -> bool {
    match part {
        Part::Escape { letter, .. } => {
            !letter.is_ascii_digit()
                && (!letter.is_ascii_alphabetic() || "bBdDsSwWfnrtvx".contains(*letter))
        }
        Part::Group { kind, .. } => *kind == "(?:",
        Part::Plain(_) => true,
    }
}

/// A piece in explicit classes.
fn explicit(part: &Part<'_>) -> Option<String> {
    let text = match part {
        Part::Plain(c) => return Some(c.to_string()),
        Part::Group { kind: "(?:", .. } => "(",
        Part::Group { .. } => return None,
        Part::Escape { letter, text, class } => match (letter, class) {
            ('d', false) => "[0-9]",
            ('d', true) => "0-9",
            ('D', false) => "[^0-9]",
            ('w', false) => "[A-Za-z0-9_]",
            ('w', true) => "A-Za-z0-9_",
            ('W', false) => "[^A-Za-z0-9_]",
            ('s', false) => "[ \\t\\n\\r]",
            ('s', true) => " \\t\\n\\r",
            ('S', false) => "[^ \\t\\n\\r]",
            ('n' | 'r' | 't', _) => text,
            (letter, _) if letter.is_ascii_punctuation() => text,
            _ => return None,
        },
    };
    Some(text.to_owned())
}
