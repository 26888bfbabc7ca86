//! Anthropic messages: an assistant's message, which is also the response, or its content in, its
//! `tool_use` blocks out. Blocks of tools that the provider runs itself are left alone.

use super::chat::{assistant, named};
use super::node::Node;
use super::{Asked, Error, Turn};

/// Reads a message.
pub(super) fn read(whole: &Node<'_>) -> Result<Turn, Error> {
    let mut turn = Turn::default();
    if whole.is_array() {
        return blocks(whole, turn);
    }
    if !whole.is_object() {
        return Err(whole.wrong("must be an object with `content`, or that content"));
    }
    let kind = whole.word("type")?;
    if !["", "message"].contains(&kind.as_str()) {
        return Err(whole.wrong(&format!("is of type `{kind}`, which is no message")));
    }
    assistant(whole, &["assistant"])?;
    if let Some(foreign) = whole.any(&["tool_calls", "choices"])? {
        return Err(foreign.wrong("does not stand in a message of Anthropic"));
    }
    turn.stop = whole.word("stop_reason")?;
    let content = whole.need("content")?;
    if content.is_string() {
        turn.text = content.string()?;
        return Ok(turn);
    }
    blocks(&content, turn)
}

fn blocks(content: &Node<'_>, mut turn: Turn) -> Result<Turn, Error> {
    for block in content.items()? {
        let kind = block.need("type")?.string()?;
        match kind.as_str() {
            "text" => turn.text.push_str(&block.word("text")?),
            "tool_use" => turn.calls.push(asked(&block)?),
            "tool_result" => {
                return Err(block.wrong("a `tool_result` does not stand in a model's message"));
            }
            "function_call" | "function" => {
                return Err(block.wrong(&format!("`{kind}` is no block of Anthropic")));
            }
            _ => {}
        }
    }
    Ok(turn)
}

/// One `tool_use` block. Its result cannot do without its id.
pub(super) fn asked(block: &Node<'_>) -> Result<Asked, Error> {
    let id = block.need("id")?.string()?;
    let (name, arguments) = named(block, "input")?;
    Ok(Asked { id, name, arguments, ..Asked::default() })
}
