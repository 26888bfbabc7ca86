//! An endpoint that speaks OpenAI's `/v1/embeddings`: texts in, vectors out, asked again while what
//! is wrong may pass. It follows no redirects.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use hyper::StatusCode;
use metrics::counter;
use serde_json::json;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::task::TaskTracker;

use super::calibration::Calibration;
use super::{Embedder, Endpoint, Error, Model, Role, answer};
use crate::outward::{Address, Lost, Outlet, Wrong};

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
    outlet: Outlet,
    calibration: Calibration,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Remote").field(&self.model).finish()
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
        let fault = |fault| match fault {
            Wrong::Url(why) => wrong("memory.embedder.endpoint.url", why),
            Wrong::Key(why) => wrong("memory.embedder.endpoint.key_file", why),
        };
        let address = Address {
            url: &config.url,
            allow_plain: config.allow_plain,
            key_file: config.key_file.as_deref(),
            key_env: config.key_env.as_deref(),
        };
        let outlet = Outlet::open(&address, tasks).map_err(fault)?;
        outlet.check_key().map_err(fault)?;
        for (key, value) in [
            ("memory.embedder.endpoint.dimensions", config.dimensions),
            ("memory.embedder.endpoint.batch", config.batch),
            ("memory.embedder.endpoint.attempts", config.attempts),
        ] {
            if value == 0 {
                return Err(wrong(key, "it is 0".to_owned()));
            }
        }
        let calibration = Calibration::new(&config.calibration)
            .map_err(|why| wrong("memory.embedder.endpoint.calibration", why))?;
        // Under one name a server can come to give longer vectors: those are of another model.
        let mut model = format!("{} ({}) at {}", config.model, config.dimensions, outlet.shown());
        if !(config.prefix_query.is_empty() && config.prefix_passage.is_empty()) {
            model.push_str(&format!(
                " with {:?} and {:?}",
                config.prefix_query, config.prefix_passage
            ));
        }
        Ok(Self {
            model: Model { name: model, dimensions: config.dimensions },
            config: config.clone(),
            outlet,
            calibration,
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
        let late = || Error::Late { endpoint: self.name(), after: self.config.timeout };
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
        let wrong = |reason: String| Error::Answer { endpoint: self.name(), reason };
        let most = FRAME + count * self.config.dimensions * NUMBER;
        let answer = self.outlet.post(body, most).await.map_err(|lost| match lost {
            Lost::Key(reason) => {
                Miss::Lasting(Error::Config { key: "memory.embedder.endpoint.key_file", reason })
            }
            Lost::Connection(reason) => Miss::Passing(self.lost(reason), None),
        })?;
        let (status, told) = (answer.status, answer.retry_after);
        if status == StatusCode::OK {
            let bytes = answer.body.map_err(|why| Miss::Passing(self.lost(why), None))?;
            let read = answer::read(&bytes, count, self.config.dimensions);
            return read.map_err(|why| Miss::Lasting(wrong(why)));
        }
        let (endpoint, status) = (self.name(), status.as_u16());
        if status >= 500 || [408, 429].contains(&status) {
            let error = Error::Busy { endpoint, status, attempts: attempt, retry_after: told };
            return Err(Miss::Passing(error, told));
        }
        let said = answer.body.as_ref().map(|bytes| answer::excerpt(bytes)).unwrap_or_default();
        let reason = answer.strike(&said).chars().take(EXCERPT).collect();
        Err(Miss::Lasting(Error::Refused { endpoint, status, reason }))
    }

    fn name(&self) -> String {
        self.outlet.shown().to_owned()
    }

    fn lost(&self, reason: String) -> Error {
        Error::Unreachable { endpoint: self.name(), reason }
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
