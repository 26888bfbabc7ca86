//! Connections to an endpoint: an address in, a stream out, with TLS where the scheme asks for it. Which
//! endpoint it is is the operator's word.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tower::Service;

use super::connector;

/// Opens connections.
#[derive(Clone)]
pub(super) struct Dial(Option<TlsConnector>);

/// A connection, with or without TLS.
pub(super) struct Stream(Box<dyn Duplex>);

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

impl Dial {
    /// For TLS it reads the root certificates of the machine.
    pub(super) fn new(tls: bool) -> Result<Self, String> {
        Ok(Self(tls.then(connector).transpose()?))
    }

    async fn open(self, uri: Uri) -> io::Result<TokioIo<Stream>> {
        let tls = uri.scheme_str() == Some("https");
        // An IPv6 address stands in brackets there and nowhere else.
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
        let stream = TcpStream::connect((host.as_str(), port)).await?;
        stream.set_nodelay(true)?;
        if !tls {
            return Ok(TokioIo::new(Stream(Box::new(stream))));
        }
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        let none = || io::Error::other("it was opened without TLS");
        let stream = self.0.ok_or_else(none)?.connect(name, stream).await?;
        Ok(TokioIo::new(Stream(Box::new(stream))))
    }
}

impl Service<Uri> for Dial {
    type Response = TokioIo<Stream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<Stream>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().open(uri))
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
