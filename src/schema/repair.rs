//! Repairs arguments where nothing is lost: a value in, a value that fits and the list of changes
//! out, or the violations of the value as it came. A place that fits is never converted.

mod scalar;
mod scope;
mod settle;
mod walk;

use std::borrow::Cow;

use serde_json::Value;

use super::flaw::{Flaw, FlawKind};
use super::notation::{End, translation};
use super::reader::{placed, read, truncated};
use super::validator::Compiled;
use super::violation::{MASK, MAX_VIOLATIONS, Violation, explain, short_pointer};
use super::wrapping;
use super::{BOUNDS, Change, Error, kind_of, own};
use crate::call::Dialect;
use crate::catalog::Tool;

use walk::Walk;

/// Most changes listed; further ones are made and counted.
const MAX_LISTED: usize = 256;
/// Longest text of a change, in characters.
const MAX_TEXT: usize = 200;
/// How often arguments are unpacked that were encoded as a string.
pub(super) const MAX_UNWRAPS: usize = 2;

/// Reads arguments for `tool`, puts them into its own terms, repairs them and checks the result.
pub(super) fn repair(
    (tool, dialect): (&Tool, Option<Dialect>),
    compiled: &Compiled,
    arguments_json: &str,
) -> Result<(Value, Vec<Change>), Error> {
    let mut log = Log::new(compiled.sensitive);
    let value = read_loosely(arguments_json, &mut log)?;
    let object = unwrap_text(value, &mut log)?;
    match mend(tool, compiled, &own(dialect, tool, Cow::Borrowed(&object)), log.clone()) {
        Ok(done) => Ok(done),
        Err(refusal) => {
            if let Some(cut) = cut_envelope(tool, &object) {
                return Err(cut);
            }
            let mut log = log;
            let inner = open_envelope(tool, &object, &mut log);
            let inner = inner.map(|inner| own(dialect, tool, Cow::Owned(inner)));
            let opened = inner.and_then(|inner| mend(tool, compiled, &inner, log).ok());
            opened.ok_or(refusal)
        }
    }
}

/// The object that arguments are in whatever notation, out of the string that they were encoded as; and
/// whether that is another than what was written.
pub(crate) fn loosely(text: &str) -> Result<(Value, bool), Error> {
    let mut log = Log::new(true);
    let value = unwrap_text(read_loosely(text, &mut log)?, &mut log)?;
    Ok((value, log.count() > 0))
}

/// The changes that [`loosely`] makes, where only they were made before.
pub(super) fn translations(sensitive: bool, text: &str) -> Vec<Change> {
    let mut log = Log::new(sensitive);
    let read = read_loosely(text, &mut log).and_then(|value| unwrap_text(value, &mut log));
    if read.is_ok() { log.finish() } else { Vec::new() }
}

/// Reads JSON, or text that says the same in another notation.
fn read_loosely(text: &str, log: &mut Log) -> Result<Value, Error> {
    let (value, changed) = reading(text).map_err(Error::Unreadable)?;
    if changed {
        log.translated(text, &value);
    }
    Ok(value)
}

/// The value that a text is in whatever notation, and whether that is another than JSON.
pub(super) fn reading(text: &str) -> Result<(Value, bool), Flaw> {
    use FlawKind::{Number, Syntax, Text, Trailing, Truncated};
    let flaw = match read(text, BOUNDS) {
        Ok(value) => return Ok((value, false)),
        Err(flaw) if !matches!(flaw.kind, Syntax | Text | Trailing | Number) => return Err(flaw),
        Err(flaw) => flaw,
    };
    let too_early = |what: &str| {
        let message =
            format!("truncated: the text ends inside {what}, send it again, complete and ");
        Flaw { message, ..truncated(text, String::new()) }
    };
    let Ok((inner, before)) = wrapping::inside(text) else {
        let cut = too_early("thinking");
        return Err(Flaw { message: format!("{}without the thinking", cut.message), ..cut });
    };
    let done = translation(inner);
    let again = read(&done.json, BOUNDS);
    Err(match (done.end.clone(), again) {
        (End::Whole, Ok(value)) => return Ok((value, true)),
        (End::Comment, _) => {
            let cut = too_early("a comment");
            Flaw { message: format!("{}without comments", cut.message), ..cut }
        }
        // Cut off is what it is, in whatever notation: nothing else about it helps.
        (End::Cut, Err(cut)) if matches!(cut.kind, Truncated | Number) => {
            truncated(text, cut.pointer)
        }
        (End::Odd(at, message), Err(cut)) if cut.kind == Truncated => {
            placed(text, before + at, Flaw { kind: Syntax, message, ..cut })
        }
        (End::Cut, Err(other)) if matches!(other.kind, Syntax | Text) => {
            let message =
                format!("{}; the text also ends too early: send all of it", other.message);
            placed(text, before + done.source(other.offset), Flaw { message, ..other })
        }
        (_, Err(other)) => placed(text, before + done.source(other.offset), other),
        (End::Cut | End::Odd(..), Ok(_)) => flaw,
    })
}

/// Unpacks arguments that were encoded as a JSON string, at most twice.
fn unwrap_text(value: Value, log: &mut Log) -> Result<Value, Error> {
    let mut current = value;
    for _ in 0..MAX_UNWRAPS {
        let Value::String(text) = &current else { break };
        let inner = match reading(text) {
            Ok((inner, false)) => inner,
            Ok((inner @ Value::Object(_), true)) => {
                log.translated(text, &inner);
                inner
            }
            // What begins as an object is one, and what is wrong with it is worth telling.
            Err(flaw) if text.trim_start().starts_with('{') => {
                return Err(Error::Unreadable(flaw));
            }
            _ => break,
        };
        log.add("decode", "", Some(&current), Some(&inner));
        current = inner;
    }
    if current.is_object() {
        return Ok(current);
    }
    Err(Error::NotObject(kind_of(&current).to_owned()))
}

/// The arguments inside an envelope that is no member of the tool's own.
pub(super) fn inner(tool: &Tool, value: &Value) -> Option<Value> {
    if is_own(tool, value) { None } else { opened(tool, value) }
}

/// Whether an object has a member that the tool declares.
fn is_own(tool: &Tool, value: &Value) -> bool {
    let members = tool.input_schema.get("properties").and_then(Value::as_object);
    let declared = |key: &String| members.is_some_and(|members| members.contains_key(key));
    value.as_object().is_some_and(|object| object.keys().any(declared))
}

/// The arguments inside something like `{"name": TOOL, "arguments": {...}}`.
fn open_envelope(tool: &Tool, value: &Value, log: &mut Log) -> Option<Value> {
    let opened = match content(tool, value)? {
        Value::Object(object) => Value::Object(object.clone()),
        text @ Value::String(_) => unwrap_text(text.clone(), &mut Log::new(false)).ok()?,
        _ => return None,
    };
    log.add("unwrap", "", Some(value), Some(&opened));
    Some(opened)
}

/// That an envelope, which is no object of the tool's own, holds text of arguments that ends too early.
fn cut_envelope(tool: &Tool, value: &Value) -> Option<Error> {
    let text = content(tool, value).filter(|content| content.is_string())?;
    let error = unwrap_text(text.clone(), &mut Log::new(false)).err()?;
    let is_cut = matches!(&error, Error::Unreadable(flaw) if flaw.kind == FlawKind::Truncated);
    (is_cut && !is_own(tool, value)).then_some(error)
}

/// What an envelope holds.
fn content<'v>(tool: &Tool, value: &'v Value) -> Option<&'v Value> {
    const INNER: [&str; 4] = ["arguments", "parameters", "input", "args"];
    const BESIDE: [&str; 5] = ["name", "tool", "tool_name", "id", "type"];
    let mut inner = None;
    for (key, item) in value.as_object()? {
        match key.as_str() {
            key if INNER.contains(&key) && inner.is_none() => inner = Some(item),
            "name" | "tool" | "tool_name" if item.as_str() != Some(&tool.name) => return None,
            key if BESIDE.contains(&key) => {}
            _ => return None,
        }
    }
    inner
}

/// Repairs an object; the error speaks of the object as it came.
fn mend(
    tool: &Tool,
    compiled: &Compiled,
    object: &Value,
    log: Log,
) -> Result<(Value, Vec<Change>), Error> {
    let mut walk = Walk::new(compiled, &tool.aliases, log);
    let mut value = object.clone();
    walk.mend_root(&mut value);
    if !walk.conflicts.is_empty() {
        return Err(refusal(walk.conflicts, walk.log));
    }
    if !compiled.is_valid(&value) {
        return Err(unmended(compiled, object, &value, walk.log));
    }
    let (plain, plain_log) = (value.clone(), walk.log.clone());
    walk.settle_root(&mut value, true);
    if !compiled.is_valid(&value) {
        // A default can break a rule between properties: then none is given.
        value = plain;
        walk.log = plain_log;
        walk.settle_root(&mut value, false);
    }
    if !walk.conflicts.is_empty() {
        return Err(refusal(walk.conflicts, walk.log));
    }
    Ok((value, walk.log.finish()))
}

/// An object after the repairs of its names and values, whether or not it fits then; or two names of one
/// property.
pub(super) fn mended(
    tool: &Tool,
    compiled: &Compiled,
    object: &Value,
) -> Result<Value, Vec<Violation>> {
    let mut walk = Walk::new(compiled, &tool.aliases, Log::new(compiled.sensitive));
    let mut value = object.clone();
    walk.mend_root(&mut value);
    if walk.conflicts.is_empty() { Ok(value) } else { Err(walk.conflicts) }
}

/// The arguments inside an envelope.
pub(super) fn opened(tool: &Tool, value: &Value) -> Option<Value> {
    open_envelope(tool, value, &mut Log::new(true))
}

fn refusal(mut violations: Vec<Violation>, log: Log) -> Error {
    let total = violations.len();
    violations.truncate(MAX_VIOLATIONS);
    Error::Violations { violations, total, repairs: log.tried() }
}

/// The violations of the object as it came, less those that the repairs healed. Where a repair gave
/// something another name, or read it out of a text, those of the repaired object: the old names and
/// texts would hide what is wrong with the values.
fn unmended(compiled: &Compiled, object: &Value, repaired: &Value, log: Log) -> Error {
    let tried = log.tried();
    if tried.iter().any(moved) {
        let (violations, total) = explain(compiled, repaired);
        return Error::Violations { violations, total, repairs: tried };
    }
    let (original, total) = explain(compiled, object);
    let left = match tried.len() {
        0 => original.clone(),
        _ => explain(compiled, repaired).0,
    };
    let remains = |violation: &&Violation| {
        left.iter().any(|other| {
            other.pointer.starts_with(&violation.pointer)
                || violation.pointer.starts_with(&other.pointer)
        })
    };
    let kept: Vec<Violation> = original.iter().filter(remains).cloned().collect();
    let (violations, total) = if kept.is_empty() {
        (original, total)
    } else {
        let healed = original.len() - kept.len();
        (kept, total - healed)
    };
    Error::Violations { violations, total, repairs: tried }
}

/// Whether a change gave places that were not there before.
fn moved(change: &Change) -> bool {
    change.kind == "rename" || (change.kind == "decode" && !change.pointer.is_empty())
}

// === impl Log ===

/// The changes made so far.
#[derive(Debug, Clone)]
struct Log {
    changes: Vec<Change>,
    unlisted: usize,
    /// Hides whole objects, because some part of them may be secret.
    sensitive: bool,
}

impl Log {
    fn new(sensitive: bool) -> Self {
        Self { changes: Vec::new(), unlisted: 0, sensitive }
    }

    fn count(&self) -> usize {
        self.changes.len() + self.unlisted
    }

    fn push(&mut self, kind: &str, pointer: &str, from: String, to: String) {
        if self.changes.len() >= MAX_LISTED {
            self.unlisted += 1;
            return;
        }
        self.changes.push(Change {
            kind: kind.to_owned(),
            pointer: short_pointer(pointer),
            from,
            to,
        });
    }

    /// Notes a change of a value that may hold secrets only if the whole input may.
    fn add(&mut self, kind: &str, pointer: &str, from: Option<&Value>, to: Option<&Value>) {
        let secret = self.sensitive;
        self.push(kind, pointer, shown(from, secret), shown(to, secret));
    }

    /// Notes that the whole stood in another notation than JSON.
    fn translated(&mut self, text: &str, value: &Value) {
        let source = Value::String(text.to_owned());
        self.add("notation", "", Some(&source), Some(value));
    }

    /// Notes a change of one scalar.
    fn note(&mut self, kind: &str, pointer: &str, secret: bool, values: [Option<&Value>; 2]) {
        let [from, to] = values;
        self.push(kind, pointer, shown(from, secret), shown(to, secret));
    }

    fn append(&mut self, other: Self) {
        for change in other.changes {
            self.push(&change.kind, &change.pointer, change.from, change.to);
        }
        self.unlisted += other.unlisted;
    }

    /// The changes as part of an error, which has less room.
    fn tried(mut self) -> Vec<Change> {
        let surplus = self.changes.len().saturating_sub(MAX_VIOLATIONS);
        self.changes.truncate(MAX_VIOLATIONS);
        self.unlisted += surplus;
        self.finish()
    }

    fn finish(mut self) -> Vec<Change> {
        if self.unlisted > 0 {
            self.changes.push(Change {
                kind: "more".to_owned(),
                pointer: String::new(),
                from: String::new(),
                to: self.unlisted.to_string(),
            });
        }
        self.changes
    }
}

fn shown(value: Option<&Value>, secret: bool) -> String {
    match value {
        None => String::new(),
        Some(_) if secret => format!("\"{MASK}\""),
        Some(value) => {
            let text = value.to_string();
            let short: String = text.chars().take(MAX_TEXT).collect();
            if short.len() < text.len() { format!("{short}…") } else { text }
        }
    }
}
