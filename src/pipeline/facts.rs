//! What is known of a call so far: filled stage by stage, and turned into its one ledger record.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::OwnedSemaphorePermit;

use super::sessions::{Held, Sessions};
use super::shadow::Aside;
use super::{CallError, Snapshot};
use crate::admission::{Admitted, Caller};
use crate::call::{Call, Code, Session, Taint};
use crate::catalog::{Resolved, Risk, Tool};
use crate::ledger::{Latencies, Ledger, Record, Run};
use crate::normalize::{self, Reply};
use crate::policy::{self, Authorized, Decision, Said};
use crate::sandbox::{Outcome, Ran, Sight};
use crate::schema::{self, Change, Checked};
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
    /// What was in force when the call came.
    first: Arc<Snapshot>,
    arguments_digest: String,
    repairs: Vec<Change>,
    decision: Option<Decision>,
    /// The call as a candidate policy set is asked about it.
    aside: Option<Arc<Aside>>,
    outcome: Option<Outcome>,
    /// What is known of a run that was dropped before it had an outcome.
    sight: Sight,
    handed_over: bool,
    /// Whether the caller sees the output as it comes.
    is_shown: bool,
    /// The conversation, and what it had come to when the call was admitted.
    held: Option<Held>,
    met: Option<Session>,
    visit: Option<String>,
    /// The approval that the call has, and the call; until its tool may have run.
    claimed: Option<(String, String)>,
    /// Since when the call waits for a person.
    waiting: Option<Instant>,
    /// The place in the tool's own limit, given back with the record.
    place: Option<OwnedSemaphorePermit>,
    stages: BTreeMap<&'static str, Duration>,
}

impl Facts {
    pub(super) fn new(call: &Call, caller: &Caller, first: Arc<Snapshot>) -> Self {
        Self {
            caller: caller.clone(),
            asked: call.tool.clone(),
            arguments_json: call.arguments_json.clone(),
            conversation: call.conversation.clone(),
            under: (String::new(), String::new()),
            tool: None,
            first,
            arguments_digest: String::new(),
            repairs: Vec::new(),
            decision: None,
            aside: None,
            outcome: None,
            sight: Sight::default(),
            handed_over: false,
            is_shown: false,
            held: None,
            met: None,
            visit: None,
            claimed: None,
            waiting: None,
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

    /// The tool, once it is known.
    pub(super) fn tool(&self) -> Option<Arc<Tool>> {
        self.tool.clone()
    }

    pub(super) fn visit(&self) -> Option<&str> {
        self.visit.as_deref()
    }

    /// What is in force for this call.
    pub(super) fn under(&mut self, snapshot: &Snapshot) {
        let (catalog, policies) = (snapshot.catalog.digest(), snapshot.policies.version());
        self.under = (catalog.to_owned(), policies.to_owned());
    }

    /// Tells an admitted call what its conversation has come to.
    pub(super) async fn meet(
        &mut self,
        mut admitted: Admitted,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<Admitted, CallError> {
        let held = sessions.hold(&admitted.call, &admitted.caller, ledger).await;
        self.held = held.inspect_err(|error| {
            tracing::error!(%error, "a conversation cannot be read, so its call is refused");
        })?;
        self.met = self.held.as_ref().map(Held::now);
        // What the arguments bring is met by a call without a conversation too.
        if !admitted.call.taint.is_empty() {
            self.met.get_or_insert_default().taint.extend(&admitted.call.taint);
        }
        admitted.call.session = self.met.clone().unwrap_or_default();
        Ok(admitted)
    }

    /// The conversation that the call counts for, also when it was refused before it met it.
    pub(super) async fn session(
        &mut self,
        call: &Call,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Option<Held> {
        match self.held.take() {
            Some(held) => Some(held),
            None => sessions.hold(call, &self.caller, ledger).await.ok().flatten(),
        }
    }

    pub(super) fn resolved(&mut self, resolved: &Resolved) {
        self.meant(&resolved.admitted.call, &resolved.tool);
    }

    /// The tool that the call is for.
    pub(super) fn meant(&mut self, call: &Call, tool: &Arc<Tool>) {
        self.tool = Some(Arc::clone(tool));
        // Masking and replay know the tool's own terms only.
        if let Some(own) = schema::own_terms(call, tool) {
            self.arguments_json = own;
        }
    }

    pub(super) fn checked(&mut self, checked: &Checked) {
        self.arguments_digest.clone_from(&checked.arguments.digest);
        self.repairs.clone_from(&checked.arguments.repairs);
    }

    /// What policy said; a denial is recorded with its reasons too.
    pub(super) fn decided(
        &mut self,
        decided: &Result<Authorized, policy::Error>,
        aside: Option<Aside>,
    ) {
        // The candidate is asked as if nobody had approved the call yet.
        let said = match decided {
            Ok(Authorized { decision: Decision { approval: Some(_), .. }, .. }) => Said::Approval,
            decided => Said::of(decided),
        };
        self.aside = aside.map(|aside| aside.decided(said));
        self.claimed = decided.as_ref().ok().and_then(|authorized| {
            let call = &authorized.checked.resolved.admitted.call;
            Some((authorized.decision.approval.as_ref()?.id.clone(), call.id.to_string()))
        });
        self.decision = match decided {
            Ok(authorized) => Some(authorized.decision.clone()),
            Err(error) => error.decision(),
        };
    }

    /// The call, to ask the candidate about it while it runs.
    pub(super) fn aside(&self) -> Option<Arc<Aside>> {
        self.aside.clone()
    }

    pub(super) fn hold(&mut self, place: Option<OwnedSemaphorePermit>) {
        self.place = place;
    }

    /// Takes the approval that the call has, where it ended before its tool could run: its id, and the
    /// call's.
    pub(super) fn unused(&mut self, error: Option<&CallError>) -> Option<(String, String)> {
        let refused = error.is_some_and(|error| error.failure().code == Code::RateLimited);
        if self.handed_over && !refused {
            return None;
        }
        self.claimed.take()
    }

    /// From here on the call waits for a person.
    pub(super) fn waits(&mut self) {
        self.waiting = Some(Instant::now());
    }

    /// It waits no longer.
    pub(super) fn waited(&mut self) {
        if let Some(since) = self.waiting.take() {
            *self.stages.entry("approval").or_default() += since.elapsed();
        }
    }

    pub(super) fn visited(&mut self, slot: Option<String>) {
        self.visit = slot;
    }

    /// From here on the tool may have run, and the caller may see what it writes.
    pub(super) fn handed_over(&mut self, is_shown: bool) {
        (self.handed_over, self.is_shown) = (true, is_shown);
        let outside = self.tool.as_ref().is_some_and(|tool| tool.reaches_outside());
        if let (true, Some(held)) = (is_shown, &mut self.held) {
            held.show(outside);
        }
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
        // What the caller saw of a run before its end was searched by nobody.
        if self.is_shown && self.sight.outcome().is_some() {
            let outside = self.tool.as_ref().filter(|tool| tool.reaches_outside());
            reply.metadata.taint.insert(Taint::Unsearched);
            reply.metadata.taint.extend(outside.map(|_| Taint::Outside));
        }
        reply
    }

    /// The one record of the call.
    pub(super) fn record(mut self, call: &Call, reply: &Reply) -> Record {
        // Cancelled, perhaps, while it waited.
        self.waited();
        let spent = |stage: &str| self.stages.get(stage).copied();
        let seen = self.outcome.is_none().then(|| self.sight.outcome()).flatten();
        let outcome = self.outcome.as_ref().or(seen.as_ref());
        let latencies = Latencies {
            admit: spent("admit"),
            resolve: spent("resolve"),
            check: spent("check"),
            authorize: spent("authorize"),
            approval: spent("approval"),
            queue: outcome.map(|outcome| outcome.queue),
            sandbox: outcome.map(|outcome| outcome.sandbox),
            tool: self.outcome.as_ref().map(|outcome| outcome.tool),
            normalize: spent("shape"),
            total: Some(call.received.elapsed()),
        };
        // A call that was refused before it came to its tool is masked as the tool's calls are.
        let named = || self.first.catalog.named(call, &|_| true);
        let masked_by = if self.tool.is_none() { named() } else { None };
        let own = masked_by.as_ref().and_then(|tool| schema::own_terms(call, tool));
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
            session: self.met,
            taint: reply.metadata.taint.clone(),
            tool: self.tool,
            masked_by,
            arguments_json: own.unwrap_or(self.arguments_json),
            arguments_digest: Some(self.arguments_digest).filter(|digest| !digest.is_empty()),
            repairs: self.repairs,
            withheld: call.withheld.as_ref().map(|withheld| withheld.why.clone()),
            files_in: call.files.iter().map(|file| file.facts.clone()).collect(),
            files_out: reply.metadata.files.clone(),
            decision: self.decision,
            shadow: self.aside.as_ref().and_then(|aside| aside.flip().cloned()),
            handed_over: self.handed_over,
            run: outcome.map(Run::from),
            cache_hit: reply.metadata.cache_hit,
            code,
            latencies,
            trace_id: Some(telemetry::trace_id()).filter(|id| !id.is_empty()),
            member: call.member.clone(),
        }
    }
}

/// The time of day of an instant that has passed.
fn arrived(received: Instant) -> Timestamp {
    let ago = SignedDuration::try_from(received.elapsed()).unwrap_or_default();
    Timestamp::now().checked_sub(ago).unwrap_or_else(|_| Timestamp::now())
}
