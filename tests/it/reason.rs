//! The reasoning of a real daemon, over gRPC, with a scripted model behind a real socket: runs that answer,
//! that are left and taken up again, that belong to somebody.

mod bed;
mod crash;
mod faults;
mod forms;
mod lines;
mod model;
mod people;

use std::time::Duration;

use serde_json::{Value, json};
use switchboard::proto::reason::run_event::Event;
use switchboard::proto::reason::{
    CancelRequest, Limits, ListRunsRequest, RunEvent, RunRequest, State,
};
use tokio_stream::StreamExt;
use tonic::Code;

use crate::daemon::{eventually, host_runs};
use bed::{Bed, all, answer, ask, count, kind, kinds, reason, until, whole};
use forms::Form;
use model::{Model, Say, Seen};

/// The last label that stands in what a model was shown beside its orders.
fn label(seen: &Seen) -> String {
    let mut body = seen.body.clone();
    for key in ["system", "systemInstruction", "system_instruction", "tools"] {
        body.as_object_mut().unwrap().remove(key);
    }
    if let Some(messages) = body["messages"].as_array_mut() {
        messages.retain(|message| message["role"] != "system");
    }
    let shown = body.to_string();
    let words = shown.split(|c: char| !c.is_ascii_alphanumeric());
    let numbers = words.filter_map(|word| word.strip_prefix('E')?.parse::<u32>().ok());
    format!("E{}", numbers.max().unwrap_or_default())
}

/// Every step that was told stands in the trace.
fn in_trace(trace: &Value, events: &[RunEvent]) {
    let told = events.iter().filter_map(|event| match &event.event {
        Some(Event::Evidence(step)) => Some(step.step_json.clone()),
        _ => None,
    });
    let told: Vec<Value> = told.map(|text| serde_json::from_str(&text).unwrap()).collect();
    assert!(!told.is_empty(), "{events:#?}");
    let steps = trace["steps"].as_array().unwrap();
    let missing: Vec<_> = told.iter().filter(|one| !steps.contains(one)).collect();
    assert!(missing.is_empty(), "{missing:#?} are not in {trace:#}");
}

/// A model that counts a text, echoes the count, and says both: three steps.
fn three_steps(seen: &Seen) -> Say {
    match seen.results() {
        0 => Say::call("text.stats", json!({ "text": "one two three" })),
        1 => Say::call("probe.echo", json!({ "count": 3 })),
        _ => Say::Text(format!("The text has 3 words [{}].", label(seen))),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_in_three_steps_of_which_each_is_told() {
    let bed = Bed::by(three_steps).await;
    let events = bed.run(ask("How many words has the text `one two three`?")).await;
    whole(&events);
    assert_eq!((count(&events, "thought"), count(&events, "action")), (3, 2), "{events:#?}");
    assert_eq!(events.iter().map(|event| event.step).max(), Some(3));
    let answer = answer(&events);
    assert!(answer.text.contains("3 words") && !answer.evidence.is_empty(), "{answer:?}");
    assert!(answer.confidence > 0.0 && answer.confidence <= 1.0, "{answer:?}");
    let usage = answer.usage.clone().unwrap();
    assert!(usage.input_tokens > 0 && usage.output_tokens > 0, "{usage:?}");

    // What was cited was observed, and each action is a call of the ledger under the run's caller.
    let mut known = Vec::new();
    for event in &events {
        let Some(Event::Observation(seen)) = &event.event else { continue };
        assert!(seen.success, "{seen:?}");
        let records = bed.records(&seen.tool);
        let record = records.iter().find(|one| one["call_id"] == json!(seen.call_id));
        let record = record.unwrap_or_else(|| panic!("{seen:?} is not in {records:?}"));
        assert_eq!(record["caller"], "agent");
        assert_eq!(record["conversation"], json!(event.run_id));
        known.extend(seen.item.as_ref().map(|item| item.label.clone()));
    }
    assert!(answer.evidence.iter().any(|label| known.contains(label)), "{known:?} {answer:?}");

    // The trace has the same, and the list names the run.
    let run = &events[0].run_id;
    let trace = bed.trace("agent", run).await.unwrap();
    assert_eq!(trace["run"], json!(run));
    assert_eq!(trace["answer"]["text"], json!(answer.text));
    in_trace(&trace, &events);
    let listed = bed.list("agent", ListRunsRequest::default()).await.unwrap().runs;
    assert_eq!((listed.len(), &listed[0].run_id), (1, run));
    assert_eq!((listed[0].state(), listed[0].steps), (State::Answered, 3));
    assert_eq!(listed[0].last_seq, events.last().unwrap().seq);
    let record = &bed.records("reason:run")[0];
    assert_eq!(record["facts"]["decision"]["policies"], json!(["reason-run"]), "{record:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_dropped_ends_no_run_and_is_taken_up_at_any_event() {
    let bed = Bed::by(|seen| match seen.results() {
        0 => Say::call("text.stats", json!({ "text": "a b" })),
        _ => Say::Text(format!("2 words [{}].", label(seen))).late(Duration::from_millis(300)),
    })
    .await;
    let mut stream = bed.start("agent", ask("How many words?")).await.unwrap();
    let first = until(&mut stream, "observation").await;
    drop(stream);
    let run = first[0].run_id.clone();
    let last = first.last().unwrap().seq;
    let rest = all(bed.resume("agent", &run, last).await.unwrap()).await.unwrap();
    let events: Vec<_> = first.into_iter().chain(rest).collect();
    whole(&events);
    answer(&events);
    let again = all(bed.resume("agent", &run, 0).await.unwrap()).await.unwrap();
    assert_eq!(again, events, "an ended run is told from the disk");
    let beyond = all(bed.resume("agent", &run, 9999).await.unwrap()).await.unwrap_err();
    assert_eq!(
        (beyond.code(), reason(&beyond).as_str()),
        (Code::InvalidArgument, "MALFORMED_REQUEST")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_ends_with_its_stream_only_for_who_wants_that() {
    let bed = Bed::by(|_| Say::Silence).await;
    let at = &bed;
    let state = |run: String| async move {
        let listed = at.list("agent", ListRunsRequest::default()).await.unwrap().runs;
        listed.into_iter().find(|one| one.run_id == run).unwrap().state()
    };
    let kept = bed.start("agent", ask("Does it go on?")).await.unwrap().next().await;
    let kept = kept.unwrap().unwrap().run_id;
    let asked = RunRequest { cancel_on_drop: true, ..ask("Does it end?") };
    let mut stream = bed.start("agent", asked).await.unwrap();
    let ended = stream.next().await.unwrap().unwrap().run_id;
    drop(stream);
    eventually("the run ends with its stream", || async {
        state(ended.clone()).await == State::Cancelled
    })
    .await;
    assert_eq!(state(kept.clone()).await, State::Running);

    // So with a deadline: the stream ends, and the run where that is wanted.
    for (cancel_on_drop, then) in [(false, State::Running), (true, State::Cancelled)] {
        let asked = RunRequest { cancel_on_drop, ..ask("Is there time?") };
        let mut asked = bed.with_token("agent", asked);
        asked.set_timeout(Duration::from_millis(700));
        let mut stream = bed.client().await.run(asked).await.unwrap().into_inner();
        let run = stream.next().await.unwrap().unwrap().run_id;
        let late = all(stream).await.unwrap_err();
        // Either side may notice first.
        assert!(matches!(late.code(), Code::DeadlineExceeded | Code::Cancelled), "{late:?}");
        eventually("the run is as was asked", || async { state(run.clone()).await == then }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_ends_its_call_and_begins_nothing_further() {
    let bed = Bed::by(|_| Say::call("probe.slow", json!({ "script": "sleep 50" }))).await;
    let mut stream = bed.start("agent", ask("Sleep.")).await.unwrap();
    let events = until(&mut stream, "action").await;
    // The event stands before the call, which a cancel before its beginning would leave out.
    eventually("the call runs", || async { host_runs("sleep 50") }).await;
    let run = events[0].run_id.clone();
    let cancel = || CancelRequest { run_id: run.clone() };
    let mut client = bed.client().await;
    let done = client.cancel(bed.with_token("agent", cancel())).await.unwrap().into_inner();
    assert!(done.cancelled);
    let rest = all(stream).await.unwrap();
    assert_eq!(kind(rest.last().unwrap()), "cancelled", "{:?}", kinds(&rest));
    let again = client.cancel(bed.with_token("agent", cancel())).await.unwrap().into_inner();
    assert!(!again.cancelled, "it had ended");
    eventually("the call has ended too", || async { bed.records("probe.slow").len() == 1 }).await;
    assert_eq!(bed.records("probe.slow")[0]["code"], "CANCELLED");
    assert_eq!(bed.model.asked(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_calls_of_one_turn_run_together_and_each_is_observed() {
    let sleep = |name: &str| {
        ("probe.slow".to_owned(), json!({ "script": format!("sleep 1; echo {name}") }))
    };
    let bed = Bed::by(move |seen| match seen.results() {
        0 => Say::Calls(vec![sleep("one"), sleep("two"), sleep("three")]),
        _ => Say::Text(format!("All three [{}].", label(seen))),
    })
    .await;
    let events = bed.run(ask("Run all three.")).await;
    whole(&events);
    answer(&events);
    assert_eq!((count(&events, "action"), count(&events, "observation")), (3, 3));
    let kinds = kinds(&events);
    let first = kinds.iter().position(|kind| *kind == "observation").unwrap();
    let begun = kinds[..first].iter().filter(|kind| **kind == "action").count();
    assert_eq!(begun, 3, "all began before one ended: {kinds:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_of_zero_asks_no_model_and_says_why() {
    let priced = "price_in = \"1\"\nprice_out = \"1\"";
    let model = Model::start(|_| Say::text("Nobody asked me.")).await;
    let config = bed::endpoint("main", &model, Form::Openai, priced) + &bed::reasoner(&["main"]);
    let bed = Bed::with(model, &config, |setup| setup).await;
    let tokens = Limits { tokens: Some(0), ..Limits::default() };
    let money = Limits { money: Some("0".into()), ..Limits::default() };
    let steps = Limits { steps: Some(0), ..Limits::default() };
    for limits in [tokens, money, steps] {
        let asked = RunRequest { limits: Some(limits.clone()), ..ask("What is a pump?") };
        let events = bed.run(asked).await;
        whole(&events);
        let told = match &events.last().unwrap().event {
            Some(Event::Failed(failed)) => {
                assert_eq!(failed.code, "BUDGET_EXHAUSTED", "{failed:?}");
                failed.message.clone()
            }
            Some(Event::Partial(partial)) => partial.limit.clone(),
            other => panic!("{limits:?}: {other:?}"),
        };
        assert!(!told.is_empty());
    }
    assert_eq!(bed.model.asked(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_more_runs_than_its_largest_page_goes_on() {
    let bed = Bed::by(three_steps).await;
    let mut client = bed.client().await;
    let mut begun = Vec::new();
    for number in 0..201 {
        // No model is asked.
        let limits = Limits { steps: Some(0), ..Limits::default() };
        let asked = RunRequest { limits: Some(limits), ..ask(&format!("Number {number}?")) };
        let stream = client.run(bed.with_token("agent", asked)).await.unwrap().into_inner();
        begun.push(all(stream).await.unwrap()[0].run_id.clone());
    }
    begun.reverse();
    for page_size in [200, 67, 1000] {
        let (mut listed, mut page_token) = (Vec::new(), String::new());
        loop {
            let asked = ListRunsRequest { page_size, page_token, ..ListRunsRequest::default() };
            let page = bed.list("agent", asked).await.unwrap();
            assert!(page.runs.len() <= 200, "{}", page.runs.len());
            listed.extend(page.runs.into_iter().map(|one| one.run_id));
            page_token = page.next_page_token;
            if page_token.is_empty() {
                break;
            }
        }
        assert_eq!(listed, begun, "pages of {page_size}");
    }
    let lines =
        crate::daemon::lines(&bed.cli("agent", &["runs", "list", "--json", "--limit", "300"]));
    assert_eq!(lines.len(), 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_agent_can_be_named() {
    let bed = Bed::by(three_steps).await;
    let asked = RunRequest { agent: "default".into(), ..ask("How many words?") };
    let events = bed.run(asked).await;
    let Some(Event::Started(started)) = &events[0].event else { panic!("{events:#?}") };
    assert_eq!(started.agent, "");
    answer(&events);
    let asked = RunRequest { agent: "nobody".into(), ..ask("How many words?") };
    let unknown = bed.start("agent", asked).await.unwrap_err();
    assert_eq!(reason(&unknown), "UNKNOWN_AGENT");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_limit_of_steps_it_says_what_is_known_and_what_is_missing() {
    let bed = Bed::by(|seen| {
        let number = seen.results();
        Say::call("probe.echo", json!({ "count": number }))
    })
    .await;
    let limits = Limits { steps: Some(2), ..Limits::default() };
    let asked = RunRequest { limits: Some(limits), ..ask("Count without end.") };
    let events = bed.run(asked).await;
    whole(&events);
    let Some(Event::Partial(partial)) = &events.last().unwrap().event else {
        panic!("{events:#?}")
    };
    assert_eq!(partial.limit, "steps");
    assert!(!partial.text.is_empty() && !partial.known.is_empty(), "{partial:?}");
    assert_eq!(count(&events, "thought"), 2);
}
