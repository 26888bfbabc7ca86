//! Names of tools and of arguments in a dialect: a name of ours in, one that the provider takes out.
//! A tool's exported name is a function of its own name alone, and no two names share one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::view;
use crate::call::Dialect;
use crate::catalog::digest::short;

/// Longest name of a tool or an argument, with every provider that has a limit.
const MAX: usize = 64;
/// What stands for a dot.
pub(in crate::catalog) const DOT: &str = "_dot_";
/// Hex digits that tell cleaned names apart.
const MARK: usize = 10;

/// The name under which `dialect` exports the tool called `name`.
///
/// A name that the provider takes is its own. Where the provider takes no dot, `_dot_` stands for one.
/// Anything else is cleaned, cut, and marked with `_x` and ten digits of its digest; so are names that
/// look like either, so that nothing else can be exported under them.
pub fn exported_name(name: &str, dialect: Dialect) -> Cow<'_, str> {
    let legal = |text: &str| is_tool(text, dialect) && !is_marked(text);
    let dotted = dialect == Dialect::Gemini;
    if legal(name) && (dotted || !name.contains(DOT)) {
        return Cow::Borrowed(name);
    }
    if !dotted && !name.contains("dot") {
        let spelled = name.replace('.', DOT);
        if legal(&spelled) {
            return Cow::Owned(spelled);
        }
    }
    Cow::Owned(marked(name, MARK, |c| is_tool_char(c, dialect)))
}

fn is_tool(name: &str, dialect: Dialect) -> bool {
    let first = name.chars().next();
    let starts = match dialect {
        Dialect::Gemini => first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_'),
        _ => first.is_some(),
    };
    starts && name.len() <= MAX && name.chars().all(|c| is_tool_char(c, dialect))
}

fn is_tool_char(c: char, dialect: Dialect) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-' || (c == '.' && dialect == Dialect::Gemini)
}

/// Whether a name ends as the marked ones do.
pub(in crate::catalog) fn is_marked(name: &str) -> bool {
    name.rsplit_once("_x").is_some_and(|(_, mark)| {
        mark.len() == MARK && mark.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// `name` with other characters as `_`, cut, and marked.
fn marked(name: &str, digits: usize, fits: impl Fn(char) -> bool) -> String {
    let mut clean = String::new();
    for c in name.chars() {
        if fits(c) {
            clean.push(c);
        } else if !clean.ends_with('_') {
            clean.push('_');
        }
    }
    // A letter first, which every provider takes.
    if !clean.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        clean.insert(0, '_');
    }
    let room = MAX.saturating_sub(digits + 2);
    let kept: String = clean.chars().take(room).collect();
    let kept = kept.trim_end_matches('_');
    let kept = if kept.is_empty() { "key" } else { kept };
    format!("{kept}_x{}", short(name, digits))
}

/// The names of one tool's arguments, at every depth, in one dialect.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Own name to exported, of those that differ.
    exported: BTreeMap<String, String>,
    /// The other way.
    own: BTreeMap<String, String>,
}

impl Keys {
    /// Names every key in a tool's schema. Those that the provider takes keep theirs; the others depend
    /// on themselves alone, unless another key of the tool looks just like them.
    pub(super) fn of_schema(root: &Value, dialect: Dialect) -> Self {
        let names = view::names(root);
        let mut keys = Self::default();
        for name in names.iter().filter(|name| !is_key(name, dialect)) {
            let made = (MARK..MAX - 2)
                .map(|digits| marked(name, digits, is_key_char))
                .find(|made| !names.contains(made.as_str()) && !keys.own.contains_key(made));
            if let Some(made) = made {
                keys.own.insert(made.clone(), (*name).to_owned());
                keys.exported.insert((*name).to_owned(), made);
            }
        }
        keys
    }

    /// The own name of a key that is exported under another.
    pub(super) fn own(&self, key: &str) -> Option<&str> {
        self.own.get(key).map(String::as_str)
    }

    /// The name under which a key is exported.
    pub(super) fn of<'k>(&'k self, name: &'k str) -> &'k str {
        self.exported.get(name).map_or(name, String::as_str)
    }

    /// Own name to exported, of the keys that have another.
    pub(super) const fn exported(&self) -> &BTreeMap<String, String> {
        &self.exported
    }

    /// Whether every key has its own name.
    pub(super) fn is_plain(&self) -> bool {
        self.exported.is_empty()
    }
}

/// Whether the provider takes a key as it is. Only Anthropic publishes a rule, and refuses the whole
/// message for one key; Gemini's keys have to be fields of a message, and the OpenAPI subset is read
/// like one. The hosts with the shape of `OpenAI` take any key; their models do not spell control
/// characters and quotes reliably, and grammars cannot hold them.
fn is_key(name: &str, dialect: Dialect) -> bool {
    match dialect {
        Dialect::Anthropic => {
            !name.is_empty() && name.len() <= MAX && name.chars().all(is_key_char)
        }
        Dialect::Gemini => {
            let first = name.chars().next();
            first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                && name.len() <= MAX
                && name.chars().all(is_key_char)
        }
        Dialect::Openai | Dialect::OpenaiStrict | Dialect::Plain => {
            !name.is_empty()
                && name.len() <= 4 * MAX
                && !name.chars().any(|c| c.is_control() || matches!(c, '"' | '\\' | '\u{7f}'))
        }
    }
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}
