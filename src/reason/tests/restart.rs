//! A daemon that ends in the middle of a run: the next one goes on from the last event, and what had run
//! is not run again.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::StreamExt;
use jiff::Timestamp;
use serde_json::json;

use super::kit::{Bench, Model, Says, call, folder, last, seen, visitor};
use crate::call::Taint;
use crate::pipeline::Recorded;
use crate::reason::event::{
    Action, Event, Kept, Recalled, Route, Routed, Started, Thought, Wanted,
};
use crate::reason::state::Story;
use crate::reason::store::{Birth, Store};
use crate::reason::{Asked, Config, Error, Limits, RunId, State};

/// An answer that says what could not be found out.
fn missing(what: &str) -> Says {
    let said = json!({ "answer": "That is not known.", "evidence": [], "missing": [what] });
    Says::Text(json!({ "final": said }).to_string())
}

/// A start of a run of caller `a`.
fn started(question: &str) -> Started {
    let own = visitor("a").caller;
    Started {
        question: question.into(),
        caller: own.name,
        tenant: own.tenant,
        roles: own.roles,
        time_zone: "UTC".into(),
        limits: Limits { steps: Some(5), tokens: Some(10_000), money: None, wall_ms: Some(60_000) },
        ..Started::default()
    }
}

/// A run as a killed daemon left it.
async fn left(home: &std::path::Path, started: Started, then: Vec<Event>) -> RunId {
    let run = RunId::generate();
    let store = Store::open(&home.join("runs.db")).unwrap();
    let question = started.question.clone();
    let events = std::iter::once(Event::Started(Box::new(started))).chain(then);
    let mut story = Story::default();
    for (event, seq) in events.zip(1..) {
        let birth = (seq == 1).then(|| Birth {
            caller: visitor("a").caller,
            conversation: String::new(),
            agent: String::new(),
            question: question.clone(),
        });
        let (at, task) = (Timestamp::now(), String::new());
        let step = u32::from(seq > 2);
        let kept = Kept { seq, at, run: run.clone(), step, task, event };
        story.add(&kept);
        store.send(&kept, birth, story.head()).kept().await.unwrap();
    }
    run
}

/// The same with a call under way, and no observation.
async fn left_behind(home: &std::path::Path, tool: &str, call_id: &str) -> RunId {
    let wanted = Wanted {
        id: "c0".into(),
        name: tool.into(),
        arguments: r#"{"number":"P-7"}"#.into(),
        ..Wanted::default()
    };
    let thought = Thought { calls: vec![wanted.clone()], ..Thought::default() };
    let action = Action {
        call_id: call_id.into(),
        tool: tool.into(),
        arguments: wanted.arguments,
        place: 0,
        approval: None,
    };
    let events = vec![
        Event::Routed(Routed { route: Route::Tools, ..Routed::default() }),
        Event::Thought(Box::new(thought)),
        Event::Action(action),
    ];
    left(home, started("Mark parcel P-7"), events).await
}

/// Opens the bench once the file is free again: its thread ends with the store.
async fn reopened(model: &Model, home: &Arc<tempfile::TempDir>) -> Bench {
    let path = home.path().join("runs.db");
    while crate::config::claim(&path).is_err() {
        tokio::task::yield_now().await;
    }
    Bench::with(model, Arc::clone(home), Config::default()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_a_record_that_may_have_worked_is_not_made_again() {
    let home = folder();
    let id = crate::call::CallId::generate().to_string();
    let run = left_behind(home.path(), "parcel.mark", &id).await;
    let model = Model::new(vec![last("Nobody knows whether it was marked [Q]", &["Q"])]).await;
    let bench = reopened(&model, &home).await;
    let events = bench.told(&run).await;
    assert_eq!(seen(&events)[0].code, "OUTCOME_UNKNOWN", "{events:#?}");
    assert_eq!(events.iter().filter(|kept| kept.event.kind() == "action").count(), 1);
    assert!(model.heard(0).contains("may have taken effect"));
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_only_reads_is_made_again() {
    let home = folder();
    let id = crate::call::CallId::generate().to_string();
    let run = left_behind(home.path(), "parcel.find", &id).await;
    let model = Model::new(vec![last("It is in Lyon [E1]", &["E1"])]).await;
    let bench = reopened(&model, &home).await;
    let events = bench.told(&run).await;
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    assert_eq!(events.iter().filter(|kept| kept.event.kind() == "action").count(), 2);
    bench.drain().await;
}

/// A call that was sent under the daemon before, which was killed before it had written down what came of
/// it.
async fn called(idle: &Model, home: &Arc<tempfile::TempDir>, tool: &str) -> (String, Recorded) {
    let bench = Bench::with(idle, Arc::clone(home), Config::default()).await;
    let own = visitor("a").caller;
    let call = crate::call::Call::new(tool, r#"{"number":"P-7"}"#);
    let id = call.id.to_string();
    let entered = bench.pipeline.enter(&call.id, &own).unwrap();
    let recorded = bench.pipeline.call(call, entered, &own, None).await;
    bench.drain().await;
    std::fs::remove_file(home.path().join("runs.db")).unwrap();
    (id, recorded)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_a_record_is_read_there() {
    let home = folder();
    let idle = Model::new(Vec::new()).await;
    let (id, recorded) = called(&idle, &home, "parcel.mark").await;
    assert!(recorded.reply.error.is_none(), "{}", recorded.json);
    let run = left_behind(home.path(), "parcel.mark", &id).await;
    let model = Model::new(vec![last("It is marked [E1]", &["E1"])]).await;
    let bench = reopened(&model, &home).await;
    let events = bench.told(&run).await;
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    assert_eq!(events.iter().filter(|kept| kept.event.kind() == "action").count(), 1);
    assert_eq!(seen(&events)[0].call_id, id);
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_suspends_and_the_next_daemon_goes_on() {
    let home = folder();
    let hung = Model::new(vec![call("parcel.find", json!({ "number": "P-7" }))])
        .await
        .always(Says::Nothing);
    let bench = Bench::with(&hung, Arc::clone(&home), Config::default()).await;
    let asked = Asked { question: "Where is parcel P-7?".into(), ..Asked::default() };
    let run = bench.runs.start(&visitor("a"), asked).await.unwrap();
    bench.until(&run, |event| matches!(event, Event::Evidence(_))).await;
    bench.drain().await;
    let model = Model::new(vec![last("It is in Lyon [E1]", &["E1"])]).await;
    let bench = reopened(&model, &home).await;
    let events = bench.told(&run).await;
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    assert!(events.iter().any(|kept| matches!(kept.event, Event::Resumed(_))));
    assert_eq!(seen(&events).len(), 1, "the call of before is not made again");
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_was_asked_for_just_before_the_end_is_told_and_waited_for() {
    let home = folder();
    let idle = Model::new(Vec::new()).await;
    let (id, recorded) = called(&idle, &home, "parcel.send").await;
    assert!(recorded.json.contains("pending"), "{}", recorded.json);
    let run = left_behind(home.path(), "parcel.send", &id).await;
    let bench = reopened(&idle, &home).await;
    let kept = bench.until(&run, |event| matches!(event, Event::Waiting(_))).await;
    let Event::Waiting(waiting) = kept.event else { panic!() };
    assert_eq!(waiting.call_id, id, "the call of before asked, and no other");
    let now = bench.runs.summary(&visitor("a"), &run).await.unwrap();
    assert_eq!(now.state, State::Waiting);
    assert!(bench.runs.cancel(&visitor("a"), &run).await.unwrap());
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_is_only_known_masked_is_told_and_no_tool_called_with_the_mask() {
    let home = folder();
    let question = "Where is the parcel of card [masked]?";
    let run = left(home.path(), started(question), Vec::new()).await;
    let model = Model::new(vec![
        call("parcel.find", json!({ "number": "[masked]" })),
        missing("the number of the card"),
    ])
    .await;
    let bench = reopened(&model, &home).await;
    let events = bench.told(&run).await;
    let Event::Resumed(resumed) = &events[1].event else { panic!("{events:#?}") };
    assert_eq!(resumed.why, "restart_masked");
    assert!(model.heard(0).contains("not known any more"), "{}", model.heard(0));
    let told = seen(&events)[0];
    assert!(!told.success && told.told.to_string().contains("not known any more"), "{told:?}");
    assert!(told.item.is_none(), "nothing ran: {told:?}");
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_stopped_is_told_so_and_can_be_ended() {
    let home = folder();
    // Nobody can work on it: its date cannot be read.
    let unread = Started { as_of: "no date".into(), ..started("Where is parcel P-7?") };
    let run = left(home.path(), unread, Vec::new()).await;
    let bench = reopened(&Model::new(Vec::new()).await, &home).await;
    let own = visitor("a");
    let told: Vec<_> = bench.runs.follow(&own, &run, 0).collect().await;
    assert!(matches!(told.last().unwrap(), Err(Error::Stopped(_))), "{told:?}");
    let other = bench.runs.cancel(&visitor("b"), &run).await;
    assert!(matches!(other, Err(Error::Unknown(_))), "{other:?}");
    assert!(bench.runs.cancel(&own, &run).await.unwrap());
    assert!(!bench.runs.cancel(&own, &run).await.unwrap(), "it had ended");
    let events = bench.told(&run).await;
    assert_eq!(events.last().unwrap().event, Event::Cancelled);
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_first_of_many_runs_read_taints_the_last_that_follows_it_up() {
    let home = folder();
    let taint = BTreeSet::from([Taint::Outside]);
    let recalled = Recalled { taint, ..Recalled::default() };
    let events = vec![Event::Recalled(recalled), Event::Cancelled];
    let mut previous = left(home.path(), started("What does the letter say?"), events).await;
    let model = Model::new(Vec::new()).await.always(missing("all of it"));
    let mark = call("parcel.mark", json!({ "number": "P-7" }));
    let model = model.when("Mark parcel", mark);
    let bench = reopened(&model, &home).await;
    for question in ["And then?", "And before?", "And after?", "Is it all?"] {
        let asked =
            Asked { question: question.into(), previous: Some(previous), ..Asked::default() };
        previous = bench.runs.start(&visitor("a"), asked).await.unwrap();
        let events = bench.told(&previous).await;
        assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    }
    let (question, previous) = ("Mark parcel P-7".into(), Some(previous));
    let asked = Asked { question, previous, ..Asked::default() };
    let run = bench.runs.start(&visitor("a"), asked).await.unwrap();
    bench.until(&run, |event| matches!(event, Event::Waiting(_))).await;
    bench.drain().await;
}

#[test]
fn what_one_task_recalls_taints_the_calls_of_every_other() {
    let kept = |seq, task: &str, event| Kept {
        seq,
        at: Timestamp::now(),
        run: RunId::generate(),
        step: 0,
        task: task.to_owned(),
        event,
    };
    let brings =
        |taint| Event::Recalled(Recalled { taint: BTreeSet::from([taint]), ..Recalled::default() });
    let events = [
        kept(1, "", Event::Started(Box::default())),
        kept(2, "letters", brings(Taint::Flagged)),
        kept(3, "orders", brings(Taint::Outside)),
    ];
    let both = BTreeSet::from([Taint::Flagged, Taint::Outside]);
    assert_eq!(Story::of(&events).taint(), both);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_cannot_be_opened_let_go_of_their_file() {
    let home = folder();
    let path = home.path().join("runs.db");
    // One of ours by its marks, of which somebody has taken the tables.
    let damaged = rusqlite::Connection::open(&path).unwrap();
    damaged
        .execute_batch(
            "CREATE TABLE other (at INTEGER); PRAGMA application_id = 1398231630; \
             PRAGMA user_version = 1;",
        )
        .unwrap();
    drop(damaged);
    let model = Model::new(Vec::new()).await;
    let config = Config::default();
    let refused = Bench::tried(&model, home.path(), config.clone()).await.map(drop);
    assert!(matches!(refused, Err(Error::Database(_))), "{refused:?}");
    let dear = Config { money: Some("much".into()), ..config };
    let wait = async {
        while crate::config::claim(&path).is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(super::kit::PATIENCE, wait).await.expect("the file is still held");
    std::fs::remove_file(&path).unwrap();
    let refused = Bench::tried(&model, home.path(), dear).await.map(drop);
    assert!(matches!(refused, Err(Error::Config { key: "reason.money", .. })), "{refused:?}");
}
