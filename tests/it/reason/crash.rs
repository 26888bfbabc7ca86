//! The daemon is killed, drained and asked twice in the middle of a run: it goes on where it was, and what
//! had run is not run again. Approvals suspend a run, over a restart too.

use std::time::Duration;

use serde_json::json;
use switchboard::proto::policy::decide_approval_request::Decision;
use switchboard::proto::reason::run_event::Event;
use switchboard::proto::reason::{ListRunsRequest, RunEvent, State};
use tokio_stream::StreamExt;
use tonic::Code;

use super::bed::{Bed, all, answer, ask, count, endpoint, kinds, reason, reasoner, until, whole};
use super::forms::Form;
use super::model::{Model, Say, Seen};
use super::{in_trace, label, three_steps};
use crate::daemon::{Setup, eventually};

/// A tool that changes something, and takes its time.
const CHANGE: &str = r#"
name = "probe.change"
description = "Changes something by a shell script, which may take its time. For tests of restarts."
profile = "slow"
risk = "write"

[input_schema]
type = "object"
required = ["script"]
additionalProperties = false
properties.script = { type = "string", description = "What sh runs." }

[command]
argv = ["sh", "-c", "{/script}"]
stdin = "none"
"#;
const PERMIT: &str = "@id(\"change\") @owner(\"tests\")\npermit (principal, \
                      action == Switchboard::Action::\"probe.change\", resource);\n";

/// Takes the rest of a run, and gives all of it.
async fn rest(bed: &Bed, first: Vec<RunEvent>) -> Vec<RunEvent> {
    let last = first.last().unwrap();
    let more = all(bed.resume("agent", &last.run_id, last.seq).await.unwrap()).await.unwrap();
    first.into_iter().chain(more).collect()
}

fn calls(events: &[RunEvent]) -> Vec<String> {
    let ids = events.iter().filter_map(|event| match &event.event {
        Some(Event::Action(action)) => Some(action.call_id.clone()),
        _ => None,
    });
    ids.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_daemon_goes_on_by_itself_and_runs_no_call_twice() {
    // The second question to the model is never answered, so that it is killed in it.
    let bed = Bed::by(|seen| match seen.results() {
        1 => Say::Silence,
        _ => three_steps(seen),
    })
    .await;
    let mut stream = bed.start("agent", ask("How many words has it?")).await.unwrap();
    let mut first = until(&mut stream, "observation").await;
    let run = first[0].run_id.clone();
    eventually("it asks again", || async { bed.model.asked() == 2 }).await;
    let bed = {
        bed.daemon.signal("KILL");
        while let Some(Ok(event)) = stream.next().await {
            first.push(event);
        }
        bed.model.by(three_steps);
        bed.kill().await
    };
    // Nobody resumes it: it goes on by itself.
    eventually("the run ends", || async {
        let listed = bed.list("agent", ListRunsRequest::default()).await.unwrap().runs;
        listed[0].run_id == run && listed[0].state() == State::Answered
    })
    .await;
    let events = rest(&bed, first).await;
    whole(&events);
    assert!(kinds(&events).contains(&"resumed"), "{:?}", kinds(&events));
    assert_eq!((count(&events, "action"), count(&events, "observation")), (2, 2));
    answer(&events);
    assert_eq!(bed.records("text.stats").len(), 1, "it had run");
    assert_eq!(bed.records("probe.echo").len(), 1);
    let trace = bed.trace("agent", &run).await.unwrap();
    in_trace(&trace, &events);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_under_way_at_the_kill_is_looked_up_and_never_made_again() {
    let model = Model::start(|seen| match seen.results() {
        0 => Say::call("probe.change", json!({ "script": "sleep 40" })),
        _ => Say::Text(format!("It is not known whether it ran [{}].", label(seen))),
    });
    let model = model.await;
    let config = endpoint("main", &model, Form::Openai, "") + &reasoner(&["main"]);
    let change = |setup: Setup| {
        setup.policy("tools/probe-change.toml", CHANGE).policy("cedar/change.cedar", PERMIT)
    };
    let bed = Bed::with(model, &config, change).await;
    let mut stream = bed.start("agent", ask("Sleep.")).await.unwrap();
    let first = until(&mut stream, "action").await;
    let called = calls(&first);
    let bed = bed.kill().await;
    let events = rest(&bed, first).await;
    whole(&events);
    assert_eq!(calls(&events), called, "one action, before and after");
    let told = events.iter().find_map(|event| match &event.event {
        Some(Event::Observation(one)) => Some(one.clone()),
        _ => None,
    });
    let told = told.unwrap();
    assert_eq!((told.success, told.code.as_str()), (false, "OUTCOME_UNKNOWN"), "{told:?}");
    assert!(bed.records("probe.change").is_empty(), "it left no record, and was not made again");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_event_the_run_comes_to_one_end() {
    let mut bed = Bed::by(three_steps).await;
    for moment in 1..8 {
        let mut stream =
            bed.start("agent", ask(&format!("How many words? {moment}"))).await.unwrap();
        let mut first = Vec::new();
        while first.len() < moment {
            first.push(stream.next().await.unwrap().unwrap());
        }
        bed = bed.kill().await;
        let events = rest(&bed, first).await;
        whole(&events);
        answer(&events);
        let made = calls(&events);
        let mut once = made.clone();
        once.dedup();
        assert_eq!(made, once);
        for id in &made {
            let of = |tool: &str| {
                bed.records(tool).iter().filter(|one| one["call_id"] == json!(id)).count()
            };
            assert!(of("text.stats") + of("probe.echo") <= 1, "{id} was made twice");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_who_resume_at_once_see_one_run() {
    let bed = Bed::by(|seen| match seen.results() {
        0 => Say::call("text.stats", json!({ "text": "a" })).late(Duration::from_millis(300)),
        _ => Say::Text(format!("One [{}].", label(seen))).late(Duration::from_millis(300)),
    })
    .await;
    let mut stream = bed.start("agent", ask("How many?")).await.unwrap();
    let run = stream.next().await.unwrap().unwrap().run_id;
    bed.daemon.signal("KILL");
    let bed = bed.kill().await;
    let follow = || async { all(bed.resume("agent", &run, 0).await.unwrap()).await.unwrap() };
    let (one, other, third) = tokio::join!(follow(), follow(), follow());
    whole(&one);
    answer(&one);
    assert_eq!((&one, &one), (&other, &third));
    assert_eq!((count(&one, "action"), bed.records("text.stats").len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_suspends_the_run_and_the_next_daemon_goes_on() {
    let bed = Bed::by(|seen| match seen.results() {
        1 => Say::Silence,
        _ => three_steps(seen),
    })
    .await;
    let mut stream = bed.start("agent", ask("How many words has it?")).await.unwrap();
    let mut first = until(&mut stream, "observation").await;
    let mut bed = bed;
    bed.daemon.signal("TERM");
    let status = loop {
        match stream.next().await.unwrap() {
            Ok(event) => first.push(event),
            Err(status) => break status,
        }
    };
    assert_eq!((status.code(), reason(&status).as_str()), (Code::Unavailable, "DRAINING"));
    assert_eq!(bed.daemon.wait(), Some(0), "a run holds up no drain");
    bed.model.by(three_steps);
    let bed = bed.restart().await;
    let events = rest(&bed, first).await;
    whole(&events);
    answer(&events);
    assert_eq!(bed.records("text.stats").len(), 1);
}

/// A model that erases a record, and says what came of it.
fn erases(seen: &Seen) -> Say {
    match seen.results() {
        0 => Say::call("probe.erase", json!({ "id": 7 })),
        _ => Say::Text(format!("Done [{}].", label(seen))),
    }
}

fn waits(events: &[RunEvent]) -> String {
    match &events.last().unwrap().event {
        Some(Event::Waiting(waiting)) => waiting.approval_id.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_suspends_a_run_and_its_decision_goes_on_with_it() {
    let bed = Bed::by(erases).await;
    let mut stream = bed.start("agent", ask("Erase record 7.")).await.unwrap();
    let first = until(&mut stream, "waiting").await;
    let approval = waits(&first);
    let listed = bed.list("agent", ListRunsRequest::default()).await.unwrap().runs;
    assert_eq!(listed[0].state(), State::Waiting);
    bed.decide(&approval, Decision::Approve).await;
    let events: Vec<_> = first.into_iter().chain(all(stream).await.unwrap()).collect();
    whole(&events);
    answer(&events);
    assert!(kinds(&events).contains(&"resumed"));
    let records = bed.records("probe.erase");
    let ran: Vec<_> = records.iter().filter(|one| one["status"] == "success").collect();
    assert_eq!(ran.len(), 1, "{records:#?}");
    assert_eq!(ran[0]["facts"]["decision"]["outcome"], "approved");

    // Refused: the model is told so, and nothing runs.
    let mut stream = bed.start("agent", ask("Erase record 7, again.")).await.unwrap();
    let first = until(&mut stream, "waiting").await;
    bed.decide(&waits(&first), Decision::Deny).await;
    let rest = all(stream).await.unwrap();
    let told = rest.iter().find_map(|event| match &event.event {
        Some(Event::Observation(one)) => Some(one.code.clone()),
        _ => None,
    });
    assert_eq!(told.as_deref(), Some("APPROVAL_REJECTED"), "{rest:#?}");
    let records = bed.records("probe.erase");
    assert_eq!(records.iter().filter(|one| one["status"] == "success").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_a_person_outlives_its_daemon() {
    let bed = Bed::by(erases).await;
    let mut stream = bed.start("agent", ask("Erase record 7.")).await.unwrap();
    let first = until(&mut stream, "waiting").await;
    let approval = waits(&first);
    let bed = bed.kill().await;
    let listed = bed.list("agent", ListRunsRequest::default()).await.unwrap().runs;
    assert_eq!(listed[0].state(), State::Waiting);
    // Decided while nobody follows.
    bed.decide(&approval, Decision::Approve).await;
    let events = rest(&bed, first).await;
    whole(&events);
    answer(&events);
    let records = bed.records("probe.erase");
    assert_eq!(records.iter().filter(|one| one["status"] == "success").count(), 1);
}
