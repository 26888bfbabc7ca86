//! From a question to an answer that holds.

use serde_json::json;

use super::kit::{Bench, Model, Says, call, kinds, last, seen, text, visitor, weighs_more};
use crate::evidence;
use crate::reason::event::Event;
use crate::reason::{Asked, Error, Filter, State};

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_from_what_a_tool_gave() {
    let model = Model::new(vec![
        call("parcel.find", json!({ "number": "P-7" })),
        last("It is in Lyon [E1]", &["E1"]),
    ])
    .await;
    let bench = Bench::new(&model).await;
    let events = bench.ask("Where is parcel P-7?").await;
    let wanted = [
        "started",
        "routed",
        "recalled",
        "thought",
        "action",
        "observation",
        "evidence",
        "thought",
        "answer",
    ];
    assert_eq!(kinds(&events), wanted, "{events:#?}");
    assert!(events.iter().zip(1..).all(|(kept, seq)| kept.seq == seq), "places have no gap");
    let Event::Answer(answered) = &events.last().unwrap().event else { panic!() };
    assert_eq!(answered.answer.text, "It is in Lyon [E1]");
    assert_eq!((answered.total.input, answered.total.output), (20, 10));
    assert!(answered.answer.confidence.value > 0.9, "a tool's success");
    let run = events[0].run.clone();
    let trace = bench.runs.trace(&visitor("a"), &run).await.unwrap();
    assert_eq!(evidence::check(&trace), Vec::new());
    assert_eq!(trace.answer.as_ref().map(|a| &a.text), Some(&answered.answer.text));
    let listed = bench.runs.list(&visitor("a"), Filter::default()).await.unwrap();
    assert_eq!((listed[0].state, listed[0].steps, listed[0].input), (State::Answered, 2, 20));
    // Nobody else has it.
    let other = visitor("b");
    assert!(matches!(bench.runs.trace(&other, &run).await, Err(Error::Unknown(_))));
    assert!(matches!(bench.runs.cancel(&other, &run).await, Err(Error::Unknown(_))));
    assert!(bench.runs.list(&other, Filter::default()).await.unwrap().is_empty());
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cites_what_there_is_not_has_to_call_a_tool() {
    let model = Model::new(vec![
        last("It is in Lyon [E2]", &["E1", "E2"]),
        call("parcel.find", json!({ "number": "P-7" })),
        last("It is in Lyon [E1]", &["E1"]),
    ])
    .await;
    let bench = Bench::new(&model).await;
    let events = bench.ask("Where is parcel P-7?").await;
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    let forced = (0..3).map(|at| model.heard(at).contains("\"tool_choice\":\"required\""));
    assert_eq!(forced.collect::<Vec<_>>(), [false, true, false], "{}", model.heard(1));
    assert!(model.heard(1).contains("no tool was called"), "{}", model.heard(1));
    // What it made up does not lead it on.
    assert!((1..3).all(|at| !model.heard(at).contains("Lyon [E2]")), "{}", model.heard(2));
    // Nor is it made to change anything, or to make up the number of a route.
    let offered =
        |at| ["find", "mark", "route", "send"].map(|name| model.heard(at).contains(&tool(name)));
    assert_eq!(offered(0), [true; 4], "{}", model.heard(0));
    assert_eq!(offered(1), [true, false, false, false], "{}", model.heard(1));
    bench.drain().await;
}

fn tool(name: &str) -> String {
    format!("\"name\":\"parcel_dot_{name}\"")
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cites_nothing_chooses_from_what_there_is() {
    let model = Model::new(vec![
        call("parcel.find", json!({ "number": "P-7" })),
        last("It is in Lyon", &[]),
        last("It is in Lyon [E1]", &["E1"]),
    ])
    .await;
    let bench = Bench::new(&model).await;
    let events = bench.ask("Where is parcel P-7?").await;
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    let listed = |at| model.heard(at).contains(r#"\"enum\":[\"E1\"]"#);
    assert_eq!((0..3).map(listed).collect::<Vec<_>>(), [false, false, true], "{}", model.heard(2));
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_result_tells_what_narrowed_it_unasked() {
    for (question, is_told) in [
        ("Which parcels does the Lyon office have?", true),
        ("Which parcels does the Lyon office have since 2026-01-01?", false),
    ] {
        let model = Model::new(vec![
            call("parcel.list", json!({ "number": "the Lyon office", "since": "2026-01-01" })),
            last("It has none [E1]", &["E1"]),
        ])
        .await;
        let bench = Bench::new(&model).await;
        bench.ask(question).await;
        let heard = model.heard(1);
        assert_eq!(heard.contains("nothing was found, with `since`"), is_told, "{heard}");
        bench.drain().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_of_the_models_own_is_asked_about_once_also_after_a_call() {
    let model = Model::new(vec![
        call("parcel.find", json!({ "number": "P-7" })),
        last("It weighs 4711 kg [E1]", &["E1"]),
        last("It is in Lyon [E1]", &["E1"]),
    ])
    .await;
    let bench = Bench::new(&model).await;
    let events = bench.ask("Where is parcel P-7?").await;
    let Event::Answer(answered) = &events.last().unwrap().event else { panic!("{events:#?}") };
    assert_eq!(answered.answer.text, "It is in Lyon [E1]");
    assert!(model.heard(2).contains("`4711 kg` stands in nothing"), "{}", model.heard(2));
    bench.drain().await;
}

const REFUSED: &str = "SCHEMA_VALIDATION_ERROR";

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_comes_from_nowhere_is_asked_about_once() {
    let model = Model::new(vec![
        call("parcel.find", json!({ "number": "PN-4711" })),
        call("parcel.mark", json!({ "number": "PN-4711" })),
        call("parcel.find", json!({ "number": "PN-4711" })),
        call("parcel.find", json!({ "number": "PN-4711" })),
        last("It is in Lyon [E1]", &["E1"]),
    ])
    .await;
    let bench = Bench::new(&model).await;
    let events = bench.ask("Where is the parcel of the Lyon office?").await;
    let codes = seen(&events).into_iter().map(|seen| seen.code.as_str());
    assert_eq!(codes.collect::<Vec<_>>(), [REFUSED, REFUSED, "", "DUPLICATE_CALL"]);
    assert!(model.heard(2).contains("`parcel.mark` stands neither in the question"), "{events:#?}");
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    // What is asked about, what a result told and what only its number is known of is not from nowhere.
    for question in ["Where is PN-4711?", "Where is parcel 4711?"] {
        let model = Model::new(vec![
            call("parcel.find", json!({ "number": "PN-4711" })),
            last("It is in Lyon [E1]", &["E1"]),
        ])
        .await;
        let other = Bench::new(&model).await;
        let events = other.ask(question).await;
        assert_eq!(seen(&events)[0].code, "", "{question}");
        other.drain().await;
    }
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tool_gave_stands_between_marks_and_tainted_calls_are_denied() {
    let model = Model::new(vec![
        call("parcel.lure", json!({ "number": "P-7" })),
        call("parcel.send", json!({ "number": "P-7" })),
        last("The note gives no place [E1]", &["E1"]),
    ])
    .await;
    let bench = Bench::new(&model).await;
    let asked = Asked { question: "What does the note say?".into(), ..Asked::default() };
    let run = bench.runs.start(&visitor("a"), asked).await.unwrap();
    // It waits for a person, who does not come: nothing is sent by itself.
    bench.until(&run, |event| matches!(event, Event::Waiting(_))).await;
    let heard = model.heard(1);
    assert!(heard.contains("<<<data") && heard.contains(">>>end"), "{heard}");
    assert!(bench.runs.cancel(&visitor("a"), &run).await.unwrap());
    let events = bench.told(&run).await;
    assert_eq!(events.last().unwrap().event, Event::Cancelled);
    assert!(!bench.runs.cancel(&visitor("a"), &run).await.unwrap(), "it had ended");
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_one_turn_run_side_by_side_and_keep_their_places() {
    let model = Model::new(vec![
        Says::Calls(vec![
            ("parcel.mark", json!({ "number": "P-1" })),
            ("parcel.mark", json!({ "number": "P-2" })),
            ("parcel.find", json!({ "number": "P-7" })),
        ]),
        last("All done [E1] [E2] [E3]", &["E1", "E2", "E3"]),
    ])
    .await;
    let bench = Bench::new(&model).await;
    let events = bench.ask("Mark both and find P-7").await;
    let began = events.iter().find(|kept| kept.event.kind() == "action").unwrap().at;
    let ended = events.iter().rfind(|kept| kept.event.kind() == "observation").unwrap().at;
    let took = ended.duration_since(began).as_millis();
    assert!(took < 1900, "two calls of a second each took {took} ms: one after the other");
    let heard = model.heard(1);
    let place = |what: &str| heard.rfind(what).unwrap_or_else(|| panic!("no {what} in {heard}"));
    assert!(place("c0") < place("c2"), "results stand in the order of the calls");
    assert_eq!(seen(&events).len(), 3);
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_compares_and_the_decision_names_its_step() {
    let model = Model::new(weighs_more()).await;
    let bench = Bench::new(&model).await;
    let events = bench.ask("Does parcel P-7 weigh more than 10 kg?").await;
    let Event::Answer(answered) = &events.last().unwrap().event else { panic!("{events:#?}") };
    let decision = answered.answer.decision.as_ref().unwrap();
    assert_eq!((decision.step.as_str(), decision.holds), ("S3", true));
    let trace = bench.runs.trace(&visitor("a"), &events[0].run).await.unwrap();
    assert_eq!(evidence::check(&trace), Vec::new());
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_writes_calls_into_its_text_is_understood() {
    let model = Model::new(vec![
        text(r#"Sure. {"tool_call": {"name": "parcel.find", "arguments": {"number": "P-7"}}}"#),
        text("It is in Lyon [E1]."),
    ])
    .await;
    let bench = Bench::new(&model).await;
    let events = bench.ask("Where is parcel P-7?").await;
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_followers_see_the_same_and_can_begin_anywhere() {
    use futures::StreamExt;
    let model = Model::new(vec![
        call("parcel.mark", json!({ "number": "P-7" })),
        last("It is marked [E1]", &["E1"]),
    ])
    .await;
    let bench = Bench::new(&model).await;
    let asked = Asked { question: "Mark P-7".into(), ..Asked::default() };
    let run = bench.runs.start(&visitor("a"), asked).await.unwrap();
    let two = [bench.told(&run), bench.told(&run)];
    let both = futures::future::join_all(two).await;
    assert_eq!(both[0], both[1]);
    // Two resumes at once change nothing: there is one executor.
    let own = visitor("a");
    let (one, other) = tokio::join!(bench.runs.resume(&own, &run), bench.runs.resume(&own, &run));
    assert!(one.is_ok() && other.is_ok());
    let behind: Vec<_> = bench.runs.follow(&own, &run, 3).map(Result::unwrap).collect().await;
    assert_eq!(behind, both[0][3..]);
    let beyond: Vec<_> = bench.runs.follow(&own, &run, 99).collect().await;
    assert!(matches!(beyond[..], [Err(Error::Argument { field: "after", .. })]), "{beyond:?}");
    bench.drain().await;
}
