//! Marks what in a tool's result reads like an instruction to a model: data, logs and files in,
//! [`Flag`]s and labels of taint out. Nothing is taken out of the result.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{File, Taint};
use crate::catalog::Tool;
use crate::pointer;
use crate::screen::{self, Finding, MOST_BYTES, Reading, Rule};

/// Most flags of one reply.
const MOST: usize = 16;
/// Shorter text is no instruction, whatever the language.
const SHORTEST: usize = 12;

/// One place that reads like an instruction to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flag {
    /// JSON Pointer from the reply's root, for example `/data/items/0/title`. For the name of a
    /// member, the pointer to its value; for a file, to its entry in `metadata.files`.
    pub pointer: String,
    /// What kind of instruction it is.
    pub rule: Rule,
    /// How the text had to be read for it to show.
    pub reading: Reading,
    /// What was found, at most 120 characters.
    pub excerpt: String,
}

/// What is still looked at, and what was found.
struct Search {
    flags: Vec<Flag>,
    bytes: usize,
    whole: bool,
}

/// Looks through everything that a tool put into a reply, at most 512 KiB of it; whether that was
/// all there is. Files that are no text are not looked into.
pub(super) fn find(data: &Value, logs: &str, stderr: &str, files: &[File]) -> (Vec<Flag>, bool) {
    let mut search = Search { flags: Vec::new(), bytes: MOST_BYTES, whole: true };
    search.text(logs, "/metadata/logs");
    search.text(stderr, "/metadata/stderr");
    search.value(data, &mut "/data".to_owned());
    for (at, file) in files.iter().enumerate() {
        if let Ok(text) = std::str::from_utf8(&file.content) {
            search.text(text, &format!("/metadata/files/{at}"));
        }
    }
    for flag in &search.flags {
        metrics::counter!("switchboard_normalize_flags_total", "rule" => label(flag.rule))
            .increment(1);
    }
    (search.flags, search.whole)
}

/// What a result with these flags brings into its conversation.
pub(super) fn taint(tool: &Tool, flags: &[Flag], whole: bool) -> BTreeSet<Taint> {
    let labels = [
        (Taint::Outside, tool.reaches_outside()),
        (Taint::Flagged, !flags.is_empty()),
        (Taint::Unsearched, !whole),
    ];
    labels.into_iter().filter(|(_, holds)| *holds).map(|(label, _)| label).collect()
}

impl Search {
    fn text(&mut self, text: &str, pointer: &str) {
        if text.len() < SHORTEST {
            return;
        }
        self.whole &= text.len() <= self.bytes && self.flags.len() < MOST;
        if self.bytes == 0 || self.flags.len() >= MOST {
            return;
        }
        let text = text.get(..text.floor_char_boundary(self.bytes)).unwrap_or_default();
        self.bytes = self.bytes.saturating_sub(text.len().max(1));
        let room = MOST - self.flags.len();
        let flag = |finding: Finding| Flag {
            pointer: pointer.to_owned(),
            rule: finding.rule,
            reading: finding.reading,
            excerpt: finding.excerpt,
        };
        self.flags.extend(screen::screen(text).into_iter().take(room).map(flag));
    }

    /// Depth is bounded: a deeper value is no JSON data.
    fn value(&mut self, value: &Value, pointer: &mut String) {
        let length = pointer.len();
        match value {
            Value::String(text) => self.text(text, pointer),
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    pointer.push_str(&format!("/{at}"));
                    self.value(item, pointer);
                    pointer.truncate(length);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    pointer.push('/');
                    pointer.push_str(&pointer::escape(name));
                    self.text(name, pointer);
                    self.value(member, pointer);
                    pointer.truncate(length);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

const fn label(rule: Rule) -> &'static str {
    match rule {
        Rule::Override => "override",
        Rule::Role => "role",
        Rule::Standing => "standing",
        Rule::Concealment => "concealment",
        Rule::Exfiltration => "exfiltration",
        Rule::Answer => "answer",
        Rule::Address => "address",
        Rule::Tool => "tool",
        Rule::Memory => "memory",
        Rule::Authority => "authority",
        Rule::Task => "task",
        Rule::Markup => "markup",
        Rule::Hidden => "hidden",
    }
}
