//! One call through the seven rooms, in order: this file is their table of contents. A [`Call`] and
//! its [`Caller`] in, a recorded [`Reply`] out, whatever happens on the way.

mod attend;
mod batch;
mod control;
mod error;
mod facts;
mod replies;
mod running;
mod sessions;
mod shadow;
mod show;
mod snapshot;

use std::pin::pin;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::Value;
use tokio::sync::mpsc::Sender;
use tracing::Instrument;

use crate::admission::{Admission, Caller};
use crate::approval::{Approvals, Grant};
use crate::call::{Call, CallId, Event};
use crate::catalog::Tool;
use crate::ledger::Ledger;
use crate::normalize::{self, Reply};
use crate::policy::Authorized;
use crate::sandbox::Sandbox;

use attend::Attended;
pub use attend::{Undecided, Verdict};
pub use batch::Foreseen;
pub use control::Preview;
pub use error::CallError;
use facts::Facts;
pub use replies::Config as RepliesConfig;
use replies::Replies;
pub use running::Entered;
use running::Running;
use sessions::Sessions;
use shadow::Aside;
pub use snapshot::Snapshot;

/// The rooms, wired together. The only way to run a tool.
#[derive(Debug)]
pub struct Pipeline {
    admission: Admission,
    snapshot: ArcSwap<Snapshot>,
    replies: Replies,
    approvals: Approvals,
    sandbox: Sandbox,
    ledger: Ledger,
    running: Running,
    sessions: Sessions,
}

/// A reply and its one line of JSON.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The reply.
    pub reply: Reply,
    /// The same as it is sent. Without `metadata.view` the ledger has it byte for byte, but masks what
    /// it repeats of arguments; with it, the ledger has the whole result in its place.
    pub json: String,
    /// The whole data of a call of a batch, where the reply shows only some of it.
    whole: Option<Value>,
}

impl Pipeline {
    /// Wires the rooms.
    pub fn new(
        admission: Admission,
        snapshot: Snapshot,
        replies: &RepliesConfig,
        sandbox: Sandbox,
        (approvals, ledger): (Approvals, Ledger),
    ) -> Self {
        sandbox.furnish(snapshot.catalog.tools());
        Self {
            admission,
            snapshot: ArcSwap::from_pointee(snapshot),
            replies: Replies::new(replies),
            approvals,
            sandbox,
            ledger,
            running: Running::default(),
            sessions: Sessions::default(),
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
        let mut facts = Facts::new(&call, caller, self.snapshot.load_full());
        let span = tracing::info_span!("call", call_id = %call.id, tool = %facts.tool_name());
        async {
            let stages = Box::pin(self.stages(call.clone(), caller, events, &mut facts));
            let outcome = tokio::select! {
                biased;
                () = entered.cancelled() => Err(CallError::Cancelled),
                () = passed(call.remaining()) => Err(CallError::DeadlineExceeded),
                outcome = stages => outcome,
            };
            self.release(&mut facts, outcome.as_ref().err()).await;
            let reply = match outcome {
                Ok(reply) => facts.own(reply),
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
        let (snapshot, authorized) =
            match self.attend(&call, caller, events.as_ref(), facts).await? {
                Attended::Run(snapshot, authorized) => (snapshot, *authorized),
                Attended::Known(reply) => return Ok(*reply),
            };
        let question = self.replies.question(&call, &authorized)?;
        facts.visited(question.visit.clone());
        let aside = facts.aside();
        let run = self.execute(&snapshot, authorized, events, facts);
        let answer = pin!(self.replies.answer(&call, question, run));
        shadow::beside(answer, aside).await
    }

    /// Rooms 1 to 4: everything that is decided before something runs.
    async fn decide(
        &self,
        (call, caller): (Call, &Caller),
        snapshot: &Snapshot,
        grant: Option<Grant>,
        facts: &mut Facts,
    ) -> Result<Authorized, CallError> {
        facts.under(snapshot);
        let admitted = facts.stage("admit", || self.admission.admit(call, caller.clone()))?;
        let admitted = facts.meet(admitted, &self.sessions, &self.ledger).await?;
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
        let aside = Aside::of(&checked, snapshot);
        let decided = facts.stage("authorize", || snapshot.policies.authorize(checked, grant));
        facts.decided(&decided, aside);
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
        facts.handed_over(events.is_some());
        let run = Box::pin(self.sandbox.run(authorized, events, facts.sight()));
        let ran = run.instrument(tracing::info_span!("run")).await?;
        facts.ran(&ran);
        Ok(facts.stage("shape", || normalize::shape(ran, &snapshot.schemas)))
    }

    /// Room 7: no reply leaves before its record is kept.
    async fn record(&self, call: &Call, mut facts: Facts, mut reply: Reply) -> Recorded {
        let (visit, tool) = (facts.visit().map(str::to_owned), facts.tool());
        let session = facts.session(call, &self.sessions, &self.ledger).await;
        reply.metadata.taint.extend(&call.taint);
        reply.set_latency(call.received.elapsed());
        let json = reply.to_json();
        let kept = self.ledger.record(facts.record(call, &reply), &json);
        let kept = kept.instrument(tracing::info_span!("record")).await;
        // Also of a call that could not be recorded: its caller may have watched it.
        if let Some(session) = session {
            session.add(&reply.metadata.taint);
        }
        match kept {
            Ok(()) => {
                self.replies.settle(visit.as_deref(), &reply);
                show::show(Recorded { reply, json, whole: None }, call, tool).await
            }
            Err(error) => {
                tracing::error!(%error, "a call could not be recorded");
                let reply = normalize::refuse(call, &reply.tool_name, &error.failure(), &[]);
                Recorded::new(reply)
            }
        }
    }
}

/// Ends when the time is over; never without one.
async fn passed(remaining: Option<Duration>) {
    match remaining {
        Some(remaining) => tokio::time::sleep(remaining).await,
        None => std::future::pending().await,
    }
}
