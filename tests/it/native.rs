//! `CallNative`: providers' own messages in, their own result messages out, against the real daemon.

use serde_json::{Value, json};
use switchboard::proto::tools::call_native_request::Message;
use switchboard::proto::tools::{
    CallNativeRequest, CallNativeResponse, NativeCall, Provider, Reading,
};
use tonic::{Code, Request, Status};
use tonic_types::StatusExt;

use crate::daemon::{Daemon, Setup, eventually, parsed};
use crate::desk::Desk;

fn request(provider: Provider, message: Message) -> CallNativeRequest {
    CallNativeRequest { provider: provider.into(), message: Some(message), ..Default::default() }
}

fn json_of(provider: Provider, message: &Value) -> CallNativeRequest {
    request(provider, Message::MessageJson(message.to_string()))
}

fn text_of(text: &str) -> CallNativeRequest {
    request(Provider::Text, Message::Text(text.to_owned()))
}

async fn try_native(
    daemon: &Daemon,
    request: CallNativeRequest,
) -> Result<CallNativeResponse, Status> {
    Ok(daemon.client().await.call_native(request).await?.into_inner())
}

async fn native(daemon: &Daemon, request: CallNativeRequest) -> CallNativeResponse {
    try_native(daemon, request).await.unwrap()
}

/// The codes of the calls, in their order.
fn codes(response: &CallNativeResponse) -> Vec<String> {
    let code = |call: &NativeCall| {
        let reply = call.reply.as_ref().unwrap();
        reply.error.as_ref().map_or("SUCCESS", |error| error.code.as_str()).to_owned()
    };
    response.calls.iter().map(code).collect()
}

fn messages(response: &CallNativeResponse) -> Vec<Value> {
    response.messages_json.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

/// What stands in the text of a result.
fn told(text: &Value) -> Value {
    serde_json::from_str(text.as_str().unwrap()).unwrap()
}

/// An `OpenAI` message with these calls; names are those that the dialect gives.
fn chat(asked: &[(&str, &str, &str)]) -> Value {
    let calls: Vec<Value> = asked
        .iter()
        .map(|(id, name, arguments)| {
            json!({"id": id, "type": "function",
                "function": {"name": name, "arguments": arguments}})
        })
        .collect();
    json!({"role": "assistant", "content": "One moment.", "tool_calls": calls})
}

/// How many records there are with this code.
fn records(daemon: &Daemon, code: &str) -> usize {
    let line = ["ledger", "search", "--code", code, "--json", "--config", &daemon.config()];
    String::from_utf8(daemon.cli(&line).stdout).unwrap().lines().count()
}

/// How many calls ran well.
fn successes(daemon: &Daemon) -> usize {
    let line = ["ledger", "search", "--json", "--config", &daemon.config()];
    let told = String::from_utf8(daemon.cli(&line).stdout).unwrap();
    let code = |line: &str| serde_json::from_str::<Value>(line).unwrap()["code"].clone();
    told.lines().filter(|line| code(line).is_null()).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_of_a_message_is_answered_whatever_becomes_of_it() {
    let daemon = Setup::new().start().await;
    let message = chat(&[
        ("c0", "text_dot_stats", r#"{"text":"one two"}"#),
        ("c1", "probe_dot_echo", r#"{"count":"7"}"#),
        ("c2", "probe_dot_echo", r#"{"count":[]}"#),
        ("c3", "probe_dot_echoo", "{}"),
        ("c4", "probe_dot_echo", r#"{"count":5000}"#),
        ("c5", "probe_dot_echo", r#"{"count":1"#),
        ("c6", "probe_dot_echo", r#"{"count":1}{"count":2}"#),
        ("c7", "probe_dot_sh", r#"{"script":"exit 3"}"#),
        ("c8", "functions.probe_dot_echo", r#"{"count":1}"#),
        ("c9", "multi_tool_use.parallel", "{}"),
    ]);
    let response = native(&daemon, json_of(Provider::OpenaiChat, &message)).await;
    assert_eq!(
        codes(&response),
        [
            "SUCCESS",
            "SUCCESS",
            "SCHEMA_VALIDATION_ERROR",
            "UNKNOWN_TOOL",
            "POLICY_DENIED",
            "SCHEMA_VALIDATION_ERROR",
            "SCHEMA_VALIDATION_ERROR",
            "EXECUTION_ERROR",
            "SUCCESS",
            "UNKNOWN_TOOL",
        ]
    );
    assert_eq!(response.text, "One moment.");
    let messages = messages(&response);
    let ids: Vec<&str> =
        messages.iter().map(|message| message["tool_call_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"]);
    let results: Vec<Value> = messages.iter().map(|message| told(&message["content"])).collect();
    assert_eq!(results[0]["data"]["words"], 2);
    assert_eq!(
        (&results[0]["untrusted"], &results[0]["origin"]["tool"]),
        (&json!(true), &json!("text.stats"))
    );
    assert_eq!(results[1]["repairs"][0]["kind"], "type");
    assert_eq!(results[2]["error"]["details"]["violations"][0]["pointer"], "/count");
    assert_eq!(results[3]["error"]["details"]["nearest"][0], "probe.echo");
    assert_eq!(results[5]["error"]["details"]["violations"][0]["kind"], "truncated");
    assert_eq!(results[6]["error"]["details"]["violations"][0]["kind"], "trailing");
    assert_eq!(results[7]["error"]["details"]["exit_code"], 3);
    // What the model wrote, what it meant, and where its record is.
    let call = &response.calls[8];
    assert_eq!(call.native_name, "functions.probe_dot_echo");
    assert_eq!(call.reply.as_ref().unwrap().tool_name, "probe.echo");
    let shown =
        daemon.cli(&["ledger", "show", "--config", &daemon.config(), "--reply", &call.call_id]);
    let recorded: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(recorded, parsed(call.reply.as_ref().unwrap()));
    assert_eq!(records(&daemon, "SCHEMA_VALIDATION_ERROR"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_provider_gets_results_in_its_own_form() {
    let daemon = Setup::new().start().await;
    let good = json!({"count": 3, "colour": "red"});
    let response = native(&daemon, json_of(Provider::Anthropic, &json!({
        "type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
            {"type": "text", "text": "Two at once."},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
            {"type": "tool_use", "id": "t1", "name": "probe_dot_echo", "input": good},
            {"type": "tool_use", "id": "t2", "name": "probe_dot_forbidden", "input": {}},
        ]})))
    .await;
    assert_eq!(
        (response.stop_reason.as_str(), response.text.as_str()),
        ("tool_use", "Two at once.")
    );
    let blocks = messages(&response)[0]["content"].clone();
    assert_eq!(blocks.as_array().unwrap().len(), 2);
    assert_eq!((&blocks[0]["tool_use_id"], &blocks[0]["is_error"]), (&json!("t1"), &Value::Null));
    assert_eq!((&blocks[1]["tool_use_id"], &blocks[1]["is_error"]), (&json!("t2"), &json!(true)));
    assert_eq!(told(&blocks[0]["content"])["data"]["count"], 3);

    let response = native(
        &daemon,
        json_of(
            Provider::Gemini,
            &json!({"candidates": [{
            "finishReason": "STOP", "content": {"role": "model", "parts": [
                {"text": "hm", "thought": true, "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "probe.echo", "args": good}, "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "probe.echo", "args": {"count": -1}}},
            ]}}]}),
        ),
    )
    .await;
    let parts = messages(&response)[0]["parts"].clone();
    assert_eq!(parts[0]["functionResponse"]["response"]["output"]["data"]["colour"], "red");
    assert_eq!(
        parts[1]["functionResponse"]["response"]["error"]["error"]["code"],
        "SCHEMA_VALIDATION_ERROR"
    );

    let response = native(
        &daemon,
        json_of(
            Provider::OpenaiResponses,
            &json!({
            "status": "completed", "output": [
                {"type": "reasoning", "id": "r", "summary": []},
                {"type": "function_call", "call_id": "c1", "name": "probe_dot_echo",
                    "arguments": good.to_string()},
            ]}),
        ),
    )
    .await;
    assert_eq!(messages(&response)[0]["type"], "function_call_output");
    assert_eq!(messages(&response)[0]["call_id"], "c1");

    let response = native(&daemon, json_of(Provider::Ollama, &json!({
        "model": "m", "done": true, "done_reason": "stop", "message": {"role": "assistant",
            "content": "", "tool_calls": [{"function": {"name": "probe_dot_echo", "arguments": good}}]}})))
    .await;
    assert_eq!(messages(&response)[0]["tool_name"], "probe_dot_echo");
    assert_eq!(told(&messages(&response)[0]["content"])["status"], "success");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_calls_is_left_alone() {
    let daemon = Setup::new().start().await;
    let silent = json!({"role": "assistant", "content": "Nothing to do."});
    let response = native(&daemon, json_of(Provider::OpenaiChat, &silent)).await;
    assert!(response.messages_json.is_empty() && response.calls.is_empty());
    assert_eq!(response.text, "Nothing to do.");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_one_message_run_together_and_end_with_the_rpc() {
    let daemon = Setup::new().start().await;
    let slow = r#"{"script":"sleep 600"}"#;
    let message = chat(&[("a", "probe_dot_slow", slow), ("b", "probe_dot_slow", slow)]);
    let mut client = daemon.client().await;
    let call = tokio::spawn(async move {
        drop(client.call_native(json_of(Provider::OpenaiChat, &message)).await);
    });
    let both = || async {
        daemon.metrics().await.lines().any(|line| {
            line.starts_with("switchboard_sandbox_containers{state=\"in_use\"}")
                && line.ends_with(" 2")
        })
    };
    eventually("both run", both).await;
    call.abort();
    eventually("both are cancelled", || async { records(&daemon, "CANCELLED") == 2 }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_was_cut_off_runs_nothing_and_says_so_to_the_model() {
    let daemon = Setup::new().start().await;
    let message = chat(&[
        ("a", "probe_dot_echo", r#"{"count":1}"#),
        ("b", "probe_dot_echo", r#"{"count":2}"#),
    ]);
    let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "length"}]});
    let response = native(&daemon, json_of(Provider::OpenaiChat, &body)).await;
    assert_eq!(codes(&response), ["SCHEMA_VALIDATION_ERROR", "SCHEMA_VALIDATION_ERROR"]);
    let result = told(&messages(&response)[0]["content"]);
    assert_eq!(result["error"]["details"]["violations"][0]["kind"], "truncated");
    assert!(result["error"]["message"].as_str().unwrap().contains("`length`"), "{result}");

    // A stream without its end is not the model's affair, but the program's.
    let event = json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "a",
        "function": {"name": "probe_dot_echo", "arguments": "{\"count\":1}"}}]}}]});
    let stream = |end: &str| {
        let stream = format!("data: {event}\n\n{end}");
        request(Provider::OpenaiChat, Message::Stream(stream.into_bytes()))
    };
    let status = try_native(&daemon, stream("")).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(status.get_details_bad_request().unwrap().field_violations[0].field, "stream");
    let response = native(&daemon, stream("data: [DONE]\n\n")).await;
    assert_eq!(codes(&response), ["SUCCESS"]);
    assert_eq!(successes(&daemon), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_none_is_a_status_that_names_the_place() {
    let daemon = Setup::new().start().await;
    let pid = daemon.pid();
    let foreign = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "x",
        "input": {}}]});
    let bomb = format!("{{\"content\":{}", "[".repeat(100_000));
    let unnamed = CallNativeRequest { provider: 0, ..text_of("x") };
    let empty = CallNativeRequest { provider: 1, ..Default::default() };
    let long = CallNativeRequest { idempotency_prefix: "x".repeat(200), ..text_of("x") };
    for (request, field, words) in [
        (json_of(Provider::OpenaiChat, &foreign), "message_json", "at /content/0: "),
        (request(Provider::OpenaiChat, Message::MessageJson(bomb)), "message_json", "ends before"),
        (request(Provider::OpenaiChat, Message::Text("x".into())), "text", "PROVIDER_TEXT"),
        (request(Provider::Text, Message::MessageJson("{}".into())), "message_json", "`text`"),
        (unnamed, "provider", "missing"),
        (empty, "message_json", "missing"),
        (long, "idempotency_prefix", "200 bytes"),
    ] {
        let status = try_native(&daemon, request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        let violation = &status.get_details_bad_request().unwrap().field_violations[0];
        assert_eq!(violation.field, field);
        assert!(violation.description.contains(words), "{violation:?}");
    }
    // Among the arguments, depth is one call's own affair.
    let deep = format!("{{\"value\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let message = chat(&[("a", "probe_dot_mirror", "{\"value\":1}")]).to_string();
    let message = message.replace("\"{\\\"value\\\":1}\"", &deep);
    let response =
        native(&daemon, request(Provider::OpenaiChat, Message::MessageJson(message))).await;
    assert_eq!(codes(&response), ["SCHEMA_VALIDATION_ERROR"]);
    assert_eq!(daemon.pid(), pid);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_comes_again_runs_once() {
    let daemon = Setup::new().start().await;
    let message = chat(&[
        ("a", "probe_dot_sh", r#"{"script":"head -c 16 /dev/urandom | od -An -tx1"}"#),
        ("b", "probe_dot_sh", r#"{"script":"head -c 16 /dev/urandom | od -An -tx1"}"#),
    ]);
    let request = || CallNativeRequest {
        idempotency_prefix: "turn 1".into(),
        ..json_of(Provider::OpenaiChat, &message)
    };
    let data = |response: &CallNativeResponse| -> Vec<String> {
        response.calls.iter().map(|call| call.reply.as_ref().unwrap().data_json.clone()).collect()
    };
    let first = native(&daemon, request()).await;
    let again = native(&daemon, request()).await;
    assert_eq!(data(&first), data(&again));
    assert_ne!(data(&first)[0], data(&first)[1], "each call of a message has a key of its own");
    let hits = again
        .calls
        .iter()
        .all(|call| call.reply.as_ref().unwrap().metadata.as_ref().unwrap().cache_hit);
    assert!(hits);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_text_runs_where_it_is_clear_and_is_explained_where_it_is_not() {
    let daemon = Setup::new().start().await;
    let call = r#"{"tool":"probe_dot_echo","args":{"count":"4"}}"#;
    let response = native(&daemon, text_of(&format!("I count.\n```json\n{call}\n```"))).await;
    assert_eq!(
        (response.reading(), codes(&response)),
        (Reading::Calls, vec!["SUCCESS".to_owned()])
    );
    let result = told(&messages(&response)[0]["content"]);
    assert_eq!(result["tool_results"][0]["data"]["count"], 4);
    assert_eq!(result["tool_results"][0]["name"], "probe_dot_echo");

    let response = native(&daemon, text_of(r#"{"action":"final","text":"Four."}"#)).await;
    assert_eq!((response.reading(), response.answer.as_str()), (Reading::Final, "Four."));
    let response = native(&daemon, text_of("The set {1,2} is fine.")).await;
    assert_eq!(
        (response.reading(), response.text.as_str()),
        (Reading::Prose, "The set {1,2} is fine.")
    );

    let response = native(&daemon, text_of(&format!("For example: {call}"))).await;
    assert_eq!(response.reading(), Reading::Unclear);
    let response = native(&daemon, text_of(r#"{"tool":"probe.echo","args":{"count":4"#)).await;
    assert_eq!((response.reading(), response.calls.len()), (Reading::Unclear, 0));
    let result = told(&messages(&response)[0]["content"]);
    let send = &result["error"]["details"]["send"];
    assert_eq!(send, &json!({"name": "probe_dot_echo", "arguments": {"count": 0}}));

    // A tool that the caller may not know is as unknown as one that there is not.
    let hidden = r#"{"tool":"probe.forbidden","args":{}}"#;
    let response = native(&daemon, text_of(&format!("Here: {hidden}"))).await;
    assert_eq!(response.reading(), Reading::Prose);
    assert_eq!(successes(&daemon), 1);

    let message = json!({"role": "assistant", "content": call});
    let silent = native(&daemon, json_of(Provider::OpenaiChat, &message)).await;
    assert_eq!((silent.reading(), silent.calls.len()), (Reading::Unspecified, 0));
    let asked = CallNativeRequest { text_calls: true, ..json_of(Provider::OpenaiChat, &message) };
    let response = native(&daemon, asked).await;
    assert_eq!(codes(&response), ["SUCCESS"]);
    assert_eq!(messages(&response)[0]["role"], "user");
    let metrics = daemon.metrics().await;
    for line in [
        "switchboard_native_texts_total{reading=\"unclear\"} 2",
        "switchboard_native_messages_total{provider=\"openai_chat\",outcome=\"no_calls\"} 2",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_nearly_a_call_is_read_once_or_told_to_the_model() {
    let daemon = Setup::new().start().await;
    for text in [
        "{tool: 'probe_dot_echo', args: {count: 4}, // as asked\n}",
        "Thought: count.\nAction: probe_dot_echo\nAction Input: {\"count\": 4}",
        "<invoke name=\"probe_dot_echo\"><parameter name=\"count\">4</parameter></invoke>",
        "{“tool”：“probe_dot_echo”，“args”：{“count”：4}}",
    ] {
        let response = native(&daemon, text_of(text)).await;
        assert_eq!(
            (response.reading(), codes(&response)),
            (Reading::Calls, vec!["SUCCESS".into()])
        );
    }
    let ran = successes(&daemon);
    let call = r#"{"tool":"probe_dot_echo","args":{"count":4}}"#;
    for text in [
        format!("{call}\n\nObservation: {{\"count\":4}}"),
        format!("```python\n{call}\n```"),
        "probe_dot_echo({\"count\":4})".to_owned(),
        "probe_dot_echo(count=4)".to_owned(),
    ] {
        let response = native(&daemon, text_of(&text)).await;
        assert_eq!(response.reading(), Reading::Unclear, "{text}");
        let result = told(&messages(&response)[0]["content"]);
        assert_eq!(result["error"]["details"]["send"]["name"], "probe_dot_echo", "{text}");
    }
    let choice =
        json!({"finish_reason": "length", "message": {"role": "assistant", "content": call}});
    let message = json!({"choices": [choice]});
    let asked = CallNativeRequest { text_calls: true, ..json_of(Provider::OpenaiChat, &message) };
    let response = native(&daemon, asked).await;
    assert_eq!(response.reading(), Reading::Unclear);
    let result = told(&messages(&response)[0]["content"]);
    assert!(result["error"]["message"].as_str().unwrap().contains("cut off (`length`)"));
    assert_eq!(successes(&daemon), ran);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_needs_a_person_can_wait_beside_others() {
    let desk = Desk::new().await;
    let message = chat(&[
        ("a", "probe_dot_erase", r#"{"id":1}"#),
        ("b", "text_dot_stats", r#"{"text":"x"}"#),
    ]);
    let asked = json_of(Provider::OpenaiChat, &message);
    let response = desk.daemon.client().await.call_native(desk.by("agent", asked.clone())).await;
    let response = response.unwrap().into_inner();
    assert_eq!(codes(&response), ["APPROVAL_REQUIRED", "SUCCESS"]);
    let result = told(&messages(&response)[0]["content"]);
    let id = result["error"]["details"]["approval_id"].as_str().unwrap().to_owned();

    let waiting = CallNativeRequest { wait_for_approval: true, ..asked };
    let waiting: Request<CallNativeRequest> = desk.by("agent", waiting);
    let mut client = desk.daemon.client().await;
    let call = tokio::spawn(async move { client.call_native(waiting).await });
    desk.approve(&id).await;
    let response = call.await.unwrap().unwrap().into_inner();
    assert_eq!(codes(&response), ["SUCCESS", "SUCCESS"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_takes_a_message_too() {
    let daemon = Setup::new().start().await;
    let message = chat(&[("a", "probe_dot_echo", r#"{"count":1}"#)]).to_string();
    let output = daemon.cli(&["native", "openai-chat", &message]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line["messages"][0]["tool_call_id"], "a");
    assert_eq!(line["calls"][0]["reply"]["data"]["count"], 1);
    let text = r#"{"tool":"probe.echo","args":{"count":"#;
    let output = daemon.cli(&["native", "text", text]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line["reading"], "unclear");
    assert_eq!(daemon.cli(&["native", "anthropic", &message]).status.code(), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_does_not_decide_what_the_message_decided() {
    let daemon = Setup::new().start().await;
    let message = chat(&[("a", "probe_dot_echo", r#"{"count":1}"#)]);
    let body = json!({"choices": [{"message": message, "finish_reason": "length"}]});
    native(&daemon, json_of(Provider::OpenaiChat, &body)).await;
    let output = daemon.cli(&["replay", "--json", "--config", &daemon.config()]);
    let told = String::from_utf8(output.stdout).unwrap();
    let sum: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&sum["calls"], &sum["same"], &sum["unclear"]),
        (&json!(1), &json!(0), &json!(1)),
        "{told}"
    );
}
