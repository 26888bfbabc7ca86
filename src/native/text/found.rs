//! What a way through a text finds: calls, answers and what is neither, each with its place.

use super::Known;
use super::shape::Wanted;
use crate::native::hint::Unclear;

/// Something in a text.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) at: usize,
    pub(super) end: usize,
    /// In a fenced block of its own.
    pub(super) fenced: bool,
    /// In one of the marked forms.
    pub(super) marked: bool,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// Calls; `tool` is that of the first, and `known` whether all are of known tools.
    Calls {
        wanted: Vec<Wanted>,
        known: bool,
        tool: Option<Known>,
    },
    Final {
        answer: String,
        json: String,
    },
    /// Something meant as a call: what is wrong with it, and its tool.
    Broken {
        why: String,
        tool: Option<Known>,
    },
    /// The same, where the text is nothing else; beside other text it is data.
    Odd {
        why: String,
        tool: Option<Known>,
    },
    /// Something that ends too early, and names no tool.
    Weak,
}

impl What {
    pub(super) fn calls(self) -> Vec<Wanted> {
        match self {
            Self::Calls { wanted, .. } => wanted,
            _ => Vec::new(),
        }
    }
}

impl Found {
    /// Whether the text is nothing else.
    pub(super) fn is_whole(&self, text: &str) -> bool {
        let outside = [text.get(..self.at), text.get(self.end..)];
        outside.iter().flatten().all(|part| part.trim().is_empty())
    }

    pub(super) fn tool(&self) -> Option<&Known> {
        match &self.what {
            What::Calls { tool, .. } | What::Broken { tool, .. } | What::Odd { tool, .. } => {
                tool.as_ref()
            }
            What::Final { .. } | What::Weak => None,
        }
    }

    /// What to say of it, where it is broken.
    pub(super) fn unclear(&self, text: &str) -> Option<Unclear> {
        let why = match &self.what {
            What::Broken { why, .. } | What::Odd { why, .. } => why.clone(),
            What::Weak => "found a call and the beginning of something more that is cut off, so \
                              nothing ran: send one complete JSON object and nothing else"
                .to_owned(),
            What::Calls { .. } | What::Final { .. } => return None,
        };
        Some(Unclear::new(why, text, self.at, self.tool()))
    }
}
