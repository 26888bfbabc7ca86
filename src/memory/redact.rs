//! Takes personal numbers, addresses and secrets out of a unit before it is written. Texts of a unit
//! in, the same with a placeholder such as `[PHONE_1]` in the place of each value out. Nothing else
//! of a text changes, and what a placeholder stands for is kept nowhere.

mod names;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::mask::{self, is_secret_name};
pub use crate::mask::{Kind, Rules};
pub use names::Names;

/// What the placeholders of a collection tell across units. A collection says it as
/// `placeholders = "fresh"` (the default) or `"keyed"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placeholders {
    /// Nothing: `[PHONE_1]` of one unit and `[PHONE_1]` of another are two numbers, and each unit
    /// counts from 1. A reader of several units has to name the unit beside the placeholder.
    #[default]
    Fresh,
    /// Whether two units speak of the same value: `[PHONE_3f9a0c7b21de]` is the beginning of an
    /// HMAC-SHA256 of the value under the tenant's key, so it cannot be turned back or tried out
    /// without the key.
    Keyed,
}

/// A text without what the rules hide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// The text to keep.
    pub text: String,
    /// What was found, in the order of the text.
    pub found: Vec<Found>,
}

/// One value that was taken out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// What kind of value it was.
    pub kind: Kind,
    /// The bytes of the text as it came that held it.
    pub range: Range<usize>,
    /// What stands there now.
    pub placeholder: String,
}

/// Takes out of one text of a unit what the rules hide. All texts of a unit share `names`, so that
/// equal values get one placeholder, however they are spelled, and others get others. Takes time in
/// proportion to the text's length.
pub fn redact(text: &str, rules: &Rules, names: &mut Names) -> Redacted {
    names.reserve(text);
    let places = mask::places(text, *rules);
    let mut out = String::with_capacity(text.len());
    let (mut done, mut found) = (0, Vec::with_capacity(places.len()));
    for (kind, range) in places {
        let value = text.get(range.clone()).unwrap_or_default();
        let placeholder = names.placeholder(kind, value);
        out.push_str(text.get(done..range.start).unwrap_or_default());
        out.push_str(&placeholder);
        done = range.end;
        found.push(Found { kind, range, placeholder });
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Redacted { text: out, found }
}

/// As [`redact`], for a text that stands under a name: where the name says that its value is secret,
/// such as `password` or `api_key`, all of it is taken out.
pub fn field(name: &str, text: &str, rules: &Rules, names: &mut Names) -> Redacted {
    let whole = rules.has(Kind::Secret) && is_secret_name(name) && !text.trim().is_empty();
    if !whole || names::is_placeholder(text) {
        return redact(text, rules, names);
    }
    names.reserve(text);
    let placeholder = names.placeholder(Kind::Secret, text);
    let found = Found { kind: Kind::Secret, range: 0..text.len(), placeholder };
    Redacted { text: found.placeholder.clone(), found: vec![found] }
}
