//! Traces that somebody changed who makes every digest fit again: what was done is found all the same. And
//! what a rule takes of several, taken again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::checks::resealed;
use super::made::{self, builder, memory, now, opening, time};
use crate::evidence::{Fact, Found, LoadedRule, Plan, Reason, Rules, Stuck, Trace, check};

/// A trace, what is done to it, why that is refused, and where.
type Case = (&'static str, fn() -> Trace, fn(&mut Json), Reason, &'static str);

fn put(json: &mut Json, pointer: &str, value: Json) {
    *json.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value;
}

fn take_out(json: &mut Json, pointer: &str, member: &str) {
    json.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(member).unwrap();
}

const CASES: [Case; 29] = [
    (
        "the conclusion of another rule among the premises",
        made::transfer,
        |json| {
            let mut twin = json["steps"][4].clone();
            twin["id"] = json!("S6");
            twin["premises"] = json!(["S4", "S5"]);
            json["steps"].as_array_mut().unwrap().push(twin);
            put(json, "/answer/decision/step", json!("S6"));
        },
        Reason::DoesNotFollow,
        "/steps/5/premises/1",
    ),
    (
        "a rule that does not tell of what kind its limit is",
        made::transfer,
        |json| {
            for item in json["evidence"].as_array_mut().unwrap() {
                let facts = item["facts"].as_array_mut();
                facts.into_iter().for_each(|facts| facts.retain(|one| one["name"] != "type.limit"));
            }
            for step in json["steps"].as_array_mut().unwrap() {
                let operands = step.get_mut("operands").and_then(Json::as_array_mut);
                for operand in operands.into_iter().flatten() {
                    drop(operand.as_object_mut().unwrap().remove("as"));
                }
            }
        },
        Reason::DoesNotFollow,
        "/steps/4/premises/0",
    ),
    (
        "a premise twice",
        made::transfer,
        |json| put(json, "/steps/4/premises", json!(["S4", "S4"])),
        Reason::DoesNotFollow,
        "/steps/4/premises/1",
    ),
    (
        "a conclusion that names more than its rule",
        made::transfer,
        |json| put(json, "/steps/4/evidence", json!(["E1", "E2"])),
        Reason::NotRetrieved,
        "/steps/4/evidence",
    ),
    (
        "other words of the conclusion",
        made::transfer,
        |json| put(json, "/steps/4/text", json!("rule `transfer.second-approval`: never.")),
        Reason::DoesNotFollow,
        "/steps/4/text",
    ),
    (
        "a rule's decision left out",
        made::transfer,
        |json| take_out(json, "/answer", "decision"),
        Reason::DoesNotFollow,
        "/answer/decision",
    ),
    (
        "decided by the comparison below the rule, with another word",
        made::transfer,
        |json| {
            take_out(json, "/answer/decision", "rule");
            put(json, "/answer/decision/step", json!("S4"));
            put(json, "/answer/decision/value", json!("no_approval"));
        },
        Reason::DoesNotFollow,
        "/answer/decision",
    ),
    (
        "words of the rule that are not what it compares",
        made::transfer,
        |json| put(json, "/evidence/1/text", json!("Every transfer is approved.")),
        Reason::NotInEvidence,
        "/evidence/1/text",
    ),
    (
        "a rule without a name",
        made::transfer,
        |json| put(json, "/evidence/1/source/id", json!("")),
        Reason::Form,
        "/evidence/1/source",
    ),
    (
        "a second amount in the question",
        made::transfer,
        |json| {
            let question = "Does a transfer of 15,000 EUR, fee 5 EUR, need a second approval?";
            put(json, "/question", json!(question));
            put(json, "/evidence/0/text", json!(question));
        },
        Reason::DoesNotFollow,
        "/steps/4/premises/0",
    ),
    (
        "a value that is not read as the rule says",
        made::transfer,
        |json| take_out(json, "/steps/3/operands/0", "as"),
        Reason::DoesNotFollow,
        "/steps/4/premises/0",
    ),
    (
        "the least, where the most was taken",
        most,
        |json| {
            let facts = json["evidence"][1]["facts"].as_array_mut().unwrap();
            let take = facts.iter_mut().find(|one| one["name"] == "take.limit").unwrap();
            take["value"] = json!("least");
        },
        Reason::DoesNotFollow,
        "/steps/5/premises/0",
    ),
    (
        "the only one, where there are several",
        most,
        |json| {
            let facts = json["evidence"][1]["facts"].as_array_mut().unwrap();
            facts.retain(|one| one["name"] != "take.limit");
        },
        Reason::DoesNotFollow,
        "/steps/5/premises/0",
    ),
    (
        "a statement passed off as the rule's",
        made::transfer,
        |json| {
            put(json, "/steps/4/operation", json!("state"));
            take_out(json, "/steps/4", "result");
        },
        Reason::DoesNotFollow,
        "/answer/decision/value",
    ),
    (
        "a day that the reply does not have",
        made::returned,
        |json| put(json, "/evidence/2/facts/0/value", json!("2026-11-29T10:15:00Z")),
        Reason::NotInEvidence,
        "/evidence/2/facts/0",
    ),
    (
        "a weight of the reply that no place in it has",
        made::parcel,
        |json| {
            take_out(json, "/evidence/2/facts/0", "pointer");
            put(json, "/evidence/2/facts/0/value", json!("20500 g"));
            put(json, "/steps/3/operands/0/spelled", json!("20500 g"));
            put(json, "/steps/3/operands/0/value/number", json!("20500"));
        },
        Reason::NotInEvidence,
        "/evidence/2/facts/0",
    ),
    (
        "a reply without the day",
        made::returned,
        |json| put(json, "/evidence/2/text", json!("ordered")),
        Reason::NotInEvidence,
        "/evidence/2/facts/0",
    ),
    (
        "days between that are not those between",
        made::returned,
        |json| put(json, "/steps/3/operands/0/value/number", json!("31")),
        Reason::NotInEvidence,
        "/steps/3/operands/0/value",
    ),
    (
        "a value from evidence and worked out too",
        made::returned,
        |json| json["steps"][3]["operands"][0]["evidence"] = json!("E2"),
        Reason::Form,
        "/steps/3/operands/0",
    ),
    (
        "a case of another collection counted",
        made::complaints,
        |json| put(json, "/evidence/2/source/collection", json!("notes")),
        Reason::NotRetrieved,
        "/evidence/4/source/evidence/0",
    ),
    (
        "a case that holds no more counted",
        made::complaints,
        |json| json["evidence"][2]["valid_to"] = json!("2026-02-01T00:00:00Z"),
        Reason::NotRetrieved,
        "/evidence/4/source/evidence/0",
    ),
    (
        "support by the question alone",
        made::parcel,
        |json| {
            take_out(json, "/answer", "decision");
            put(json, "/answer/evidence", json!(["S1"]));
            put(json, "/answer/text", json!("It is too heavy."));
        },
        Reason::Unsupported,
        "/answer/evidence",
    ),
    (
        "a unit without its number",
        made::parcel,
        |json| put(json, "/evidence/1/source/evidence", json!("")),
        Reason::Form,
        "/evidence/1/source",
    ),
    (
        "a reply that fits by half",
        made::parcel,
        |json| put(json, "/evidence/2/score", json!(0.5)),
        Reason::Form,
        "/evidence/2/score",
    ),
    (
        "an answer that is free and decides",
        made::parcel,
        |json| put(json, "/answer/free", json!(true)),
        Reason::Form,
        "/answer/free",
    ),
    (
        "an end too many",
        made::parcel,
        |json| json["partial"] = json!({ "reason": "steps", "known": [], "missing": [] }),
        Reason::Form,
        "/partial",
    ),
    (
        "a zone that there is not",
        made::parcel,
        |json| put(json, "/time_zone", json!("Mars/Olympus")),
        Reason::Form,
        "/time_zone",
    ),
    (
        "constants above one",
        made::parcel,
        |json| put(json, "/constants/engine", json!(1.5)),
        Reason::Form,
        "/constants",
    ),
    (
        "a version to come",
        made::partial,
        |json| put(json, "/version", json!(2)),
        Reason::Form,
        "/version",
    ),
];

#[test]
fn what_was_tampered_with_is_refused_with_its_reason_and_place() {
    let mut missed = Vec::new();
    for (name, trace, change, reason, place) in CASES {
        let honest = trace();
        assert_eq!(check(&honest), Vec::new(), "{name}: before");
        let mut json = serde_json::to_value(&honest).unwrap();
        change(&mut json);
        let wrong = check(&resealed(&json).unwrap());
        if !wrong.iter().any(|one| one.reason == reason && one.place == place) {
            missed.push(format!("{name}: {wrong:#?}"));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

const LIMIT: &str = "fact = \"transfer.second_approval_above\"";
const COMPARED: &str = "{ left = \"amount\", operator = \">\", right = \"limit\" }";

/// The shipped rule on transfers, with some of its words changed.
fn changed(changes: &[(&str, String)]) -> Arc<LoadedRule> {
    let mut text =
        std::fs::read_to_string(made::policies().join("rules/transfer-2026.toml")).unwrap();
    for (old, new) in changes {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("rules")).unwrap();
    std::fs::write(folder.path().join("rules/a.toml"), text).unwrap();
    let (rules, problems) = Rules::load(folder.path());
    assert!(problems.is_empty(), "{problems:?}");
    Arc::clone(&rules.all()[0])
}

/// The same with this way to take its limit.
fn takes(take: &str) -> Arc<LoadedRule> {
    changed(&[(LIMIT, format!("{LIMIT}\ntake = \"{take}\""))])
}

fn limits(all: &[(&str, &str)]) -> Vec<Found> {
    let each = all.iter().enumerate().map(|(at, (value, unit))| {
        let fact = Fact::of_unit("transfer", "second_approval_above", value, unit);
        memory(&format!("0199-{at}@1"), "regulations", &format!("Limit {at}."), vec![fact])
    });
    each.collect()
}

const ASKED: &str = "Does a transfer of 15,000 EUR need a second approval?";

fn decided(take: &str, hits: &[(&str, &str)]) -> Trace {
    let opening = opening("run-1", ASKED);
    made::by_rule(opening, &takes(take), &BTreeMap::new(), (&limits(hits), &Json::Null))
}

/// The largest of two limits.
fn most() -> Trace {
    decided("most", &[("9000", "EUR"), ("20000", "EUR")])
}

#[test]
fn what_a_rule_takes_of_several_is_taken_again() {
    let hits = [("12000", "EUR"), ("9000", "EUR"), ("20000", "EUR")];
    for (take, limit) in [("best", "12000 EUR"), ("least", "9000 EUR"), ("most", "20000 EUR")] {
        let trace = decided(take, &hits);
        assert_eq!(check(&trace), Vec::new(), "{take}");
        let compared = trace.steps.iter().find(|step| !step.operands.is_empty()).unwrap();
        assert_eq!(compared.operands[1].value.to_string(), limit, "{take}");
    }
    let same = decided("one", &[("10000", "EUR"), ("10000.00", "EUR")]);
    assert_eq!(check(&same), Vec::new(), "one value in two spellings");
    let weights = changed(&[
        (LIMIT, format!("{LIMIT}\ntake = \"one\"")),
        ("type = \"money\"\nunit = \"EUR\"", "type = \"quantity\"\nunit = \"kg\"".to_owned()),
    ]);
    let opening = opening("run-1", "Does a transfer of 25 kg need a second approval?");
    let hits = limits(&[("20", "kg"), ("20000", "g")]);
    let trace = made::by_rule(opening, &weights, &BTreeMap::new(), (&hits, &Json::Null));
    assert_eq!(check(&trace), Vec::new(), "one weight in two units");
}

#[test]
fn what_a_rule_reads_twice_from_one_collection_is_not_mixed_up() {
    let floor = "[facts.floor]\nfrom = \"memory\"\ntype = \"money\"\nunit = \"EUR\"\n\
                 collection = \"regulations\"\nfilter = { regulation = \"floors\" }\n\
                 question = \"floor\"\nfact = \"transfer.floor\"\n\n[decide]\n";
    let both = format!("{COMPARED}, {}", COMPARED.replace("limit", "floor"));
    let rule = changed(&[("[decide]\n", floor.to_owned()), (COMPARED, both)]);
    let mut builder = builder(ASKED);
    let mut plan = Plan::begin(rule, &mut builder, &BTreeMap::new(), now()).unwrap();
    let reads = plan.reads();
    assert_eq!(reads.len(), 2);
    for read in reads {
        // What states the floor states another limit too, which its own read does not bring.
        let facts: &[(&str, &str)] = match read.facts[0].as_str() {
            "limit" => &[("second_approval_above", "10000")],
            _ => &[("floor", "100"), ("second_approval_above", "12000")],
        };
        let stated = |(name, value): &(&str, &str)| Fact::of_unit("transfer", name, value, "EUR");
        let name = &read.facts[0];
        let hit = memory(name, "regulations", name, facts.iter().map(stated).collect());
        plan.recalled(&read.facts, &mut builder, vec![hit], now()).unwrap();
    }
    let limit = plan.known()["limit"].value.to_string();
    let decided = plan.decide(&mut builder, now()).unwrap();
    builder.answer(&decided, now()).unwrap();
    assert_eq!((limit.as_str(), check(&builder.finish())), ("10000 EUR", Vec::new()));
}

fn stuck(take: &str, hits: Vec<Found>) -> Stuck {
    let mut builder = builder(ASKED);
    let mut plan = Plan::begin(takes(take), &mut builder, &BTreeMap::new(), now()).unwrap();
    let facts = plan.reads()[0].facts.clone();
    plan.recalled(&facts, &mut builder, hits, now()).unwrap_err()
}

#[test]
fn values_that_cannot_be_held_together_leave_a_rule_stuck() {
    let currencies = [("9000", "EUR"), ("500", "USD")];
    for take in ["least", "most"] {
        let told = stuck(take, limits(&currencies)).to_string();
        assert!(told.contains("different currencies"), "{take}: {told}");
    }
    assert!(matches!(stuck("one", limits(&currencies)), Stuck::Several { .. }));
    let mut many = limits(&[("9000", "EUR")]);
    many[0].facts.push(Fact::of_unit("transfer", "second_approval_above", "500", "EUR"));
    assert!(matches!(stuck("least", many), Stuck::Several { .. }), "one unit states two");
}

#[test]
fn evidence_whose_step_was_lost_keeps_its_label() {
    let whole = made::complaints();
    for lost in [vec![2], vec![2, 3], vec![3, 4], vec![4]] {
        let mut part = made::builder(&whole.question);
        let mut items = Vec::new();
        for step in &whole.steps {
            let label = step.evidence.first().filter(|_| step.operation.is_none());
            let item = label.and_then(|label| whole.item(label)).cloned();
            match item {
                Some(item) if lost.iter().any(|at| item.id == whole.evidence[*at].id) => {
                    items.push(item);
                }
                item => part.again(crate::evidence::Grown { item, step: step.clone() }),
            }
        }
        for item in items {
            let step = part.put_back(item, time("2026-12-01T00:00:00Z")).unwrap();
            assert!(
                whole.steps.iter().any(|one| one.id == step.id && one.evidence == step.evidence)
            );
        }
        let (again, wrong) = part.ended(whole.answer.clone(), None);
        assert_eq!(wrong, Vec::new(), "{lost:?}");
        assert_eq!(again.evidence, whole.evidence);
    }
}
