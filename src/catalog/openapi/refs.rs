//! References: a `$ref` in, the place it points at out. Pointers are decoded in the order of RFC
//! 6901 section 6; chains of references are followed, loops and dead ends are errors.

use std::fmt;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::document::Document;
use super::report::Reason;
use crate::pointer;

/// Longest chain of references that is followed.
const MAX_CHAIN: usize = 64;

/// A value of the document and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Spot<'a> {
    pub(super) file: usize,
    pub(super) pointer: String,
    pub(super) value: &'a Value,
}

impl<'a> Spot<'a> {
    pub(super) fn new(file: usize, pointer: impl Into<String>, value: &'a Value) -> Self {
        Self { file, pointer: pointer.into(), value }
    }

    /// A member of this value, if it is there. What YAML leaves empty is not.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(Self::new(self.file, format!("{}/{}", self.pointer, pointer::escape(key)), value))
    }

    /// The items of this value, when it is a list.
    pub(super) fn items(&self) -> impl Iterator<Item = Self> {
        let items = self.value.as_array().map_or(&[][..], Vec::as_slice);
        items
            .iter()
            .enumerate()
            .map(|(index, value)| Self::new(self.file, format!("{}/{index}", self.pointer), value))
    }

    /// The members of this value, when it is an object.
    pub(super) fn members(&self) -> impl Iterator<Item = (&'a str, Self)> {
        self.value.as_object().into_iter().flatten().map(|(key, value)| {
            let pointer = format!("{}/{}", self.pointer, pointer::escape(key));
            (key.as_str(), Self::new(self.file, pointer, value))
        })
    }

    /// A member that is text.
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.value.get(key)?.as_str()
    }

    /// What the document says of it, unless that is blank.
    pub(super) fn description(&self) -> Option<&'a str> {
        self.text("description").filter(|text| !text.trim().is_empty())
    }

    /// The key that it stands under; empty for a whole file.
    pub(super) fn key(&self) -> String {
        pointer::unescape(self.pointer.rsplit('/').next().unwrap_or_default())
    }
}

impl fmt::Display for Spot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.pointer)
    }
}

/// Splits a reference into file and fragment.
pub(super) fn split(reference: &str) -> (&str, &str) {
    reference.split_once('#').unwrap_or((reference, ""))
}

impl Document {
    /// Follows references until a value that is none. What is no reference is returned as it is.
    pub(super) fn follow_refs<'a>(&'a self, spot: Spot<'a>) -> Result<Spot<'a>, Reason> {
        let mut at = spot;
        for _ in 0..MAX_CHAIN {
            match at.text("$ref") {
                Some(reference) => at = self.resolve(&at, reference)?,
                None => return Ok(at),
            }
        }
        Err(Reason::new(
            self.describe(at.file, &at.pointer),
            "is a reference loop without a schema",
        ))
    }

    /// The properties of a schema. Documents in several files keep the whole map elsewhere at times.
    pub(super) fn properties<'a>(&'a self, schema: &Spot<'a>) -> Option<Spot<'a>> {
        let map = schema.get("properties")?;
        match map.text("$ref") {
            Some(_) => self.follow_refs(map).ok(),
            None => Some(map),
        }
    }

    /// The place that a reference standing at `from` points at.
    pub(super) fn resolve<'a>(&'a self, from: &Spot<'a>, text: &str) -> Result<Spot<'a>, Reason> {
        let by_id = || self.by_id(from, text);
        if self.goes_by_id()
            && let Some(found) = by_id()
        {
            return Ok(found);
        }
        // What leads nowhere may be meant as an older draft has it.
        self.in_file(from, text)
            .or_else(|reason| by_id().or_else(|| self.by_old_id(from, text)).ok_or(reason))
    }

    fn in_file<'a>(&'a self, from: &Spot<'a>, text: &str) -> Result<Spot<'a>, Reason> {
        let fail = |why: &str| {
            Reason::new(
                self.describe(from.file, &from.pointer),
                format!("reference `{text}` {why}"),
            )
        };
        let file = self.find(from.file, text).map_err(|why| fail(&why))?;
        let (_, fragment) = split(text);
        let fragment = percent_decode_str(fragment)
            .decode_utf8()
            .map_err(|error| fail(&format!("is not UTF-8: {error}")))?;
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return self.anchor(file, &fragment).map_err(|why| fail(&why));
        }
        let root = Spot::new(file, "", self.root(file));
        self.walk(root, &fragment).ok_or_else(|| fail("points at nothing"))
    }

    /// The place that a pointer leads to from another.
    pub(super) fn walk<'a>(&'a self, from: Spot<'a>, fragment: &str) -> Option<Spot<'a>> {
        self.walk_on(from, fragment, MAX_CHAIN)
    }

    fn walk_on<'a>(&'a self, from: Spot<'a>, fragment: &str, fuel: usize) -> Option<Spot<'a>> {
        let mut at = from;
        for part in fragment.split('/').skip(1) {
            let key = pointer::unescape(part);
            at = match self.step(&at, &key) {
                Some(next) => next,
                // A folder of schemas may itself be a reference to another file.
                None => {
                    let reference = at.text("$ref")?;
                    let target = self.find(at.file, reference).ok()?;
                    let (_, inner) = split(reference);
                    let inner = percent_decode_str(inner).decode_utf8().ok()?;
                    let root = Spot::new(target, "", self.root(target));
                    let target = self.walk_on(root, &inner, fuel.checked_sub(1)?)?;
                    self.step(&target, &key)?
                }
            };
        }
        Some(at)
    }

    fn step<'a>(&'a self, at: &Spot<'a>, key: &str) -> Option<Spot<'a>> {
        let value = match at.value {
            Value::Object(map) => map.get(key)?,
            Value::Array(items) => items.get(key.parse::<usize>().ok()?)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
        Some(Spot::new(at.file, format!("{}/{}", at.pointer, pointer::escape(key)), value))
    }
}
