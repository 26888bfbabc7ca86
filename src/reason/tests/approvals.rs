//! A call that a person has to permit suspends its run, and the decision takes it up again.

use serde_json::json;

use super::kit::{Bench, Model, call, folder, kinds, last, seen, visitor};
use crate::approval::Decided;
use crate::reason::event::Event;
use crate::reason::{Asked, Config, RunId, State};

async fn waiting(bench: &Bench) -> (RunId, String) {
    let asked = Asked { question: "Send parcel P-7 off".into(), ..Asked::default() };
    let run = bench.runs.start(&visitor("a"), asked).await.unwrap();
    let kept = bench.until(&run, |event| matches!(event, Event::Waiting(_))).await;
    let Event::Waiting(waiting) = kept.event else { panic!() };
    let now = bench.runs.summary(&visitor("a"), &run).await.unwrap();
    assert_eq!(now.state, State::Waiting);
    (run, waiting.approval_id)
}

async fn decide(bench: &Bench, id: &str, approve: bool) {
    let reason = "because".to_owned();
    let decided = Decided { approve, by: "boss".to_owned(), reason, ..Decided::default() };
    bench.pipeline.approvals().decide(id, decided).await.unwrap();
}

fn script() -> Vec<super::kit::Says> {
    vec![
        call("parcel.send", json!({ "number": "P-7" })),
        last("It is done as far as can be [E1]", &["E1"]),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_call_runs_once_and_the_run_goes_on() {
    let model = Model::new(script()).await;
    let bench = Bench::new(&model).await;
    let (run, id) = waiting(&bench).await;
    decide(&bench, &id, true).await;
    let events = bench.told(&run).await;
    let after: Vec<&str> =
        kinds(&events).into_iter().skip_while(|kind| *kind != "waiting").collect();
    let wanted = ["waiting", "resumed", "action", "observation", "evidence", "thought", "answer"];
    assert_eq!(after, wanted, "{events:#?}");
    assert!(seen(&events)[0].success);
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_told_to_the_model_with_its_reason() {
    let mut script = script();
    script[1] = last("It was not sent, as a person refused it [Q]", &["Q"]);
    let model = Model::new(script).await;
    let bench = Bench::new(&model).await;
    let (run, id) = waiting(&bench).await;
    decide(&bench, &id, false).await;
    let events = bench.told(&run).await;
    assert_eq!(seen(&events)[0].code, "APPROVAL_REJECTED");
    assert!(model.heard(1).contains("because"));
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_waits_over_a_restart() {
    let model = Model::new(script()).await;
    let home = folder();
    let bench = Bench::with(&model, std::sync::Arc::clone(&home), Config::default()).await;
    let (run, id) = waiting(&bench).await;
    bench.drain().await;
    let bench = Bench::with(&model, home, Config::default()).await;
    bench.until(&run, |event| matches!(event, Event::Resumed(_))).await;
    decide(&bench, &id, true).await;
    let events = bench.told(&run).await;
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    let sent = seen(&events).into_iter().filter(|seen| seen.tool == "parcel.send");
    assert_eq!(sent.count(), 1);
    bench.drain().await;
}
