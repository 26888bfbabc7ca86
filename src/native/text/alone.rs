//! A text that is nothing but a tool's name and arguments in a notation that is not read: the text in,
//! what to tell the model out. Nothing of it runs.

use std::sync::LazyLock;

use regex::Regex;

use super::find::{MAX_LOOKUPS, after_thinking};
use super::marks::keyed;
use super::value::{self, Value};
use super::{Known, Tools};
use crate::native::hint::Unclear;
use crate::native::raw::parts;

/// Names under which the arguments of a call stand.
const GIVING: [&str; 10] = [
    "arguments",
    "args",
    "parameters",
    "params",
    "input",
    "inputs",
    "tool_input",
    "action_input",
    "kwargs",
    "with",
];
/// Objects around a call that are opened, and calls that follow each other.
const MAX_LEVELS: usize = 4;
/// Bytes of a text that can be nothing but a call.
const MAX_BYTES: usize = 64 << 10;

/// Languages of a fenced block in which a call may stand.
const LANGUAGES: [&str; 19] = [
    "",
    "tool_code",
    "python",
    "py",
    "tool",
    "tool_call",
    "tool_calls",
    "function",
    "function_call",
    "function_calls",
    "action",
    "yaml",
    "yml",
    "json",
    "json5",
    "toml",
    "text",
    "txt",
    "plaintext",
];

const PROGRAM: &str = "in the notation of a programming language";
const BESIDE: &str = "as a name with its arguments beside it";
const KEYED: &str = "whose name stands as a key";
const LINES: &str = "in lines of keys and values";
const TAGS: &str = "in tags that are not read";

/// What may stand before a tool's name, and the name.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text = r#"(?ix) ^ ( (call|run|invoke|execute|use|await|return|command
          |(tool|function|action)([_\ -]?(call|use|name))?) (\s*[:=]\s*|\s+)
        | >{1,3}\s* | [/@$!\#] | [a-z_][a-z0-9_]{0,40}\s*=\s* | print\s*\(\s* | \[\s* ){0,4}
        [`"'*]{0,3} ([a-z0-9_][a-z0-9_.-]{0,255}) [`"'*]{0,3}"#;
    Regex::new(text).ok()
});
/// What may stand between a name and its arguments.
static BETWEEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text = r"(?ix) ^ [\s:=,>-]* ((with\ )?(arguments?|args|parameters?|params|input|action[_\ ]input|with)
        \s* [:=]? \s*)?";
    Regex::new(text).ok()
});
/// Arguments as on a command line.
static PAIRS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text = r#"^(?:[ \t]+-{0,2}[A-Za-z_][A-Za-z0-9_]{0,60}=(?:"[^"]*"|'[^']*'|[^\s"']+))+\s*$"#;
    Regex::new(text).ok()
});
/// A key and its value in a line.
static LINE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*(?:-\s+)?([A-Za-z][\w ]{0,30}?)\s*[:=]\s*(.*)$").ok());
/// A tool's name in a tag, or as what it holds.
static TAG: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text = r#"(?ix) < (tool|tool_?name|name|function|function_?name|action|recipient) > \s* ([a-z0-9_.-]{1,256}) \s* </
        | < [^<>\s]{0,30} (tool|func|call|invoke|action|use) [^<>\s]{0,30} \s+ (name|tool|function) \s*=\s*
          ["'] ([a-z0-9_.-]{1,256}) ["']"#;
    Regex::new(text).ok()
});
/// A mark of a model's own for calls.
static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text = r"(?ix) ^ ( < [|｜] [^<>\n]{0,40} (tool|func|call|python|plugin|action|dsml) [^<>\n]{0,40} >
        | ✿\w+✿ | \[/?(tool|func)\w*\] | < /? (tool|function)_(call|use)s? > )";
    Regex::new(text).ok()
});

/// The call that a text is nothing but; `None` where it is another thing.
pub(super) fn read(text: &str, tools: &Tools<'_>) -> Option<Unclear> {
    let whole = text.get(after_thinking(text)..)?.trim();
    if whole.is_empty() || whole.len() > MAX_BYTES {
        return None;
    }
    let names = Names { tools, left: MAX_LOOKUPS.into() };
    let (language, inner) = opened(whole)?;
    let fenced = || Some((names.tool(language)?, BESIDE)).filter(|_| is_object(inner));
    let (tool, notation) = if LANGUAGES.contains(&language) {
        beside(inner, &names, 0)
            .or_else(|| key(inner, &names))
            .or_else(|| lines(inner, &names))
            .or_else(|| tags(inner, &names))?
    } else {
        fenced()?
    };
    let why = format!(
        "found a call of `{}` {notation}, which is not run: send one JSON object of `name` and \
         `arguments`, and nothing else",
        tool.name
    );
    Some(Unclear::new(why, text, text.len() - text.trim_start().len(), Some(&tool)))
}

/// Looks names up, a limited number of times.
struct Names<'n> {
    tools: &'n Tools<'n>,
    left: std::cell::Cell<usize>,
}

impl Names<'_> {
    fn tool(&self, name: &str) -> Option<Known> {
        self.left.set(self.left.get().checked_sub(1)?);
        let name = name.trim().trim_matches(['`', '"', '\'', '*', ',']);
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if name.is_empty() || name.len() > 256 || !name.chars().all(is_name) {
            return None;
        }
        let own = || (self.tools)(name.rsplit_once('.').map(|(_, own)| own)?);
        (self.tools)(name).or_else(own)
    }
}

/// A text out of its fence, or out of inline code; and the language of the fence.
fn opened(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let Some(inner) = text.strip_prefix("```") else {
        return Some(("", text.trim_matches('`').trim()));
    };
    let inner = inner.trim_start_matches('`');
    let (language, body) = inner.split_once('\n').unwrap_or((inner, ""));
    let body = body.trim_end().trim_end_matches('`').trim();
    (!body.contains("```")).then_some((language.trim(), body))
}

fn is_object(text: &str) -> bool {
    text.starts_with('{') && length(text) == Some(text.trim_end().len())
}

/// Bytes of the object that a text begins with; one that is cut off takes all.
fn length(text: &str) -> Option<usize> {
    let mut budget = 16 * text.len() + 1024;
    match value::at(text, &mut budget) {
        Value::Whole(_, length) => Some(length),
        Value::Broken(stop, _) if stop.cut && text.starts_with("{\"") => Some(text.len()),
        Value::Broken(..) => None,
    }
}

/// `NAME(..)`, `NAME[..]`, `NAME {..}`, or a name with indented lines below.
fn beside(text: &str, names: &Names<'_>, level: usize) -> Option<(Known, &'static str)> {
    let found = NAMED.as_ref()?.captures(text)?;
    let name = found.iter().flatten().last()?;
    let (whole, rest) = (text.trim_end().trim_end_matches(';'), text.get(found.get(0)?.end()..)?);
    let called = rest.starts_with('(') && whole.trim_end_matches([']', ' ', '\n']).ends_with(')')
        || rest.starts_with('[') && whole.ends_with(']');
    if called {
        return Some((names.tool(name.as_str())?, PROGRAM));
    }
    let below =
        rest.strip_prefix(':').and_then(|rest| rest.trim_start_matches(' ').strip_prefix('\n'));
    let indented = |line: &str| line.trim().is_empty() || line.starts_with([' ', '\t']);
    if let Some(below) = below.filter(|below| below.lines().all(indented)) {
        let tool = names.tool(name.as_str())?;
        return gives(&tool, below).then_some((tool, LINES));
    }
    if PAIRS.as_ref()?.is_match(rest) {
        return Some((names.tool(name.as_str())?, BESIDE));
    }
    let skipped = BETWEEN.as_ref()?.find(rest)?.end();
    let (language, body) = opened(rest.get(skipped..)?)?;
    let length = Some(body).filter(|body| body.starts_with('{')).and_then(length)?;
    let more = body.get(length..)?.trim_matches([';', ']', ')', ' ', '\n', '\r', '\t']);
    let ends = more.is_empty() || level < MAX_LEVELS && beside(more, names, level + 1).is_some();
    if !ends || !LANGUAGES.contains(&language) {
        return None;
    }
    Some((names.tool(name.as_str())?, BESIDE))
}

/// Whether lines of keys and values give a tool's arguments: what it does not know is an answer in words.
fn gives(tool: &Known, lines: &str) -> bool {
    let declared = tool.schema.get("properties").and_then(serde_json::Value::as_object);
    let mut keys = lines.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        line.split_once(':').map(|(key, _)| key.trim().trim_matches(['"', '\'', '-', ' ']))
    });
    let first = keys.next().flatten();
    first.is_some_and(|key| {
        GIVING.contains(&key) || declared.is_some_and(|declared| declared.contains_key(key))
    })
}

/// `{NAME: {..}}`, also in an object of one member or in an array.
fn key(text: &str, names: &Names<'_>) -> Option<(Known, &'static str)> {
    let mut budget = 16 * text.len() + 1024;
    let Value::Whole(json, length) = value::at(text, &mut budget) else { return None };
    if !text.starts_with(['{', '[']) || !text.get(length..)?.trim().is_empty() {
        return None;
    }
    let mut inner: &str = json.trim();
    for _ in 0..MAX_LEVELS {
        let tool = keyed(inner).into_iter().find_map(|call| names.tool(&call.name));
        if let Some(tool) = tool {
            return Some((tool, KEYED));
        }
        let wraps = ["call", "action", "function", "tool"];
        let mut members = parts(inner).filter(|_| inner.starts_with('{'));
        let ((key, value), None) = (members.next()?, members.next()) else { return None };
        inner = Some(value).filter(|_| wraps.iter().any(|word| key.contains(word)))?;
    }
    None
}

/// `tool: NAME` and `args: ..`, in lines that are nothing but keys, values and what belongs to them.
fn lines(text: &str, names: &Names<'_>) -> Option<(Known, &'static str)> {
    const NAMING: [&str; 9] = [
        "tool",
        "name",
        "tool_name",
        "function",
        "function_name",
        "action",
        "call",
        "tool_call",
        "function_call",
    ];
    let (mut tool, mut given) = (None, false);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let plain = line.replace("**", "");
        let Some(found) = LINE.as_ref()?.captures(plain.trim_start_matches(['#', '{', ','])) else {
            let belongs = line.starts_with([' ', '\t'])
                || line.trim_start().starts_with(['-', '{', '}', '[', ']', '"', '`']);
            if belongs {
                continue;
            }
            return None;
        };
        let key = found.get(1)?.as_str().to_ascii_lowercase().replace(' ', "_");
        if tool.is_none() && NAMING.contains(&key.as_str()) {
            tool = names.tool(found.get(2)?.as_str());
        }
        given |= GIVING.contains(&key.as_str());
    }
    tool.filter(|_| given).map(|tool| (tool, LINES))
}

/// Tags, or marks of a model's own, with the name of a tool in them.
fn tags(text: &str, names: &Names<'_>) -> Option<(Known, &'static str)> {
    if let Some(mark) = MARK.as_ref()?.find(text) {
        let shown = ["result", "response", "output"];
        if shown.iter().any(|word| mark.as_str().to_ascii_lowercase().contains(word)) {
            return None;
        }
        let is_end = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
        let words = text.get(mark.start()..)?.split(is_end).filter(|word| word.len() > 1);
        return words.take(MAX_LOOKUPS).find_map(|word| names.tool(word)).map(|tool| (tool, TAGS));
    }
    let first = text.strip_prefix('<').filter(|_| text.ends_with('>'))?;
    let end = first.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))?;
    let name = first.get(..end)?;
    if text.ends_with("/>") || text.ends_with(&format!("</{name}>")) {
        let own = names.tool(name);
        if let Some(own) = own {
            return Some((own, TAGS));
        }
    }
    let shown = ["!--", "example", "observation", "tool_res", "function_res"];
    if shown.iter().any(|word| name.starts_with(word)) {
        return None;
    }
    let named = TAG.as_ref()?.captures_iter(text).take(4);
    let mut found =
        named.filter_map(|found| names.tool(found.get(2).or_else(|| found.get(5))?.as_str()));
    found.next().map(|tool| (tool, TAGS))
}
