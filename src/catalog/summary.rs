//! `summary_fields`: JSONPath expressions (RFC 9535) that say what of a result a model should see.
//! Text in, compiled and checked once; a result in, the places that they select out.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json_path::{JsonPath, PathElement};

/// Longest expression, in bytes.
const MAX_BYTES: usize = 512;

/// One expression of a short view, compiled.
#[derive(Debug, Clone)]
pub struct SummaryField {
    text: String,
    path: JsonPath,
}

/// One step on the way to a place in a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step<'v> {
    /// A member of an object.
    Name(&'v str),
    /// An item of an array.
    Index(usize),
}

impl SummaryField {
    /// Compiles an expression; else says what is wrong and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("a JSONPath has {} bytes; at most {MAX_BYTES}", text.len()));
        }
        let path = JsonPath::parse(text).map_err(|error| {
            let at = error.position().min(text.len()) + 1;
            let why = error.message().to_owned();
            format!("`{text}` is no JSONPath (RFC 9535): at character {at}: {why}")
        })?;
        if let Some(at) = wide_filter(text) {
            return Err(format!(
                "`{text}`: at character {}: a filter looks at its own item only, from `@`; `..` and \
                 `$` in it would take the square of a result's size",
                at + 1
            ));
        }
        Ok(Self { text: text.to_owned(), path })
    }

    /// The expression as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The ways to all places that it selects.
    pub fn select<'v>(&self, value: &'v Value) -> Vec<Vec<Step<'v>>> {
        let step = |element: PathElement<'v>| match element {
            PathElement::Name(name) => Step::Name(name),
            PathElement::Index(index) => Step::Index(index),
        };
        let located = self.path.query_located(value);
        located.into_iter().map(|node| node.to_location().into_iter().map(step).collect()).collect()
    }
}

/// Where a filter looks further than at its own item.
fn wide_filter(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    let mut filter = None;
    let mut depth = 0_usize;
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '[') => depth += 1,
            (None, ']') => {
                depth = depth.saturating_sub(1);
                filter = filter.filter(|since| depth >= *since);
            }
            (None, '?') if filter.is_none() => filter = Some(depth),
            (None, '$') if filter.is_some() => return Some(at),
            (None, '.') if filter.is_some() && before == '.' => return Some(at - 1),
            (None, _) => {}
        }
        before = character;
    }
    None
}

impl Serialize for SummaryField {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for SummaryField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
