//! `OpenAI` chat completions: an assistant's message, a choice or a whole response in, its calls out.

use super::node::Node;
use super::{Asked, Error, Kind, Turn};

/// Reads a message.
pub(super) fn read(whole: &Node<'_>) -> Result<Turn, Error> {
    if !whole.is_object() {
        return Err(whole.wrong("must be an object: the assistant's message, or the response"));
    }
    if let Some(foreign) = whole.any(&["done", "done_reason", "stop_reason", "candidates"])? {
        return Err(foreign.wrong("does not stand in a message of OpenAI chat"));
    }
    let choice = match whole.get("choices")? {
        Some(choices) => choices.only()?.ok_or_else(|| choices.wrong("is empty"))?,
        None => whole.clone(),
    };
    let message = choice.get("message")?.unwrap_or_else(|| choice.clone());
    let known = ["content", "tool_calls", "function_call", "refusal", "role"];
    if message.any(&known)?.is_none() {
        return Err(message.wrong("is no message of OpenAI chat: it has neither content nor calls"));
    }
    assistant(&message, &["assistant"])?;
    let mut turn = Turn { stop: choice.word("finish_reason")?, ..Turn::default() };
    let foreign = ["tool_use", "tool_result", "function_call"];
    turn.text = content(&message, &foreign, "a message of OpenAI chat")?;
    for call in message.list("tool_calls")? {
        turn.calls.push(asked(&call)?);
    }
    // Some servers say one and the same call in both forms.
    if let Some(call) = message.get("function_call")?.filter(|_| turn.calls.is_empty()) {
        let (name, arguments) = named(&call, "arguments")?;
        turn.calls.push(Asked { name, arguments, kind: Kind::Legacy, ..Asked::default() });
    }
    Ok(turn)
}

/// Refuses the message of anybody but the model.
pub(super) fn assistant(message: &Node<'_>, roles: &[&str]) -> Result<(), Error> {
    let Some(role) = message.get("role")? else { return Ok(()) };
    if roles.contains(&role.string()?.as_str()) {
        return Ok(());
    }
    Err(role.wrong(&format!(
        "must be \"{}\": only a model's own message has calls",
        roles.join("\" or \"")
    )))
}

/// The text of something whose content is one string or parts. Parts of the `foreign` kinds do not
/// stand in it; `place` says where.
pub(super) fn content(message: &Node<'_>, foreign: &[&str], place: &str) -> Result<String, Error> {
    let Some(content) = message.get("content")? else { return Ok(String::new()) };
    if content.is_string() {
        return content.string();
    }
    let mut text = String::new();
    for part in content.items()? {
        let kind = part.word("type")?;
        if foreign.contains(&kind.as_str()) {
            return Err(part.wrong(&format!("`{kind}` does not stand in {place}")));
        }
        text.push_str(&part.word("text")?);
    }
    Ok(text)
}

/// One element of `tool_calls`.
fn asked(call: &Node<'_>) -> Result<Asked, Error> {
    if !call.is_object() {
        return Err(call.wrong("must be an object"));
    }
    let id = call.word("id")?;
    let custom = call.get("custom")?.filter(|custom| custom.is_object());
    let (inner, key, kind) = match custom {
        Some(custom) => (custom, "input", Kind::Custom),
        None => (call.need("function")?, "arguments", Kind::Function),
    };
    let (name, arguments) = named(&inner, key)?;
    Ok(Asked { id, name, arguments, kind, ..Asked::default() })
}

/// The name and the arguments of something that is called. A name that is no text names no tool.
pub(super) fn named(inner: &Node<'_>, key: &str) -> Result<(String, String), Error> {
    if !inner.is_object() {
        return Err(inner.wrong("must be an object"));
    }
    let name =
        inner.get("name")?.map_or_else(String::new, |name| name.string().unwrap_or_default());
    let arguments = inner.get(key)?.map_or_else(|| "{}".to_owned(), |value| value.arguments());
    Ok((name, arguments))
}
