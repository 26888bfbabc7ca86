//! Traces for the tests, made as a run makes them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use crate::evidence::{
    Builder, Claim, Config, Draft, Fact, Found, Label, LoadedRule, Opening, Operator, Pick, Plan,
    Rules, Source, Summary, Trace, Want,
};

pub(super) fn policies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("policies")
}

pub(super) fn rules() -> Rules {
    let (rules, problems) = Rules::load(&policies());
    assert!(problems.is_empty(), "{problems:#?}");
    rules
}

pub(super) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(super) fn now() -> Timestamp {
    time("2026-11-30T09:00:00Z")
}

pub(super) fn opening(run: &str, question: &str) -> Opening {
    Opening {
        run: run.to_owned(),
        question: question.to_owned(),
        asked_at: now(),
        as_of: now(),
        time_zone: "Europe/Lisbon".to_owned(),
        earlier: Vec::new(),
    }
}

pub(super) fn builder(question: &str) -> Builder {
    Builder::new(opening("run-1", question), Config::default())
}

pub(super) fn memory(id: &str, collection: &str, text: &str, facts: Vec<Fact>) -> Found {
    let source = Source::Memory { evidence: id.to_owned(), collection: collection.to_owned() };
    Found {
        facts,
        valid_from: Some(time("2026-01-01T00:00:00Z")),
        score: 0.92,
        ..Found::new(source, text)
    }
}

pub(super) fn tool(name: &str, data: &Json) -> Found {
    let source = Source::Tool {
        call_id: "call-7".to_owned(),
        tool: name.to_owned(),
        success: true,
        digest: crate::schema::digest(&data.to_string()),
    };
    Found { untrusted: true, ..Found::new(source, data.to_string()) }
}

/// The regulation on payments that the shipped rule reads.
pub(super) fn regulation() -> Found {
    memory(
        "0199-reg@4",
        "regulations",
        "From 2026 on a transfer of more than 10,000 EUR needs a second approval.",
        vec![Fact::of_unit("transfer", "second_approval_above", "10000", "EUR")],
    )
}

/// Lets a rule decide; `memory` and `data` are what its reads bring.
pub(super) fn by_rule(
    opening: Opening,
    rule: &Arc<LoadedRule>,
    given: &BTreeMap<String, crate::evidence::Given>,
    (memory, data): (&[Found], &Json),
) -> Trace {
    let mut builder = Builder::new(opening, Config::default());
    let mut plan = Plan::begin(Arc::clone(rule), &mut builder, given, now()).unwrap();
    loop {
        let reads = plan.reads();
        if reads.is_empty() {
            break;
        }
        for read in reads {
            match read.want {
                Want::Memory(_) => {
                    plan.recalled(&read.facts, &mut builder, memory.to_vec(), now()).unwrap();
                }
                Want::Tool { tool: name, .. } => {
                    let found = tool(&name, data);
                    plan.replied(&read.facts, &mut builder, (found, data), now()).unwrap();
                }
            }
        }
    }
    let draft = plan.decide(&mut builder, now()).unwrap();
    builder.answer(&draft, now()).unwrap();
    builder.finish()
}

pub(super) fn picked(question: &str) -> Arc<LoadedRule> {
    rules().pick(question, now()).unwrap().unwrap()
}

/// A transfer of 15,000 against the dated rule.
pub(super) fn transfer() -> Trace {
    let question = "Does a transfer of 15,000 EUR need a second approval?";
    let rule = picked(question);
    by_rule(opening("run-1", question), &rule, &BTreeMap::new(), (&[regulation()], &Json::Null))
}

/// And if it were 8,000?
pub(super) fn follow_up(earlier: Vec<Summary>, question: &str) -> Trace {
    let found =
        crate::evidence::follow_up(question, &earlier, (&rules(), &jiff::tz::TimeZone::UTC), None);
    let Some(crate::evidence::FollowUp::Rule { rule, given, as_of }) = found.unwrap() else {
        panic!("no rule follows");
    };
    let opening = Opening { earlier, as_of, ..opening("run-2", question) };
    by_rule(opening, &rule, &given, (&[regulation()], &Json::Null))
}

/// Complaints of a batch, counted.
pub(super) fn complaints() -> Trace {
    let question = "批次B-0413以前有过投诉吗？";
    let rule = picked(question);
    let cases = [
        memory("0199-a@7", "cases", "批次B-0413的纸箱压坏，已免费更换。", Vec::new()),
        memory("0199-b@9", "cases", "批次B-0413的纸箱撕裂，客户接受代金券。", Vec::new()),
    ];
    by_rule(opening("run-3", question), &rule, &BTreeMap::new(), (&cases, &Json::Null))
}

/// An order that can still be returned.
pub(super) fn returned() -> Trace {
    let question = "Can the customer still return ORD-10016?";
    let rule = picked(question);
    let data = json!({ "order_id": "ORD-10016", "placed_at": "2026-11-09T10:15:00Z" });
    by_rule(opening("run-4", question), &rule, &BTreeMap::new(), (&[], &data))
}

/// What a model does without a rule: it compares a weight of a tool with a limit of the memory.
pub(super) fn parcel() -> Trace {
    let mut builder = builder("Is parcel P-7 too heavy for the locker?");
    let limit = memory(
        "0199-c@3",
        "manuals",
        "The locker takes parcels of at most 20 kg and 60 cm.",
        Vec::new(),
    );
    let limit = builder.found(limit, now()).label().clone();
    let mut weighed = tool("parcel.weigh", &json!({ "parcel": "P-7", "weight": "18500 g" }));
    weighed.facts.push(Fact { pointer: "/weight".to_owned(), ..Fact::new("weight", "18500 g") });
    let weighed = builder.found(weighed, now()).label().clone();
    let (left, right) = (Pick::new(&weighed, "weight"), Pick::new(&limit, "20 kg"));
    let step = builder.compare(&left, Operator::AtMost, &right, now()).unwrap().step.id;
    let premises = [limit.clone(), step.clone()];
    let can = builder.infer(&premises, "The locker can be used.", now()).unwrap().step.id;
    let draft = Draft {
        answer: format!("No: it weighs 18.5 kg [{weighed}], and the locker takes 20 kg [{limit}]."),
        evidence: vec![weighed, limit, can],
        decision: Some(Claim { value: "fits".to_owned(), step, holds: true }),
        ..Draft::default()
    };
    builder.answer(&draft, now()).unwrap();
    builder.finish()
}

/// A run that ended early.
pub(super) fn partial() -> Trace {
    let mut builder = builder("How heavy is parcel P-9?");
    builder.found(memory("0199-c@3", "manuals", "The locker takes 20 kg.", Vec::new()), now());
    builder.partial("steps", vec!["the weight of parcel P-9".to_owned()]);
    builder.finish()
}

/// All of them by name.
pub(super) fn all() -> Vec<(&'static str, Trace)> {
    let transfer = transfer();
    let earlier = crate::evidence::summaries(&transfer);
    vec![
        ("transfer", transfer),
        ("follow-up", follow_up(earlier, "And if it were 8,000?")),
        ("complaints", complaints()),
        ("returned", returned()),
        ("parcel", parcel()),
        ("partial", partial()),
    ]
}

/// The label of a text.
pub(super) fn label(text: &str) -> Label {
    Label::new(text)
}
