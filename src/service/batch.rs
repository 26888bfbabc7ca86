//! A batch of calls: a request in, a reply to each call out. Each runs as a task of its own by the way
//! of any call; what refers to what, and what is wrong with it, `batch` and the pipeline know.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Status};

use super::underway::{Arrived, Underway, large};
use super::{Tools, arrival, status, wire};
use crate::admission::Caller;
use crate::batch::{self, Because, Plan, Progress, Step, Unfilled};
use crate::call::{Call, CallId, Code, Failure, Member, Taint};
use crate::normalize;
use crate::pipeline::{Entered, Foreseen, Recorded};
use crate::proto::tools as proto;
use proto::call_batch_request::OnFailure;
use proto::call_batch_response::Result as Told;

/// Calls of one batch that run at once.
const AT_ONCE: usize = 8;

/// A batch that arrived, its calls entered.
struct Batch {
    id: String,
    calls: Vec<Call>,
    entered: Vec<Option<Entered>>,
    caller: Caller,
    stop_on_failure: bool,
    span: tracing::Span,
}

/// A batch on its way.
struct Run {
    tools: Tools,
    batch: Batch,
    plan: Plan,
    progress: Progress,
    ended: Vec<Option<Recorded>>,
}

impl Tools {
    /// Runs a batch. It is a task of its own: when the caller goes away its calls are cancelled, and
    /// each still gets its record.
    pub(super) async fn batch(
        &self,
        request: Request<proto::CallBatchRequest>,
    ) -> Result<proto::CallBatchResponse, Status> {
        let batch = self.gather(request).await?;
        let (id, stop) = (batch.id.clone(), CancellationToken::new());
        let _stop_on_drop = stop.clone().drop_guard();
        let run = Box::pin(self.clone().attend(batch, stop));
        let (results, refused) = self.tasks.spawn(run).await.map_err(|error| {
            tracing::error!(batch = id, panicked = error.is_panic(), "a batch ended early");
            status::internal("")
        })?;
        Ok(proto::CallBatchResponse { results, batch_id: id, refused })
    }

    /// Reads the calls, and takes their ids.
    async fn gather(&self, request: Request<proto::CallBatchRequest>) -> Result<Batch, Status> {
        let brought = arrival::brought(&request)?;
        let asked = request.into_inner();
        let stop_on_failure = match OnFailure::try_from(asked.on_failure) {
            Ok(on_failure) => on_failure == OnFailure::Stop,
            Err(_) => return Err(fault("on_failure", "is not known")),
        };
        let id = CallId::generate().to_string();
        let bytes = asked.calls.iter().filter_map(|entry| entry.call.as_ref());
        let bytes = bytes.flat_map(|call| &call.files).map(|file| file.content.len()).sum();
        let mut calls = large("a call", bytes, move || read(asked.calls)).await?;
        for call in &mut calls {
            brought.mark(call);
            call.member.iter_mut().for_each(|member| member.batch.clone_from(&id));
        }
        let mut entered = Vec::with_capacity(calls.len());
        for (at, call) in calls.iter().enumerate() {
            let field = format!("calls[{at}].call.call_id");
            entered.push(Some(self.enter(&field, call, &brought.caller).await?));
        }
        let arrival::Brought { caller, span, .. } = brought;
        Ok(Batch { id, calls, entered, caller, stop_on_failure, span })
    }

    /// Looks at a batch, and runs it when nothing is wrong; tells whether something was.
    async fn attend(self, mut batch: Batch, stop: CancellationToken) -> (Vec<Told>, bool) {
        let foreseen = self.pipeline.foresee(&batch.calls, &batch.caller);
        for (at, call) in batch.calls.iter_mut().enumerate() {
            call.member = Some(foreseen.member(&batch.id, at));
        }
        let names: Vec<String> = batch.calls.iter().map(name).collect();
        let refused = foreseen.faults.iter().any(Option::is_some);
        let outcome = if refused { "refused" } else { "run" };
        metrics::counter!("switchboard_batches_total", "outcome" => outcome).increment(1);
        let ended = if refused {
            self.refuse(batch.calls, &batch.caller, foreseen).await
        } else {
            let plan = foreseen.plan;
            let progress = Progress::new(&plan);
            let ended = batch.calls.iter().map(|_| None).collect();
            Run { tools: self, batch, plan, progress, ended }.run(stop).await
        };
        let told = names.into_iter().zip(ended).map(|(name, recorded)| {
            let reply = recorded.as_ref().map(wire::reply);
            Told { name, reply }
        });
        (told.collect(), refused)
    }

    /// A reply to each call of a batch of which some are wrong.
    async fn refuse(
        &self,
        calls: Vec<Call>,
        caller: &Caller,
        foreseen: Foreseen,
    ) -> Vec<Option<Recorded>> {
        let first = foreseen.faults.iter().zip(&calls).find(|(fault, _)| fault.is_some());
        let (code, first) = match first {
            Some((Some(fault), call)) => (fault.code.as_str(), name(call)),
            _ => ("", String::new()),
        };
        let other = || {
            let message = format!(
                "the batch was refused before anything ran, since `{first}` is wrong ({code}); mend \
                 it and send the whole batch again"
            );
            skipped(message, json!({ "reason": "refused", "call": first, "code": code }))
        };
        let declined = calls.into_iter().zip(foreseen.faults).map(|(call, fault)| async {
            Some(self.pipeline.decline(call, caller, fault.unwrap_or_else(other)).await)
        });
        futures::future::join_all(declined).await
    }
}

impl Run {
    /// Runs all calls to their replies.
    async fn run(mut self, stop: CancellationToken) -> Vec<Option<Recorded>> {
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < AT_ONCE {
                let Some(step) = self.progress.advance() else { break };
                match self.begin(step) {
                    Ok((call, underway)) => {
                        running.push(async move { (call, underway.reply().await) });
                    }
                    Err((call, failure)) => {
                        let recorded = self.decline(call, *failure).await;
                        self.end(call, recorded);
                    }
                }
            }
            tokio::select! {
                biased;
                ended = running.next() => {
                    let Some((call, reply)) = ended else { break };
                    let recorded = match reply {
                        Ok(recorded) => recorded,
                        Err(status) => self.decline(call, lost(&status)).await,
                    };
                    self.end(call, recorded);
                }
                () = stop.cancelled(), if !self.is_cancelled() => self.cancel(),
            }
        }
        let Self { tools, batch, ended, .. } = self;
        tools.pipeline.share(&batch.calls, &batch.caller, ended).await
    }

    /// Begins a call, or says why it does not run.
    fn begin(&mut self, step: Step) -> Result<(usize, Underway), (usize, Box<Failure>)> {
        let at = match step {
            Step::Run(at) => at,
            Step::Skip(at, because) => return Err((at, self.because(because).into())),
        };
        let arguments = self.plan.fill(at, &|from| Some(self.ended.get(from)?.as_ref()?.data()));
        let arguments = arguments.map_err(|unfilled| (at, self.unfilled(&unfilled).into()))?;
        let taint = self.brought(at);
        let (Some(call), Some(entered)) =
            (self.batch.calls.get_mut(at), self.batch.entered.get_mut(at).and_then(Option::take))
        else {
            return Err((at, lost(&status::internal("")).into()));
        };
        if let Some(arguments) = arguments {
            let written = std::mem::replace(&mut call.arguments_json, arguments);
            call.written = self.plan.is_rewritten(at).then_some(written);
        }
        call.taint = taint;
        call.received = Instant::now();
        let arrived = Arrived {
            call: call.clone(),
            caller: self.batch.caller.clone(),
            span: self.batch.span.clone(),
        };
        Ok((at, self.tools.run(arrived, entered, None)))
    }

    /// The taint of all results that a call uses.
    fn brought(&self, call: usize) -> BTreeSet<Taint> {
        let used = self.plan.needs(call).iter().filter_map(|need| self.ended.get(*need)?.as_ref());
        used.flat_map(|recorded| recorded.reply.metadata.taint.iter().copied()).collect()
    }

    async fn decline(&self, call: usize, failure: Failure) -> Recorded {
        let declined = self.batch.calls.get(call).cloned().unwrap_or_else(|| Call::new("", "{}"));
        self.tools.pipeline.decline(declined, &self.batch.caller, failure).await
    }

    fn end(&mut self, call: usize, recorded: Recorded) {
        let success = recorded.reply.status == normalize::Status::Success;
        self.progress.end(call, success);
        if !success && self.batch.stop_on_failure {
            self.progress.stop(Because::Stopped(call));
        }
        if let Some(slot) = self.ended.get_mut(call) {
            *slot = Some(recorded);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.progress.stopped() == Some(Because::Cancelled)
    }

    /// The caller is gone: nothing begins any more, and what runs is ended.
    fn cancel(&mut self) {
        self.progress.stop(Because::Cancelled);
        for call in &self.batch.calls {
            self.tools.pipeline.cancel(call.id.as_str(), &self.batch.caller);
        }
    }

    fn because(&self, because: Because) -> Failure {
        let code = |call: usize| {
            let reply = self.ended.get(call).and_then(Option::as_ref).map(|one| &one.reply);
            reply.and_then(|reply| reply.error.as_ref()).map_or("", |error| error.code.as_str())
        };
        match because {
            Because::Failed(from) => {
                let (name, code) = (self.plan.name(from), code(from));
                let message = format!("uses the result of `{name}`, which has none: {code}");
                skipped(message, json!({ "reason": "failed", "call": name, "code": code }))
            }
            Because::Stopped(from) => {
                let (name, code) = (self.plan.name(from), code(from));
                let message =
                    format!("`{name}` failed with {code}, and the batch stops at a failure");
                skipped(message, json!({ "reason": "stopped", "call": name, "code": code }))
            }
            Because::Cancelled => {
                let message = "the caller cancelled the batch, or went away".to_owned();
                skipped(message, json!({ "reason": "cancelled" }))
            }
        }
    }

    fn unfilled(&self, unfilled: &Unfilled) -> Failure {
        match unfilled {
            Unfilled::Missing { from, place } => {
                let name = self.plan.name(*from);
                let message = format!("the result of `{name}` has no place `{place}`");
                skipped(message, json!({ "reason": "missing", "call": name, "pointer": place }))
            }
            Unfilled::Large => {
                let message = "the arguments become too large with the results that they refer to; \
                               refer to less of them";
                skipped(message.to_owned(), json!({ "reason": "large" }))
            }
        }
    }
}

fn skipped(message: String, details: Value) -> Failure {
    Failure::new(Code::Skipped, message).with_details(details)
}

/// A call's task ended without a reply; the log has it.
fn lost(status: &Status) -> Failure {
    Failure::new(Code::Internal, status.message())
}

fn name(call: &Call) -> String {
    call.member.as_ref().map(|member| member.name.clone()).unwrap_or_default()
}

fn fault(field: &str, what: &str) -> Status {
    status::malformed(&[(field, what.to_owned())])
}

/// The calls from their wire form, each with its name. Names every field that is malformed.
fn read(entries: Vec<proto::call_batch_request::Entry>) -> Result<Vec<Call>, Status> {
    if entries.is_empty() || entries.len() > batch::MOST {
        let what = format!("has {} calls; 1 to {} are taken", entries.len(), batch::MOST);
        return Err(fault("calls", &what));
    }
    let misnamed = batch::misnamed(entries.iter().map(|entry| entry.name.as_str()));
    let mut wrong: Vec<(String, String)> =
        misnamed.into_iter().map(|(at, what)| (format!("calls[{at}].name"), what)).collect();
    let (mut calls, mut ids) = (Vec::new(), HashMap::new());
    for (at, entry) in entries.into_iter().enumerate() {
        let Some(call) = entry.call else {
            wrong.push((format!("calls[{at}].call"), "is missing".to_owned()));
            continue;
        };
        match wire::read(call) {
            Ok(mut call) => {
                if let Some(first) = ids.insert(call.id.to_string(), at) {
                    let what = format!("is also that of calls[{first}]; make a new one");
                    wrong.push((format!("calls[{at}].call.call_id"), what));
                }
                call.member =
                    Some(Member { batch: String::new(), name: entry.name, refers: Vec::new() });
                calls.push(call);
            }
            Err(fields) => wrong.extend(
                fields.into_iter().map(|(field, what)| (format!("calls[{at}].call.{field}"), what)),
            ),
        }
    }
    if wrong.is_empty() {
        return Ok(calls);
    }
    let wrong: Vec<(&str, String)> =
        wrong.iter().map(|(field, what)| (field.as_str(), what.clone())).collect();
    Err(status::malformed(&wrong))
}
