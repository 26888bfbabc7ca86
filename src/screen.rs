//! Finds text that gives instructions to a model: text from outside in, [`Finding`]s out. It is a
//! filter and no proof, so what it does not find stays untrusted too. It changes and drops nothing.

mod patterns;
#[cfg(test)]
mod tests;
mod views;

use serde::{Deserialize, Serialize};

use views::View;

/// Text is looked at up to this many bytes; more of it is not.
pub const MOST_BYTES: usize = 512 << 10;
/// Longest excerpt in characters.
const EXCERPT: usize = 120;

/// A place that reads like an instruction to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What kind of instruction it is.
    pub rule: Rule,
    /// How the text had to be read for it to show.
    pub reading: Reading,
    /// The text that was found, as it was read, at most 120 characters on one line.
    pub excerpt: String,
}

/// Kinds of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Asks to drop or ignore instructions that were given before.
    Override,
    /// Gives the reader another role or other rules.
    Role,
    /// Orders a behaviour for later, such as a tool call before every answer.
    Standing,
    /// Asks to keep something from the user.
    Concealment,
    /// Asks to send secrets, files or the conversation away.
    Exfiltration,
    /// Imitates the marks of a chat template or a tool call.
    Markup,
    /// Characters that a person does not see and a model reads.
    Hidden,
}

/// How a text was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// As it stands, look-alike letters and invisible characters evened out.
    Plain,
    /// With the spaces between single letters taken out.
    Spaced,
    /// Backwards.
    Reversed,
    /// With each letter moved by 13 places.
    Rot13,
    /// Percent-encoding, character references and escapes resolved.
    Unescaped,
    /// Decoded from base64 or hexadecimal digits.
    Decoded,
}

/// Looks at one text. Each rule is reported once, at its first place.
pub fn screen(text: &str) -> Vec<Finding> {
    let text = text.get(..text.floor_char_boundary(MOST_BYTES)).unwrap_or(text);
    let mut found: Vec<Finding> = Vec::new();
    if let Some(excerpt) = views::hidden(text) {
        found.push(Finding { rule: Rule::Hidden, reading: Reading::Plain, excerpt });
    }
    views::each(text, &mut |view: View<'_>| {
        for (rule, pattern) in patterns::hits(view.text, view.reading) {
            if found.iter().all(|known| known.rule != rule)
                && let Some(range) = pattern.find(view.text)
            {
                let excerpt = excerpt(view.text, range);
                found.push(Finding { rule, reading: view.reading, excerpt });
            }
        }
    });
    found
}

fn excerpt(text: &str, range: std::ops::Range<usize>) -> String {
    text.get(range)
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(EXCERPT)
        .collect()
}
