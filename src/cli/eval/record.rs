//! The recorder: passes each question to a model on to an upstream, hands its answer back as it came, and
//! keeps both as a line of a transcript. Keeps no key: the upstream's own is added here.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio_util::task::TaskTracker;

use super::ask::Ask;
use super::player::Player;
use super::script::{Line, Made};
use crate::call::Dialect;
use crate::catalog::exported_name;
use crate::native::{self, MAX_BYTES, Provider, Turn};
use crate::outward::{Address, Outlet};

/// Where questions are passed on to, and what is kept of them.
#[derive(Debug)]
pub(super) struct Recorder {
    outlet: Outlet,
    /// The tools of the daemon, by their own names.
    tools: Vec<String>,
    file: Mutex<File>,
    path: PathBuf,
}

impl Recorder {
    /// Opens the transcript, which must not be there yet, and the upstream.
    pub(super) fn open(
        path: &Path,
        (url, key_env): (&str, Option<&str>),
        tools: Vec<String>,
        tasks: &TaskTracker,
    ) -> Result<Self, String> {
        let address = Address { url, allow_plain: false, key_file: None, key_env };
        let outlet = Outlet::open(&address, tasks);
        let outlet = outlet.map_err(|error| format!("`--upstream`: {error}"))?;
        outlet.check_key().map_err(|error| format!("`--upstream-key-env`: {error}"))?;
        let file = File::create_new(path)
            .map_err(|error| format!("the transcript `{}`: {error}", path.display()))?;
        Ok(Self { outlet, tools, file: Mutex::new(file), path: path.to_owned() })
    }

    /// Asks the upstream, and records what it says where that is an answer.
    pub(super) async fn ask(
        &self,
        player: &Player,
        ask: &Ask,
        body: Bytes,
    ) -> Result<Response, String> {
        let place = player.note(ask);
        let answer = self.outlet.post(body, MAX_BYTES).await.map_err(|error| error.to_string())?;
        let bytes = answer.body.as_ref().map_err(|why| format!("the upstream: {why}"))?;
        // The daemon does not know this key, and so could not strike it.
        let text = answer.strike(&String::from_utf8_lossy(bytes));
        let is_answer = answer.status.is_success();
        if let (Some(place), true) = (place, is_answer) {
            let turn = match ask.stream {
                true => native::assemble(Provider::OpenaiChat, text.as_bytes()),
                false => native::read(Provider::OpenaiChat, &text),
            };
            let turn = turn.map_err(|error| format!("the upstream's answer {error}"))?;
            self.keep(&self.line(place, ask, turn))?;
        }
        let streams = ask.stream && is_answer;
        let kind = if streams { "text/event-stream" } else { "application/json" };
        let kind = [(header::CONTENT_TYPE, kind)];
        let mut response = (answer.status, kind, text).into_response();
        if let Some(wait) = answer.retry_after {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        Ok(response)
    }

    fn line(&self, (case, turn): (String, usize), ask: &Ask, said: Turn) -> Line {
        let own = |exported: &str| {
            let known =
                self.tools.iter().find(|tool| exported_name(tool, Dialect::Openai) == exported);
            known.cloned().unwrap_or_else(|| exported.to_owned())
        };
        let calls: Vec<Made> = said
            .calls
            .iter()
            .map(|call| Made {
                tool: own(&call.name),
                arguments: serde_json::from_str(&call.arguments)
                    .unwrap_or_else(|_not_json| Value::from(call.arguments.clone())),
            })
            .collect();
        let offered = calls.iter().map(|call| call.tool.clone()).filter(|tool| ask.offers(tool));
        Line {
            case,
            turn,
            model: ask.model.clone(),
            offered: offered.collect(),
            after: Some(
                ask.made
                    .iter()
                    .map(|(name, arguments)| Made { tool: own(name), arguments: arguments.clone() })
                    .collect(),
            ),
            text: said.text,
            calls,
            raw: true,
            ..Line::default()
        }
    }

    fn keep(&self, line: &Line) -> Result<(), String> {
        let mut text = serde_json::to_string(line).map_err(|error| error.to_string())?;
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(text.as_bytes())
            .map_err(|error| format!("the transcript `{}`: {error}", self.path.display()))
    }
}
