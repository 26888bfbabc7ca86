//! What models put around arguments and do not mean: thinking, a fence, the marks of a call and the
//! tokens that end a turn. A text in, the place of what stands inside out; prose is none of it.

use super::hint::is_blank;

const THINKING: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
];
const BEFORE: [&str; 6] =
    ["</think>", "<tool_call>", "<function_call>", "<|tool_call|>", "<|python_tag|>", "[ARGS]"];
const AFTER: [&str; 6] =
    ["</tool_call>", "</function_call>", "</function>", "<|/tool_call|>", "<|call|>", "<|return|>"];
/// What a model ends a text with, and a host should have left out.
pub(crate) const ENDS: [&str; 10] = [
    "</s>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<end_of_turn>",
    "<eos>",
    "<｜end▁of▁sentence｜>",
];
/// Most layers that are taken off.
const MAX_LAYERS: usize = 16;

/// That a text ends inside thinking.
pub(super) struct Thinking;

/// What stands inside, and the bytes before it.
pub(super) fn inside(text: &str) -> Result<(&str, usize), Thinking> {
    let (mut inner, mut before, mut fenced) = (text, 0, false);
    for _ in 0..MAX_LAYERS {
        let shorter = inner.trim_start_matches(is_blank);
        before += inner.len() - shorter.len();
        inner = shorter.trim_end_matches(is_blank);
        let thinking = THINKING.iter().find(|(open, _)| inner.starts_with(open));
        let rest = if let Some((_, close)) = thinking {
            Some(inner.split_once(close).ok_or(Thinking)?.1)
        } else {
            BEFORE.iter().find_map(|mark| inner.strip_prefix(mark))
        };
        if let Some(rest) = rest {
            before += inner.len() - rest.len();
            inner = rest;
        } else if let Some(rest) =
            AFTER.iter().chain(&ENDS).find_map(|mark| inner.strip_suffix(mark))
        {
            inner = rest;
        } else if let Some((line, rest)) = unfenced(inner).filter(|_| !fenced) {
            before += line;
            (inner, fenced) = (rest, true);
        } else {
            break;
        }
    }
    Ok((inner, before))
}

/// What stands in a fenced block, and the bytes before it; the end of the text closes one too.
fn unfenced(text: &str) -> Option<(usize, &str)> {
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let count = text.len() - text.trim_start_matches(mark).len();
    let (line, body) = text.split_once('\n').filter(|_| count >= 3)?;
    let before = line.len() + 1;
    let Some((inner, end)) = body.rsplit_once('\n') else { return Some((before, body)) };
    let end = end.trim();
    let closes = end.len() >= count && end.chars().all(|c| c == mark);
    Some((before, if closes { inner } else { body }))
}
