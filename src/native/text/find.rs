//! Goes through a text once and gives what looks like a call or an answer, with its place. Passes over
//! what only quotes. Bounded: values are looked at a limited number of times.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::fence::Fence;
use super::found::{Found, What};
use super::shape::{Shape, shape};
use super::value::{self, Value};
use super::{Known, Tools};
use crate::native::raw::Stop;
use crate::schema::{FlawKind, flaw};

/// More than these are never run, so no more are looked for.
const MAX_FOUND: usize = 64;
/// Names that are looked up.
pub(super) const MAX_LOOKUPS: usize = 64;
/// Bytes after the start of a broken value in which its tool's name is looked for.
const MAX_HEAD: usize = 4096;
/// The first byte of the marks of Qwen.
const FLOWER: u8 = 0xe2;
/// Languages of a fenced block that can be a call.
const LANGUAGES: [&str; 13] = [
    "",
    "json",
    "json5",
    "jsonc",
    "jsonl",
    "tool",
    "tool_call",
    "tool_calls",
    "tool_code",
    "function",
    "function_call",
    "action",
    "text",
];
/// Languages in which something like a call is a piece of a program.
const PROGRAMS: [&str; 5] = ["python", "py", "python3", "javascript", "js"];

/// Parts of a text that show what a tool gave, or what could be.
const SHOWN: [(&str, &str); 6] = [
    ("<tool_response>", "</tool_response>"),
    ("<tool_result>", "</tool_result>"),
    ("<function_results>", "</function_results>"),
    ("<observation>", "</observation>"),
    ("<example>", "</example>"),
    ("<!--", "-->"),
];

/// The name of a tool in something that begins like a call.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text = r#"\b(?:name|tool|tool_name|function|function_name|action)(?:["'“”`]|&quot;)?\s*[:：]\s*(?:["'“”`]|&quot;)([^"'“”`&\\\s]{1,128})(?:["'“”`]|&quot;)"#;
    Regex::new(text).ok()
});

/// One way through one text.
pub(super) struct Finder<'t, 'a> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    tools: &'a Tools<'a>,
    pub(super) budget: usize,
    lookups: usize,
    pub(super) found: Vec<Found>,
}

impl<'t, 'a> Finder<'t, 'a> {
    pub(super) fn new(text: &'t str, tools: &'a Tools<'a>) -> Self {
        let budget = 16 * text.len() + (64 << 10);
        Self { text, at: after_thinking(text), tools, budget, lookups: 0, found: Vec::new() }
    }

    pub(super) fn find(mut self) -> Vec<Found> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at).copied() {
            if self.budget == 0 || self.found.len() >= MAX_FOUND {
                self.give_up();
                break;
            }
            let begins =
                self.at.checked_sub(1).is_none_or(|before| bytes.get(before) == Some(&b'\n'));
            if begins && self.line() {
                continue;
            }
            match byte {
                b'`' => self.code(),
                b'{' => self.value(),
                b'<' if self.shown() => {}
                b'<' | b'[' | b'f' | FLOWER if self.marked() => {}
                b'[' if self
                    .rest()
                    .get(1..)
                    .is_some_and(|rest| rest.trim_start().starts_with('{')) =>
                {
                    self.value();
                }
                _ => self.at += 1,
            }
        }
        self.found
    }

    /// A text that is too much to look at to its end holds no call for certain.
    fn give_up(&mut self) {
        let why = "found too much that looks like a call to tell which is meant, so nothing ran: \
                   send one JSON object and nothing else";
        if !self.found.is_empty() {
            let what = What::Broken { why: why.to_owned(), tool: None };
            self.push(self.at, self.at, what);
        }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn push(&mut self, at: usize, end: usize, what: What) {
        self.found.push(Found { at, end, fenced: false, marked: false, what });
    }

    pub(super) fn tool(&mut self, name: &str) -> Option<Known> {
        self.lookups += 1;
        if self.lookups > MAX_LOOKUPS || name.len() > 256 {
            return None;
        }
        (self.tools)(name)
    }

    /// What a value is, if it is anything.
    pub(super) fn what(&mut self, json: &str) -> Option<What> {
        let shaped = shape(json);
        match &shaped {
            Shape::Data => None,
            Shape::Final(answer, json) => {
                Some(What::Final { answer: answer.clone(), json: json.clone() })
            }
            Shape::Broken(names, why) | Shape::Odd(names, why) => {
                let odd = matches!(shaped, Shape::Odd(..));
                let tool = names.iter().find_map(|name| self.tool(name))?;
                let why = format!(
                    "found something like a call of `{}`, but {why}, so it did not run: send one \
                     JSON object of `name` and `arguments`, and nothing else",
                    tool.name
                );
                let tool = Some(tool);
                Some(if odd { What::Odd { why, tool } } else { What::Broken { why, tool } })
            }
            Shape::Calls(wanted) => {
                let tools: Vec<_> = wanted.iter().map(|call| self.tool(&call.name)).collect();
                let known = tools.iter().all(Option::is_some);
                let tool = tools.into_iter().flatten().next();
                Some(What::Calls { wanted: wanted.clone(), known, tool })
            }
        }
    }

    pub(super) fn read(&mut self) -> Value<'t> {
        value::at(self.rest(), &mut self.budget)
    }

    /// A value in the middle of text.
    fn value(&mut self) {
        let start = self.at;
        let before = self.text.get(..start).unwrap_or_default();
        let quoted = before.ends_with(['"', '\'', '“', '‘', '«', '‹', '„']);
        match self.read() {
            Value::Whole(json, length) => {
                self.at += length;
                let what = if quoted { None } else { self.what(&json) };
                if let Some(what) = what {
                    self.push(start, self.at, what);
                }
            }
            Value::Broken(stop, end) => self.broken(stop, end, quoted),
        }
    }

    /// Passes over something that is no value; notes it where it is meant as a call.
    pub(super) fn broken(&mut self, stop: Stop, end: Option<usize>, quoted: bool) {
        let start = self.at;
        let length = self.rest().len();
        let what = if quoted { None } else { self.meant(stop, end) };
        let is_meant = what.is_some();
        if let Some(what) = what {
            self.push(start, self.text.len(), what);
        }
        self.at += match (stop.cut, is_meant) {
            (true, _) => length,
            (false, true) => end.unwrap_or(stop.at).max(1),
            (false, false) => 1,
        };
    }

    /// What the broken value at hand was meant to be.
    fn meant(&mut self, stop: Stop, end: Option<usize>) -> Option<What> {
        let rest = self.rest();
        let head = rest.get(..rest.floor_char_boundary(MAX_HEAD)).unwrap_or_default();
        // What does not even begin like an object, or an array of them, is a brace in prose.
        let inner = head.get(1..)?.trim_start();
        let begins = inner.starts_with(['\'', '{', '“', '”', '"', '`', '/', '#', '&'])
            || ["name", "tool", "function", "action"].iter().any(|key| inner.starts_with(key));
        let head = if begins { head } else { "" };
        self.budget = self.budget.saturating_sub(head.len());
        let names: Vec<&str> = NAMED
            .as_ref()?
            .captures_iter(head)
            .take(4)
            .filter_map(|found| Some(found.get(1)?.as_str()))
            .collect();
        let tool = names.into_iter().find_map(|name| self.tool(name));
        let Some(tool) = tool else { return stop.cut.then_some(What::Weak) };
        let whole = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        self.budget = self.budget.saturating_sub(whole.len());
        let flaw = if stop.cut { None } else { flaw(whole) };
        let cut = stop.cut || flaw.as_ref().is_some_and(|flaw| flaw.kind == FlawKind::Truncated);
        let why = match (cut, flaw) {
            (true, _) => format!(
                "found a call of `{}` that ends before its JSON does: it was cut off, so it did not \
                 run; send it again, complete and shorter",
                tool.name
            ),
            (false, flaw) => format!(
                "found something like a call of `{}`, but it is no JSON: {}; so it did not run: send \
                 one JSON object with every quote and line break inside a string escaped, and nothing \
                 else",
                tool.name,
                flaw.map_or_else(String::new, |flaw| flaw.to_string()),
            ),
        };
        Some(What::Broken { why, tool: Some(tool) })
    }

    /// A part that is marked as a result, an example or a remark; false where there is none.
    fn shown(&mut self) -> bool {
        let rest = self.rest();
        let Some((_, close)) = SHOWN.iter().find(|(open, _)| rest.starts_with(open)) else {
            return false;
        };
        self.at += rest.find(close).map_or(rest.len(), |at| at + close.len());
        true
    }

    /// Inline code: what it holds is shown, not meant, unless there is nothing else.
    fn code(&mut self) {
        let rest = self.rest();
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        let (mark, after) = rest.split_at_checked(ticks).unwrap_or((rest, ""));
        let line = after.split('\n').next().unwrap_or_default();
        self.budget = self.budget.saturating_sub(line.len());
        let mut from = 0;
        let length = loop {
            let Some(found) = line.get(from..).and_then(|line| line.find(mark)) else { break None };
            let close = line.get(from + found..).unwrap_or_default();
            let run = close.len() - close.trim_start_matches('`').len();
            if run == ticks {
                break Some(from + found);
            }
            from += found + run;
        };
        let Some(length) = length else {
            self.at += ticks;
            return;
        };
        let (start, end) = (self.at, self.at + ticks + length + ticks);
        let outside = [self.text.get(..start), self.text.get(end..)];
        if outside.iter().flatten().all(|part| part.trim().is_empty()) {
            let inner = after.get(..length).unwrap_or_default().trim_start();
            let inner = inner.strip_prefix("json").unwrap_or(inner);
            if let Value::Whole(json, taken) = value::at(inner, &mut self.budget)
                && inner.get(taken..).is_some_and(|rest| rest.trim().is_empty())
                && let Some(what) = self.what(&json)
            {
                self.push(start, end, what);
            }
        }
        self.at = end;
    }

    /// The beginning of a line: a quotation, or a fence. False for any other.
    fn line(&mut self) -> bool {
        let rest = self.rest();
        let line = rest.split('\n').next().unwrap_or_default();
        let next = self.at + (line.len() + 1).min(rest.len());
        let inner = line.trim_start();
        if line.starts_with('>') && self.recipient() {
            return true;
        }
        if inner.starts_with('>') {
            self.at = next;
            return true;
        }
        if let Some(name) = inner.strip_prefix("Action:") {
            return self.action(name, next);
        }
        let Some(fence) = Fence::open(inner) else { return false };
        let start = self.at;
        self.at = next;
        self.block(start, &fence);
        true
    }

    /// A fenced block, after the line that opens it.
    fn block(&mut self, start: usize, fence: &Fence<'_>) {
        let language = fence.language.to_ascii_lowercase();
        if PROGRAMS.contains(&language.as_str()) {
            return self.program(start, fence);
        }
        if !LANGUAGES.contains(&language.as_str()) {
            self.at += fence.length(self.rest());
            return;
        }
        let space = |text: &str| text.len() - text.trim_start().len();
        loop {
            let body = self.at;
            self.at += space(self.rest());
            if self.rest().starts_with('<') || self.rest().starts_with("[TOOL_CALLS]") {
                return;
            }
            if !self.rest().starts_with(['{', '[', '"']) {
                self.at = body;
                break;
            }
            let value_at = self.at;
            let (json, length) = match self.read() {
                Value::Whole(json, length) => (json, length),
                Value::Broken(stop, end) => {
                    self.broken(stop, end, false);
                    break;
                }
            };
            self.at += length;
            let unquoted = value::unquote(&json).map_or(json, Cow::Owned);
            let rest = self.rest();
            let between = rest.len() - rest.trim_start_matches([' ', '\t', '\r', ';', ',']).len();
            if let Some(what) = self.what(&unquoted) {
                let closes = fence.closes(self.text.get(self.at + between..).unwrap_or_default());
                let end = self.at + between + closes.unwrap_or_default();
                let fenced = Found { at: start, end, fenced: true, marked: false, what };
                self.found.push(fenced);
                if closes.is_none() {
                    // More in the same block: what it is, is for the rules of several calls.
                    self.last_from(value_at);
                }
            }
            self.at += between;
        }
        self.at += fence.length(self.rest());
    }

    /// A block of a programming language. One that is nothing but a call is meant as one, and is not
    /// run: it may as well be a piece of a program.
    fn program(&mut self, start: usize, fence: &Fence<'_>) {
        let rest = self.rest();
        let length = fence.length(rest);
        let inner = rest.get(..length).unwrap_or_default().trim_start();
        if inner.starts_with(['{', '['])
            && let Value::Whole(json, taken) = value::at(inner, &mut self.budget)
            && fence.closes(inner.get(taken..).unwrap_or_default()).is_some()
            && let Some(What::Calls { tool: Some(tool), .. }) = self.what(&json)
        {
            let why = format!(
                "found a call of `{}` in a block of {}, which is not run: send one JSON object of \
                 `name` and `arguments`, and nothing else",
                tool.name, fence.language
            );
            self.push(start, start, What::Broken { why, tool: Some(tool) });
        }
        self.at += length;
    }

    /// Whatever follows in its block, the value begins at its own place.
    fn last_from(&mut self, at: usize) {
        if let Some(last) = self.found.last_mut() {
            last.at = at;
        }
    }
}

/// Bytes of what a model thought before it answered.
pub(super) fn after_thinking(text: &str) -> usize {
    const MARKS: [(&str, &str); 4] = [
        ("<think>", "</think>"),
        ("<thinking>", "</thinking>"),
        ("<reasoning>", "</reasoning>"),
        ("[THINK]", "[/THINK]"),
    ];
    let start = text.len() - text.trim_start().len();
    for (open, close) in MARKS {
        let begins = text.get(start..).is_some_and(|text| text.starts_with(open));
        // Some templates write the opening mark themselves.
        let ends = text.find(close).filter(|at| {
            begins
                || text
                    .get(..*at)
                    .is_some_and(|before| before.ends_with('\n') || !before.contains('{'))
        });
        match ends {
            Some(at) => return at + close.len(),
            None if begins => return text.len(),
            None => {}
        }
    }
    0
}
