//! Traces: one span a stage, sent over OTLP, in the trace that the caller names.

use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use crate::daemon::{Setup, parsed, request};

/// A collector that keeps what it gets.
#[derive(Clone, Default)]
pub(crate) struct Collector(Arc<Mutex<Vec<Span>>>);

impl Collector {
    /// Starts one; gives the configuration of a daemon that sends to it.
    pub(crate) fn start() -> (Self, String) {
        let collector = Self::default();
        let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = incoming.local_addr().unwrap();
        let service = TraceServiceServer::new(collector.clone());
        tokio::spawn(Server::builder().add_service(service).serve_with_incoming(incoming));
        (collector, format!("[telemetry]\notlp_endpoint = \"http://{address}\"\n"))
    }

    /// What it got so far.
    pub(crate) fn spans(&self) -> Vec<Span> {
        self.0.lock().unwrap().clone()
    }
}

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let resources = request.into_inner().resource_spans;
        let spans = resources.into_iter().flat_map(|resource| resource.scope_spans);
        self.0.lock().unwrap().extend(spans.flat_map(|scope| scope.spans));
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_one_span_a_stage_in_the_callers_trace() {
    let (collector, config) = Collector::start();
    let mut daemon = Setup::new().config(&config).start().await;

    let trace = "0af7651916cd43dd8448eb211c80319c";
    let mut call = Request::new(request("text.stats", "{\"text\":\"traced\"}"));
    let parent = format!("00-{trace}-b7ad6b7169203331-01");
    call.metadata_mut().insert("traceparent", parent.parse().unwrap());
    let reply = daemon.client().await.call(call).await.unwrap().into_inner().reply.unwrap();
    let id = parsed(&reply)["metadata"]["call_id"].as_str().unwrap().to_owned();
    daemon.signal("TERM");
    assert_eq!(daemon.wait(), Some(0));

    let spans = collector.spans();
    let ours: Vec<&Span> =
        spans.iter().filter(|span| hex::encode(&span.trace_id) == trace).collect();
    let names: Vec<&str> = ours.iter().map(|span| span.name.as_str()).collect();
    for stage in ["call", "admit", "resolve", "check", "authorize", "run", "shape", "record"] {
        assert!(names.contains(&stage), "no span `{stage}` among {names:?}");
    }
    let call = ours.iter().find(|span| span.name == "call").unwrap();
    assert!(format!("{:?}", call.attributes).contains(&id), "the span names the call");
    let config = daemon.config();
    let shown = daemon.cli(&["ledger", "show", "--config", &config, &id]);
    assert!(String::from_utf8(shown.stdout).unwrap().contains(trace), "the record names the trace");
}
