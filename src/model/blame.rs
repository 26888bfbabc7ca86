//! Why an endpoint refuses what it was sent: its words and the body in, the part of the body that is
//! meant out. Providers say it in many ways: a parameter, a path, the name of a tool, or only words.

mod words;

use std::time::Duration;

use serde_json::Value;

use words::{is_of_schema, what};

/// Most characters of what an endpoint says that are looked at.
const LONGEST: usize = 4000;
/// Members of a body that a path can begin with.
const ROOTS: [&str; 14] = [
    "tools",
    "tool_choice",
    "toolConfig",
    "response_format",
    "format",
    "generationConfig",
    "messages",
    "contents",
    "system",
    "temperature",
    "max_tokens",
    "stream_options",
    "stream",
    "options",
];

/// What is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// Tools in the provider's own way, or the schema of one.
    Tools,
    /// That a tool has to be called.
    Choice,
    /// The shape of the answer.
    Shape,
    /// The temperature.
    Temperature,
    /// The name of the bound of tokens.
    Bound,
    /// That tokens are to be counted in a stream.
    Counted,
    /// Something that is not asked for in another way.
    Other,
}

/// A refusal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Blame {
    pub(super) what: What,
    /// Whether it is refused for what stands in a schema: another one may be taken in the same form.
    pub(super) schema: bool,
    /// JSON Pointer into the body; empty where nothing tells it.
    pub(super) part: String,
    /// What the endpoint says.
    pub(super) message: String,
}

/// Reads a refusal. `native` is whether the body tells of tools in the provider's own way.
pub(super) fn blame(said: &[u8], body: &Value, native: bool) -> Blame {
    let said = String::from_utf8_lossy(said);
    let parsed = serde_json::from_str::<Value>(&said).unwrap_or_default();
    let message = message(&parsed).unwrap_or_else(|| said.trim().to_owned());
    let message: String = message.chars().take(LONGEST).collect();
    let named = fields(&parsed);
    let mut part = named.iter().find_map(|field| walk(field, body));
    if part.as_deref().is_none_or(|part| part == "/tools") {
        part = paths(&message).find_map(|path| walk(path, body)).or(part);
    }
    if part.as_deref().is_none_or(|part| part == "/tools") {
        part = tool(&message, body).or(part);
    }
    let part = part.map(|part| deeper(&part, &message, body)).unwrap_or_default();
    let what = what(&part, &message, native);
    let schema = matches!(what, What::Tools | What::Shape) && is_of_schema(&part, &message);
    let usual = || match what {
        What::Tools => "/tools".to_owned(),
        What::Shape => shape(body).unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    let part = if part.is_empty() { usual() } else { part };
    Blame { what, schema, part, message }
}

/// Whether the words of a server's own error say that it cannot do what was asked, as some servers
/// answer 500 for that.
pub(super) fn is_refusal(said: &[u8]) -> bool {
    let said = String::from_utf8_lossy(said).to_lowercase();
    ["--jinja", "grammar", "not support tools", "json schema", "json_schema"]
        .iter()
        .any(|word| said.contains(word))
}

/// How long an error asks to wait, where it says so itself, as Gemini's do.
pub(super) fn delay(said: &[u8]) -> Option<Duration> {
    let parsed = serde_json::from_slice::<Value>(said).ok()?;
    let details = error(&parsed)?.get("details")?.as_array()?;
    let told = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(told.strip_suffix('s')?.parse().ok()?).ok()
}

fn error(parsed: &Value) -> Option<&Value> {
    parsed.get("error").or_else(|| parsed.get(0)?.get("error"))
}

/// What a provider says in its error.
fn message(parsed: &Value) -> Option<String> {
    let error = error(parsed);
    let places = [
        error.and_then(|error| error.get("message")),
        error,
        parsed.get("message"),
        parsed.get("detail"),
        parsed.pointer("/detail/0/msg"),
    ];
    places.into_iter().flatten().find_map(Value::as_str).map(str::to_owned)
}

/// The fields that an error names.
fn fields(parsed: &Value) -> Vec<String> {
    let error = error(parsed).unwrap_or(&Value::Null);
    let mut found: Vec<String> = Vec::new();
    found.extend(error.get("param").and_then(Value::as_str).map(str::to_owned));
    let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    for detail in details {
        let violations = detail.get("fieldViolations").and_then(Value::as_array);
        let names = violations.into_iter().flatten().filter_map(|one| one.get("field")?.as_str());
        found.extend(names.map(str::to_owned));
    }
    // As FastAPI says it.
    if let Some(place) = parsed.pointer("/detail/0/loc").and_then(Value::as_array) {
        let step = |step: &Value| step.as_str().map_or_else(|| step.to_string(), str::to_owned);
        found.push(place.iter().map(step).collect::<Vec<_>>().join("."));
    }
    found
}

/// Words of a message that may be paths.
fn paths(message: &str) -> impl Iterator<Item = &str> {
    message
        .split(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | ',' | ';'))
        .map(|word| word.trim_matches(|c: char| matches!(c, ':' | '(' | ')' | '*' | '.')))
        .filter(|word| word.contains(['.', '[', '/']) || word.contains('_'))
}

/// The place in the body that a path leads to, as far as it leads.
fn walk(path: &str, body: &Value) -> Option<String> {
    let steps = path.split(['.', '[', ']', '/', '\'', '"']);
    let (mut at, mut pointer) = (body, String::new());
    for step in steps.filter(|step| !step.is_empty()) {
        let camel = camel(step);
        let key = [step, camel.as_str()].into_iter().find(|key| match at {
            Value::Object(map) => {
                map.contains_key(*key) && (!pointer.is_empty() || ROOTS.contains(key))
            }
            Value::Array(items) => key.parse().is_ok_and(|index: usize| index < items.len()),
            _ => false,
        });
        // Names of messages and of kinds stand between.
        let Some(key) = key else { continue };
        at = match at {
            Value::Array(items) => items.get(key.parse::<usize>().ok()?)?,
            other => other.get(key)?,
        };
        pointer.push('/');
        pointer.push_str(&escape(key));
    }
    (!pointer.is_empty()).then_some(pointer)
}

fn camel(step: &str) -> String {
    let mut words = step.split('_');
    let mut out = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        out.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        out.push_str(letters.as_str());
    }
    out
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The schema of the tool that a message names.
fn tool(message: &str, body: &Value) -> Option<String> {
    let (list, root) = match body.pointer("/tools/0/functionDeclarations") {
        Some(list) => (list, "/tools/0/functionDeclarations"),
        None => (body.get("tools")?, "/tools"),
    };
    let tools = list.as_array()?.iter().enumerate();
    let named = |tool: &Value| {
        let name = tool.pointer("/function/name").or_else(|| tool.get("name"));
        name.and_then(Value::as_str).map(str::to_owned)
    };
    let known: Vec<(usize, String)> =
        tools.filter_map(|(number, tool)| Some((number, named(tool)?))).collect();
    let names = quoted(message).collect::<Vec<_>>();
    let (number, _) = known.iter().find(|(_, name)| names.contains(&name.as_str()))?;
    let mut place = format!("{root}/{number}");
    for key in ["/function/parameters", "/parameters", "/input_schema"] {
        if body.pointer(&format!("{place}{key}")).is_some() {
            place.push_str(key);
            break;
        }
    }
    Some(place)
}

/// What stands in quotation marks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(['\'', '"', '`'])?;
            let mark = rest.get(start..)?.chars().next()?;
            let inner = rest.get(start + 1..)?;
            let end = inner.find(mark)?;
            let word = inner.get(..end)?;
            rest = inner.get(end + 1..)?;
            // An apostrophe is none.
            if !word.is_empty() && !word.contains(char::is_whitespace) {
                return Some(word);
            }
            rest = inner;
        }
    })
}

/// The place below one that a message tells: by the steps of `context=(..)`, and by a keyword that stands
/// in quotation marks.
fn deeper(part: &str, message: &str, body: &Value) -> String {
    let (mut place, mut words) = (part.to_owned(), message);
    if let Some((context, rest)) =
        message.split_once("context=(").and_then(|(_, context)| context.split_once(')'))
    {
        words = rest;
        for step in quoted(context) {
            let next = format!("{place}/{}", escape(step));
            if body.pointer(&next).is_none() {
                break;
            }
            place = next;
        }
    }
    let Some(at) = body.pointer(&place) else { return place };
    let below = quoted(words).find_map(|word| below(at, word));
    below.map_or_else(|| place.clone(), |below| format!("{place}{below}"))
}

/// The first member of this name, breadth first.
fn below(root: &Value, name: &str) -> Option<String> {
    let mut level = vec![(String::new(), root)];
    while !level.is_empty() {
        let mut next = Vec::new();
        for (place, value) in level {
            match value {
                Value::Object(map) => {
                    for (key, inner) in map {
                        let here = format!("{place}/{}", escape(key));
                        if key == name {
                            return Some(here);
                        }
                        next.push((here, inner));
                    }
                }
                Value::Array(items) => {
                    let each = items.iter().enumerate();
                    next.extend(each.map(|(number, one)| (format!("{place}/{number}"), one)));
                }
                _ => {}
            }
        }
        level = next;
    }
    None
}

/// Where a body binds the answer to a shape.
fn shape(body: &Value) -> Option<&'static str> {
    let places = [
        "/response_format",
        "/format",
        "/generationConfig/responseSchema",
        "/generationConfig/responseMimeType",
        "/tools/0/input_schema",
    ];
    places.into_iter().find(|place| body.pointer(place).is_some())
}
