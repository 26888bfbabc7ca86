//! A value of a provider's message with the place where it stands, so that an error can name it: JSON
//! text in, members, items and strings out.

use super::Error;
use super::raw::{Stop, parts, span};
use crate::schema::{Bounds, read};

/// Most items of a list in a message.
const MAX_ITEMS: usize = 4096;

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct Node<'t> {
    pub(super) text: &'t str,
    /// JSON Pointer, after the part of the call that holds it.
    pub(super) place: String,
}

impl<'t> Node<'t> {
    /// The one value that `text` is.
    pub(super) fn whole(text: &'t str, place: &str) -> Result<Self, Error> {
        let node = Self { text: text.trim(), place: place.to_owned() };
        let wrong = match span(text) {
            Ok(end) if text.get(end..).is_some_and(|rest| rest.trim().is_empty()) => {
                return Ok(node);
            }
            Ok(end) => format!("has more text after its JSON value, from byte {end} on"),
            Err(Stop { at, cut: false }) => format!("is no JSON: see byte {at}"),
            Err(Stop { cut: true, .. }) => "ends before its JSON does".to_owned(),
        };
        Err(node.wrong(&wrong))
    }

    pub(super) fn wrong(&self, what: &str) -> Error {
        Error::Malformed { place: self.place.clone(), what: what.to_owned() }
    }

    pub(super) fn is_null(&self) -> bool {
        self.text == "null"
    }

    pub(super) fn is_object(&self) -> bool {
        self.text.starts_with('{')
    }

    pub(super) fn is_array(&self) -> bool {
        self.text.starts_with('[')
    }

    pub(super) fn is_string(&self) -> bool {
        self.text.starts_with('"')
    }

    /// The member called `key`; nothing where it is absent or null.
    pub(super) fn get(&self, key: &str) -> Result<Option<Self>, Error> {
        let mut found = None;
        for (name, text) in parts(self.text).filter(|_| self.is_object()) {
            if plain(name) != Some(key) && string(name).as_deref() != Some(key) {
                continue;
            }
            let place = format!("{}/{key}", self.place);
            if found.is_some() {
                return Err(Error::Malformed { place, what: "is there twice".to_owned() });
            }
            found = Some(Self { text, place });
        }
        Ok(found.filter(|node| !node.is_null()))
    }

    /// The first of these members that is there.
    pub(super) fn any(&self, keys: &[&str]) -> Result<Option<Self>, Error> {
        for key in keys {
            if let Some(found) = self.get(key)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The member called `key`, which has to be there.
    pub(super) fn need(&self, key: &str) -> Result<Self, Error> {
        self.get(key)?.ok_or_else(|| self.wrong(&format!("has no `{key}`")))
    }

    /// The items of an array.
    pub(super) fn items(&self) -> Result<Vec<Self>, Error> {
        if !self.is_array() {
            return Err(self.wrong("must be an array"));
        }
        let place = |index: usize| format!("{}/{index}", self.place);
        let items = parts(self.text).enumerate().take(MAX_ITEMS + 1);
        let items: Vec<Self> =
            items.map(|(index, (_, text))| Self { text, place: place(index) }).collect();
        if items.len() > MAX_ITEMS {
            return Err(self.wrong(&format!("has more than {MAX_ITEMS} entries")));
        }
        Ok(items)
    }

    /// The items of the array called `key`; none where it is absent or null.
    pub(super) fn list(&self, key: &str) -> Result<Vec<Self>, Error> {
        self.get(key)?.map_or_else(|| Ok(Vec::new()), |list| list.items())
    }

    /// The only item of an array, of which a message may have several.
    pub(super) fn only(&self) -> Result<Option<Self>, Error> {
        let mut items = self.items()?;
        if items.len() > 1 {
            return Err(self.wrong(&format!("has {} entries: send the one to act on", items.len())));
        }
        Ok(items.pop())
    }

    /// The text of a string.
    pub(super) fn string(&self) -> Result<String, Error> {
        string(self.text).ok_or_else(|| self.wrong("must be a string of whole characters"))
    }

    /// The string called `key`; empty where it is absent or null.
    pub(super) fn word(&self, key: &str) -> Result<String, Error> {
        self.get(key)?.map_or_else(|| Ok(String::new()), |word| word.string())
    }

    /// The whole number called `key`, where it is one.
    pub(super) fn index(&self, key: &str) -> Result<Option<u64>, Error> {
        Ok(self.get(key)?.and_then(|node| node.text.parse().ok()))
    }

    /// Whether the member called `key` is `true`.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, Error> {
        Ok(self.get(key)?.and_then(|node| node.text.parse().ok()))
    }

    /// Arguments as JSON text: that inside a string, or the value itself. What cannot be taken out of
    /// its string stays in it, and is refused like any other arguments that cannot be read.
    pub(super) fn arguments(&self) -> String {
        let text = string(self.text).unwrap_or_else(|| self.text.to_owned());
        if matches!(text.trim(), "" | "null") { "{}".to_owned() } else { text }
    }
}

/// A JSON string without escapes, as it stands.
fn plain(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    (!inner.contains('\\')).then_some(inner)
}

/// The text of a JSON string.
pub(super) fn string(text: &str) -> Option<String> {
    if !text.starts_with('"') {
        return None;
    }
    let bounds = Bounds { bytes: text.len(), depth: 1 };
    read(text, bounds).ok()?.as_str().map(str::to_owned)
}
