//! How what a tool gave becomes `data`: an outcome in, a [`Content`] out.
//!
//! A program's standard output (the first that applies; `data_form` in the reply names it):
//! - nothing but white space: null (`none`);
//! - JSON and nothing else: that value, numbers with all their digits as spelled, only an exponent
//!   gets its sign (`json`);
//! - two or more lines, each a JSON object or array: an array of them (`lines`);
//! - text that ends in a JSON object or array which starts on a line of its own: that value; the
//!   lines before it are the reply's `logs` (`json`);
//! - other text: a string, terminal sequences included (`text`). JSON that names a key twice, is
//!   nested more than 64 levels deep or has a lone surrogate is text too;
//! - text in which some bytes are no UTF-8: U+FFFD in their place, and a note (`text`);
//! - more than one character in four broken, or a NUL: `{"base64": ...}` (`bytes`);
//! - whatever it is, where the manifest names a file for it: null, and that file (`file`).
//!
//! A character that was cut in two by the output cap is left out.
//!
//! A program whose manifest says `json_output` must give the second form, or the call fails.
//!
//! An upstream's body is decoded by its byte order mark, the `charset` of its `Content-Type`, the
//! encoding that an HTML or XML document names, else UTF-8. Then, by its media type:
//! - no body, or white space: null (`none`);
//! - JSON (`application/json`, `+json`): its value; a body that is not JSON is an error;
//! - lines of JSON (`application/x-ndjson`, `jsonl`, `json-seq`): an array; a broken line is left
//!   out with a note (`lines`);
//! - `text/event-stream`: an array of `{"event", "id", "data"}`, data as text (`events`);
//! - HTML and XML: text;
//! - images, audio, video, fonts, PDF, archives, and what cannot be read as text and does not claim to
//!   be any: null, and the file `body.` with the ending of its kind (`file`);
//! - anything else: JSON if it is an object or array, else as for a program.
//!
//! Where the request asks for JSON only, as for a document that promises it, a page (HTML) is an error,
//! and other text or bytes that are not JSON get a note.
//!
//! A call that failed carries its data too, text of at most 16 KiB. `logs` and `stderr` are
//! stripped of terminal sequences and control characters.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::body::{forbids_storing, is_json, media_type, read_answer};
use super::files::{self, Absent};
use super::metadata::Note;
use super::pages;
use super::stream::read_lines;
use crate::call::File;
use crate::catalog::{Target, Tool};
use crate::sandbox::{End, Outcome};
use crate::schema::{Bounds, MAX_DEPTH, read, read_last};

/// Longest logs in a reply, in bytes.
const MAX_LOGS: usize = 16 << 10;
/// Lines that are tried as the start of a JSON value at the end of text.
const MAX_STARTS: usize = 16;

/// How data was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// There was nothing to read.
    None,
    /// A JSON value.
    Json,
    /// Lines of JSON, as an array.
    Lines,
    /// Server-sent events, as an array.
    Events,
    /// Text.
    Text,
    /// Bytes in base64.
    Bytes,
    /// No data but a file.
    File,
}

/// What a tool gave.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) data: Value,
    pub(super) form: Form,
    pub(super) media_type: Option<String>,
    pub(super) charset: Option<String>,
    pub(super) pages: Option<u32>,
    pub(super) next_link: Option<String>,
    pub(super) logs: String,
    pub(super) notes: Vec<Note>,
    /// Whether `logs` is only the end of what there was.
    pub(super) cut: bool,
    pub(super) files: Vec<File>,
    /// Files that were promised.
    pub(super) absent: Vec<Absent>,
}

impl Content {
    pub(super) fn new(form: Form, data: Value) -> Self {
        Self {
            data,
            form,
            media_type: None,
            charset: None,
            pages: None,
            next_link: None,
            logs: String::new(),
            notes: Vec::new(),
            cut: false,
            files: Vec::new(),
            absent: Vec::new(),
        }
    }

    pub(super) fn note(&mut self, kind: &str, detail: impl Into<String>) {
        self.notes.push(Note { kind: kind.to_owned(), detail: detail.into() });
    }

    /// Whether it is a page for people to read.
    pub(super) fn is_page(&self) -> bool {
        matches!(self.media_type.as_deref(), Some("text/html" | "application/xhtml+xml"))
    }

    pub(super) fn noted(&self, kind: &str) -> bool {
        self.notes.iter().any(|note| note.kind == kind)
    }
}

/// Reads what the tool gave.
pub(super) fn read_outcome(tool: &Tool, outcome: &Outcome) -> Content {
    let mut content = match (&outcome.http, &tool.target) {
        (Some(answer), _) => {
            let mut content = read_answer(answer, outcome.end != End::Exited(0));
            if let Some(more) = &answer.pages {
                pages::join(&mut content, more, tool);
            }
            content
        }
        (None, Target::Command(_)) if tool.files.stdout.is_some() => {
            let name = tool.files.stdout.as_deref().unwrap_or_default();
            files::stdout(name, &outcome.stdout, is_cut(outcome))
        }
        (None, Target::Command(command)) if command.json_output => {
            read_promised(&outcome.stdout, is_cut(outcome))
        }
        (None, _) => read_stdout(&outcome.stdout, is_cut(outcome)),
    };
    let Some(answer) = &outcome.http else { return content };
    if (tool.output_schema.is_some() || promises_json(tool))
        && matches!(content.form, Form::Text | Form::Bytes | Form::File)
        && !content.noted("invalid_json")
    {
        let found = content.media_type.clone().unwrap_or_else(|| "text".to_owned());
        content.note("unexpected_media_type", format!("got `{found}` in place of data"));
    }
    if let Some(word) = forbids_storing(answer).filter(|_| tool.cache_ttl.is_some()) {
        content.note("not_cached", format!("the upstream forbids it with `{word}`"));
    }
    content
}

/// Whether the tool's requests ask for JSON and nothing else, as those of a document that promises it.
pub(super) fn promises_json(tool: &Tool) -> bool {
    let Target::Http(target) = &tool.target else { return false };
    let mut wanted = target.headers.iter().filter(|(name, _)| name == "accept").peekable();
    wanted.peek().is_some()
        && wanted.all(|(_, media)| media.split(',').all(|one| is_json(&media_type(one))))
}

/// Whether the tool wrote more than the outcome holds.
pub(super) fn is_cut(outcome: &Outcome) -> bool {
    let longer = |written: u64, kept: usize| u64::try_from(kept).is_ok_and(|kept| written > kept);
    outcome.end == End::OutputLimit
        // The answer of an HTTP tool was moved out of its standard output.
        || (outcome.http.is_none() && longer(outcome.stdout_bytes, outcome.stdout.len()))
        // An answer whose end did not come.
        || (outcome.http.is_some() && outcome.end != End::Exited(0))
        || longer(outcome.stderr_bytes, outcome.stderr.len())
}

/// JSON text as a value, within the bounds of outputs.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let bounds = Bounds { bytes: text.len(), depth: MAX_DEPTH };
    read(text, bounds).map_err(|flaw| flaw.to_string())
}

/// An upstream's JSON text as a value, and whether an object in it has two members of one name, of
/// which the last one counts (RFC 8259, section 4): the call was done, and to refuse its answer would
/// have it done twice.
pub(super) fn parse_last(text: &str) -> Result<(Value, bool), String> {
    let bounds = Bounds { bytes: text.len(), depth: MAX_DEPTH };
    read_last(text, bounds).map_err(|flaw| flaw.to_string())
}

/// JSON text as a value, where it is an object or array.
pub(super) fn parse_compound(text: &str) -> Option<Value> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    parse(text).ok()
}

fn read_promised(bytes: &[u8], cut: bool) -> Content {
    let content = read_text(bytes, cut);
    let Value::String(text) = &content.data else {
        return content;
    };
    match parse(text.trim()) {
        Ok(value) => Content::new(Form::Json, value),
        Err(flaw) => {
            let mut content = content;
            content.note("invalid_json", flaw);
            content
        }
    }
}

fn read_stdout(bytes: &[u8], cut: bool) -> Content {
    let mut content = read_text(bytes, cut);
    let Value::String(text) = &content.data else {
        return content;
    };
    let trimmed = text.trim();
    if let Ok(value) = parse(trimmed) {
        content.data = value;
        content.form = Form::Json;
    } else if let Some(items) = all_lines(trimmed) {
        content.data = Value::Array(items);
        content.form = Form::Lines;
    } else if let Some((logs, value)) = last_value(trimmed) {
        content.cut = logs.len() > MAX_LOGS;
        content.logs = clean_tail(logs.as_bytes(), MAX_LOGS);
        content.data = value;
        content.form = Form::Json;
    }
    content
}

/// Bytes that should be UTF-8 text.
pub(super) fn read_text(bytes: &[u8], cut: bool) -> Content {
    let bytes = if cut { whole_characters(bytes) } else { bytes };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) if text.trim().is_empty() => return Content::new(Form::None, Value::Null),
        Ok(text) if !text.contains('\0') => text.to_owned(),
        Ok(_) => return in_base64(bytes),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    };
    let broken = text.matches('\u{fffd}').count();
    if std::str::from_utf8(bytes).is_ok() {
        return Content::new(Form::Text, Value::String(text));
    }
    if is_mostly_broken(&text, broken) || text.contains('\0') {
        return in_base64(bytes);
    }
    let mut content = Content::new(Form::Text, Value::String(text));
    content.note("invalid_text", format!("{broken} characters are no UTF-8 and were replaced"));
    content
}

/// Whether more than one character in four had to be replaced.
pub(super) fn is_mostly_broken(text: &str, broken: usize) -> bool {
    broken.saturating_mul(4) > text.chars().count()
}

pub(super) fn in_base64(bytes: &[u8]) -> Content {
    Content::new(Form::Bytes, json!({"base64": STANDARD.encode(bytes)}))
}

/// `bytes` without a character that was cut in two at the end.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        // No length means: what is there is good so far, but ends too early.
        Err(error) if error.error_len().is_none() => {
            bytes.get(..error.valid_up_to()).unwrap_or(bytes)
        }
        _ => bytes,
    }
}

fn all_lines(text: &str) -> Option<Vec<Value>> {
    let first = text.lines().next()?;
    parse_compound(first.trim())?;
    let (items, broken) = read_lines(text, true);
    (items.len() > 1 && broken.is_empty()).then_some(items)
}

/// The JSON object or array that `text` ends in, and what stands before it.
fn last_value(text: &str) -> Option<(&str, Value)> {
    let start_of_last = text.rfind('\n').map(|at| at + 1)?;
    let later_starts = text
        .match_indices('\n')
        .map(|(at, _)| at + 1)
        .filter(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(['{', '['])))
        .take(MAX_STARTS);
    std::iter::once(start_of_last).chain(later_starts).find_map(|at| {
        let (logs, rest) = text.split_at_checked(at)?;
        Some((logs.trim_end(), parse_compound(rest.trim())?))
    })
}

/// The last `limit` bytes of text, from the start of a line where there is one, without terminal
/// sequences and control characters.
pub(super) fn clean_tail(bytes: &[u8], limit: usize) -> String {
    let start = bytes.len().saturating_sub(limit);
    let mut tail = bytes.get(start..).unwrap_or_default();
    if start > 0
        && let Some(line) = tail.iter().position(|byte| *byte == b'\n')
        && line + 1 < tail.len()
    {
        tail = tail.get(line + 1..).unwrap_or_default();
    }
    let text = String::from_utf8_lossy(tail);
    strip_controls(text.trim_end())
}

/// `text` without terminal sequences and control characters other than line feed and tab.
fn strip_controls(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => match characters.next() {
                // A control sequence ends with a byte from `@` to `~`.
                Some('[') => {
                    for inner in characters.by_ref() {
                        if ('@'..='~').contains(&inner) {
                            break;
                        }
                    }
                }
                // An operating system command ends with BEL or ESC and a backslash.
                Some(']') => {
                    let mut before = ' ';
                    for inner in characters.by_ref() {
                        if inner == '\u{7}' || (before == '\u{1b}' && inner == '\\') {
                            break;
                        }
                        before = inner;
                    }
                }
                _ => {}
            },
            '\r' if characters.peek() == Some(&'\n') => {}
            '\n' | '\t' => clean.push(character),
            other if other.is_control() => clean.push('\u{fffd}'),
            other => clean.push(other),
        }
    }
    clean
}
