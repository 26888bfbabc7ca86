//! What is known of a call so far: filled stage by stage, and turned into its one ledger record.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::CallError;
use crate::admission::Caller;
use crate::call::Call;
use crate::catalog::{Resolved, Tool};
use crate::ledger::Record;
use crate::normalize::{self, Reply};
use crate::policy::{Authorized, Decision};
use crate::sandbox::{Outcome, Ran};
use crate::schema::{Change, Checked};

/// Facts of one call.
#[derive(Debug)]
pub(super) struct Facts {
    caller: Caller,
    asked: String,
    arguments_json: String,
    conversation: String,
    tool: Option<Arc<Tool>>,
    arguments_digest: String,
    repairs: Vec<Change>,
    decision: Option<Decision>,
    outcome: Option<Outcome>,
    visit: Option<String>,
    stages: BTreeMap<&'static str, Duration>,
}

impl Facts {
    pub(super) fn new(call: &Call, caller: &Caller) -> Self {
        Self {
            caller: caller.clone(),
            asked: call.tool.clone(),
            arguments_json: call.arguments_json.clone(),
            conversation: call.conversation.clone(),
            tool: None,
            arguments_digest: String::new(),
            repairs: Vec::new(),
            decision: None,
            outcome: None,
            visit: None,
            stages: BTreeMap::new(),
        }
    }

    /// Runs one stage inside its span and notes how long it took.
    pub(super) fn stage<T>(&mut self, name: &'static str, stage: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = tracing::info_span!("stage", otel.name = name).in_scope(stage);
        let took = started.elapsed();
        metrics::histogram!("switchboard_stage_seconds", "stage" => name).record(took);
        self.stages.insert(name, took);
        result
    }

    pub(super) fn caller(&self) -> &str {
        &self.caller.name
    }

    /// The declared name where the tool is known, else the name as it came.
    pub(super) fn tool_name(&self) -> &str {
        self.tool.as_ref().map_or(&self.asked, |tool| &tool.name)
    }

    pub(super) fn visit(&self) -> Option<&str> {
        self.visit.as_deref()
    }

    pub(super) fn resolved(&mut self, resolved: &Resolved) {
        self.tool = Some(Arc::clone(&resolved.tool));
    }

    pub(super) fn checked(&mut self, checked: &Checked) {
        self.arguments_digest.clone_from(&checked.arguments.digest);
        self.repairs.clone_from(&checked.arguments.repairs);
    }

    pub(super) fn authorized(&mut self, authorized: &Authorized) {
        self.decision = Some(authorized.decision.clone());
    }

    pub(super) fn visited(&mut self, slot: Option<String>) {
        self.visit = slot;
    }

    pub(super) fn ran(&mut self, ran: &Ran) {
        self.outcome = Some(ran.outcome.clone());
    }

    /// The reply to a call that got no result of its tool.
    pub(super) fn refuse(&self, call: &Call, error: &CallError) -> Reply {
        normalize::refuse(call, self.tool_name(), &error.failure(), &self.repairs)
    }
}
