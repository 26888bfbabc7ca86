//! `/healthz` (the process runs), `/readyz` (it can run tools; else why not; and what is wrong with the
//! memory) and `/metrics`.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;

use super::Daemon;

/// How often the samples of the histograms are counted.
const TIDY_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
struct Shared {
    daemon: Daemon,
    metrics: PrometheusHandle,
}

/// Serves in a task of the daemon until it stops.
pub(super) fn serve(daemon: &Daemon, listener: Option<TcpListener>, metrics: PrometheusHandle) {
    let (stop, kept) = (daemon.stop.clone(), metrics.clone());
    daemon.tasks.spawn(async move { stop.run_until_cancelled(tidy(kept)).await });
    let Some(listener) = listener else { return };
    let shared = Shared { daemon: daemon.clone(), metrics };
    let stop = daemon.stop.clone();
    let app = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(render))
        .with_state(shared);
    daemon.tasks.spawn(async move {
        let served = axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned());
        if let Err(error) = served.await {
            tracing::error!(%error, "the metrics listener ended");
        }
    });
}

/// Counts samples, which wait in memory until then, also where nobody asks for metrics.
async fn tidy(metrics: PrometheusHandle) {
    let mut tick = tokio::time::interval(TIDY_EVERY);
    loop {
        tick.tick().await;
        metrics.run_upkeep();
    }
}

async fn readyz(State(shared): State<Shared>) -> impl IntoResponse {
    if shared.daemon.calls.is_closed() {
        return (StatusCode::SERVICE_UNAVAILABLE, "draining\n".to_owned());
    }
    let readiness = shared.daemon.sandbox.readiness().borrow().clone();
    // Tools run without the memory, so that it is told of and decides nothing.
    let memory =
        shared.daemon.desk.standing().borrow().fault().map(|why| format!("memory: {why}\n"));
    let memory = memory.unwrap_or_default();
    match readiness.ready {
        true => (StatusCode::OK, format!("ok\n{memory}")),
        false => (StatusCode::SERVICE_UNAVAILABLE, format!("{}\n{memory}", readiness.reason)),
    }
}

async fn render(State(shared): State<Shared>) -> impl IntoResponse {
    shared.metrics.run_upkeep();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], shared.metrics.render())
}
