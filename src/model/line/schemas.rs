//! Schemas that one endpoint refused, each by a mark of its own: how they are sent to it instead, for a while.
//! What was refused for one tool, where the refusal names it, holds for whatever that tool is offered with.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use crate::model::config::Form;
use crate::model::prompt::{Offer, Prompt};

/// Schemas that are remembered.
const MOST: usize = 256;

/// How a schema is sent: the form, and whether simplified.
type Way = (Form, bool);

/// What was refused.
#[derive(Debug, Default)]
pub(super) struct Schemas(HashMap<u64, (Way, Instant)>);

impl Schemas {
    /// How the schemas of a prompt are sent, by what is known of each.
    pub(super) fn way(&self, prompt: &Prompt, now: Instant) -> Way {
        let first = (Form::Native, false);
        if self.0.is_empty() {
            return first;
        }
        let tools: Vec<u64> = prompt.tools.iter().map(tool).collect();
        let all = together(&tools, prompt);
        let marks = tools.iter().chain([&all]);
        let known = marks.filter_map(|mark| self.0.get(mark)).filter(|(_, until)| *until > now);
        known.fold(first, |way, (known, _)| (way.0.max(known.0), way.1 || known.1))
    }

    /// From now on the schema at `part` of the body, or all of the prompt together where that names none, are
    /// sent in this way.
    pub(super) fn add(&mut self, prompt: &Prompt, part: &str, way: Way, until: Instant) {
        let tools: Vec<u64> = prompt.tools.iter().map(tool).collect();
        let named = number(part).and_then(|at| tools.get(at).copied());
        let mark = named.unwrap_or_else(|| together(&tools, prompt));
        if self.0.len() >= MOST {
            let now = Instant::now();
            self.0.retain(|_, (_, until)| *until > now);
        }
        if self.0.len() >= MOST
            && let Some(oldest) = self.0.iter().min_by_key(|(_, (_, until))| *until)
        {
            let oldest = *oldest.0;
            self.0.remove(&oldest);
        }
        self.0.insert(mark, (way, until));
    }
}

/// The number of the tool that a part of a body is of.
fn number(part: &str) -> Option<usize> {
    let rest = part.strip_prefix("/tools/")?;
    let rest = rest.strip_prefix("0/functionDeclarations/").unwrap_or(rest);
    rest.split('/').next()?.parse().ok()
}

/// A tool with its schema.
fn tool(offer: &Offer) -> u64 {
    let mut hasher = DefaultHasher::new();
    match offer {
        Offer::Tool(tool) => tool.digest.hash(&mut hasher),
        Offer::Own { name, schema, .. } => (name, schema.to_string()).hash(&mut hasher),
    }
    hasher.finish()
}

/// All tools, in whichever order, with the shape of the answer.
fn together(tools: &[u64], prompt: &Prompt) -> u64 {
    let mut sorted = tools.to_vec();
    sorted.sort_unstable();
    let mut hasher = DefaultHasher::new();
    let shape = prompt.shape.as_ref().map(ToString::to_string);
    (sorted, shape).hash(&mut hasher);
    hasher.finish()
}
