//! Models that do not behave, and limits: every run ends, and says why.

use serde_json::json;

use super::kit::{Bench, Model, Says, call, kinds, last, seen, text, visitor};
use crate::reason::event::Event;
use crate::reason::{Asked, Error, Kept, Limits, State};

fn limited(limits: Limits) -> Asked {
    Asked { question: "Where is parcel P-7?".into(), limits, ..Asked::default() }
}

fn partial(events: &[Kept]) -> (&str, &[String]) {
    match &events.last().unwrap().event {
        Event::Partial(partial) => (&partial.limit, &partial.partial.missing),
        other => panic!("no partial answer but {other:?}"),
    }
}

fn failed(events: &[Kept]) -> (&str, &str) {
    match &events.last().unwrap().event {
        Event::Failed(failure) => (&failure.code, &failure.message),
        other => panic!("no failure but {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_repeats_one_call_is_told_so_and_ends_at_its_steps() {
    let model = Model::new(Vec::new()).await.always(call("parcel.find", json!({"number": "P-7"})));
    let bench = Bench::new(&model).await;
    let events = bench.ask("Where is parcel P-7?").await;
    let actions = events.iter().filter(|kept| kept.event.kind() == "action").count();
    assert_eq!(actions, 1, "the same call runs once");
    assert!(seen(&events).iter().skip(1).all(|seen| seen.code == "DUPLICATE_CALL"));
    let (limit, missing) = partial(&events);
    assert!(limit == "steps" && missing.len() == 1, "{events:#?}");
    let Event::Partial(told) = &events.last().unwrap().event else { panic!() };
    assert!(told.text.contains("Lyon"), "what is known is told: {}", told.text);
    assert_eq!(model.count(), 5);
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_asks_twice_for_what_it_has_is_asked_to_answer_without_tools() {
    let find = || call("parcel.find", json!({"number": "P-7"}));
    let model = Model::new(vec![find(), find(), find(), last("It is in Lyon [E1]", &["E1"])]).await;
    let bench = Bench::new(&model).await;
    let events = bench.ask("Where is parcel P-7?").await;
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    let asked = model.asked.lock().unwrap().clone();
    let offered: Vec<bool> = asked.iter().map(|body| body.get("tools").is_some()).collect();
    assert_eq!(offered, [true, true, true, false]);
    let told = asked[3]["messages"][0]["content"].as_str().unwrap();
    assert!(told.contains("no tool can be called now"), "{told}");
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_asked_again_twice_and_then_observed() {
    let broken = text(r#"{"tool_call": {"name": "parcel.find", "arguments": {"number": "#);
    let model = Model::new(vec![
        broken.clone(),
        broken.clone(),
        broken,
        call("parcel.find", json!({ "number": "P-7" })),
        last("It is in Lyon [E1]", &["E1"]),
    ])
    .await;
    let bench = Bench::new(&model).await;
    let events = bench.ask("Where is parcel P-7?").await;
    let rejected = events.iter().filter(|kept| kept.event.kind() == "rejected").count();
    assert_eq!(rejected, 3, "{events:#?}");
    assert_eq!(seen(&events)[0].code, "MODEL_OUTPUT");
    let steps: Vec<u32> =
        events.iter().filter(|kept| kept.event.kind() == "thought").map(|kept| kept.step).collect();
    assert_eq!(steps, [1, 1, 1, 2, 3], "asking again is no step");
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)));
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_evidence_is_refused_twice_and_then_partial() {
    let model = Model::new(vec![call("parcel.find", json!({ "number": "P-7" }))])
        .await
        .always(text("It is in Paris, believe me."));
    let bench = Bench::new(&model).await;
    let events = bench.ask("Where is parcel P-7?").await;
    let rejected: Vec<_> = events
        .iter()
        .filter_map(|kept| match &kept.event {
            Event::Rejected(rejected) => Some((rejected.what.as_str(), rejected.attempt)),
            _ => None,
        })
        .collect();
    assert_eq!(rejected, [("answer", 1), ("answer", 2), ("answer", 3)]);
    assert_eq!(partial(&events).0, "model");
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_cites_what_was_not_retrieved_is_mended() {
    let model = Model::new(vec![
        call("parcel.find", json!({ "number": "P-7" })),
        last("It is in Lyon [E9]", &["E9"]),
        last("It is in Lyon [E1]", &["E1"]),
    ])
    .await;
    let bench = Bench::new(&model).await;
    let events = bench.ask("Where is parcel P-7?").await;
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    assert!(model.heard(2).contains("E9"), "it was told what is wrong");
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_another_language_is_asked_for_again() {
    let model = Model::new(vec![
        call("parcel.find", json!({ "number": "P-7" })),
        last("The parcel is now in the city of Lyon in France [E1]", &["E1"]),
        last("包裹在里昂 [E1]", &["E1"]),
    ])
    .await;
    let bench = Bench::new(&model).await;
    let events = bench.ask("包裹 P-7 在哪里？").await;
    let Event::Answer(answered) = &events.last().unwrap().event else { panic!("{events:#?}") };
    assert_eq!(answered.answer.text, "包裹在里昂 [E1]");
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_zero_ask_no_model() {
    let model = Model::new(Vec::new()).await.always(text("never"));
    let bench = Bench::new(&model).await;
    let events = bench.asks(limited(Limits { tokens: Some(0), ..Limits::default() })).await;
    assert_eq!(failed(&events).0, "BUDGET_EXHAUSTED");
    let money = Some("0".to_owned());
    let events = bench.asks(limited(Limits { money, ..Limits::default() })).await;
    assert_eq!(failed(&events).0, "BUDGET_EXHAUSTED");
    let events = bench.asks(limited(Limits { wall_ms: Some(0), ..Limits::default() })).await;
    assert_eq!(failed(&events).0, "TIME_LIMIT");
    let events = bench.asks(limited(Limits { steps: Some(0), ..Limits::default() })).await;
    assert_eq!(partial(&events).0, "steps");
    assert_eq!(model.count(), 0);
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_says_nothing_ends_with_the_time() {
    let model = Model::new(vec![call("parcel.find", json!({ "number": "P-7" }))])
        .await
        .always(Says::Nothing);
    let bench = Bench::new(&model).await;
    let events = bench.asks(limited(Limits { wall_ms: Some(3000), ..Limits::default() })).await;
    assert_eq!(partial(&events).0, "time", "{events:#?}");
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_fails_is_recorded_with_its_attempts() {
    let model = Model::new(Vec::new()).await.always(Says::Status(401));
    let bench = Bench::new(&model).await;
    let events = bench.ask("Where is parcel P-7?").await;
    assert_eq!(failed(&events).0, "MODEL_FAILED");
    let tried = events.iter().find_map(|kept| match &kept.event {
        Event::Thought(thought) => Some(thought.spent.tried.clone()),
        _ => None,
    });
    assert_eq!(tried.unwrap()[0].status, Some(401));
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_megabytes_of_answer_are_bounded_and_told() {
    let flood = "All work and no play. ".repeat(20_000);
    let model = Model::new(vec![text(&flood), last("I do not know [Q]", &["Q"])]).await;
    let bench = Bench::new(&model).await;
    let events = bench.ask("Where is parcel P-7?").await;
    let thought = events.iter().find_map(|kept| match &kept.event {
        Event::Thought(thought) => Some(thought.clone()),
        _ => None,
    });
    let thought = thought.unwrap();
    assert!(thought.text.len() < 70_000 && thought.unread[0].contains("bytes"), "{thought:?}");
    assert!(model.heard(1).len() < 20_000, "what cannot be read is not read again");
    assert!(events.last().unwrap().event.is_end());
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_megabytes_of_arguments_is_bounded_and_told() {
    let flood = json!({ "number": "x".repeat(3 << 20) });
    let calls = vec![("parcel.find", flood), ("parcel.find", json!({ "number": "P-7" }))];
    let model = Model::new(vec![Says::Calls(calls), last("It is in Lyon [E1]", &["E1"])]).await;
    let bench = Bench::new(&model).await;
    let events = bench.ask("Where is parcel P-7?").await;
    let largest = events.iter().map(|kept| serde_json::to_string(kept).unwrap().len()).max();
    assert!(largest.unwrap() < 100_000, "{largest:?}");
    let told: Vec<String> = seen(&events).iter().map(|seen| seen.told.to_string()).collect();
    assert!(told.iter().any(|told| told.contains("have 3145")), "{told:?}");
    assert!(seen(&events).iter().any(|seen| seen.success), "the other one ran");
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{:?}", kinds(&events));
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_not_there_and_one_that_fails_are_observed() {
    let model = Model::new(vec![
        call("parcel.vanish", json!({ "number": "P-7" })),
        call("parcel.break", json!({ "number": "P-7" })),
        call("parcel.find", json!({ "numbr": 7 })),
        call("parcel.find", json!({ "number": "P-7" })),
        last("It is in Lyon [E2]", &["E2"]),
    ])
    .await;
    let bench = Bench::new(&model).await;
    let events = bench.ask("Where is parcel P-7?").await;
    let codes: Vec<&str> = seen(&events).iter().map(|seen| seen.code.as_str()).collect();
    assert_eq!(codes[..2], ["UNKNOWN_TOOL", "EXECUTION_ERROR"]);
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{:?}", kinds(&events));
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_wrongly_is_refused_before_anything_is_kept() {
    let model = Model::new(Vec::new()).await;
    let bench = Bench::new(&model).await;
    let own = visitor("a");
    let start = |asked: Asked| bench.runs.start(&own, asked);
    assert!(matches!(
        start(Asked::default()).await,
        Err(Error::Argument { field: "question", .. })
    ));
    let named = |question: &str| Asked { question: question.into(), ..Asked::default() };
    let asked = Asked { as_of: "yesterday-ish".into(), ..named("x") };
    assert!(matches!(start(asked).await, Err(Error::Argument { field: "as_of", .. })));
    let asked = Asked { agent: "nobody".into(), ..named("x") };
    assert!(matches!(start(asked).await, Err(Error::Agent(_))));
    let asked = Asked { previous: Some(crate::reason::RunId::generate()), ..named("x") };
    assert!(matches!(start(asked).await, Err(Error::Unknown(_))));
    assert!(bench.runs.list(&own, Default::default()).await.unwrap().is_empty());
    let _all = State::ALL;
    bench.drain().await;
}
