//! One call through the seven rooms, in order: this file is their table of contents. A [`Call`] and
//! its [`Caller`] in, a recorded [`Reply`] out, whatever happens on the way.

mod control;
mod error;
mod facts;
mod replies;
mod running;
mod snapshot;

use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::mpsc::Sender;
use tracing::Instrument;

use crate::admission::{Admission, Caller};
use crate::call::{Call, CallId};
use crate::catalog::Tool;
use crate::ledger::Ledger;
use crate::normalize::{self, Reply};
use crate::policy::Authorized;
use crate::sandbox::{Event, Sandbox};
use crate::schema::Change;

pub use error::CallError;
use facts::Facts;
pub use replies::Config as RepliesConfig;
use replies::Replies;
pub use running::Entered;
use running::Running;
pub use snapshot::Snapshot;

/// The rooms, wired together. The only way to run a tool.
#[derive(Debug)]
pub struct Pipeline {
    admission: Admission,
    snapshot: ArcSwap<Snapshot>,
    replies: Replies,
    sandbox: Sandbox,
    ledger: Ledger,
    running: Running,
}

/// A reply and its one line of JSON.
#[derive(Debug)]
pub struct Recorded {
    /// The reply.
    pub reply: Reply,
    /// The same as it is sent. The ledger has it byte for byte, but masks what it repeats of arguments.
    pub json: String,
}

/// What a call would do, found without running it.
#[derive(Debug)]
pub struct Preview {
    /// The tool's declared name.
    pub tool_name: String,
    /// The arguments that would run, as JSON text.
    pub arguments_json: String,
    /// What was changed in them.
    pub repairs: Vec<Change>,
    /// Ids of the policies that permit the call.
    pub policies: Vec<String>,
}

impl Pipeline {
    /// Wires the rooms.
    pub fn new(
        admission: Admission,
        snapshot: Snapshot,
        replies: &RepliesConfig,
        sandbox: Sandbox,
        ledger: Ledger,
    ) -> Self {
        sandbox.furnish(snapshot.catalog.tools());
        Self {
            admission,
            snapshot: ArcSwap::from_pointee(snapshot),
            replies: Replies::new(replies),
            sandbox,
            ledger,
            running: Running::default(),
        }
    }

    /// Takes the call's id; `None` when a running call has it.
    pub fn enter(&self, id: &CallId, caller: &Caller) -> Option<Entered> {
        self.running.enter(id, caller)
    }

    /// Runs one call to its recorded reply. Dropping the future ends the tool, but loses the record:
    /// callers spawn it and cancel what they entered instead.
    pub async fn call(
        &self,
        call: Call,
        entered: Entered,
        caller: &Caller,
        events: Option<Sender<Event>>,
    ) -> Recorded {
        let mut facts = Facts::new(&call, caller, &self.snapshot.load());
        let span = tracing::info_span!("call", call_id = %call.id, tool = %facts.tool_name());
        async {
            let outcome = tokio::select! {
                biased;
                () = entered.cancelled() => Err(CallError::Cancelled),
                () = passed(call.remaining()) => Err(CallError::DeadlineExceeded),
                outcome = self.stages(call.clone(), caller, events, &mut facts) => outcome,
            };
            let reply = match outcome {
                Ok(reply) => reply,
                Err(error) => facts.refuse(&call, &error),
            };
            self.record(&call, facts, reply).await
        }
        .instrument(span)
        .await
    }

    /// Rooms 1 to 6, with the cache between policy and sandbox.
    async fn stages(
        &self,
        call: Call,
        caller: &Caller,
        events: Option<Sender<Event>>,
        facts: &mut Facts,
    ) -> Result<Reply, CallError> {
        let snapshot = self.snapshot.load_full();
        let authorized = self.decide(call.clone(), caller, &snapshot, facts)?;
        let question = self.replies.question(&call, &authorized)?;
        facts.visited(question.visit.clone());
        let run = self.execute(&snapshot, authorized, events, facts);
        let reply = self.replies.answer(&call, question, run).await?;
        Ok(facts.own(reply))
    }

    /// Rooms 1 to 4: everything that is decided before something runs.
    fn decide(
        &self,
        call: Call,
        caller: &Caller,
        snapshot: &Snapshot,
        facts: &mut Facts,
    ) -> Result<Authorized, CallError> {
        facts.under(snapshot);
        let admitted = facts.stage("admit", || self.admission.admit(call, caller.clone()))?;
        let visible = |caller: &Caller, tool: &Tool| snapshot.shows(caller, tool);
        let resolved = facts.stage("resolve", || snapshot.catalog.resolve(admitted, &visible))?;
        facts.resolved(&resolved);
        let shown = snapshot.shows(&resolved.admitted.caller, &resolved.tool);
        facts.hold(self.admission.meter(&resolved.tool.name, resolved.tool.rate)?);
        let checked = facts.stage("check", || snapshot.schemas.check(resolved));
        // A schema error tells of the schema, which is not for a caller from whom the tool is hidden.
        let checked = checked.map_err(|error| match shown {
            true => CallError::Schema(error),
            false => CallError::Policy(snapshot.policies.hide()),
        })?;
        facts.checked(&checked);
        let decided = facts.stage("authorize", || snapshot.policies.authorize(checked));
        facts.decided(&decided);
        Ok(decided?)
    }

    /// Rooms 5 and 6: runs the tool and shapes what came of it.
    async fn execute(
        &self,
        snapshot: &Snapshot,
        authorized: Authorized,
        events: Option<Sender<Event>>,
        facts: &mut Facts,
    ) -> Result<Reply, CallError> {
        facts.handed_over();
        let run = self.sandbox.run(authorized, events, facts.sight());
        let ran = run.instrument(tracing::info_span!("run")).await?;
        facts.ran(&ran);
        Ok(facts.stage("shape", || normalize::shape(ran, &snapshot.schemas)))
    }

    /// Room 7: no reply leaves before its record is kept.
    async fn record(&self, call: &Call, facts: Facts, mut reply: Reply) -> Recorded {
        let visit = facts.visit().map(str::to_owned);
        reply.set_latency(call.received.elapsed());
        let json = reply.to_json();
        let kept = self.ledger.record(facts.record(call, &reply), &json);
        match kept.instrument(tracing::info_span!("record")).await {
            Ok(()) => {
                self.replies.settle(visit.as_deref(), &reply);
                Recorded { reply, json }
            }
            Err(error) => {
                tracing::error!(%error, "a call could not be recorded");
                let reply = normalize::refuse(call, &reply.tool_name, &error.failure(), &[]);
                Recorded { json: reply.to_json(), reply }
            }
        }
    }

    /// Decides a call without running or recording it. It counts for the rates.
    pub fn validate(&self, call: Call, caller: &Caller) -> Result<Preview, CallError> {
        let snapshot = self.snapshot.load_full();
        let mut facts = Facts::new(&call, caller, &snapshot);
        let authorized = self.decide(call, caller, &snapshot, &mut facts)?;
        let checked = authorized.checked;
        Ok(Preview {
            tool_name: checked.resolved.tool.name.clone(),
            arguments_json: checked.arguments.value.to_string(),
            repairs: checked.arguments.repairs,
            policies: authorized.decision.policies,
        })
    }
}

/// Ends when the time is over; never without one.
async fn passed(remaining: Option<Duration>) {
    match remaining {
        Some(remaining) => tokio::time::sleep(remaining).await,
        None => std::future::pending().await,
    }
}
