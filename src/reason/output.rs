//! What a model wrote: its message in, the calls, the final answer or what could not be read out. What
//! can be read in one way only is mended; everything else is told to the model.

use serde_json::{Value, json};

use super::event::Wanted;
use super::tools::Toolset;
use crate::model::Said;
use crate::native::{self, Kind, Reading as Found};
use crate::schema;

/// Longest text of one turn that is kept, in bytes.
pub(super) const LONGEST: usize = 64 << 10;
/// Longest text that is searched for calls and answers, in bytes.
const SEARCHED: usize = 256 << 10;

/// Bytes of the arguments of all calls of one message, at most.
const ARGUMENTS: usize = 256 << 10;
/// Longest name or id in a call, in bytes.
const NAME: usize = 256;
/// Longest reason why something cannot be read, in bytes.
const WHY: usize = 4 << 10;

/// What a message holds.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// The calls.
    pub(super) calls: Vec<Wanted>,
    /// The final answer: the object as it was written, or prose.
    pub(super) answer: Option<Value>,
    /// What could not be read; the model is asked again.
    pub(super) unread: Vec<String>,
    /// What was mended.
    pub(super) remarks: Vec<String>,
}

/// Reads a message. What it gives is bounded, whatever the message has.
pub(super) fn read(said: &Said, tools: &Toolset) -> Reading {
    let mut reading = whole(said, tools);
    let mut room = ARGUMENTS;
    for call in &mut reading.calls {
        shorten(&mut call.id, NAME);
        shorten(&mut call.name, NAME);
        let bytes = call.arguments.len();
        match room.checked_sub(bytes) {
            Some(left) => room = left,
            None => {
                let why = format!(
                    "the arguments of this call have {bytes} bytes, and those of all calls of a message \
                     together may have {ARGUMENTS}: send it again, shorter"
                );
                call.fault.get_or_insert(why);
                "{}".clone_into(&mut call.arguments);
            }
        }
    }
    reading.unread.iter_mut().for_each(|why| shorten(why, WHY));
    reading
}

fn whole(said: &Said, tools: &Toolset) -> Reading {
    if !said.calls.is_empty() {
        let calls = said.calls.iter().map(|asked| wanted(asked, false)).collect();
        return Reading { calls, ..Reading::default() };
    }
    if let Some(malformed) = &said.malformed {
        return unread(malformed.clone());
    }
    let text = said.text.trim();
    if text.len() > SEARCHED {
        return unread(format!(
            "your answer has {} bytes; at most {SEARCHED} are read: answer in a few sentences",
            text.len()
        ));
    }
    if let Some(cut) = &said.cut {
        return unread(format!("{cut}; answer shorter"));
    }
    if text.is_empty() {
        return unread("your answer is empty: call a tool, or give the final answer".to_owned());
    }
    let mut reading = within(text, said, tools);
    // A form that only other models use is read, and told, so that it is not held against anybody.
    if reading.answer.is_some() || !reading.calls.is_empty() {
        reading.unread.clear();
    }
    reading
}

/// Reads the text of a message.
fn within(text: &str, said: &Said, tools: &Toolset) -> Reading {
    let (object, mended) = object(text);
    let remarks = if mended { vec!["the notation was mended".to_owned()] } else { Vec::new() };
    if let Some(answer) = object.as_ref().and_then(last) {
        return Reading { answer: Some(answer), remarks, ..Reading::default() };
    }
    if let Some(calls) = object.as_ref().and_then(listed) {
        return Reading { calls, remarks, ..Reading::default() };
    }
    match native::search(text, &|name| tools.known(name, said.dialect)) {
        Found::Calls(calls) => {
            let calls = calls.iter().map(|asked| wanted(asked, true)).collect();
            Reading { calls, remarks, ..Reading::default() }
        }
        Found::Final { text, .. } => {
            Reading { answer: Some(Value::String(text)), remarks, ..Reading::default() }
        }
        Found::Unclear(unclear) => {
            let takes = match unclear.takes.is_empty() {
                true => String::new(),
                false => format!("; its arguments are: {}", unclear.takes.join("; ")),
            };
            unread(format!("{}; send {}{takes}", unclear.message, unclear.send))
        }
        Found::Prose if object.is_some() || text.starts_with('{') || text.starts_with("```") => {
            unread(
                "your message looks like JSON and is neither a call nor a final answer: send \
                 {\"tool_call\": {\"name\": .., \"arguments\": {..}}} or \
                 {\"final\": {\"answer\": .., \"evidence\": [..]}} and nothing else"
                    .to_owned(),
            )
        }
        Found::Prose => {
            Reading { answer: Some(Value::String(text.to_owned())), ..Reading::default() }
        }
    }
}

fn unread(why: String) -> Reading {
    Reading { unread: vec![why], ..Reading::default() }
}

/// The one JSON object of a text: the whole of it, what stands in its one fence, or what stands between
/// its first brace and its last; and whether its notation had to be mended.
fn object(text: &str) -> (Option<Value>, bool) {
    let mut candidates = vec![text];
    candidates.extend(fenced(text));
    if let (Some(from), Some(to)) = (text.find('{'), text.rfind('}')) {
        candidates.extend(text.get(from..=to));
    }
    let strict = |text: &&str| serde_json::from_str::<Value>(text.trim()).ok();
    if let Some(value) = candidates.iter().find_map(strict).filter(Value::is_object) {
        return (Some(value), false);
    }
    let loose = |text: &&str| {
        let json = schema::from_notation(text.trim())?;
        serde_json::from_str::<Value>(&json).ok()
    };
    (candidates.iter().find_map(loose).filter(Value::is_object), true)
}

/// What stands in the one fence of a text.
fn fenced(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```")?;
    let (inside, behind) = rest.split_once("```")?;
    let (_, inside) = inside.split_once('\n')?;
    (!behind.contains("```")).then_some(inside)
}

/// The final answer in an object.
fn last(object: &Value) -> Option<Value> {
    let members = object.as_object()?;
    if let Some(inner) = members.get("final") {
        return Some(match inner {
            Value::String(prose) => Value::String(prose.clone()),
            other => json!({ "final": other }),
        });
    }
    let answers = members.get("answer").is_some_and(Value::is_string);
    let calls = members.contains_key("tool_call") || members.contains_key("tool_calls");
    (answers && !calls && !members.contains_key("name")).then(|| object.clone())
}

/// Several calls in one object, `{"tool_calls": [..]}`, which readers of one call do not take.
fn listed(object: &Value) -> Option<Vec<Wanted>> {
    let list = object.get("tool_calls")?.as_array()?;
    let call = |one: &Value| {
        let one = one.get("function").unwrap_or(one);
        let name = one.get("name")?.as_str()?.to_owned();
        let arguments = match one.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => "{}".to_owned(),
        };
        Some(Wanted { name, arguments, spoken: true, ..Wanted::default() })
    };
    let calls: Option<Vec<Wanted>> = list.iter().take(native::MAX_CALLS).map(call).collect();
    calls.filter(|calls| !calls.is_empty())
}

fn wanted(asked: &native::Asked, spoken: bool) -> Wanted {
    Wanted {
        id: asked.id.clone(),
        name: asked.name.clone(),
        arguments: asked.arguments.clone(),
        kind: match asked.kind {
            Kind::Function => "",
            Kind::Legacy => "legacy",
            Kind::Custom => "custom",
        }
        .to_owned(),
        spoken,
        fault: asked.fault.clone(),
        is_cut: asked.is_cut,
    }
}

impl Wanted {
    /// The call as the model's host takes it back.
    pub(super) fn asked(&self) -> native::Asked {
        native::Asked {
            id: self.id.clone(),
            name: self.name.clone(),
            arguments: self.arguments.clone(),
            kind: match self.kind.as_str() {
                "legacy" => Kind::Legacy,
                "custom" => Kind::Custom,
                _ => Kind::Function,
            },
            fault: self.fault.clone(),
            is_cut: self.is_cut,
        }
    }
}

fn shorten(text: &mut String, most: usize) {
    text.truncate(text.floor_char_boundary(most));
}

/// A text within what is kept of one.
pub(super) fn bounded(text: &str) -> String {
    match text.get(..text.floor_char_boundary(LONGEST)) {
        Some(short) if short.len() < text.len() => format!("{short} [cut]"),
        _ => text.to_owned(),
    }
}
