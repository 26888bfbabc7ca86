//! Bad input: each kind gets a clear error that names the place, and the daemon goes on.

use serde_json::{Value, json};
use switchboard::proto::tools::{CallRequest, GetResultRequest, ValidateResponse};
use tonic::Code;

use crate::daemon::{Daemon, Setup, code, parsed, request};

async fn refused(daemon: &Daemon, arguments: &str, expected: &str) {
    let reply = parsed(&daemon.try_call(request("probe.echo", arguments)).await.unwrap());
    assert_eq!(code(&reply), "SCHEMA_VALIDATION_ERROR", "{reply:#}");
    let told = reply["error"].to_string();
    let shown: String = arguments.chars().take(80).collect();
    assert!(told.to_lowercase().contains(expected), "{shown}: `{expected}` is not in {told}");
    assert_eq!(reply["metadata"]["pool"], Value::Null, "nothing may run: {shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_are_not_an_object_of_json_are_refused_with_the_place() {
    let daemon = Setup::new().start().await;
    let pid = daemon.pid();
    refused(&daemon, "{\"count\": 1,", "json").await;
    refused(&daemon, "[1]", "object").await;
    refused(&daemon, "\"just text\"", "object").await;
    refused(&daemon, "42", "object").await;
    refused(&daemon, "{\"count\":NaN}", "json").await;
    refused(&daemon, "{\"count\":1,\"count\":2}", "count").await;
    refused(&daemon, "{\"colour\":\"\\ud800\"}", "surrogate").await;
    refused(&daemon, "{\"count\":18446744073709551616}", "/count").await;
    refused(&daemon, &format!("{{\"colour\":\"{}\"}}", "x".repeat(10 << 20)), "bytes").await;
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    refused(&daemon, &deep, "deep").await;
    refused(&daemon, &format!("{{\"a\":{}", "{\"a\":".repeat(100_000)), "deep").await;
    assert_eq!(pid, daemon.pid());
    let reply = daemon.call("probe.echo", &json!({ "count": 1, "colour": "red" })).await;
    assert_eq!(code(&reply), "SUCCESS", "{reply:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_request_is_a_status_that_names_each_field() {
    let daemon = Setup::new().start().await;
    let long = "x".repeat(10 << 10);
    for (field, call) in [
        ("tool_name", request("", "{}")),
        ("tool_name", request(&long, "{}")),
        ("tool_name", request("text.stats\0", "{}")),
        ("tool_name", request("text\u{1b}[2J", "{}")),
        ("call_id", CallRequest { call_id: "7".into(), ..request("text.stats", "{}") }),
        ("conversation_id", CallRequest { conversation_id: long.clone(), ..request("a", "{}") }),
    ] {
        let status = daemon.try_call(call).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        let details = tonic_types::StatusExt::get_error_details(&status);
        assert_eq!(details.error_info().unwrap().reason, "MALFORMED_REQUEST");
        let fields = &details.bad_request().unwrap().field_violations;
        assert_eq!(fields.iter().map(|f| f.field.as_str()).collect::<Vec<_>>(), [field]);
    }
    let status = daemon
        .client()
        .await
        .get_result(GetResultRequest { call_id: "none".into(), ..Default::default() })
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_resolve_only_where_exactly_one_tool_fits() {
    let daemon = Setup::new().start().await;
    for name in ["text.stats", "functions.text.stats", "Text.Stats", "text.stats"] {
        let reply = daemon.call(name, &json!({ "text": "a" })).await;
        assert_eq!(code(&reply), "SUCCESS", "{name}: {reply:#}");
        assert_eq!(reply["tool_name"], "text.stats");
    }
    for name in [
        "text.statstext.stats",
        "print(text.stats())",
        "other.stats",
        "text.ståts",
        "t\u{0435}xt.stats",
    ] {
        let reply = daemon.call(name, &json!({ "text": "a" })).await;
        assert_eq!(code(&reply), "UNKNOWN_TOOL", "{name}: {reply:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn validate_tells_what_would_run_and_runs_nothing() {
    let daemon = Setup::new().start().await;
    let validate = async |arguments: &str| -> ValidateResponse {
        let call = request("probe.echo", arguments);
        daemon.client().await.validate(call).await.unwrap().into_inner()
    };
    let fit = validate("{\"count\":\"7\",\"colour\":\"red\"}").await;
    assert!(fit.valid, "{fit:#?}");
    assert_eq!(fit.arguments_json, "{\"count\":7,\"colour\":\"red\",\"limit\":20}");
    assert_eq!(fit.repairs.len(), 2);
    assert!(!fit.policies.is_empty());
    let unfit = validate("{\"count\":[]}").await;
    assert!(!unfit.valid && unfit.arguments_json.is_empty());
    assert_eq!(unfit.error.unwrap().code, "SCHEMA_VALIDATION_ERROR");

    let policies = daemon.setup.policies().display().to_string();
    let line =
        |arguments| daemon.cli(&["validate", "--catalog", &policies, "probe.echo", arguments]);
    let output = line("{\"count\":\"7\",\"colour\":\"red\"}");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["arguments"], json!({ "count": 7, "colour": "red", "limit": 20 }));
    assert_eq!(line("{\"count\":[]}").status.code(), Some(1));
    let output = daemon.cli(&["validate", "--catalog", &policies, "probe.ecko", "{}"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["error"]["code"], "UNKNOWN_TOOL");
    assert_eq!(told["error"]["details"]["nearest"][0], "probe.echo");
    let output = daemon.cli(&["ledger", "search", "--json", "--config", &daemon.config()]);
    assert!(output.stdout.is_empty(), "validation leaves no record: {output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_broken_file_of_the_catalog_loses_only_itself() {
    let daemon = Setup::new()
        .policy("tools/broken.toml", "[[tool]\n")
        .policy("tools/empty.toml", "")
        .policy("openapi/none.toml", "document = \"missing.yaml\"\nprofile = \"shell\"\n")
        .policy("openapi/loop.yaml", "openapi: 3.0.3\ninfo: {title: l, version: '1'}\npaths: {/x: {get: {operationId: x, parameters: [{$ref: '#/components/parameters/a'}], responses: {}}}}\ncomponents: {parameters: {a: {$ref: '#/components/parameters/a'}}}\n")
        .policy("openapi/loop.toml", "document = \"loop.yaml\"\nprofile = \"orders\"\nserver = \"http://127.0.0.1:1\"\n")
        .start()
        .await;
    for file in ["tools/broken.toml", "tools/empty.toml", "openapi/none.toml"] {
        daemon.log_line(0, file);
    }
    assert_eq!(code(&daemon.call("text.stats", &json!({ "text": "x" })).await), "SUCCESS");
}

#[test]
fn broken_policies_keep_the_daemon_from_starting() {
    for (text, named) in [
        ("permit (", "broken.cedar"),
        (
            "@id(\"x\") @owner(\"o\") permit (principal, action == Switchboard::Action::\"no.such\", resource);",
            "no.such",
        ),
        ("permit (principal, action, resource);", "@id"),
    ] {
        let (code, told) = Setup::new().policy("cedar/broken.cedar", text).refuse();
        assert_eq!(code, 1, "{told}");
        assert!(told.contains(named), "{text}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_absent_engine_is_told_and_does_not_stop_what_needs_none() {
    let setup = Setup::new().config("[sandbox]\nengine = \"unix:///nonexistent/docker.sock\"");
    let daemon = setup.start_unready().await;
    let status = daemon.try_call(request("text.stats", "{\"text\":\"x\"}")).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    let details = tonic_types::StatusExt::get_error_details(&status);
    assert_eq!(details.error_info().unwrap().reason, "SANDBOX_UNAVAILABLE");
    assert!(details.retry_info().is_some());
    let reply = daemon.call("probe.echo", &json!({ "count": [] })).await;
    assert_eq!(code(&reply), "SCHEMA_VALIDATION_ERROR");
    let output = daemon.cli(&["health"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let output = daemon.cli(&["health", "--service", "liveness"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
