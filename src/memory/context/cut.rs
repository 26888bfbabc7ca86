//! A text made shorter, with a mark where something is missing: a text and a number of tokens in, at
//! most so many out.

use super::Counter;

/// Tokens below which nothing of a text is worth having.
pub(super) const WORTH: usize = 24;

/// The mark in the place of what is left out.
fn mark(left: usize) -> String {
    format!("[... about {left} tokens left out ...]")
}

/// The beginning and the end of a text, the middle left out with a mark; empty where even that does
/// not fit.
pub(super) fn middle(text: &str, tokens: usize, counter: &Counter) -> String {
    shorten(text, tokens, counter, 2)
}

/// The beginning of a text, with a mark behind it.
pub(super) fn end(text: &str, tokens: usize, counter: &Counter) -> String {
    shorten(text, tokens, counter, 0)
}

/// Keeps as much as fits; of it, `tail` of three parts... none or one third, from the end.
fn shorten(text: &str, tokens: usize, counter: &Counter, tail: usize) -> String {
    let whole = counter.count(text);
    if whole <= tokens {
        return text.to_owned();
    }
    if tokens < WORTH {
        return String::new();
    }
    let length = text.chars().count();
    // The share of characters that fits is near that of the tokens; it is halved in upon from there.
    let (mut low, mut high) = (0, length);
    let mut best = String::new();
    for _ in 0..12 {
        let kept = usize::midpoint(low, high);
        let candidate = keep(text, (length, kept), tail, whole, tokens);
        if counter.count(&candidate) <= tokens {
            best = candidate;
            low = kept;
        } else {
            high = kept;
        }
        if high.saturating_sub(low) <= 1 {
            break;
        }
    }
    best
}

fn keep(
    text: &str,
    (length, kept): (usize, usize),
    tail: usize,
    whole: usize,
    tokens: usize,
) -> String {
    let last = if tail > 0 { kept / 3 } else { 0 };
    let first = kept - last;
    let head = border(&text.chars().take(first).collect::<String>(), true);
    let foot = border(&text.chars().skip(length - last).collect::<String>(), false);
    let mark = mark(whole.saturating_sub(tokens));
    match foot.is_empty() {
        true => format!("{head} {mark}"),
        false => format!("{head} {mark} {foot}"),
    }
}

/// Ends at a word where one ends near.
fn border(text: &str, at_end: bool) -> String {
    const NEAR: usize = 24;
    let space = |one: char| one.is_whitespace();
    let shorter = if at_end {
        text.rfind(space).map(|at| text.get(..at).unwrap_or(text))
    } else {
        text.find(space).map(|at| text.get(at..).unwrap_or(text))
    };
    let near = |shorter: &&str| text.len() - shorter.len() <= NEAR;
    shorter.filter(near).unwrap_or(text).trim().to_owned()
}
