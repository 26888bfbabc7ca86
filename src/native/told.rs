//! A reply as a model reads it: a [`Reply`] in, one compact JSON object out, in which everything that a
//! tool gave stands under `data`, after the mark that says where it comes from.

use serde_json::{Map, Value, json};

use crate::call::{Code, FileFacts};
use crate::normalize::{Reply, ReplyError, Status};
use crate::schema::Change;

/// Most of each list that a model is told.
const MAX_LISTED: usize = 16;
/// Most bytes of standard error that a model is told of a failed tool.
const MAX_STDERR: usize = 1024;

/// A result for a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// What it reads.
    pub value: Value,
    /// Whether that is an error.
    pub is_error: bool,
}

/// Tells a reply. The members, in their order, each left out where it has nothing to say:
///
/// - `status`: `success` or `error`
/// - `untrusted`: true, and `origin` `{tool, source, hosts}`: where `data`, `files`, `logs` and `stderr`
///   come from, and what an error repeats of them; `flags`: places that read like instructions
/// - `error`: `{code, message, details, retryable, retry_after_ms}`
/// - `repairs`: what was changed in the arguments: `{kind, pointer, from, to}`, the first 16
/// - `data`: what the tool gave; the service adds `view` where that is less than the whole result
/// - `files`: `{name, media_type, bytes}`; their content is in the reply
/// - `logs`, `stderr`: of a failed tool
/// - `truncated`: true, and `call_id`, by which `GetResult` finds the rest
pub fn tell(reply: &Reply) -> Told {
    let metadata = &reply.metadata;
    let mut told = Map::new();
    let is_error = reply.status == Status::Error;
    let mut add = |key: &str, value: Value| {
        told.insert(key.to_owned(), value);
    };
    add("status", if is_error { "error" } else { "success" }.into());
    if metadata.untrusted {
        add("untrusted", true.into());
    }
    if let Some(origin) = &metadata.origin {
        add("origin", json!(origin));
    }
    if !metadata.flags.is_empty() {
        add("flags", json!(metadata.flags));
    }
    if let Some(error) = &reply.error {
        add("error", told_error(error, metadata.retry_after_ms.map(|wait| json!(wait))));
    }
    let repairs = meant(&metadata.repairs);
    if !repairs.is_empty() {
        add("repairs", repairs.into());
    }
    if !reply.data.is_null() || !is_error {
        add("data", reply.data.clone());
    }
    if !metadata.files.is_empty() {
        add("files", metadata.files.iter().map(told_file).collect());
    }
    if is_error && !metadata.logs.is_empty() {
        add("logs", tail(&metadata.logs).into());
    }
    if is_error && !metadata.stderr.is_empty() {
        add("stderr", tail(&metadata.stderr).into());
    }
    if metadata.output_truncated {
        add("truncated", true.into());
        add("call_id", metadata.call_id.as_str().into());
    }
    Told { value: Value::Object(told), is_error }
}

fn told_error(error: &ReplyError, retry_after: Option<Value>) -> Value {
    let ReplyError { code, message, details, retryable } = error;
    let mut told = Map::new();
    told.insert("code".to_owned(), code.as_str().into());
    told.insert("message".to_owned(), message.as_str().into());
    // What a fault of ours says is for the log.
    if !details.is_null() && *code != Code::Internal {
        told.insert("details".to_owned(), details.clone());
    }
    told.insert("retryable".to_owned(), (*retryable).into());
    if let Some(wait) = retry_after {
        told.insert("retry_after_ms".to_owned(), wait);
    }
    Value::Object(told)
}

/// The repairs that a model can learn from: a default is none.
fn meant(repairs: &[Change]) -> Vec<Value> {
    repairs
        .iter()
        .filter(|one| one.kind != "default")
        .take(MAX_LISTED)
        .map(|one| json!(one))
        .collect()
}

fn told_file(file: &FileFacts) -> Value {
    json!({ "name": file.name, "media_type": file.media_type, "bytes": file.bytes })
}

fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(MAX_STDERR);
    text.get(text.ceil_char_boundary(from)..).unwrap_or_default()
}
