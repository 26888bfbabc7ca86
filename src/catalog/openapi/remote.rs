//! Files of a document that lie at other hosts: a URL in, its text out, if the source names the host.
//! Each fetch is bounded; addresses and redirects are held to the rules of the egress gate.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures::future::{Either, select};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper::{Request, Response, StatusCode, body::Incoming, header};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::rustls::pki_types::ServerName;
use url::{Host, Url};

use crate::catalog::address::special;
use crate::outward::{LOCAL, connector, is_loopback};

/// Most files that one document may fetch.
const MAX_FETCHES: usize = 64;
/// Most bytes of one of them, and of all together.
const MAX_BYTES: usize = 8 << 20;
const MAX_TOTAL: usize = 32 << 20;
/// Longest that one may take, redirects included, and all together.
const PATIENCE: Duration = Duration::from_secs(10);
const ALL_PATIENCE: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 3;

/// Where files may be fetched from; nowhere by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::catalog) struct Allowed(Vec<Url>);

/// Whether a URL is of the kind that is ever fetched: HTTPS, or HTTP at a loopback address.
pub(in crate::catalog) fn check_url(url: &Url) -> Result<(), String> {
    let known = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url));
    if !known || url.host().is_none() {
        return Err("is not fetched: only HTTPS is, and HTTP from a loopback address".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("is not fetched: it holds a user name or a password".to_owned());
    }
    Ok(())
}

impl Allowed {
    /// Reads `host` or `host:port`, one for each place; what is on loopback may be asked by HTTP too.
    /// A URL without a path stands for its own scheme only.
    pub(in crate::catalog) fn parse(places: &[String]) -> Result<Self, String> {
        let mut all = Self::default();
        for text in places {
            let wrong = |why: &str| format!("`{text}` {why}; write `host` or `host:port`");
            let whole = match text.contains("://") {
                true => text.clone(),
                false => format!("https://{text}"),
            };
            let url = Url::parse(&whole).map_err(|error| wrong(&format!("is wrong: {error}")))?;
            check_url(&url).map_err(|why| wrong(&why))?;
            if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
                return Err(wrong("names more than a host"));
            }
            if whole != *text && is_loopback(&url) {
                let plain = format!("http://{text}");
                all.0.extend(Url::parse(&plain).ok());
            }
            all.0.push(url);
        }
        Ok(all)
    }

    /// Also allows the place of a URL that the operator gave.
    pub(super) fn add(&mut self, url: &Url) {
        self.0.push(url.clone());
    }

    /// Whether a URL may be fetched.
    pub(super) fn permit(&self, url: &Url) -> Result<(), String> {
        check_url(url)?;
        if self.0.iter().any(|place| place.origin() == url.origin()) {
            return Ok(());
        }
        let mut place = url.host_str().unwrap_or_default().to_owned();
        if let Some(port) = url.port() {
            place.push_str(&format!(":{port}"));
        }
        Err(format!(
            "lies at `{place}`, which `references` in the source's file does not name, so it is not \
             fetched; `references = [\"{place}\"]` allows it"
        ))
    }
}

/// Fetches within bounds.
#[derive(Debug)]
pub(super) struct Fetcher {
    allowed: Allowed,
    fetches: usize,
    bytes: usize,
    end: Instant,
}

impl Fetcher {
    pub(super) fn new(allowed: Allowed) -> Self {
        let end = Instant::now() + ALL_PATIENCE;
        Self { allowed, fetches: MAX_FETCHES, bytes: MAX_TOTAL, end }
    }

    /// The text at a URL. Blocks, for as long as the bounds allow.
    pub(super) fn fetch(&mut self, url: &Url) -> Result<String, String> {
        self.fetches = self
            .fetches
            .checked_sub(1)
            .ok_or_else(|| format!("is one more than the {MAX_FETCHES} files that are fetched"))?;
        let end = self.end.min(Instant::now() + PATIENCE);
        let most = self.bytes.min(MAX_BYTES);
        let one = Fetch { allowed: &self.allowed, end, most };
        // Whoever loads a catalog may do so inside a runtime, where no other can block.
        let fetched = std::thread::scope(|scope| {
            let run = || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.map_err(|error| error.to_string())?.block_on(one.run(url.clone()))
            };
            scope.spawn(run).join().unwrap_or_else(|_panic| Err("ended early".to_owned()))
        });
        let bytes = fetched.map_err(|why| format!("cannot be fetched: {why}"))?;
        self.bytes = self.bytes.saturating_sub(bytes.len());
        String::from_utf8(bytes).map_err(|error| format!("is not UTF-8: {}", error.utf8_error()))
    }
}

/// One fetch with its redirects.
struct Fetch<'f> {
    allowed: &'f Allowed,
    end: Instant,
    most: usize,
}

impl Fetch<'_> {
    async fn run(&self, mut url: Url) -> Result<Vec<u8>, String> {
        for _ in 0..=MAX_REDIRECTS {
            self.allowed.permit(&url).map_err(|why| format!("`{url}` {why}"))?;
            let answer = timeout_at(self.end, self.get(&url)).await;
            match answer.map_err(|_elapsed| "it takes too long".to_owned())?? {
                Got::Bytes(bytes) => return Ok(bytes),
                Got::Moved(to) => {
                    url = url.join(&to).map_err(|error| format!("it moved to no URL: {error}"))?;
                }
            }
        }
        Err(format!("it moves more than {MAX_REDIRECTS} times"))
    }

    async fn get(&self, url: &Url) -> Result<Got, String> {
        let stream = TcpStream::connect(&*addresses(url).await?).await.map_err(told)?;
        if url.scheme() == "http" {
            return self.ask(url, stream).await;
        }
        let name = match url.host() {
            Some(Host::Domain(name)) => ServerName::try_from(name.to_owned()).map_err(told)?,
            Some(Host::Ipv4(ip)) => ServerName::from(IpAddr::V4(ip)),
            Some(Host::Ipv6(ip)) => ServerName::from(IpAddr::V6(ip)),
            None => return Err("it has no host".to_owned()),
        };
        let stream = connector()?.connect(name, stream).await.map_err(told)?;
        self.ask(url, stream).await
    }

    async fn ask<S>(&self, url: &Url, stream: S) -> Result<Got, String>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(told)?;
        let host = match url.port() {
            Some(port) => format!("{}:{port}", url.host_str().unwrap_or_default()),
            None => url.host_str().unwrap_or_default().to_owned(),
        };
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let request = Request::get(path)
            .header(header::HOST, host)
            .header(header::ACCEPT, "application/json, application/yaml, */*")
            .header(header::USER_AGENT, concat!("switchboard/", env!("CARGO_PKG_VERSION")))
            .body(Empty::<Bytes>::new())
            .map_err(told)?;
        let exchange = pin!(async { self.take(sender.send_request(request).await).await });
        match select(exchange, pin!(connection)).await {
            Either::Left((got, _)) => got,
            Either::Right((_, exchange)) => exchange.await,
        }
    }

    async fn take(&self, answer: hyper::Result<Response<Incoming>>) -> Result<Got, String> {
        let answer = answer.map_err(told)?;
        let status = answer.status();
        if status.is_redirection() {
            let to = answer.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
            let missing = || format!("it was answered with {status} and no place");
            return to.map(|to| Got::Moved(to.to_owned())).ok_or_else(missing);
        }
        if status != StatusCode::OK {
            return Err(format!("it was answered with {status}"));
        }
        if answer.headers().contains_key(header::CONTENT_ENCODING) {
            return Err("it was answered compressed, which was not asked for".to_owned());
        }
        let body = Limited::new(answer.into_body(), self.most).collect().await;
        let too_much =
            |error| format!("it breaks off or has more than {} bytes: {error}", self.most);
        Ok(Got::Bytes(body.map_err(too_much)?.to_bytes().to_vec()))
    }
}

enum Got {
    Bytes(Vec<u8>),
    Moved(String),
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The addresses of a host that may be dialled. A name never leads to an address that is not
/// public; an address that the operator wrote is taken at its word, link-local ones aside.
async fn addresses(url: &Url) -> Result<Vec<SocketAddr>, String> {
    let port = url.port_or_known_default().unwrap_or(443);
    let literal = match url.host() {
        Some(Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
        Some(Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
        Some(Host::Domain(_)) | None => None,
    };
    if let Some(ip) = literal {
        let never = ["link-local", "metadata service", "multicast", "unspecified"];
        return match special(ip) {
            Some(kind) if never.contains(&kind) => Err(format!("`{ip}` is {kind}")),
            Some(_) | None => Ok(vec![SocketAddr::new(ip, port)]),
        };
    }
    let host = url.host_str().unwrap_or_default();
    if host == LOCAL {
        let both = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        return Ok(both.map(|ip| SocketAddr::new(ip, port)).to_vec());
    }
    let found: Vec<SocketAddr> = lookup_host((host, port)).await.map_err(told)?.collect();
    let public: Vec<SocketAddr> =
        found.iter().copied().filter(|address| special(address.ip()).is_none()).collect();
    match (public.is_empty(), found.first()) {
        (false, _) => Ok(public),
        (true, Some(first)) => {
            let kind = special(first.ip()).unwrap_or("unusable");
            Err(format!("`{host}` is at {}, which is {kind}", first.ip()))
        }
        (true, None) => Err(format!("`{host}` has no address")),
    }
}
