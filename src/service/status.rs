//! The only maker of [`tonic::Status`]: which code, which details.

use std::time::Duration;

use prost::Message;
use prost_types::Any;
use tonic::{Code as Grpc, Status};
use tonic_types::pb;

use crate::admission::{self, Unproven};
use crate::approval;
use crate::call::Code;
use crate::mask;
use crate::normalize::Reply;
use crate::pipeline::Undecided;
use crate::proto::{REPLY_TYPE_URL, tools as proto};

const DOMAIN: &str = "switchboard";
/// Bytes of a reply that go along with a status. Clients take 8 KiB of trailers, in which details are a third
/// longer and the message stands twice.
const DETAIL_BYTES: usize = 3072;
/// Bytes of a message as it is written on the wire.
const MESSAGE_BYTES: usize = 1024;
/// Wrong fields that a status names, and bytes of all of them.
const LISTED: usize = 16;
const LISTED_BYTES: usize = 1536;
/// Bytes of a text that are looked at for what must not be told; more than are told of any.
const LOOKED: usize = 8 << 10;

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
    let owned: Vec<(String, String)> =
        violations.iter().map(|(field, wrong)| ((*field).to_owned(), wrong.clone())).collect();
    fields(&owned, 0)
}

/// As [`malformed`], for fields whose names are made; `more` are wrong beside them.
pub(super) fn fields(violations: &[(String, String)], more: usize) -> Status {
    let told = violations.iter().map(|(field, wrong)| format!("`{field}` {wrong}")).collect();
    refused("MALFORMED_REQUEST", "", violations, (told, more))
}

/// Wrong fields, as many as trailers hold, and a message that `begins` so and tells each, and how many more
/// there are.
pub(super) fn refused(
    why: &str,
    begins: &str,
    violations: &[(String, String)],
    (told, more): (Vec<String>, usize),
) -> Status {
    let (mut named, mut bytes) = (Vec::new(), 0);
    for (field, wrong) in violations.iter().take(LISTED) {
        let one = pb::bad_request::FieldViolation {
            field: shown(field, LISTED_BYTES / 4, str::len),
            description: shown(wrong, LISTED_BYTES / 2, str::len),
            ..Default::default()
        };
        bytes += one.encoded_len();
        if bytes > LISTED_BYTES {
            break;
        }
        named.push(one);
    }
    let more = violations.len().saturating_sub(named.len()).saturating_add(more);
    let all: Vec<&str> = told.iter().take(named.len()).map(String::as_str).collect();
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    let most = MESSAGE_BYTES.saturating_sub(rest.len());
    let message = shown(&format!("{begins}{}", all.join("; ")), most, written) + &rest;
    let bad = pb::BadRequest { field_violations: named };
    with_details(Grpc::InvalidArgument, &message, vec![reason(why), google("BadRequest", &bad)])
}

/// The bytes of a text on the wire, where what is not plain takes three.
fn written(text: &str) -> usize {
    text.bytes().map(|byte| if (b' '..=b'~').contains(&byte) && byte != b'%' { 1 } else { 3 }).sum()
}

/// A text as it may be told, without what looks sensitive: errors end in logs of clients, and what was
/// refused may be a key in the wrong place.
fn shown(text: &str, most: usize, bytes: fn(&str) -> usize) -> String {
    let start = text.get(..text.floor_char_boundary(LOOKED)).unwrap_or(text);
    cut(&mask::text(start), most, bytes)
}

/// As much of the text as has so many bytes, and a mark where some is missing.
fn cut(text: &str, most: usize, bytes: fn(&str) -> usize) -> String {
    if bytes(text) <= most {
        return text.to_owned();
    }
    let (mut kept, mut taken) = (String::new(), 3);
    for c in text.chars() {
        taken += bytes(c.encode_utf8(&mut [0; 4]));
        if taken > most {
            break;
        }
        kept.push(c);
    }
    kept + "..."
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

/// Why a request was not let in.
pub(super) fn of_admission(error: &admission::Error) -> Status {
    let failure = error.failure();
    let code = match failure.code {
        Code::RateLimited => Grpc::ResourceExhausted,
        Code::Draining => Grpc::Unavailable,
        _ => Grpc::Internal,
    };
    let delay = failure.retry_after.map(retry);
    let details = std::iter::once(reason(failure.code.as_str())).chain(delay).collect();
    with_details(code, &failure.message, details)
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
    let message = &shown(message, MESSAGE_BYTES, written);
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

#[cfg(test)]
mod tests {
    use tonic_types::StatusExt;

    use super::*;

    #[test]
    fn a_status_fits_into_trailers_however_much_is_wrong_and_tells_no_secret() {
        for (count, text) in [(1, "短"), (40, "很长的说明"), (5000, "a%b")] {
            let wrong: Vec<(String, String)> =
                (0..count).map(|at| (format!("/facts/{at}/value"), text.repeat(300))).collect();
            let status = fields(&wrong, 7);
            let bad = status.get_details_bad_request().unwrap();
            assert!(!bad.field_violations.is_empty() && bad.field_violations.len() <= 16);
            let left = count - bad.field_violations.len() + 7;
            assert!(status.message().ends_with(&format!("; and {left} more")), "{status:?}");
            let bytes = written(status.message()) + status.details().len().div_ceil(3) * 4;
            assert!(bytes <= 5 << 10, "{bytes} bytes of trailers");
        }
        let long = with_details(Grpc::NotFound, &"名".repeat(5000), vec![reason("UNKNOWN_UNIT")]);
        assert!(written(long.message()) <= MESSAGE_BYTES && long.message().ends_with("..."));
        let secret = "there is no collection `sk-proj-0123456789abcdefABCDEF0123456789abcdef`";
        let told = not_found("UNKNOWN_COLLECTION", secret);
        assert!(!told.message().contains("0123456789abcdef"), "{}", told.message());
        let wrong = [("source".to_owned(), "`a@b.example` is not allowed".to_owned())];
        let told = fields(&wrong, 0);
        let bad = told.get_details_bad_request().unwrap();
        assert!(!format!("{} {bad:?}", told.message()).contains("a@b"), "{told:?}");
        // One that stands where the message is cut is hidden too.
        for before in 960..1020 {
            let wrong = format!("{}a@b.example is not allowed", " ".repeat(before));
            let told = fields(&[("source".to_owned(), wrong)], 0);
            assert!(!told.message().contains("a@b"), "{told:?}");
        }
        let short = malformed(&[("page_token", "is none".to_owned())]);
        assert_eq!(short.message(), "`page_token` is none");
    }
}
