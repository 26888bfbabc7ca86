//! Whom a question goes to: again to the same endpoint, to the next one, and until when.

use std::time::{Duration, Instant};

use super::server::{Act, End, chat, chunks, fail, say, stream};
use super::*;

const WHOLE: &str = "stream = false";

#[tokio::test]
async fn a_role_without_an_endpoint_says_how_to_mend_it() {
    let models = open(&Config::default());
    assert!(!models.serves(Role::Reasoner) && models.lead(Role::Judge).is_none());
    let failed = ask(&models, &question("Hi")).await.unwrap_err();
    assert_eq!(failed, Failed::Unconfigured(Role::Reasoner));
    assert!(failed.to_string().contains("models.roles"), "{failed}");
    let purse = free(&models);
    let failed = models.ask(Who::Endpoint("x"), &question("Hi"), &purse, None).await;
    assert_eq!(failed.unwrap_err(), Failed::Unknown("x".to_owned()));
}

#[tokio::test]
async fn a_server_error_and_a_drop_are_asked_again() {
    let broken = fail(500, &json!({ "error": { "message": "out of slots" } }));
    let server = Server::start(vec![broken, Act::Drop, say(&chat("4"))]).await;
    let said = ask(&one(&server, "openai", WHOLE), &question("2 + 2?")).await.unwrap();
    assert_eq!(outcomes(&said.tried), ["only status", "only connection", "only ok"]);
    let first = &said.tried[0];
    assert_eq!((first.status, first.message.as_str()), (Some(500), "out of slots"));
    assert!(said.tried[1].waited_ms >= 150 && said.tried[2].waited_ms >= 300, "{:?}", said.tried);
}

#[tokio::test]
async fn retries_are_counted_and_what_was_tried_is_told() {
    let server = Server::start(vec![fail(503, &json!({ "error": "busy" }))]).await;
    let failed = ask(&one(&server, "openai", "stream = false\nretries = 1"), &question("Hi")).await;
    let failed = failed.unwrap_err();
    assert_eq!(outcomes(failed.tried()), ["only status", "only status"]);
    let told = failed.to_string();
    assert_eq!(told, "no model answered: `only` status 503 (busy)");
}

#[tokio::test]
async fn retry_after_is_waited_for() {
    let busy = Act::Say(429, vec![("retry-after", "1".to_owned())], "{}".to_owned());
    let server = Server::start(vec![busy, say(&chat("4"))]).await;
    let said = ask(&one(&server, "openai", WHOLE), &question("2 + 2?")).await.unwrap();
    assert!(said.tried[1].waited_ms >= 1000, "{:?}", said.tried);
}

#[tokio::test]
async fn retry_after_as_a_date_is_waited_for_and_none_at_all_is_not_taken_at_its_word() {
    let at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(2);
    let date = at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let busy = |told: &str| Act::Say(429, vec![("retry-after", told.to_owned())], "{}".to_owned());
    let past = "Wed, 21 Oct 2015 07:28:00 GMT";
    let server = Server::start(vec![busy(&date), busy("0"), busy(past), say(&chat("4"))]).await;
    let models = one(&server, "openai", "stream = false\nretries = 3");
    let said = ask(&models, &question("2 + 2?")).await.unwrap();
    let waited: Vec<u64> = said.tried.iter().map(|one| one.waited_ms).collect();
    assert!((900..3000).contains(&waited[1]), "{waited:?}");
    assert!(waited[2] >= 300 && waited[3] >= 600, "{waited:?}");
}

#[tokio::test]
async fn what_the_error_of_gemini_tells_to_wait_counts_like_a_header() {
    let busy = json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED", "details": [
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "30.5s" }] } });
    let (first, second) =
        (Server::start(vec![fail(429, &busy)]).await, Server::start(vec![say(&chat("4"))]).await);
    let models =
        open(&config(&[("one", &first, "gemini", WHOLE), ("two", &second, "openai", WHOLE)]));
    let said = ask(&models, &question("2 + 2?")).await.unwrap();
    assert_eq!(outcomes(&said.tried), ["one status", "two ok"]);
    assert!(said.tried[1].waited_ms < 1000, "{:?}", said.tried);
}

#[tokio::test]
async fn one_that_has_to_be_waited_for_too_long_leaves_the_time_to_the_next() {
    let busy = Act::Say(429, vec![("retry-after", "2".to_owned())], "{}".to_owned());
    let (first, second) =
        (Server::start(vec![busy]).await, Server::start(vec![say(&chat("4"))]).await);
    let models =
        open(&config(&[("one", &first, "openai", WHOLE), ("two", &second, "openai", WHOLE)]));
    let by = Some(Instant::now() + Duration::from_millis(1900));
    let said = ask(&models, &Prompt { by, ..question("2 + 2?") }).await.unwrap();
    assert_eq!(outcomes(&said.tried), ["one status", "two ok"]);
}

#[tokio::test]
async fn a_call_that_the_host_could_not_read_is_asked_for_again_in_the_same_form() {
    let failed = json!({ "error": { "message": "Failed to call a function. Please adjust your prompt.",
        "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": "<fn" } });
    let server = Server::start(vec![fail(400, &failed), say(&chat("Rain."))]).await;
    let said = ask(&one(&server, "openai", WHOLE), &weather()).await.unwrap();
    assert_eq!(outcomes(&said.tried), ["only malformed", "only ok"]);
    assert_eq!(said.form, Form::Native);
}

#[tokio::test]
async fn a_long_retry_after_sends_the_question_to_the_next_and_later_ones_too() {
    let busy = Act::Say(429, vec![("retry-after", "30".to_owned())], "{}".to_owned());
    let (first, second) =
        (Server::start(vec![busy]).await, Server::start(vec![say(&chat("4"))]).await);
    let models =
        open(&config(&[("one", &first, "openai", WHOLE), ("two", &second, "openai", WHOLE)]));
    let said = ask(&models, &question("2 + 2?")).await.unwrap();
    assert_eq!(outcomes(&said.tried), ["one status", "two ok"]);
    let said = ask(&models, &question("3 + 3?")).await.unwrap();
    assert_eq!(outcomes(&said.tried), ["two ok"]);
    assert_eq!(first.asked().len(), 1);
}

#[tokio::test]
async fn money_that_ran_out_at_the_provider_is_not_waited_for() {
    let poor =
        fail(429, &json!({ "error": { "message": "no quota", "code": "insufficient_quota" } }));
    let server = Server::start(vec![poor]).await;
    let failed = ask(&one(&server, "openai", WHOLE), &question("Hi")).await.unwrap_err();
    assert_eq!(outcomes(failed.tried()), ["only refused"]);
}

#[tokio::test]
async fn what_was_heard_of_an_attempt_that_failed_is_void() {
    let cut = Act::Pieces(
        chunks(&["It is "]).iter().take(1).map(|event| format!("data: {event}\n\n")).collect(),
        End::Cut,
    );
    let server = Server::start(vec![cut, stream(&chunks(&["It is 4", "."]))]).await;
    let (said, heard, text) = listen(&one(&server, "openai", ""), &question("2 + 2?")).await;
    let said = said.unwrap();
    assert_eq!(outcomes(&said.tried), ["only connection", "only ok"]);
    assert_eq!((text.as_str(), said.text.as_str()), ("It is 4.", "It is 4."));
    let void = heard.iter().position(|delta| *delta == Delta::Void);
    assert_eq!((void, &heard[0]), (Some(1), &Delta::Text("It is ".into())));
}

#[tokio::test]
async fn a_stream_that_ends_early_or_tells_an_error_is_asked_again() {
    let early = stream(&chunks(&["It is "])[..1]);
    let sick =
        stream(&[chunks(&["It"])[0].clone(), json!({ "error": { "message": "overloaded" } })]);
    let server = Server::start(vec![early, sick, stream(&chunks(&["4"]))]).await;
    let said = ask(&one(&server, "openai", ""), &question("2 + 2?")).await.unwrap();
    assert_eq!(outcomes(&said.tried), ["only malformed", "only malformed", "only ok"]);
    assert!(said.tried[1].message.contains("overloaded"), "{:?}", said.tried);
}

#[tokio::test]
async fn the_deadline_ends_everything() {
    let server = Server::start(vec![Act::Hang]).await;
    let by = Some(Instant::now() + Duration::from_millis(150));
    let failed =
        ask(&one(&server, "openai", ""), &Prompt { by, ..question("Hi") }).await.unwrap_err();
    assert!(matches!(&failed, Failed::Deadline { tried } if tried.len() == 1), "{failed}");
    // A wait that would end after it is not begun.
    let busy = Act::Say(429, vec![("retry-after", "20".to_owned())], "{}".to_owned());
    let server = Server::start(vec![busy]).await;
    let begun = Instant::now();
    let by = Some(begun + Duration::from_secs(2));
    let failed =
        ask(&one(&server, "openai", ""), &Prompt { by, ..question("Hi") }).await.unwrap_err();
    assert!(matches!(&failed, Failed::Deadline { tried } if tried.len() == 1), "{failed}");
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn an_ask_that_is_dropped_ends_its_connection_and_gives_its_budget_back() {
    let server = Server::start(vec![Act::Hang]).await;
    let models = one(&server, "openai", "");
    let budget = Budget { tokens: Some(5000), money: None };
    let purse = models.purse("acme", budget, Spent::nothing(models.currency()));
    let prompt = question("Hi");
    let mut asking = Box::pin(models.ask(Who::Role(Role::Reasoner), &prompt, &purse, None));
    tokio::select! {
        said = &mut asking => panic!("{said:?}"),
        () = server.was_asked(1) => assert!(purse.left().tokens < Some(5000)),
    }
    drop(asking);
    assert_eq!(purse.left().tokens, Some(5000));
}
