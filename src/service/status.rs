//! The only maker of [`tonic::Status`]: which code, which details.

use std::time::Duration;

use prost::Message;
use prost_types::Any;
use tonic::{Code as Grpc, Status};
use tonic_types::pb;

use crate::admission::Unproven;
use crate::approval;
use crate::call::Code;
use crate::normalize::Reply;
use crate::pipeline::Undecided;
use crate::proto::{REPLY_TYPE_URL, tools as proto};

const DOMAIN: &str = "switchboard";
/// Bytes of a reply that go along with a status.
const DETAIL_BYTES: usize = 4096;

/// The gRPC code of a reply that the calling program has to handle; `None` for one that the model
/// should read.
pub(super) const fn grpc_code(code: Code) -> Option<Grpc> {
    match code {
        Code::RateLimited => Some(Grpc::ResourceExhausted),
        Code::SandboxUnavailable | Code::Draining => Some(Grpc::Unavailable),
        Code::DeadlineExceeded => Some(Grpc::DeadlineExceeded),
        Code::Cancelled => Some(Grpc::Cancelled),
        Code::Internal | Code::LedgerUnavailable => Some(Grpc::Internal),
        Code::UnknownTool
        | Code::SchemaValidationError
        | Code::PolicyDenied
        | Code::ApprovalRequired
        | Code::ApprovalRejected
        | Code::ToolTimeout
        | Code::ToolOutOfMemory
        | Code::ProcessLimit
        | Code::OutputLimit
        | Code::DiskLimit
        | Code::EgressDenied
        | Code::ExecutionError
        | Code::UpstreamError
        | Code::OutputSchemaError
        | Code::DuplicateCall
        | Code::Skipped => None,
    }
}

/// The status for a reply that has one, with the reply itself among the details.
pub(super) fn of_reply(reply: &Reply, wire: &proto::Reply) -> Option<Status> {
    let error = reply.error.as_ref()?;
    // Clients send again after UNAVAILABLE: it stands only for what surely did not run.
    let grpc =
        grpc_code(error.code).filter(|grpc| *grpc != Grpc::Unavailable || error.retryable)?;
    let mut details = vec![reason_of(error.code.as_str(), &reply.metadata.call_id)];
    if let Some(delay) = reply.metadata.retry_after_ms {
        details.push(retry(delay.into()));
    }
    // Trailers have limits of their own; a larger reply is read by its call id.
    if wire.encoded_len() <= DETAIL_BYTES {
        details.push(any(wire));
    }
    Some(with_details(grpc, &error.message, details))
}

/// Wrong fields of a request: each with its name and what is wrong with it.
pub(super) fn malformed(violations: &[(&str, String)]) -> Status {
    let message = violations
        .iter()
        .map(|(field, wrong)| format!("`{field}` {wrong}"))
        .collect::<Vec<_>>()
        .join("; ");
    let fields = violations
        .iter()
        .map(|(field, wrong)| pb::bad_request::FieldViolation {
            field: (*field).to_owned(),
            description: wrong.clone(),
            ..Default::default()
        })
        .collect();
    let bad = pb::BadRequest { field_violations: fields };
    let details = vec![reason("MALFORMED_REQUEST"), google("BadRequest", &bad)];
    with_details(Grpc::InvalidArgument, &message, details)
}

/// As [`malformed`], for fields whose names are made.
pub(super) fn fields(violations: &[(String, String)]) -> Status {
    let borrowed: Vec<(&str, String)> =
        violations.iter().map(|(field, wrong)| (field.as_str(), wrong.clone())).collect();
    malformed(&borrowed)
}

/// Something that was asked for by name is not there.
pub(super) fn not_found(why: &str, message: &str) -> Status {
    with_details(Grpc::NotFound, message, vec![reason(why)])
}

/// The transport does not say who sends.
pub(super) fn unknown_peer() -> Status {
    with_details(Grpc::Unauthenticated, "the connection does not tell who sends", vec![])
}

/// The sender does not prove who it is.
pub(super) fn unproven(why: Unproven) -> Status {
    with_details(Grpc::Unauthenticated, &why.to_string(), vec![reason(why.as_str())])
}

/// Why an approval is not shown, or not decided.
pub(super) fn of_approval(error: &approval::Error) -> Status {
    use approval::Error;
    let message = error.to_string();
    match error {
        Error::Unknown { .. } | Error::Unfit { .. } => not_found("UNKNOWN_APPROVAL", &message),
        Error::NotPending { .. } => {
            with_details(Grpc::FailedPrecondition, &message, vec![reason("NOT_PENDING")])
        }
        Error::Required(_)
        | Error::Rejected(_)
        | Error::Crowded { .. }
        | Error::Open { .. }
        | Error::Database(_)
        | Error::Closed => {
            let details = vec![reason("APPROVALS_UNAVAILABLE"), retry(Duration::from_secs(1))];
            with_details(Grpc::Unavailable, &message, details)
        }
    }
}

/// A watch that the daemon ends: another one goes on from the last revision.
pub(super) fn watch_over() -> Status {
    let details = vec![reason("WATCH_OVER"), retry(Duration::from_millis(100))];
    with_details(Grpc::Unavailable, "watch again from the last revision on", details)
}

/// Why nothing was decided.
pub(super) fn undecided(why: &Undecided) -> Status {
    match why {
        Undecided::Queue(error) => of_approval(error),
        Undecided::NotApprover(..) => {
            let details = vec![reason("NOT_AN_APPROVER")];
            with_details(Grpc::PermissionDenied, &why.to_string(), details)
        }
        Undecided::Unrecorded(_) => unavailable(Code::LedgerUnavailable, &why.to_string()),
    }
}

/// The ledger cannot be read.
pub(super) fn unavailable(why: Code, message: &str) -> Status {
    let details = vec![reason(why.as_str()), retry(Duration::from_secs(1))];
    with_details(Grpc::Unavailable, message, details)
}

/// A fault of ours; the rest is in the log.
pub(super) fn internal(call_id: &str) -> Status {
    let message = format!("internal fault; the log has it under call id {call_id}");
    with_details(Grpc::Internal, &message, vec![reason(Code::Internal.as_str())])
}

pub(super) fn with_details(code: Grpc, message: &str, details: Vec<Any>) -> Status {
    let status = pb::Status { code: code as i32, message: message.to_owned(), details };
    Status::with_details(code, message, status.encode_to_vec().into())
}

pub(super) fn reason(reason: &str) -> Any {
    reason_of(reason, "")
}

/// The reason, and the call's id where there is one.
fn reason_of(reason: &str, call_id: &str) -> Any {
    let id = (!call_id.is_empty()).then(|| ("call_id".to_owned(), call_id.to_owned()));
    let info = pb::ErrorInfo {
        reason: reason.to_owned(),
        domain: DOMAIN.to_owned(),
        metadata: id.into_iter().collect(),
    };
    google("ErrorInfo", &info)
}

pub(super) fn retry(delay: Duration) -> Any {
    let delay = prost_types::Duration::try_from(delay).unwrap_or_default();
    google("RetryInfo", &pb::RetryInfo { retry_delay: Some(delay) })
}

pub(super) fn google(name: &str, message: &impl Message) -> Any {
    Any {
        type_url: format!("type.googleapis.com/google.rpc.{name}"),
        value: message.encode_to_vec(),
    }
}

fn any(reply: &proto::Reply) -> Any {
    Any { type_url: REPLY_TYPE_URL.to_owned(), value: reply.encode_to_vec() }
}
