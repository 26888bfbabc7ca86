//! Part of a recorded reply by JSON Pointer: the reply's value and what is asked in, one page that is
//! a JSON value out, or what is wrong with the question.

use serde_json::Value;

use super::part::{Part, push_index, push_name};
use super::{binary, budget, shorten};
use crate::tokens;

/// Names of members that a refusal lists.
const MOST_NAMES: usize = 8;
/// Tokens with which no shorter page is tried.
const LEAST: usize = 16;

/// Which part of a reply is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// JSON Pointer from the reply's root.
    pub pointer: String,
    /// The first item, member, character or byte.
    pub first: usize,
    /// How many; 0 for as many as fit.
    pub count: usize,
    /// Bytes of a page, at most.
    pub bytes: usize,
    /// Tokens of a page, at most; 0 for no bound.
    pub max_tokens: u32,
    /// Whether the value is base64 or a data: URL, of which the bytes are wanted.
    pub decode: bool,
}

/// A page of a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// JSON text of the same type as the value; empty for decoded bytes.
    pub json: String,
    /// Bytes of the whole value's JSON text.
    pub total_bytes: usize,
    /// Items, members, characters or bytes that there are.
    pub total: usize,
    /// The first of the next page; 0 on the last one.
    pub next_first: usize,
    /// Decoded bytes.
    pub content: Vec<u8>,
    /// What those are.
    pub media_type: String,
}

/// What is wrong with a question: the field, and why in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// Name of the field in the call of GetResult.
    pub field: &'static str,
    /// Lower case, no full stop.
    pub message: String,
}

impl Unread {
    fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self { field, message: message.into() }
    }
}

/// The page of `reply` that `ask` names.
pub fn page(reply: &Value, ask: &Ask) -> Result<Page, Unread> {
    let value = reply.pointer(&ask.pointer).ok_or_else(|| astray(reply, &ask.pointer))?;
    let total_bytes = value.to_string().len();
    if ask.decode {
        return Ok(Page { total_bytes, ..decoded(value, ask)? });
    }
    let page = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            Page { json: value.to_string(), ..Page::default() }
        }
        Value::String(text) => of_text(text, ask)?,
        Value::Array(items) => {
            let rows = Rows { total: items.len(), wrap: ["[", "]"] };
            rows.page(items.iter().enumerate().map(|(at, item)| (Key::Index(at), item)), ask)?
        }
        Value::Object(members) => {
            let rows = Rows { total: members.len(), wrap: ["{", "}"] };
            rows.page(members.iter().map(|(name, member)| (Key::Name(name), member)), ask)?
        }
    };
    Ok(Page { total_bytes, ..page })
}

/// Says how far a pointer leads.
fn astray(reply: &Value, pointer: &str) -> Unread {
    if !pointer.starts_with('/') {
        return Unread::new("pointer", "is no JSON Pointer; it is empty or starts with `/`");
    }
    let ends = pointer.match_indices('/').map(|(at, _)| at).rev();
    let found = ends.filter_map(|end| {
        let start = pointer.get(..end)?;
        reply.pointer(start).map(|value| (start, value))
    });
    let (start, value) = found.into_iter().next().unwrap_or(("", reply));
    let has = match value {
        Value::Array(items) => format!("an array of {} items", items.len()),
        Value::Object(members) => {
            let names: Vec<&str> = members
                .keys()
                .take(MOST_NAMES)
                .map(|name| name.get(..name.floor_char_boundary(40)).unwrap_or_default())
                .collect();
            let more = if members.len() > MOST_NAMES { ", ..." } else { "" };
            format!("an object with `{}`{more}", names.join("`, `"))
        }
        Value::String(_) => "a text".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => "neither array nor object".to_owned(),
    };
    Unread::new("pointer", format!("leads nowhere; at `{start}` is {has}"))
}

fn beyond(total: usize) -> Unread {
    Unread::new("first", format!("lies beyond the end; there are {total}"))
}

fn decoded(value: &Value, ask: &Ask) -> Result<Page, Unread> {
    let no = || Unread::new("decode", "the value is neither base64 text nor a data: URL");
    let binary = value.as_str().and_then(|text| binary::decode(text, None)).ok_or_else(no)?;
    let total = binary.bytes.len();
    let rest = binary.bytes.get(ask.first..).ok_or_else(|| beyond(total))?;
    let take = most(ask.count).min(ask.bytes).min(rest.len());
    let end = ask.first + take;
    Ok(Page {
        total,
        next_first: onward(end, total),
        content: rest.get(..take).unwrap_or_default().to_vec(),
        media_type: binary.media_type,
        ..Page::default()
    })
}

const fn most(count: usize) -> usize {
    if count == 0 { usize::MAX } else { count }
}

/// The first of the next page; 0 on the last one.
const fn onward(end: usize, total: usize) -> usize {
    if end < total { end } else { 0 }
}

fn of_text(text: &str, ask: &Ask) -> Result<Page, Unread> {
    let total = text.chars().count();
    let start = match text.char_indices().nth(ask.first) {
        Some((at, _)) => at,
        None if ask.first == total => text.len(),
        None => return Err(beyond(total)),
    };
    let rest = text.get(start..).unwrap_or_default();
    let end = rest.char_indices().nth(most(ask.count)).map_or(rest.len(), |(at, _)| at);
    let mut page = rest.get(..end).unwrap_or_default();
    // As JSON a character takes up to six bytes.
    if Value::String(page.to_owned()).to_string().len() > ask.bytes {
        page = page.get(..page.floor_char_boundary((ask.bytes / 6).max(4))).unwrap_or_default();
    }
    if let Some(room) = budget(ask.max_tokens) {
        // A page without anything would never lead to the next.
        let least = page.chars().next().map_or(0, char::len_utf8);
        page = page.get(..shorten::beginning(page, room).max(least)).unwrap_or_default();
    }
    let end = ask.first + page.chars().count();
    Ok(Page {
        json: Value::String(page.to_owned()).to_string(),
        total,
        next_first: onward(end, total),
        ..Page::default()
    })
}

/// Where something stands in an array or object.
#[derive(Clone, Copy)]
enum Key<'v> {
    Index(usize),
    Name(&'v str),
}

impl Key<'_> {
    /// The key as it is written in front of its value.
    fn text(self) -> String {
        match self {
            Self::Index(_) => String::new(),
            Self::Name(name) => format!("{}:", Value::String(name.to_owned())),
        }
    }
}

/// An array or object of which a page is made.
struct Rows {
    total: usize,
    wrap: [&'static str; 2],
}

impl Rows {
    fn page<'v>(
        &self,
        rows: impl Iterator<Item = (Key<'v>, &'v Value)>,
        ask: &Ask,
    ) -> Result<Page, Unread> {
        if ask.first > self.total {
            return Err(beyond(self.total));
        }
        let budget = budget(ask.max_tokens);
        let mut taken: Vec<String> = Vec::new();
        let mut bytes = 2;
        for (key, value) in rows.skip(ask.first).take(most(ask.count)) {
            let text = format!("{}{value}", key.text());
            bytes += text.len() + 1;
            let over = bytes > ask.bytes || budget.is_some_and(|most| bytes / 24 > most);
            if over && !taken.is_empty() {
                break;
            }
            taken.push(text);
            if taken.len() == 1 && (over || !self.fits(&taken, budget)) {
                let alone = budget.unwrap_or(usize::MAX).min(ask.bytes / 4);
                taken = vec![shortened(key, value, ask, alone)];
                break;
            }
        }
        while taken.len() > 1 && !self.fits(&taken, budget) {
            taken.pop();
        }
        let end = ask.first + taken.len();
        Ok(Page {
            json: self.join(&taken),
            total: self.total,
            next_first: onward(end, self.total),
            ..Page::default()
        })
    }

    fn join(&self, taken: &[String]) -> String {
        let [open, close] = self.wrap;
        format!("{open}{}{close}", taken.join(","))
    }

    fn fits(&self, taken: &[String], budget: Option<usize>) -> bool {
        budget.is_none_or(|budget| tokens::count(&self.join(taken)) <= budget)
    }
}

/// A row that is too long for a page of its own, with markers inside.
fn shortened(key: Key<'_>, value: &Value, ask: &Ask, budget: usize) -> String {
    let mut pointer = ask.pointer.clone();
    let name = key.text();
    match key {
        Key::Index(index) => push_index(&mut pointer, index),
        Key::Name(name) => push_name(&mut pointer, name),
    }
    let mut room = budget.saturating_sub(tokens::count(&name) + 2);
    loop {
        let (shown, _) = shorten::fit(&Part::Whole(value), &pointer, Some(room));
        let text = format!("{name}{shown}");
        // A token is four bytes only as a rule.
        if text.len() + 2 <= ask.bytes || room < LEAST {
            return text;
        }
        room /= 2;
    }
}
