//! Plans over a real pipeline: two workers that disagree and a judge, plans that are refused, and a
//! daemon that ends in the middle.

use std::sync::Arc;

use serde_json::{Value, json};

use super::kit::{Bench, Model, Says, call, declare, folder, kinds, last, seen, text, visitor};
use crate::call::Taint;
use crate::evidence;
use crate::reason::event::{Event, Planned, Recalled};
use crate::reason::judge::{By, Ruling};
use crate::reason::plan::tests::made;
use crate::reason::state::Story;
use crate::reason::{Asked, Config, Kept, Limits, RunId};

const LEAD: &str = r#"
name = "lead"
description = "Finds out about parcels."
role = "orchestrator"
instructions = "LEAD: have it found and weighed."
limits = { parallel = PARALLEL }
[team]
judge = "judge"
[claims.weight]
description = "weight of a parcel"
type = "number"
unit = "kg"
tolerance = "0.05"
"#;
const FINDER: &str = r#"
name = "finder"
description = "looks parcels up"
role = "worker"
instructions = "FINDER: look it up."
tools = ["parcel.find"]
"#;
const WEIGHER: &str = r#"
name = "weigher"
description = "weighs parcels"
role = "worker"
instructions = "WEIGHER: weigh it."
tools = ["parcel.weigh", "parcel.find"]
"#;
const JUDGE: &str = r#"
name = "judge"
description = "settles"
role = "judge"
instructions = "JUDGE: prefer the scales."
model = "scripted"
"#;
const ASKED: &str = "What does parcel P-7 weigh?";

fn agents(parallel: usize) -> Arc<tempfile::TempDir> {
    let home = folder();
    let lead = LEAD.replace("PARALLEL", &parallel.to_string());
    for (name, text) in
        [("lead", lead.as_str()), ("finder", FINDER), ("weigher", WEIGHER), ("judge", JUDGE)]
    {
        declare(home.path(), &format!("agents/{name}.toml"), text);
    }
    home
}

fn asked() -> Asked {
    Asked { question: ASKED.into(), agent: "lead".into(), ..Asked::default() }
}

/// Two tasks that state the weight, and one that needs both.
fn plan() -> Value {
    let tasks = [
        ("find", "finder", "Look up the weight."),
        ("weigh", "weigher", "Weigh it."),
        ("answer", "lead", "Say what it weighs."),
    ];
    made(&tasks, &weight())
}

/// What a task has to give that states the weight.
fn weight() -> Value {
    json!({ "claims": ["weight"], "scope": { "parcel": "P-7" } })
}

/// One task, in words.
fn simple() -> Value {
    made(&[("one", "finder", "Look it up.")], &Value::Null)
}

/// A report of a weight.
fn weighs(value: &str, label: &str) -> Says {
    let message = json!({ "claim": "weight", "value": value, "unit": "kg", "evidence": [label] });
    text(
        &json!({ "final": {
            "answer": format!("It weighs {value} kg."), "evidence": [label], "messages": [message],
        } })
        .to_string(),
    )
}

fn number() -> Value {
    json!({ "number": "P-7" })
}

/// A model that has the parcel looked up (E1) and weighed (E3), with two results.
async fn disagreeing() -> Model {
    Model::new(Vec::new())
        .await
        .when("You do not answer the question yourself", text(&plan().to_string()))
        .when("FINDER", call("parcel.find", number()))
        .when("FINDER", weighs("12", "E1"))
        .when("WEIGHER", call("parcel.weigh", number()))
        .when("WEIGHER", weighs("9", "E3"))
}

fn rulings(events: &[Kept]) -> Vec<Ruling> {
    let ruling = |kept: &Kept| match &kept.event {
        Event::Ruling(ruled) => Some(serde_json::from_value(ruled.ruling.clone()).unwrap()),
        _ => None,
    };
    events.iter().filter_map(ruling).collect()
}

fn planned(events: &[Kept]) -> Vec<&Planned> {
    fn planned(kept: &Kept) -> Option<&Planned> {
        match &kept.event {
            Event::Planned(planned) => Some(planned),
            _ => None,
        }
    }
    events.iter().filter_map(planned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_disagree_and_the_answer_is_what_the_judge_upheld() {
    let verdict = json!({ "verdict": "P2", "grounds": ["E3"], "words": "The scales say so." });
    let model = disagreeing()
        .await
        .when("JUDGE", text(&verdict.to_string()))
        .when("Say what it weighs", last("It weighs 9 kg [E4]", &["E4"]));
    let home = agents(1);
    let bench = Bench::with(&model, Arc::clone(&home), Config::default()).await;
    let events = bench.asks(asked()).await;
    let Event::Answer(answered) = &events.last().unwrap().event else { panic!("{events:#?}") };
    assert_eq!(answered.answer.text, "It weighs 9 kg [E4]");
    let [ruling] = &rulings(&events)[..] else { panic!("{:?}", kinds(&events)) };
    assert_eq!(ruling.upheld(), Some("weigh#1"));
    assert_eq!(ruling.by, By::Judge { agent: "judge".into() });
    // Every event of a worker bears its task.
    for (task, tool) in [("find", "parcel.find"), ("weigh", "parcel.weigh")] {
        let own: Vec<&Kept> = events.iter().filter(|kept| kept.task == task).collect();
        let seen = own.iter().filter_map(|kept| match &kept.event {
            Event::Observation(seen) => Some(seen.tool.as_str()),
            _ => None,
        });
        assert_eq!(seen.collect::<Vec<_>>(), [tool], "{task}");
    }
    // The finder was told of its own tool alone, the judge of packs and of no tool.
    let asked = model.asked.lock().unwrap().clone();
    let of = |words: &str| {
        asked.iter().map(Value::to_string).filter(|one| one.contains(words)).collect::<Vec<_>>()
    };
    let finder = &of("FINDER")[0];
    assert!(finder.contains("parcel_find") || finder.contains("parcel.find"), "{finder}");
    assert!(!finder.contains("Name of the tool: parcel.weigh") && !finder.contains("parcel_weigh"));
    let judge = &of("JUDGE")[0];
    assert!(judge.contains("12 kg") || judge.contains("\\\"number\\\":\\\"12\\\""), "{judge}");
    assert!(!judge.contains("It weighs"), "no words of a worker: {judge}");
    // What lost is told to the last task as the ruling alone, between marks.
    let answer = &of("Say what it weighs")[0];
    assert!(answer.contains("<<<data") && answer.contains("ruled"), "{answer}");
    let trace = bench.runs.trace(&visitor("a"), &events[0].run).await.unwrap();
    assert_eq!(evidence::check(&trace), Vec::new());
    assert_eq!(trace.evidence.len(), 5, "the question, two results and two messages");
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_invents_a_pack_twice_leaves_the_answer_disputed() {
    let verdict = json!({ "verdict": "P7", "grounds": ["E3"], "words": "So it is." }).to_string();
    let model = disagreeing()
        .await
        .when("JUDGE", text(&verdict))
        .when("JUDGE", text(&verdict))
        .when("Say what it weighs", last("It is not settled [E2]", &["E2"]));
    let home = agents(1);
    let bench = Bench::with(&model, Arc::clone(&home), Config::default()).await;
    let events = bench.asks(asked()).await;
    let Event::Answer(answered) = &events.last().unwrap().event else { panic!("{events:#?}") };
    let [ruling] = &rulings(&events)[..] else { panic!("{:?}", kinds(&events)) };
    assert_eq!((ruling.upheld(), ruling.refused.len()), (None, 2));
    assert!(answered.answer.text.contains("disputed"), "{}", answered.answer.text);
    assert!(answered.answer.missing[0].contains("12 kg (find#1) against 9 kg (weigh#1)"));
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_made_again_with_the_reasons_and_then_carried_out() {
    let mut wrong = plan();
    wrong["tasks"][0]["agent"] = json!("finderer");
    wrong["tasks"][1]["needs"] = json!(["answer"]);
    let model = Model::new(Vec::new())
        .await
        .when("You do not answer the question yourself", text(&wrong.to_string()))
        .when("Your last plan was", text(&simple().to_string()))
        .when("FINDER", call("parcel.find", number()))
        .when("FINDER", last("It weighs 12 kg [E1]", &["E1"]));
    let home = agents(2);
    let bench = Bench::with(&model, Arc::clone(&home), Config::default()).await;
    let events = bench.asks(asked()).await;
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    let [first, second] = &planned(&events)[..] else { panic!("{:?}", kinds(&events)) };
    assert!(first.refusals.iter().any(|one| one.starts_with("[UNKNOWN_AGENT] at /tasks/0/agent")));
    assert!(first.refusals.iter().any(|one| one.starts_with("[CYCLE]")), "{:?}", first.refusals);
    assert_eq!(second.refusals, [""; 0]);
    assert!(model.heard(1).contains("UNKNOWN_AGENT"), "{}", model.heard(1));
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_cannot_be_run_three_times_is_refused_in_the_stream() {
    let model = Model::new(Vec::new()).await.always(text("I would ask the finder."));
    let home = agents(2);
    let bench = Bench::with(&model, Arc::clone(&home), Config::default()).await;
    let events = bench.asks(asked()).await;
    let Event::Failed(failure) = &events.last().unwrap().event else { panic!("{events:#?}") };
    assert_eq!(failure.code, "PLAN_REFUSED");
    assert!(failure.message.contains("UNREADABLE"), "{}", failure.message);
    assert!(!failure.message.contains("Write the whole plan again"), "{}", failure.message);
    assert_eq!(failure.message.lines().count(), 1, "{}", failure.message);
    assert_eq!((planned(&events).len(), model.count()), (3, 3));
    assert_eq!((failure.total.input, failure.total.output), (30, 15), "what it took is told");
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_budget_no_plan_is_asked_for() {
    let model = Model::new(Vec::new()).await;
    let home = agents(2);
    let bench = Bench::with(&model, Arc::clone(&home), Config::default()).await;
    let limits = Limits { tokens: Some(0), ..Limits::default() };
    let events = bench.asks(Asked { limits, ..asked() }).await;
    let Event::Failed(failure) = &events.last().unwrap().event else { panic!("{events:#?}") };
    assert_eq!((failure.code.as_str(), model.count()), ("BUDGET_EXHAUSTED", 0));
    bench.drain().await;
}

/// A run whose finder may spend so many tokens, and comes to that limit.
async fn spends_all(model: &Model, tokens: u64) -> Bench {
    let home = agents(1);
    let finder = format!("{FINDER}budget = {{ tokens = {tokens} }}\n");
    declare(home.path(), "agents/finder.toml", &finder);
    let bench = Bench::with(model, home, Config::default()).await;
    let events = bench.asks(asked()).await;
    let Event::Partial(partial) = &events.last().unwrap().event else { panic!("{events:#?}") };
    assert!(partial.text.contains("its agent may spend"), "{}", partial.text);
    bench
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_has_spent_its_own_budget_is_asked_nothing_more() {
    let model = Model::new(Vec::new())
        .await
        .when("You do not answer the question yourself", text(&simple().to_string()))
        .when("FINDER", call("parcel.find", number()));
    let bench = spends_all(&model, 15).await;
    assert_eq!(model.count(), 2, "the plan, and one question of the finder");
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_attempt_has_what_the_first_left_of_the_budget() {
    let mut plan = simple();
    plan["tasks"][0]["output"] = weight();
    let model = Model::new(Vec::new())
        .await
        .when("You do not answer the question yourself", text(&plan.to_string()))
        .when("FINDER", call("parcel.find", number()))
        .when("FINDER", weighs("much", "E1"))
        .when("FINDER", weighs("12", "E1"));
    let bench = spends_all(&model, 30).await;
    assert_eq!(model.count(), 3, "the plan, and two questions of the finder at 15 tokens");
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_the_judge_does_not_uphold_says_so() {
    let tasks = [("find", "finder", "Look it up."), ("weigh", "weigher", "Weigh it.")];
    let mut plan = made(&tasks, &weight());
    plan["tasks"][1]["output"] = weight();
    let verdict = json!({ "verdict": "P1", "grounds": ["E1"], "words": "It was booked so." });
    let model = Model::new(Vec::new())
        .await
        .when("You do not answer the question yourself", text(&plan.to_string()))
        .when("FINDER", call("parcel.find", number()))
        .when("FINDER", weighs("12", "E1"))
        .when("WEIGHER", call("parcel.weigh", number()))
        .when("WEIGHER", weighs("9", "E3"))
        .when("JUDGE", text(&verdict.to_string()));
    let home = agents(1);
    let bench = Bench::with(&model, Arc::clone(&home), Config::default()).await;
    let events = bench.asks(asked()).await;
    let Event::Answer(answered) = &events.last().unwrap().event else { panic!("{events:#?}") };
    let [ruling] = &rulings(&events)[..] else { panic!("{:?}", kinds(&events)) };
    assert_eq!(ruling.upheld(), Some("find#1"));
    let text = &answered.answer.text;
    assert!(text.starts_with("It weighs 9 kg.") && text.contains("12 kg holds"), "{text}");
    assert!(answered.answer.missing[0].contains("12 kg holds"), "{:?}", answered.answer.missing);
    bench.drain().await;
}

#[test]
fn what_one_task_recalled_taints_the_calls_of_every_other() {
    let recalled = |task: &str, taint| Kept {
        seq: 1,
        at: jiff::Timestamp::UNIX_EPOCH,
        run: RunId::generate(),
        step: 0,
        task: task.to_owned(),
        event: Event::Recalled(Recalled { taint: [taint].into(), ..Recalled::default() }),
    };
    let story = Story::of(&[recalled("find", Taint::Flagged), recalled("weigh/2", Taint::Outside)]);
    assert_eq!(story.taint(), [Taint::Flagged, Taint::Outside].into());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ended_before_a_drain_is_not_done_again_after_it() {
    let home = agents(1);
    let hung = Model::new(Vec::new())
        .await
        .when("You do not answer the question yourself", text(&plan().to_string()))
        .when("FINDER", call("parcel.find", number()))
        .when("FINDER", weighs("12", "E1"))
        .when("WEIGHER", call("parcel.weigh", number()))
        .always(Says::Nothing);
    let bench = Bench::with(&hung, Arc::clone(&home), Config::default()).await;
    let run = bench.runs.start(&visitor("a"), asked()).await.unwrap();
    bench
        .until(&run, |event| matches!(event, Event::Observation(o) if o.tool == "parcel.weigh"))
        .await;
    bench.drain().await;
    let model = Model::new(Vec::new())
        .await
        .when("WEIGHER", weighs("12", "E3"))
        .when("Say what it weighs", last("It weighs 12 kg [E2]", &["E2"]));
    let path = home.path().join("runs.db");
    while crate::config::claim(&path).is_err() {
        tokio::task::yield_now().await;
    }
    let bench = Bench::with(&model, Arc::clone(&home), Config::default()).await;
    let events = bench.told(&run).await;
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    assert_eq!(planned(&events).len(), 1);
    assert_eq!(seen(&events).len(), 2, "each tool was called once: {:?}", kinds(&events));
    assert_eq!(model.count(), 2);
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tasks_that_make_the_same_call_share_its_result() {
    let tasks = [
        ("find", "finder", "Look it up."),
        ("weigh", "weigher", "Look it up too."),
        ("answer", "lead", "Say what it weighs."),
    ];
    let both = made(&tasks, &Value::Null);
    let found = || last("It weighs 12 kg [E1]", &["E1"]);
    let model = Model::new(Vec::new())
        .await
        .when("You do not answer the question yourself", text(&both.to_string()))
        .when("FINDER", call("parcel.find", number()))
        .when("FINDER", found())
        .when("WEIGHER", call("parcel.find", number()))
        .when("WEIGHER", found())
        .when("Say what it weighs", found());
    let home = agents(2);
    let bench = Bench::with(&model, Arc::clone(&home), Config::default()).await;
    let events = bench.asks(asked()).await;
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    let seen = seen(&events);
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|one| one.success), "none is refused as a loop: {seen:#?}");
    bench.drain().await;
}
