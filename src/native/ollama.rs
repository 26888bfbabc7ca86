//! Ollama chat: a message or a whole response in, its calls out.

use super::chat::{assistant, named};
use super::node::Node;
use super::{Asked, Error, Turn};

/// Reads a message.
pub(super) fn read(whole: &Node<'_>) -> Result<Turn, Error> {
    let mut turn = Turn::default();
    if !whole.is_object() || whole.any(&["message", "content", "tool_calls"])?.is_none() {
        return Err(whole.wrong("is no message of Ollama: it has neither `message` nor `content`"));
    }
    take(whole, &mut turn)?;
    if whole.flag("done")? == Some(false) {
        turn.cut = Some(
            "the message is one piece of a streamed one, so none of its calls ran: send the stream"
                .to_owned(),
        );
    }
    Ok(turn)
}

/// Takes one response, or one line of a streamed one.
pub(super) fn take(whole: &Node<'_>, turn: &mut Turn) -> Result<(), Error> {
    if let Some(error) = whole.get("error")? {
        return Err(error.wrong("the provider answered with an error"));
    }
    let stop = whole.word("done_reason")?;
    if !stop.is_empty() {
        turn.stop = stop;
    }
    let message = whole.get("message")?.unwrap_or_else(|| whole.clone());
    assistant(&message, &["assistant"])?;
    turn.text.push_str(&message.word("content")?);
    for call in message.list("tool_calls")? {
        let (name, arguments) = named(&call.need("function")?, "arguments")?;
        let id = call.word("id")?;
        turn.calls.push(Asked { id, name, arguments, ..Asked::default() });
    }
    Ok(())
}
