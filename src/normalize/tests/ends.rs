//! How a tool ended, and the code that says so.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{code, plain, printed, reply, reply_of};
use crate::call::Code;
use crate::catalog::Risk;
use crate::normalize::Status;
use crate::sandbox::{EgressAttempt, End, Outcome};

fn ended(end: End, stdout: &'static str) -> Outcome {
    Outcome { end, ..printed(stdout) }
}

fn attempt(host: &str, allowed: bool) -> EgressAttempt {
    EgressAttempt {
        secrets: Vec::new(),
        status: None,
        duration_us: 1,
        host: host.to_owned(),
        port: 443,
        address: None,
        allowed,
        reason: if allowed { "" } else { "no rule" }.to_owned(),
        sent: 0,
        received: 0,
    }
}

#[test]
fn each_end_has_its_code() {
    for (end, expected, retryable) in [
        (End::Exited(1), Code::ExecutionError, false),
        (End::Exited(255), Code::ExecutionError, false),
        (End::Signaled(9), Code::ExecutionError, false),
        (End::NotStarted("no such file".to_owned()), Code::SandboxUnavailable, false),
        (End::Timeout, Code::ToolTimeout, false),
        (End::OutOfMemory, Code::ToolOutOfMemory, false),
        (End::ProcessLimit, Code::ProcessLimit, false),
        (End::OutputLimit, Code::OutputLimit, false),
        (End::DiskLimit, Code::DiskLimit, false),
        (End::Cancelled, Code::Cancelled, false),
        (End::Lost("engine restarted".to_owned()), Code::SandboxUnavailable, true),
    ] {
        let reply = reply(ended(end.clone(), ""));
        assert_eq!(reply.status, Status::Error);
        let error = reply.error.unwrap();
        assert_eq!((error.code, error.retryable), (expected, retryable), "{end:?}");
        assert!(!error.message.is_empty() && !error.message.ends_with('.'), "{}", error.message);
    }
}

#[test]
fn a_failed_program_keeps_its_data_and_both_streams() {
    let mut outcome = ended(End::Exited(1), "{\"n\":0}");
    outcome.stderr = Bytes::from_static(b"bad input\n");
    let reply = reply(outcome);
    assert_eq!(reply.data, json!({"n": 0}));
    assert_eq!(reply.metadata.exit_code, Some(1));
    assert_eq!(reply.metadata.stderr, "bad input");
    let error = reply.error.unwrap();
    assert_eq!(error.details, json!({"exit_code": 1}));
    // What a tool says never stands among our own words.
    assert!(!error.message.contains("bad input"));
}

#[test]
fn what_runs_well_is_a_success_whatever_it_says() {
    let mut warned = printed("{\"n\":1}");
    warned.stderr = Bytes::from_static(b"warn");
    assert_eq!(code(&reply(warned)), None);
    let empty = reply(printed(""));
    assert_eq!((empty.status, empty.data), (Status::Success, Value::Null));
    assert_eq!(code(&reply(printed("{\"ok\":false}"))), None);
    let mut child = printed("child=137");
    child.oom_kills = 1;
    let child = reply(child);
    assert_eq!((code(&child), child.metadata.oom_kills), (None, 1));
}

#[test]
fn what_did_not_start_differs_from_what_failed() {
    let absent = reply(ended(End::NotStarted("no such file".to_owned()), ""));
    assert_eq!(absent.error.as_ref().unwrap().details["cause"], "not_started");
    assert_eq!(absent.metadata.exit_code, None);
    let shell = reply(ended(End::Exited(127), ""));
    assert_eq!(code(&shell), Some(Code::ExecutionError));
    assert_eq!(shell.metadata.exit_code, Some(127));
}

#[test]
fn a_lost_writer_is_not_to_be_repeated() {
    let mut writer = plain();
    writer.risk = Risk::Write;
    writer.idempotent = false;
    let reply = reply_of(writer, ended(End::Lost("gone".to_owned()), ""));
    let error = reply.error.unwrap();
    assert!(!error.retryable);
    assert_eq!(error.details["may_have_run"], true);
}

#[test]
fn a_refused_connection_explains_a_failure_but_is_none_by_itself() {
    let mut failed = ended(End::Exited(6), "");
    failed.egress = vec![attempt("ok.example", true), attempt("evil.example", false)];
    let failed = reply(failed);
    let error = failed.error.as_ref().unwrap();
    assert_eq!(error.code, Code::EgressDenied);
    assert_eq!(error.details["host"], "evil.example");
    assert_eq!(error.details["port"], 443);
    assert!(error.message.contains("`plain`"), "{}", error.message);
    assert_eq!(failed.metadata.egress.len(), 2);
    let mut coped = printed("{}");
    coped.egress = vec![attempt("evil.example", false)];
    let coped = reply(coped);
    assert_eq!(coped.status, Status::Success);
    assert!(!coped.metadata.egress[0].allowed);
    let mut slow = ended(End::Timeout, "");
    slow.egress = vec![attempt("evil.example", false)];
    assert_eq!(code(&reply(slow)), Some(Code::ToolTimeout));
}

#[test]
fn limits_are_named_with_their_size() {
    let mut outcome = ended(End::OutputLimit, "yyyy");
    outcome.stdout_bytes = 5 << 20;
    let flood = reply(outcome);
    assert!(flood.metadata.output_truncated);
    let details = &flood.error.as_ref().unwrap().details;
    assert_eq!(details["limit_bytes"], 1 << 20);
    assert_eq!(details["written_bytes"], 5 << 20);
    let slow = reply(ended(End::Timeout, "")).error.unwrap();
    assert_eq!(slow.details["limit_ms"], 3000);
    let hungry = reply(ended(End::OutOfMemory, "")).error.unwrap();
    assert_eq!(hungry.details["limit_bytes"], 512 << 20);
}

#[test]
fn long_text_of_a_failure_is_cut() {
    let mut outcome = printed("é".repeat(100_000));
    outcome.end = End::Exited(1);
    let reply = reply(outcome);
    assert_eq!(reply.data.as_str().map(str::len), Some(16 << 10));
    assert!(reply.metadata.output_truncated);
}
