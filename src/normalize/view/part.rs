//! A value of which some is left out or replaced, with the places of what is left: a borrowed tree.
//! Decides nothing about what to leave out.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// A piece of a value. As deep as the value, which is bounded where it was read.
#[derive(Debug, Clone)]
pub(super) enum Part<'v> {
    /// All of it.
    Whole(&'v Value),
    /// Something in its place.
    Handle(Value),
    /// Some members, in their order, with their places in the whole object.
    Object(Vec<(usize, &'v str, Self)>),
    /// Some items, with their places in the whole array.
    Array(Vec<(usize, Self)>),
}

/// A row of members or items, with their number.
pub(super) type Row<'p, 'v, K> = (usize, Box<dyn Iterator<Item = (K, Cow<'p, Part<'v>>)> + 'p>);

impl<'v> Part<'v> {
    /// The members of an object.
    pub(super) fn members(&self) -> Option<Row<'_, 'v, (usize, &'v str)>> {
        match self {
            Self::Object(members) => {
                let rows =
                    members.iter().map(|(at, name, part)| ((*at, *name), Cow::Borrowed(part)));
                Some((members.len(), Box::new(rows)))
            }
            Self::Whole(Value::Object(members)) => {
                let whole = |(at, (name, value)): (usize, (&'v String, &'v Value))| {
                    ((at, name.as_str()), Cow::Owned(Part::Whole(value)))
                };
                Some((members.len(), Box::new(members.iter().enumerate().map(whole))))
            }
            Self::Whole(_) | Self::Handle(_) | Self::Array(_) => None,
        }
    }

    /// The items of an array.
    pub(super) fn items(&self) -> Option<Row<'_, 'v, usize>> {
        match self {
            Self::Array(items) => {
                let rows = items.iter().map(|(at, part)| (*at, Cow::Borrowed(part)));
                Some((items.len(), Box::new(rows)))
            }
            Self::Whole(Value::Array(items)) => {
                let whole = |value: &'v Value| Cow::Owned(Part::Whole(value));
                Some((items.len(), Box::new(items.iter().map(whole).enumerate())))
            }
            Self::Whole(_) | Self::Handle(_) | Self::Object(_) => None,
        }
    }

    /// The value that it shows.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Whole(value) => (*value).clone(),
            Self::Handle(value) => value.clone(),
            Self::Object(members) => {
                let owned =
                    |(_, name, part): &(usize, &str, Self)| ((*name).to_owned(), part.to_value());
                Value::Object(members.iter().map(owned).collect::<Map<_, _>>())
            }
            Self::Array(items) => items.iter().map(|(_, part)| part.to_value()).collect(),
        }
    }
}

/// Adds a step to a JSON Pointer.
pub(super) fn push_name(pointer: &mut String, name: &str) {
    pointer.push('/');
    for character in name.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// Adds the place of an item to a JSON Pointer.
pub(super) fn push_index(pointer: &mut String, index: usize) {
    pointer.push('/');
    pointer.push_str(&index.to_string());
}
