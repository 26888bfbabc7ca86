//! Gemini `generateContent`: a model's content, a candidate or a whole response in, its function calls
//! out. Thought signatures and code that the provider runs itself are left alone.

use super::chat::{assistant, named};
use super::node::Node;
use super::{Asked, Error, Turn};

/// Reads a content.
pub(super) fn read(whole: &Node<'_>) -> Result<Turn, Error> {
    let mut turn = Turn::default();
    if whole.is_array() {
        parts(&whole.items()?, &mut turn)?;
        return Ok(turn);
    }
    if whole.any(&["candidates", "content", "parts", "promptFeedback", "role"])?.is_none() {
        return Err(whole.wrong("has neither `candidates`, `content` nor `parts`"));
    }
    take(whole, &mut turn)?;
    Ok(turn)
}

/// Takes one response, or one chunk of a streamed one.
pub(super) fn take(whole: &Node<'_>, turn: &mut Turn) -> Result<(), Error> {
    let candidate = match whole.get("candidates")? {
        Some(candidates) => match candidates.only()? {
            Some(candidate) => candidate,
            None => return Ok(()),
        },
        None => whole.clone(),
    };
    let stop = candidate.any(&["finishReason", "finish_reason"])?;
    if let Some(stop) = stop.filter(Node::is_string) {
        turn.stop = stop.string()?;
    }
    if ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"].contains(&turn.stop.as_str()) {
        let said = candidate.any(&["finishMessage", "finish_message"])?;
        turn.malformed = Some(said.map_or_else(|| Ok(String::new()), |said| said.string())?);
    }
    let content = candidate.get("content")?.unwrap_or(candidate);
    if content.is_string() || content.is_array() {
        return Err(content.wrong("must be an object with `parts`"));
    }
    assistant(&content, &["model"])?;
    parts(&content.list("parts")?, turn)
}

fn parts(parts: &[Node<'_>], turn: &mut Turn) -> Result<(), Error> {
    for part in parts {
        if !part.is_object() {
            return Err(part.wrong("must be an object"));
        }
        if part.any(&["functionResponse", "function_response"])?.is_some() {
            return Err(part.wrong("a function's response does not stand in a model's content"));
        }
        if let Some(call) = part.any(&["functionCall", "function_call"])? {
            if call
                .any(&["partialArgs", "partial_args", "willContinue", "will_continue"])?
                .is_some()
            {
                return Err(call.wrong(
                    "is a piece of a function call (`partialArgs`, `willContinue`), and such pieces are \
                     not put together, so nothing ran: ask Gemini without \
                     `streamFunctionCallArguments`",
                ));
            }
            let (name, arguments) = named(&call, "args")?;
            let id = call.word("id")?;
            turn.calls.push(Asked { id, name, arguments, ..Asked::default() });
        } else if part.flag("thought")? != Some(true) {
            turn.text.push_str(&part.word("text")?);
        }
    }
    Ok(())
}
