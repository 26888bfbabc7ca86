//! Which status a request to the reasoning ends with, and which details it has.

use std::time::Duration;

use tonic::{Code as Grpc, Status};

use super::status::{self, reason, retry, with_details};
use crate::call::Code;
use crate::reason::{Error, Unserved};

/// When to come again to runs that cannot be had.
const SOON: Duration = Duration::from_secs(2);

/// Why there is no answer.
pub(super) fn of_reason(error: &Unserved) -> Status {
    let message = error.to_string();
    match error {
        Unserved::Unavailable(_) => unavailable(&message),
        Unserved::Denied(_) => {
            with_details(Grpc::PermissionDenied, &message, vec![reason("POLICY_DENIED")])
        }
        Unserved::Run(error) => of_run(error),
        Unserved::Unrecorded(_) => status::unavailable(Code::LedgerUnavailable, &message),
    }
}

/// Why the runs do not do it.
pub(super) fn of_run(error: &Error) -> Status {
    let message = error.told();
    let with = |code, why: &str| with_details(code, &message, vec![reason(why)]);
    match error {
        Error::Argument { field, reason } => status::malformed(&[(field, reason.clone())]),
        Error::Unknown(_) => status::not_found("UNKNOWN_RUN", &message),
        Error::Agent(_) => status::not_found("UNKNOWN_AGENT", &message),
        Error::State { .. } => with(Grpc::FailedPrecondition, "WRONG_STATE"),
        Error::Busy { retry_after, .. } => {
            let details = vec![reason("RATE_LIMITED"), retry(*retry_after)];
            with_details(Grpc::ResourceExhausted, &message, details)
        }
        Error::Off(_) => with(Grpc::Unimplemented, "REASON_OFF"),
        Error::Draining => draining(),
        Error::Stopped(_) => unavailable(&message),
        error if error.is_full() => {
            with_details(Grpc::ResourceExhausted, &message, vec![reason("RUNS_FULL"), retry(SOON)])
        }
        Error::Open { .. } | Error::Database(_) | Error::Config { .. } => {
            tracing::error!(%error, "the runs cannot be had");
            unavailable(&message)
        }
        Error::Unread { .. } => {
            tracing::error!(%error, "a run cannot be read");
            status::internal("")
        }
    }
}

fn unavailable(message: &str) -> Status {
    let details = vec![reason("REASON_UNAVAILABLE"), retry(SOON)];
    with_details(Grpc::Unavailable, message, details)
}

/// The daemon ends, and a stream with it.
pub(super) fn draining() -> Status {
    let message = "the daemon is shutting down: resume at its successor, from the last event";
    with_details(Grpc::Unavailable, message, vec![reason(Code::Draining.as_str()), retry(SOON)])
}

/// The deadline passed.
pub(super) fn late() -> Status {
    let message = "the deadline passed before the run had ended: resume it from the last event";
    with_details(Grpc::DeadlineExceeded, message, vec![reason("DEADLINE_EXCEEDED")])
}

/// A stream that is too old.
pub(super) fn over() -> Status {
    let message = "this stream is old: resume the run from the last event";
    let details = vec![reason("STREAM_OVER"), retry(Duration::from_millis(100))];
    with_details(Grpc::Unavailable, message, details)
}
