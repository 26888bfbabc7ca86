//! The model that is played, asked over HTTP as a daemon asks.

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use super::*;
use crate::native::{self, Provider};
use crate::outward::{Address, Outlet};

struct Stand {
    player: Player,
    outlet: Outlet,
}

async fn stand() -> Stand {
    let (player, tasks) = (Player::default(), TaskTracker::new());
    let listen = "127.0.0.1:0".parse().unwrap();
    let bound = serve(player.clone(), None, listen, &tasks).await.unwrap();
    let url = format!("http://{bound}/v1/chat/completions");
    let address = Address { url: &url, allow_plain: false, key_file: None, key_env: None };
    Stand { player, outlet: Outlet::open(&address, &tasks).unwrap() }
}

impl Stand {
    async fn ask(&self, body: &Value) -> (u16, String) {
        let answer = self.outlet.post(body.to_string().into(), 1 << 20).await.unwrap();
        let text = String::from_utf8(answer.body.unwrap().to_vec()).unwrap();
        (answer.status.as_u16(), text)
    }

    fn begin(&self, lines: Value) {
        let lines: Vec<Line> = serde_json::from_value(lines).unwrap();
        self.player.begin(("n", 1), "Where is it?", &lines);
    }
}

fn asked(content: &str) -> Value {
    json!({
        "model": "reasoner",
        "messages": [{ "role": "system", "content": "rules" }, { "role": "user", "content": content }],
        "tools": [{ "type": "function", "function": { "name": "python_dot_run", "parameters": {} } }],
    })
}

#[tokio::test]
async fn what_is_said_is_a_message_that_the_product_reads() {
    let stand = stand().await;
    stand.begin(json!([
        { "offered": ["python.run"], "calls": [{ "tool": "python.run", "arguments": { "code": "1" } }] },
        { "text": "It is {{found:at (\\w+)}}." },
    ]));
    let (status, body) = stand.ask(&asked("Where is it?")).await;
    let turn = native::read(Provider::OpenaiChat, &body).unwrap();
    assert_eq!((status, turn.calls[0].name.as_str()), (200, "python_dot_run"), "{body}");
    assert_eq!(turn.calls[0].arguments, r#"{"code":"1"}"#);
    let mut second = asked("Where is it? It is at home");
    second["stream"] = json!(true);
    let (_, body) = stand.ask(&second).await;
    let turn = native::assemble(Provider::OpenaiChat, body.as_bytes()).unwrap();
    assert_eq!((turn.text.as_str(), turn.stop.as_str()), ("It is home.", "stop"), "{body}");
    let heard = stand.player.end();
    assert_eq!((heard.prompts.len(), heard.misfits.len(), heard.left), (2, 0, 0));
}

#[tokio::test]
async fn a_question_that_does_not_fit_is_refused_with_the_reason() {
    let made = json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "a", "function": { "name": "getOrder", "arguments": "{\"order_id\": \"ORD-1\"}" } }] });
    let mut after = asked("Where is it?");
    after["messages"].as_array_mut().unwrap().push(made);
    for (line, body, part) in [
        (json!({ "text": "x" }), asked("Something else"), "words of the case's question"),
        (json!({ "text": "x", "sees": ["there"] }), asked("Where is it?"), "does not have `there`"),
        (json!({ "text": "x", "blind": ["rules"] }), asked("Where is it?"), "must not be there"),
        (
            json!({ "text": "x", "offered": ["getOrder"] }),
            asked("Where is it?"),
            "does not offer `getOrder`",
        ),
        (
            json!({ "text": "x", "hidden": ["python.run"] }),
            asked("Where is it?"),
            "offers `python.run`",
        ),
        (json!({ "text": "x", "after": [] }), after.clone(), "comes after getOrder"),
        (json!({ "text": "x", "as": "judge" }), asked("Where is it?"), "once more than the script"),
        (json!({ "text": "{{cite:x}}" }), asked("Where is it?"), "no labelled evidence"),
    ] {
        let stand = stand().await;
        stand.begin(json!([line]));
        let (status, told) = stand.ask(&body).await;
        assert!(status == 422 && told.contains(part), "{line}: {told}");
        let heard = stand.player.end();
        assert!(heard.misfits[0].contains("case `n`, question 1") && heard.left == 1, "{heard:?}");
    }
    let stand = stand().await;
    let (status, told) = stand.ask(&asked("Where is it?")).await;
    assert!(status == 422 && told.contains("no case runs"), "{told}");
    assert_eq!(stand.ask(&json!({ "contents": [] })).await.0, 422);
}

#[tokio::test]
async fn the_first_answer_that_fits_is_given_and_one_may_be_given_again() {
    let stand = stand().await;
    stand.begin(json!([{ "text": "one", "sees": ["first"] }, { "text": "two", "sees": ["second"] }, { "text": "more", "again": true }]));
    let mut said = Vec::new();
    for content in ["second: Where is it?", "first: Where is it?", "Where is it?", "Where is it?"] {
        let (_, body) = stand.ask(&asked(content)).await;
        said.push(native::read(Provider::OpenaiChat, &body).unwrap().text);
    }
    assert_eq!(said, ["two", "one", "more", "more"]);
    assert_eq!(stand.player.end().left, 0);
}

#[tokio::test]
async fn braces_of_a_recorded_answer_stay() {
    let stand = stand().await;
    stand.begin(json!([{ "text": "{{cite:x}}", "raw": true }]));
    let (_, body) = stand.ask(&asked("Where is it?")).await;
    assert_eq!(native::read(Provider::OpenaiChat, &body).unwrap().text, "{{cite:x}}");
}

#[tokio::test]
async fn a_script_that_stands_for_itself_answers_without_a_case_and_keeps_nothing() {
    let lines = json!([{ "sees": ["first"], "text": "{{label:first}}" }, { "sees": ["second"], "text": "two" }]);
    let player = Player::standing(serde_json::from_value(lines).unwrap());
    let tasks = TaskTracker::new();
    let bound = serve(player.clone(), None, "127.0.0.1:0".parse().unwrap(), &tasks).await.unwrap();
    let url = format!("http://{bound}/v1/chat/completions");
    let address = Address { url: &url, allow_plain: false, key_file: None, key_env: None };
    let stand = Stand { outlet: Outlet::open(&address, &tasks).unwrap(), player };
    for (content, text) in [("[E7] first", "E7"), ("second", "two"), ("E8: the first", "E8")] {
        let (_, body) = stand.ask(&asked(content)).await;
        assert_eq!(native::read(Provider::OpenaiChat, &body).unwrap().text, text);
    }
    let (status, told) = stand.ask(&asked("third")).await;
    assert!(status == 422 && told.contains("ends with: ") && told.contains("third"), "{told}");
    let heard = stand.player.end();
    assert_eq!((heard.prompts.len(), heard.misfits.len(), heard.left), (0, 0, 0));
}
