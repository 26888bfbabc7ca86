//! Endpoints that do wrong: each is bounded, recorded, and passed over.

use super::server::{Act, End, chat, chunks, say};
use super::*;

const WHOLE: &str = "stream = false\nretries = 0";

/// What is recorded of an endpoint that does this, before the next one answers.
async fn after(act: Act, keys: &str) -> Tried {
    let (first, second) =
        (Server::start(vec![act]).await, Server::start(vec![say(&chat("4"))]).await);
    let second_keys = "stream = false";
    let models =
        open(&config(&[("bad", &first, "openai", keys), ("good", &second, "openai", second_keys)]));
    let said = ask(&models, &question("2 + 2?")).await.unwrap();
    assert_eq!((said.endpoint.as_str(), said.tried.len()), ("good", 2), "{:?}", said.tried);
    said.tried[0].clone()
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Server::start(vec![say(&chat("stolen"))]).await;
    let moved = Act::Say(307, vec![("location", other.url().to_owned())], String::new());
    let tried = after(moved, WHOLE).await;
    assert_eq!((tried.outcome, tried.status), (Outcome::Redirect, Some(307)));
    assert!(tried.message.contains("not followed"), "{tried}");
    assert!(other.asked().is_empty());
}

#[tokio::test]
async fn a_hang_ends_by_the_first_timeout_that_fits() {
    let tried = after(Act::Hang, "timeout = \"150ms\"\nstream = false").await;
    assert_eq!((tried.outcome, tried.status), (Outcome::Timeout, None));
    assert!((140..5000).contains(&tried.took_ms), "{tried:?}");
    let tried = after(Act::Hang, "first_token_timeout = \"150ms\"").await;
    assert_eq!(tried.outcome, Outcome::Timeout);
    assert!((140..5000).contains(&tried.took_ms), "{tried:?}");
}

#[tokio::test]
async fn a_stream_that_falls_silent_ends_too() {
    let begun = vec![format!("data: {}\n\n", chunks(&["It"])[0])];
    let tried = after(Act::Pieces(begun, End::Silent), "first_token_timeout = \"150ms\"").await;
    assert_eq!(tried.outcome, Outcome::Timeout);
    assert!(tried.message.contains("silent"), "{tried}");
}

#[tokio::test]
async fn a_stream_is_over_where_its_provider_says_so() {
    let event = |event: &Value| format!("data: {event}\n\n");
    let chat: Vec<String> = chunks(&["4"]).iter().map(event).collect();
    let done = "data: [DONE]\n\n".to_owned();
    let anthropic = [
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "4" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
        json!({ "type": "message_stop" }),
    ];
    let last = json!({ "message": { "role": "assistant", "content": "4" }, "done": true });
    for (provider, pieces) in [
        ("openai", [chat, vec![done]].concat()),
        ("anthropic", anthropic.iter().map(event).collect()),
        ("ollama", vec![format!("{last}\n")]),
    ] {
        for end in [End::Silent, End::Cut] {
            let server = Server::start(vec![Act::Pieces(pieces.clone(), end)]).await;
            let models = one(&server, provider, "retries = 0\nfirst_token_timeout = \"20s\"");
            let said = ask(&models, &question("2 + 2?")).await.unwrap();
            assert_eq!((said.text.as_str(), said.tried.len()), ("4", 1), "{provider} {end:?}");
            assert!(said.tried[0].took_ms < 10_000, "{provider} {end:?}: {:?}", said.tried);
        }
    }
}

#[tokio::test]
async fn what_an_endpoint_says_is_one_line_and_steers_no_terminal() {
    let said = json!({ "error": { "message": "slow\ndown\u{1b}[31m\u{9b}2Jnow" } });
    for status in [400, 429, 500] {
        let tried = after(Act::Say(status, vec![], said.to_string()), WHOLE).await;
        assert_eq!(tried.message, "slow down [31m 2Jnow", "{status}");
    }
}

#[tokio::test]
async fn a_refusal_that_repeats_all_that_it_was_sent_is_told_by_its_beginning() {
    let body = json!({ "detail": [{ "loc": ["body", "x"], "msg": "too long for it", "input": "y".repeat(1 << 20) }] });
    let tried = after(super::server::fail(422, &body), WHOLE).await;
    assert_eq!((tried.outcome, tried.status), (Outcome::Refused, Some(422)));
    assert!(tried.message.contains("too long for it"), "{tried}");
}

#[tokio::test]
async fn ten_megabytes_are_not_read_to_their_end() {
    for keys in [WHOLE, "retries = 2"] {
        let tried = after(Act::Large(10 << 20), keys).await;
        assert_eq!((tried.outcome, tried.status), (Outcome::Malformed, Some(200)));
        assert!(tried.message.contains("is over 8388608 bytes"), "{tried}");
    }
}

#[tokio::test]
async fn what_is_no_answer_of_its_provider_is_none() {
    for body in ["<html>Welcome</html>", "[1, 2]", "{\"choices\": []}", "{\"ok\": true}", ""] {
        let tried = after(Act::Say(200, vec![], body.to_owned()), WHOLE).await;
        assert_eq!(tried.outcome, Outcome::Malformed, "{body}: {tried:?}");
    }
}

#[tokio::test]
async fn an_error_in_an_answer_with_status_200_is_told() {
    let body = json!({ "error": { "message": "upstream is gone", "code": 502 } });
    let tried = after(say(&body), WHOLE).await;
    assert_eq!(tried.outcome, Outcome::Malformed);
    assert!(tried.message.contains("upstream is gone"), "{tried}");
}

#[tokio::test]
async fn an_answer_that_was_cut_off_is_handed_over_with_its_reason() {
    let mut cut = chat("{\"answer\": \"fo");
    cut["choices"][0]["finish_reason"] = json!("length");
    let server = Server::start(vec![say(&cut)]).await;
    let prompt = Prompt { shape: Some(shape()), ..question("Hi") };
    let said = ask(&one(&server, "openai", WHOLE), &prompt).await.unwrap();
    assert_eq!((said.text.as_str(), said.stop.as_str()), ("{\"answer\": \"fo", "length"));
    assert!(said.cut.is_some_and(|why| why.contains("cut off")));
}

#[tokio::test]
async fn a_call_in_the_text_stays_there() {
    let text = "Sure:\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}";
    let server = Server::start(vec![say(&chat(text))]).await;
    let said = ask(&one(&server, "openai", WHOLE), &weather()).await.unwrap();
    assert_eq!((said.text.as_str(), said.calls.len()), (text, 0));
}

#[tokio::test]
async fn several_calls_at_once_keep_their_order_and_another_tool_its_name() {
    let call = |id: &str, name: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": "{}" } });
    let mut answer = chat("");
    answer["choices"][0]["message"]["tool_calls"] =
        json!([call("a", "get_weather"), call("b", "no_such"), call("c", "get_weather")]);
    let server = Server::start(vec![say(&answer)]).await;
    let said = ask(&one(&server, "openai", WHOLE), &weather()).await.unwrap();
    let names: Vec<&str> = said.calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["get_weather", "no_such", "get_weather"]);
}

#[tokio::test]
async fn a_prompt_that_cannot_fit_is_not_sent() {
    let server = Server::start(vec![say(&chat("4"))]).await;
    let models = one(&server, "openai", "stream = false\ncontext = 100\nmax_output = 50");
    let failed = ask(&models, &question(&"word ".repeat(400))).await.unwrap_err();
    assert_eq!(outcomes(failed.tried()), ["only too_long"]);
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn what_a_provider_blocks_and_what_a_model_refuses_is_told() {
    let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" }, "usageMetadata": {} });
    for (act, keys) in
        [(say(&blocked), WHOLE), (super::server::stream(std::slice::from_ref(&blocked)), "")]
    {
        let server = Server::start(vec![act]).await;
        let said = ask(&one(&server, "gemini", keys), &question("Hi")).await.unwrap();
        assert_eq!((said.text.as_str(), said.stop.as_str()), ("", "SAFETY"));
        assert!(said.cut.is_some_and(|why| why.contains("blocks")), "{keys}");
    }
    let mut refused = chat("");
    refused["choices"][0]["message"] =
        json!({ "role": "assistant", "content": null, "refusal": "I will not." });
    let server = Server::start(vec![say(&refused)]).await;
    let said = ask(&one(&server, "openai", WHOLE), &question("Hi")).await.unwrap();
    assert_eq!(said.text, "I will not.");
}
