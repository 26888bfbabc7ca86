//! `switchboard.tools.v1.ToolService`: each method translates, asks the pipeline, translates back.

use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status};

use super::underway::{Arrived, answer, events};
use super::{arrival, wire};
use crate::pipeline::Pipeline;
use crate::proto::tools as proto;
use crate::proto::tools::tool_service_server::ToolService;

/// Pieces of output that may wait for a slow reader; then they are put together.
const WAITING_EVENTS: usize = 64;
/// Bytes of one page of a result.
const PAGE_BYTES: u32 = 1 << 20;

/// The tool service.
#[derive(Debug, Clone)]
pub struct Tools {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) tasks: TaskTracker,
}

impl Tools {
    /// Serves the tools of `pipeline`; each call is a task of `tasks`, so that drain can wait.
    pub fn new(pipeline: Arc<Pipeline>, tasks: TaskTracker) -> Self {
        Self { pipeline, tasks }
    }
}

#[tonic::async_trait]
impl ToolService for Tools {
    async fn list_tools(
        &self,
        request: Request<proto::ListToolsRequest>,
    ) -> Result<Response<proto::ListToolsResponse>, Status> {
        self.list(request).map(Response::new)
    }

    async fn get_tool(
        &self,
        request: Request<proto::GetToolRequest>,
    ) -> Result<Response<proto::Tool>, Status> {
        self.show(request).map(Response::new)
    }

    async fn call(
        &self,
        request: Request<proto::CallRequest>,
    ) -> Result<Response<proto::CallResponse>, Status> {
        let arrived = self.arrive(request).await?;
        let reply = answer(&self.start(arrived, None).await?.reply().await?)?;
        Ok(Response::new(proto::CallResponse { reply: Some(reply) }))
    }

    type CallStreamStream =
        Pin<Box<dyn Stream<Item = Result<proto::CallEvent, Status>> + Send + 'static>>;

    async fn call_stream(
        &self,
        request: Request<proto::CallRequest>,
    ) -> Result<Response<Self::CallStreamStream>, Status> {
        let arrived = self.arrive(request).await?;
        let (say, said) = mpsc::channel(WAITING_EVENTS);
        let underway = self.start(arrived, Some(say)).await?;
        Ok(Response::new(Box::pin(events(underway, said))))
    }

    async fn validate(
        &self,
        request: Request<proto::CallRequest>,
    ) -> Result<Response<proto::ValidateResponse>, Status> {
        let Arrived { call, caller, .. } = self.arrive(request).await?;
        let asked = call.tool.clone();
        Ok(Response::new(wire::preview(self.pipeline.validate(call, &caller).await, &asked)))
    }

    async fn cancel(
        &self,
        request: Request<proto::CancelRequest>,
    ) -> Result<Response<proto::CancelResponse>, Status> {
        self.end(request).await.map(Response::new)
    }

    async fn get_result(
        &self,
        request: Request<proto::GetResultRequest>,
    ) -> Result<Response<proto::GetResultResponse>, Status> {
        let caller = arrival::caller(&request)?;
        let asked = request.into_inner();
        let id = wire::named("call_id", asked.call_id)?;
        // The longest character has four bytes.
        let limit = if asked.limit == 0 { PAGE_BYTES } else { asked.limit.clamp(4, PAGE_BYTES) };
        let page = self.recorded(&id, &caller, asked.offset, limit).await?;
        wire::page(page, asked.offset).map(Response::new)
    }

    async fn call_native(
        &self,
        request: Request<proto::CallNativeRequest>,
    ) -> Result<Response<proto::CallNativeResponse>, Status> {
        self.native(request).await.map(Response::new)
    }

    async fn search_tools(
        &self,
        request: Request<proto::SearchToolsRequest>,
    ) -> Result<Response<proto::SearchToolsResponse>, Status> {
        self.search(request).await.map(Response::new)
    }

    async fn call_batch(
        &self,
        request: Request<proto::CallBatchRequest>,
    ) -> Result<Response<proto::CallBatchResponse>, Status> {
        self.batch(request).await.map(Response::new)
    }
}
