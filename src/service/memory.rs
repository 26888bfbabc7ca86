//! `switchboard.memory.v1.MemoryService`: each method translates, asks the memory's desk, translates
//! back. What writes runs in a task, so that who goes away leaves nothing half done.

mod draft;
mod fault;
mod fields;
mod images;
mod page;
mod read;
mod stream;
mod tell;

pub(crate) use draft::Read as DraftRead;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status, Streaming};
use tracing::Instrument;

use super::{arrival, status, wire};
use crate::memory::{Desk, Sent, Visit};
use crate::pipeline::Pipeline;
use crate::proto::memory as proto;
use crate::proto::memory::memory_service_server::MemoryService;
use fields::Fields;
use images::Images;

/// Longest wait for a write, where its caller has no earlier deadline.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The memory service.
#[derive(Debug, Clone)]
pub struct Memories {
    pipeline: Arc<Pipeline>,
    desk: Desk,
    images: Images,
    /// Writes under way; drain waits for them.
    tasks: TaskTracker,
    /// Ends the streams of those who write.
    stop: CancellationToken,
}

impl Memories {
    /// Serves the memory of `desk`; images are read by tools of `pipeline`.
    pub fn new(
        pipeline: Arc<Pipeline>,
        desk: Desk,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let images = Images::new(Arc::clone(&pipeline), desk.clone());
        Self { pipeline, desk, images, tasks, stop }
    }

    /// Lets a request in, under the limits of calls.
    fn enter<T>(&self, request: Request<T>) -> Result<(Visit, T, tracing::Span), Status> {
        let brought = arrival::brought(&request)?;
        let entrance = self.pipeline.welcome(&brought.caller);
        let entrance = entrance.map_err(|error| status::of_admission(&error))?;
        let span = brought.span.clone();
        Ok((brought.visit(entrance), request.into_inner(), span))
    }

    /// Does in a task what is brought to its end, whoever goes away.
    async fn finish<T: Send + 'static>(
        &self,
        span: tracing::Span,
        work: impl Future<Output = Result<T, Status>> + Send + 'static,
    ) -> Result<T, Status> {
        self.tasks.spawn(work.instrument(span)).await.unwrap_or_else(|error| {
            tracing::error!(panicked = error.is_panic(), "a request to the memory ended early");
            Err(status::internal(""))
        })
    }
}

/// How long a receipt is waited for; `None` not at all.
fn wait(millis: u32) -> Option<Duration> {
    let wait = Duration::from_millis(millis.into()).min(LONGEST_WAIT);
    (!wait.is_zero()).then_some(wait)
}

#[tonic::async_trait]
impl MemoryService for Memories {
    async fn remember(
        &self,
        request: Request<proto::RememberRequest>,
    ) -> Result<Response<proto::Receipt>, Status> {
        let (visit, asked, span) = self.enter(request)?;
        let mut fields = Fields::default();
        let draft = read::draft(asked.draft, &mut fields);
        let draft = fields.all(draft)?;
        let wait = asked.wait.then_some(LONGEST_WAIT);
        let (desk, images) = (self.desk.clone(), self.images.clone());
        let receipt = self.finish(span, async move {
            let read = Box::pin(images.read(&visit, draft, asked.images)).await;
            let (draft, notes) = read.map_err(|wrong| status::fields(&wrong, 0))?;
            let answered = desk.remember(&visit, vec![Sent { draft, notes }], wait).await;
            let written = answered.map_err(|error| fault::of_memory(&error))?.answer;
            let first = written.into_iter().next().ok_or_else(|| status::internal(""))?;
            first.map_err(|fault| fault::of_fault(&fault))
        });
        Ok(Response::new(tell::receipt(Box::pin(receipt).await?)))
    }

    type RememberManyStream =
        Pin<Box<dyn Stream<Item = Result<proto::RememberManyResponse, Status>> + Send + 'static>>;

    async fn remember_many(
        &self,
        request: Request<Streaming<proto::RememberManyRequest>>,
    ) -> Result<Response<Self::RememberManyStream>, Status> {
        Ok(Response::new(Box::pin(self.import(request)?)))
    }

    async fn get_receipt(
        &self,
        request: Request<proto::GetReceiptRequest>,
    ) -> Result<Response<proto::Receipt>, Status> {
        let (visit, asked, span) = self.enter(request)?;
        let id = wire::named("receipt_id", asked.receipt_id)?;
        let wait = wait(asked.wait_ms);
        let found = self.desk.receipt(&visit, &id, wait).instrument(span).await;
        found
            .map(|receipt| Response::new(tell::receipt(receipt)))
            .map_err(|error| fault::of_memory(&error))
    }

    async fn get_receipts(
        &self,
        request: Request<proto::GetReceiptsRequest>,
    ) -> Result<Response<proto::GetReceiptsResponse>, Status> {
        let (visit, asked, span) = self.enter(request)?;
        let (ids, wait) = (read::receipts(asked.receipt_ids)?, wait(asked.wait_ms));
        let found = self.desk.receipts(&visit, &ids, wait).instrument(span).await;
        let found = found.map_err(|error| fault::of_memory(&error))?;
        let receipts = found.into_iter().map(tell::receipt).collect();
        Ok(Response::new(proto::GetReceiptsResponse { receipts }))
    }

    async fn recall(
        &self,
        request: Request<proto::RecallRequest>,
    ) -> Result<Response<proto::RecallResponse>, Status> {
        let (visit, asked, span) = self.enter(request)?;
        let asking = read::asking(asked.question, asked.after_receipts)?;
        let found = Box::pin(self.desk.recall(&visit, asking)).instrument(span).await;
        found
            .map(|found| Response::new(tell::recalled(found)))
            .map_err(|error| fault::of_memory(&error))
    }

    async fn context(
        &self,
        request: Request<proto::ContextRequest>,
    ) -> Result<Response<proto::ContextResponse>, Status> {
        let (visit, asked, span) = self.enter(request)?;
        let (asking, budget, material) = read::material(asked)?;
        let making = Box::pin(self.desk.context(&visit, asking, (budget, material)));
        let made = making.instrument(span).await;
        made.map(|made| Response::new(tell::context(made)))
            .map_err(|error| fault::of_memory(&error))
    }

    async fn get(
        &self,
        request: Request<proto::GetRequest>,
    ) -> Result<Response<proto::GetResponse>, Status> {
        let (visit, asked, span) = self.enter(request)?;
        let id = wire::named("id", asked.id)?;
        let shown = self.desk.get(&visit, &id, asked.history).instrument(span).await;
        let shown = shown.map_err(|error| fault::of_memory(&error))?.answer;
        let mut history: Vec<proto::Unit> = shown.history.into_iter().map(tell::unit).collect();
        page::fit(history.iter_mut());
        Ok(Response::new(proto::GetResponse { unit: Some(tell::unit(shown.version)), history }))
    }

    async fn list(
        &self,
        request: Request<proto::ListRequest>,
    ) -> Result<Response<proto::ListResponse>, Status> {
        let (visit, asked, span) = self.enter(request)?;
        let (pages, token) = read::pages(&visit, asked.clone());
        let (collections, mut listing, when) = read::listing(asked)?;
        listing.before = pages.read(&token)?;
        let found = self.desk.list(&visit, &collections, (listing, when)).instrument(span).await;
        let found = found.map_err(|error| fault::of_memory(&error))?.answer;
        Ok(Response::new(tell::list(found, &pages)))
    }

    async fn forget(
        &self,
        request: Request<proto::ForgetRequest>,
    ) -> Result<Response<proto::ForgetResponse>, Status> {
        let (visit, asked, span) = self.enter(request)?;
        let (which, erase) = (read::which(asked.what)?, asked.erase);
        let desk = self.desk.clone();
        let (unit_id, versions) = self
            .finish(span, async move {
                let done = desk.forget(&visit, which, erase).await;
                done.map(|done| done.answer).map_err(|error| fault::of_memory(&error))
            })
            .await?;
        Ok(Response::new(proto::ForgetResponse { unit_id, versions }))
    }

    async fn list_reviews(
        &self,
        request: Request<proto::ListReviewsRequest>,
    ) -> Result<Response<proto::ListReviewsResponse>, Status> {
        let (visit, asked, span) = self.enter(request)?;
        let bare = proto::ListReviewsRequest {
            collections: asked.collections.clone(),
            ..proto::ListReviewsRequest::default()
        };
        let pages = page::Pages::new(&visit.caller, &bare);
        let after = pages.read(&asked.page_token)?.unwrap_or(0);
        let size = read::size(asked.page_size);
        read::collections(&asked.collections)?;
        let page = (after, size.saturating_add(1));
        let found = self.desk.pending(&visit, &asked.collections, page).instrument(span).await;
        let found = found.map_err(|error| fault::of_memory(&error))?.answer;
        Ok(Response::new(tell::reviews(found, size, &pages)))
    }

    async fn decide_review(
        &self,
        request: Request<proto::DecideReviewRequest>,
    ) -> Result<Response<proto::DecideReviewResponse>, Status> {
        let (visit, asked, span) = self.enter(request)?;
        let evidence = wire::named("evidence_id", asked.evidence_id.clone())?;
        let decision = read::decision(&asked)?;
        let desk = self.desk.clone();
        let outcome = self
            .finish(span, async move {
                let done = desk.decide(&visit, &evidence, decision).await;
                done.map(|done| done.answer).map_err(|error| fault::of_memory(&error))
            })
            .await?;
        Ok(Response::new(proto::DecideReviewResponse {
            state: proto::State::from(outcome.state).into(),
            missing: outcome.missing.into(),
        }))
    }

    async fn explain(
        &self,
        request: Request<proto::ExplainRequest>,
    ) -> Result<Response<proto::ExplainResponse>, Status> {
        let (visit, asked, span) = self.enter(request)?;
        let unit = read::unit(&asked.unit_id)?;
        let asking = read::asking(asked.question, Vec::new())?;
        let telling = Box::pin(self.desk.explain(&visit, asking, unit.as_ref()));
        let told = telling.instrument(span).await;
        told.map(|told| Response::new(tell::explained(told)))
            .map_err(|error| fault::of_memory(&error))
    }

    async fn consolidate(
        &self,
        request: Request<proto::ConsolidateRequest>,
    ) -> Result<Response<proto::ConsolidateResponse>, Status> {
        let (visit, asked, span) = self.enter(request)?;
        let upkeep = read::upkeep(asked.action)?;
        read::collections(&asked.collections)?;
        let (desk, collections) = (self.desk.clone(), asked.collections);
        let done = self
            .finish(span, async move {
                let done = desk.upkeep(&visit, &collections, upkeep).await;
                done.map(|done| done.answer).map_err(|error| fault::of_memory(&error))
            })
            .await?;
        Ok(Response::new(tell::consolidated(done)))
    }

    async fn stats(
        &self,
        request: Request<proto::StatsRequest>,
    ) -> Result<Response<proto::StatsResponse>, Status> {
        let (visit, proto::StatsRequest {}, span) = self.enter(request)?;
        let stats = self.desk.stats(&visit).instrument(span).await;
        stats
            .map(|stats| Response::new(tell::stats(stats.answer)))
            .map_err(|error| fault::of_memory(&error))
    }
}
