//! What is known of a call so far: filled stage by stage, and turned into its one ledger record.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::OwnedSemaphorePermit;

use super::{CallError, Snapshot};
use crate::admission::Caller;
use crate::call::{Call, Code};
use crate::catalog::{Resolved, Risk, Tool};
use crate::ledger::{Latencies, Record, Run};
use crate::normalize::{self, Reply};
use crate::policy::{self, Authorized, Decision};
use crate::sandbox::{Outcome, Ran, Sight};
use crate::schema::{Change, Checked};
use crate::telemetry;

/// Facts of one call.
#[derive(Debug)]
pub(super) struct Facts {
    caller: Caller,
    asked: String,
    arguments_json: String,
    conversation: String,
    /// Digests of the catalog and of the policy set in force.
    under: (String, String),
    tool: Option<Arc<Tool>>,
    /// The tool that the call names, whether it came to it or not.
    named: Option<Arc<Tool>>,
    arguments_digest: String,
    repairs: Vec<Change>,
    decision: Option<Decision>,
    outcome: Option<Outcome>,
    /// What is known of a run that was dropped before it had an outcome.
    sight: Sight,
    handed_over: bool,
    visit: Option<String>,
    /// The place in the tool's own limit, given back with the record.
    place: Option<OwnedSemaphorePermit>,
    stages: BTreeMap<&'static str, Duration>,
}

impl Facts {
    pub(super) fn new(call: &Call, caller: &Caller, snapshot: &Snapshot) -> Self {
        Self {
            caller: caller.clone(),
            asked: call.tool.clone(),
            arguments_json: call.arguments_json.clone(),
            conversation: call.conversation.clone(),
            under: (String::new(), String::new()),
            tool: None,
            named: snapshot.catalog.find(&call.tool, &|_| true),
            arguments_digest: String::new(),
            repairs: Vec::new(),
            decision: None,
            outcome: None,
            sight: Sight::default(),
            handed_over: false,
            visit: None,
            place: None,
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

    /// The declared name where the tool is known, else the name as it came.
    pub(super) fn tool_name(&self) -> &str {
        self.tool.as_ref().map_or(&self.asked, |tool| &tool.name)
    }

    pub(super) fn visit(&self) -> Option<&str> {
        self.visit.as_deref()
    }

    /// What is in force for this call.
    pub(super) fn under(&mut self, snapshot: &Snapshot) {
        let (catalog, policies) = (snapshot.catalog.digest(), snapshot.policies.version());
        self.under = (catalog.to_owned(), policies.to_owned());
    }

    pub(super) fn resolved(&mut self, resolved: &Resolved) {
        self.tool = Some(Arc::clone(&resolved.tool));
    }

    pub(super) fn checked(&mut self, checked: &Checked) {
        self.arguments_digest.clone_from(&checked.arguments.digest);
        self.repairs.clone_from(&checked.arguments.repairs);
    }

    /// What policy said; a denial is recorded with its reasons too.
    pub(super) fn decided(&mut self, decided: &Result<Authorized, policy::Error>) {
        self.decision = match decided {
            Ok(authorized) => Some(authorized.decision.clone()),
            Err(error) => error.decision(),
        };
    }

    pub(super) fn hold(&mut self, place: Option<OwnedSemaphorePermit>) {
        self.place = place;
    }

    pub(super) fn visited(&mut self, slot: Option<String>) {
        self.visit = slot;
    }

    /// From here on the tool may have run.
    pub(super) fn handed_over(&mut self) {
        self.handed_over = true;
    }

    pub(super) const fn sight(&self) -> &Sight {
        &self.sight
    }

    pub(super) fn ran(&mut self, ran: &Ran) {
        self.outcome = Some(ran.outcome.clone());
    }

    /// A reply that another call made has this call's repairs.
    pub(super) fn own(&self, mut reply: Reply) -> Reply {
        if reply.metadata.cache_hit {
            reply.set_repairs(self.repairs.clone());
        }
        reply
    }

    /// The reply to a call that got no result of its tool. What may have run is not to be sent again,
    /// unless running it twice is as good as once.
    pub(super) fn refuse(&self, call: &Call, error: &CallError) -> Reply {
        let mut reply = normalize::refuse(call, self.tool_name(), &error.failure(), &self.repairs);
        let repeatable = |tool: &Arc<Tool>| tool.idempotent || tool.risk == Risk::Read;
        let once = self.handed_over
            && !matches!(error, CallError::Sandbox(_))
            && !self.tool.as_ref().is_some_and(repeatable);
        if let (true, Some(error)) = (once, &mut reply.error) {
            error.retryable = false;
        }
        reply
    }

    /// The one record of the call.
    pub(super) fn record(self, call: &Call, reply: &Reply) -> Record {
        let spent = |stage: &str| self.stages.get(stage).copied();
        let seen = self.outcome.is_none().then(|| self.sight.outcome()).flatten();
        let outcome = self.outcome.as_ref().or(seen.as_ref());
        let latencies = Latencies {
            admit: spent("admit"),
            resolve: spent("resolve"),
            check: spent("check"),
            authorize: spent("authorize"),
            queue: outcome.map(|outcome| outcome.queue),
            sandbox: outcome.map(|outcome| outcome.sandbox),
            tool: self.outcome.as_ref().map(|outcome| outcome.tool),
            normalize: spent("shape"),
            total: Some(call.received.elapsed()),
        };
        let code = reply.error.as_ref().map(|error| error.code);
        metrics::counter!(
            "switchboard_calls_total",
            "tool" => self.tool.as_ref().map_or("", |tool| tool.name.as_str()).to_owned(),
            "code" => code.map_or("SUCCESS", Code::as_str)
        )
        .increment(1);
        Record {
            call_id: call.id.to_string(),
            received: arrived(call.received),
            tool_name: self.tool_name().to_owned(),
            caller: self.caller.name,
            tenant: self.caller.tenant,
            roles: self.caller.roles,
            proof: call.proof.clone(),
            catalog_digest: self.under.0,
            policy_version: self.under.1,
            conversation: self.conversation,
            tool: self.tool,
            masked_by: self.named,
            arguments_json: self.arguments_json,
            arguments_digest: Some(self.arguments_digest).filter(|digest| !digest.is_empty()),
            repairs: self.repairs,
            files_in: call.files.iter().map(|file| file.facts.clone()).collect(),
            files_out: reply.metadata.files.clone(),
            decision: self.decision,
            handed_over: self.handed_over,
            run: outcome.map(Run::from),
            cache_hit: reply.metadata.cache_hit,
            code,
            latencies,
            trace_id: Some(telemetry::trace_id()).filter(|id| !id.is_empty()),
        }
    }
}

/// The time of day of an instant that has passed.
fn arrived(received: Instant) -> Timestamp {
    let ago = SignedDuration::try_from(received.elapsed()).unwrap_or_default();
    Timestamp::now().checked_sub(ago).unwrap_or_else(|_| Timestamp::now())
}
