//! Opens connections: resolves a name, keeps the addresses that the rules allow, connects to
//! exactly one of them. A checked target in, a connected stream out.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::GateLimits;
use super::head::server_name;
use super::rules::{Host, Rule, Target, check_address};

/// Addresses of one name that are tried, at most.
const MOST_TRIED: usize = 4;

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The rules do not allow where it would lead.
    Denied(String),
    /// The name, the host or its TLS did not work.
    Failed(String),
}

/// Connects to one address of `target` that `rules` allow.
///
/// The name is resolved once, and the very address that was checked is dialled, so a name that
/// changes its answer gains nothing.
pub(super) async fn dial(
    target: &Target,
    rules: &[&Rule],
    limits: &GateLimits,
) -> Result<(TcpStream, SocketAddr), Refusal> {
    let patience = limits.connect();
    let resolver = limits.resolver().map_err(Refusal::Failed)?;
    let found = resolver.resolve(&target.host, patience).await?;
    let mut refusal = None;
    let mut failure = None;
    for address in found.into_iter().take(MOST_TRIED) {
        if let Err(why) = check_address(rules, address) {
            refusal = refusal.or(Some(Refusal::Denied(why)));
            continue;
        }
        let address = SocketAddr::new(address, target.port);
        match timeout(patience, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return confirm(stream, rules, address),
            Ok(Err(error)) => failure = Some(format!("connecting to {address} failed: {error}")),
            Err(_elapsed) => failure = Some(format!("connecting to {address} took too long")),
        }
    }
    let failed = failure.map(Refusal::Failed);
    Err(failed.or(refusal).unwrap_or_else(|| Refusal::Failed("there is no address".to_owned())))
}

/// Checks what the socket says it is connected to.
fn confirm(
    stream: TcpStream,
    rules: &[&Rule],
    wanted: SocketAddr,
) -> Result<(TcpStream, SocketAddr), Refusal> {
    let failed = |error: io::Error| Refusal::Failed(error.to_string());
    let peer = stream.peer_addr().map_err(failed)?;
    if peer.ip().to_canonical() != wanted.ip().to_canonical() || peer.port() != wanted.port() {
        return Err(Refusal::Denied(format!("the connection led to {peer} in place of {wanted}")));
    }
    check_address(rules, peer.ip()).map_err(Refusal::Denied)?;
    stream.set_nodelay(true).map_err(failed)?;
    Ok((stream, peer))
}

/// The roots that upstreams are checked against, read once and shared by all clones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trust(Arc<OnceLock<Result<Arc<ClientConfig>, String>>>);

impl Trust {
    /// Reads the roots of the system, and `extra` in PEM beside them, at first use.
    pub(super) fn load(&self, extra: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
        self.0.get_or_init(|| build(extra)).clone()
    }
}

fn build(extra: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = extra {
        let unreadable = |error| format!("`{}` has no certificates: {error}", path.display());
        let certificates = CertificateDer::pem_file_iter(path).map_err(unreadable)?;
        for certificate in certificates {
            let certificate = certificate.map_err(unreadable)?;
            roots.add(certificate).map_err(|error| format!("`{}`: {error}", path.display()))?;
        }
    }
    if roots.is_empty() {
        return Err("no trusted certificates; install the system's or set `extra_ca`".to_owned());
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Starts TLS on a connection to `host`.
pub(super) async fn secure(
    stream: TcpStream,
    host: &Host,
    limits: &GateLimits,
) -> Result<Box<TlsStream<TcpStream>>, Refusal> {
    let failed = |why: String| Refusal::Failed(format!("TLS failed: {why}"));
    let name = server_name(host).map_err(|why| failed(why.to_owned()))?;
    let config = limits.trust.load(limits.extra_ca.as_deref()).map_err(failed)?;
    let handshake = TlsConnector::from(config).connect(name, stream);
    match timeout(limits.connect(), handshake).await {
        Ok(Ok(stream)) => Ok(Box::new(stream)),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_elapsed) => Err(failed("no handshake in time".to_owned())),
    }
}
