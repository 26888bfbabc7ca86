//! Connections to upstreams that wait for the next exchange. A [`Link`] comes in only after a
//! fully framed answer, and goes out only under the same scheme, host and port.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rustix::net::RecvFlags;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::head::Scheme;
use super::rules::Target;

/// Idle connections kept for one upstream.
const MOST_EACH: usize = 8;
/// Idle connections kept in all.
const MOST: usize = 32;
/// After this age a connection is not used again, so that changed names are noticed.
const OLDEST: Duration = Duration::from_secs(60);
/// A server may close an idle connection at any time. What cannot be sent twice therefore takes
/// only one that was used just now.
const FRESH: Duration = Duration::from_secs(1);

/// A connection to an upstream, pinned to the address that was checked.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) stream: Stream,
    pub(super) address: SocketAddr,
    pub(super) born: Instant,
}

/// Plain or in TLS.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Whether the peer has sent nothing, not even its end.
    fn is_quiet(&self) -> bool {
        let tcp = match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => tls.get_ref().0,
        };
        let peek = rustix::net::recv(tcp, &mut [0_u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        peek == Err(rustix::io::Errno::AGAIN)
    }
}

/// What must be equal for a connection to be used again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) scheme: Scheme,
    pub(super) target: Target,
}

/// The idle connections of one gate.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<HashMap<Key, Vec<(Instant, Link)>>>);

impl Pool {
    /// A connection that still stands; the one used last. Drops those idle for longer than `idle`.
    pub(super) fn take(&self, key: &Key, idle: Duration, repeatable: bool) -> Option<Link> {
        let idle = if repeatable { idle } else { idle.min(FRESH) };
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = links.get_mut(key)?;
        while let Some((since, link)) = waiting.pop() {
            let usable = since.elapsed() < idle && link.born.elapsed() < OLDEST;
            if usable && link.stream.is_quiet() {
                return Some(link);
            }
        }
        links.remove(key);
        None
    }

    /// Keeps a connection after an exchange that ended cleanly.
    pub(super) fn put(&self, key: &Key, link: Link, idle: Duration) {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|_, waiting| {
            waiting.retain(|(since, link)| since.elapsed() < idle && link.born.elapsed() < OLDEST);
            !waiting.is_empty()
        });
        let all: usize = links.values().map(Vec::len).sum();
        let waiting = links.entry(key.clone()).or_default();
        if waiting.len() < MOST_EACH && all < MOST {
            waiting.push((Instant::now(), link));
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(cx, buffer),
            Self::Tls(tls) => Pin::new(tls).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Self::Tls(tls) => Pin::new(tls).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
