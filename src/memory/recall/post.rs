//! JSON to a configured endpoint and its JSON back, within a deadline and a bound of bytes.

use std::time::Duration;

use hyper::StatusCode;
use serde_json::Value;
use tokio_util::task::TaskTracker;

use super::{Endpoint, Error};
use crate::outward::{Address, Outlet};

/// Bytes of an answer, at most.
const ANSWER: usize = 4 << 20;

/// One endpoint.
#[derive(Debug)]
pub(in crate::memory) struct Post {
    outlet: Outlet,
    model: String,
    timeout: Duration,
}

impl Post {
    /// Checks an endpoint of the configuration, under its key there. A key that is not there yet costs
    /// the requests that need it, and nothing else.
    pub(in crate::memory) fn open(key: &'static str, endpoint: &Endpoint) -> Result<Self, Error> {
        let wrong = |reason: String| Error::Config { key, reason };
        if endpoint.timeout.is_zero() {
            return Err(wrong("`timeout` is 0: give it a time such as `1500ms`".to_owned()));
        }
        let address = Address {
            url: &endpoint.url,
            allow_plain: endpoint.allow_plain,
            key_file: endpoint.key_file.as_deref(),
            key_env: endpoint.key_env.as_deref(),
        };
        let outlet = Outlet::open(&address, &TaskTracker::new());
        let outlet = outlet.map_err(|fault| wrong(fault.to_string()))?;
        Ok(Self { outlet, model: endpoint.model.clone(), timeout: endpoint.timeout })
    }

    /// The model's name at the endpoint.
    pub(in crate::memory) fn model(&self) -> &str {
        &self.model
    }

    /// The endpoint without what could be secret in it.
    pub(in crate::memory) fn place(&self) -> &str {
        self.outlet.shown()
    }

    /// Sends one body.
    pub(in crate::memory) async fn send(&self, body: &Value) -> Result<Value, String> {
        let place = self.outlet.shown();
        let late =
            |_elapsed| format!("{place} did not answer within {} ms", self.timeout.as_millis());
        let posted = self.outlet.post(body.to_string().into(), ANSWER);
        let answer = tokio::time::timeout(self.timeout, posted)
            .await
            .map_err(late)?
            .map_err(|lost| format!("{place}: {lost}"))?;
        if answer.status != StatusCode::OK {
            return Err(format!("{place}: it answered {}", answer.status));
        }
        let bytes = answer.body.map_err(|why| format!("{place}: {why}"))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| format!("{place} answers with no JSON: {error}"))
    }
}
