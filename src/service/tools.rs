//! `switchboard.tools.v1.ToolService`: each method translates, asks the pipeline, translates back.

use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status};

use super::underway::{Arrived, answer, events};
use super::{arrival, status, wire};
use crate::call::Code;
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
        let caller = arrival::caller(&request)?;
        let asked = request.into_inner();
        let dialect = wire::dialect(asked.dialect)?;
        let size = if asked.page_size == 0 { 100 } else { asked.page_size.min(1000) };
        let size = usize::try_from(size).unwrap_or(1000);
        let (tools, catalog_digest) = self.pipeline.tools(&caller);
        let mut rest = tools
            .iter()
            .filter(|tool| tool.name.starts_with(&asked.name_prefix))
            .filter(|tool| tool.name > asked.page_token);
        let page = rest.by_ref().take(size).map(|tool| wire::tool_in(tool, dialect));
        let page: Vec<_> = page.collect();
        let more = rest.next().is_some();
        let last = page.last().filter(|_| more).map(|tool| tool.name.clone());
        Ok(Response::new(proto::ListToolsResponse {
            tools: page,
            next_page_token: last.unwrap_or_default(),
            catalog_digest,
        }))
    }

    async fn get_tool(
        &self,
        request: Request<proto::GetToolRequest>,
    ) -> Result<Response<proto::Tool>, Status> {
        let caller = arrival::caller(&request)?;
        let asked = request.into_inner();
        let (name, dialect) = (wire::named("name", asked.name)?, wire::dialect(asked.dialect)?);
        let (tools, _) = self.pipeline.tools(&caller);
        let tool = tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
            status::not_found(Code::UnknownTool.as_str(), &format!("there is no tool `{name}`"))
        })?;
        Ok(Response::new(wire::tool_in(tool, dialect)))
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
}
