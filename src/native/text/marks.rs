//! The marked forms that name their tool between marks of its own and have the arguments behind:
//!
//! - `<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{..}`, or `function<｜tool▁sep｜>NAME` and a fence (`DeepSeek`)
//! - `<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{..}` (Kimi)
//! - `<|recipient|>NAME<|content|>{..}`, and a line `>>>NAME` with `{..}` in the next (Functionary)
//! - `✿FUNCTION✿: NAME` and `✿ARGS✿: {..}` (Qwen)
//! - `<|tools_prefix|>[{NAME: {..}}]<|tools_suffix|>` (Apertus)

use super::find::Finder;
use super::found::What;
use super::shape::Wanted;
use super::tags::{broken_words, head, is_name};
use super::value::Value;
use crate::native::node::string;
use crate::native::raw::parts;

/// What opens a call, stands between its name and its arguments, and closes it.
struct Envelope {
    open: &'static str,
    between: &'static str,
    close: &'static str,
}
const ENVELOPES: [Envelope; 4] = [
    Envelope {
        open: "<｜tool▁call▁begin｜>",
        between: "<｜tool▁sep｜>",
        close: "<｜tool▁call▁end｜>",
    },
    Envelope {
        open: "<|tool▁call▁begin|>", between: "<|tool▁sep|>", close: "<|tool▁call▁end|>"
    },
    Envelope {
        open: "<|tool_call_begin|>",
        between: "<|tool_call_argument_begin|>",
        close: "<|tool_call_end|>",
    },
    Envelope { open: "<|recipient|>", between: "<|content|>", close: "<|stop|>" },
];
const FUNCTION: &str = "✿FUNCTION✿";
const ARGS: &str = "✿ARGS✿";
const PREFIX: (&str, &str) = ("<|tools_prefix|>", "<|tools_suffix|>");
const RECIPIENT: &str = ">>>";
/// The recipient of what is no call.
const EVERYBODY: &str = "all";

impl<'t> Finder<'t, '_> {
    /// Takes one of these forms; `None` where the place has none of their marks.
    pub(super) fn enveloped(&mut self, start: usize) -> Option<bool> {
        let rest = self.rest();
        if let Some(form) = ENVELOPES.iter().find(|form| rest.starts_with(form.open)) {
            return Some(self.envelope(start, form));
        }
        if let Some(inner) = rest.strip_prefix(FUNCTION) {
            return Some(self.flowers(start, inner));
        }
        let inner = rest.strip_prefix(PREFIX.0)?;
        self.at = self.text.len() - inner.len();
        Some(self.prefixed(start))
    }

    fn envelope(&mut self, start: usize, form: &Envelope) -> bool {
        let inner = self.rest().strip_prefix(form.open).unwrap_or_default();
        let split = head(inner).find(form.between).and_then(|at| inner.split_at_checked(at));
        let Some((name, body)) = split else { return false };
        let body = body.strip_prefix(form.between).unwrap_or(body);
        // There the name stands in a line of its own.
        let (name, body) = match name.trim() {
            "function" => body.split_once('\n').unwrap_or((body, "")),
            name => (name, body),
        };
        let name = name.trim().trim_start_matches("functions.");
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let name =
            name.rsplit_once(':').filter(|(_, at)| number(at)).map_or(name, |(name, _)| name);
        if !is_word(name) || name == EVERYBODY {
            return false;
        }
        self.at = self.text.len() - body.len();
        self.behind(start, name);
        if self.rest().starts_with("```") {
            self.at += "```".len();
        }
        if self.rest().starts_with(form.close) {
            self.at += form.close.len();
        }
        self.ends_here();
        true
    }

    /// The arguments behind a name, fenced or not.
    fn behind(&mut self, start: usize, name: &str) {
        self.skip_space();
        self.skip_fence();
        self.arguments(start, name);
        self.skip_space();
    }

    fn flowers(&mut self, start: usize, inner: &'t str) -> bool {
        let inner = inner.trim_start_matches([':', '：', ' ']);
        let (name, below) = inner.split_once('\n').unwrap_or((inner, ""));
        let Some(input) = below.trim_start().strip_prefix(ARGS).filter(|_| is_word(name.trim()))
        else {
            return false;
        };
        self.at = self.text.len() - input.trim_start_matches([':', '：', ' ']).len();
        self.behind(start, name.trim());
        self.ends_here();
        true
    }

    /// Calls as `{NAME: {..}}`, in an array.
    fn prefixed(&mut self, start: usize) -> bool {
        self.skip_space();
        if !self.rest().starts_with(['[', '{']) {
            return false;
        }
        match self.read() {
            Value::Whole(json, length) => {
                self.at += length;
                let wanted = keyed(&json);
                let what = if wanted.is_empty() { self.what(&json) } else { self.wanted(wanted) };
                let why = "found a marked call that names no tool, so it did not run: send a JSON \
                           object of `name` and `arguments`";
                match what {
                    Some(what) => self.push(start, self.at, what),
                    None => self.note(start, why),
                }
            }
            Value::Broken(stop, _) => {
                self.at = self.text.len();
                self.note(start, broken_words(stop));
            }
        }
        self.skip_space();
        if self.rest().starts_with(PREFIX.1) {
            self.at += PREFIX.1.len();
        }
        self.ends_here();
        true
    }

    /// `>>>NAME` and arguments in the next line, any number of times; false where it is none.
    pub(super) fn recipient(&mut self) -> bool {
        let mut taken = false;
        while let Some(inner) = self.rest().strip_prefix(RECIPIENT) {
            let start = self.at;
            let (name, below) = inner.split_once('\n').unwrap_or((inner, ""));
            let name = name.trim_end();
            if !below.trim_start().starts_with('{') || !is_word(name) || self.tool(name).is_none() {
                break;
            }
            let count = self.found.len();
            self.at = self.text.len() - below.len();
            self.behind(start, name);
            self.found.iter_mut().skip(count).for_each(|found| found.marked = true);
            taken = true;
        }
        taken
    }

    fn wanted(&mut self, wanted: Vec<Wanted>) -> Option<What> {
        let tools: Vec<_> = wanted.iter().map(|call| self.tool(&call.name)).collect();
        let known = tools.iter().all(Option::is_some);
        let tool = tools.into_iter().flatten().next();
        Some(What::Calls { wanted, known, tool })
    }

    fn ends_here(&mut self) {
        let at = self.at;
        self.found.last_mut().into_iter().for_each(|last| last.end = at);
    }
}

/// The calls in an object whose only member is a tool's name with arguments, or in an array of those;
/// none where anything else stands there.
pub(super) fn keyed(json: &str) -> Vec<Wanted> {
    let json = json.trim();
    let items: Vec<&str> = match json.starts_with('[') {
        true => parts(json).map(|(_, item)| item).collect(),
        false => vec![json],
    };
    let one = |item: &str| {
        let mut members = parts(item).filter(|_| item.starts_with('{'));
        let ((key, arguments), None) = (members.next()?, members.next()) else { return None };
        let name = string(key).filter(|name| is_word(name) && arguments.starts_with('{'))?;
        Some(Wanted { name, arguments: arguments.to_owned() })
    };
    items.into_iter().map(one).collect::<Option<Vec<_>>>().unwrap_or_default()
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_name)
}
