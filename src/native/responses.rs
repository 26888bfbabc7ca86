//! The `OpenAI` responses API: a response, its `output`, or one item in, the calls among the items out.
//! Items of tools that the provider runs itself are left alone.

use super::chat::{content, named};
use super::node::Node;
use super::{Asked, Error, Kind, Turn};

/// Reads the output of a response.
pub(super) fn read(whole: &Node<'_>) -> Result<Turn, Error> {
    let mut turn = Turn::default();
    if let Some(foreign) = whole.any(&["stop_reason", "choices", "candidates", "done"])? {
        return Err(foreign.wrong("does not stand in a response of the responses API"));
    }
    let items = if whole.is_array() {
        whole.items()?
    } else if let Some(output) = whole.get("output")?.filter(Node::is_array) {
        let why = whole.get("incomplete_details")?;
        let why = why.map_or_else(|| Ok(String::new()), |details| details.word("reason"))?;
        let status = whole.word("status")?;
        turn.stop = if why.is_empty() { status } else { why };
        output.items()?
    } else if whole.is_object() && whole.get("type")?.is_some() {
        vec![whole.clone()]
    } else {
        return Err(whole.wrong("is neither a response with `output`, nor items of one"));
    };
    for item in items {
        take(&item, &mut turn)?;
    }
    // Queued: a response that has not even begun.
    if turn.stop == "queued" {
        "in_progress".clone_into(&mut turn.stop);
    }
    Ok(turn)
}

/// Takes one item of the output.
pub(super) fn take(item: &Node<'_>, turn: &mut Turn) -> Result<(), Error> {
    let kind = item.need("type")?.string()?;
    let (key, form) = match kind.as_str() {
        "function_call" => ("arguments", Kind::Function),
        "custom_tool_call" => ("input", Kind::Custom),
        "message" => {
            let foreign = ["tool_use", "tool_result", "text", "server_tool_use"];
            turn.text.push_str(&content(item, &foreign, "the responses API")?);
            return Ok(());
        }
        "tool_use" | "tool_result" => {
            return Err(item.wrong(&format!("`{kind}` is no item of the responses API")));
        }
        _ => return Ok(()),
    };
    let (name, arguments) = named(item, key)?;
    let mut id = item.word("call_id")?;
    if id.is_empty() {
        id = item.word("id")?;
    }
    let status = item.word("status")?;
    let fault = (status == "incomplete" || status == "in_progress").then(|| {
        format!(
            "the call is `{status}`: it was cut off, so it did not run; send it again, complete"
        )
    });
    turn.calls.push(Asked { id, name, arguments, kind: form, is_cut: fault.is_some(), fault });
    Ok(())
}
