//! An endpoint that speaks OpenAI's `/v1/embeddings`: texts in, vectors out, asked again while what
//! is wrong may pass. It follows no redirects.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Response, StatusCode, Uri, body::Incoming};
use hyper_util::client::legacy::Client;
use jiff::Timestamp;
use metrics::counter;
use serde_json::json;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::task::TaskTracker;
use url::Url;

use super::calibration::Calibration;
use super::dial::Dial;
use super::key::{Key, Sent};
use super::{Embedder, Endpoint, Error, Model, Role, answer};
use crate::outward::is_loopback;

/// The pause after the first attempt; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(200);
/// Most bytes of an answer beside those of its numbers, and for each of those.
const FRAME: usize = 1 << 20;
const NUMBER: usize = 32;
/// Most characters of what an endpoint says.
const EXCERPT: usize = 200;

/// An endpoint.
pub(super) struct Remote {
    config: Endpoint,
    model: Model,
    /// Its URL without what may be secret.
    name: String,
    uri: Uri,
    key: Key,
    calibration: Calibration,
    client: Client<Dial, Full<Bytes>>,
    tasks: TaskTracker,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Remote").field(&self.model).finish()
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

/// Why an attempt gave nothing.
enum Miss {
    /// It may pass, perhaps at the time that was told.
    Passing(Error, Option<Duration>),
    /// It does not.
    Lasting(Error),
}

impl Remote {
    /// Checks the configuration; asks nothing yet.
    pub(super) fn open(config: &Endpoint, tasks: &TaskTracker) -> Result<Self, Error> {
        let wrong = |key, reason| Error::Config { key, reason };
        let url = address(&config.url, config.allow_plain)
            .map_err(|why| wrong("memory.embedder.endpoint.url", why))?;
        let uri = url.as_str().parse::<Uri>().map_err(|error| {
            wrong("memory.embedder.endpoint.url", format!("it is no URL: {error}"))
        })?;
        for (key, value) in [
            ("memory.embedder.endpoint.dimensions", config.dimensions),
            ("memory.embedder.endpoint.batch", config.batch),
            ("memory.embedder.endpoint.attempts", config.attempts),
        ] {
            if value == 0 {
                return Err(wrong(key, "it is 0".to_owned()));
            }
        }
        let key = Key::open(config.key_file.as_deref(), config.key_env.as_deref())
            .map_err(|why| wrong("memory.embedder.endpoint.key_file", why))?;
        let calibration = Calibration::new(&config.calibration)
            .map_err(|why| wrong("memory.embedder.endpoint.calibration", why))?;
        let dial = Dial::new().map_err(|why| wrong("memory.embedder.endpoint.url", why))?;
        let name = shown(&url);
        // Under one name a server can come to give longer vectors: those are of another model.
        let mut model = format!("{} ({}) at {name}", config.model, config.dimensions);
        if !(config.prefix_query.is_empty() && config.prefix_passage.is_empty()) {
            model.push_str(&format!(
                " with {:?} and {:?}",
                config.prefix_query, config.prefix_passage
            ));
        }
        Ok(Self {
            model: Model { name: model, dimensions: config.dimensions },
            config: config.clone(),
            name,
            uri,
            key,
            calibration,
            client: Client::builder(Runner::default()).build(dial),
            tasks: tasks.clone(),
        })
    }

    fn body(&self, role: Role, texts: &[String]) -> Bytes {
        let prefix = match role {
            Role::Query => &self.config.prefix_query,
            Role::Passage => &self.config.prefix_passage,
        };
        let texts: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
        let mut body =
            json!({"model": self.config.model, "input": texts, "encoding_format": "float"});
        if self.config.send_dimensions
            && let Some(fields) = body.as_object_mut()
        {
            fields.insert("dimensions".to_owned(), self.config.dimensions.into());
        }
        body.to_string().into()
    }

    /// The vectors of one batch, with as many attempts as there may be.
    async fn ask(&self, body: Bytes, count: usize) -> Result<Vec<Vec<f32>>, Error> {
        let late = || Error::Late { endpoint: self.name.clone(), after: self.config.timeout };
        let end = Instant::now() + self.config.timeout;
        let mut pause = PAUSE;
        for attempt in 1.. {
            let asked = timeout_at(end, self.attempt(body.clone(), count, attempt)).await;
            let (error, told) = match asked.map_err(|_elapsed| late())? {
                Ok(vectors) => return Ok(vectors),
                Err(Miss::Lasting(error)) => return Err(error),
                Err(Miss::Passing(error, told)) => (error, told),
            };
            let next = Instant::now() + told.unwrap_or(pause);
            if attempt >= self.config.attempts || next >= end {
                return Err(error);
            }
            counter!("switchboard_memory_embed_retries_total").increment(1);
            sleep_until(next).await;
            pause *= 2;
        }
        Err(late())
    }

    async fn attempt(
        &self,
        body: Bytes,
        count: usize,
        attempt: usize,
    ) -> Result<Vec<Vec<f32>>, Miss> {
        let wrong = |reason: String| Error::Answer { endpoint: self.name.clone(), reason };
        let key = self.key.read(&self.tasks).await.map_err(|reason| {
            Miss::Lasting(Error::Config { key: "memory.embedder.endpoint.key_file", reason })
        })?;
        let answer = self.send(body, key.as_ref()).await?;
        let status = answer.status();
        let told = retry_after(&answer);
        let most = FRAME + count * self.config.dimensions * NUMBER;
        let bytes = Limited::new(answer.into_body(), most).collect().await;
        if status == StatusCode::OK {
            let bytes = bytes.map_err(|error| {
                let reason = format!("its answer breaks off or is over {most} bytes: {error}");
                Miss::Passing(self.lost(reason), None)
            })?;
            let read = answer::read(&bytes.to_bytes(), count, self.config.dimensions);
            return read.map_err(|why| Miss::Lasting(wrong(why)));
        }
        if status.is_server_error() || [408, 429].contains(&status.as_u16()) {
            let (endpoint, status, attempts) = (self.name.clone(), status.as_u16(), attempt);
            let error = Error::Busy { endpoint, status, attempts, retry_after: told };
            return Err(Miss::Passing(error, told));
        }
        let said = bytes.map(|bytes| answer::excerpt(&bytes.to_bytes())).unwrap_or_default();
        let said = key.map_or_else(|| said.clone(), |key| key.strike(&said));
        let reason = said.chars().take(EXCERPT).collect();
        let (endpoint, status) = (self.name.clone(), status.as_u16());
        Err(Miss::Lasting(Error::Refused { endpoint, status, reason }))
    }

    async fn send(&self, body: Bytes, key: Option<&Sent>) -> Result<Response<Incoming>, Miss> {
        let mut request = Request::post(self.uri.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, concat!("switchboard/", env!("CARGO_PKG_VERSION")));
        if let Some(header) = key.and_then(Sent::header) {
            request = request.header(AUTHORIZATION, header);
        }
        let request = request
            .body(Full::new(body))
            .map_err(|error| Miss::Lasting(self.lost(error.to_string())))?;
        let sent = self.client.request(request).await;
        sent.map_err(|error| Miss::Passing(self.lost(chain(&error)), None))
    }

    fn lost(&self, reason: String) -> Error {
        Error::Unreachable { endpoint: self.name.clone(), reason }
    }
}

#[async_trait]
impl Embedder for Remote {
    fn model(&self) -> &Model {
        &self.model
    }

    async fn embed(&self, role: Role, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.config.batch) {
            vectors.extend(self.ask(self.body(role, batch), batch.len()).await?);
        }
        Ok(vectors)
    }

    fn calibrate(&self, cosine: f32) -> f32 {
        self.calibration.score(cosine)
    }
}

/// Reads the URL of an endpoint.
fn address(text: &str, plain: bool) -> Result<Url, String> {
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

/// A URL as it may be shown: without its query, which may hold a key.
fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.set_fragment(None);
    shown.to_string()
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
