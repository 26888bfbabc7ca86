//! Which status a request to the memory ends with, and which details it has.

use std::time::Duration;

use tonic::{Code as Grpc, Status};

use super::proto::remember_many_response::{Refusal, Violation as Wrong};
use super::status::{self, reason, retry, with_details};
use crate::call::Code;
use crate::mask;
use crate::memory::{Error as Fault, StoreError, Unserved, recall};

/// When to come again to a memory that does not answer.
const SOON: Duration = Duration::from_secs(2);

/// Why there is no answer.
pub(super) fn of_memory(error: &Unserved) -> Status {
    let message = error.to_string();
    match error {
        Unserved::Off(_) => with_details(Grpc::Unimplemented, &message, vec![reason("MEMORY_OFF")]),
        Unserved::Unavailable(_) => unavailable(&message),
        Unserved::Denied(_) => status::not_found("UNKNOWN_COLLECTION", &message),
        Unserved::Fault(fault) => of_fault(fault),
        Unserved::Recall(recall::Error::Question { field, reason }) => {
            status::fields(&[(format!("question.{field}"), reason.clone())], 0)
        }
        Unserved::Recall(recall::Error::Store(error)) => of_store(error),
        Unserved::Recall(recall::Error::Config { .. }) => unavailable(&message),
        Unserved::Context(_) => status::fields(&[("budget_tokens".to_owned(), message)], 0),
        Unserved::Late => late(),
        Unserved::Unrecorded(_) => status::unavailable(Code::LedgerUnavailable, &message),
    }
}

/// Why the memory does not do it.
pub(super) fn of_fault(fault: &Fault) -> Status {
    let message = fault.to_string();
    let with = |code, why: &str| with_details(code, &message, vec![reason(why)]);
    match fault {
        Fault::Refused(violations) => {
            let pair = |one: &crate::memory::Violation| (one.place.clone(), one.message.clone());
            let wrong: Vec<_> = violations.iter().map(pair).collect();
            let told = violations.iter().map(ToString::to_string).collect();
            status::refused("DRAFT_REFUSED", "the draft is refused: ", &wrong, (told, 0))
        }
        Fault::Known { .. } => with(Grpc::AlreadyExists, "ALREADY_KNOWN"),
        Fault::Busy { retry_after, .. } => {
            let details = vec![reason("RATE_LIMITED"), retry(*retry_after)];
            with_details(Grpc::ResourceExhausted, &message, details)
        }
        Fault::Unknown { what, .. } => status::not_found(&unknown(what), &message),
        Fault::Forbidden(_) => with(Grpc::PermissionDenied, "FORBIDDEN"),
        Fault::State(_) => with(Grpc::FailedPrecondition, "WRONG_STATE"),
        Fault::Argument { name, reason } => {
            status::fields(&[(name.to_string(), reason.clone())], 0)
        }
        Fault::Store(error) => of_store(error),
    }
}

/// Why one draft of a stream was not taken.
pub(super) fn refusal(fault: &Fault) -> Refusal {
    let violations = match fault {
        Fault::Refused(violations) => violations.as_slice(),
        _ => &[],
    };
    let violation = |one: &crate::memory::Violation| Wrong {
        field: one.place.clone(),
        description: mask::text(&one.message).into_owned(),
    };
    Refusal {
        reason: match fault {
            Fault::Refused(_) => "DRAFT_REFUSED".to_owned(),
            Fault::Known { .. } => "ALREADY_KNOWN".to_owned(),
            Fault::Unknown { what, .. } => unknown(what),
            Fault::Forbidden(_) => "FORBIDDEN".to_owned(),
            Fault::State(_) => "WRONG_STATE".to_owned(),
            Fault::Argument { .. } => "MALFORMED_REQUEST".to_owned(),
            Fault::Busy { .. } | Fault::Store(StoreError::Busy(_)) => "RATE_LIMITED".to_owned(),
            Fault::Store(_) => "MEMORY_UNAVAILABLE".to_owned(),
        },
        message: mask::text(&fault.to_string()).into_owned(),
        violations: violations.iter().map(violation).collect(),
    }
}

/// A draft of a stream whose message is malformed.
pub(super) fn malformed(wrong: &[(String, String)]) -> Refusal {
    let message = wrong.iter().map(|(field, what)| format!("`{field}` {what}"));
    let violation = |(field, what): &(String, String)| Wrong {
        field: field.clone(),
        description: mask::text(what).into_owned(),
    };
    Refusal {
        reason: "MALFORMED_REQUEST".to_owned(),
        message: mask::text(&message.collect::<Vec<_>>().join("; ")).into_owned(),
        violations: wrong.iter().map(violation).collect(),
    }
}

/// The daemon ends, and a stream with it.
pub(super) fn draining() -> Status {
    let message = "the daemon is shutting down: send what has no answer to its successor";
    with_details(Grpc::Unavailable, message, vec![reason(Code::Draining.as_str()), retry(SOON)])
}

/// The deadline passed.
pub(super) fn late() -> Status {
    let message = "the deadline passed before the memory had answered";
    with_details(Grpc::DeadlineExceeded, message, vec![reason("DEADLINE_EXCEEDED")])
}

fn of_store(error: &StoreError) -> Status {
    let message = error.to_string();
    match error {
        StoreError::Full(_) => {
            let details = vec![reason("MEMORY_FULL"), retry(SOON)];
            with_details(Grpc::ResourceExhausted, &message, details)
        }
        StoreError::Busy(_) => {
            let details = vec![reason("RATE_LIMITED"), retry(SOON)];
            with_details(Grpc::ResourceExhausted, &message, details)
        }
        StoreError::Open { .. }
        | StoreError::InUse { .. }
        | StoreError::Damaged { .. }
        | StoreError::Down(_)
        | StoreError::Closed => unavailable(&message),
        StoreError::Dimensions { .. } | StoreError::Models { .. } | StoreError::Engine(_) => {
            tracing::error!(%error, "the memory's store failed");
            with_details(Grpc::Internal, "internal fault; the log has it", vec![reason("INTERNAL")])
        }
    }
}

fn unavailable(message: &str) -> Status {
    let details = vec![reason("MEMORY_UNAVAILABLE"), retry(SOON)];
    with_details(Grpc::Unavailable, message, details)
}

/// The reason for what is not there.
fn unknown(what: &str) -> String {
    format!("UNKNOWN_{}", what.to_uppercase().replace(' ', "_"))
}
