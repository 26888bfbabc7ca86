//! A scripted HTTP/1 server on loopback that keeps what it heard.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls_pki_types::PrivateKeyDer;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// One message that the server got.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    /// The head, as it came.
    pub(super) head: String,
    /// The body, as it came (chunks included).
    pub(super) body: String,
}

impl Heard {
    pub(super) fn has(&self, header: &str) -> bool {
        let header = header.to_ascii_lowercase();
        self.head.to_ascii_lowercase().contains(&header)
    }
}

/// What the server does next.
#[derive(Debug)]
pub(super) enum Reply {
    Keep(Vec<u8>),
    Close(Vec<u8>),
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        Self::Keep(text.into_bytes())
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::Keep(text.as_bytes().to_vec())
    }
}

type Script = Arc<dyn Fn(&Heard) -> Reply + Send + Sync>;

pub(super) struct Upstream {
    pub(super) port: u16,
    connections: AtomicUsize,
    heard: Mutex<Vec<Heard>>,
}

impl Upstream {
    pub(super) fn plain(script: impl Fn(&Heard) -> Reply + Send + Sync + 'static) -> Arc<Self> {
        Self::start("127.0.0.1:0", None, Arc::new(script))
    }

    /// On an address of its own; the port is another server's.
    pub(super) fn at(
        address: &str,
        script: impl Fn(&Heard) -> Reply + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::start(address, None, Arc::new(script))
    }

    pub(super) fn tls(
        authority: &Authority,
        name: &str,
        script: impl Fn(&Heard) -> Reply + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::start("127.0.0.1:0", Some(authority.server(name)), Arc::new(script))
    }

    /// In TLS with a certificate that is valid in this year only.
    pub(super) fn tls_in(
        authority: &Authority,
        name: &str,
        year: i32,
        script: impl Fn(&Heard) -> Reply + Send + Sync + 'static,
    ) -> Arc<Self> {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(year, 1, 1);
        params.not_after = rcgen::date_time_ymd(year, 12, 31);
        let server = authority.server_with(&params, Vec::new());
        Self::start("127.0.0.1:0", Some(server), Arc::new(script))
    }

    /// In TLS that speaks only these protocols.
    pub(super) fn tls_speaking(
        authority: &Authority,
        name: &str,
        protocols: Vec<Vec<u8>>,
        script: impl Fn(&Heard) -> Reply + Send + Sync + 'static,
    ) -> Arc<Self> {
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let server = authority.server_with(&params, protocols);
        Self::start("127.0.0.1:0", Some(server), Arc::new(script))
    }

    fn start(address: &str, tls: Option<Arc<ServerConfig>>, script: Script) -> Arc<Self> {
        let listener = TcpListener::bind(address).unwrap();
        let upstream = Arc::new(Self {
            port: listener.local_addr().unwrap().port(),
            connections: AtomicUsize::new(0),
            heard: Mutex::new(Vec::new()),
        });
        let shared = Arc::clone(&upstream);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let (shared, tls, script) = (Arc::clone(&shared), tls.clone(), script.clone());
                thread::spawn(move || shared.serve(stream, tls, &script));
            }
        });
        upstream
    }

    fn serve(&self, stream: TcpStream, tls: Option<Arc<ServerConfig>>, script: &Script) {
        match tls {
            None => self.talk(stream, script),
            Some(config) => {
                let connection = ServerConnection::new(config).unwrap();
                self.talk(StreamOwned::new(connection, stream), script);
            }
        }
    }

    fn talk(&self, mut stream: impl Read + Write, script: &Script) {
        while let Some(heard) = hear(&mut stream) {
            self.heard.lock().unwrap().push(heard.clone());
            let (bytes, keep) = match script(&heard) {
                Reply::Keep(bytes) => (bytes, true),
                Reply::Close(bytes) => (bytes, false),
            };
            let written = stream.write_all(&bytes).and_then(|()| stream.flush());
            if written.is_err() || !keep {
                return;
            }
        }
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(super) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }
}

fn hear(stream: &mut impl Read) -> Option<Heard> {
    let mut bytes = Vec::new();
    let mut take = |bytes: &mut Vec<u8>| {
        let mut byte = [0];
        (stream.read(&mut byte).ok()? == 1).then(|| bytes.push(byte[0]))
    };
    while !bytes.ends_with(b"\r\n\r\n") {
        take(&mut bytes)?;
    }
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let lower = head.to_ascii_lowercase();
    let mut body = Vec::new();
    if lower.contains("transfer-encoding: chunked") {
        while !body.ends_with(b"0\r\n\r\n") {
            take(&mut body)?;
        }
    } else if let Some((_, rest)) = lower.split_once("content-length: ") {
        let length = rest.split("\r\n").next().unwrap().parse().unwrap();
        while body.len() < length {
            take(&mut body)?;
        }
    }
    let body = String::from_utf8_lossy(&body).into_owned();
    Some(Heard { head, body })
}

/// A certificate authority made for one test.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "authority of a test");
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        Self { issuer: Issuer::new(params, key), folder }
    }

    pub(super) fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    fn server(&self, name: &str) -> Arc<ServerConfig> {
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        self.server_with(&params, Vec::new())
    }

    fn server_with(
        &self,
        params: &CertificateParams,
        protocols: Vec<Vec<u8>>,
    ) -> Arc<ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = protocols;
        Arc::new(config)
    }
}
