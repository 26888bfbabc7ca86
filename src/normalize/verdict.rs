//! What went wrong, if anything did: a tool's outcome in, a [`Fault`] with its stable code out.
//! The words are ours alone; what the tool said stays in data, logs and stderr.

use std::time::Duration;

use serde_json::{Value, json};

use super::body::header;
use super::output::{Content, promises_json};
use crate::call::{Code, Failure};
use crate::catalog::{Risk, Target, Tool};
use crate::sandbox::{EgressAttempt, End, HttpAnswer, Outcome};

/// Longest wait that is passed on from an upstream.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// A failure, and whether the same call may succeed later.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) failure: Failure,
    pub(super) retryable: bool,
}

impl Fault {
    pub(super) fn new(failure: Failure) -> Self {
        Self { retryable: failure.code.retryable(), failure }
    }

    fn of(code: Code, message: impl Into<String>, details: Value) -> Self {
        Self::new(Failure::new(code, message).with_details(details))
    }

    fn retryable(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }

    /// The tool may have done its work: that is told, and whether it may be tried again is another
    /// matter for a tool that must not run twice.
    fn unsure(mut self, tool: &Tool) -> Self {
        if repeatable(tool) {
            return self;
        }
        self.retryable = false;
        if let Some(details) = self.failure.details.as_object_mut() {
            details.insert("may_have_run".to_owned(), true.into());
        }
        self
    }
}

/// The fault of an outcome; `None` where the tool ran and did what it should.
pub(super) fn judge(tool: &Tool, outcome: &Outcome, content: &Content) -> Option<Fault> {
    match &outcome.end {
        End::Exited(0) => judge_result(tool, outcome, content),
        End::Exited(code) => Some(denied(tool, outcome).unwrap_or_else(|| {
            broken_off(tool, outcome).or_else(|| unreached(tool, outcome)).unwrap_or_else(|| {
                let hint = match code {
                    126 => ", the shell's sign for a program that may not be run",
                    127 => ", the shell's sign for a program that is not there",
                    _ => "",
                };
                Fault::of(
                    Code::ExecutionError,
                    format!("the tool exited with code {code}{hint}"),
                    json!({"exit_code": code}),
                )
            })
        })),
        End::Signaled(signal) => Some(denied(tool, outcome).unwrap_or_else(|| {
            let name = signal_name(*signal);
            Fault::of(
                Code::ExecutionError,
                format!("the tool was ended by signal {signal}{name}"),
                json!({"signal": signal, "oom_kills": outcome.oom_kills}),
            )
        })),
        End::NotStarted(why) => Some(
            Fault::of(
                Code::SandboxUnavailable,
                "the tool's program could not be started: its definition or image must be mended",
                json!({"cause": "not_started", "reason": why}),
            )
            .retryable(false),
        ),
        End::Lost(why) => Some(lost(tool, why)),
        End::Timeout
        | End::OutOfMemory
        | End::ProcessLimit
        | End::OutputLimit
        | End::DiskLimit
        | End::Cancelled => Some(limited(tool, outcome)),
    }
}

/// A limit, or the caller, ended the tool.
fn limited(tool: &Tool, outcome: &Outcome) -> Fault {
    let limits = &outcome.limits;
    match outcome.end {
        End::OutOfMemory => Fault::of(
            Code::ToolOutOfMemory,
            format!(
                "the tool needed more memory than its limit of {} bytes: ask for less at once",
                limits.memory
            ),
            json!({"limit_bytes": limits.memory, "peak_bytes": outcome.peak_memory}),
        ),
        End::ProcessLimit => Fault::of(
            Code::ProcessLimit,
            format!("the tool started more processes than its limit of {}", limits.processes),
            json!({"limit": limits.processes}),
        ),
        End::OutputLimit => Fault::of(
            Code::OutputLimit,
            format!("the tool wrote more than its limit of {} bytes: ask for less", limits.output),
            json!({
                "limit_bytes": limits.output,
                "written_bytes": outcome.stdout_bytes.saturating_add(outcome.stderr_bytes),
            }),
        ),
        End::DiskLimit => Fault::of(
            Code::DiskLimit,
            format!(
                "the tool filled its scratch disk of {} bytes and {} files",
                limits.disk, limits.inodes
            ),
            json!({"limit_bytes": limits.disk, "limit_files": limits.inodes}),
        ),
        End::Cancelled => Fault::of(Code::Cancelled, "the call was cancelled", Value::Null),
        // The caller's deadline came before the tool's own limit.
        End::Timeout if limits.wall < tool.profile.limits.wall => Fault::of(
            Code::DeadlineExceeded,
            "the caller's deadline passed before the tool had ended",
            json!({"limit_ms": millis(limits.wall)}),
        )
        .unsure(tool),
        _ => Fault::of(
            Code::ToolTimeout,
            format!(
                "the tool did not end within its limit of {} ms: ask for less at once",
                limits.wall.as_millis()
            ),
            json!({
                "limit_ms": millis(limits.wall),
                "cpu_ms": millis(outcome.cpu),
            }),
        )
        .unsure(tool),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn lost(tool: &Tool, why: &str) -> Fault {
    Fault::of(
        Code::SandboxUnavailable,
        "the sandbox went away while the tool ran: it may or may not have done its work",
        json!({"cause": "lost", "reason": why, "may_have_run": true}),
    )
    .retryable(repeatable(tool))
}

/// Whether a tool that may have done its work may be tried again: only what can be done twice.
fn repeatable(tool: &Tool) -> bool {
    tool.idempotent || tool.risk == Risk::Read
}

/// The fault of a tool that failed after it was kept from connecting somewhere.
fn denied(tool: &Tool, outcome: &Outcome) -> Option<Fault> {
    let EgressAttempt { host, port, reason, .. } =
        outcome.egress.iter().find(|attempt| !attempt.allowed)?;
    let profile = &tool.profile.name;
    Some(Fault::of(
        Code::EgressDenied,
        format!(
            "the tool may not connect to `{host}:{port}`: an operator can allow it in the egress \
             rules of the sandbox profile `{profile}`"
        ),
        json!({"host": host, "port": port, "reason": reason, "profile": profile}),
    ))
}

/// The fault of an answer whose end did not come; what came is data.
fn broken_off(tool: &Tool, outcome: &Outcome) -> Option<Fault> {
    let answer = outcome.http.as_ref()?;
    let found = Fault::of(
        Code::UpstreamError,
        "the upstream's answer broke off or could not be unpacked: data holds what came",
        json!({"http_status": answer.status, "reason": said(outcome)}),
    );
    Some(found.retryable(true).unsure(tool))
}

/// The fault of an HTTP tool that got no answer.
fn unreached(tool: &Tool, outcome: &Outcome) -> Option<Fault> {
    let Target::Http(target) = &tool.target else {
        return None;
    };
    if outcome.http.is_some() {
        return None;
    }
    let server = &target.server;
    let mut reason = said(outcome);
    let astray = outcome.end == End::Exited(switchboard_runner::http::ASTRAY.into());
    let found = if astray {
        let message = format!("the upstream `{server}` leads the call astray: {reason}");
        Fault::of(Code::UpstreamError, message, json!({"server": server, "reason": reason}))
    } else {
        if reason.is_empty() {
            reason = outcome.egress.last().map_or_else(String::new, |last| last.reason.clone());
        }
        let message = format!("the upstream `{server}` gave no answer");
        let details = json!({"server": server, "reason": reason});
        Fault::of(Code::UpstreamError, message, details).retryable(true)
    };
    Some(if reached(outcome) { found.unsure(tool) } else { found })
}

/// What the HTTP client says in its one line.
fn said(outcome: &Outcome) -> String {
    let line = String::from_utf8_lossy(&outcome.stderr);
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    line.trim().chars().take(300).map(plain).collect()
}

/// Whether an upstream got a request of which it did not say that it did nothing.
fn reached(outcome: &Outcome) -> bool {
    let untouched = |status: u16| (400..500).contains(&status) || matches!(status, 501 | 503);
    outcome.egress.iter().any(|attempt| attempt.sent > 0 && !attempt.status.is_some_and(untouched))
}

fn judge_result(tool: &Tool, outcome: &Outcome, content: &Content) -> Option<Fault> {
    if let Some(answer) = &outcome.http {
        return judge_answer(tool, answer, content);
    }
    if matches!(tool.target, Target::Http(_)) {
        return denied(tool, outcome).or_else(|| unreached(tool, outcome));
    }
    content.noted("invalid_json").then(|| {
        Fault::of(
            Code::ExecutionError,
            "the tool promises JSON on standard output and wrote something else",
            json!({"exit_code": 0}),
        )
    })
}

fn judge_answer(tool: &Tool, answer: &HttpAnswer, content: &Content) -> Option<Fault> {
    let status = answer.status;
    let fault =
        |message: String| Fault::of(Code::UpstreamError, message, json!({"http_status": status}));
    match status {
        200..=299 if content.noted("invalid_json") => Some(fault(format!(
            "the upstream answered {status} and promised JSON, but sent something else"
        ))),
        200..=299 if is_stray_page(tool, content) => Some(
            fault(format!(
                "the upstream answered {status} with a page for people where its document promises \
                 JSON: it may want a login, or the address is wrong"
            ))
            .unsure(tool),
        ),
        200..=299 => None,
        304 => Some(fault(
            "the upstream answered 304: not modified, but there is no earlier copy".to_owned(),
        )),
        300..=399 => {
            let mut found =
                fault(format!("the upstream answered {status}: a redirect, which is not followed"));
            found.failure.details =
                json!({"http_status": status, "location": header(answer, "location")});
            Some(found)
        }
        401 | 403 | 407 => Some(fault(format!(
            "the upstream answered {status}: it refused the credential or its rights"
        ))),
        408 | 429 | 500..=599 => {
            let again = matches!(status, 408 | 429 | 502 | 503 | 504);
            let mut found =
                fault(format!("the upstream answered {status}{}", cause(status))).retryable(again);
            // A gateway does not know what became of the call behind it.
            if matches!(status, 502 | 504) {
                found = found.unsure(tool);
            }
            found.failure.retry_after = retry_after(answer).filter(|_| found.retryable);
            Some(found)
        }
        _ => Some(fault(format!("the upstream answered {status}{}", cause(status)))),
    }
}

/// Whether it is a page for people where the request asked for JSON only.
fn is_stray_page(tool: &Tool, content: &Content) -> bool {
    content.noted("unexpected_media_type") && content.is_page() && promises_json(tool)
}

/// What a status means, as the end of a sentence.
fn cause(status: u16) -> &'static str {
    match status {
        400 => ": the call is wrong, data may say how",
        404 | 410 => ": there is no such thing",
        408 | 504 => ": it took too long",
        409 => ": the call conflicts with the present state, data may say how",
        422 => ": it does not accept these values, data may say which",
        429 => ": too many calls",
        502 | 503 => ": it is not available at present",
        500..=599 => ": it failed",
        _ => "",
    }
}

/// The wait that a `Retry-After` header asks for.
fn retry_after(answer: &HttpAnswer) -> Option<Duration> {
    let asked = switchboard_runner::http::retry_after(|name| header(answer, name))?;
    Some(asked.min(MAX_WAIT))
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => " (illegal instruction)",
        6 => " (abort)",
        7 => " (bus error)",
        8 => " (arithmetic error)",
        9 => " (kill)",
        11 => " (segmentation fault)",
        13 => " (broken pipe)",
        15 => " (terminate)",
        24 => " (processor time)",
        25 => " (file size)",
        31 => " (forbidden system call)",
        _ => "",
    }
}
