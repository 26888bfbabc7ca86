//! Rooms 1 to 4 of a call that a person may have to permit: decided, asked for, and decided again from
//! the start with the approval in hand. Also the decisions themselves, each with its record.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use tokio::sync::mpsc::Sender;

use super::facts::Facts;
use super::{CallError, Pipeline, Snapshot};
use crate::admission::Caller;
use crate::approval::{self, Approval, Approvals, Decided, Grant, Wanted};
use crate::call::{Call, CallId, Code, Event};
use crate::ledger::{self, DECISION, Record};
use crate::normalize::Reply;
use crate::policy::{self, Authorized, Decision, Ruling};

/// How long before its deadline a call stops waiting for a person, so that its reply can be read.
const MARGIN: Duration = Duration::from_millis(100);

/// What becomes of a call before the sandbox.
#[derive(Debug)]
pub(super) enum Attended {
    /// It may run, under what was in force when that was decided.
    Run(Arc<Snapshot>, Box<Authorized>),
    /// It ran before, approved and under the same idempotency key: this is its reply.
    Known(Box<Reply>),
}

/// Who decides, how that is known, and what.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// The one who decides.
    pub approver: Caller,
    /// How it was proved.
    pub proof: String,
    /// Approve or deny.
    pub approve: bool,
    /// Why; may be empty.
    pub reason: String,
}

/// Why nothing was decided.
#[derive(Debug, thiserror::Error)]
pub enum Undecided {
    /// The queue says no, or there is no such approval for this caller.
    #[error(transparent)]
    Queue(#[from] approval::Error),
    /// The caller may see it, and not decide it.
    #[error("you may not decide approval `{0}`: no policy in `approvers` permits it{1}")]
    NotApprover(String, &'static str),
    /// It could not be recorded, so it does not hold.
    #[error("the decision cannot be recorded, so it does not hold: try again later")]
    Unrecorded(#[from] ledger::Error),
}

impl Pipeline {
    /// Decides a call; where a person has to permit it, waits for them if the call does, and decides
    /// again under what is in force then.
    pub(super) async fn attend(
        &self,
        call: &Call,
        caller: &Caller,
        events: Option<&Sender<Event>>,
        facts: &mut Facts,
    ) -> Result<Attended, CallError> {
        let mut grant = None;
        loop {
            let snapshot = self.snapshot.load_full();
            let wanted = match self.decide((call.clone(), caller), &snapshot, grant, facts).await {
                Err(CallError::Policy(policy::Error::ApprovalRequired {
                    wanted: Some(wanted),
                    ..
                })) => wanted,
                decided => {
                    return decided.map(|authorized| Attended::Run(snapshot, authorized.into()));
                }
            };
            if let Some(reply) = self.replies.known(call, &wanted).await {
                return Ok(Attended::Known(reply.into()));
            }
            grant = Some(self.obtain(call, *wanted, events, facts).await?);
        }
    }

    /// The grant for what is wanted. Holds no place among the running calls meanwhile.
    async fn obtain(
        &self,
        call: &Call,
        wanted: Wanted,
        events: Option<&Sender<Event>>,
        facts: &mut Facts,
    ) -> Result<Grant, CallError> {
        facts.hold(None);
        facts.waits();
        let waiter = call.attends.then(|| self.approvals.wait(&wanted)).flatten();
        let end = call.deadline.map(|at| at.checked_sub(MARGIN).unwrap_or(at));
        let mut told = false;
        let grant = loop {
            let claimed = self.approvals.claim(wanted.clone(), call.approval.as_deref()).await;
            let pending = match claimed {
                Err(approval::Error::Required(pending)) if waiter.is_some() => pending,
                claimed => break claimed,
            };
            if let (Some(events), false) = (events, told) {
                // Nobody listening is no reason not to wait.
                drop(events.try_send(Event::Waiting(pending.id.clone())));
                told = true;
            }
            let settled = self.approvals.settled(&pending.id);
            let in_time = match end {
                Some(end) => tokio::time::timeout_at(end.into(), settled).await,
                None => Ok(settled.await),
            };
            match in_time {
                Ok(Ok(true)) => {}
                Ok(Err(error)) => break Err(error),
                Ok(Ok(false)) | Err(_) => break Err(approval::Error::Required(pending)),
            }
            // What nobody decided is not asked again by one and the same call.
            let now = self.approvals.get(&pending.id).await?;
            if now.is_none_or(|now| now.state == approval::State::Expired) {
                let why = "nobody decided it in time";
                let state = Some(approval::State::Expired);
                break Err(approval::Error::Unfit { id: pending.id.clone(), state, why });
            }
        };
        facts.waited();
        Ok(grant?)
    }

    /// Gives the approval back that a call claimed, where its tool surely did not run.
    pub(super) async fn release(&self, facts: &mut Facts, error: Option<&CallError>) {
        if let Some((id, call_id)) = facts.unused(error) {
            self.approvals.release(&id, &call_id).await;
        }
    }

    /// The queue, for those who wait for changes in it.
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// Those approvals that a caller may see, each with whether the caller may decide it now.
    pub fn seen(
        &self,
        caller: &Caller,
        found: Vec<Approval>,
    ) -> impl Iterator<Item = (Approval, bool)> {
        let snapshot = self.snapshot.load_full();
        found.into_iter().filter_map(move |found| snapshot.seen(caller, found))
    }

    /// One approval, if the caller may see it.
    pub async fn approval(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<(Approval, bool), approval::Error> {
        let found = self.approvals.get(id).await?;
        found
            .and_then(|found| self.snapshot.load().seen(caller, found))
            .ok_or_else(|| approval::Error::Unknown { id: id.to_owned() })
    }

    /// Decides an approval, once that is in the ledger.
    pub async fn decide_approval(&self, id: &str, verdict: Verdict) -> Result<Approval, Undecided> {
        let (approval, _) = self.approval(&verdict.approver, id).await?;
        // One at a time, so that what is recorded is what then holds; where it cannot be kept after
        // all, a second record says so.
        let _turn = self.approvals.turn().await;
        let snapshot = self.snapshot.load_full();
        let Verdict { approver, approve, .. } = &verdict;
        let permitted = snapshot.approvers.permit(approver, &approval.wanted, *approve);
        let refusal = match (&permitted, self.approvals.get(id).await?) {
            (None, _) => {
                let own = approval.wanted.is_of(approver);
                let hint = if own { "; your own calls need action \"decide-own\"" } else { "" };
                Some(Undecided::NotApprover(id.to_owned(), hint))
            }
            (_, Some(now)) if now.state != approval::State::Pending => {
                Some(approval::Error::NotPending { id: now.id, state: now.state }.into())
            }
            _ => None,
        };
        let decided = decided(&verdict);
        let told = (permitted.clone(), refusal.as_ref());
        self.record_decision(&snapshot, &approval, &verdict, told).await?;
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        match self.approvals.decide(id, decided).await {
            Ok(approval) => Ok(approval),
            Err(error) => {
                let refusal = Undecided::from(error);
                let told = (permitted, Some(&refusal));
                self.record_decision(&snapshot, &approval, &verdict, told).await?;
                Err(refusal)
            }
        }
    }

    async fn record_decision(
        &self,
        snapshot: &Snapshot,
        approval: &Approval,
        verdict: &Verdict,
        (permitted, refusal): (Option<Vec<String>>, Option<&Undecided>),
    ) -> Result<(), Undecided> {
        let Verdict { approver, approve, reason, .. } = verdict;
        let decision = if *approve { "approve" } else { "deny" };
        let code = refusal.map(|why| match why {
            Undecided::NotApprover(..) => Code::PolicyDenied,
            Undecided::Queue(approval::Error::NotPending { .. }) => Code::DuplicateCall,
            Undecided::Queue(_) | Undecided::Unrecorded(_) => Code::Internal,
        });
        let call_id = CallId::generate().to_string();
        let reply = json!({
            "tool_name": DECISION,
            "status": if code.is_some() { "error" } else { "success" },
            "data": { "approval_id": approval.id, "decision": decision },
            "error": refusal.map(|why| json!({
                "code": code, "message": why.to_string(), "details": null, "retryable": false,
            })),
            "metadata": { "call_id": call_id },
        });
        let record = Record {
            call_id,
            received: Timestamp::now(),
            caller: approver.name.clone(),
            tenant: approver.tenant.clone(),
            roles: approver.roles.clone(),
            proof: verdict.proof.clone(),
            catalog_digest: snapshot.catalog.digest().to_owned(),
            policy_version: snapshot.approvers.version().to_owned(),
            tool_name: DECISION.to_owned(),
            arguments_json: json!({
                "approval_id": approval.id, "decision": decision, "reason": reason,
                "call_id": approval.wanted.call_id, "call_digest": approval.wanted.digest,
                "tool": approval.wanted.tool, "caller": approval.wanted.caller,
                "tenant": approval.wanted.tenant, "conversation": approval.wanted.conversation,
            })
            .to_string(),
            decision: Some(Decision {
                ruling: if permitted.is_some() { Ruling::Permit } else { Ruling::Deny },
                policies: permitted.unwrap_or_default(),
                version: snapshot.approvers.version().to_owned(),
                approval: None,
            }),
            code,
            ..Record::default()
        };
        Ok(self.ledger.record(record, &reply.to_string()).await?)
    }
}

fn decided(verdict: &Verdict) -> Decided {
    Decided {
        approve: verdict.approve,
        by: verdict.approver.name.clone(),
        tenant: verdict.approver.tenant.clone(),
        proof: verdict.proof.clone(),
        reason: verdict.reason.clone(),
        at_ms: Timestamp::now().as_millisecond(),
    }
}

impl Snapshot {
    /// An approval as far as a caller may see it: its own, and those it may decide; with whether it
    /// may decide it now.
    fn seen(&self, caller: &Caller, approval: Approval) -> Option<(Approval, bool)> {
        let decides = [true, false]
            .into_iter()
            .any(|approve| self.approvers.permit(caller, &approval.wanted, approve).is_some());
        let seen = decides || approval.wanted.is_of(caller);
        let now = decides && approval.state == approval::State::Pending;
        seen.then_some((approval, now))
    }
}
