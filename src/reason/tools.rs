//! Which tools a model is shown for a question: those that its caller may use and that fit best, as many
//! as their share of the context has room for; and the two that the loop answers itself.

use std::sync::Arc;

use serde_json::{Value, json};

use super::agent::fits;
use super::compare;
use super::drive::Drive;
use super::errand::Errand;
use super::event::Wanted;
use super::prompt;
use crate::admission::Caller;
use crate::call::{Dialect, digest_of};
use crate::catalog::Tool;
use crate::model::Offer;
use crate::native::Known;
use crate::pipeline::Pipeline;
use crate::{schema, tokens};

/// Part of a context that tools may take beside the instructions, in percent.
const SHARE: usize = 15;
/// Tokens that tools get in any context.
const LEAST: usize = 200;

/// What the loop answers itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    /// A comparison of two values in evidence.
    Compare,
    /// Another question to the memory.
    Recall,
}

/// The tools of one errand.
#[derive(Debug)]
pub(super) struct Toolset {
    /// Those of the catalog, best first.
    pub(super) tools: Vec<Arc<Tool>>,
    /// The same and the loop's own, as a model is told of them.
    pub(super) offers: Vec<Offer>,
    own: Vec<(String, Own)>,
    pipeline: Arc<Pipeline>,
    caller: Caller,
}

impl Drive {
    /// The tools of an errand, under what is in force now.
    pub(super) fn toolset(&self, errand: &Errand) -> Toolset {
        let (pipeline, caller) = (&self.inner.pipeline, &self.visitor.caller);
        let snapshot = pipeline.snapshot();
        let wanted = |tool: &Tool| match &errand.tools {
            None => true,
            Some(patterns) => patterns.iter().any(|pattern| fits(pattern, &tool.name)),
        };
        let most = self.inner.config.tools;
        let (seen, _) = snapshot.tools_for(caller);
        let seen: Vec<Arc<Tool>> = seen.into_iter().filter(|tool| wanted(tool)).collect();
        let found = snapshot.search(caller, (&errand.question, most), &wanted);
        let place = |tool: &Arc<Tool>| {
            let place = snapshot.catalog.place(&tool.name);
            let at = found.hits.iter().position(|hit| Some(hit.place) == place);
            at.unwrap_or(usize::MAX)
        };
        let mut best = seen;
        best.sort_by_key(place);
        let system = tokens::count(&prompt::rules(self, errand));
        let mut room = (self.window(errand) * SHARE / 100).saturating_sub(system).max(LEAST);
        best.truncate(most);
        best.retain(|tool| {
            let cost = usize::try_from(snapshot.tokens(tool)).unwrap_or(usize::MAX);
            let fits = cost <= room;
            room -= if fits { cost } else { 0 };
            fits
        });
        self.offered(errand, best)
    }

    fn offered(&self, errand: &Errand, tools: Vec<Arc<Tool>>) -> Toolset {
        let taken = |name: &str| tools.iter().any(|tool| tool.name == name);
        let named = |name: &str| match taken(name) {
            true => format!("{name}_evidence"),
            false => name.to_owned(),
        };
        let mut own = Vec::new();
        let mut offers: Vec<Offer> = tools.iter().cloned().map(Offer::Tool).collect();
        if !errand.free {
            own.push((named("compare"), Own::Compare));
            offers.push(Offer::Own {
                name: named("compare"),
                description: compare::DESCRIPTION.to_owned(),
                schema: compare::schema(),
            });
        }
        if errand.recalls {
            own.push((named("recall"), Own::Recall));
            offers.push(Offer::Own {
                name: named("recall"),
                description: "Looks into the memory again, for another question than the one asked. \
                              Use it when what was recalled is not enough."
                    .to_owned(),
                schema: json!({
                    "type": "object",
                    "properties": { "question": {
                        "type": "string", "maxLength": 2000,
                        "description": "What to look for, as a full question with all names and numbers",
                    } },
                    "required": ["question"],
                    "additionalProperties": false,
                }),
            });
        }
        let (pipeline, caller) = (Arc::clone(&self.inner.pipeline), self.visitor.caller.clone());
        Toolset { tools, offers, own, pipeline, caller }
    }
}

impl Toolset {
    /// Whether the loop answers this one itself.
    pub(super) fn own(&self, name: &str) -> Option<Own> {
        self.own.iter().find(|(known, _)| known == name).map(|(_, own)| *own)
    }

    /// The name of one that the loop answers itself, where it is offered.
    pub(super) fn name(&self, own: Own) -> Option<&str> {
        self.own.iter().find(|(_, known)| *known == own).map(|(name, _)| name.as_str())
    }

    /// The tool that a model means, as a reader of texts needs it.
    pub(super) fn known(&self, name: &str, dialect: Dialect) -> Option<Known> {
        if self.own(name).is_some() {
            let schema = self.offers.iter().find_map(|offer| match offer {
                Offer::Own { name: known, schema, .. } if known == name => Some(schema.clone()),
                _ => None,
            });
            return Some(Known { name: name.to_owned(), schema: schema? });
        }
        let own = self.pipeline.tool(name, None, &self.caller);
        let tool = own.or_else(|| self.pipeline.tool(name, Some(dialect), &self.caller))?;
        Some(Known { name: name.to_owned(), schema: tool.input_schema.clone() })
    }

    /// What tells a call from every other: digest of the tool and its arguments in canonical form.
    pub(super) fn visit(&self, wanted: &Wanted, dialect: Option<Dialect>) -> String {
        let tool = self.pipeline.tool(&wanted.name, dialect, &self.caller);
        let name = tool.as_ref().map_or(wanted.name.as_str(), |tool| tool.name.as_str());
        let arguments = serde_json::from_str::<Value>(&wanted.arguments)
            .map_or_else(|_unread| wanted.arguments.clone(), |value| schema::canonical(&value));
        hex::encode(digest_of([name, &arguments]))
    }
}
