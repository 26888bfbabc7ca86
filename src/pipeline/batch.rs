//! What is known of a batch before any of its calls runs, and the record of a call that does not run.
//! Calls in, a plan and what is wrong with each of them out; it runs nothing.

use std::sync::Arc;

use super::facts::Facts;
use super::{Pipeline, Recorded, Snapshot};
use crate::admission::Caller;
use crate::batch::{Part, Plan, plan};
use crate::call::{Call, Code, Failure, Member};
use crate::catalog::Tool;
use crate::normalize;
use crate::schema::{self, MAX_VIOLATIONS, Violation};

/// A batch that was looked at.
#[derive(Debug)]
pub struct Foreseen {
    /// What refers to what.
    pub plan: Plan,
    /// What is wrong with each call; all `None` for a batch that may run.
    pub faults: Vec<Option<Failure>>,
}

impl Pipeline {
    /// Looks at calls that carry their names in [`Call::member`]: finds their tools among those that
    /// the caller may use, and checks references and arguments as far as they are known.
    pub fn foresee(&self, calls: &[Call], caller: &Caller) -> Foreseen {
        let snapshot = self.snapshot.load();
        let seen = |tool: &Tool| snapshot.shows(caller, tool);
        let tools: Vec<Option<Arc<Tool>>> =
            calls.iter().map(|call| snapshot.catalog.named(call, &seen)).collect();
        let parts: Vec<Part<'_>> = calls
            .iter()
            .zip(&tools)
            .map(|(call, tool)| Part {
                name: call.member.as_ref().map_or("", |member| &member.name),
                arguments: &call.arguments_json,
                tool: tool.as_deref().filter(|tool| seen(tool)),
                own_terms: call.dialect.is_none(),
            })
            .collect();
        let (plan, wrong) = plan(&parts);
        let judge = |((at, violations), (call, tool)): ((usize, Vec<Violation>), (&Call, _))| {
            let tool: &Option<Arc<Tool>> = tool;
            let failure = match tool {
                None => Some(snapshot.catalog.unknown(&call.tool, &seen).failure()),
                Some(tool) if !seen(tool) => Some(snapshot.policies.hide().failure()),
                Some(tool) => misfit(&snapshot, (call, tool), (&plan, at)),
            };
            with_violations(failure, violations, plan.untold(at))
        };
        let faults = wrong.into_iter().enumerate().zip(calls.iter().zip(&tools)).map(judge);
        let faults = faults.collect();
        Foreseen { plan, faults }
    }

    /// The recorded reply to a call of a batch that does not run. It counts for the rates.
    pub async fn decline(&self, call: Call, caller: &Caller, failure: Failure) -> Recorded {
        let snapshot = self.snapshot.load_full();
        let mut facts = Facts::new(&call, caller, Arc::clone(&snapshot));
        if let Some(tool) = snapshot.catalog.named(&call, &|tool| snapshot.shows(caller, tool)) {
            facts.meant(&call, &tool);
        }
        let failure = match self.admission.admit(call.clone(), caller.clone()) {
            Ok(_room) => failure,
            Err(refused) => refused.failure(),
        };
        let reply = normalize::refuse(&call, facts.tool_name(), &failure, &[]);
        self.record(&call, facts, reply).await
    }
}

/// What is wrong with arguments and files, whatever the results will be.
fn misfit(
    snapshot: &Snapshot,
    (call, tool): (&Call, &Tool),
    (plan, at): (&Plan, usize),
) -> Option<Failure> {
    let schemas = &snapshot.schemas;
    let checked = match plan.outline(at) {
        Some(arguments) => schemas.check_partly(tool, call, &arguments),
        None => schemas
            .check_partly(tool, call, &schema::unknown())
            .and_then(|()| schemas.check_in(call.dialect, tool, &call.arguments_json).map(drop)),
    };
    checked.err().map(|error| error.failure())
}

/// A failure that also tells of wrong references, as many as of any call; `untold` are more of them.
fn with_violations(
    failure: Option<Failure>,
    mut violations: Vec<Violation>,
    untold: usize,
) -> Option<Failure> {
    let Some(first) = violations.first().map(|first| first.message.clone()) else {
        return failure;
    };
    let wrong = violations.len() + untold;
    violations.truncate(MAX_VIOLATIONS);
    let Some(mut failure) = failure else {
        let (total, repairs) = (wrong, Vec::new());
        return Some(schema::Error::Violations { violations, total, repairs }.failure());
    };
    let Some(details) = failure.details.as_object_mut() else { return Some(failure) };
    let told = details.get("total").and_then(serde_json::Value::as_u64);
    let found = details.entry("violations").or_insert_with(|| serde_json::json!([]));
    if let Some(found) = found.as_array_mut() {
        let told = told.and_then(|told| usize::try_from(told).ok()).unwrap_or(found.len());
        found.extend(violations.into_iter().filter_map(|one| serde_json::to_value(one).ok()));
        found.truncate(MAX_VIOLATIONS);
        if failure.code == Code::SchemaValidationError {
            details.insert("total".to_owned(), (told + wrong).into());
            failure.message = format!("{}; {first}", failure.message);
        }
    }
    Some(failure)
}

impl Foreseen {
    /// The place of each call in a batch of this id.
    pub fn member(&self, batch: &str, call: usize) -> Member {
        let refers = self.plan.needs(call).iter().map(|need| self.plan.name(*need).to_owned());
        Member {
            batch: batch.to_owned(),
            name: self.plan.name(call).to_owned(),
            refers: refers.collect(),
        }
    }
}
