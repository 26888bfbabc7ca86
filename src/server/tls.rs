//! TLS for the TCP listener: connections in the clear in, those whose handshake is done out. Files
//! that change are read again; broken ones leave those from before in force.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Error;
use crate::config::{Stamp, Tls};

/// Longest handshake.
const PATIENCE: Duration = Duration::from_secs(5);
/// Handshakes at once; further connections wait in the kernel's queue.
const HANDSHAKES: usize = 256;
/// Handshakes at once of one address; further connections are closed.
const HANDSHAKES_OF_ONE: usize = 32;
/// Pause after an accept that failed, such as for want of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Connections whose handshake is done.
pub(super) type Incoming = ReceiverStream<std::io::Result<TlsStream<TcpStream>>>;

/// Makes TLS sessions from the newest files.
#[derive(Debug)]
pub(super) struct Sessions {
    tls: Tls,
    config: ArcSwap<ServerConfig>,
    stamp: Stamp,
}

impl Sessions {
    /// Reads the files.
    pub(super) fn new(tls: &Tls) -> Result<Self, Error> {
        let stamp = Stamp::new(tls.files());
        Ok(Self { config: ArcSwap::new(Arc::new(read(tls)?)), tls: tls.clone(), stamp })
    }

    fn acceptor(&self) -> TlsAcceptor {
        let again = self.stamp.refresh(|| {
            self.config.store(Arc::new(read(&self.tls)?));
            Ok::<_, Error>(())
        });
        if let Err(error) = again {
            tracing::error!(%error, "the certificate from before stays in force");
        }
        TlsAcceptor::from(self.config.load_full())
    }

    /// Accepts until `stop`, in tasks of `tasks`.
    pub(super) fn accept(
        self,
        listener: TcpListener,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Incoming {
        let (done, incoming) = mpsc::channel(HANDSHAKES);
        let (shaker, places) = (tasks.clone(), Arc::new(Semaphore::new(HANDSHAKES)));
        let guests = Guests::default();
        tasks.spawn(stop.run_until_cancelled_owned(async move {
            while let Ok(place) = Arc::clone(&places).acquire_owned().await {
                let Ok((stream, from)) = listener.accept().await else {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                };
                stream.set_nodelay(true).ok();
                let Some(guest) = guests.enter(from.ip()) else {
                    refused(from, "too many from one address");
                    continue;
                };
                let (acceptor, done) = (self.acceptor(), done.clone());
                shaker.spawn(async move {
                    let shaken = tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await;
                    drop((place, guest));
                    match shaken {
                        Ok(Ok(stream)) => drop(done.send(Ok(stream)).await),
                        Ok(Err(error)) => refused(from, &error.to_string()),
                        Err(_elapsed) => refused(from, "it took too long"),
                    }
                });
            }
        }));
        ReceiverStream::new(incoming)
    }
}

/// Handshakes in progress by address, so that one address cannot take all places.
#[derive(Debug, Clone, Default)]
struct Guests(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// One handshake of an address; counts until it is dropped.
struct Guest {
    of: Guests,
    from: IpAddr,
}

impl Guests {
    fn open(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, from: IpAddr) -> Option<Guest> {
        let mut counts = self.open();
        let count = counts.entry(from).or_default();
        if *count >= HANDSHAKES_OF_ONE {
            return None;
        }
        *count += 1;
        Some(Guest { of: self.clone(), from })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut counts = self.of.open();
        if let Entry::Occupied(mut count) = counts.entry(self.from) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

fn refused(from: std::net::SocketAddr, why: &str) {
    metrics::counter!("switchboard_server_tls_refused_total").increment(1);
    tracing::debug!(%from, why, "a TLS handshake failed");
}

fn read(tls: &Tls) -> Result<ServerConfig, Error> {
    let fail = |path: &Path, reason: String| Error::Tls { path: path.to_owned(), reason };
    let chain = certificates(&tls.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&tls.key)
        .map_err(|error| fail(&tls.key, format!("it holds no private key in PEM: {error}")))?;
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| fail(&tls.certificate, error.to_string()))?;
    let builder = match &tls.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for root in certificates(path)? {
                roots.add(root).map_err(|error| fail(path, error.to_string()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = match tls.client_optional {
                true => verifier.allow_unauthenticated(),
                false => verifier,
            };
            let verifier = verifier.build().map_err(|error| fail(path, error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder
        .with_single_cert(chain, key)
        .map_err(|error| fail(&tls.certificate, format!("it does not fit its key: {error}")))?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let fail = |reason: String| Error::Tls { path: path.to_owned(), reason };
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|error| fail(format!("it cannot be read: {error}")))?
        .collect();
    let found = found.map_err(|error| fail(format!("it is no PEM file: {error}")))?;
    if found.is_empty() {
        return Err(fail("it holds no certificate in PEM".to_owned()));
    }
    Ok(found)
}
