//! Long results through the real daemon: what a model is shown, and how the rest is read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use switchboard::proto::tools::call_batch_request::Entry;
use switchboard::proto::tools::call_native_request::Message;
use switchboard::proto::tools::{
    CallBatchRequest, CallNativeRequest, CallRequest, GetResultRequest, Provider, Reply,
};

use crate::daemon::{Daemon, Setup, code, parsed, request};

const SUMMED: &str = r#"
description = "Gives its arguments back, and shows what counts of them. For tests of long results."
profile = "probe"
risk = "read"
idempotent = true
cache_ttl = "5m"
summary_fields = ["$.value.orders[*].id", "$.value.total"]
[input_schema]
type = "object"
required = ["value"]
properties.value = { description = "Any JSON value." }
[command]
argv = ["cat"]
json_output = true
"#;

fn setup() -> Setup {
    Setup::new().policy("tools/probe.summed.toml", SUMMED)
}

fn value() -> Value {
    let order = |n: u32| json!({"id": n, "note": format!("order {n} was packed with great care")});
    json!({"orders": (0..120).map(order).collect::<Vec<_>>(), "total": 120})
}

fn asks(tool: &str, value: &Value, max_tokens: u32, full: bool) -> CallRequest {
    let arguments = json!({ "value": value }).to_string();
    CallRequest { max_tokens, full, ..request(tool, &arguments) }
}

async fn ask(daemon: &Daemon, call: CallRequest) -> (Value, Reply) {
    let reply = daemon.try_call(call).await.unwrap();
    (parsed(&reply), reply)
}

async fn read(daemon: &Daemon, asked: GetResultRequest) -> Result<Value, tonic::Status> {
    let page = daemon.client().await.get_result(asked).await?.into_inner();
    assert_eq!(page.origin.unwrap().tool, "probe.summed");
    Ok(json!({
        "value": serde_json::from_str::<Value>(&page.json).unwrap_or_default(),
        "total": page.total, "next": page.next_first, "tokens": page.tokens,
        "content": page.content.len(), "media_type": page.media_type,
    }))
}

fn at(id: &str, pointer: &str) -> GetResultRequest {
    GetResultRequest {
        call_id: id.to_owned(),
        pointer: Some(pointer.to_owned()),
        ..Default::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_is_shown_and_the_whole_is_recorded_and_cached() {
    let daemon = setup().start().await;
    let (shown, reply) = ask(&daemon, asks("probe.summed", &value(), 0, false)).await;
    assert_eq!(code(&shown), "SUCCESS", "{shown:#}");
    let ids: Vec<Value> = (0..120).map(|n| json!({ "id": n })).collect();
    assert_eq!(shown["data"], json!({"value": {"orders": ids, "total": 120}}));
    assert_eq!(serde_json::from_str::<Value>(&reply.data_json).unwrap(), shown["data"]);
    let view = reply.metadata.as_ref().unwrap().view.as_ref().unwrap();
    assert!(view.summary && view.full_tokens > 3 * view.tokens, "{view:?}");
    assert_eq!(shown["metadata"]["view"]["full_bytes"], view.full_bytes);

    let id = shown["metadata"]["call_id"].as_str().unwrap();
    let asked = GetResultRequest { call_id: id.to_owned(), ..Default::default() };
    let page = daemon.client().await.get_result(asked).await.unwrap().into_inner();
    let mut whole: Value = serde_json::from_str(&page.json).unwrap();
    assert_eq!(whole["data"]["value"], value());
    let config = daemon.config();
    let told = daemon.cli(&["ledger", "show", "--config", &config, "--reply", id]);
    assert_eq!(String::from_utf8(told.stdout).unwrap().trim_end(), page.json);
    // The line as it was sent differs in two places only.
    assert!(whole["metadata"]["view"].is_null());
    whole["data"] = shown["data"].clone();
    whole["metadata"]["view"] = shown["metadata"]["view"].clone();
    assert_eq!(whole.to_string(), reply.json);

    let (full, _) = ask(&daemon, asks("probe.summed", &value(), 0, true)).await;
    assert_eq!((&full["data"]["value"], &full["metadata"]["cache_hit"]), (&value(), &json!(true)));
    assert!(full["metadata"]["view"].is_null());
    let (short, _) = ask(&daemon, asks("probe.summed", &value(), 100, true)).await;
    assert_eq!(short["metadata"]["cache_hit"], true);
    assert!(short["metadata"]["view"]["tokens"].as_u64().unwrap() <= 100, "{short:#}");

    let verified = daemon.cli(&["ledger", "verify", "--config", &config]);
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_marker_leaves_out_is_read_by_its_pointer() {
    let daemon = setup().start().await;
    let (shown, _) = ask(&daemon, asks("probe.summed", &value(), 300, true)).await;
    let id = shown["metadata"]["call_id"].as_str().unwrap();
    let items = shown["data"]["value"]["orders"].as_array().unwrap();
    let (marker, kept) = items.split_last().unwrap();
    let marker = &marker["$more"];
    let pointer = marker["pointer"].as_str().unwrap();
    let mut orders = kept.to_vec();
    let mut first = marker["first"].as_u64().unwrap();
    while first > 0 {
        let asked = GetResultRequest { first, max_tokens: 400, ..at(id, pointer) };
        let page = read(&daemon, asked).await.unwrap();
        assert!(page["tokens"].as_u64().unwrap() <= 400 && page["total"] == 120, "{page}");
        orders.extend(page["value"].as_array().unwrap().clone());
        first = page["next"].as_u64().unwrap();
    }
    assert_eq!(json!(orders), value()["orders"]);

    let wrong = |asked: GetResultRequest| async { read(&daemon, asked).await.unwrap_err() };
    let refused = wrong(at(id, "/data/value/order")).await;
    assert_eq!(refused.code(), tonic::Code::InvalidArgument);
    let told = String::from_utf8_lossy(refused.details()).into_owned();
    assert!(told.contains("an object with `orders`, `total`"), "{told}");
    for asked in [
        GetResultRequest { first: 121, ..at(id, pointer) },
        GetResultRequest { offset: 3, ..at(id, pointer) },
        GetResultRequest { decode: true, ..at(id, pointer) },
        GetResultRequest { pointer: None, count: 3, ..at(id, pointer) },
    ] {
        assert_eq!(wrong(asked).await.code(), tonic::Code::InvalidArgument);
    }
    let other = daemon.cli(&["call", "probe.summed", &json!({"value": 1}).to_string()]);
    let other: Value = serde_json::from_slice(&other.stdout).unwrap();
    let line = ["call", "text.stats", r#"{"text":"a"}"#, "--max-tokens", "40", "--full"];
    let short: Value = serde_json::from_slice(&daemon.cli(&line).stdout).unwrap();
    assert_eq!(short["status"], "success", "{short:#}");
    let others = other["metadata"]["call_id"].as_str().unwrap();
    assert_eq!(wrong(at(others, "/data")).await.code(), tonic::Code::NotFound, "another caller's");
}

#[tokio::test(flavor = "multi_thread")]
async fn binary_content_is_fetched_by_its_handle() {
    let daemon = setup().start().await;
    let png: &[u8] = include_bytes!("../fixtures/images/english.png");
    let value = json!({"page": 3, "scan": STANDARD.encode(png)});
    let (shown, _) = ask(&daemon, asks("probe.summed", &value, 0, false)).await;
    let handle = &shown["data"]["value"]["scan"]["$binary"];
    assert_eq!((&handle["media_type"], &handle["bytes"]), (&json!("image/png"), &json!(png.len())));
    assert_eq!(shown["metadata"]["view"]["unmatched"].as_array().unwrap().len(), 2, "{shown:#}");
    let id = shown["metadata"]["call_id"].as_str().unwrap();
    let pointer = handle["pointer"].as_str().unwrap();
    let asked = GetResultRequest { decode: true, ..at(id, pointer) };
    let page = daemon.client().await.get_result(asked).await.unwrap().into_inner();
    assert!(page.content == png && page.media_type == "image/png" && page.next_first == 0);
    let text = read(&daemon, at(id, pointer)).await.unwrap();
    assert_eq!(text["value"], STANDARD.encode(png));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_expression_keeps_its_tool_out_and_is_named() {
    let broken = SUMMED.replace("$.value.total", "$.value.total[");
    let daemon = Setup::new().policy("tools/probe.summed.toml", &broken).start().await;
    assert_eq!(code(&daemon.call("probe.summed", &json!({"value": 1})).await), "UNKNOWN_TOOL");
    let line = daemon.log_line(0, "probe.summed.toml");
    assert!(line.contains("no JSONPath") && line.contains("at character"), "{line}");
    assert!(line.contains("summary_fields"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_batch_use_the_whole_of_what_is_shown_in_part() {
    let limits = ("sandbox/probe.toml", "output = \"64KiB\"", "output = \"1MiB\"");
    let daemon = setup().edit(limits.0, limits.1, limits.2).start().await;
    let entry = |name: &str, call: CallRequest| Entry { name: name.to_owned(), call: Some(call) };
    let mirrored = |value: &Value| {
        let arguments = json!({ "value": value }).to_string();
        request("probe.mirror", &arguments)
    };
    // One result that is viewed at once, and one that is long enough to be viewed aside.
    let long: Vec<Value> = (0..1000).map(|n| json!({"id": n, "note": "n".repeat(60)})).collect();
    let long = json!({"orders": long, "total": 1000});
    for (value, last) in [(value(), 119), (long, 999)] {
        let place = format!("summed#/value/orders/{last}");
        let calls = vec![
            entry("summed", asks("probe.summed", &value, 40, false)),
            entry("one", mirrored(&json!({ "$ref": place }))),
            entry("all", CallRequest { max_tokens: 40, ..mirrored(&json!({"$ref": "summed#"})) }),
            entry(
                "again",
                mirrored(&json!({"$ref": format!("all#/value/value/orders/{last}/id")})),
            ),
        ];
        let batch = CallBatchRequest { calls, ..Default::default() };
        let answer = daemon.client().await.call_batch(batch).await.unwrap().into_inner();
        let replies = answer.results.iter().map(|result| parsed(result.reply.as_ref().unwrap()));
        let replies: Vec<Value> = replies.collect();
        for shown in [&replies[0], &replies[2]] {
            let view = &shown["metadata"]["view"];
            assert!(view["tokens"].as_u64().is_some_and(|tokens| tokens <= 40), "{shown:#}");
            assert!(view["left_out"].as_u64().is_some_and(|markers| markers > 0), "{shown:#}");
        }
        assert_eq!(replies[1]["data"]["value"], value["orders"][last], "{:#}", replies[1]);
        assert_eq!(replies[3]["data"]["value"], last);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_models_own_message_gets_results_within_its_tokens() {
    let daemon = setup().start().await;
    let call = |tool: &str, value: &Value| {
        let arguments = json!({ "value": value }).to_string();
        json!({"id": tool, "type": "function", "function": {"name": tool, "arguments": arguments}})
    };
    let calls = json!([call("probe_dot_summed", &value()), call("probe_dot_mirror", &json!(1))]);
    let message = json!({"role": "assistant", "tool_calls": calls}).to_string();
    let ask = CallNativeRequest {
        provider: Provider::OpenaiChat.into(),
        message: Some(Message::MessageJson(message)),
        max_tokens: 100,
        ..Default::default()
    };
    let answer = daemon.client().await.call_native(ask).await.unwrap().into_inner();
    let told: Vec<Value> = answer
        .messages_json
        .iter()
        .map(|message| {
            let message: Value = serde_json::from_str(message).unwrap();
            serde_json::from_str(message["content"].as_str().unwrap()).unwrap()
        })
        .collect();
    let view = &told[0]["view"];
    assert_eq!(view["summary"], true, "{:#}", told[0]);
    assert!(view["left_out"].as_u64().unwrap() > 0 && view["full_tokens"].as_u64().unwrap() > 1000);
    assert_eq!(told[0]["call_id"], answer.calls[0].call_id);
    let shown = answer.calls[0].reply.as_ref().unwrap().metadata.as_ref().unwrap();
    assert!(shown.view.as_ref().unwrap().tokens <= 100);
    let page = at(&answer.calls[0].call_id, "/data/value/total");
    assert_eq!(read(&daemon, page).await.unwrap()["value"], 120);
    assert!(told[1].get("view").is_none() && told[1].get("call_id").is_none(), "{:#}", told[1]);
}
