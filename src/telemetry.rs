//! Logs, traces and metrics: sets up the process-wide subscribers once, from configuration. What
//! looks sensitive is masked in every line and span, whoever wrote it.

mod lines;
mod spans;
#[cfg(test)]
mod tests;

use std::panic::PanicHookInfo;
use std::time::Duration;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::WithExportConfig;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde::{Deserialize, Serialize};
use tracing::level_filters::LevelFilter;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use lines::Lines;
use spans::Masked;

/// Logs and traces.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What is logged to standard error, as a filter such as `info` or `switchboard=debug`;
    /// default `info`. Whatever looks sensitive is masked, at every level.
    pub log: String,
    /// How: one line of `text` or of `json` an event; default `text`.
    pub log_format: Format,
    /// OTLP endpoint (gRPC) for traces, for example `http://127.0.0.1:4317`; default none.
    pub otlp_endpoint: Option<String>,
    /// `service.name` of the traces; default `switchboard`.
    pub service_name: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            log: "info".into(),
            log_format: Format::Text,
            otlp_endpoint: None,
            service_name: "switchboard".into(),
        }
    }
}

/// How an event is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// For a person.
    Text,
    /// For a log collector.
    Json,
}

/// Why telemetry cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The filter cannot be read.
    #[error("the configuration key `telemetry.log` is wrong: {0}")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// The exporter cannot be made.
    #[error("the configuration key `telemetry.otlp_endpoint` is wrong: {0}")]
    Otlp(#[from] opentelemetry_otlp::ExporterBuildError),
    /// Another subscriber or recorder is there already.
    #[error("telemetry was set up twice: {0}")]
    Twice(String),
}

/// Keeps the exporters alive; [`Telemetry::close`] sends what is left.
#[derive(Debug)]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
    metrics: PrometheusHandle,
}

impl Telemetry {
    /// Installs the subscribers of this process. Works once. Needs a tokio runtime for OTLP.
    pub fn install(config: &Config) -> Result<Self, Error> {
        let traces = config.otlp_endpoint.as_deref().map(|at| provider(at, config)).transpose()?;
        let lines = tracing_subscriber::fmt::layer().with_writer(Lines(config.log_format));
        let lines = match config.log_format {
            Format::Text => lines.with_ansi(false).boxed(),
            Format::Json => lines.json().boxed(),
        };
        let spans = traces.as_ref().map(|traces| {
            // Not those of the crates below: they tell of the bytes on a connection, that to the
            // collector among them.
            let own = Targets::new().with_target("switchboard", LevelFilter::INFO);
            let tracer = traces.tracer("switchboard");
            tracing_opentelemetry::layer().with_tracer(tracer).with_filter(own)
        });
        tracing_subscriber::registry()
            .with(spans)
            .with(lines.with_filter(EnvFilter::try_new(&config.log)?))
            .try_init()
            .map_err(|e| Error::Twice(e.to_string()))?;
        std::panic::set_hook(Box::new(tell_panic));
        let metrics = PrometheusBuilder::new()
            .set_buckets(&[0.0001, 0.0005, 0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 3.0, 10.0, 60.0])
            .and_then(PrometheusBuilder::install_recorder)
            .map_err(|e| Error::Twice(e.to_string()))?;
        Ok(Self { traces, metrics })
    }

    /// Renders the metrics in the text format of Prometheus.
    pub fn metrics(&self) -> PrometheusHandle {
        self.metrics.clone()
    }

    /// Sends the spans that wait, for at most five seconds.
    pub fn close(self) {
        if let Some(traces) = self.traces
            && let Err(error) = traces.shutdown_with_timeout(Duration::from_secs(5))
        {
            tracing::warn!(%error, "some traces were not sent");
        }
    }
}

fn provider(endpoint: &str, config: &Config) -> Result<SdkTracerProvider, Error> {
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_tonic()
        .with_endpoint(endpoint)
        .with_timeout(Duration::from_secs(5))
        .build()?;
    let resource = opentelemetry_sdk::Resource::builder()
        .with_service_name(config.service_name.clone())
        .build();
    let exporter = Masked(exporter);
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build())
}

/// Logs where a panic was. Its message only where it is a fixed one: others may repeat what a call
/// brought.
fn tell_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let said = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or("(withheld)");
    tracing::error!(place, said, "a task ended early: this is a fault of switchboard");
}

/// Makes `span` a child of the trace that `headers` name (W3C traceparent and tracestate), if any.
pub fn continue_trace(span: &tracing::Span, headers: &dyn Extractor) {
    let context = TraceContextPropagator::new().extract(headers);
    if let Err(error) = span.set_parent(context) {
        tracing::debug!(%error, "the caller's trace context was not taken");
    }
}

/// The trace id of the current span in hex; empty when traces are not exported.
pub fn trace_id() -> String {
    use opentelemetry::trace::TraceContextExt;
    let context = tracing::Span::current().context();
    let span = context.span();
    let id = span.span_context().trace_id();
    if span.span_context().is_valid() { id.to_string() } else { String::new() }
}
