//! Text of a document, JSON or YAML, in; one value without duplicate keys out. YAML is read by the
//! 1.2 core schema with merge keys; numbers keep their spelling, and aliases cannot multiply it.

mod scalar;

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

use crate::catalog::file::{Fault, one_line};
use crate::catalog::node::Node;
use crate::pointer;

/// Most nodes that one YAML document may have.
const MAX_NODES: usize = 4_000_000;
/// Deepest nesting, written out or by aliases.
const MAX_DEPTH: usize = 128;
/// Nodes that aliases and merge keys may repeat: this many, and so many times those written out.
const REPEATED: usize = 100_000;
const TIMES: usize = 10;

/// Numbers that JSON spells otherwise than their author, as he wrote them, by their pointer.
pub(in crate::catalog) type Spellings = HashMap<String, String>;

/// Reads a document: JSON when it starts like JSON, YAML otherwise.
pub(in crate::catalog) fn parse(text: &str) -> Result<Value, Fault> {
    parse_spelled(text).map(|(value, _)| value)
}

/// As [`parse`], with the numbers of YAML that are spelled anew.
pub(super) fn parse_spelled(text: &str) -> Result<(Value, Spellings), Fault> {
    let start = text.trim_start();
    if start.is_empty() {
        return Err(Fault::new("", "is empty; an OpenAPI document is expected"));
    }
    if start.starts_with(['{', '[']) {
        match serde_json::from_str::<Node>(text) {
            Ok(Node(value)) => return Ok((value, Spellings::new())),
            // Flow style YAML starts the same way.
            Err(error) => {
                return compose(text).map_err(|_not_yaml_either| {
                    let place = format!("line {}", error.line());
                    Fault::new(place, format!("is not JSON: {}", one_line(&error.to_string())))
                });
            }
        }
    }
    compose(text)
}

/// A value with what it costs to repeat it.
#[derive(Debug, Clone)]
struct Made {
    value: Value,
    /// It and all inside it.
    nodes: usize,
    /// Levels of nesting, from 1.
    depth: usize,
}

/// A list or mapping that is not complete yet.
struct Open {
    anchor: usize,
    body: Body,
    nodes: usize,
    depth: usize,
}

enum Body {
    List(Vec<Value>),
    Map {
        own: Map<String, Value>,
        /// Values of `<<`.
        merged: Vec<Value>,
        key: Option<Key>,
    },
}

enum Key {
    Text(String),
    Merge,
}

/// The state of one document.
#[derive(Default)]
struct Composer {
    open: Vec<Open>,
    anchors: HashMap<usize, Made>,
    written: usize,
    repeated: usize,
    whole: Option<Value>,
    spellings: Spellings,
}

fn compose(text: &str) -> Result<(Value, Spellings), Fault> {
    let mut composer = Composer::default();
    for next in Parser::new_from_str(text) {
        let (event, span) = next.map_err(|error| {
            let place = format!("line {}", error.marker().line());
            Fault::new(place, format!("is not YAML: {}", one_line(&error.to_string())))
        })?;
        composer.take(event).map_err(|why| {
            Fault::new(format!("line {}", span.start.line()), format!("is not YAML: {why}"))
        })?;
    }
    let empty = || Fault::new("", "is empty; an OpenAPI document is expected");
    Ok((composer.whole.ok_or_else(empty)?, composer.spellings))
}

impl Composer {
    fn take(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.count()?;
                let plain = style == ScalarStyle::Plain;
                let tag = tag.as_ref().map(|tag| (tag.handle(), tag.suffix()));
                if plain && tag.is_none() && text == "<<" && self.wants_key() {
                    return self.add_key(Key::Merge);
                }
                let value = scalar::read(&text, plain, tag)?;
                if value.is_number() && plain && value.to_string() != text {
                    if self.wants_key() {
                        return self.add_key(Key::Text(text.into_owned()));
                    }
                    if let Some(place) = self.place() {
                        self.spellings.insert(place, text.clone().into_owned());
                    }
                }
                let made = Made { value, nodes: 1, depth: 1 };
                self.keep(anchor, &made)?;
                self.add(made)
            }
            Event::SequenceStart(_, anchor, _) => self.begin(anchor, Body::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => {
                let body = Body::Map { own: Map::new(), merged: Vec::new(), key: None };
                self.begin(anchor, body)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => {
                self.count()?;
                let Some(made) = self.anchors.get(&anchor).cloned() else {
                    return Err("an alias stands inside what it repeats".to_owned());
                };
                self.repeat(made.nodes)?;
                self.add(made)
            }
            Event::DocumentStart(..) if self.whole.is_some() => {
                Err("a second document follows; one is expected".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self) -> Result<(), String> {
        self.written += 1;
        match self.written {
            ..=MAX_NODES => Ok(()),
            _ => Err(format!("has more than {MAX_NODES} nodes")),
        }
    }

    /// Counts what an alias copies, also as a merge key, and what is kept for one.
    fn repeat(&mut self, nodes: usize) -> Result<(), String> {
        self.repeated = self.repeated.saturating_add(nodes);
        let most = self.written.saturating_mul(TIMES).saturating_add(REPEATED).min(MAX_NODES);
        if self.repeated <= most {
            return Ok(());
        }
        Err(format!(
            "aliases and merge keys repeat more than {most} nodes ({TIMES} times those written \
             before, and {REPEATED})"
        ))
    }

    fn keep(&mut self, anchor: usize, made: &Made) -> Result<(), String> {
        if anchor > 0 {
            self.repeat(made.nodes)?;
            self.anchors.insert(anchor, made.clone());
        }
        Ok(())
    }

    /// The pointer of what comes next; none for what is merged, which may come to stand elsewhere.
    fn place(&self) -> Option<String> {
        let mut place = String::new();
        for open in &self.open {
            let part = match &open.body {
                Body::List(items) => items.len().to_string(),
                Body::Map { key: Some(Key::Text(key)), .. } => pointer::escape(key).to_string(),
                Body::Map { .. } => return None,
            };
            place.push('/');
            place.push_str(&part);
        }
        Some(place)
    }

    fn wants_key(&self) -> bool {
        self.open.last().is_some_and(|open| matches!(open.body, Body::Map { key: None, .. }))
    }

    fn begin(&mut self, anchor: usize, body: Body) -> Result<(), String> {
        if self.wants_key() {
            return Err("a list or mapping is a key; keys are text".to_owned());
        }
        self.count()?;
        if self.open.len() >= MAX_DEPTH {
            return Err(format!("is nested deeper than {MAX_DEPTH} levels"));
        }
        self.open.push(Open { anchor, body, nodes: 1, depth: 1 });
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let Some(open) = self.open.pop() else {
            return Err("ends what did not begin".to_owned());
        };
        let mut nodes = open.nodes;
        let value = match open.body {
            Body::List(mut items) => {
                items.shrink_to_fit();
                Value::Array(items)
            }
            Body::Map { mut own, merged, .. } => {
                nodes += merge(&mut own, merged)?;
                Value::Object(own)
            }
        };
        let made = Made { value, nodes, depth: open.depth };
        self.keep(open.anchor, &made)?;
        self.add(made)
    }

    fn add_key(&mut self, new: Key) -> Result<(), String> {
        if let Some(Open { body: Body::Map { own, key, .. }, .. }) = self.open.last_mut() {
            if let Key::Text(text) = &new
                && own.contains_key(text)
            {
                return Err(format!("duplicate key `{text}`"));
            }
            *key = Some(new);
        }
        Ok(())
    }

    fn add(&mut self, made: Made) -> Result<(), String> {
        if self.wants_key() {
            return self.add_key(Key::Text(scalar::key(&made.value)?));
        }
        let level = self.open.len();
        let Some(open) = self.open.last_mut() else {
            self.whole = Some(made.value);
            return Ok(());
        };
        if level + made.depth > MAX_DEPTH {
            return Err(format!("is nested deeper than {MAX_DEPTH} levels"));
        }
        // The members of a merged mapping come to stand in its place.
        let merges = matches!(&open.body, Body::Map { key: Some(Key::Merge), .. });
        open.nodes += if merges { 0 } else { made.nodes };
        open.depth = open.depth.max(made.depth + usize::from(!merges));
        match &mut open.body {
            Body::List(items) => items.push(made.value),
            Body::Map { own, merged, key } => match key.take() {
                Some(Key::Text(text)) => {
                    own.insert(text, made.value);
                }
                Some(Key::Merge) => merged.push(made.value),
                None => {}
            },
        }
        Ok(())
    }
}

/// Members of merged mappings that are not there yet; says how many nodes they have. What an alias
/// repeats has been counted where it stands.
fn merge(own: &mut Map<String, Value>, merged: Vec<Value>) -> Result<usize, String> {
    let mut added = 0;
    for value in merged {
        let sources = match value {
            Value::Array(items) => items,
            one => vec![one],
        };
        for source in sources {
            let Value::Object(members) = source else {
                return Err("`<<` takes a mapping or a list of mappings".to_owned());
            };
            for (key, member) in members {
                if !own.contains_key(&key) {
                    added += size(&member);
                    own.insert(key, member);
                }
            }
        }
    }
    Ok(added)
}

/// A value and all inside it; as deep as [`MAX_DEPTH`] at most.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(size).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}
