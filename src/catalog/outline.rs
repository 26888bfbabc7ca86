//! A tool in short: the first sentence of its description and the names of its arguments. A tool in,
//! pieces of it out.

use serde_json::Value;

use super::Tool;
use crate::tokens;

/// Longest first sentence, in bytes; a description without any end is cut there.
const LONGEST: usize = 240;
/// What ends with a full stop and is no sentence.
const SHORT: [&str; 6] = ["e.g.", "i.e.", "etc.", "vs.", "approx.", "no."];

/// An argument of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument<'t> {
    /// Its name.
    pub name: &'t str,
    /// Whether no call can do without it.
    pub required: bool,
}

impl Tool {
    /// The first sentence of its description.
    pub fn lead(&self) -> &str {
        first_sentence(&self.description)
    }

    /// About how many tokens its definition costs a model: name, description and input schema.
    pub fn tokens(&self) -> u32 {
        let definition = serde_json::json!({
            "name": self.name, "description": self.description, "parameters": self.input_schema,
        });
        u32::try_from(tokens::count(&definition.to_string())).unwrap_or(u32::MAX)
    }

    /// Its arguments, in the order of their author.
    pub fn arguments(&self) -> impl Iterator<Item = Argument<'_>> {
        let schema = &self.input_schema;
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = move |name: &str| {
            required.is_some_and(|names| names.iter().any(|known| known.as_str() == Some(name)))
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        let names = properties.into_iter().flat_map(|properties| properties.keys());
        names.map(move |name| Argument { name, required: is_required(name) })
    }
}

/// The beginning of a text up to the end of its first sentence.
pub(super) fn first_sentence(text: &str) -> &str {
    let mut end = text.len();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let upto = text.get(..at + c.len_utf8()).unwrap_or(text);
        let ends = match c {
            '\n' => next == Some('\n') || upto.trim_end().ends_with([':', '.']),
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => next.is_none_or(char::is_whitespace) && !is_short(upto),
            _ => false,
        };
        if ends {
            end = upto.len();
            break;
        }
    }
    let sentence = text.get(..end.min(text.floor_char_boundary(LONGEST))).unwrap_or(text);
    sentence.trim_end()
}

fn is_short(upto: &str) -> bool {
    let last = upto.rsplit(char::is_whitespace).next().unwrap_or_default();
    SHORT.contains(&last.trim_start_matches('(').to_lowercase().as_str())
}
