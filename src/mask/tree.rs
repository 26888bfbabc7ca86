//! JSON in, the same out with what is sensitive masked: by the schema that belongs to it, by names,
//! and by the patterns in every text. Spelling is kept where nothing is masked.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::annotation::{Marks, Place, Root, Step};
use super::cover::{MOST_SECRETS, Secrets};
use super::{MASK, names, start};
use crate::pointer;

/// Values nested deeper than this are masked.
const MAX_DEPTH: u32 = 64;
/// Places that are told as marked, at most.
const MOST_MARKED: usize = 256;

/// Masks the JSON that belongs to one schema; without one only names and patterns count.
#[derive(Debug, Clone, Copy, Default)]
pub struct Masker<'a> {
    schema: Option<(Root<'a>, &'a Marks)>,
    aliases: Option<&'a BTreeMap<String, String>>,
}

impl<'a> Masker<'a> {
    /// For values of this schema, whose marks were found before.
    pub fn new(schema: &'a Value, marks: &'a Marks) -> Self {
        Self { schema: marks.is_some().then_some((Root(schema), marks)), aliases: None }
    }

    /// With other names for top-level members: alias to real name.
    #[must_use]
    pub const fn with_aliases(mut self, aliases: &'a BTreeMap<String, String>) -> Self {
        self.aliases = Some(aliases);
        self
    }

    /// JSON or any other text; only the first `keep` bytes of the answer are right, and not much
    /// more work is done than they need. Its spelling is kept when nothing needs a mask, and when
    /// reading it as JSON lost nothing: a repeated name could hide a secret.
    pub fn json(&self, text: &str, keep: usize) -> String {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            // Where a mark would apply cannot be told.
            let unknown = self.schema.is_some() && !text.trim().is_empty();
            return if unknown { MASK.to_owned() } else { start(text, keep).into_owned() };
        };
        let mut walk =
            Walk { masker: *self, left: keep, changed: false, hidden: None, groups: false };
        let masked = walk.value(&value, &self.whole(), 0);
        let reprinted = value.to_string();
        if !walk.changed && compact(text) == reprinted {
            text.to_owned()
        } else {
            masked.to_string()
        }
    }

    /// JSON text in which only that is masked which the schema marks, and single values under a secret
    /// name: for a person who has to know what a call would do.
    pub fn marks(&self, text: &str) -> String {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            return MASK.to_owned();
        };
        let hidden = Some(Vec::new());
        let mut walk =
            Walk { masker: *self, left: usize::MAX, changed: false, hidden, groups: true };
        let masked = walk.value(&value, &self.whole(), 0);
        if walk.changed { masked.to_string() } else { text.to_owned() }
    }

    /// A value with what is sensitive masked.
    #[must_use]
    pub fn value(&self, value: &Value) -> Value {
        let mut walk =
            Walk { masker: *self, left: usize::MAX, changed: false, hidden: None, groups: false };
        walk.value(value, &self.whole(), 0)
    }

    /// JSON text that stands at a JSON Pointer.
    pub fn at(&self, pointer: &str, text: &str) -> String {
        if self.is_secret_at(pointer) {
            return format!("\"{MASK}\"");
        }
        // What is inside may still be marked.
        let inner = Self { aliases: None, ..*self };
        match serde_json::from_str::<Value>(text) {
            Ok(value) if self.schema.is_some() => {
                let mut walk = Walk {
                    masker: inner,
                    left: usize::MAX,
                    changed: false,
                    hidden: None,
                    groups: false,
                };
                let masked = walk.value(&value, &self.place_at(pointer), 0);
                if walk.changed { masked.to_string() } else { text.to_owned() }
            }
            Err(_) if self.schema.is_some() && !text.is_empty() => format!("\"{MASK}\""),
            _ => super::text(text).into_owned(),
        }
    }

    /// Whether what stands at a JSON Pointer, or around it, is sensitive by schema or name.
    pub fn is_secret_at(&self, pointer: &str) -> bool {
        self.place_at(pointer).secret
    }

    fn place_at(&self, pointer: &str) -> Place<'a> {
        let mut place = self.whole();
        for (depth, token) in pointer.split('/').skip(1).enumerate() {
            let name = pointer::unescape(token);
            let member = self.member(&place, &name, depth == 0);
            let item = match name.parse() {
                Ok(index) => self.below(&place, Step::Item(index)),
                Err(_) => Place::default(),
            };
            let secret = place.secret || member.secret || item.secret;
            place = if member.is_unknown() { item } else { member };
            place.secret = secret;
        }
        place
    }

    /// The values that are sensitive by schema or name.
    pub fn secrets(&self, text: &str) -> Secrets {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            return Secrets::default();
        };
        let hidden = Some(Vec::new());
        let mut walk =
            Walk { masker: *self, left: usize::MAX, changed: false, hidden, groups: false };
        walk.value(&value, &self.whole(), 0);
        Secrets::new(walk.hidden.unwrap_or_default())
    }

    /// JSON Pointers of what the schema marks in a value; `*` stands for any item and for any name
    /// that the schema does not have. `None` when there are too many.
    pub fn marked(&self, value: &Value, prefix: &str) -> Option<Vec<String>> {
        let mut found = Vec::new();
        if self.schema.is_some() {
            self.mark(value, &self.whole(), prefix, &mut found);
        }
        (found.len() < MOST_MARKED).then_some(found)
    }

    fn mark(&self, value: &Value, place: &Place<'a>, pointer: &str, found: &mut Vec<String>) {
        if found.len() >= MOST_MARKED || place.is_unknown() {
            return;
        }
        if place.secret {
            if !found.iter().any(|known| known == pointer) {
                found.push(pointer.to_owned());
            }
            return;
        }
        match value {
            Value::Array(items) => {
                let pointer = format!("{pointer}/*");
                for (index, item) in items.iter().enumerate() {
                    self.mark(item, &self.below(place, Step::Item(index)), &pointer, found);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    let below = self.below(place, Step::Member(name));
                    let token = match below.named {
                        true => pointer::escape(name),
                        false => "*".into(),
                    };
                    self.mark(member, &below, &format!("{pointer}/{token}"), found);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn whole(&self) -> Place<'a> {
        self.schema.map_or_else(Place::default, |(root, _)| root.whole())
    }

    fn below(&self, place: &Place<'a>, step: Step<'_>) -> Place<'a> {
        match self.schema {
            Some((root, _)) if !place.is_unknown() => root.below(place, step),
            _ => Place::default(),
        }
    }

    /// What is known of a member: by the schema, and by its name where the schema does not know it,
    /// as in an envelope around the real arguments.
    fn member(&self, place: &Place<'a>, name: &str, top: bool) -> Place<'a> {
        let real = self.aliases.filter(|_| top).and_then(|aliases| aliases.get(name));
        let mut below = self.below(place, Step::Member(real.map_or(name, String::as_str)));
        let known = || self.schema.is_some_and(|(_, marks)| marks.has(name));
        below.secret |= names::is_secret(name) || (!below.named && known());
        below
    }
}

/// One way through a value.
struct Walk<'a> {
    masker: Masker<'a>,
    /// How much of the masked text is still wanted.
    left: usize,
    /// Whether it differs from what came.
    changed: bool,
    /// Texts of what was masked by schema or name, where they are asked for.
    hidden: Option<Vec<String>>,
    /// Whether groups of values under a secret name are looked into, where only their name is secret.
    groups: bool,
}

impl<'a> Walk<'a> {
    fn value(&mut self, value: &Value, place: &Place<'a>, depth: u32) -> Value {
        if self.left == 0 {
            // What stands here is cut off.
            return Value::Null;
        }
        if !value.is_null() && (place.secret || depth > MAX_DEPTH) {
            return self.mask(value);
        }
        match value {
            Value::String(text) => self.string(text, place, depth),
            Value::Number(number) => {
                let text = number.to_string();
                let masked = self.text(&text);
                if text.starts_with(&masked) { value.clone() } else { Value::String(masked) }
            }
            Value::Array(items) => {
                self.spend(1);
                let mask = |(index, item): (usize, &Value)| {
                    let below = self.masker.below(place, Step::Item(index));
                    self.value(item, &below, depth + 1)
                };
                items.iter().enumerate().map(mask).collect()
            }
            Value::Object(members) => self.object(members, place, depth),
            Value::Null | Value::Bool(_) => {
                self.spend(1);
                value.clone()
            }
        }
    }

    fn object(&mut self, members: &Map<String, Value>, place: &Place<'a>, depth: u32) -> Value {
        self.spend(1);
        let mut out = Map::with_capacity(members.len());
        for (name, member) in members {
            if self.left == 0 {
                break;
            }
            let mut below = self.masker.member(place, name, depth == 0);
            if self.groups && (member.is_object() || member.is_array()) {
                // A caller can choose names, and must not hide from a person what lies below.
                below = self.masker.below(place, Step::Member(name));
            }
            let masked = self.value(member, &below, depth + 1);
            out.insert(self.name(name, &out), masked);
        }
        Value::Object(out)
    }

    /// A name can be somebody's number too; two that are masked stay two.
    fn name(&mut self, name: &str, taken: &Map<String, Value>) -> String {
        let masked = self.text(name);
        if masked == name {
            return masked;
        }
        let mut free = masked.clone();
        let mut count = 2;
        while taken.contains_key(&free) {
            free = format!("{masked} {count}");
            count += 1;
        }
        free
    }

    /// Text, or JSON inside of it, which may be what the schema speaks of.
    fn string(&mut self, text: &str, place: &Place<'a>, depth: u32) -> Value {
        if text.trim_start().starts_with(['{', '['])
            && depth < MAX_DEPTH
            && let Ok(inner) = serde_json::from_str::<Value>(text)
        {
            let before = (self.left, std::mem::replace(&mut self.changed, false));
            let masked = self.value(&inner, place, depth);
            if self.changed {
                return Value::String(masked.to_string());
            }
            (self.left, self.changed) = before;
        }
        Value::String(self.text(text))
    }

    fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }

    fn mask(&mut self, value: &Value) -> Value {
        self.spend(MASK.len());
        // What was masked before is no secret any more.
        self.changed |= value.as_str() != Some(MASK);
        if let Some(hidden) = &mut self.hidden {
            remember(value, hidden);
        }
        Value::String(MASK.to_owned())
    }

    fn text(&mut self, text: &str) -> String {
        if self.hidden.is_some() {
            return text.to_owned();
        }
        let masked = start(text, self.left);
        self.spend(masked.len().max(1));
        self.changed |= !text.starts_with(&*masked);
        masked.into_owned()
    }
}

/// Adds the texts inside a value.
fn remember(value: &Value, hidden: &mut Vec<String>) {
    if hidden.len() > MOST_SECRETS {
        return;
    }
    match value {
        Value::String(text) => hidden.push(text.clone()),
        Value::Number(number) => hidden.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| remember(item, hidden)),
        Value::Object(members) => members.values().for_each(|member| remember(member, hidden)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// JSON text without the white space between its tokens.
fn compact(text: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    text.chars()
        .filter(|c| {
            let keep = in_string || !c.is_ascii_whitespace();
            match c {
                '"' if !escaped => in_string = !in_string,
                _ => {}
            }
            escaped = in_string && *c == '\\' && !escaped;
            keep
        })
        .collect()
}
