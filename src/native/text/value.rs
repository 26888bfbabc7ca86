//! One value at a place of a text: JSON, or the same in Python notation. Gives its JSON text and its end,
//! or where it stops being one; completes nothing.

use std::borrow::Cow;

use crate::native::node::string;
use crate::native::raw::{Stop, span};
use crate::schema::from_notation;

/// How often a text is taken out of a string.
const MAX_UNQUOTES: usize = 2;

/// What stands at a place.
pub(super) enum Value<'t> {
    /// A value as JSON text, and the bytes that it takes in the text.
    Whole(Cow<'t, str>, usize),
    /// None: where it goes wrong, and the bytes to its closing bracket where that can be told.
    Broken(Stop, Option<usize>),
}

/// Reads the value that `text` begins with. `budget` counts the bytes that may still be looked at.
pub(super) fn at<'t>(text: &'t str, budget: &mut usize) -> Value<'t> {
    let stop = match span(text) {
        Ok(end) => {
            *budget = budget.saturating_sub(end);
            return Value::Whole(Cow::Borrowed(text.get(..end).unwrap_or_default()), end);
        }
        Err(stop) => stop,
    };
    *budget = budget.saturating_sub(stop.at);
    let end = close(text, budget);
    let inner = end.and_then(|end| text.get(..end));
    let read = inner.filter(|_| !stop.cut).and_then(from_notation);
    match (read.filter(|json| span(json) == Ok(json.len())), end) {
        (Some(json), Some(end)) => Value::Whole(Cow::Owned(json), end),
        _ => Value::Broken(stop, end),
    }
}

/// Bytes to the bracket that closes the one `text` begins with, quotes of all kinds and comments
/// considered.
fn close(text: &str, budget: &mut usize) -> Option<usize> {
    let mut open = Vec::new();
    let mut quote = None;
    // Whether a quote may begin here: an apostrophe inside a word begins none.
    let mut begins = false;
    let mut escaped = false;
    let mut comment_to = 0;
    for (at, c) in text.char_indices() {
        *budget = budget.checked_sub(c.len_utf8())?;
        if at < comment_to {
            continue;
        }
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(end), c) if c == end => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if begins => quote = Some(c),
            (None, '“') if begins => quote = Some('”'),
            (None, '/' | '#') => {
                let rest = text.get(at..)?;
                let Some(length) = comment(rest) else {
                    *budget = budget.saturating_sub(rest.len());
                    return None;
                };
                comment_to = at + length;
            }
            (None, '{') => open.push('}'),
            (None, '[') => open.push(']'),
            (None, '(') => open.push(')'),
            (None, '}' | ']' | ')') => {
                if open.pop()? != c {
                    return None;
                }
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        if at >= comment_to && quote.is_none() && !c.is_whitespace() {
            begins = matches!(c, '{' | '[' | '(' | ',' | ':' | '，' | '：');
        }
    }
    None
}

/// Bytes of the comment that `text` begins with; none where it is another thing, nothing where it
/// does not end.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("/*") {
        return text.find("*/").map(|at| at + 2);
    }
    if text.starts_with("//") || text.starts_with('#') {
        return text.find('\n');
    }
    Some(0)
}

/// The text inside a JSON string that is the whole of `text` and holds an object or an array; at most
/// two levels deep.
pub(super) fn unquote(text: &str) -> Option<String> {
    let mut inner: Option<String> = None;
    for _ in 0..MAX_UNQUOTES {
        let current = inner.as_deref().unwrap_or(text).trim();
        if !current.starts_with('"') || span(current) != Ok(current.len()) {
            break;
        }
        inner = Some(string(current)?);
    }
    inner.filter(|text| text.trim_start().starts_with(['{', '[']))
}
