//! The marked forms in which open models write calls:
//!
//! - `<tool_call>{..}</tool_call>` (Hermes, Qwen), also `<function_call>`, `<tool_calls>` and
//!   `<|tool_call|>` (Granite, Phi)
//! - `<function=NAME>{..}</function>` (Llama), and there `<parameter=NAME>text</parameter>` (Qwen Coder)
//! - `<invoke name="NAME">`, and there `<parameter name="NAME">text</parameter>`
//! - `[TOOL_CALLS][{..}]` and `[TOOL_CALLS]NAME[ARGS]{..}` (Mistral), `functools[{..}]` (Phi)
//! - `<|python_tag|>{..}` and `<|python_start|>{..}<|python_end|>` (Llama)
//! - `<|channel|>commentary to=functions.NAME ..<|message|>{..}` (gpt-oss)
//!
//! `text/marks` has those that name the tool between marks. In a mark, `NAME(..)` is told and not run.
//! And, without the same force, `Action: NAME` with `Action Input: {..}` in the next line.

use serde_json::{Map, Value as Json};

use super::find::Finder;
use super::found::{Found, What};
use super::shape::Wanted;
use super::value::Value;
use crate::native::raw::Stop;

const PAIRS: [(&str, &str); 7] = [
    ("<tool_call>", "</tool_call>"),
    ("<function_call>", "</function_call>"),
    ("<tool_calls>", "</tool_calls>"),
    ("<|tool_call|>", "<|/tool_call|>"),
    ("<|python_tag|>", "<|eom_id|>"),
    ("<|python_start|>", "<|python_end|>"),
    ("<function_calls>", "</function_calls>"),
];
const MISTRAL: &str = "[TOOL_CALLS]";
/// How a call with parameters of its own opens and closes, and its parameters.
struct Form {
    open: &'static str,
    close: &'static str,
    parameter: &'static str,
}
const FORMS: [Form; 2] = [
    Form { open: "<function=", close: "</function>", parameter: "<parameter=" },
    Form { open: "<invoke name=", close: "</invoke>", parameter: "<parameter name=" },
];
const CHANNEL: &str = "<|channel|>";
const MESSAGE: &str = "<|message|>";
/// Bytes in which a mark has to be complete.
const MAX_HEAD: usize = 512;

impl Finder<'_, '_> {
    /// Takes a marked form at the place; false where there is none.
    pub(super) fn marked(&mut self) -> bool {
        let (start, before) = (self.at, self.found.len());
        let rest = self.rest();
        let pair = PAIRS.iter().find(|(open, _)| rest.starts_with(open));
        let taken = if let Some((open, close)) = pair {
            self.at += open.len();
            self.tagged(start, close)
        } else if let Some(form) = form_of(rest) {
            self.function(start, form)
        } else if let Some(taken) = self.enveloped(start) {
            taken
        } else if rest.starts_with(MISTRAL) {
            self.at += MISTRAL.len();
            self.mistral(start)
        } else if rest.starts_with(CHANNEL) {
            self.channel(start)
        } else if rest.starts_with("functools[") {
            self.at += "functools".len();
            self.json(start)
        } else {
            return false;
        };
        for found in self.found.iter_mut().skip(before) {
            found.marked = true;
        }
        if !taken {
            self.at = start + 1;
        }
        true
    }

    pub(super) fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Passes over the line that opens or closes a fenced block.
    pub(super) fn skip_fence(&mut self) {
        if self.rest().starts_with("```") {
            let rest = self.rest();
            self.at += rest.find('\n').unwrap_or(rest.len());
            self.skip_space();
        }
    }

    /// What stands between two marks. Only what begins like a call counts: the mark alone is a word.
    fn tagged(&mut self, start: usize, close: &str) -> bool {
        self.skip_space();
        self.skip_fence();
        let rest = self.rest();
        let taken = match form_of(rest) {
            Some(form) => self.function(start, form),
            None if self.named_line(start, rest) => true,
            None => rest.starts_with(['{', '[', '"']) && self.json(start),
        };
        if !taken {
            return false;
        }
        self.skip_space();
        self.skip_fence();
        if self.rest().starts_with(close) {
            self.at += close.len();
        } else if !self.rest().is_empty() && !self.rest().starts_with(['<', ';']) {
            let why = "found more than one call, or text, inside one mark, so nothing ran: put each \
                       call into its own mark";
            self.note(start, why);
            self.at = self.rest().find(close).map_or(self.text.len(), |end| self.at + end);
        }
        if let Some(last) = self.found.last_mut() {
            last.end = self.at;
        }
        true
    }

    /// One JSON value that is a call.
    fn json(&mut self, start: usize) -> bool {
        match self.read() {
            Value::Whole(json, length) => {
                self.at += length;
                let json = super::value::unquote(&json).map_or(json, Into::into);
                match self.what(&json) {
                    Some(what) => self.push(start, self.at, what),
                    None => self.note(
                        start,
                        "found a marked call that names no tool, so it did not run: send a JSON \
                         object of `name` and `arguments`",
                    ),
                }
            }
            Value::Broken(stop, end) => {
                let count = self.found.len();
                self.broken(stop, end, false);
                // Marked, it is meant as a call, whether its tool can be told or not.
                let unnamed = self.found.len() == count;
                let weak = self.found.last().is_some_and(|one| matches!(one.what, What::Weak));
                if unnamed || weak {
                    self.found.truncate(count);
                    self.note(start, broken_words(stop));
                }
            }
        }
        true
    }

    pub(super) fn note(&mut self, start: usize, why: &str) {
        let what = What::Broken { why: why.to_owned(), tool: None };
        self.found.push(Found { at: start, end: self.at, fenced: false, marked: true, what });
    }

    /// A mark with a tool's name after it, in a form that is not read.
    fn named_line(&mut self, start: usize, rest: &str) -> bool {
        let rest = rest.trim_start_matches(['[', ' ']);
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        let Some(tool) = rest.get(..end).filter(|name| !name.is_empty()).and_then(|n| self.tool(n))
        else {
            return false;
        };
        let why = format!(
            "found a marked call of `{}` in a form that is not read, so it did not run: send a JSON \
             object of `name` and `arguments`",
            tool.name
        );
        self.at = self.text.len();
        self.push(start, self.at, What::Broken { why, tool: Some(tool) });
        true
    }

    /// `<function=NAME>` and its like, with JSON or parameters in it.
    fn function(&mut self, start: usize, form: &Form) -> bool {
        let rest = self.rest();
        let inner = rest.strip_prefix(form.open).unwrap_or(rest);
        let split = head(inner).find('>').and_then(|at| inner.split_at_checked(at));
        let Some((name, body)) = split else { return false };
        let body = body.strip_prefix('>').unwrap_or(body);
        let name = name.trim().trim_matches(['"', '\'']).to_owned();
        if name.is_empty() || !name.chars().all(is_name) {
            return false;
        }
        self.at = self.text.len() - body.len();
        let (inner, cut) = match body.split_once(form.close) {
            Some((inner, _)) => (inner, false),
            None => (body, true),
        };
        if cut && !inner.trim_start().starts_with('{') {
            self.at = self.text.len();
            self.note(start, broken_words(Stop { at: inner.len(), cut: true }));
            return true;
        }
        let arguments = if inner.trim_start().starts_with('{') {
            self.skip_space();
            match self.read() {
                Value::Whole(json, length) => {
                    self.at += length;
                    self.skip_space();
                    Some(json.into_owned())
                }
                Value::Broken(stop, _) => {
                    self.at += inner.trim().len();
                    self.note(start, broken_words(stop));
                    return true;
                }
            }
        } else {
            self.at += inner.len();
            parameters(inner, form.parameter)
        };
        if self.rest().starts_with(form.close) {
            self.at += form.close.len();
        } else if !self.rest().is_empty() {
            self.note(start, "found text beside the arguments of a marked call, so it did not run");
            return true;
        }
        let Some(arguments) = arguments else {
            self.note(
                start,
                "found a marked call whose parameters cannot be told apart, so it did not run",
            );
            return true;
        };
        let tool = self.tool(&name);
        let known = tool.is_some();
        let wanted = vec![Wanted { name, arguments }];
        self.push(start, self.at, What::Calls { wanted, known, tool });
        true
    }

    /// What follows `[TOOL_CALLS]`.
    fn mistral(&mut self, start: usize) -> bool {
        self.skip_space();
        let rest = self.rest();
        if rest.starts_with(['[', '{']) {
            return self.json(start);
        }
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let after = match after.strip_prefix("[CALL_ID]") {
            Some(id) => id.trim_start_matches(|c: char| c.is_ascii_alphanumeric()),
            None => after,
        };
        let after = after.strip_prefix("[ARGS]").unwrap_or(after);
        if name.is_empty() || !after.trim_start().starts_with('{') {
            return false;
        }
        self.at = self.text.len() - after.trim_start().len();
        self.arguments(start, name);
        true
    }

    /// The arguments of a call whose name is known.
    pub(super) fn arguments(&mut self, start: usize, name: &str) {
        match self.read() {
            Value::Whole(json, length) => {
                self.at += length;
                let tool = self.tool(name);
                let known = tool.is_some();
                let wanted = vec![Wanted { name: name.to_owned(), arguments: json.into_owned() }];
                self.push(start, self.at, What::Calls { wanted, known, tool });
            }
            Value::Broken(stop, _) => {
                self.at = self.text.len();
                self.note(start, broken_words(stop));
            }
        }
    }

    /// A message of one channel. Only what is addressed to a function is a call.
    fn channel(&mut self, start: usize) -> bool {
        let rest = self.rest();
        let split = head(rest).find(MESSAGE).and_then(|at| rest.split_at_checked(at));
        let Some((header, body)) = split else { return false };
        let body = body.strip_prefix(MESSAGE).unwrap_or(body);
        let name = header.split_once("to=functions.").map(|(_, name)| name);
        let name = name.map(|name| name.split(|c: char| !is_name(c)).next().unwrap_or_default());
        let Some(name) = name.filter(|_| body.trim_start().starts_with('{')) else { return false };
        self.at = self.text.len() - body.trim_start().len();
        self.arguments(start, name);
        if self.rest().starts_with("<|call|>") {
            self.at += "<|call|>".len();
        }
        if let Some(last) = self.found.last_mut() {
            last.end = self.at;
        }
        true
    }

    /// `Action: NAME` and its input, which begins in the line at `next`; false where it is none.
    pub(super) fn action(&mut self, name: &str, next: usize) -> bool {
        let start = self.at;
        let name = name.trim().trim_matches('`');
        let below = self.text.get(next..).unwrap_or_default().trim_start();
        let input = below.strip_prefix("Action Input:").map(str::trim_start);
        let Some(input) = input.filter(|input| input.starts_with('{')) else { return false };
        if self.tool(name).is_none() {
            return false;
        }
        let count = self.found.len();
        self.at = self.text.len() - input.len();
        self.arguments(start, name);
        for found in self.found.iter_mut().skip(count) {
            (found.fenced, found.marked) = (true, false);
        }
        true
    }
}

pub(super) const fn broken_words(stop: Stop) -> &'static str {
    if stop.cut {
        "found a marked call that ends too early: it was cut off, so it did not run; send it again, \
         complete and shorter"
    } else {
        "found a marked call that is no JSON, so it did not run: send a JSON object of `name` and \
         `arguments`, with every quote and line break inside a string escaped"
    }
}

/// The first bytes of a text.
pub(super) fn head(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_HEAD)).unwrap_or(text)
}

pub(super) const fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

fn form_of(text: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| text.starts_with(form.open))
}

/// `<parameter=NAME>text</parameter>`, any number of times, as one JSON object of strings. The line
/// breaks next to the marks are theirs.
fn parameters(text: &str, open: &str) -> Option<String> {
    let mut arguments = Map::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) = rest.strip_prefix(open)?.split_once('>')?;
        let (value, after) = after.split_once("</parameter>")?;
        if value.contains(open) {
            return None;
        }
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        let name = name.trim().trim_matches(['"', '\'']).to_owned();
        if arguments.insert(name, Json::String(value.to_owned())).is_some() {
            return None;
        }
        rest = after.trim();
    }
    Some(Json::Object(arguments).to_string())
}
