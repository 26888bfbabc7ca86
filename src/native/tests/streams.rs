//! Streamed responses.

use serde_json::{Value, json};

use super::{Provider, assemble, calls};
use crate::native::{Error, Turn};

fn sse(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn chunk(calls: &Value) -> Value {
    json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"tool_calls": calls}}]})
}

fn end(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn chat(pieces: &[Value]) -> Turn {
    let mut events: Vec<Value> = pieces.iter().map(chunk).collect();
    events.push(end("tool_calls"));
    assemble(Provider::OpenaiChat, format!("{}data: [DONE]\n\n", sse(&events)).as_bytes()).unwrap()
}

#[test]
fn pieces_go_to_their_call_by_index() {
    let turn = chat(&[
        json!([{"index": 0, "id": "A", "type": "function", "function": {"name": "f", "arguments": "{\"t\":\"\\u4f"}}]),
        json!([{"index": 1, "id": "B", "function": {"name": "g", "arguments": "{\"k\":"}}]),
        json!([{"index": 0, "function": {"arguments": "60\",\"e\":\"\\ud83d"}}]),
        json!([{"index": 1, "function": {"arguments": "1}"}}]),
        json!([{"index": 0, "function": {"arguments": "\\ude00\"}"}}]),
    ]);
    assert_eq!(calls(&turn), [r#"A f({"t":"\u4f60","e":"\ud83d\ude00"})"#, r#"B g({"k":1})"#]);
}

#[test]
fn without_index_and_id_a_new_name_begins_a_new_call() {
    let piece = |name: &str, arguments: &str| json!([{"index": null, "function": {"name": name, "arguments": arguments}}]);
    let turn = chat(&[piece("f", r#"{"t":"x"}"#), piece("g", r#"{"k":2}"#)]);
    assert_eq!(calls(&turn), [r#"f({"t":"x"})"#, r#"g({"k":2})"#]);
    let turn = chat(&[piece("f", r#"{"t":"#), piece("g", r#"{"k":2}"#)]);
    assert_eq!(calls(&turn), [r#"f({"t":)"#, r#"g({"k":2})"#]);
    let turn = chat(&[
        json!([{"function": {"name": "f"}}]),
        json!([{"function": {"arguments": "{\"t\""}}]),
        json!([{"function": {"name": "", "arguments": ":1}"}}]),
    ]);
    assert_eq!(calls(&turn), [r#"f({"t":1})"#]);
}

#[test]
fn one_index_for_all_calls_is_told_apart_by_their_ids() {
    let piece = |id: &str, name: &str, arguments: &str| json!([{"index": 0, "id": id, "function": {"name": name, "arguments": arguments}}]);
    let turn = chat(&[piece("A", "f", r#"{"t":1}"#), piece("B", "f", r#"{"t":2}"#)]);
    assert_eq!(calls(&turn), [r#"A f({"t":1})"#, r#"B f({"t":2})"#]);
    // Names that are repeated with each piece are no new calls.
    let turn = chat(&[piece("A", "f", r#"{"t":"#), piece("A", "f", "1}")]);
    assert_eq!(calls(&turn), [r#"A f({"t":1})"#]);
}

#[test]
fn names_are_never_joined() {
    let turn = chat(&[
        json!([{"index": 0, "id": "A", "function": {"name": "f", "arguments": ""}}]),
        json!([{"index": 0, "function": {"name": "g", "arguments": "{}"}}]),
    ]);
    assert_eq!(calls(&turn), ["A f({}) withheld"]);
}

#[test]
fn bytes_of_one_character_are_joined_before_they_are_read() {
    let text = sse(&[
        chunk(
            &json!([{"index": 0, "id": "A", "function": {"name": "f", "arguments": "{\"t\":\"你\"}"}}]),
        ),
        end("tool_calls"),
    ]);
    assert_eq!(
        calls(&assemble(Provider::OpenaiChat, text.as_bytes()).unwrap()),
        [r#"A f({"t":"你"})"#]
    );
    let cut = text.find('你').unwrap() + 1;
    let error = assemble(Provider::OpenaiChat, &text.as_bytes()[..cut]).unwrap_err();
    assert!(matches!(error, Error::Cut(_)), "{error}");
    let broken = text.replace('你', "\u{fffd}").into_bytes();
    let at = broken.windows(3).position(|three| three == "\u{fffd}".as_bytes()).unwrap();
    let mut broken = broken;
    broken[at] = 0xff;
    let error = assemble(Provider::OpenaiChat, &broken).unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error}");
}

/// A stream of each provider with one call of `ls`.
fn streams() -> Vec<(Provider, String)> {
    let anthropic = sse(&[
        json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Look."}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "ping"}),
        json!({"type": "content_block_start", "index": 1, "content_block":
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1, "delta":
            {"type": "input_json_delta", "partial_json": "{\"query\":1}"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "content_block_start", "index": 2, "content_block":
            {"type": "tool_use", "id": "A", "name": "ls", "input": {}}}),
        json!({"type": "content_block_delta", "index": 2, "delta":
            {"type": "input_json_delta", "partial_json": ""}}),
        json!({"type": "content_block_delta", "index": 2, "delta":
            {"type": "input_json_delta", "partial_json": "{\"all\":"}}),
        json!({"type": "content_block_delta", "index": 2, "delta":
            {"type": "input_json_delta", "partial_json": "true}"}}),
        json!({"type": "content_block_stop", "index": 2}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        json!({"type": "message_stop"}),
    ]);
    let item = json!({"type": "function_call", "id": "fc", "call_id": "A", "name": "ls",
        "arguments": "{\"all\":true}", "status": "completed"});
    let responses = sse(&[
        json!({"type": "response.created", "response": {"status": "in_progress", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item":
            {"type": "function_call", "id": "fc", "call_id": "A", "name": "ls", "arguments": ""}}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc", "delta": "{\"all\":true}"}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"status": "completed", "output": [item]}}),
    ]);
    let part = json!({"functionCall": {"id": "A", "name": "ls", "args": {"all": true}}});
    let candidates = [
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Look."}]}}]}),
        json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}),
    ];
    let lines = [
        json!({"message": {"role": "assistant", "content": "Look."}, "done": false}),
        json!({"message": {"role": "assistant", "content": "", "tool_calls":
            [{"id": "A", "function": {"name": "ls", "arguments": {"all": true}}}]}, "done": false}),
        json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"}),
    ];
    let chat = sse(&[
        chunk(
            &json!([{"index": 0, "id": "A", "function": {"name": "ls", "arguments": "{\"all\":"}}]),
        ),
        chunk(&json!([{"index": 0, "function": {"arguments": "true}"}}])),
        end("tool_calls"),
    ]);
    vec![
        (Provider::Anthropic, anthropic.replace("\n\n", "\r\n\r\n")),
        (Provider::OpenaiResponses, responses),
        (Provider::Gemini, sse(&candidates)),
        (Provider::Gemini, Value::from(candidates.to_vec()).to_string()),
        (Provider::Ollama, lines.iter().map(|line| format!("{line}\n")).collect()),
        (Provider::OpenaiChat, chat),
    ]
}

#[test]
fn every_provider_streams_its_calls() {
    for (provider, stream) in streams() {
        let turn = assemble(provider, stream.as_bytes()).unwrap();
        assert_eq!(calls(&turn), [r#"A ls({"all":true})"#], "{provider:?}");
        assert_ne!(turn.stop, "", "{provider:?}");
    }
}

#[test]
fn a_stream_that_is_cut_off_anywhere_gives_no_calls() {
    for (provider, stream) in streams() {
        // The last event and what follows it say that the end is there.
        let last = stream.trim_end().rfind("\n").map_or(0, |at| at + 1);
        let whole = stream.trim_end().len();
        for end in (0..whole).filter(|end| *end < last || *end + 2 < whole) {
            let Some(cut) = stream.as_bytes().get(..end) else { continue };
            match assemble(provider, cut) {
                Err(Error::Cut(_)) => {}
                other => panic!("{provider:?} at {end} of {whole}: {other:?}"),
            }
        }
    }
}

#[test]
fn the_end_of_a_stream_can_say_that_the_model_was_cut_off() {
    let turn = assemble(
        Provider::OpenaiChat,
        sse(&[
            chunk(&json!([{"index": 0, "id": "A", "function": {"name": "ls", "arguments": "{}"}}])),
            end("length"),
        ])
        .as_bytes(),
    );
    assert_eq!(calls(&turn.unwrap()), ["A ls({}) withheld"]);
    let item = json!({"type": "function_call", "call_id": "A", "name": "ls", "arguments": "{}"});
    let stream = sse(&[json!({"type": "response.incomplete", "response": {"status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"}, "output": [item]}})]);
    let turn = assemble(Provider::OpenaiResponses, stream.as_bytes()).unwrap();
    assert_eq!(calls(&turn), ["A ls({}) withheld"]);
}

#[test]
fn an_error_in_a_stream_ends_it() {
    for (provider, event) in [
        (Provider::OpenaiChat, json!({"error": {"message": "overloaded"}})),
        (Provider::Anthropic, json!({"type": "error", "error": {"type": "overloaded_error"}})),
        (Provider::OpenaiResponses, json!({"type": "response.failed", "response": {}})),
        (Provider::Gemini, json!({"error": {"code": 503}})),
    ] {
        let error = assemble(provider, sse(&[event]).as_bytes()).unwrap_err();
        assert!(matches!(error, Error::Cut(_)), "{provider:?}: {error}");
    }
}

#[test]
fn a_stream_of_gemini_with_pieces_of_a_call_is_refused_as_a_whole() {
    let part = |part: Value| json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": null}]});
    let chunks = [
        part(json!({"text": "Looking."})),
        part(json!({"functionCall": {"name": "ls", "willContinue": true}})),
        part(json!({"functionCall": {"partialArgs": [{"jsonPath": "$.all", "boolValue": true}],
            "willContinue": true}})),
        part(json!({"functionCall": {}})),
        json!({"candidates": [{"finishReason": "STOP"}]}),
    ];
    let refused = |chunks: &[Value]| {
        assemble(Provider::Gemini, sse(chunks).as_bytes()).unwrap_err().to_string()
    };
    for stream in [&chunks[..], &chunks[2..]] {
        let told = refused(stream);
        assert!(told.contains("/parts/0/functionCall"), "{told}");
        assert!(told.contains("without `streamFunctionCallArguments`"), "{told}");
    }
}

#[test]
fn a_stream_of_something_else_is_refused() {
    for (provider, stream) in streams() {
        for other in super::PROVIDERS {
            if other != provider {
                assert!(assemble(other, stream.as_bytes()).is_err(), "{provider:?} as {other:?}");
            }
        }
    }
    for stream in ["", "<html>", "data: {nonsense}\n\ndata: {}\n\n", "data: 1\n\n"] {
        assert!(assemble(Provider::OpenaiChat, stream.as_bytes()).is_err(), "{stream}");
    }
}

#[test]
fn comments_names_and_split_data_of_events_are_read_as_the_standard_says() {
    let stream = "\u{feff}: keep-alive\n\nevent: x\nid: 1\ndata: {\"choices\":\ndata: [{\"index\":0,\
        \"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata:[DONE]";
    let turn = assemble(Provider::OpenaiChat, stream.as_bytes()).unwrap();
    assert_eq!(turn.text, "Hi");
}

#[test]
fn many_pieces_and_many_calls_cost_a_bounded_time() {
    let started = std::time::Instant::now();
    let piece = |id: usize| {
        chunk(
            &json!([{"index": 0, "id": format!("c{id}"), "function": {"name": "f", "arguments": "{}"}}]),
        )
    };
    let mut events: Vec<Value> = (0..20_000).map(piece).collect();
    events.push(end("tool_calls"));
    let error = assemble(Provider::OpenaiChat, sse(&events).as_bytes()).unwrap_err();
    assert!(matches!(error, Error::TooMany(_)), "{error}");
    // A name with each piece, in the middle of one long string.
    let piece = json!([{"index": 0, "function": {"name": "f", "arguments": "}".repeat(100)}}]);
    let mut pieces =
        vec![json!([{"index": 0, "function": {"name": "f", "arguments": "{\"t\":\""}}])];
    pieces.extend((0..10_000).map(|_| piece.clone()));
    pieces.push(json!([{"index": 0, "function": {"arguments": "\"}"}}]));
    let turn = chat(&pieces);
    assert_eq!((turn.calls.len(), turn.calls[0].arguments.len()), (1, 1_000_008));
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}
