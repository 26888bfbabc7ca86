//! Keys: sent where they belong, in no error and no record; and what is recorded is masked.

use super::server::{chat, fail, say};
use super::*;

const KEY: &str = "sk-live-0123456789abcdef";

fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

#[tokio::test]
async fn a_key_that_an_endpoint_repeats_is_struck() {
    let key = file(KEY);
    let said =
        format!("Incorrect API key provided: {KEY}. Call 13912345678 or a.smith@example.com");
    let server = Server::start(vec![fail(401, &json!({ "error": { "message": said } }))]).await;
    let models = one(&server, "openai", &format!("key_file = {:?}", key.path()));
    let failed = ask(&models, &question("Hi")).await.unwrap_err();
    let told = format!("{failed} {failed:?} {models:?}");
    assert!(told.contains("Incorrect API key"), "{told}");
    for secret in [KEY, "13912345678", "a.smith@example.com"] {
        assert!(!told.contains(secret), "{told}");
    }
    let sent = format!("Bearer {KEY}");
    assert_eq!(server.asked()[0].header("authorization"), Some(sent.as_str()));
}

#[tokio::test]
async fn a_key_that_stands_in_an_answer_is_struck_too() {
    let key = file(KEY);
    let mut answer = chat(&format!("I was asked with Bearer {KEY}."));
    answer["choices"][0]["message"]["tool_calls"] = json!([{ "id": "c", "type": "function",
        "function": { "name": "get_weather", "arguments": format!("{{\"city\": \"{KEY}\"}}") } }]);
    let server = Server::start(vec![say(&answer)]).await;
    let keys = format!("stream = false\nkey_file = {:?}", key.path());
    let said = ask(&one(&server, "openai", &keys), &weather()).await.unwrap();
    assert_eq!(said.text, "I was asked with Bearer [key].");
    assert_eq!(said.calls[0].arguments, "{\"city\": \"[key]\"}");
}

#[tokio::test]
async fn gemini_has_its_key_in_a_header_and_not_in_the_url() {
    let key = file(KEY);
    let server = Server::start(vec![fail(403, &json!({}))]).await;
    let models = one(&server, "gemini", &format!("key_file = {:?}", key.path()));
    ask(&models, &question("Hi")).await.unwrap_err();
    let asked = &server.asked()[0];
    assert_eq!(asked.header("x-goog-api-key"), Some(KEY));
    assert!(!asked.target.contains(KEY));
}

#[tokio::test]
async fn a_key_is_read_anew_and_one_that_is_missing_costs_only_its_endpoint() {
    let key = file(KEY);
    let (first, second) =
        (Server::start(vec![say(&chat("1"))]).await, Server::start(vec![say(&chat("2"))]).await);
    let keyed = format!("stream = false\nkey_file = {:?}", key.path());
    let models = open(&config(&[
        ("one", &first, "openai", &keyed),
        ("two", &second, "openai", "stream = false"),
    ]));
    assert_eq!(ask(&models, &question("Hi")).await.unwrap().text, "1");
    std::fs::write(key.path(), "another-key").unwrap();
    ask(&models, &question("Hi")).await.unwrap();
    assert_eq!(first.asked()[1].header("authorization"), Some("Bearer another-key"));
    std::fs::remove_file(key.path()).unwrap();
    let said = ask(&models, &question("Hi")).await.unwrap();
    assert_eq!(outcomes(&said.tried), ["one key", "two ok"]);
    assert!(said.tried[0].message.contains("cannot be read"), "{:?}", said.tried);
}
