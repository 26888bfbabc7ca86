//! Room 6: one shape for every reply. [`Ran`] or a failure in, [`Reply`] out. Says what happened
//! and carries what the tool gave; repairs, runs and stores nothing.

mod body;
mod charset;
mod files;
mod flags;
mod metadata;
mod output;
mod pages;
mod stream;
mod verdict;
mod view;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::call::{Call, Code, Failure, File};
use crate::catalog::Tool;
use crate::sandbox::{Outcome, Ran};
use crate::schema::{Change, Schemas};

pub use flags::Flag;
pub use metadata::{Attempt, Metadata, Millis, Note, Origin};
pub use output::Form;
pub use view::{Ask, Page, Unread, View, page, view};

use output::Content;
use verdict::Fault;

/// Kind of the note that a result was too long to be searched for instructions to its end.
const UNSEARCHED: &str = "flags_incomplete";
/// Longest text kept as the data of an error, in bytes.
const MAX_ERROR_TEXT: usize = 16 << 10;

/// The one reply shape. Its JSON is one line, the members in this order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The tool's declared name, or the name as it came when there is no such tool.
    pub tool_name: String,
    /// Success or error.
    pub status: Status,
    /// The tool's result. Null when there is none; an error can carry data too.
    pub data: Value,
    /// What went wrong; null on success.
    pub error: Option<ReplyError>,
    /// How the reply came about.
    pub metadata: Metadata,
    /// Files, of which `metadata.files` tells; their content is in no JSON.
    #[serde(skip)]
    pub files: Vec<File>,
}

/// Success or error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The tool ran and did what it should.
    Success,
    /// Anything else.
    Error,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplyError {
    /// Stable code.
    pub code: Code,
    /// One line.
    pub message: String,
    /// Particulars, or null.
    pub details: Value,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}

/// The reply to a call that ran, however it ended.
pub fn shape(ran: Ran, schemas: &Schemas) -> Reply {
    let Ran { authorized, outcome } = ran;
    let decision = authorized.decision;
    let checked = authorized.checked;
    let tool = checked.resolved.tool;
    let call = checked.resolved.admitted.call;

    let mut content = output::read_outcome(&tool, &outcome);
    files::collect(&outcome, &mut content);
    let fault = verdict::judge(&tool, &outcome, &content)
        .or_else(|| files::judge(&tool, &content))
        .or_else(|| misshapen(&tool, &outcome, &content, schemas));
    let mut metadata = Metadata::ran(&call, &tool, &outcome);
    metadata.repairs = checked.arguments.repairs;
    metadata.policy_ids = decision.policies;
    finish(&tool, content, fault, metadata, &outcome)
}

fn finish(
    tool: &Tool,
    content: Content,
    fault: Option<Fault>,
    mut metadata: Metadata,
    outcome: &Outcome,
) -> Reply {
    let mut data = content.data;
    if let (Some(_), Value::String(text)) = (&fault, &mut data)
        && text.len() > MAX_ERROR_TEXT
    {
        text.truncate(text.floor_char_boundary(MAX_ERROR_TEXT));
        metadata.output_truncated = true;
    }
    metadata.output_truncated |= content.cut || output::is_cut(outcome);
    metadata.data_form = Some(content.form);
    metadata.media_type = content.media_type;
    metadata.charset = content.charset;
    metadata.next_link = content.next_link;
    metadata.pages = content.pages;
    metadata.logs = content.logs;
    metadata.notes = content.notes;
    let whole;
    (metadata.flags, whole) = flags::find(&data, &metadata.logs, &metadata.stderr, &content.files);
    metadata.taint = flags::taint(tool, &metadata.flags, whole);
    if !whole {
        let detail = "the rest was not searched for instructions".to_owned();
        metadata.notes.push(Note { kind: UNSEARCHED.to_owned(), detail });
    }
    metadata.files = content.files.iter().map(|file| file.facts.clone()).collect();
    metadata.retry_after_ms =
        fault.as_ref().and_then(|fault| fault.failure.retry_after).map(Millis::from);
    let code = fault.as_ref().map_or("OK", |fault| fault.failure.code.as_str());
    metrics::counter!("switchboard_normalize_replies_total", "code" => code).increment(1);
    Reply {
        tool_name: tool.name.clone(),
        status: match fault {
            None => Status::Success,
            Some(_) => Status::Error,
        },
        data,
        error: fault.map(|fault| ReplyError::new(fault.failure, fault.retryable)),
        metadata,
        files: content.files,
    }
}

/// The fault of data that its tool's output schema does not allow. An upstream that sends no body
/// says thereby that all is well.
fn misshapen(
    tool: &Tool,
    outcome: &Outcome,
    content: &Content,
    schemas: &Schemas,
) -> Option<Fault> {
    if outcome.http.is_some() && content.form == Form::None {
        return None;
    }
    let violations = schemas.check_output(tool, &content.data).err()?;
    let first = violations.first().map_or("", |one| &one.message);
    let message = format!("the tool's result is not what its output schema promises: {first}");
    let failure = Failure::new(Code::OutputSchemaError, message)
        .with_details(json!({"violations": violations}));
    Some(Fault::new(failure))
}

/// The reply to a call that did not run. `repairs` are those made before it was refused.
pub fn refuse(call: &Call, tool_name: &str, failure: &Failure, repairs: &[Change]) -> Reply {
    let mut metadata = Metadata::bare(call);
    metadata.repairs = repairs.to_vec();
    metadata.retry_after_ms = failure.retry_after.map(Millis::from);
    let code = failure.code.as_str();
    metrics::counter!("switchboard_normalize_replies_total", "code" => code).increment(1);
    Reply {
        tool_name: tool_name.to_owned(),
        status: Status::Error,
        data: Value::Null,
        error: Some(ReplyError::new(failure.clone(), failure.code.retryable())),
        metadata,
        files: Vec::new(),
    }
}

impl ReplyError {
    fn new(failure: Failure, retryable: bool) -> Self {
        Self { code: failure.code, message: failure.message, details: failure.details, retryable }
    }
}

impl Reply {
    /// The same result as the answer to another, equal call. The new call's own repairs are set
    /// with [`Reply::set_repairs`].
    #[must_use]
    pub fn cached(&self, call: &Call, age: Duration) -> Self {
        let mut reply = self.clone();
        let fresh = Metadata::bare(call);
        let metadata = &mut reply.metadata;
        metadata.call_id = fresh.call_id;
        metadata.latency_ms = fresh.latency_ms;
        metadata.cache_hit = true;
        metadata.cache_age_ms = Some(Millis::from(age));
        metadata.repairs = Vec::new();
        metadata.pool = None;
        metadata.queue_ms = None;
        metadata.sandbox_ms = None;
        metadata.tool_ms = None;
        reply
    }

    /// Whether the result may be served again: a success whose text could be read.
    pub fn cacheable(&self) -> bool {
        self.status == Status::Success
            && !self.metadata.output_truncated
            && self.metadata.notes.iter().all(|note| note.kind == UNSEARCHED)
    }

    /// Sets the whole time that the call took.
    pub fn set_latency(&mut self, latency: Duration) {
        self.metadata.latency_ms = Millis::from(latency);
    }

    /// Sets the repairs of the call that is answered.
    pub fn set_repairs(&mut self, repairs: Vec<Change>) {
        self.metadata.repairs = repairs;
    }

    /// The reply as one line of JSON: the bytes that gRPC, the command line and the ledger share.
    pub fn to_json(&self) -> String {
        // Only a map with keys that are no text could fail, and there is none.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
