//! The four wire formats: what is sent, and what is read of a whole answer and of a streamed one.

use super::server::{say, stream};
use super::*;

const WHOLE: &str = "stream = false";

#[tokio::test]
async fn openai_is_asked_with_tools_and_its_calls_come_as_they_are() {
    let call = json!({ "id": "c1", "type": "function",
        "function": { "name": "get_weather", "arguments": "{\"city\": \"Oslo\"}" } });
    let server = Server::start(vec![say(&json!({
        "choices": [{ "index": 0, "finish_reason": "tool_calls",
            "message": { "role": "assistant", "content": null, "tool_calls": [call] } }],
        "usage": { "prompt_tokens": 31, "completion_tokens": 7 }
    }))])
    .await;
    let said = ask(&one(&server, "openai", WHOLE), &weather()).await.unwrap();
    assert_eq!((said.calls.len(), said.text.as_str()), (1, ""));
    assert_eq!(said.calls[0].arguments, "{\"city\": \"Oslo\"}");
    assert_eq!((said.calls[0].id.as_str(), said.stop.as_str()), ("c1", "tool_calls"));
    assert_eq!((said.form, said.dialect), (Form::Native, crate::call::Dialect::Openai));
    assert_eq!(said.usage, Usage { input: 31, output: 7, estimated: false });
    let asked = &server.asked()[0];
    assert_eq!(asked.target, "/chat/completions");
    assert_eq!(asked.body["messages"][0], json!({ "role": "system", "content": "Be brief." }));
    let user = json!({ "role": "user", "content": "How is the weather in Oslo?" });
    assert_eq!(asked.body["messages"][1], user);
    assert_eq!(asked.body["tools"][0]["function"]["name"], "get_weather");
    assert_eq!(asked.body["max_tokens"], 1024);
    assert_eq!(asked.body.get("stream"), None);
}

#[tokio::test]
async fn openai_streams_text_and_counts_it_at_the_end() {
    let server = Server::start(vec![stream(&chunks())]).await;
    let (said, heard, text) = listen(&one(&server, "openai", ""), &question("Hi")).await;
    let said = said.unwrap();
    assert_eq!((said.text.as_str(), text.as_str()), ("Good day", "Good day"));
    assert_eq!(heard, [Delta::Text("Good ".into()), Delta::Text("day".into())]);
    assert_eq!(said.usage, Usage { input: 10, output: 5, estimated: false });
    let body = &server.bodies()[0];
    assert_eq!(body["stream_options"], json!({ "include_usage": true }));
}

fn chunks() -> Vec<Value> {
    server::chunks(&["Good ", "day"])
}

#[tokio::test]
async fn anthropic_is_asked_with_its_own_headers_and_blocks() {
    let server = Server::start(vec![say(&json!({
        "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [{ "type": "text", "text": "Let me see." },
            { "type": "tool_use", "id": "t1", "name": "get_weather", "input": { "city": "Oslo" } }],
        "usage": { "input_tokens": 20, "cache_read_input_tokens": 4, "output_tokens": 9 }
    }))])
    .await;
    let key = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(key.path(), "sk-secret\n").unwrap();
    let keys = format!("{WHOLE}\nkey_file = {:?}", key.path());
    let said = ask(&one(&server, "anthropic", &keys), &weather()).await.unwrap();
    assert_eq!((said.text.as_str(), said.calls[0].id.as_str()), ("Let me see.", "t1"));
    assert_eq!(said.usage, Usage { input: 24, output: 9, estimated: false });
    let asked = &server.asked()[0];
    assert_eq!(asked.target, "/v1/messages");
    assert_eq!(asked.header("x-api-key"), Some("sk-secret"));
    assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(asked.header("authorization"), None);
    assert_eq!(asked.body["system"], "Be brief.");
    assert_eq!(asked.body["tools"][0]["input_schema"]["type"], "object");
}

#[tokio::test]
async fn anthropic_streams_blocks() {
    let server = Server::start(vec![stream(&[
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 8, "output_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Goo" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "d" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 6 } }),
        json!({ "type": "message_stop" }),
    ])])
    .await;
    let (said, _, text) = listen(&one(&server, "anthropic", ""), &question("Hi")).await;
    let said = said.unwrap();
    assert_eq!(
        (said.text.as_str(), text.as_str(), said.stop.as_str()),
        ("Good", "Good", "end_turn")
    );
    assert_eq!(said.usage, Usage { input: 8, output: 6, estimated: false });
}

#[tokio::test]
async fn gemini_is_asked_at_the_place_of_its_model() {
    let server = Server::start(vec![say(&json!({
        "candidates": [{ "finishReason": "STOP", "content": { "role": "model", "parts": [
            { "functionCall": { "name": "get_weather", "args": { "city": "Oslo" } } }] } }],
        "usageMetadata": { "promptTokenCount": 12, "candidatesTokenCount": 3, "thoughtsTokenCount": 4 }
    }))])
    .await;
    let said = ask(&one(&server, "gemini", WHOLE), &weather()).await.unwrap();
    assert_eq!(said.calls[0].name, "get_weather");
    assert_eq!(said.usage, Usage { input: 12, output: 7, estimated: false });
    let asked = &server.asked()[0];
    assert_eq!(asked.target, "/models/m:generateContent");
    let told = &asked.body["tools"][0]["functionDeclarations"][0];
    assert_eq!(told["parameters"]["properties"]["city"]["type"], "STRING");
    assert_eq!(asked.body["systemInstruction"]["parts"][0]["text"], "Be brief.");
    assert_eq!(asked.body["generationConfig"]["maxOutputTokens"], 1024);
}

#[tokio::test]
async fn gemini_streams_and_hands_its_signed_parts_back() {
    let part = |part: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": [part] } }] });
    let signed = json!({ "functionCall": { "name": "get_weather", "args": { "city": "Oslo" } },
        "thoughtSignature": "c2ln" });
    let end = json!({ "candidates": [{ "finishReason": "STOP", "content": { "parts": [] } }],
        "usageMetadata": { "promptTokenCount": 2, "candidatesTokenCount": 1 } });
    let server = Server::start(vec![stream(&[
        part(json!({ "text": "hm", "thought": true })),
        part(json!({ "text": "So." })),
        part(signed.clone()),
        end,
    ])])
    .await;
    let models = one(&server, "gemini", "");
    let (said, _, text) = listen(&models, &weather()).await;
    let said = said.unwrap();
    assert_eq!((said.text.as_str(), text.as_str(), said.calls.len()), ("So.", "So.", 1));
    assert_eq!(server.asked()[0].target, "/models/m:streamGenerateContent?alt=sse");
    let told = crate::native::Told { value: json!({ "data": 3 }), is_error: false };
    let mut prompt = weather();
    let results = vec![(said.calls[0].clone(), told)];
    let Said { text, calls, own, .. } = said;
    prompt.turns.push(Turn::Model { text, calls, spoken: false, own });
    prompt.turns.push(Turn::Results(results));
    ask(&models, &prompt).await.unwrap();
    let contents = server.bodies()[1]["contents"].clone();
    assert_eq!(contents[1]["parts"][2], signed);
    assert_eq!(contents[2]["parts"][0]["functionResponse"]["name"], "get_weather");
}

#[tokio::test]
async fn ollama_is_asked_for_room_and_streams_lines() {
    let lines = [
        json!({ "message": { "role": "assistant", "content": "Goo" }, "done": false }),
        json!({ "message": { "role": "assistant", "content": "d" }, "done": false }),
        json!({ "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": "stop",
            "prompt_eval_count": 6, "eval_count": 2 }),
    ];
    let lines = lines.iter().map(|line| format!("{line}\n")).collect();
    let server = Server::start(vec![server::Act::Pieces(lines, server::End::Whole)]).await;
    let (said, _, text) = listen(&one(&server, "ollama", "context = 4096"), &weather()).await;
    let said = said.unwrap();
    assert_eq!((said.text.as_str(), text.as_str()), ("Good", "Good"));
    assert_eq!(said.usage, Usage { input: 6, output: 2, estimated: false });
    let asked = &server.asked()[0];
    assert_eq!(asked.target, "/api/chat");
    assert_eq!(asked.body["options"]["num_ctx"], 4096);
    assert_eq!(asked.body["tools"][0]["function"]["name"], "get_weather");
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_read_all_the_same() {
    let whole = serde_json::to_string_pretty(&server::chat("Good day")).unwrap();
    let server = Server::start(vec![server::Act::Say(200, vec![], whole)]).await;
    let (said, heard, _) = listen(&one(&server, "openai", ""), &question("Hi")).await;
    assert_eq!(said.unwrap().text, "Good day");
    assert_eq!(heard, [Delta::Text("Good day".into())]);
}

#[tokio::test]
async fn tokens_that_nobody_tells_are_counted_here() {
    let mut answer = server::chat("Good day to you");
    answer.as_object_mut().unwrap().remove("usage");
    let server = Server::start(vec![say(&answer)]).await;
    let said = ask(&one(&server, "openai", WHOLE), &question("Hi")).await.unwrap();
    let usage = said.usage;
    assert!(usage.estimated && usage.input > 10 && (2..=8).contains(&usage.output), "{usage:?}");
}

#[tokio::test]
async fn each_provider_binds_an_answer_to_its_shape() {
    let answer = "{\"answer\": \"4\"}";
    let prompt = Prompt { shape: Some(shape()), ..question("2 + 2?") };
    let replies = [
        ("openai", server::chat(answer), "/response_format/json_schema/schema/required/0"),
        (
            "anthropic",
            json!({ "type": "message", "stop_reason": "tool_use", "content": [
                { "type": "tool_use", "id": "t", "name": "answer", "input": { "answer": "4" } }] }),
            "/tools/0/input_schema/required/0",
        ),
        (
            "gemini",
            json!({ "candidates": [{ "finishReason": "STOP",
                "content": { "role": "model", "parts": [{ "text": answer }] } }] }),
            "/generationConfig/responseSchema/required/0",
        ),
        (
            "ollama",
            json!({ "message": { "role": "assistant", "content": answer }, "done": true }),
            "/format/required/0",
        ),
    ];
    for (provider, reply, place) in replies {
        let server = Server::start(vec![say(&reply)]).await;
        let said = ask(&one(&server, provider, WHOLE), &prompt).await.unwrap();
        let read: Value = serde_json::from_str(&said.text).unwrap();
        assert_eq!((read, said.calls.len()), (json!({ "answer": "4" }), 0), "{provider}");
        let body = &server.bodies()[0];
        assert_eq!(body.pointer(place), Some(&json!("answer")), "{provider}: {body}");
    }
}

#[tokio::test]
async fn a_shape_that_is_no_object_is_wrapped_where_it_has_to_be_and_comes_back_bare() {
    let list = json!({ "type": "array", "items": { "$ref": "#/$defs/one" },
        "$defs": { "one": { "type": "integer" } } });
    let reply = json!({ "type": "message", "stop_reason": "tool_use", "content": [
        { "type": "tool_use", "id": "t", "name": "answer", "input": { "value": [1, 2] } }] });
    let server = Server::start(vec![say(&reply)]).await;
    let prompt = Prompt { shape: Some(list), ..question("Count.") };
    let said = ask(&one(&server, "anthropic", WHOLE), &prompt).await.unwrap();
    assert_eq!(said.text, "[1,2]");
    let schema = server.bodies()[0]["tools"][0]["input_schema"].clone();
    assert_eq!(schema["properties"]["value"]["items"]["$ref"], "#/$defs/one");
    assert_eq!(schema["$defs"]["one"]["type"], "integer");
}

#[tokio::test]
async fn a_tool_of_the_catalog_is_told_in_the_dialect_of_whoever_is_asked() {
    let tool = crate::schema::tests::tool(json!({
        "type": "object", "required": ["at"],
        "properties": { "at": { "type": ["string", "null"], "format": "date-time" } }
    }));
    let prompt =
        Prompt { tools: vec![Offer::Tool(std::sync::Arc::new(tool))], ..question("When?") };
    for (provider, place, kind) in [
        ("openai", "/tools/0/function/parameters/properties/at/type", json!(["string", "null"])),
        ("anthropic", "/tools/0/input_schema/properties/at/type", json!(["string", "null"])),
        (
            "gemini",
            "/tools/0/functionDeclarations/0/parameters/properties/at/type",
            json!("STRING"),
        ),
        ("ollama", "/tools/0/function/parameters/properties/at/type", json!("string")),
    ] {
        let server = Server::start(vec![server::fail(404, &json!({}))]).await;
        ask(&one(&server, provider, WHOLE), &prompt).await.unwrap_err();
        let body = &server.bodies()[0];
        assert_eq!(body.pointer(place), Some(&kind), "{provider}: {body}");
    }
}
