//! JSON to a configured endpoint and its JSON back, within a deadline and a bound of bytes. Follows no
//! redirect, since the key would go along. Nothing that it reports holds the key or a text.

use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures::future::{Either, select};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::{Request, Response, StatusCode, body::Incoming, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use url::Url;

use super::{Endpoint, Error};
use crate::outward::{connector, is_loopback};

/// Bytes of an answer, at most.
const ANSWER: usize = 4 << 20;

/// One endpoint.
pub(in crate::memory) struct Post {
    url: Url,
    model: String,
    key_file: Option<std::path::PathBuf>,
    key_env: Option<String>,
    timeout: Duration,
    tls: Option<TlsConnector>,
}

impl std::fmt::Debug for Post {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Post").field("place", &self.place()).finish_non_exhaustive()
    }
}

impl Post {
    /// Checks an endpoint of the configuration, under its key there.
    pub(in crate::memory) fn open(key: &'static str, endpoint: &Endpoint) -> Result<Self, Error> {
        let wrong = |reason: String| Error::Config { key, reason };
        let url = Url::parse(&endpoint.url)
            .map_err(|error| wrong(format!("`{}` is no URL: {error}", endpoint.url)))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(
                "the URL holds a user name or a password: use `key_file`".to_owned(),
            ));
        }
        let plain = match url.scheme() {
            "https" => false,
            "http" if endpoint.allow_plain || is_loopback(&url) => true,
            "http" => {
                return Err(wrong(
                    "plain HTTP beyond loopback: use HTTPS, or set `allow_plain`".to_owned(),
                ));
            }
            other => return Err(wrong(format!("`{other}` is not HTTP or HTTPS"))),
        };
        if endpoint.timeout.is_zero() {
            return Err(wrong("`timeout` is 0: give it a time such as `1500ms`".to_owned()));
        }
        let tls = (!plain).then(connector).transpose().map_err(wrong)?;
        Ok(Self {
            url,
            model: endpoint.model.clone(),
            key_file: endpoint.key_file.clone(),
            key_env: endpoint.key_env.clone(),
            timeout: endpoint.timeout,
            tls,
        })
    }

    /// The model's name at the endpoint.
    pub(in crate::memory) fn model(&self) -> &str {
        &self.model
    }

    /// Sends one body.
    pub(in crate::memory) async fn send(&self, body: &Value) -> Result<Value, String> {
        let late = |_elapsed| {
            format!("{} did not answer within {} ms", self.place(), self.timeout.as_millis())
        };
        let bytes = tokio::time::timeout(self.timeout, self.exchange(body.to_string()))
            .await
            .map_err(late)?
            .map_err(|why| format!("{}: {why}", self.place()))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| format!("{} answers with no JSON: {error}", self.place()))
    }

    /// The endpoint without what could be secret in it.
    pub(in crate::memory) fn place(&self) -> String {
        format!("{}{}", self.url.origin().ascii_serialization(), self.url.path(),)
    }

    async fn exchange(&self, body: String) -> Result<Bytes, String> {
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = self.url.port_or_known_default().unwrap_or(443);
        let stream = TcpStream::connect((host.as_str(), port)).await.map_err(told)?;
        stream.set_nodelay(true).map_err(told)?;
        match &self.tls {
            None => self.ask(stream, body).await,
            Some(tls) => {
                let name = ServerName::try_from(host).map_err(told)?;
                self.ask(tls.connect(name, stream).await.map_err(told)?, body).await
            }
        }
    }

    async fn ask<S>(&self, stream: S, body: String) -> Result<Bytes, String>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(told)?;
        let path = match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_owned(),
        };
        let host = match self.url.port() {
            Some(port) => format!("{}:{port}", self.url.host_str().unwrap_or_default()),
            None => self.url.host_str().unwrap_or_default().to_owned(),
        };
        let mut request = Request::post(path)
            .header(header::HOST, host)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, concat!("switchboard/", env!("CARGO_PKG_VERSION")));
        if let Some(key) = self.key()? {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(told)?;
        let exchange = pin!(async { take(sender.send_request(request).await).await });
        match select(exchange, pin!(connection)).await {
            Either::Left((got, _)) => got,
            Either::Right((_, exchange)) => exchange.await,
        }
    }

    /// The key, read each time, so that a changed one holds at once.
    fn key(&self) -> Result<Option<String>, String> {
        let read = |path: &Path| {
            std::fs::read_to_string(path)
                .map_err(|error| format!("the key file `{}`: {error}", path.display()))
        };
        let key = match (&self.key_file, &self.key_env) {
            (Some(path), _) => Some(read(path)?),
            (None, Some(name)) => {
                let value = std::env::var_os(name).and_then(|value| value.into_string().ok());
                Some(value.ok_or_else(|| {
                    format!("the environment variable `{name}` with the key is not set, or no text")
                })?)
            }
            (None, None) => None,
        };
        Ok(key.map(|key| key.trim().to_owned()))
    }
}

async fn take(answer: hyper::Result<Response<Incoming>>) -> Result<Bytes, String> {
    let answer = answer.map_err(told)?;
    let status = answer.status();
    if status != StatusCode::OK {
        return Err(format!("it answered {status}"));
    }
    let body = Limited::new(answer.into_body(), ANSWER).collect().await;
    let body =
        body.map_err(|error| format!("it breaks off or has over {ANSWER} bytes: {error}"))?;
    Ok(body.to_bytes())
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}
