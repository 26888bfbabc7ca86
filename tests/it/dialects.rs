//! Tools in the terms of a model host, and calls that come back in them: by ListTools and Call, and by
//! the command line.

use std::process::Command;

use serde_json::{Value, json};
use switchboard::proto::tools::{
    CallRequest, Dialect, GetToolRequest, ListToolsRequest, Tool, ValidateResponse,
};
use tonic::Code;

use crate::daemon::{BINARY, Daemon, Setup, code, parsed, request};

/// A tool whose keys no provider but the most patient one takes.
const ODD: &str = r#"
name = "probe.odd"
description = "Gives its arguments back. For tests of dialects."
profile = "probe"
risk = "read"
repair = "off"

[input_schema]
type = "object"
required = ["at<"]
additionalProperties = false

[input_schema.properties]
"at<" = { type = "string", description = "From when." }
"at>" = { type = "string", description = "Until when." }
"the pin" = { type = "string", x-sensitive = true, description = "A secret." }
page = { type = "integer", description = "Which page." }
note = { type = ["string", "null"], description = "What to remember." }

[command]
argv = ["cat"]
stdin = "json"
json_output = true
"#;

async fn odd() -> Daemon {
    Setup::new().policy("tools/probe-odd.toml", ODD).start().await
}

async fn tool(daemon: &Daemon, name: &str, dialect: Dialect) -> Tool {
    let asked = GetToolRequest { name: name.into(), dialect: dialect.into() };
    daemon.client().await.get_tool(asked).await.unwrap().into_inner()
}

fn definition(tool: &Tool) -> Value {
    serde_json::from_str(&tool.definition_json).unwrap()
}

/// The exported key of the member with this name.
fn key(schema: &Value, name: &str) -> String {
    let told = format!("`{name}`");
    let members = schema["properties"].as_object().unwrap();
    let of = |one: &Value| one["description"].as_str().unwrap_or_default().contains(&told);
    let found = members.iter().find(|(key, one)| *key == name || of(one));
    found.unwrap().0.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_listed_tool_has_the_definition_of_the_dialect_that_was_asked_for() {
    let daemon = odd().await;
    for dialect in [
        Dialect::Openai,
        Dialect::OpenaiStrict,
        Dialect::Anthropic,
        Dialect::Gemini,
        Dialect::Plain,
    ] {
        let asked = ListToolsRequest { dialect: dialect.into(), ..Default::default() };
        let tools = daemon.client().await.list_tools(asked).await.unwrap().into_inner().tools;
        assert!(!tools.is_empty());
        for one in tools {
            let whole = definition(&one);
            let inner = whole.get("function").unwrap_or(&whole);
            assert!(inner["name"].is_string() && inner["description"].is_string(), "{whole}");
            assert!(!one.input_schema_json.is_empty());
        }
    }
    let plain = daemon.client().await.list_tools(ListToolsRequest::default()).await.unwrap();
    let plain = plain.into_inner().tools;
    assert!(plain.iter().all(|one| one.definition_json.is_empty() && one.losses.is_empty()));
    let unknown = ListToolsRequest { dialect: 99, ..Default::default() };
    let status = daemon.client().await.list_tools(unknown).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let unknown = CallRequest { dialect: 99, ..request("probe.odd", "{}") };
    assert_eq!(daemon.try_call(unknown).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_a_dialect_s_terms_runs_and_is_recorded_in_the_tool_s_own() {
    let daemon = odd().await;
    let whole = definition(&tool(&daemon, "probe.odd", Dialect::Anthropic).await);
    let schema = &whole["input_schema"];
    let (from, until, pin) = (key(schema, "at<"), key(schema, "at>"), key(schema, "the pin"));
    let arguments = json!({ from: "mon", until: "sun", pin: "4711-0815" }).to_string();
    let name = whole["name"].as_str().unwrap();
    assert_eq!(name, "probe_dot_odd");
    let call = CallRequest { dialect: Dialect::Anthropic.into(), ..request(name, &arguments) };
    let reply = parsed(&daemon.try_call(call.clone()).await.unwrap());
    assert_eq!(code(&reply), "SUCCESS", "{reply:#}");
    assert_eq!(reply["tool_name"], "probe.odd");
    assert_eq!(reply["data"], json!({ "at<": "mon", "at>": "sun", "the pin": "4711-0815" }));
    assert_eq!(reply["metadata"]["repairs"], json!([]), "it is no repair");

    let id = reply["metadata"]["call_id"].as_str().unwrap();
    let config = daemon.config();
    let record = daemon.cli(&["ledger", "show", "--config", &config, id]);
    let record = String::from_utf8(record.stdout).unwrap();
    assert!(record.contains("at<") && record.contains("the pin"), "{record}");
    assert!(!record.contains("4711-0815"), "a secret is masked under its own name: {record}");

    let own = CallRequest { dialect: 0, ..call };
    let reply = parsed(&daemon.try_call(own).await.unwrap());
    assert_ne!(code(&reply), "SUCCESS", "without the dialect these keys are unknown: {reply:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_under_an_exported_key_is_masked_however_the_call_was_written() {
    let daemon = odd().await;
    let whole = definition(&tool(&daemon, "probe.odd", Dialect::Anthropic).await);
    let pin = key(&whole["input_schema"], "the pin");
    let config = daemon.config();
    let plain = json!({ pin.clone(): "4711-0815" });
    for arguments in [
        plain.to_string(),
        format!(r#"{{"{pin}":"4711-0815","{pin}":"4711-0815"}}"#),
        Value::String(plain.to_string()).to_string(),
        json!({ "name": "probe.odd", "arguments": plain }).to_string(),
        format!("{{'{pin}': '4711-0815', 'page': None}}"),
        format!(r#"{{"{pin}":"4711-0815""#),
    ] {
        let call = CallRequest {
            dialect: Dialect::Anthropic.into(),
            ..request("functions.probe_dot_odd", &arguments)
        };
        let reply = parsed(&daemon.try_call(call).await.unwrap());
        assert_eq!(reply["tool_name"], "probe.odd");
        assert_eq!(code(&reply), "SCHEMA_VALIDATION_ERROR", "`at<` is missing: {reply:#}");
        let id = reply["metadata"]["call_id"].as_str().unwrap();
        let record = daemon.cli(&["ledger", "show", "--json", "--config", &config, id]);
        let record = String::from_utf8(record.stdout).unwrap();
        assert!(record.contains(id) && !record.contains("4711-0815"), "{arguments}: {record}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn validate_tells_what_a_strict_call_would_run_with() {
    let daemon = odd().await;
    let whole = definition(&tool(&daemon, "probe.odd", Dialect::OpenaiStrict).await);
    assert_eq!(whole["function"]["strict"], true);
    let validate = async |arguments: Value| -> ValidateResponse {
        let call = CallRequest {
            dialect: Dialect::OpenaiStrict.into(),
            ..request("probe_dot_odd", &arguments.to_string())
        };
        daemon.client().await.validate(call).await.unwrap().into_inner()
    };
    let full = |note: Value| json!({ "at<": "mon", "at>": null, "the pin": null, "page": null, "note": note });
    let fit = validate(full(json!("__omit__"))).await;
    assert!(fit.valid, "{fit:#?}");
    assert_eq!(fit.tool_name, "probe.odd");
    assert_eq!(fit.arguments_json, r#"{"at<":"mon"}"#);
    let null = validate(full(Value::Null)).await;
    assert_eq!(null.arguments_json, r#"{"at<":"mon","note":null}"#);
    let unfit = validate(json!({ "at<": null })).await;
    assert!(!unfit.valid, "what is required is not left out");
}

/// A tool whose arguments are one of two closed objects, and may be a map.
const CHOICE: &str = r#"
name = "probe.choice"
description = "Gives its arguments back. For tests of dialects."
profile = "probe"
risk = "read"

[input_schema]
type = "object"

[[input_schema.oneOf]]
type = "object"
required = ["filter[mail]"]
properties = { "filter[mail]" = { type = "string" } }
additionalProperties = false

[[input_schema.oneOf]]
type = "object"
required = ["labels"]
properties = { labels = { type = "object", additionalProperties = { type = "integer" } }, size = { enum = [100, 2.5, "auto"] } }
additionalProperties = false

[command]
argv = ["cat"]
stdin = "json"
json_output = true
"#;

async fn choose(daemon: &Daemon, dialect: Dialect, arguments: &Value) -> Value {
    let dotted = matches!(dialect, Dialect::Gemini | Dialect::Unspecified);
    let name = if dotted { "probe.choice" } else { "probe_dot_choice" };
    let call = CallRequest { dialect: dialect.into(), ..request(name, &arguments.to_string()) };
    parsed(&daemon.try_call(call).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_export_shows_side_by_side_is_left_out_by_null() {
    let daemon = Setup::new().policy("tools/probe-choice.toml", CHOICE).start().await;
    for dialect in [Dialect::Openai, Dialect::OpenaiStrict, Dialect::Anthropic, Dialect::Plain] {
        let whole = definition(&tool(&daemon, "probe.choice", dialect).await);
        let schema = whole.get("function").map_or(&whole["input_schema"], |f| &f["parameters"]);
        let mail = key(schema, "filter[mail]");
        let labels = json!({"a": 1});
        let reply =
            choose(&daemon, dialect, &json!({ mail.clone(): null, "labels": labels })).await;
        assert_eq!(reply["data"], json!({ "labels": labels }), "{dialect:?} {reply:#}");
        let other = json!({ mail.clone(): "a@b.example", "labels": null, "size": null });
        let reply = choose(&daemon, dialect, &other).await;
        assert_eq!(reply["data"], json!({"filter[mail]": "a@b.example"}), "{dialect:?} {reply:#}");
        let two = choose(&daemon, dialect, &json!({ mail: "a@b.example", "labels": {} })).await;
        assert_eq!(code(&two), "SCHEMA_VALIDATION_ERROR", "{two:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_of_arguments_is_read_whole_or_not_at_all() {
    let daemon = Setup::new().policy("tools/probe-choice.toml", CHOICE).start().await;
    let whole = json!({"labels": "{\"a\": 1}", "size": "1e2"});
    let reply = choose(&daemon, Dialect::Gemini, &whole).await;
    assert_eq!(reply["data"], json!({"labels": {"a": 1}, "size": 100}), "{reply:#}");
    for dialect in [Dialect::Gemini, Dialect::Anthropic, Dialect::Unspecified] {
        let reply = choose(&daemon, dialect, &json!({"labels": "{\"a\": 1"})).await;
        assert_eq!(code(&reply), "SCHEMA_VALIDATION_ERROR", "{dialect:?} {reply:#}");
        let first = &reply["error"]["details"]["violations"][0];
        assert_eq!((&first["kind"], &first["pointer"]), (&json!("truncated"), &json!("/labels")));
        assert!(reply["error"]["message"].as_str().unwrap().contains("send it again"), "{reply:#}");
    }
}

#[test]
fn the_command_line_exports_a_policies_folder_without_a_daemon() {
    let setup = Setup::new().policy("tools/probe-odd.toml", ODD);
    let folder = setup.policies().display().to_string();
    let export = |more: &[&str]| {
        let mut line = vec!["tools", "export", "--catalog", &folder];
        line.extend(more);
        let output = Command::new(BINARY).args(&line).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = export(&["--dialect", "openai-strict", "--prefix", "probe."]);
    assert_eq!(code, Some(0));
    let tools: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert!(tools.iter().all(|tool| tool["function"]["strict"].is_boolean()));
    let free = tools.iter().find(|tool| tool["function"]["name"] == "probe_dot_mirror").unwrap();
    assert_eq!(free["function"]["strict"], false, "anything is no strict type");
    assert_eq!(export(&["--dialect", "openai-strict", "--prefix", "probe."]).1, text);

    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display().to_string();
    let asked = ["--dialect", "openai-strict", "--out", &path, "--losses", "--json"];
    let (code, losses) = export(&asked);
    assert_eq!(code, Some(0));
    let written: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(file.path()).unwrap()).unwrap();
    assert!(written.len() >= tools.len());
    let losses: Vec<Value> =
        losses.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        losses
            .iter()
            .any(|loss| loss["tool"] == "probe.mirror" && loss["pointer"] == "/properties/value")
    );
    let (_, table) = export(&["--dialect", "gemini", "--losses"]);
    assert!(table.starts_with("TOOL"), "{table}");
    assert_eq!(export(&["--dialect", "klingon"]).0, Some(2));
}
