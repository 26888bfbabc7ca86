//! Two loads of a policies folder in, the calls that they decide differently out: recorded ones, and
//! ones made at the boundaries of each tool and of what the policies name.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::audit::audiences;
use super::parts::Named;
use super::{Asked, Judged, Outcome, Past, Review, boundary};
use crate::admission::Caller;
use crate::call::Session;
use crate::policy::Error;

/// What two loads decide differently.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Comparison {
    /// Recorded calls that both decided.
    pub recorded: usize,
    /// Calls made at boundaries that both decided, and that either takes.
    pub boundary: usize,
    /// Tools for which no arguments could be made that either takes.
    pub not_tried: Vec<String>,
    /// Each kind of change, with one example.
    pub changes: Vec<Change>,
}

/// One kind of change.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// The tool's name.
    pub tool: String,
    /// Before.
    pub from: Outcome,
    /// After.
    pub to: Outcome,
    /// `recorded` or `boundary`.
    pub origin: &'static str,
    /// Calls that change in this way.
    pub calls: usize,
    /// The first of them.
    pub example: Example,
}

/// One call that changes.
#[derive(Debug, Clone, Serialize)]
pub struct Example {
    /// Id of a recorded call; empty for one that was made.
    pub call_id: String,
    /// Who calls.
    pub caller: String,
    /// Its tenant.
    pub tenant: String,
    /// Its roles.
    pub roles: Vec<String>,
    /// What the conversation had come to before.
    pub session: Session,
    /// The arguments as JSON text.
    pub arguments: String,
    /// What decided before.
    pub before: Side,
    /// What decides after.
    pub after: Side,
}

/// What one load says to a call.
#[derive(Debug, Clone, Serialize)]
pub struct Side {
    /// Ids of the deciding policies.
    pub policies: Vec<String>,
    /// The refusal in words; empty when the call would run.
    pub message: String,
}

type Kind = (String, Outcome, Outcome, &'static str);

impl Review {
    /// Compares this load with a later one, by recorded calls and by calls at boundaries.
    pub fn compare(&self, new: &Self, past: &[Past]) -> Result<Comparison, Error> {
        let mut found = Comparison::default();
        let mut changes: BTreeMap<Kind, Change> = BTreeMap::new();
        for past in past {
            let pair = (self.judge(&past.asked)?, new.judge(&past.asked)?);
            found.recorded += 1;
            note(&mut changes, "recorded", &past.call_id, &past.asked, &pair);
        }
        let named = Named::of_rules(self.rules.iter().chain(&new.rules));
        let callers: Vec<Caller> =
            audiences(&named).into_iter().map(|audience| audience.caller).collect();
        let sessions = named.sessions();
        for (name, sets) in self.boundaries(new, &named) {
            let before = found.boundary;
            for arguments in sets {
                for asked in tries(&name, &arguments, &callers, &sessions) {
                    let pair = (self.judge(&asked)?, new.judge(&asked)?);
                    let taken = |judged: &Judged| {
                        !matches!(judged.outcome, Outcome::Invalid | Outcome::Unknown)
                    };
                    if taken(&pair.0) || taken(&pair.1) {
                        found.boundary += 1;
                        note(&mut changes, "boundary", "", &asked, &pair);
                    }
                }
            }
            if found.boundary == before {
                found.not_tried.push(name);
            }
        }
        found.changes = changes.into_values().collect();
        Ok(found)
    }

    /// Arguments to try for each tool of either load.
    fn boundaries(&self, new: &Self, named: &Named) -> Vec<(String, Vec<Value>)> {
        let names: BTreeSet<&String> = [self, new]
            .into_iter()
            .flat_map(|side| side.catalog.tools())
            .map(|tool| &tool.name)
            .collect();
        let sets = |name: &String| {
            let tools = [self, new].into_iter().filter_map(|side| side.catalog.get(name));
            let mut sets: Vec<Value> = Vec::new();
            for arguments in tools.flat_map(|tool| boundary::arguments(tool, named)) {
                if !sets.contains(&arguments) {
                    sets.push(arguments);
                }
            }
            sets
        };
        names.into_iter().map(|name| (name.clone(), sets(name))).collect()
    }
}

/// The call by each caller in each kind of conversation.
fn tries<'t>(
    tool: &'t str,
    arguments: &'t Value,
    callers: &'t [Caller],
    sessions: &'t [(&'static str, Session)],
) -> impl Iterator<Item = Asked> + 't {
    let each = callers.iter().flat_map(|caller| sessions.iter().map(move |one| (caller, one)));
    each.map(move |(caller, (conversation, session))| Asked {
        tool: tool.to_owned(),
        arguments: arguments.to_string(),
        caller: caller.clone(),
        conversation: (*conversation).to_owned(),
        session: session.clone(),
        files: Vec::new(),
    })
}

fn note(
    changes: &mut BTreeMap<Kind, Change>,
    origin: &'static str,
    call_id: &str,
    asked: &Asked,
    (before, after): &(Judged, Judged),
) {
    if before.outcome == after.outcome {
        return;
    }
    let tool = before.tool.as_ref().or(after.tool.as_ref());
    let tool = tool.map_or_else(|| asked.tool.clone(), |tool| tool.name.clone());
    let side = |judged: &Judged| Side {
        policies: judged.policies.clone(),
        message: judged.message.clone(),
    };
    let kind = (tool.clone(), before.outcome, after.outcome, origin);
    let change = changes.entry(kind).or_insert_with(|| Change {
        tool,
        from: before.outcome,
        to: after.outcome,
        origin,
        calls: 0,
        example: Example {
            call_id: call_id.to_owned(),
            caller: asked.caller.name.clone(),
            tenant: asked.caller.tenant.clone(),
            roles: asked.caller.roles.clone(),
            session: asked.session.clone(),
            arguments: asked.arguments.clone(),
            before: side(before),
            after: side(after),
        },
    });
    change.calls += 1;
}
