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

/// Bytes to the bracket that closes the one `text` begins with, quotes of both kinds considered.
fn close(text: &str, budget: &mut usize) -> Option<usize> {
    let mut open = Vec::new();
    let mut quote = None;
    // Whether a quote may begin here: an apostrophe inside a word begins none.
    let mut begins = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        *budget = budget.checked_sub(1)?;
        match (quote, byte) {
            _ if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(end), byte) if byte == end => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') if begins => quote = Some(byte),
            (None, b'{') => open.push(b'}'),
            (None, b'[') => open.push(b']'),
            (None, b'(') => open.push(b')'),
            (None, b'}' | b']' | b')') => {
                if open.pop()? != byte {
                    return None;
                }
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        if quote.is_none() && !byte.is_ascii_whitespace() {
            begins = matches!(byte, b'{' | b'[' | b'(' | b',' | b':');
        }
    }
    None
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
