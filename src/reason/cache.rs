//! What was found for a question a moment ago: how it was routed, what the memory gave, what was
//! answered. The question in its setting in, what was kept for an equal or a nearly equal one out,
//! with its age. Never of a question about now. Permits nothing: the caller is part of the setting.
//!
//! Nearly equal are two questions that differ in no number, unit, date, name, negation or word with a
//! meaning of its own, nor in their order, and that the embedder finds as similar as one and the same
//! question in two wordings. Without an embedder only equal ones are.

mod alike;
mod config;
mod lexer;
mod now;
mod serve;
mod setting;
mod shelf;
mod words;
mod worth;
#[cfg(test)]
mod tests;

use super::RunId;
use super::event::{Event, Routed};
use crate::evidence::Answer;
use crate::mask;
use crate::memory::Recalled as Hits;

pub use config::Config;
pub(super) use setting::{Setting, Slot};
pub use shelf::Served;
pub(super) use shelf::{Hit, Shelf};
pub(super) use worth::{Unfit, Used, Worth};

/// What was found, by kind. All of it is in memory, and gone with the daemon.
#[derive(Debug)]
pub(super) struct Cache {
    config: Config,
    /// How questions were routed. Their setting needs no standing of the memory.
    pub(super) routings: Shelf<Routed>,
    /// What the memory gave, and its record in the ledger.
    pub(super) recalls: Shelf<(String, Hits)>,
    /// What was answered.
    pub(super) answers: Shelf<Replay>,
}

/// An answer as another run can give it again: told anew in their order, these events make a trace that
/// holds, since what is cited stands in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Replay {
    /// The run that found it.
    pub(super) run: RunId,
    /// What was recalled and observed, and the steps, each with its task.
    pub(super) events: Vec<(String, Event)>,
    /// The answer.
    pub(super) answer: Answer,
}

impl Cache {
    /// An empty one.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            routings: Shelf::new("routing", config),
            recalls: Shelf::new("recall", config),
            answers: Shelf::new("answer", config),
            config: config.clone(),
        }
    }

    /// Where what is found for a question, as it came, is kept; `None` where nothing is: for a question
    /// about now, for one with something sensitive in it, and where the time to live is zero.
    pub(super) fn slot(&self, setting: &Setting<'_>, question: &str) -> Option<Slot> {
        // Two questions that were masked look equal.
        let sensitive = mask::text(question) != question || question.contains(mask::MASK);
        if self.config.ttl.is_zero() || sensitive || now::asked(question, &self.config.now) {
            return None;
        }
        Some(setting.slot(question))
    }

    /// How long what is found is kept, at most.
    pub(super) const fn ttl(&self) -> std::time::Duration {
        self.config.ttl
    }
}
