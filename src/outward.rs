//! What connections share that this program opens to a URL of its configuration: whether it names this
//! machine, TLS by the machine's own roots, and endpoints that JSON is posted to with a key.

mod dial;
mod key;
mod outlet;

use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};
use url::{Host, Url};

pub use outlet::{Address, Answer, Coming, Lost, Outlet, Wrong};

/// A name that stands for this machine, whatever a name server says (RFC 6761, 6.3).
pub const LOCAL: &str = "localhost";

/// Whether a URL names this machine.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == LOCAL,
        None => false,
    }
}

/// TLS that trusts the root certificates of the machine, which it reads.
///
/// # Errors
/// What its library says.
pub fn connector() -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
