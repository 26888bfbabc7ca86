//! Why something that a model made is not taken: a stable code, the place, and words by which the model
//! can mend it. What is refused and when is said by those who refuse.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::schema::Error;

/// Most refusals that a model is shown at a time.
const SHOWN: usize = 12;

/// One refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refusal<C> {
    /// Why, as a stable code.
    pub(crate) code: C,
    /// JSON Pointer to the place in what is refused; empty for the whole.
    pub(crate) place: String,
    /// What is wrong, and what to write instead.
    pub(crate) words: String,
}

impl<C> Refusal<C> {
    /// A refusal.
    pub(crate) fn new(code: C, place: impl Into<String>, words: impl Into<String>) -> Self {
        Self { code, place: place.into(), words: words.into() }
    }
}

impl<C: fmt::Display> fmt::Display for Refusal<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => write!(f, "[{}] {}", self.code, self.words),
            place => write!(f, "[{}] at {place}: {}", self.code, self.words),
        }
    }
}

/// Refusals as a model reads them, one a line.
pub(super) fn lines(refusals: &[impl fmt::Display]) -> String {
    let mut lines: Vec<String> =
        refusals.iter().take(SHOWN).map(|one| format!("- {one}")).collect();
    if let Some(more) = refusals.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        lines.push(format!("- and {more} more"));
    }
    lines.join("\n")
}

/// A text as a refusal repeats it: its first characters, on one line.
pub(super) fn brief(text: &str) -> String {
    const MOST: usize = 80;
    let mut short: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() {
        short.push('…');
    }
    short
}

/// Why a text is no JSON object, in words that go behind what it was to be.
pub(super) fn unread(error: &Error) -> String {
    match error {
        Error::Unreadable(flaw) => flaw.to_string(),
        Error::NotObject(got) => format!("it is {got}, and no JSON object"),
        other => other.to_string(),
    }
}
