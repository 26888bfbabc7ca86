//! Whole messages and whole responses.

use serde_json::{Value, json};

use super::{Kind, PROVIDERS, Provider, calls, read};
use crate::native::{Error, MAX_CALLS, MOST_CALLS};

fn turn(provider: Provider, message: &Value) -> super::Turn {
    read(provider, &message.to_string()).unwrap()
}

fn wrong(provider: Provider, message: &str) -> String {
    read(provider, message).unwrap_err().to_string()
}

/// A message of each provider with these calls: id, name and arguments.
pub(super) fn message(provider: Provider, asked: &[(&str, &str, Value)]) -> Value {
    let each = |make: &dyn Fn(&str, &str, &Value) -> Value| -> Vec<Value> {
        asked.iter().map(|(id, name, arguments)| make(id, name, arguments)).collect()
    };
    match provider {
        Provider::OpenaiChat => json!({"role": "assistant", "content": "On it.", "tool_calls":
            each(&|id, name, arguments| json!({"id": id, "type": "function",
                "function": {"name": name, "arguments": arguments.to_string()}}))}),
        Provider::OpenaiResponses => json!(each(&|id, name, arguments| json!({
            "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
            "arguments": arguments.to_string(), "status": "completed"}))),
        Provider::Anthropic => json!({"role": "assistant", "content": each(&|id, name, arguments|
            json!({"type": "tool_use", "id": id, "name": name, "input": arguments}))}),
        Provider::Gemini => json!({"role": "model", "parts": each(&|id, name, arguments|
            json!({"functionCall": {"id": id, "name": name, "args": arguments},
                "thoughtSignature": "c2ln"}))}),
        Provider::Ollama => json!({"role": "assistant", "content": "", "tool_calls":
            each(&|id, name, arguments| json!({"id": id,
                "function": {"name": name, "arguments": arguments}}))}),
        Provider::Text => Value::Null,
    }
}

/// The same inside the body of a response that ended for this reason.
fn body(provider: Provider, asked: &[(&str, &str, Value)], stop: &str) -> Value {
    let message = message(provider, asked);
    match provider {
        Provider::OpenaiChat => json!({"id": "chatcmpl-1", "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": stop}],
            "usage": {"total_tokens": 9}}),
        Provider::OpenaiResponses => json!({"id": "resp_1", "object": "response",
            "status": if stop == "completed" { stop } else { "incomplete" },
            "incomplete_details": (stop != "completed").then(|| json!({"reason": stop})),
            "output": message}),
        Provider::Anthropic => json!({"id": "msg_1", "type": "message", "role": "assistant",
            "content": message["content"], "stop_reason": stop}),
        Provider::Gemini => json!({"candidates": [{"content": message, "finishReason": stop}],
            "usageMetadata": {"totalTokenCount": 9}}),
        Provider::Ollama => json!({"model": "m", "message": message, "done": true,
            "done_reason": stop}),
        Provider::Text => Value::Null,
    }
}

fn ends(provider: Provider) -> (&'static str, &'static str) {
    match provider {
        Provider::OpenaiChat => ("tool_calls", "length"),
        Provider::OpenaiResponses => ("completed", "max_output_tokens"),
        Provider::Anthropic => ("tool_use", "max_tokens"),
        Provider::Gemini => ("STOP", "MAX_TOKENS"),
        Provider::Ollama | Provider::Text => ("stop", "length"),
    }
}

#[test]
fn every_provider_gives_its_calls_in_their_order_as_message_and_as_response() {
    let asked = [("a1", "ls", json!({"all": true})), ("a2", "rm", json!({"path": "/tmp/x"}))];
    for provider in PROVIDERS {
        let (end, _) = ends(provider);
        for message in [message(provider, &asked), body(provider, &asked, end)] {
            let turn = turn(provider, &message);
            let expected = [r#"a1 ls({"all":true})"#, r#"a2 rm({"path":"/tmp/x"})"#];
            assert_eq!(calls(&turn), expected, "{provider:?}");
            assert_eq!(turn.cut, None);
        }
        assert_eq!(turn(provider, &body(provider, &asked, end)).stop, end);
    }
}

#[test]
fn a_message_that_was_cut_off_runs_none_of_its_calls() {
    let asked = [("a1", "ls", json!({"all": true})), ("a2", "rm", json!({"path": "/t"}))];
    for provider in PROVIDERS {
        let (_, cut) = ends(provider);
        let turn = turn(provider, &body(provider, &asked, cut));
        assert_eq!(turn.calls.len(), 2);
        assert!(turn.calls.iter().all(|call| call.is_cut && call.fault.is_some()), "{provider:?}");
    }
    for stop in ["content_filter", "SAFETY", "MALFORMED_FUNCTION_CALL", "refusal"] {
        let message = body(Provider::OpenaiChat, &asked, stop);
        assert!(turn(Provider::OpenaiChat, &message).cut.is_some(), "{stop}");
    }
    let piece = json!({"message": message(Provider::Ollama, &asked), "done": false});
    assert!(turn(Provider::Ollama, &piece).calls.iter().all(|call| call.is_cut));
    let item = json!({"type": "function_call", "call_id": "a1", "name": "ls", "arguments": "{}",
        "status": "incomplete"});
    assert!(turn(Provider::OpenaiResponses, &item).calls[0].is_cut);
}

#[test]
fn arguments_that_look_like_a_call_stay_the_arguments_of_their_own() {
    let inner = json!({"name": "rm", "arguments": {"name": "x", "arguments": {"path": "/"}}});
    for provider in PROVIDERS {
        let turn = turn(provider, &message(provider, &[("a1", "note", inner.clone())]));
        assert_eq!(calls(&turn), [format!("a1 note({inner})")], "{provider:?}");
    }
    let text = json!({"tool": "note", "args": inner}).to_string();
    assert_eq!(super::told(&text), format!("note({inner})"));
}

#[test]
fn arguments_are_handed_on_as_they_came() {
    let text = r#"{"n":123456789012345678901234567890,"f":1.10,"z":1,"a":{"a":1,"a":2}}"#;
    for provider in PROVIDERS {
        let whole = message(provider, &[("a1", "ls", json!("HERE"))]).to_string();
        let whole = match provider {
            Provider::OpenaiChat | Provider::OpenaiResponses => {
                whole.replace(r#""\"HERE\"""#, &Value::from(text).to_string())
            }
            _ => whole.replace(r#""HERE""#, text),
        };
        let turn = read(provider, &whole).unwrap();
        assert_eq!(turn.calls[0].arguments, text, "{provider:?}");
    }
}

#[test]
fn absent_empty_and_null_arguments_are_none() {
    for function in [
        json!({"name": "ls"}),
        json!({"name": "ls", "arguments": ""}),
        json!({"name": "ls", "arguments": null}),
        json!({"name": "ls", "arguments": "null"}),
        json!({"name": "ls", "arguments": {}}),
    ] {
        let message =
            json!({"tool_calls": [{"id": "a", "type": "function", "function": function}]});
        assert_eq!(calls(&turn(Provider::OpenaiChat, &message)), ["a ls({})"], "{message}");
    }
}

#[test]
fn broken_arguments_are_not_mended_here() {
    for arguments in [
        r#"{"to":"a","amt":5}{"to":"b","amt":7}"#,
        r#"{"account":"A1","amount":100"#,
        "{'city': 'Xi'}",
        "[1]",
        "nonsense",
    ] {
        let message = json!({"tool_calls": [{"id": "a", "function":
            {"name": "ls", "arguments": arguments}}]});
        assert_eq!(turn(Provider::OpenaiChat, &message).calls[0].arguments, arguments);
    }
}

#[test]
fn custom_tools_and_the_form_before_tool_calls_are_calls_too() {
    let message = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "custom", "custom": {"name": "ls", "input": "{\"all\":true}"}}]});
    let turn = turn(Provider::OpenaiChat, &message);
    assert_eq!(
        (turn.calls[0].kind, calls(&turn)),
        (Kind::Custom, vec![r#"a ls({"all":true})"#.to_owned()])
    );
    let message = json!({"role": "assistant", "content": null,
        "function_call": {"name": "ls", "arguments": "{}"}});
    let turn = super::read(Provider::OpenaiChat, &message.to_string()).unwrap();
    assert_eq!((turn.calls[0].kind, calls(&turn)), (Kind::Legacy, vec!["ls({})".to_owned()]));
    // Servers that say one call in both forms mean it once.
    let call = json!({"name": "ls", "arguments": "{}"});
    let both = json!({"tool_calls": [{"id": "a", "type": "function", "function": call}],
        "function_call": call});
    assert_eq!(calls(&super::read(Provider::OpenaiChat, &both.to_string()).unwrap()), ["a ls({})"]);
    let message = json!([{"type": "custom_tool_call", "call_id": "c", "name": "ls", "input": "x"}]);
    let turn = super::read(Provider::OpenaiResponses, &message.to_string()).unwrap();
    assert_eq!((turn.calls[0].kind, calls(&turn)), (Kind::Custom, vec!["c ls(x)".to_owned()]));
}

#[test]
fn what_the_provider_runs_itself_and_the_text_around_are_left_alone() {
    let message = json!({"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "Looking."},
        {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []},
        {"type": "mcp_tool_use", "id": "m1", "name": "ls", "server_name": "s", "input": {}},
        {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}]});
    let turn_of = turn(Provider::Anthropic, &message);
    assert_eq!(
        (calls(&turn_of), turn_of.text.as_str()),
        (vec!["t1 ls({})".to_owned()], "Looking.")
    );
    let message = json!({"output": [
        {"type": "reasoning", "id": "rs", "summary": []},
        {"type": "web_search_call", "id": "ws", "status": "completed"},
        {"type": "mcp_call", "id": "m", "name": "ls", "arguments": "{}"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]},
        {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"}]});
    let turn_of = turn(Provider::OpenaiResponses, &message);
    assert_eq!((calls(&turn_of), turn_of.text.as_str()), (vec!["c1 ls({})".to_owned()], "So."));
    let message = json!({"candidates": [{"content": {"role": "model", "parts": [
        {"text": "thinking aloud", "thought": true},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"text": "Now."},
        {"functionCall": {"name": "ls"}}]}, "finishReason": "STOP"}]});
    let turn_of = turn(Provider::Gemini, &message);
    assert_eq!((calls(&turn_of), turn_of.text.as_str()), (vec!["ls({})".to_owned()], "Now."));
}

#[test]
fn a_message_of_another_provider_is_refused_with_its_place() {
    let asked = [("a1", "ls", json!({}))];
    for (provider, other) in [
        (Provider::OpenaiChat, Provider::Anthropic),
        (Provider::OpenaiChat, Provider::Gemini),
        (Provider::OpenaiChat, Provider::OpenaiResponses),
        (Provider::OpenaiChat, Provider::Ollama),
        (Provider::OpenaiResponses, Provider::OpenaiChat),
        (Provider::OpenaiResponses, Provider::Anthropic),
        (Provider::Anthropic, Provider::OpenaiChat),
        (Provider::Anthropic, Provider::OpenaiResponses),
        (Provider::Anthropic, Provider::Gemini),
        (Provider::Gemini, Provider::OpenaiChat),
        (Provider::Gemini, Provider::Anthropic),
        (Provider::Gemini, Provider::Ollama),
        (Provider::Ollama, Provider::Anthropic),
        (Provider::Ollama, Provider::Gemini),
        (Provider::Ollama, Provider::OpenaiResponses),
    ] {
        let (end, _) = ends(other);
        let message = body(other, &asked, end).to_string();
        assert!(read(provider, &message).is_err(), "{other:?} as {provider:?}");
    }
}

#[test]
fn a_broken_message_is_refused_with_its_place() {
    for (message, place) in [
        (r#"{"choices":[]}"#, "/choices: is empty"),
        (
            r#"{"choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}]}"#,
            "/choices: has 2",
        ),
        (r#"{"role":"user","content":"x"}"#, "/role: must be"),
        (r#"{"tool_calls":{}}"#, "/tool_calls: must be an array"),
        (r#"{"tool_calls":["x"]}"#, "/tool_calls/0: must be an object"),
        (
            r#"{"tool_calls":[{"id":7,"function":{"name":"ls"}}]}"#,
            "/tool_calls/0/id: must be a string",
        ),
        (r#"{"tool_calls":[{"id":"a"}]}"#, "/tool_calls/0: has no `function`"),
        (
            r#"{"tool_calls":[{"function":{"name":"ls","name":"rm"}}]}"#,
            "/tool_calls/0/function/name: is there twice",
        ),
        (r#"{"content":"x"} trailing"#, "has more text after"),
        (r#"{"content":"x"#, "ends before"),
        ("{nonsense}", "is no JSON"),
        ("", "ends before"),
        (r#"{"error":{"message":"overloaded"}}"#, "is no message"),
    ] {
        let told = wrong(Provider::OpenaiChat, message);
        assert!(told.contains(place), "{message}: {told}");
    }
    let told =
        wrong(Provider::Anthropic, r#"{"content":[{"type":"tool_use","name":"ls","input":{}}]}"#);
    assert!(told.contains("/content/0: has no `id`"), "{told}");
    assert!(wrong(Provider::Anthropic, r#"{"type":"error","error":{}}"#).contains("type `error`"));
}

#[test]
fn calls_that_share_an_id_do_not_run() {
    let asked = [("a", "ls", json!({})), ("b", "ls", json!({})), ("a", "rm", json!({"path": "/"}))];
    let turn = turn(Provider::Anthropic, &message(Provider::Anthropic, &asked));
    let withheld: Vec<bool> = turn.calls.iter().map(|call| call.fault.is_some()).collect();
    assert_eq!(withheld, [true, false, true]);
    assert!(!turn.calls[0].is_cut);
}

#[test]
fn a_bounded_number_of_calls_runs() {
    let many = |count: usize| {
        let ids: Vec<String> = (0..count).map(|id| id.to_string()).collect();
        let asked: Vec<_> = ids.iter().map(|id| (id.as_str(), "ls", json!({}))).collect();
        read(Provider::OpenaiChat, &message(Provider::OpenaiChat, &asked).to_string())
    };
    let turn = many(MAX_CALLS + 2).unwrap();
    assert_eq!(turn.calls.iter().filter(|call| call.fault.is_some()).count(), 2);
    assert_eq!(many(MOST_CALLS + 1), Err(Error::TooMany(MOST_CALLS + 1)));
}

#[test]
fn gemini_tells_of_calls_that_it_could_not_read() {
    let message = json!({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL",
        "finishMessage": "print(default_api.ls())", "content": {}}]});
    let turn = turn(Provider::Gemini, &message);
    let told = super::parsed(&turn.say_malformed(Provider::Gemini).unwrap());
    let text = super::parsed(told["parts"][0]["text"].as_str().unwrap());
    assert_eq!(text["error"]["details"]["provider"], "print(default_api.ls())");
}
