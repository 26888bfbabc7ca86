//! What documents write in another type than OpenAPI has it (`required: 'true'`, one mapping where a
//! list belongs): a document in, each such keyword as it is meant, or left out, and what to say of it
//! out. It knows what an object is by where it stands, so names of properties are no keywords.

mod rules;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use serde_json::Value;

use super::document::{Document, Version};
use super::refs::Spot;
use super::report::{ImportReport, Note, Reason};
use super::schema::Converter;
use crate::pointer;
use rules::{Role, Want, expect};

/// Most remarks on what no operation told of.
const MAX_REMARKS: usize = 100;
/// Most nodes of lists that are copied to where they are referred to.
const MAX_COPIES: usize = 200_000;
/// Longest value that a message shows.
const MAX_SHOWN: usize = 60;

/// What is to be said of one keyword.
#[derive(Debug, Clone)]
pub(super) struct Slip {
    key: String,
    message: String,
    /// Whatever depends on it cannot be used.
    fatal: bool,
}

/// The slips of a document, by file and pointer of the object that holds the keyword.
#[derive(Debug, Default)]
pub(super) struct Slips(HashMap<usize, HashMap<String, Vec<Slip>>>);

impl Slips {
    fn of(&self, spot: &Spot<'_>) -> &[Slip] {
        self.0.get(&spot.file).and_then(|all| all.get(&spot.pointer)).map_or(&[], Vec::as_slice)
    }
}

/// What becomes of a keyword of the wrong type.
enum Verdict {
    Taken(Value, String),
    Left(String),
    Fatal(String),
}

/// A change of one keyword.
struct Edit {
    file: usize,
    owner: String,
    slip: Slip,
    /// `None` takes it away.
    value: Option<Value>,
}

impl Document {
    /// Reads as meant what is written in the wrong type; see [`Converter::heed`].
    pub(super) fn mend(&mut self) {
        let edits = Walk::new(self).run();
        if edits.is_empty() {
            return;
        }
        for Edit { file, owner, slip, value } in edits {
            let map = self.files.get_mut(file).and_then(|file| file.value.pointer_mut(&owner));
            if let Some(map) = map.and_then(Value::as_object_mut).filter(|_| !slip.fatal) {
                match value {
                    Some(value) => map.insert(slip.key.clone(), value),
                    None => map.shift_remove(&slip.key),
                };
            }
            self.slips.0.entry(file).or_default().entry(owner).or_default().push(slip);
        }
        self.forget();
    }

    /// What is to be said of slips that no operation has told of.
    pub(super) fn untold(&self, report: &ImportReport) -> Vec<Note> {
        if self.slips.0.is_empty() {
            return Vec::new();
        }
        let adapted = report.imported.iter().flat_map(|one| &one.adapted).map(|note| &note.place);
        let skipped = report.skipped.iter().map(|one| &one.place);
        let told: HashSet<&String> = adapted.chain(skipped).collect();
        let place = |file: usize, owner: &str, slip: &Slip| {
            self.describe(file, &format!("{owner}/{}", pointer::escape(&slip.key)))
        };
        let all = self.slips.0.iter().flat_map(|(file, owners)| {
            owners.iter().map(move |(owner, slips)| (*file, owner.as_str(), slips))
        });
        let all = all.flat_map(|(file, owner, slips)| {
            slips.iter().map(move |slip| Note::new(place(file, owner, slip), slip.message.clone()))
        });
        let mut left: Vec<Note> = all.filter(|note| !told.contains(&note.place)).collect();
        left.sort_by(|one, two| one.place.cmp(&two.place));
        if left.len() > MAX_REMARKS {
            let more = left.len() - MAX_REMARKS;
            left.truncate(MAX_REMARKS);
            let message = format!("{more} more keywords of the document are of another type");
            left.push(Note::new("#", message));
        }
        left
    }
}

impl Converter<'_> {
    /// Notes what was written in the wrong type in an object that is about to be used; fails where it
    /// cannot be used so.
    pub(super) fn heed(&mut self, spot: &Spot<'_>) -> Result<(), Reason> {
        let document = self.document;
        for slip in document.slips.of(spot) {
            if slip.fatal {
                let place = format!("{}/{}", spot.pointer, pointer::escape(&slip.key));
                let place = document.describe(spot.file, &place);
                return Err(Reason::new(place, slip.message.clone()));
            }
            self.note(spot, &slip.key, slip.message.clone());
        }
        Ok(())
    }
}

/// One walk through a document.
struct Walk<'d> {
    document: &'d Document,
    swagger: bool,
    /// By file, and a hash of the pointer: what is referred to from several places is mended at each.
    seen: HashSet<(usize, u64)>,
    hasher: RandomState,
    /// Nodes of lists that may still be copied to where they are referred to.
    copies: usize,
    next: Vec<(Spot<'d>, Role)>,
    edits: Vec<Edit>,
}

impl<'d> Walk<'d> {
    fn new(document: &'d Document) -> Self {
        let root = Spot::new(0, "", document.root(0));
        Self {
            document,
            swagger: document.version == Version::V20,
            seen: HashSet::new(),
            hasher: RandomState::new(),
            copies: MAX_COPIES,
            next: vec![(root, Role::Root)],
            edits: Vec::new(),
        }
    }

    fn run(mut self) -> Vec<Edit> {
        while let Some((spot, role)) = self.next.pop() {
            let Some(map) = spot.value.as_object() else {
                continue;
            };
            if !self.seen.insert((spot.file, self.hasher.hash_one(&spot.pointer))) {
                continue;
            }
            self.follow(&spot, |walk, target| walk.next.push((target, role)));
            for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
                if let Some((want, inner)) = expect(role, key, self.swagger) {
                    self.look(&spot, (key, value), (want, inner));
                }
            }
        }
        self.edits
    }

    /// Hands on what an object refers to, unless the walk comes there anyway.
    fn follow(&mut self, spot: &Spot<'d>, then: impl FnOnce(&mut Self, Spot<'d>)) {
        const WALKED: [&str; 4] = ["#/components/", "#/definitions/", "#/parameters/", "#/paths/"];
        let Some(text) = spot.text("$ref") else {
            return;
        };
        if spot.file == 0 && WALKED.iter().any(|start| text.starts_with(start)) {
            return;
        }
        if let Ok(target) = self.document.resolve(spot, text) {
            then(self, target);
        }
    }

    fn look(
        &mut self,
        spot: &Spot<'d>,
        (key, value): (&'d String, &'d Value),
        (want, inner): (Want, Option<Role>),
    ) {
        let inside = inner.is_some() && (value.is_object() || value.is_array());
        if !inside && judge(want, value).is_none() {
            return;
        }
        let Some(below) = spot.get(key) else {
            return;
        };
        let verdict = match (want, value) {
            (Want::Parameters, Value::Object(_)) => {
                self.referred(&below).or_else(|| judge(want, value))
            }
            (Want::Text, Value::Number(_)) => {
                let text = self.document.spelling(below.file, &below.pointer, value);
                let message = format!("`{text}` is of another type; taken as `'{text}'`");
                Some(Verdict::Taken(text.into(), message))
            }
            _ => judge(want, value),
        };
        let is_fatal = matches!(verdict, Some(Verdict::Fatal(_)));
        if let Some(role) = inner.filter(|_| !is_fatal) {
            self.enter(&below, want, role);
        }
        let (value, message, fatal) = match verdict {
            None => return,
            Some(Verdict::Taken(value, message)) => (Some(value), message, false),
            Some(Verdict::Left(message)) => (None, message, false),
            Some(Verdict::Fatal(message)) => (None, message, true),
        };
        let slip = Slip { key: key.clone(), message, fatal };
        self.edits.push(Edit { file: spot.file, owner: spot.pointer.clone(), slip, value });
    }

    fn follow_to(&mut self, below: &Spot<'d>, role: Role) {
        let Some(Ok(target)) = below.text("$ref").map(|text| self.document.resolve(below, text))
        else {
            return;
        };
        match target.value {
            Value::Array(items) => {
                // The copy stands where the reference did.
                let at = |index: usize| format!("{}/{index}", below.pointer);
                let all = items.iter().enumerate();
                self.next.extend(all.map(|(i, one)| (Spot::new(below.file, at(i), one), role)));
            }
            _ => self.next.push((target, role)),
        }
    }

    /// A list of parameters that is kept elsewhere.
    fn referred(&mut self, below: &Spot<'d>) -> Option<Verdict> {
        let target = self.document.resolve(below, below.text("$ref")?).ok()?;
        let message = match target.value {
            Value::Array(_) if !self.can_copy(target.value) => {
                let message =
                    "refers to a long list as many others do; refer to each parameter of it";
                return Some(Verdict::Fatal(message.to_owned()));
            }
            Value::Array(_) if target.file == below.file => {
                "is a reference where a list belongs; taken as the list that it leads to"
            }
            Value::Array(_) => {
                let message = "refers to a list in another file; refer to each parameter of it";
                return Some(Verdict::Fatal(message.to_owned()));
            }
            _ => return None,
        };
        Some(Verdict::Taken(target.value.clone(), message.to_owned()))
    }

    /// Counts the nodes of a list against those that may be copied.
    fn can_copy(&mut self, list: &Value) -> bool {
        let mut left = vec![list];
        while let Some(value) = left.pop() {
            let Some(rest) = self.copies.checked_sub(1) else { return false };
            self.copies = rest;
            match value {
                Value::Array(items) => left.extend(items),
                Value::Object(map) => left.extend(map.values()),
                _ => {}
            }
        }
        true
    }

    /// What stands inside a keyword comes next, at the place that it will have.
    fn enter(&mut self, below: &Spot<'d>, want: Want, role: Role) {
        let at = |index: usize, value: &'d Value| {
            Spot::new(below.file, format!("{}/{index}", below.pointer), value)
        };
        match (want, below.value) {
            (_, Value::Array(items)) => {
                self.next.extend(items.iter().enumerate().map(|(i, one)| (at(i, one), role)));
            }
            (Want::Map | Want::Content, Value::Object(map)) => {
                self.next.extend(below.members().map(|(_, member)| (member, role)));
                if map.contains_key("$ref") {
                    self.follow(below, |walk, target| {
                        walk.next.extend(target.members().map(|(_, member)| (member, role)));
                    });
                }
            }
            (Want::Parameters, Value::Object(map)) if !is_parameter(below.value) => {
                self.next.extend(map.values().enumerate().map(|(i, one)| (at(i, one), role)));
            }
            // What a reference leads to is looked at as what it is.
            (Want::Parameters, Value::Object(_)) if below.text("$ref").is_some() => {
                self.follow_to(below, role);
            }
            (Want::List | Want::Parameters, Value::Object(_)) => {
                self.next.push((at(0, below.value), role));
            }
            _ => self.next.push((below.clone(), role)),
        }
    }
}

/// What becomes of a value; `None` when it is of the right type.
fn judge(want: Want, value: &Value) -> Option<Verdict> {
    let left = |what: &str| Some(Verdict::Left(format!("`{}` is {what}; left out", show(value))));
    let taken = |new: Value| {
        let (old, meant) = (show(value), show(&new));
        let message = format!("`{old}` is of another type; taken as `{meant}`");
        Some(Verdict::Taken(new, message))
    };
    let list = |items: Vec<Value>| {
        let message = "is no list; taken as a list of what stands there";
        Some(Verdict::Taken(Value::Array(items), message.to_owned()))
    };
    match (want, value) {
        (Want::Bool | Want::Flag | Want::Schema, Value::Bool(_))
        | (Want::Flag, Value::Number(_))
        | (Want::Schema, Value::Object(_) | Value::Array(_))
        | (Want::Text, Value::String(_))
        | (Want::List | Want::Items | Want::Parameters, Value::Array(_))
        | (Want::Map | Want::Content, Value::Object(_)) => None,
        (Want::Bool | Want::Flag | Want::Schema, _) => match truth(value) {
            Some(truth) => taken(Value::Bool(truth)),
            // Told where it is read.
            None if !matches!(want, Want::Bool) => None,
            None => left("neither true nor false"),
        },
        (Want::Text, Value::Number(_) | Value::Bool(_)) => taken(value.to_string().into()),
        (Want::Text, _) => left("no text"),
        (Want::Demands, Value::Bool(_)) => None,
        (Want::Demands, Value::String(_)) if truth(value).is_some() => {
            taken(Value::Bool(truth(value) == Some(true)))
        }
        (Want::Names | Want::Demands, _) => names(value),
        (Want::List, Value::Object(_)) => list(vec![value.clone()]),
        (Want::List | Want::Items, _) => left("no list"),
        (Want::Map, _) => left("no mapping"),
        (Want::Content, _) => {
            Some(Verdict::Fatal("is no mapping of media types; write one".to_owned()))
        }
        (Want::Parameters, _) => match parameters(value) {
            Some(items) => list(items),
            None => Some(Verdict::Fatal("is no list of parameters; write one".to_owned())),
        },
        (Want::Kinds, Value::Object(map)) => match map.get("propertyName") {
            Some(Value::String(_)) => None,
            _ => left("without the name of a property"),
        },
        (Want::Kinds, Value::String(_)) | (Want::Any, _) => None,
        (Want::Kinds, _) => left("no discriminator"),
    }
}

/// A list of names.
fn names(value: &Value) -> Option<Verdict> {
    let text = |item: &Value| match item {
        Value::String(_) => Some(item.clone()),
        Value::Number(_) | Value::Bool(_) => Some(item.to_string().into()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let items = match value {
        Value::Array(items) if items.iter().all(Value::is_string) => return None,
        Value::Array(items) => items.iter().filter_map(text).collect(),
        Value::String(_) => vec![value.clone()],
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Some(Verdict::Left(format!("`{}` is no list of names; left out", show(value))));
        }
    };
    let new = Value::Array(items);
    let message = format!("`{}` is no list of names; taken as `{}`", show(value), show(&new));
    Some(Verdict::Taken(new, message))
}

/// The parameters that a mapping can only mean: itself, or its members by their names.
fn parameters(value: &Value) -> Option<Vec<Value>> {
    let map = value.as_object()?;
    if is_parameter(value) {
        return Some(vec![value.clone()]);
    }
    let one = |(name, member): (&String, &Value)| {
        let mut own = member.as_object().filter(|_| is_parameter(member))?.clone();
        if !own.contains_key("$ref") && !own.contains_key("name") {
            own.insert("name".to_owned(), name.as_str().into());
        }
        Some(Value::Object(own))
    };
    map.iter().map(one).collect()
}

fn is_parameter(value: &Value) -> bool {
    ["in", "$ref"].iter().any(|key| value.get(key).is_some_and(Value::is_string))
}

/// The truth value that something can only mean.
fn truth(value: &Value) -> Option<bool> {
    let text = match value {
        Value::Bool(own) => return Some(*own),
        Value::String(text) => text.trim().to_ascii_lowercase(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    match text.as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// A value as a message shows it.
fn show(value: &Value) -> String {
    let text = match value {
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    };
    match text.chars().count() {
        ..=MAX_SHOWN => text,
        _ => text.chars().take(MAX_SHOWN).chain(['…']).collect(),
    }
}
