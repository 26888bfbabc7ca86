//! Wire types from and to our own; nothing else knows both.

use std::time::Duration;

use tonic::Status;

use crate::call::{Call, CallId, Dialect};
use crate::catalog::{Exported, Risk, Tool};
use crate::normalize::{self, Millis};
use crate::pipeline::{CallError, Preview, Recorded};
use crate::proto::tools as proto;
use crate::schema::Change;

use super::{files, result, status};

/// Bytes of a tool name, a conversation id, an idempotency key or an approval's id.
const NAME_BYTES: usize = 256;

/// The name of something that is looked up; an error repeats it, so it is bounded.
pub(super) fn named(field: &'static str, name: String) -> Result<String, Status> {
    match fault(&name) {
        Some(fault) => Err(status::malformed(&[(field, fault)])),
        None => Ok(name),
    }
}

/// What is wrong with a name, if anything.
fn fault(name: &str) -> Option<String> {
    if name.len() > NAME_BYTES {
        return Some(format!("has {} bytes; at most {NAME_BYTES}", name.len()));
    }
    name.chars().any(char::is_control).then(|| "has a control character".to_owned())
}

/// A call from its wire form. Names each field that is malformed.
pub(super) fn call(wire: proto::CallRequest) -> Result<Call, Status> {
    read(wire).map_err(|wrong| status::malformed(&wrong))
}

/// A call from its wire form, or each field that is malformed with what is wrong with it.
pub(super) fn read(wire: proto::CallRequest) -> Result<Call, Vec<(&'static str, String)>> {
    let mut wrong = Vec::new();
    if wire.tool_name.is_empty() {
        wrong.push(("tool_name", "is empty; ListTools gives the names".to_owned()));
    }
    let texts = [
        ("tool_name", &wire.tool_name),
        ("conversation_id", &wire.conversation_id),
        ("idempotency_key", &wire.idempotency_key),
        ("approval_id", &wire.approval_id),
    ];
    wrong.extend(texts.into_iter().filter_map(|(field, text)| Some((field, fault(text)?))));
    let id = match wire.call_id.as_str() {
        "" => Some(CallId::generate()),
        given => CallId::parse(given),
    };
    if id.is_none() {
        wrong.push(("call_id", "is not a UUID".to_owned()));
    }
    let dialect = known(wire.dialect).unwrap_or_else(|fault| {
        wrong.push(("dialect", fault));
        None
    });
    wrong.extend(files::fault(&wire.output_files).map(|fault| ("output_files", fault)));
    let files = files::take(wire.files).unwrap_or_else(|fault| {
        wrong.push(("files", fault));
        Vec::new()
    });
    let (Some(id), true) = (id, wrong.is_empty()) else {
        return Err(wrong);
    };
    let arguments =
        if wire.arguments_json.is_empty() { "{}".to_owned() } else { wire.arguments_json };
    let mut call = Call::new(wire.tool_name, arguments);
    (call.id, call.named) = (id, !wire.call_id.is_empty());
    (call.files, call.output_files) = (files, wire.output_files);
    (call.conversation, call.dialect) = (wire.conversation_id, dialect);
    call.approval = Some(wire.approval_id).filter(|id| !id.is_empty());
    call.attends = wire.wait_for_approval;
    (call.max_tokens, call.full) = (wire.max_tokens, wire.full);
    call.idempotency_key = Some(wire.idempotency_key).filter(|key| !key.is_empty());
    Ok(call)
}

/// The dialect that was asked for, if any.
pub(super) fn dialect(wire: i32) -> Result<Option<Dialect>, Status> {
    known(wire).map_err(|fault| status::malformed(&[("dialect", fault)]))
}

impl From<Dialect> for proto::Dialect {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Openai => Self::Openai,
            Dialect::OpenaiStrict => Self::OpenaiStrict,
            Dialect::Anthropic => Self::Anthropic,
            Dialect::Gemini => Self::Gemini,
            Dialect::Plain => Self::Plain,
        }
    }
}

fn known(wire: i32) -> Result<Option<Dialect>, String> {
    let known = proto::Dialect::try_from(wire);
    let known = known.map_err(|error| format!("`{wire}` is not known: {error}"))?;
    Ok(match known {
        proto::Dialect::Unspecified => None,
        proto::Dialect::Openai => Some(Dialect::Openai),
        proto::Dialect::OpenaiStrict => Some(Dialect::OpenaiStrict),
        proto::Dialect::Anthropic => Some(Dialect::Anthropic),
        proto::Dialect::Gemini => Some(Dialect::Gemini),
        proto::Dialect::Plain => Some(Dialect::Plain),
    })
}

/// A tool, in a dialect too where one was asked for.
pub(super) fn tool_in(tool: &Tool, export: Option<&Exported>) -> proto::Tool {
    let losses = export.into_iter().flat_map(|export| &export.losses).map(|loss| proto::Loss {
        pointer: loss.pointer.clone(),
        keyword: loss.keyword.clone(),
        message: loss.message.clone(),
    });
    proto::Tool {
        losses: losses.collect(),
        definition_json: export.map(|export| export.definition.clone()).unwrap_or_default(),
        ..self::tool(tool)
    }
}

impl From<Risk> for proto::Risk {
    fn from(risk: Risk) -> Self {
        match risk {
            Risk::Read => Self::Read,
            Risk::Write => Self::Write,
            Risk::Destructive => Self::Destructive,
            Risk::Outbound => Self::Outbound,
        }
    }
}

fn tool(tool: &Tool) -> proto::Tool {
    proto::Tool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        input_schema_json: tool.input_schema.to_string(),
        output_schema_json: tool
            .output_schema
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        risk: proto::Risk::from(tool.risk).into(),
        idempotent: tool.idempotent,
        cache_ttl_ms: tool.cache_ttl.map(millis).unwrap_or_default(),
        timeout_ms: millis(tool.profile.limits.wall),
        source: tool.source.clone(),
        operation: tool.operation.clone().unwrap_or_default(),
        digest: tool.digest.clone(),
        files: files::declared(&tool.files),
        ..proto::Tool::default()
    }
}

pub(super) fn reply(recorded: &Recorded) -> proto::Reply {
    let Recorded { reply, json, .. } = recorded;
    let status = match reply.status {
        normalize::Status::Success => proto::reply::Status::Success,
        normalize::Status::Error => proto::reply::Status::Error,
    };
    let metadata = &reply.metadata;
    proto::Reply {
        tool_name: reply.tool_name.clone(),
        status: status.into(),
        data_json: reply.data.to_string(),
        error: reply.error.as_ref().map(|error| proto::Error {
            code: error.code.as_str().to_owned(),
            message: error.message.clone(),
            details_json: error.details.to_string(),
            retryable: error.retryable,
        }),
        metadata: Some(proto::Metadata {
            call_id: metadata.call_id.to_string(),
            latency_ms: fraction(Some(metadata.latency_ms)),
            cache_hit: metadata.cache_hit,
            cache_age_ms: fraction(metadata.cache_age_ms),
            repairs: metadata.repairs.iter().map(repair).collect(),
            pool: metadata.pool.clone().unwrap_or_default(),
            queue_ms: fraction(metadata.queue_ms),
            sandbox_ms: fraction(metadata.sandbox_ms),
            tool_ms: fraction(metadata.tool_ms),
            output_truncated: metadata.output_truncated,
            retry_after_ms: metadata
                .retry_after_ms
                .map(|wait| millis(wait.into()))
                .unwrap_or_default(),
            origin: metadata.origin.as_ref().map(result::origin),
            taint: metadata.taint.iter().map(ToString::to_string).collect(),
            view: metadata.view.as_ref().map(result::view),
        }),
        json: json.clone(),
        files: files::give(&reply.files),
    }
}

pub(super) fn preview(outcome: Result<Preview, CallError>, asked: &str) -> proto::ValidateResponse {
    match outcome {
        Ok(preview) => proto::ValidateResponse {
            valid: true,
            tool_name: preview.tool_name,
            arguments_json: preview.arguments_json,
            repairs: preview.repairs.iter().map(repair).collect(),
            error: None,
            policies: preview.policies,
        },
        Err(error) => {
            let failure = error.failure();
            proto::ValidateResponse {
                tool_name: asked.to_owned(),
                error: Some(proto::Error {
                    code: failure.code.as_str().to_owned(),
                    message: failure.message,
                    details_json: failure.details.to_string(),
                    retryable: failure.code.retryable(),
                }),
                ..Default::default()
            }
        }
    }
}

fn repair(change: &Change) -> proto::Repair {
    proto::Repair {
        kind: change.kind.clone(),
        pointer: change.pointer.clone(),
        from: change.from.clone(),
        to: change.to.clone(),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn fraction(millis: Option<Millis>) -> f64 {
    millis.map_or(0.0, |millis| Duration::from(millis).as_secs_f64() * 1000.0)
}
