//! What a request brings besides its message: who sent it, its deadline and its trace.

use std::sync::Arc;
use std::time::{Duration, Instant};

use opentelemetry::propagation::Extractor;
use tonic::metadata::{KeyRef, MetadataMap};
use tonic::service::Interceptor;
use tonic::transport::server::{TcpConnectInfo, TlsConnectInfo, UdsConnectInfo};
use tonic::{Request, Status};

use super::status;
use crate::admission::{Caller, Entrance, Link, Peer, names};
use crate::call::Call;
use crate::memory::Visit;
use crate::pipeline::Pipeline;
use crate::reason::Visitor;
use crate::telemetry;

/// Finds out who sends, before a message is read: nobody unknown can have us read a large one.
#[derive(Debug, Clone)]
pub struct Door(Arc<Pipeline>);

impl Door {
    /// Asks `pipeline` who a peer is.
    pub fn new(pipeline: Arc<Pipeline>) -> Self {
        Self(pipeline)
    }
}

impl Interceptor for Door {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let peer = peer(&request).ok_or_else(status::unknown_peer)?;
        let caller = self.0.identify(&peer).map_err(status::unproven)?;
        request.extensions_mut().insert(Known { caller, proof: peer.proof() });
        Ok(request)
    }
}

/// Who sent a request, and how that is known.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) caller: Caller,
    pub(super) proof: String,
}

/// What the [`Door`] found of a request's sender.
pub(super) fn known<T>(request: &Request<T>) -> Result<Known, Status> {
    request.extensions().get::<Known>().cloned().ok_or_else(status::unknown_peer)
}

/// Who sent a request.
pub(super) fn caller<T>(request: &Request<T>) -> Result<Caller, Status> {
    known(request).map(|known| known.caller)
}

/// What a request that runs calls brings besides its message.
pub(super) struct Brought {
    pub(super) caller: Caller,
    proof: String,
    /// When it arrived.
    pub(super) received: Instant,
    deadline: Option<Instant>,
    /// Continues the sender's trace.
    pub(super) span: tracing::Span,
}

/// What a request that just arrived brings; its time counts from here on.
pub(super) fn brought<T>(request: &Request<T>) -> Result<Brought, Status> {
    let received = Instant::now();
    let Known { caller, proof } = known(request)?;
    let span = tracing::info_span!("rpc");
    telemetry::continue_trace(&span, &Headers(request.metadata()));
    let deadline = deadline(request.metadata(), received);
    Ok(Brought { caller, proof, received, deadline, span })
}

impl Brought {
    /// The request as the memory sees it.
    pub(super) fn visit(&self, entrance: Entrance) -> Visit {
        Visit {
            caller: self.caller.clone(),
            proof: self.proof.clone(),
            received: self.received,
            deadline: self.deadline,
            entrance,
        }
    }

    /// The sender as the reasoning sees it.
    pub(super) fn visitor(&self) -> Visitor {
        Visitor { caller: self.caller.clone(), proof: self.proof.clone() }
    }

    /// How long its sender still waits; `None` for as long as it takes.
    pub(super) fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Tells a call when it came, until when its sender waits and how the sender is known.
    pub(super) fn mark(&self, call: &mut Call) {
        (call.received, call.deadline) = (self.received, self.deadline);
        call.proof.clone_from(&self.proof);
    }
}

/// Who is at the other end of the connection that brought `request`.
fn peer<T>(request: &Request<T>) -> Option<Peer> {
    let link = link(request)?;
    let values = || request.metadata().get_all("authorization").into_iter();
    let authorization = match values().count() {
        0 => None,
        1 => Some(values().next()?.to_str().unwrap_or_default().to_owned()),
        // Which of them would count is a matter of taste, so none does.
        _ => Some(String::new()),
    };
    Some(Peer { link, authorization })
}

fn link<T>(request: &Request<T>) -> Option<Link> {
    let extensions = request.extensions();
    if let Some(info) = extensions.get::<UdsConnectInfo>() {
        let credentials = info.peer_cred?;
        return Some(Link::Unix { uid: credentials.uid(), gid: credentials.gid() });
    }
    if let Some(info) = extensions.get::<TlsConnectInfo<TcpConnectInfo>>() {
        let certificates = info.peer_certs();
        let first = certificates.as_ref().and_then(|chain| chain.first());
        return Some(Link::Tls(first.map(names).unwrap_or_default()));
    }
    extensions.get::<TcpConnectInfo>().and_then(|info| info.remote_addr).map(Link::Tcp)
}

/// When the caller stops waiting, a little early, so that the answer to a late call can still be
/// recorded and sent: a tenth of the time, at most 50 ms.
fn deadline(metadata: &MetadataMap, received: Instant) -> Option<Instant> {
    let timeout = parse_timeout(metadata.get("grpc-timeout")?.to_str().ok()?)?;
    let margin = (timeout / 10).min(Duration::from_millis(50));
    received.checked_add(timeout - margin)
}

/// Reads a `grpc-timeout`: at most eight digits and a unit.
fn parse_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let plain = digits.len() <= 8 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let count: u64 = digits.parse().ok().filter(|_| plain)?;
    match unit {
        "H" => Some(Duration::from_secs(count * 3600)),
        "M" => Some(Duration::from_secs(count * 60)),
        "S" => Some(Duration::from_secs(count)),
        "m" => Some(Duration::from_millis(count)),
        "u" => Some(Duration::from_micros(count)),
        "n" => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

/// Lets a trace propagator read gRPC metadata.
struct Headers<'a>(&'a MetadataMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0
            .keys()
            .filter_map(|key| match key {
                KeyRef::Ascii(key) => Some(key.as_str()),
                KeyRef::Binary(_) => None,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse_timeout;

    #[test]
    fn timeouts_have_at_most_eight_digits_and_a_unit() {
        assert_eq!(parse_timeout("2S"), Some(Duration::from_secs(2)));
        assert_eq!(parse_timeout("1m"), Some(Duration::from_millis(1)));
        assert_eq!(parse_timeout("99999999H"), Some(Duration::from_secs(99_999_999 * 3600)));
        for wrong in ["", "S", "5", "-1S", "123456789S", "1x", "é"] {
            assert_eq!(parse_timeout(wrong), None, "{wrong}");
        }
    }
}
