//! What stands between a daemon and the server in tests: a port that can go away and come back, and
//! one that ends TLS with a certificate of its own.

use std::path::Path;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;

/// A port that leads to the server; all of it ends when this is dropped.
pub(super) struct Proxy {
    pub(super) port: u16,
    _tasks: JoinSet<()>,
}

impl Proxy {
    /// Passes bytes on; at a port of one's choice, or 0 for a free one.
    pub(super) async fn plain(port: u16) -> Self {
        Self::start(port, None).await
    }

    /// Speaks TLS to the daemon, with a certificate for `name` whose root it writes into a file.
    pub(super) async fn tls(name: &str, root: &Path) -> Self {
        let rcgen::CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        std::fs::write(root, cert.pem()).unwrap();
        let key = rustls_pki_types::PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        Self::start(0, Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    async fn start(port: u16, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = super::url();
        let server = (url.host_str().unwrap().to_owned(), url.port().unwrap());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let server = TcpStream::connect(server.clone()).await.unwrap();
                open.spawn(pass(client, server, tls.clone()));
            }
        });
        Self { port, _tasks: tasks }
    }
}

async fn pass(mut client: TcpStream, server: TcpStream, tls: Option<TlsAcceptor>) {
    let Some(tls) = tls else { return join(client, server).await };
    // The client asks for TLS in eight bytes; one byte agrees.
    let mut asked = [0; 8];
    client.read_exact(&mut asked).await.unwrap();
    assert_eq!(asked, [0, 0, 0, 8, 4, 210, 22, 47], "the client does not ask for TLS");
    client.write_all(b"S").await.unwrap();
    if let Ok(client) = tls.accept(client).await {
        join(client, server).await;
    }
}

async fn join(mut client: impl AsyncRead + AsyncWrite + Unpin, mut server: TcpStream) {
    let _ended = copy_bidirectional(&mut client, &mut server).await;
}
