//! `switchboard.policy.v1.PolicyService`: each method translates, asks the pipeline, translates back.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status};

use super::{arrival, status, wire};
use crate::admission::Caller;
use crate::approval::{self, Approval, Decided, Filter, State};
use crate::pipeline::{Pipeline, Verdict};
use crate::proto::policy as proto;
use crate::proto::policy::decide_approval_request::Decision;
use crate::proto::policy::policy_service_server::PolicyService;

/// Bytes of a reason.
const REASON_BYTES: usize = 1024;
/// Approvals that are read at once for one who watches.
const BATCH: u32 = 100;

/// A watch of this age ends; its client watches again, and proves itself again.
const LONGEST_WATCH: Duration = Duration::from_secs(15 * 60);

/// The policy service.
#[derive(Debug, Clone)]
pub struct Policies {
    pipeline: Arc<Pipeline>,
    /// Decisions under way; drain waits for them.
    tasks: TaskTracker,
    /// Ends the streams of those who watch.
    stop: CancellationToken,
}

impl Policies {
    /// Serves the approvals of `pipeline` until `stop`.
    pub fn new(pipeline: Arc<Pipeline>, tasks: TaskTracker, stop: CancellationToken) -> Self {
        Self { pipeline, tasks, stop }
    }
}

#[tonic::async_trait]
impl PolicyService for Policies {
    async fn list_approvals(
        &self,
        request: Request<proto::ListApprovalsRequest>,
    ) -> Result<Response<proto::ListApprovalsResponse>, Status> {
        let caller = arrival::caller(&request)?;
        let asked = request.into_inner();
        let size = if asked.page_size == 0 { 100 } else { asked.page_size.min(1000) };
        let size = usize::try_from(size).unwrap_or(1000);
        let mut filter = Filter {
            states: states(&asked.states)?,
            before: Some(asked.page_token).filter(|token| !token.is_empty()),
            limit: BATCH,
            ..Filter::default()
        };
        let (mut page, mut more) = (Vec::new(), true);
        // What the caller may not see does not count for the page.
        while more && page.len() <= size {
            let found = self.pipeline.approvals().list(filter.clone()).await;
            let found = found.map_err(|error| status::of_approval(&error))?;
            more = found.len() == usize::try_from(BATCH).unwrap_or_default();
            filter.before = found.last().map(|last| last.id.clone()).or(filter.before);
            page.extend(self.pipeline.seen(&caller, found));
        }
        let next = (page.len() > size).then(|| page.get(size.saturating_sub(1))).flatten();
        let next_page_token = next.map(|(last, _)| last.id.clone()).unwrap_or_default();
        page.truncate(size);
        Ok(Response::new(proto::ListApprovalsResponse {
            approvals: page.into_iter().map(wire_approval).collect(),
            next_page_token,
        }))
    }

    async fn get_approval(
        &self,
        request: Request<proto::GetApprovalRequest>,
    ) -> Result<Response<proto::Approval>, Status> {
        let caller = arrival::caller(&request)?;
        let id = wire::named("approval_id", request.into_inner().approval_id)?;
        let found = self.pipeline.approval(&caller, &id).await;
        found
            .map(|found| Response::new(wire_approval(found)))
            .map_err(|error| status::of_approval(&error))
    }

    type WatchApprovalsStream =
        Pin<Box<dyn Stream<Item = Result<proto::Approval, Status>> + Send + 'static>>;

    async fn watch_approvals(
        &self,
        request: Request<proto::WatchApprovalsRequest>,
    ) -> Result<Response<Self::WatchApprovalsStream>, Status> {
        let caller = arrival::caller(&request)?;
        let asked = request.into_inner();
        let (states, after) = (states(&asked.states)?, asked.after_revision);
        let stream = watch(self.clone(), caller, states, after);
        Ok(Response::new(Box::pin(stream)))
    }

    async fn decide_approval(
        &self,
        request: Request<proto::DecideApprovalRequest>,
    ) -> Result<Response<proto::Approval>, Status> {
        let arrival::Known { caller, proof } = arrival::known(&request)?;
        let asked = request.into_inner();
        let decision = asked.decision();
        let id = wire::named("approval_id", asked.approval_id)?;
        let fault = |field, what: String| status::malformed(&[(field, what)]);
        let approve = match decision {
            Decision::Approve => true,
            Decision::Deny => false,
            Decision::Unspecified => {
                return Err(fault("decision", "is neither approve nor deny".to_owned()));
            }
        };
        let reason = asked.reason;
        if reason.len() > REASON_BYTES || reason.chars().any(char::is_control) {
            let what = format!("has more than {REASON_BYTES} bytes, or a control character");
            return Err(fault("reason", what));
        }
        let verdict = Verdict { approver: caller.clone(), proof, approve, reason };
        // What was begun is brought to its end, also when the one who decides goes away.
        let (pipeline, own) = (Arc::clone(&self.pipeline), id.clone());
        let deciding = async move { pipeline.decide_approval(&own, verdict).await };
        let decided = self.tasks.spawn(deciding).await.map_err(|error| {
            tracing::error!(approval = id, %error, "a decision ended early");
            status::internal("")
        })?;
        let decided = decided.map_err(|why| status::undecided(&why))?;
        let seen = self.pipeline.seen(&caller, vec![decided]).next();
        seen.map(|seen| Response::new(wire_approval(seen)))
            .ok_or_else(|| status::of_approval(&approval::Error::Unknown { id }))
    }
}

/// What changed after a revision, and then each change as it comes.
fn watch(
    service: Policies,
    caller: Caller,
    states: Vec<State>,
    after: u64,
) -> impl Stream<Item = Result<proto::Approval, Status>> {
    let Policies { pipeline, stop, .. } = service;
    let end = Instant::now() + LONGEST_WATCH;
    let changes = pipeline.approvals().changes();
    let start = (changes, after, Vec::new().into_iter());
    futures::stream::try_unfold(start, move |(mut changes, mut after, mut ready)| {
        let (pipeline, caller, states) = (Arc::clone(&pipeline), caller.clone(), states.clone());
        let stop = stop.clone();
        async move {
            loop {
                if stop.is_cancelled() || Instant::now() >= end {
                    return Err(status::watch_over());
                }
                if let Some(next) = ready.next() {
                    return Ok(Some((wire_approval(next), (changes, after, ready))));
                }
                changes.borrow_and_update();
                let filter =
                    Filter { changed_after: Some(after), limit: BATCH, ..Filter::default() };
                let found = pipeline.approvals().list(filter).await;
                let mut found = found.map_err(|error| status::of_approval(&error))?;
                if let Some(last) = found.last() {
                    after = last.revision;
                    found.retain(|one| states.is_empty() || states.contains(&one.state));
                    ready = pipeline.seen(&caller, found).collect::<Vec<_>>().into_iter();
                    continue;
                }
                let changed = tokio::time::timeout_at(end, changes.changed());
                if let Some(Ok(Err(_closed))) = stop.run_until_cancelled(changed).await {
                    return Ok(None);
                }
            }
        }
    })
}

fn states(wire: &[i32]) -> Result<Vec<State>, Status> {
    let unknown = || status::malformed(&[("states", "has a value that is no state".to_owned())]);
    let state = |number: &i32| proto::State::try_from(*number).ok()?.named();
    wire.iter().map(|number| state(number).ok_or_else(unknown)).collect()
}

impl From<State> for proto::State {
    fn from(state: State) -> Self {
        match state {
            State::Pending => Self::Pending,
            State::Approved => Self::Approved,
            State::Denied => Self::Denied,
            State::Expired => Self::Expired,
            State::Used => Self::Used,
        }
    }
}

impl proto::State {
    /// The state that it stands for; `None` for one that says nothing.
    pub(crate) fn named(self) -> Option<State> {
        State::ALL.into_iter().find(|state| Self::from(*state) == self)
    }
}

fn wire_approval((approval, decidable): (Approval, bool)) -> proto::Approval {
    let Approval { id, state, revision, wanted, asked, decide_by, decided, use_by, used_by } =
        approval;
    let millis = |time: jiff::Timestamp| u64::try_from(time.as_millisecond()).unwrap_or_default();
    let Decided { by, tenant, reason, at_ms, .. } = decided.unwrap_or_default();
    proto::Approval {
        id,
        state: proto::State::from(state).into(),
        revision,
        call_id: wanted.call_id,
        caller: wanted.caller,
        tenant: wanted.tenant,
        roles: wanted.roles,
        proof: wanted.proof,
        conversation_id: wanted.conversation,
        tool_name: wanted.tool,
        risk: wanted.risk.as_str().to_owned(),
        source: wanted.source,
        arguments_json: wanted.arguments,
        files_json: serde_json::to_string(&wanted.files).unwrap_or_default(),
        sandbox_json: serde_json::to_string(&wanted.sandbox).unwrap_or_default(),
        call_digest: wanted.digest,
        tool_digest: wanted.tool_digest,
        policy_version: wanted.policy_version,
        policies: wanted.policies,
        asked_ms: millis(asked),
        decide_by_ms: millis(decide_by),
        decided_by: by,
        decided_by_tenant: tenant,
        reason,
        decided_ms: u64::try_from(at_ms).unwrap_or_default(),
        use_by_ms: use_by.map(millis).unwrap_or_default(),
        used_by_call_id: used_by.unwrap_or_default(),
        decidable,
    }
}
