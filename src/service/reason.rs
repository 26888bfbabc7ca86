//! `switchboard.reason.v1.ReasonService`: each method translates, asks the front of the reasoning, translates
//! back. A stream tells a run; who drops it does not end the run, unless that was asked for.

mod fault;
mod follow;
mod read;
mod tell;

use std::pin::Pin;
use std::sync::Arc;

use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status};
use tracing::Instrument;

use super::arrival::{self, Brought};
use super::status;
use crate::admission::Entrance;
use crate::pipeline::Pipeline;
use crate::proto::reason as proto;
use crate::proto::reason::reason_service_server::ReasonService;
use crate::reason::{Front, RunId};
use follow::Manner;

/// The reasoning service.
#[derive(Debug, Clone)]
pub struct Reasons {
    pipeline: Arc<Pipeline>,
    front: Front,
    /// What is brought to its end whoever goes away; drain waits for it.
    tasks: TaskTracker,
    /// The streams of those who follow.
    streams: TaskTracker,
    /// Ends them.
    stop: CancellationToken,
}

impl Reasons {
    /// Serves the runs behind `front`, under the limits of `pipeline`, until `stop`.
    pub fn new(
        (pipeline, front): (Arc<Pipeline>, Front),
        (tasks, streams): (TaskTracker, TaskTracker),
        stop: CancellationToken,
    ) -> Self {
        Self { pipeline, front, tasks, streams, stop }
    }

    /// Lets a request in, under the limits of calls. What reads keeps its place until it is answered; what
    /// begins or ends a run gives it back at once, as what the run calls takes places of its own.
    fn enter<T>(&self, request: Request<T>) -> Result<(Brought, T, Entrance), Status> {
        let brought = arrival::brought(&request)?;
        let entrance = self.pipeline.welcome(&brought.caller);
        let entrance = entrance.map_err(|error| status::of_admission(&error))?;
        Ok((brought, request.into_inner(), entrance))
    }

    /// Does in a task what is brought to its end, whoever goes away.
    async fn finish<T: Send + 'static>(
        &self,
        span: &tracing::Span,
        work: impl Future<Output = Result<T, Status>> + Send + 'static,
    ) -> Result<T, Status> {
        self.tasks.spawn(work.instrument(span.clone())).await.unwrap_or_else(|error| {
            tracing::error!(panicked = error.is_panic(), "a request to the reasoning ended early");
            Err(status::internal(""))
        })
    }
}

/// The events of a run as they come.
type Events = Pin<Box<dyn Stream<Item = Result<proto::RunEvent, Status>> + Send + 'static>>;

#[tonic::async_trait]
impl ReasonService for Reasons {
    type RunStream = Events;

    async fn run(
        &self,
        request: Request<proto::RunRequest>,
    ) -> Result<Response<Self::RunStream>, Status> {
        let (brought, asked, _) = self.enter(request)?;
        let manner = Manner { cancel_on_drop: asked.cancel_on_drop, with_json: asked.with_json };
        let asked = read::asked(asked)?;
        let (service, span) = (self.clone(), brought.span.clone());
        let begun = self.finish(&span, async move {
            let (visitor, received) = (brought.visitor(), brought.received);
            let begun = Box::pin(service.front.begin(&visitor, received, asked)).await;
            let run = begun.map_err(|error| fault::of_reason(&error))?;
            // Also for a client that is gone by now: that it is, is seen by who tells it.
            service.follow(&brought, (run, 0), manner)
        });
        Ok(Response::new(Box::pin(begun.await?)))
    }

    type ResumeStream = Events;

    async fn resume(
        &self,
        request: Request<proto::ResumeRequest>,
    ) -> Result<Response<Self::ResumeStream>, Status> {
        let (brought, asked, _) = self.enter(request)?;
        let manner = Manner { cancel_on_drop: asked.cancel_on_drop, with_json: asked.with_json };
        let run = read::run(&asked.run_id)?;
        let (service, span) = (self.clone(), brought.span.clone());
        let resumed = self.finish(&span, async move {
            let resumed = Box::pin(service.front.resume(&brought.visitor(), &run)).await;
            resumed.map_err(|error| fault::of_reason(&error))?;
            service.follow(&brought, (run, asked.after), manner)
        });
        Ok(Response::new(Box::pin(resumed.await?)))
    }

    async fn cancel(
        &self,
        request: Request<proto::CancelRequest>,
    ) -> Result<Response<proto::CancelResponse>, Status> {
        let (brought, asked, _) = self.enter(request)?;
        let run = read::run(&asked.run_id)?;
        let (front, visitor) = (self.front.clone(), brought.visitor());
        let ended = self.finish(&brought.span, async move {
            let ended = Box::pin(front.cancel(&visitor, &run)).await;
            ended.map_err(|error| fault::of_reason(&error))
        });
        Ok(Response::new(proto::CancelResponse { cancelled: ended.await? }))
    }

    async fn get_trace(
        &self,
        request: Request<proto::GetTraceRequest>,
    ) -> Result<Response<proto::GetTraceResponse>, Status> {
        let (brought, asked, _place) = self.enter(request)?;
        let run = read::run(&asked.run_id)?;
        let visitor = brought.visitor();
        let told = self.front.trace(&visitor, &run).instrument(brought.span.clone()).await;
        let (summary, trace) = told.map_err(|error| fault::of_reason(&error))?;
        Ok(Response::new(tell::trace(&summary, &trace)?))
    }

    async fn list_runs(
        &self,
        request: Request<proto::ListRunsRequest>,
    ) -> Result<Response<proto::ListRunsResponse>, Status> {
        let (brought, asked, _place) = self.enter(request)?;
        let (mut filter, size) = read::filter(&asked)?;
        // One more tells whether there is a page behind.
        filter.limit = size.saturating_add(1);
        let visitor = brought.visitor();
        let found = self.front.list(&visitor, filter).instrument(brought.span.clone()).await;
        let found = found.map_err(|error| fault::of_reason(&error))?;
        Ok(Response::new(tell::runs(found, size)))
    }
}

/// A run, and the last of its events that is known.
type Place = (RunId, u64);
