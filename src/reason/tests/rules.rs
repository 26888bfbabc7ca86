//! Questions that declared rules and earlier comparisons decide: what they read taints what they call, and where
//! they decide nothing, that is told.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use super::kit::{Bench, Model, PATIENCE, declare, folder, last, text, visitor, weighs_more};
use crate::call::Taint;
use crate::evidence;
use crate::memory::{Draft, Visit};
use crate::reason::event::Event;
use crate::reason::{Asked, Config, Kept, RunId};

const LETTERS: &str = r#"
name = "letters"
description = "What strangers wrote."
layer = "notes"
kinds = ["result"]
sources = ["call/*"]
origin = "tool"
trust = { tool = 30 }
[access]
read = ["any"]
write = ["any"]
review = ["role:reviewer"]
"#;

const RULE: &str = r#"
id = "parcel.marked"
owner = "tests"
description = "The parcel that a letter names is marked."
[when]
all = [["mark"], ["letter"]]
[facts.parcel]
from = "memory"
type = "text"
collection = "letters"
question = "Which parcel does the letter name?"
pattern = 'parcel (P-\d)'
[facts.done]
from = "tool"
type = "bool"
tool = "parcel.mark"
arguments = { number = "{parcel}" }
pointer = "/marked"
[facts.yes]
from = "rule"
type = "bool"
value = "true"
[decide]
all = [{ left = "done", operator = "=", right = "yes" }]
[then]
decision = "marked"
answer.en = "Parcel {parcel} is marked."
answer.zh = "包裹 {parcel} 已标记。"
[else]
decision = "not_marked"
answer.en = "Parcel {parcel} is not marked."
answer.zh = "包裹 {parcel} 未标记。"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_what_a_rule_read_outside_is_decided_as_such() {
    let home = folder();
    let policies = concat!(env!("CARGO_MANIFEST_DIR"), "/policies/memory/default.cedar");
    declare(home.path(), "memory/default.cedar", &std::fs::read_to_string(policies).unwrap());
    declare(home.path(), "memory/letters.toml", LETTERS);
    declare(home.path(), "rules/marked.toml", RULE);
    let model = Model::new(Vec::new()).await;
    let bench = Bench::with(&model, Arc::clone(&home), Config::default()).await;
    let mut standing = bench.desk.standing();
    let open = standing.wait_for(crate::memory::Standing::is_open);
    drop(tokio::time::timeout(PATIENCE, open).await.expect("no memory").unwrap());
    let draft: Draft = serde_json::from_value(json!({
        "collection": "letters", "source": "call/1", "source_id": "1", "kind": "result",
        "text": "The letter of the customer names parcel P-7, which stands in the hall.",
    }))
    .unwrap();
    let own = visitor("a");
    let visit = Visit {
        caller: own.caller.clone(),
        proof: own.proof.clone(),
        received: Instant::now(),
        deadline: None,
        entrance: bench.pipeline.welcome(&own.caller).unwrap(),
    };
    let written = bench.desk.remember(&visit, vec![draft.into()], Some(Duration::from_secs(30)));
    let written = written.await.unwrap().answer;
    assert!(written[0].is_ok(), "{written:?}");
    let asked = Asked { question: "Please mark what the letter names".into(), ..Asked::default() };
    let run = bench.runs.start(&own, asked).await.unwrap();
    let taint = BTreeSet::from([Taint::Outside, Taint::Noted]);
    let brings = |event: &Event| matches!(event, Event::Recalled(one) if one.taint == taint);
    assert_eq!(bench.until(&run, brings).await.task, "rule");
    // Its tool changes something, which after outside content is a person's to decide.
    bench.until(&run, |event| matches!(event, Event::Waiting(_))).await;
    assert!(bench.runs.cancel(&own, &run).await.unwrap());
    assert_eq!(model.count(), 0, "no model was asked");
    bench.drain().await;
}

const COUNTS: &str = r#"
id = "letters.none"
owner = "tests"
description = "Whether there are letters about a parcel."
[when]
all = [["how many"], ["letters"]]
[facts.letters]
from = "memory"
type = "quantity"
unit = "cases"
collection = "letters"
question = "letters about parcels"
take = "count"
[facts.none]
from = "rule"
type = "quantity"
unit = "cases"
value = "0"
[decide]
all = [{ left = "letters", operator = "=", right = "none" }]
[then]
decision = "none"
answer.en = "There are no letters."
answer.zh = "没有信件。"
[else]
decision = "some"
answer.en = "There are {letters} letters."
answer.zh = "有 {letters} 封信。"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_memory_that_cannot_be_asked_counts_nothing() {
    let home = folder();
    declare(home.path(), "rules/none.toml", COUNTS);
    let model = Model::new(vec![last("I cannot tell.", &[])]).await.always(text("I cannot tell."));
    let bench = Bench::with(&model, Arc::clone(&home), Config::default()).await;
    let asked = Asked { question: "How many letters are there?".into(), ..Asked::default() };
    let events = bench.asks(asked).await;
    let why = undecided(&events);
    assert!(why.contains("needs `letters`: the memory cannot be asked for it"), "{why}");
    bench.drain().await;
}

/// Why nothing decided without a model, as the stream tells it.
fn undecided(events: &[Kept]) -> String {
    let told = events.iter().find_map(|kept| match &kept.event {
        Event::Rejected(one) if one.what == "rule" => Some(one.reasons.join("; ")),
        _ => None,
    });
    told.unwrap_or_else(|| panic!("it is not told: {events:#?}"))
}

/// Whether parcel P-7 weighs more than 10 kg, as a model has it compared.
async fn weighed() -> (Model, Bench, RunId) {
    let model = Model::new(weighs_more()).await.always(last("The parcel weighs 12 kg [Q]", &["Q"]));
    let bench = Bench::new(&model).await;
    let events = bench.ask("Does parcel P-7 weigh more than 10 kg?").await;
    assert!(matches!(events.last().unwrap().event, Event::Answer(_)), "{events:#?}");
    let run = events[0].run.clone();
    (model, bench, run)
}

fn after(run: &RunId, question: &str) -> Asked {
    Asked { question: question.into(), previous: Some(run.clone()), ..Asked::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_of_an_earlier_question_is_made_again_without_a_model() {
    let (model, bench, run) = weighed().await;
    let asked = model.count();
    let mut last = run;
    for (question, value, holds) in
        [("And if it were 20 kg?", "does_not_hold", false), ("那如果是 9000 g 呢？", "holds", true)]
    {
        let events = bench.asks(after(&last, question)).await;
        let Event::Answer(answered) = &events.last().unwrap().event else { panic!("{events:#?}") };
        let decision = answered.answer.decision.as_ref().unwrap();
        assert_eq!((decision.value.as_str(), decision.holds), (value, holds), "{question}");
        last = events[0].run.clone();
        let trace = bench.runs.trace(&visitor("a"), &last).await.unwrap();
        assert_eq!(evidence::check(&trace), Vec::new(), "{question}");
        assert!(trace.steps.iter().any(|step| step.id == decision.step));
    }
    assert_eq!(model.count(), asked, "no model was asked again");
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn why_a_question_is_not_taken_as_a_follow_up_is_told() {
    let (model, bench, run) = weighed().await;
    let asked = model.count();
    for (question, why) in [
        ("And if it were 20 kg or 30 kg?", "`20 kg, 30 kg` can stand for"),
        ("And if it were 20 kg, what would the postage be?", "says more, `postage`"),
    ] {
        let events = bench.asks(after(&run, question)).await;
        let told = undecided(&events);
        assert!(told.contains(why), "{told}");
    }
    assert!(model.count() > asked, "the loop goes on with the model");
    bench.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_rule_found_before_it_was_stuck_stays_evidence() {
    let home = folder();
    declare(home.path(), "rules/price.toml", PRICE);
    let model = Model::new(vec![last("Name one price; the rule has a limit [E1]", &["E1"])]).await;
    let bench = Bench::with(&model, home, Config::default()).await;
    let events = bench.ask("May an apple have a price of 4 EUR or 7 EUR?").await;
    let Event::Answer(answered) = &events.last().unwrap().event else { panic!("{events:#?}") };
    assert_eq!(answered.answer.evidence[0].as_str(), "E1");
    let trace = bench.runs.trace(&visitor("a"), &events[0].run).await.unwrap();
    assert_eq!(evidence::check(&trace), Vec::new());
    assert!(trace.evidence.iter().any(|item| item.id.as_str() == "E1"));
    bench.drain().await;
}

const PRICE: &str = r#"
id = "apple.price"
owner = "tests"
description = "Whether an apple is cheap."
[when]
all = [["apple"], ["price"]]
[facts.price]
from = "question"
type = "money"
unit = "EUR"
[facts.most]
from = "rule"
type = "money"
value = "5 EUR"
[decide]
all = [{ left = "price", operator = "<=", right = "most" }]
[then]
decision = "cheap"
answer = { en = "{price} is cheap.", zh = "{price} 便宜。" }
[else]
decision = "dear"
answer = { en = "{price} is dear.", zh = "{price} 贵。" }
"#;
