//! One endpoint that JSON is posted to: where it is and where its key is in, what it answers out, whole
//! or as it comes. Follows no redirect, since the key would go along. Nothing that it reports holds the
//! key, a text, or a part of the URL that may be secret.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT,
};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use jiff::Timestamp;
use tokio_util::task::TaskTracker;
use url::Url;

use super::dial::Dial;
use super::is_loopback;
use super::key::{Key, Sent};

/// An endpoint as the configuration names it.
#[derive(Debug, Clone, Copy)]
pub struct Address<'a> {
    /// Its URL, without user name and password; HTTP at loopback addresses only.
    pub url: &'a str,
    /// Permits HTTP anywhere.
    pub allow_plain: bool,
    /// File with the key.
    pub key_file: Option<&'a Path>,
    /// Environment variable with the key.
    pub key_env: Option<&'a str>,
}

/// What is wrong with an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// The URL, and how to mend it.
    #[error("{0}")]
    Url(String),
    /// Where the key is, and how to mend it.
    #[error("{0}")]
    Key(String),
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// The key cannot be read, or cannot be sent.
    #[error("{0}")]
    Key(String),
    /// There is no connection, or it broke.
    #[error("{0}")]
    Connection(String),
}

/// One endpoint.
pub struct Outlet {
    shown: String,
    uri: Uri,
    key: Key,
    /// The header that carries the key, and what stands before it there.
    carrier: (HeaderName, &'static str),
    /// Further headers of each request.
    headers: Vec<(HeaderName, HeaderValue)>,
    client: Client<Dial, Full<Bytes>>,
    tasks: TaskTracker,
}

/// An answer of which only the head has come.
pub struct Coming {
    /// The HTTP status.
    pub status: StatusCode,
    /// How long it asks to wait.
    pub retry_after: Option<Duration>,
    body: Incoming,
    key: Option<Sent>,
}

/// What an endpoint answered.
pub struct Answer {
    /// The HTTP status.
    pub status: StatusCode,
    /// How long it asks to wait.
    pub retry_after: Option<Duration>,
    /// What it says, or why that cannot be read.
    pub body: Result<Bytes, String>,
    key: Option<Sent>,
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outlet").field(&self.shown).finish()
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}

impl fmt::Debug for Coming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coming").field("status", &self.status).finish_non_exhaustive()
    }
}

/// Runs connections. Nobody waits for them: whoever asks waits for the answer.
#[derive(Clone, Default)]
struct Runner(TaskTracker);

impl<F: Future<Output: Send> + Send + 'static> hyper::rt::Executor<F> for Runner {
    fn execute(&self, connection: F) {
        self.0.spawn(connection);
    }
}

impl Outlet {
    /// Checks an address; asks nothing yet, and the key need not be there. Its file is read on `tasks`.
    pub fn open(address: &Address<'_>, tasks: &TaskTracker) -> Result<Self, Wrong> {
        let url = read(address.url, address.allow_plain).map_err(Wrong::Url)?;
        let uri = url.as_str().parse::<Uri>();
        let uri = uri.map_err(|error| Wrong::Url(format!("it is no URL: {error}")))?;
        let key = Key::open(address.key_file, address.key_env).map_err(Wrong::Key)?;
        let dial = Dial::new(url.scheme() == "https").map_err(Wrong::Url)?;
        Ok(Self {
            shown: shown(url),
            uri,
            key,
            carrier: (AUTHORIZATION, "Bearer "),
            headers: Vec::new(),
            client: Client::builder(Runner::default()).build(dial),
            tasks: tasks.clone(),
        })
    }

    /// Checks that the key is there now.
    pub fn check_key(&self) -> Result<(), Wrong> {
        self.key.check().map_err(Wrong::Key)
    }

    /// The endpoint as it may be shown: without its query, which may hold a key.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Sends the key bare in this header, in place of `authorization: Bearer KEY`.
    #[must_use]
    pub fn key_in(mut self, header: &'static str) -> Self {
        self.carrier = (HeaderName::from_static(header), "");
        self
    }

    /// Sends this header with each request too.
    #[must_use]
    pub fn also(mut self, header: &'static str, value: &'static str) -> Self {
        let value = HeaderValue::from_static(value);
        self.headers.push((HeaderName::from_static(header), value));
        self
    }

    /// Posts JSON; takes `most` bytes of the answer. Whoever calls sets the deadline.
    pub async fn post(&self, body: Bytes, most: usize) -> Result<Answer, Lost> {
        Ok(self.send(body).await?.whole(most).await)
    }

    /// Posts JSON, and waits for the head of the answer. Whoever calls sets the deadline, and the bound
    /// of the body.
    pub async fn send(&self, body: Bytes) -> Result<Coming, Lost> {
        let key = self.key.read(&self.tasks).await.map_err(Lost::Key)?;
        let mut request = Request::post(self.uri.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream, application/x-ndjson")
            .header(USER_AGENT, concat!("switchboard/", env!("CARGO_PKG_VERSION")));
        let (name, before) = &self.carrier;
        if let Some(header) = key.as_ref().and_then(|key| key.header(before)) {
            request = request.header(name, header);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let lost = |reason: String| Lost::Connection(reason);
        let request = request.body(Full::new(body)).map_err(|error| lost(error.to_string()))?;
        let sent = self.client.request(request).await;
        let answer = sent.map_err(|error| lost(chain(&error)))?;
        let (status, retry_after) = (answer.status(), retry_after(&answer));
        Ok(Coming { status, retry_after, body: answer.into_body(), key })
    }
}

impl Coming {
    /// The next bytes of the body, or why it broke off; nothing at its end.
    pub async fn piece(&mut self) -> Option<Result<Bytes, String>> {
        loop {
            match self.body.frame().await? {
                Ok(frame) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Some(Ok(bytes));
                    }
                }
                Err(error) => return Some(Err(chain(&error))),
            }
        }
    }

    /// All of it, if the body has at most `most` bytes.
    pub async fn whole(self, most: usize) -> Answer {
        let Self { status, retry_after, body, key } = self;
        let body = Limited::new(body, most).collect().await;
        let body = body.map(http_body_util::Collected::to_bytes);
        let body =
            body.map_err(|error| format!("its answer breaks off or is over {most} bytes: {error}"));
        Answer { status, retry_after, body, key }
    }

    /// A text without the key, should the endpoint repeat it.
    pub fn strike(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.strike(text))
    }
}

impl Answer {
    /// A text without the key, should the endpoint repeat it.
    pub fn strike(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.strike(text))
    }
}

/// Reads the URL of an endpoint.
fn read(text: &str, plain: bool) -> Result<Url, String> {
    // What is wrong with it is said without it: it may hold a password.
    let url = Url::parse(text).map_err(|error| format!("it is no URL: {error}"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds a user name or a password; use `key_file` or `key_env`".to_owned());
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) || plain => Ok(url),
        "http" => {
            Err("it is plain HTTP beyond this machine; use `https`, or set `allow_plain` where \
                       texts and key may be read on the way"
                .to_owned())
        }
        other => Err(format!("its scheme is `{other}`; use `https`")),
    }
}

fn shown(mut url: Url) -> String {
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// How long an answer asks to wait, in seconds or until a date.
fn retry_after(answer: &Response<Incoming>) -> Option<Duration> {
    let told = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = told.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(told).ok()?;
    // A date that is past means now.
    Some(date.timestamp().duration_since(Timestamp::now()).try_into().unwrap_or_default())
}

/// An error with its causes: hyper's own names none.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
