//! Metadata of one tenant's versions, in memory and turned round: a condition in, the versions that
//! meet it out, exactly as `Filter::meets` has it. Versions are known by their place.

use std::cmp::Ordering;
use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::decimal;
use crate::memory::{Compare, Filter};

/// Names that stand for members of the unit itself; metadata of the same name cannot be asked for.
pub(super) const OWN: [&str; 5] = ["source", "source_id", "group", "kind", "origin"];

/// Values by field.
#[derive(Debug, Default)]
pub(super) struct Tags {
    fields: HashMap<String, Field>,
}

#[derive(Debug, Default)]
struct Field {
    tags: Vec<Tag>,
    /// By their spelling: those that stand alone, and members of lists.
    by_text: [HashMap<String, usize>; 2],
    by_key: HashMap<Key, Vec<usize>>,
    /// Versions that have the field at all.
    having: Vec<u32>,
}

/// One value, and the versions that have it.
#[derive(Debug)]
struct Tag {
    value: Value,
    instant: Option<Timestamp>,
    /// Whether it is a member of a list.
    listed: bool,
    versions: Vec<u32>,
}

/// What makes two values equal.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Key {
    Instant(Timestamp),
    Text(String),
    /// As it is spelled.
    Number(String),
    Truth(bool),
}

impl Key {
    fn new(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(
                text.parse().map_or_else(|_no_instant| Self::Text(text.clone()), Self::Instant),
            ),
            Value::Number(number) => Some(Self::Number(decimal::spell(number))),
            Value::Bool(truth) => Some(Self::Truth(*truth)),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

impl Tags {
    /// Adds the metadata of a version, whose place is beyond those of all before.
    pub(super) fn add(&mut self, place: u32, metadata: &Map<String, Value>, own: &[(&str, &str)]) {
        for (name, value) in metadata {
            if !OWN.contains(&name.as_str()) {
                self.add_to(name, place, value);
            }
        }
        for (name, value) in own {
            self.add_to(name, place, &Value::from(*value));
        }
    }

    fn add_to(&mut self, name: &str, place: u32, value: &Value) {
        if let Some(field) = self.fields.get_mut(name) {
            return field.add(place, value);
        }
        self.fields.entry(name.to_owned()).or_default().add(place, value);
    }

    /// Places of the versions that meet a condition, in no order.
    pub(super) fn meeting(&self, filter: &Filter) -> Vec<u32> {
        let Some(field) = self.fields.get(&filter.field) else {
            return Vec::new();
        };
        match filter.compare {
            Compare::Any => field.any(&filter.values),
            Compare::None => {
                let mut without = field.any(&filter.values);
                without.sort_unstable();
                let keeps = |place: &u32| without.binary_search(place).is_err();
                field.having.iter().copied().filter(keeps).collect()
            }
            Compare::Less | Compare::Most | Compare::More | Compare::Least => {
                field.ordered(filter.compare, filter.values.first())
            }
        }
    }

    /// Places of the versions whose field is this text, or a number or truth that is spelled so.
    pub(super) fn spelled(&self, field: &str, value: &str) -> Vec<u32> {
        let Some(field) = self.fields.get(field) else {
            return Vec::new();
        };
        let text = Value::from(value).to_string();
        let tags = [text, value.to_owned()].into_iter().filter_map(|text| {
            let [alone, _] = &field.by_text;
            let place = alone.get(&text)?;
            Some(&field.tags.get(*place)?.versions)
        });
        tags.flatten().copied().collect()
    }
}

impl Field {
    fn add(&mut self, place: u32, value: &Value) {
        self.having.push(place);
        match value {
            Value::Array(members) => {
                for member in members {
                    self.put(place, member, true);
                }
            }
            single => self.put(place, single, false),
        }
    }

    fn put(&mut self, place: u32, value: &Value, listed: bool) {
        let text = value.to_string();
        let [alone, members] = &mut self.by_text;
        let by_text = if listed { members } else { alone };
        let at = match by_text.get(&text) {
            Some(at) => *at,
            None => {
                let at = self.tags.len();
                let instant = value.as_str().and_then(|text| text.parse().ok());
                self.tags.push(Tag { value: value.clone(), instant, listed, versions: Vec::new() });
                by_text.insert(text, at);
                if let Some(key) = Key::new(value) {
                    self.by_key.entry(key).or_default().push(at);
                }
                at
            }
        };
        if let Some(tag) = self.tags.get_mut(at)
            && tag.versions.last() != Some(&place)
        {
            tag.versions.push(place);
        }
    }

    fn any(&self, values: &[Value]) -> Vec<u32> {
        let tags = values.iter().filter_map(|value| self.by_key.get(&Key::new(value)?)).flatten();
        let versions = tags.filter_map(|at| Some(&self.tags.get(*at)?.versions));
        versions.flatten().copied().collect()
    }

    fn ordered(&self, compare: Compare, asked: Option<&Value>) -> Vec<u32> {
        let Some(asked) = asked else {
            return Vec::new();
        };
        let instant = asked.as_str().and_then(|text| text.parse().ok());
        let stands = |tag: &&Tag| {
            !tag.listed
                && order(tag, asked, instant).is_some_and(|order| match compare {
                    Compare::Less => order.is_lt(),
                    Compare::Most => order.is_le(),
                    Compare::More => order.is_gt(),
                    Compare::Least => order.is_ge(),
                    Compare::Any | Compare::None => false,
                })
        };
        self.tags.iter().filter(stands).flat_map(|tag| tag.versions.iter().copied()).collect()
    }
}

/// How a value stands to the one that is asked for; `None` across types.
fn order(tag: &Tag, asked: &Value, instant: Option<Timestamp>) -> Option<Ordering> {
    match (&tag.value, asked) {
        (Value::Number(ours), Value::Number(theirs)) => Some(decimal::compare(ours, theirs)),
        (Value::Bool(ours), Value::Bool(theirs)) => Some(ours.cmp(theirs)),
        (Value::String(ours), Value::String(theirs)) => Some(match (tag.instant, instant) {
            (Some(ours), Some(theirs)) => ours.cmp(&theirs),
            _ => ours.cmp(theirs),
        }),
        _ => None,
    }
}
