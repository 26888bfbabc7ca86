//! Values that are known to be sensitive, wherever else they turn up: in a message, or in what a tool
//! gave back. Texts and JSON in, the same masked out, or the places at which they stand.

use serde_json::Value;

use super::MASK;
use crate::pointer;

/// Characters from which on a value is looked for inside of longer text.
const LONG: usize = 6;
/// Characters of the shortest value that is told from others at all.
const SHORTEST: usize = 4;
/// Characters of the beginning of a long value, which messages may cut.
const BEGINNING: usize = 48;
/// Places that are told, at most.
const MOST: usize = 64;
/// Values that are looked for, at most: each is looked for in all of a reply.
pub(super) const MOST_SECRETS: usize = 64;

/// Sensitive values of one call.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// As they may stand in a text, the longest first.
    values: Vec<String>,
    /// Whether there are more than can be looked for, so that any text may hold one.
    many: bool,
}

impl Secrets {
    /// Of these values; each also as JSON writes it.
    pub fn new(values: Vec<String>) -> Self {
        if values.len() > MOST_SECRETS {
            return Self { values: Vec::new(), many: true };
        }
        let escaped = |text: &String| {
            let json = Value::String(text.clone()).to_string();
            json.get(1..json.len() - 1).filter(|inner| *inner != text).map(str::to_owned)
        };
        let mut all: Vec<String> = values.iter().filter_map(escaped).collect();
        all.extend(values);
        all.retain(|value| !value.trim().is_empty() && value != MASK);
        all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
        Self { values: all, many: false }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && !self.many
    }

    /// A message without them: long ones anywhere, short ones where they stand between backticks.
    pub fn mask(&self, text: &str) -> String {
        if self.many {
            return MASK.to_owned();
        }
        let mut text = text.to_owned();
        for value in &self.values {
            if is_at_least(value, LONG) {
                text = text.replace(value.as_str(), MASK);
            } else {
                text = text.replace(&format!("`{value}`"), &format!("`{MASK}`"));
            }
            if let Some(beginning) = beginning(value) {
                text = without_cut(&text, beginning);
            }
        }
        text
    }

    /// JSON Pointers of the texts and numbers that repeat one; `None` when there are too many.
    pub fn places(&self, value: &Value) -> Option<Vec<String>> {
        let mut found = Vec::new();
        if !self.is_empty() {
            self.look(value, "", &mut found);
        }
        (found.len() < MOST && !self.many).then_some(found)
    }

    fn look(&self, value: &Value, pointer: &str, found: &mut Vec<String>) {
        if found.len() >= MOST {
            return;
        }
        match value {
            Value::String(text) if self.are_in(text) => found.push(pointer.to_owned()),
            Value::Number(number) if self.are_in(&number.to_string()) => {
                found.push(pointer.to_owned());
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.look(item, &format!("{pointer}/{index}"), found);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    let token = pointer::escape(name);
                    self.look(member, &format!("{pointer}/{token}"), found);
                }
            }
            _ => {}
        }
    }

    fn are_in(&self, text: &str) -> bool {
        self.values.iter().any(|value| {
            (is_at_least(value, SHORTEST) && text == value)
                || (is_at_least(value, LONG) && text.contains(value.as_str()))
                || beginning(value).is_some_and(|beginning| text.contains(beginning))
        })
    }
}

fn is_at_least(value: &str, characters: usize) -> bool {
    value.chars().nth(characters - 1).is_some()
}

fn beginning(value: &str) -> Option<&str> {
    value.char_indices().nth(BEGINNING).and_then(|(end, _)| value.get(..end))
}

/// Masks from where a value begins up to the backtick behind it.
fn without_cut(text: &str, beginning: &str) -> String {
    let mut pieces = text.split(beginning);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        out.push_str(MASK);
        let end = piece.find('`').unwrap_or(piece.len());
        out.push_str(piece.get(end..).unwrap_or_default());
    }
    out
}

/// Masks whatever stands at these JSON Pointers; `*` in one stands for any member or item.
pub fn cover<'p>(value: &mut Value, pointers: impl Iterator<Item = &'p str>) {
    for pointer in pointers {
        let tokens: Vec<String> = pointer.split('/').skip(1).map(pointer::unescape).collect();
        cover_one(value, &tokens);
    }
}

fn cover_one(value: &mut Value, tokens: &[String]) {
    let Some((first, rest)) = tokens.split_first() else {
        if !value.is_null() {
            *value = Value::String(MASK.to_owned());
        }
        return;
    };
    match value {
        Value::Array(items) if first == "*" => {
            items.iter_mut().for_each(|item| cover_one(item, rest));
        }
        Value::Array(items) => {
            let item = first.parse().ok().and_then(|index: usize| items.get_mut(index));
            item.into_iter().for_each(|item| cover_one(item, rest));
        }
        Value::Object(members) if first == "*" => {
            members.values_mut().for_each(|member| cover_one(member, rest));
        }
        Value::Object(members) => {
            members.get_mut(first).into_iter().for_each(|member| cover_one(member, rest));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
