//! Batches against the real daemon: order, values, refusals before anything runs, failures, taint of
//! what was passed on, and what the ledger has of it.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Barrier};

use serde_json::{Value, json};
use switchboard::proto::tools::call_batch_request::{Entry, OnFailure};
use switchboard::proto::tools::{
    CallBatchRequest, CallBatchResponse, CallRequest, CancelRequest, GetResultRequest,
};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::daemon::{Daemon, Setup, code, eventually, lines, parsed, request};

fn entry(name: &str, tool: &str, arguments: &Value) -> Entry {
    Entry { name: name.to_owned(), call: Some(request(tool, &arguments.to_string())) }
}

async fn send(
    daemon: &Daemon,
    calls: Vec<Entry>,
    on_failure: OnFailure,
) -> Result<CallBatchResponse, Status> {
    let batch = CallBatchRequest { calls, on_failure: on_failure.into() };
    daemon.client().await.call_batch(batch).await.map(tonic::Response::into_inner)
}

/// The replies, after their names were held against those of the calls.
async fn run(daemon: &Daemon, calls: Vec<Entry>) -> (Vec<Value>, CallBatchResponse) {
    let names: Vec<String> = calls.iter().map(|entry| entry.name.clone()).collect();
    let answer = send(daemon, calls, OnFailure::Unspecified).await.unwrap();
    let told: Vec<&String> = answer.results.iter().map(|result| &result.name).collect();
    assert_eq!(told, names.iter().collect::<Vec<_>>(), "in the order of the request");
    (replies_of(&answer), answer)
}

pub(crate) fn replies_of(answer: &CallBatchResponse) -> Vec<Value> {
    answer.results.iter().map(|result| parsed(result.reply.as_ref().unwrap())).collect()
}

fn codes(replies: &[Value]) -> Vec<&str> {
    replies.iter().map(code).collect()
}

/// The records, newest first.
fn records(daemon: &Daemon) -> Vec<Value> {
    let config = daemon.config();
    lines(&daemon.cli(&["ledger", "search", "--json", "--config", &config]))
}

fn record<'r>(records: &'r [Value], name: &str) -> &'r Value {
    let found = records.iter().find(|one| one["facts"]["batch"]["name"] == name);
    assert!(found.is_some(), "no record of `{name}`: {records:#?}");
    found.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn results_reach_the_calls_that_refer_to_them_and_policy_decides_on_the_final_values() {
    let daemon = Setup::new().start().await;
    let exact = r#"{"value": {"n": 9007199254740993, "text": "5000", "deep": [{"a/b": [1.50, null]}], "trap": {"$$ref": "many#"}}}"#;
    let mut calls = vec![
        // Written before what it refers to.
        entry(
            "last",
            "probe.mirror",
            &json!({"value": [
            {"$ref": "first#/value"}, {"$ref": "first#/value/deep/0/a~1b/1"}, {"$$ref": "first#"}]}),
        ),
        entry("first", "probe.mirror", &json!({})),
        // Text to a number, as for any call: and then it is too many.
        entry("many", "probe.echo", &json!({"count": {"$ref": "first#/value/text"}})),
        entry("after", "probe.mirror", &json!({"value": {"$ref": "many#"}})),
        entry("few", "probe.echo", &json!({"count": 7, "color": "RED"})),
        entry("number", "probe.mirror", &json!({"value": 1, "integer": {"$ref": "few#/count"}})),
        entry("missing", "probe.mirror", &json!({"value": {"$ref": "few#/nothing/here"}})),
    ];
    calls[1].call.as_mut().unwrap().arguments_json = exact.to_owned();
    let (replies, answer) = run(&daemon, calls).await;
    assert!(!answer.refused);
    let (ok, skipped) = ("SUCCESS", "SKIPPED");
    assert_eq!(
        codes(&replies),
        [ok, ok, "POLICY_DENIED", skipped, ok, ok, skipped],
        "{replies:#?}"
    );
    assert_eq!(
        replies[0]["data"]["value"].to_string(),
        r#"[{"n":9007199254740993,"text":"5000","deep":[{"a/b":[1.50,null]}],"trap":{"$ref":"many#"}},null,{"$ref":"first#"}]"#
    );
    assert_eq!(replies[2]["error"]["details"]["policies"], json!(["probe-echo-many"]));
    let failed = json!({"reason": "failed", "call": "many", "code": "POLICY_DENIED"});
    assert_eq!(replies[3]["error"]["details"], failed);
    assert_eq!(replies[5]["data"]["integer"], 7);
    let missing = json!({"reason": "missing", "call": "few", "pointer": "/nothing/here"});
    assert_eq!(replies[6]["error"]["details"], missing);

    let records = records(&daemon);
    assert_eq!(records.len(), 7, "also of those that were left out");
    let many = record(&records, "many");
    assert_eq!(many["arguments"], r#"{"count":"5000"}"#, "the arguments with the result in them");
    assert_eq!(
        many["facts"]["batch"],
        json!({"id": answer.batch_id, "name": "many", "refers": ["first"]})
    );
    assert_eq!(record(&records, "after")["code"], "SKIPPED");
    assert_eq!(record(&records, "after")["arguments"], r#"{"value":{"$ref":"many#"}}"#);
    let config = daemon.config();
    let replay = daemon.cli(&["replay", "--json", "--config", &config]);
    let sum = String::from_utf8(replay.stdout).unwrap();
    let sum: Value = serde_json::from_str(sum.lines().last().unwrap()).unwrap();
    let figures = ["calls", "same", "differs", "unclear"].map(|name| sum[name].as_u64().unwrap());
    assert_eq!(figures, [7, 5, 0, 2], "nothing was decided on the two that were left out: {sum:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_in_another_notation_can_refer_to_results_and_the_change_is_listed() {
    let daemon = Setup::new().start().await;
    let mut calls = vec![
        entry("first", "probe.mirror", &json!({"value": {"n": 7}})),
        entry("second", "probe.mirror", &json!({})),
    ];
    let written = "{'value': {'$ref': 'first#/value/n'},}";
    calls[1].call.as_mut().unwrap().arguments_json = written.to_owned();
    let (replies, answer) = run(&daemon, calls).await;
    assert!(!answer.refused, "{replies:#?}");
    assert_eq!(replies[1]["data"]["value"], 7);
    let repair = &replies[1]["metadata"]["repairs"][0];
    assert_eq!(repair["kind"], "notation", "{repair}");
    assert!(repair["from"].as_str().unwrap().contains("{'value'"), "{repair}");
    let records = records(&daemon);
    assert_eq!(record(&records, "second")["arguments"], r#"{"value":7}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_with_anything_wrong_runs_nothing_and_tells_all_of_it() {
    let daemon = Setup::new().start().await;
    let (replies, answer) = run(
        &daemon,
        vec![
            entry("good", "probe.cat", &json!({"text": "never"})),
            entry("a", "probe.mirror", &json!({"value": {"$ref": "c#"}})),
            entry("b", "probe.mirror", &json!({"value": {"$ref": "a#"}})),
            entry("c", "probe.mirror", &json!({"value": [{"$ref": "b#"}, {"$ref": "nobody#"}]})),
            entry("unknown", "probe.cta", &json!({"text": {"$ref": "good#"}})),
            entry("hidden", "probe.forbidden", &json!({})),
            entry(
                "misfit",
                "probe.echo",
                &json!({"count": {"$ref": "good#"}, "limit": 500, "hue": 1}),
            ),
            entry("lacking", "probe.echo", &json!({"colour": {"$ref": "good#"}})),
        ],
    )
    .await;
    assert!(answer.refused);
    let schema = "SCHEMA_VALIDATION_ERROR";
    assert_eq!(
        codes(&replies),
        ["SKIPPED", schema, schema, schema, "UNKNOWN_TOOL", "POLICY_DENIED", schema, schema],
        "{replies:#?}"
    );
    assert_eq!(replies[0]["error"]["details"]["reason"], "refused");
    let places = |reply: &Value| -> Vec<(String, String)> {
        let violations = reply["error"]["details"]["violations"].as_array().unwrap();
        let text = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
        violations.iter().map(|one| (text(one, "pointer"), text(one, "message"))).collect()
    };
    assert!(places(&replies[1])[0].1.contains("a → c → b → a"), "{:#}", replies[1]);
    let of_c = places(&replies[3]);
    assert!(of_c.iter().any(|(place, told)| place == "/value/0" && told.contains("circle")));
    assert!(of_c.iter().any(|(place, told)| place == "/value/1" && told.contains("`nobody`")));
    assert_eq!(replies[4]["error"]["details"]["nearest"][0], "probe.cat");
    let of_misfit: Vec<String> = places(&replies[6]).into_iter().map(|(place, _)| place).collect();
    assert_eq!(of_misfit, ["/limit", "/hue"], "{:#}", replies[6]);
    assert_eq!(places(&replies[7])[0].0, "/count", "{:#}", replies[7]);
    for one in records(&daemon) {
        assert_eq!(one["facts"]["handed_over"], false, "{one:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_long_results_stays_within_what_a_client_allows_and_loses_nothing() {
    const BYTES: usize = 900_000;
    let profile = "sandbox/probe.toml";
    let setup = Setup::new().edit(profile, "output = \"64KiB\"", "output = \"1MiB\"");
    // So much output takes its time where the machine has other work too.
    let daemon = setup.edit(profile, "wall = \"2s\"", "wall = \"60s\"").start().await;
    let script = format!("yes 'line of a long result' | head -c {BYTES}");
    let mut calls: Vec<Entry> = (0..20)
        .map(|number| entry(&format!("n{number}"), "probe.sh", &json!({"script": script})))
        .collect();
    calls.push(entry("small", "probe.mirror", &json!({"value": "whole"})));
    let (replies, answer) = run(&daemon, calls).await;
    assert!(replies.iter().all(|reply| code(reply) == "SUCCESS"), "{:?}", codes(&replies));
    let bytes = prost::Message::encoded_len(&answer);
    assert!((12 << 20..32 << 20).contains(&bytes), "{bytes}");
    assert_eq!(replies[20]["data"]["value"], "whole");
    assert!(replies[20]["metadata"]["view"].is_null());
    let part = |reply: &Value| reply["metadata"]["view"]["left_out"] == 1;
    assert!(!part(&replies[0]), "there is room for the first ones");
    assert!(part(&replies[19]), "{}", replies[19]["metadata"]);
    let place = ["/data", "/data/stdout"]
        .into_iter()
        .find(|place| replies[19].pointer(place).is_some_and(Value::is_string))
        .unwrap();
    let asked = GetResultRequest {
        call_id: replies[19]["metadata"]["call_id"].as_str().unwrap().to_owned(),
        pointer: Some(place.to_owned()),
        first: u64::try_from(BYTES - 7).unwrap(),
        ..Default::default()
    };
    let page = daemon.client().await.get_result(asked).await.unwrap().into_inner();
    assert_eq!(page.next_first, 0);
    let rest: String = serde_json::from_str(&page.json).unwrap();
    assert_eq!(rest.len(), 7, "the end of the result is kept: {page:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_errors_of_a_refused_batch_are_as_few_as_of_any_call() {
    let daemon = Setup::new().start().await;
    let wrong: Vec<Value> =
        (0..30_000).map(|number| json!({"$ref": format!("nobody{number}#")})).collect();
    let (replies, answer) =
        run(&daemon, vec![entry("a", "probe.mirror", &json!({"value": wrong}))]).await;
    assert!(answer.refused);
    let details = &replies[0]["error"]["details"];
    assert_eq!(details["violations"].as_array().unwrap().len(), 20);
    assert_eq!(details["total"], 30_000);
    assert!(prost::Message::encoded_len(&answer) < 64 << 10);

    let long = format!("{}#", "n".repeat(300_000));
    let (replies, answer) =
        run(&daemon, vec![entry("a", "probe.mirror", &json!({"value": {"$ref": long}}))]).await;
    assert_eq!(code(&replies[0]), "SCHEMA_VALIDATION_ERROR");
    assert!(prost::Message::encoded_len(&answer) < 8 << 10, "a name is not repeated as a whole");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_batch_names_each_field() {
    let daemon = Setup::new().start().await;
    let id = uuid::Uuid::now_v7().to_string();
    let named = |name: &str, call_id: &str| Entry {
        name: name.to_owned(),
        call: Some(CallRequest { call_id: call_id.to_owned(), ..request("text.stats", "{}") }),
    };
    let refuse = async |calls: Vec<Entry>| -> Vec<String> {
        let status = send(&daemon, calls, OnFailure::Continue).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        let bad = status.get_details_bad_request().unwrap();
        bad.field_violations.into_iter().map(|one| one.field).collect()
    };
    assert_eq!(refuse(vec![]).await, ["calls"]);
    let many = (0..65).map(|number| named(&format!("n{number}"), "")).collect();
    assert_eq!(refuse(many).await, ["calls"]);
    let without = Entry { name: "w".to_owned(), call: None };
    let wrong = vec![named("a", &id), named("a", &id), named("b c", "7"), without];
    let mut fields = refuse(wrong).await;
    fields.sort();
    let call_id = |at: usize| format!("calls[{at}].call.call_id");
    assert_eq!(
        fields,
        [
            call_id(1),
            "calls[1].name".into(),
            call_id(2),
            "calls[2].name".into(),
            "calls[3].call".into()
        ]
    );
    let first = send(&daemon, vec![named("a", &id)], OnFailure::Continue).await.unwrap();
    assert_eq!(first.results[0].reply.as_ref().unwrap().metadata.as_ref().unwrap().call_id, id);
    assert_eq!(refuse(vec![named("x", ""), named("a", &id)]).await, [call_id(1)]);
    assert_eq!(records(&daemon).len(), 1, "a malformed batch leaves no record");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a_failure_a_batch_goes_on_or_stops_as_asked() {
    let daemon = Setup::new().start().await;
    let calls = || {
        vec![
            entry("fails", "probe.sh", &json!({"script": "exit 3"})),
            entry("uses", "probe.mirror", &json!({"value": {"$ref": "fails#"}})),
            entry("free", "probe.mirror", &json!({"value": 1})),
            entry("later", "probe.mirror", &json!({"value": {"$ref": "free#/value"}})),
        ]
    };
    let (replies, _) = run(&daemon, calls()).await;
    assert_eq!(codes(&replies), ["EXECUTION_ERROR", "SKIPPED", "SUCCESS", "SUCCESS"]);
    // Only one of them can begin before the first has failed.
    let mut calls = calls();
    calls[2].call = Some(request("probe.mirror", r#"{"value": {"$ref": "wait#"}}"#));
    calls.push(entry("wait", "probe.sh", &json!({"script": "sleep 1; exit 4"})));
    let answer = send(&daemon, calls, OnFailure::Stop).await.unwrap();
    let replies = replies_of(&answer);
    let skipped = "SKIPPED";
    assert_eq!(
        codes(&replies),
        ["EXECUTION_ERROR", skipped, skipped, skipped, "EXECUTION_ERROR"],
        "what ran was brought to its end"
    );
    assert_eq!(
        replies[3]["error"]["details"],
        json!({"reason": "stopped", "call": "fails", "code": "EXECUTION_ERROR"})
    );
}

/// A server that answers two connections only when both are there. Gives its port.
fn pair() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let barrier = Arc::new(Barrier::new(2));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, barrier) = (stream.unwrap(), Arc::clone(&barrier));
            std::thread::spawn(move || {
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n")
                    && stream.read(&mut byte).is_ok_and(|read| read == 1)
                {
                    head.push(byte[0]);
                }
                barrier.wait();
                let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\
                              Connection: close\r\n\r\ntrue";
                drop(stream.write_all(answer.as_bytes()));
            });
        }
    });
    port
}

const TOOL: &str = r#"
description = "Asks a server that waits for two."
risk = "read"
profile = "pair"

[input_schema]
type = "object"
properties.page = { type = "string" }

[http]
method = "GET"
url = "http://127.0.0.1:PORT/"
"#;
const PROFILE: &str = r#"
image = "runner"
tier = "worker"

[limits]
wall = "10s"

[pool]
min = 1
max = 2

[[egress]]
host = "127.0.0.1"
port = PORT
networks = ["127.0.0.0/8"]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_need_no_other_run_side_by_side() {
    let port = pair();
    let daemon = Setup::new()
        .policy("tools/pair.get.toml", &TOOL.replace("PORT", &port))
        .policy("sandbox/pair.toml", &PROFILE.replace("PORT", &port))
        .start()
        .await;
    // One after the other they would wait for each other until they are killed.
    let calls = vec![
        entry("one", "pair.get", &json!({"page": "1"})),
        entry("two", "pair.get", &json!({"page": "2"})),
        entry("both", "probe.mirror", &json!({"value": [{"$ref": "one#"}, {"$ref": "two#"}]})),
    ];
    let (replies, _) = run(&daemon, calls).await;
    assert_eq!(codes(&replies), ["SUCCESS"; 3], "{replies:#?}");
    assert_eq!(replies[2]["data"]["value"], json!([true, true]));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_goes_away_ends_what_runs_and_leaves_a_record_of_all() {
    let daemon = Setup::new().start().await;
    let calls = || {
        vec![
            entry("runs", "probe.slow", &json!({"script": "sleep 60"})),
            entry("waits", "probe.mirror", &json!({"value": {"$ref": "runs#"}})),
        ]
    };
    let mut client = daemon.client().await;
    let sent = client
        .call_batch(CallBatchRequest { calls: calls(), on_failure: OnFailure::Continue.into() });
    let begun = eventually("the batch has begun", || async {
        daemon.metrics().await.contains("switchboard_batches_total")
    });
    tokio::select! {
        _ = sent => panic!("nobody ended it"),
        () = begun => {}
    }
    eventually("both have their record", || async { records(&daemon).len() == 2 }).await;
    let found = records(&daemon);
    assert_eq!(record(&found, "runs")["code"], "CANCELLED");
    assert_eq!(record(&found, "waits")["code"], "SKIPPED");

    // Each call can be cancelled by its id, before it has begun too.
    let id = uuid::Uuid::now_v7().to_string();
    let mut calls = calls();
    calls[0].call.as_mut().unwrap().call_id = id.clone();
    let cancel = async {
        let mut client = daemon.client().await;
        eventually("it can be cancelled", || {
            let mut client = client.clone();
            let call_id = id.clone();
            async move {
                let answer = client.cancel(CancelRequest { call_id }).await;
                answer.is_ok_and(|answer| answer.into_inner().cancelled)
            }
        })
        .await;
        drop(client.cancel(CancelRequest { call_id: id.clone() }).await);
    };
    let (answer, ()) = tokio::join!(run(&daemon, calls), cancel);
    assert_eq!(codes(&answer.0), ["CANCELLED", "SKIPPED"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_runs_a_batch_from_a_file() {
    let daemon = Setup::new().start().await;
    let path = daemon.folder().join("batch.json");
    let text = r#"{"calls": [
        {"name": "a", "tool": "probe.mirror", "arguments": {"value": 1.10}},
        {"name": "b", "tool": "probe.mirror", "arguments": {"value": {"$ref": "a#/value"}}}]}"#;
    std::fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    let output = daemon.cli(&["batch", &path]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let lines = lines(&output);
    assert_eq!(lines[1]["name"], "b");
    assert_eq!(lines[1]["reply"]["data"].to_string(), r#"{"value":1.10}"#);
    assert_eq!(lines[2]["refused"], false);
    std::fs::write(&path, r#"{"calls": [{"name": "a", "tool": "x", "argumens": {}}]}"#).unwrap();
    assert_eq!(daemon.cli(&["batch", &path]).status.code(), Some(2));
}
