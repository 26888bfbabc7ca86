//! What a model is asked: words, turns, tools and the shape of the answer, in no provider's terms.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::catalog::Tool;
use crate::native::{Asked, Told};

/// What a model is asked.
///
/// With `tools`, a turn of the model is either calls or its final answer. In [`Form::Native`] calls are
/// the provider's own, and the final answer is prose, or `{"final": SHAPE}` where there is a shape. In
/// all other forms a turn is one JSON object in the text: `{"tool_call": {"name", "arguments"}}`, which
/// `native::search` reads, or `{"final": SHAPE}`; without a shape `{"final": {"answer": ".."}}`. The room
/// tells the model so itself, after `system`. Without `tools` the answer is the shape, or prose.
///
/// [`Form::Native`]: super::Form::Native
#[derive(Debug, Clone, Default)]
pub struct Prompt {
    /// Who the model is and what it must heed.
    pub system: String,
    /// What was said before, the oldest first.
    pub turns: Vec<Turn>,
    /// The tools that it may call.
    pub tools: Vec<Offer>,
    /// Whether this turn has to be a call of one of the tools, and may not be the final answer. A provider
    /// that cannot be bound to that leaves it to the words of `system`.
    pub must_call: bool,
    /// JSON Schema of the answer.
    pub shape: Option<Value>,
    /// Most tokens of the answer; never more than the endpoint's own `max_output`.
    pub max_output: Option<u32>,
    /// When there must be an answer.
    pub by: Option<Instant>,
}

/// A tool that a model is told of.
#[derive(Debug, Clone)]
pub enum Offer {
    /// A tool of the catalog, told in the dialect of whoever is asked.
    Tool(Arc<Tool>),
    /// One that who asks does itself.
    Own {
        /// Its name: letters, digits, `_` and `-`.
        name: String,
        /// Written for a model.
        description: String,
        /// JSON Schema of its arguments, an object.
        schema: Value,
    },
}

/// One turn of the conversation.
#[derive(Debug, Clone)]
pub enum Turn {
    /// What the user said.
    User(String),
    /// What the model said.
    Model {
        /// Its text.
        text: String,
        /// Its calls.
        calls: Vec<Asked>,
        /// Whether the calls stood in its text, so that they and their results stand in texts again.
        spoken: bool,
        /// The message as it came, of [`Said::own`](super::Said::own).
        own: Option<Own>,
    },
    /// What came of the calls of the turn before, in their order.
    Results(Vec<(Asked, Told)>),
}

/// A message in its provider's own form, for the endpoint that it came from and no other: some providers
/// want signatures back that stand in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// The endpoint's name.
    pub endpoint: String,
    /// The message as JSON text.
    pub message: String,
}
