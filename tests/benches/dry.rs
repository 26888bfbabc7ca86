//! Calls that run nothing, at a steady pace over gRPC: validated, refused by schema or policy, and
//! answered from the cache. Compared with the health check of the same daemon, round by round.

use std::time::Duration;

use switchboard::proto::tools::CallRequest;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::daemon::{Daemon, request};
use crate::measure::{Paced, Samples, figure, pace, peak, processor, resident, row};
use crate::stage;

const RATE: f64 = 3000.0;
const ROUNDS: usize = 5;
/// Calls of one kind in one round: two seconds.
const CALLS: usize = 6000;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// The gRPC stack and nothing behind it.
    Bare,
    Validate,
    Schema,
    Denied,
    Cached,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Bare, Self::Validate, Self::Schema, Self::Denied, Self::Cached];

    const fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Validate => "validate",
            Self::Schema => "schema_refused",
            Self::Denied => "policy_denied",
            Self::Cached => "cache_hit",
        }
    }

    fn request(self) -> CallRequest {
        match self {
            Self::Bare | Self::Validate => {
                request("probe.echo", r#"{"count":3,"colour":"red","limit":"7"}"#)
            }
            Self::Schema => request("probe.echo", r#"{"count":3,"colour":"purple"}"#),
            Self::Denied => request("probe.echo", r#"{"count":5000,"colour":"red"}"#),
            Self::Cached => request("probe.cached", r#"{"script":"echo '{\"n\":1}'"}"#),
        }
    }
}

pub async fn run() {
    let daemon = stage::setup().start().await;
    let pid = daemon.pid();
    row("dry.rate_asked", RATE, "calls/s");
    // The first hit fills the cache, and every path is taken once before anything is timed.
    for kind in Kind::ALL {
        paced(&daemon, kind, 100).await;
    }
    figure("dry.resident_before", resident(pid), "MiB");
    let mut seen: Vec<Seen> = Kind::ALL.map(|_| Seen::default()).into();
    for _ in 0..ROUNDS {
        let mut bare = None;
        for (kind, seen) in Kind::ALL.into_iter().zip(&mut seen) {
            let used = processor(pid);
            let paced = paced(&daemon, kind, CALLS).await;
            seen.note(&paced, processor(pid) - used, bare.as_ref());
            if kind == Kind::Bare {
                bare = Some(paced);
            }
        }
    }
    for (kind, seen) in Kind::ALL.into_iter().zip(&seen) {
        seen.print(kind);
    }
    figure("dry.resident_after", resident(pid), "MiB");
    figure("dry.resident_peak", peak(pid).unwrap(), "MiB");
}

async fn paced(daemon: &Daemon, kind: Kind, calls: usize) -> Paced {
    let channel = daemon.channel().await;
    let (tools, health) = (stage::Client::new(channel.clone()), HealthClient::new(channel));
    let expected = match kind {
        Kind::Schema => "SCHEMA_VALIDATION_ERROR",
        Kind::Denied => "POLICY_DENIED",
        Kind::Bare | Kind::Validate | Kind::Cached => "",
    };
    pace(RATE, calls, move |_| {
        let (mut tools, mut health) = (tools.clone(), health.clone());
        async move {
            match kind {
                Kind::Bare => drop(health.check(HealthCheckRequest::default()).await.unwrap()),
                Kind::Validate => {
                    let preview = tools.validate(kind.request()).await.unwrap().into_inner();
                    assert!(preview.valid && !preview.repairs.is_empty());
                }
                Kind::Schema | Kind::Denied | Kind::Cached => {
                    let reply = stage::call(&mut tools, kind.request()).await;
                    assert_eq!(reply.error.unwrap_or_default().code, expected);
                }
            }
        }
    })
    .await
}

/// What the rounds of one kind gave, one value a round.
#[derive(Default)]
struct Seen {
    p50: Samples,
    p99: Samples,
    added_p50: Samples,
    added_p99: Samples,
    rate: Samples,
    processor: Samples,
}

impl Seen {
    fn note(&mut self, paced: &Paced, used: Duration, bare: Option<&Paced>) {
        let (p50, p99) = (paced.latency.median(), paced.latency.quantile(0.99));
        self.p50.add(p50);
        self.p99.add(p99);
        self.rate.add(paced.rate);
        self.processor.add(used.as_secs_f64() * 1e6 / paced.latency.len() as f64);
        if let Some(bare) = bare {
            self.added_p50.add(p50 - bare.latency.median());
            self.added_p99.add(p99 - bare.latency.quantile(0.99));
        }
    }

    fn print(&self, kind: Kind) {
        let name = |what: &str| format!("dry.{}.{what}", kind.name());
        figure(&name("rate"), self.rate.median(), "calls/s");
        figure(&name("p50"), self.p50.median(), "ms");
        figure(&name("p99"), self.p99.median(), "ms");
        figure(&name("p99_best"), self.p99.least(), "ms");
        if self.added_p50.len() > 0 {
            figure(&name("added_p50"), self.added_p50.median(), "ms");
            figure(&name("added_p99"), self.added_p99.median(), "ms");
            figure(&name("added_p99_best"), self.added_p99.least(), "ms");
        }
        figure(&name("processor"), self.processor.median(), "us/call");
    }
}
