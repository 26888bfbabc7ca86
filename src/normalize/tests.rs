//! The reply shape, and the treatments that `output.rs` documents.

mod answers;
mod ends;
mod flags;
mod outputs;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Millis, Reply, Status, refuse, shape};
use crate::admission::{Admitted, Caller};
use crate::call::{Call, Code, Failure};
use crate::catalog::{Resolved, Tool};
use crate::policy::{Authorized, Decision, Ruling};
use crate::sandbox::{End, Outcome, PoolUse, Ran};
use crate::schema::tests::tool;
use crate::schema::{Change, Schemas};

/// A program that printed `stdout` and exited with 0 after 12.3456 ms.
pub(super) fn printed(stdout: impl Into<Bytes>) -> Outcome {
    let stdout = stdout.into();
    Outcome {
        end: End::Exited(0),
        stdout_bytes: u64::try_from(stdout.len()).unwrap(),
        stdout,
        stderr: Bytes::new(),
        http: None,
        files: Vec::new(),
        stderr_bytes: 0,
        killed: None,
        oom_kills: 0,
        egress: Vec::new(),
        pool: PoolUse::Hit,
        queue: Duration::ZERO,
        sandbox: Duration::from_micros(1500),
        tool: Duration::from_nanos(12_345_600),
        cpu: Duration::from_millis(9),
        peak_memory: 1 << 20,
        image_digest: "sha256:00".to_owned(),
        container: "c".to_owned(),
        limits: tool(json!({})).profile.limits,
    }
}

pub(super) fn reply_of(tool: Tool, outcome: Outcome) -> Reply {
    let tool = Arc::new(tool);
    let (schemas, problems) = Schemas::compile(&[Arc::clone(&tool)]);
    assert_eq!(problems, []);
    let caller = Caller { name: "uid:1000".to_owned(), tenant: "t".to_owned(), roles: Vec::new() };
    let admitted = Admitted::for_test(Call::new("probe", r#"{"n":"1"}"#), caller);
    let checked = schemas.check(Resolved { admitted, tool }).unwrap();
    let authorized = Authorized {
        checked,
        decision: Decision {
            ruling: Ruling::Permit,
            policies: vec!["allow-all".to_owned()],
            version: "v".to_owned(),
            approval: None,
        },
    };
    let ran = Ran { authorized, outcome };
    shape(ran, &schemas)
}

pub(super) fn plain() -> Tool {
    tool(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
}

fn reply(outcome: Outcome) -> Reply {
    reply_of(plain(), outcome)
}

fn code(reply: &Reply) -> Option<Code> {
    reply.error.as_ref().map(|error| error.code)
}

fn json_of(reply: &Reply) -> Value {
    serde_json::from_str(&reply.to_json()).unwrap()
}

#[test]
fn a_success_has_the_one_shape() {
    let json = json_of(&reply(printed(r#"{"price":1.10}"#)));
    let members: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(members, ["tool_name", "status", "data", "error", "metadata"]);
    assert_eq!(json["tool_name"], "probe");
    assert_eq!(json["status"], "success");
    assert_eq!(json["error"], Value::Null);
    assert_eq!(json["data"].to_string(), r#"{"price":1.10}"#);
}

#[test]
fn metadata_say_how_a_reply_came_about() {
    let json = json_of(&reply(printed(r#"{"price":1.10}"#)));
    let metadata = &json["metadata"];
    let members: Vec<&String> = metadata.as_object().unwrap().keys().take(10).collect();
    assert_eq!(
        members,
        [
            "call_id",
            "latency_ms",
            "cache_hit",
            "cache_age_ms",
            "repairs",
            "pool",
            "queue_ms",
            "sandbox_ms",
            "tool_ms",
            "output_truncated"
        ]
    );
    assert_eq!(metadata["pool"], "hit");
    assert_eq!(metadata["queue_ms"].to_string(), "0");
    assert_eq!(metadata["sandbox_ms"].to_string(), "1.5");
    assert_eq!(metadata["tool_ms"].to_string(), "12.345");
    assert_eq!(metadata["cache_hit"], false);
    assert_eq!(metadata["cache_age_ms"], Value::Null);
    assert_eq!(metadata["repairs"][0]["kind"], "type");
    assert_eq!(metadata["policy_ids"], json!(["allow-all"]));
    assert_eq!(metadata["origin"], json!({ "tool": "probe", "source": "tests" }));
    assert_eq!(metadata["untrusted"], true);
    assert_eq!(metadata["exit_code"], 0);
    for absent in
        ["taint", "stderr", "logs", "notes", "egress", "oom_kills", "http_status", "signal"]
    {
        assert!(metadata.get(absent).is_none(), "{absent}");
    }
}

#[test]
fn a_reply_is_one_line_and_reads_back_equal() {
    let mut outcome = printed("{\"text\":\"a\\nb\",\"n\":123456789012345678901234567890}");
    outcome.stderr = Bytes::from_static(b"one\ntwo\n");
    let first = reply(outcome);
    let text = first.to_json();
    assert!(!text.contains('\n'));
    assert!(text.contains("123456789012345678901234567890"));
    let back: Reply = serde_json::from_str(&text).unwrap();
    assert_eq!(back.to_json(), text);
}

#[test]
fn a_refusal_carries_code_details_and_repairs() {
    let call = Call::new("nosuch", "{}");
    let mut failure =
        Failure::new(Code::RateLimited, "too many calls").with_details(json!({"limit": "caller"}));
    failure.retry_after = Some(Duration::from_millis(250));
    let change = Change {
        kind: "rename".to_owned(),
        pointer: "/a".to_owned(),
        from: "\"A\"".to_owned(),
        to: "\"a\"".to_owned(),
    };
    let json = json_of(&refuse(&call, "nosuch", &failure, &[change]));
    assert_eq!(json["tool_name"], "nosuch");
    assert_eq!(json["status"], "error");
    assert_eq!(json["data"], Value::Null);
    assert_eq!(
        json["error"],
        json!({"code": "RATE_LIMITED", "message": "too many calls",
            "details": {"limit": "caller"}, "retryable": true})
    );
    let metadata = &json["metadata"];
    assert_eq!(metadata["call_id"], call.id.as_str());
    assert_eq!(metadata["retry_after_ms"].to_string(), "250");
    assert_eq!(metadata["repairs"][0]["kind"], "rename");
    assert_eq!(metadata["pool"], Value::Null);
    assert_eq!(metadata["tool_ms"], Value::Null);
    assert!(metadata.get("origin").is_none());
}

#[test]
fn a_cached_reply_is_the_same_result_for_another_call() {
    let first = reply(printed("[1]"));
    let call = Call::new("probe", "{}");
    let again = first.cached(&call, Duration::from_secs(2));
    assert_eq!(again.data, first.data);
    assert_eq!(again.status, Status::Success);
    assert_eq!(again.metadata.call_id, call.id.as_str());
    assert_ne!(again.metadata.call_id, first.metadata.call_id);
    assert!(again.metadata.cache_hit);
    assert_eq!(again.metadata.cache_age_ms, Some(Millis::from(Duration::from_secs(2))));
    assert_eq!(again.metadata.tool_ms, None);
    assert_eq!(again.metadata.repairs, []);
    assert_eq!(again.metadata.origin, first.metadata.origin);
}

#[test]
fn times_have_at_most_three_decimals() {
    for (nanos, text) in [
        (0, "0"),
        (999, "0"),
        (1000, "0.001"),
        (1_230_000, "1.23"),
        (100_000_000, "100"),
        (2_000_001_000, "2000.001"),
    ] {
        let millis = Millis::from(Duration::from_nanos(nanos));
        assert_eq!(serde_json::to_string(&millis).unwrap(), text);
        let back: Millis = serde_json::from_str(text).unwrap();
        assert_eq!(back, millis);
    }
}

#[test]
fn only_a_clean_success_is_cacheable() {
    assert!(reply(printed("{}")).cacheable());
    let mut cut = printed("{}");
    cut.stdout_bytes = 3;
    assert!(!reply(cut).cacheable());
    assert!(!reply(printed(&b"caf\xe9"[..])).cacheable());
    let mut failed = printed("{}");
    failed.end = End::Exited(1);
    assert!(!reply(failed).cacheable());
}
