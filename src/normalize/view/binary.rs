//! Binary content inside JSON: long text that is surely base64 in, a handle in its place out. The
//! content itself stays in the ledger's copy, where GetResult decodes it.

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::part::{Part, push_index, push_name};
use crate::catalog::Step;

/// Longest base64 text that stays in data, in characters.
const LONGEST: usize = 1024;
/// Longest head of a data: URL, in bytes.
const MAX_HEAD: usize = 256;
/// Characters that are decoded to find a known kind of file.
const SNIFFED: usize = 400;
/// Schemas that are looked at for one place.
const MOST_SCHEMAS: usize = 64;

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// What is known of a result beside itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'s> {
    /// The tool's output schema.
    pub(super) schema: Option<&'s Value>,
    /// Whether the result is `{"base64": ...}` of our own making.
    pub(super) bytes: bool,
}

/// Bytes that text stood for.
#[derive(Debug)]
pub(super) struct Binary {
    pub(super) media_type: String,
    pub(super) bytes: Vec<u8>,
}

/// Puts handles in the place of binary content; how many.
pub(super) fn replace(part: &mut Part<'_>, known: &Known<'_>) -> u32 {
    // Most results hold no such text, and need no second tree.
    if matches!(part, Part::Whole(value) if !has_long(value)) {
        return 0;
    }
    let mut walk = Walk { known: *known, way: Vec::new(), handles: 0 };
    if let Some(marked) = walk.mark(part) {
        *part = marked;
    }
    walk.handles
}

/// As deep as the value, which is bounded.
fn has_long(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() > LONGEST,
        Value::Array(items) => items.iter().any(has_long),
        Value::Object(members) => members.values().any(has_long),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

struct Walk<'v, 's> {
    known: Known<'s>,
    way: Vec<Step<'v>>,
    handles: u32,
}

impl<'v> Walk<'v, '_> {
    /// The part with its handles; `None` when it has none. As deep as the value, which is bounded.
    fn mark(&mut self, part: &Part<'v>) -> Option<Part<'v>> {
        if let Part::Whole(Value::String(text)) = part {
            return (text.len() > LONGEST).then(|| self.handle(text)).flatten();
        }
        if let Some((_, members)) = part.members() {
            let marked = self.row(members, |&(_, name)| Step::Name(name))?;
            let members = marked.into_iter().map(|((at, name), member)| (at, name, member));
            return Some(Part::Object(members.collect()));
        }
        let (_, items) = part.items()?;
        self.row(items, |&at| Step::Index(at)).map(Part::Array)
    }

    /// Members or items with their handles; `None` when they have none.
    fn row<'p, K>(
        &mut self,
        row: impl Iterator<Item = (K, Cow<'p, Part<'v>>)>,
        step: impl Fn(&K) -> Step<'v>,
    ) -> Option<Vec<(K, Part<'v>)>>
    where
        'v: 'p,
    {
        let row: Vec<_> = row.collect();
        let marked: Vec<_> = row.iter().map(|(key, old)| self.below(step(key), old)).collect();
        if marked.iter().all(Option::is_none) {
            return None;
        }
        let new = row.into_iter().zip(marked);
        Some(new.map(|((key, old), new)| (key, new.unwrap_or_else(|| old.into_owned()))).collect())
    }

    fn below(&mut self, step: Step<'v>, part: &Part<'v>) -> Option<Part<'v>> {
        if matches!(part, Part::Whole(Value::Null | Value::Bool(_) | Value::Number(_))) {
            return None;
        }
        self.way.push(step);
        let marked = self.mark(part);
        self.way.pop();
        marked
    }

    fn handle(&mut self, text: &str) -> Option<Part<'v>> {
        let own = self.known.bytes && self.way == [Step::Name("base64")];
        let declared = match self.known.schema {
            _ if own => Some(None),
            Some(schema) => declared(schema, &self.way),
            None => None,
        };
        let binary = match declared {
            Some(media) => decode(text, media),
            None => sniff(text),
        }?;
        self.handles += 1;
        let mut pointer = "/data".to_owned();
        for step in &self.way {
            match step {
                Step::Name(name) => push_name(&mut pointer, name),
                Step::Index(index) => push_index(&mut pointer, *index),
            }
        }
        Some(Part::Handle(json!({"$binary": {
            "pointer": pointer,
            "media_type": binary.media_type,
            "bytes": binary.bytes.len(),
            "sha256": hex::encode(Sha256::digest(&binary.bytes)),
        }})))
    }
}

/// Text that says or shows that it is binary.
fn sniff(text: &str) -> Option<Binary> {
    if text.starts_with("data:") {
        return decode(text, None);
    }
    let mut start: String = text.chars().take(SNIFFED).filter(|c| !is_break(*c)).collect();
    start.truncate(start.floor_char_boundary(start.len() / 4 * 4));
    let start = raw(&start)?;
    // Kinds that are text are text with or without base64 around.
    infer::get(&start).filter(|kind| kind.matcher_type() != infer::MatcherType::Text)?;
    decode(text, None)
}

/// The bytes that base64 text or a data: URL stands for.
pub(super) fn decode(text: &str, declared: Option<&str>) -> Option<Binary> {
    let (said, text) = match text.strip_prefix("data:") {
        Some(rest) => {
            let (head, body) = rest.split_once(',')?;
            let head = head.strip_suffix(";base64").filter(|head| head.len() <= MAX_HEAD)?;
            let media = head.split(';').next().filter(|media| media.contains('/'));
            (media, body)
        }
        None => (declared, text),
    };
    let bytes = raw(text)?;
    let shown = infer::get(&bytes).map(|kind| kind.mime_type());
    let plain = || std::str::from_utf8(&bytes).is_ok_and(|text| !text.contains('\0'));
    let other = || if plain() { "text/plain" } else { "application/octet-stream" };
    let media_type = shown.or(said).unwrap_or_else(other).to_owned();
    Some(Binary { media_type, bytes })
}

/// Base64 may be broken into lines; words in a row are none.
const fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\n')
}

fn raw(text: &str) -> Option<Vec<u8>> {
    let text = match text.contains(is_break) {
        true => Cow::Owned(text.replace(is_break, "")),
        false => Cow::Borrowed(text),
    };
    STANDARD.decode(text.as_bytes()).or_else(|_| URL_SAFE.decode(text.as_bytes())).ok()
}

/// Whether a schema says that the text at a place is bytes, and of which media type.
fn declared<'s>(schema: &'s Value, way: &[Step<'_>]) -> Option<Option<&'s str>> {
    let mut here = spread(schema, vec![schema]);
    for step in way {
        let next = here.iter().filter_map(|one| below(one, *step)).collect();
        here = spread(schema, next);
    }
    let text = |one: &'s Map<String, Value>, key: &str| one.get(key).and_then(Value::as_str);
    let found = here.into_iter().find(|one| {
        text(one, "contentEncoding").is_some_and(|how| how.eq_ignore_ascii_case("base64"))
            || matches!(text(one, "format"), Some("byte" | "binary"))
    })?;
    Some(text(found, "contentMediaType"))
}

/// These schemas, and those that they refer to or are made of.
fn spread<'s>(root: &'s Value, from: Vec<&'s Value>) -> Vec<&'s Map<String, Value>> {
    let mut waiting = from;
    let mut found: Vec<&Map<String, Value>> = Vec::new();
    while let Some(schema) = waiting.pop() {
        let Value::Object(one) = schema else { continue };
        if found.len() == MOST_SCHEMAS || found.iter().any(|known| std::ptr::eq(*known, one)) {
            continue;
        }
        found.push(one);
        let target = one.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
        waiting.extend(target.and_then(|pointer| root.pointer(pointer)));
        let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| one.get(key));
        waiting.extend(lists.filter_map(Value::as_array).flatten());
    }
    found
}

fn below<'s>(schema: &&'s Map<String, Value>, step: Step<'_>) -> Option<&'s Value> {
    match step {
        Step::Name(name) => {
            let named = schema.get("properties").and_then(|all| all.get(name));
            named.or_else(|| schema.get("additionalProperties"))
        }
        Step::Index(index) => {
            let placed = schema.get("prefixItems").and_then(|all| all.get(index));
            placed.or_else(|| schema.get("items"))
        }
    }
}
