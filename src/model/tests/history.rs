//! Turns of before, as each provider takes them, also those that another one made.

use super::server::{Asked as Seen, fail};
use super::*;
use crate::native::{Asked, Told};

fn call(id: &str, name: &str) -> Asked {
    let (id, name) = (id.to_owned(), name.to_owned());
    Asked { id, name, arguments: "{\"city\":\"Oslo\"}".to_owned(), ..Asked::default() }
}

fn told(text: &str) -> Told {
    Told { value: json!({ "status": "success", "data": text }), is_error: false }
}

/// A question after one round of calls.
fn after(text: &str, calls: &[Asked], spoken: bool) -> Prompt {
    let mut prompt = weather();
    let (text, own) = (text.to_owned(), None);
    prompt.turns.push(Turn::Model { text, calls: calls.to_vec(), spoken, own });
    prompt
        .turns
        .push(Turn::Results(calls.iter().map(|call| (call.clone(), told("rain"))).collect()));
    prompt
}

async fn sent(provider: &str, keys: &str, prompt: &Prompt) -> Value {
    let server = Server::start(vec![fail(404, &json!({}))]).await;
    ask(&one(&server, provider, keys), prompt).await.unwrap_err();
    let Seen { body, .. } = server.asked().remove(0);
    body
}

#[tokio::test]
async fn each_provider_gets_calls_and_results_in_its_own_way() {
    let prompt = after("I look.", &[call("c1", "get_weather")], false);
    let body = sent("openai", "", &prompt).await;
    let said = &body["messages"];
    assert_eq!(said[2]["tool_calls"][0]["function"]["arguments"], "{\"city\":\"Oslo\"}");
    assert_eq!((&said[3]["role"], &said[3]["tool_call_id"]), (&json!("tool"), &json!("c1")));
    let body = sent("anthropic", "", &prompt).await;
    let said = &body["messages"];
    assert_eq!(said[1]["content"][1]["input"], json!({ "city": "Oslo" }));
    assert_eq!(said[2]["content"][0]["tool_use_id"], "c1");
    let body = sent("gemini", "", &prompt).await;
    let said = &body["contents"];
    assert_eq!(said[1]["parts"][1]["functionCall"]["args"], json!({ "city": "Oslo" }));
    assert_eq!(said[2]["parts"][0]["functionResponse"]["id"], "c1");
    let body = sent("ollama", "", &prompt).await;
    let said = &body["messages"];
    assert_eq!(said[2]["tool_calls"][0]["function"]["arguments"], json!({ "city": "Oslo" }));
    assert_eq!(said[3]["tool_name"], "get_weather");
}

#[tokio::test]
async fn calls_without_ids_or_with_one_id_are_told_apart() {
    let calls = [call("", "get_weather"), call("x", "get_weather"), call("x", "get_weather")];
    let prompt = after("", &calls, false);
    for (provider, place) in [("openai", "tool_calls"), ("anthropic", "content")] {
        let body = sent(provider, "", &prompt).await;
        let said = body["messages"].as_array().unwrap();
        let turn = said.iter().find(|turn| turn["role"] == "assistant").unwrap();
        let mut ids: Vec<&str> =
            turn[place].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
        ids.dedup();
        assert_eq!((ids.len(), ids.contains(&"")), (3, false), "{provider}: {body}");
        let results = body.to_string();
        for id in ids {
            assert_eq!(results.matches(&format!("\"{id}\"")).count(), 2, "{provider}: {id} {body}");
        }
    }
}

#[tokio::test]
async fn a_call_of_another_dialect_goes_by_the_name_of_this_one() {
    let mut prompt = after("", &[call("c1", "weather_dot_get")], false);
    let Offer::Own { name, .. } = &mut prompt.tools[0] else { panic!("it is our own") };
    *name = "weather.get".to_owned();
    let body = sent("gemini", "", &prompt).await;
    assert_eq!(body["contents"][1]["parts"][0]["functionCall"]["name"], "weather.get");
    assert_eq!(body["tools"][0]["functionDeclarations"][0]["name"], "weather.get");
    prompt = after("", &[call("c1", "weather.get")], false);
    let Offer::Own { name, .. } = &mut prompt.tools[0] else { panic!("it is our own") };
    *name = "weather.get".to_owned();
    let body = sent("openai", "", &prompt).await;
    assert_eq!(body["messages"][2]["tool_calls"][0]["function"]["name"], "weather_dot_get");
}

#[tokio::test]
async fn calls_that_stood_in_a_text_stay_there_and_their_results_too() {
    let text = "{\"tool_call\": {\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}}";
    let mut prompt = after(text, &[call("", "get_weather")], true);
    prompt.turns.push(Turn::User("Well?".to_owned()));
    let body = sent("openai", "", &prompt).await;
    let said = body["messages"].as_array().unwrap();
    assert_eq!((said.len(), &said[2]["content"]), (4, &json!(text)));
    let results = said[3]["content"].as_str().unwrap();
    assert!(results.starts_with("{\"tool_results\":[{\"name\":\"get_weather\""), "{results}");
    assert!(results.ends_with("\n\nWell?"), "{results}");
}

#[tokio::test]
async fn calls_of_before_are_told_in_words_where_no_tool_is() {
    let mut prompt = after("I look.", &[call("c1", "get_weather")], false);
    let expected =
        "I look.\n{\"tool_call\":{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Oslo\"}}}";
    let body = sent("anthropic", "form = \"text\"", &prompt).await;
    assert_eq!(body["messages"][1]["content"][0]["text"], expected);
    prompt.tools.clear();
    let body = sent("anthropic", "", &prompt).await;
    assert_eq!(body["messages"][1]["content"][0]["text"], expected);
}

#[tokio::test]
async fn arguments_that_are_no_object_reach_the_next_model_as_they_were() {
    let mut broken = call("c1", "get_weather");
    broken.arguments = "{\"city\": ".to_owned();
    let body = sent("anthropic", "", &after("", &[broken], false)).await;
    assert_eq!(body["messages"][1]["content"][0]["input"], json!({ "arguments": "{\"city\": " }));
}
