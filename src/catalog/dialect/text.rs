//! What a definition says in words because it cannot say it otherwise: sentences in, a description
//! out, and the list of what was lost. Decides nothing.

use serde_json::{Map, Value};

use super::Loss;

/// Longest value that is repeated in a description, in characters.
const MAX_SHOWN: usize = 120;
/// Most values of a list that are.
const MAX_LISTED: usize = 40;

/// A description with sentences after it.
pub(super) fn describe(description: &str, sentences: &[String]) -> String {
    let description = description.trim_end();
    let mut text = description.to_owned();
    for sentence in sentences {
        if !text.is_empty() {
            text.push_str(if text.ends_with(['.', '!', '?', ':', '。']) { " " } else { ". " });
        }
        text.push_str(sentence);
    }
    text
}

/// Puts sentences behind the description of a schema that is being made.
pub(super) fn add(schema: &mut Map<String, Value>, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    let before = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let after = describe(before, sentences);
    schema.insert("description".to_owned(), Value::String(after));
}

/// A value as it stands in a sentence.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    let short: String = text.chars().take(MAX_SHOWN).collect();
    if short.len() < text.len() { format!("{short}…") } else { text }
}

/// What a keyword says, in a sentence that begins with `words`; nothing where it asks for nothing.
pub(super) fn keyword(schema: &Map<String, Value>, keyword: &str, words: &str) -> Option<String> {
    match schema.get(keyword)? {
        Value::Bool(false) if keyword == "uniqueItems" => None,
        Value::Bool(true) if keyword == "uniqueItems" => Some(format!("{words}.")),
        value => Some(format!("{words}: {}.", shown(value))),
    }
}

/// Values as they stand in a sentence.
pub(super) fn listed(values: &[Value]) -> String {
    let more = values.len().saturating_sub(MAX_LISTED);
    let some: Vec<String> = values.iter().take(MAX_LISTED).map(shown).collect();
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{tail}", some.join(", "))
}

/// What tells a model the name of a member that is exported under another.
pub(super) fn renamed(name: &str) -> String {
    format!("Its name is `{name}`.")
}

/// The list of what was lost.
#[derive(Debug, Default)]
pub(super) struct Losses(Vec<Loss>);

impl Losses {
    /// Notes a loss, unless there is one of the same keyword at the same place.
    pub(super) fn add(&mut self, pointer: &str, keyword: &str, message: impl Into<String>) {
        let known = |loss: &Loss| loss.pointer == pointer && loss.keyword == keyword;
        if !self.0.iter().rev().take(8).any(known) {
            self.0.push(Loss {
                pointer: pointer.to_owned(),
                keyword: keyword.to_owned(),
                message: message.into(),
            });
        }
    }

    /// The losses, each once, by place.
    pub(super) fn finish(mut self) -> Vec<Loss> {
        self.0.sort();
        self.0.dedup();
        self.0
    }
}
