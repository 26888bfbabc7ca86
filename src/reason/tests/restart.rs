//! A daemon that ends in the middle of a run: the next one goes on from the last event, and what had run
//! is not run again.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::kit::{Bench, Model, Says, call, folder, last, seen, visitor};
use crate::reason::event::{Action, Event, Kept, Routed, Started, Thought, Wanted};
use crate::reason::store::{Birth, Head, Store};
use crate::reason::{Asked, Config, Limits, RunId};

/// A run as a killed daemon left it: a call under way, and no observation.
async fn left_behind(home: &std::path::Path, tool: &str, call_id: &str) -> RunId {
    let (run, own) = (RunId::generate(), visitor("a").caller);
    let store = Store::open(&home.join("runs.db")).unwrap();
    let started = Started {
        question: "Mark parcel P-7".into(),
        caller: own.name.clone(),
        tenant: own.tenant.clone(),
        roles: own.roles.clone(),
        time_zone: "UTC".into(),
        limits: Limits { steps: Some(5), tokens: Some(10_000), money: None, wall_ms: Some(60_000) },
        ..Started::default()
    };
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
    let events = [
        Event::Started(Box::new(started)),
        Event::Routed(Routed { route: crate::reason::event::Route::Tools, ..Routed::default() }),
        Event::Thought(Box::new(thought)),
        Event::Action(action),
    ];
    for (event, seq) in events.into_iter().zip(1..) {
        let birth = (seq == 1).then(|| Birth {
            caller: own.clone(),
            conversation: String::new(),
            agent: String::new(),
            question: "Mark parcel P-7".into(),
        });
        let (at, task) = (Timestamp::now(), String::new());
        let step = u32::from(seq > 2);
        let kept = Kept { seq, at, run: run.clone(), step, task, event };
        store.send(&kept, birth, Head::default()).kept().await.unwrap();
    }
    drop(store);
    run
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

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_a_record_is_read_there() {
    let home = folder();
    let idle = Model::new(Vec::new()).await;
    let bench = Bench::with(&idle, Arc::clone(&home), Config::default()).await;
    // It ran under the daemon before, which was killed before it had written that down.
    let own = visitor("a").caller;
    let call = crate::call::Call::new("parcel.mark", r#"{"number":"P-7"}"#);
    let id = call.id.to_string();
    let entered = bench.pipeline.enter(&call.id, &own).unwrap();
    let recorded = bench.pipeline.call(call, entered, &own, None).await;
    assert!(recorded.reply.error.is_none(), "{}", recorded.json);
    bench.drain().await;
    std::fs::remove_file(home.path().join("runs.db")).unwrap();
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
