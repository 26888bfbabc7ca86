//! Reports as models write them: what travels on with which source and confidence, and what does not.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value as Json, json};

use super::*;
use crate::evidence::confidence::Formula;
use crate::evidence::{Confidence, Config, Fact, StepKind};
use crate::reason::agent::Agent;
use crate::reason::plan::{Output, Task};

const LEAD: &str = r#"
name = "lead"
description = "plans"
role = "orchestrator"
instructions = "Plan."
[claims.revenue]
description = "revenue of a quarter"
type = "number"
unit = "EUR"
tolerance = "0.05"
scope = ["quarter"]
[claims.weight]
description = "weight"
type = "number"
unit = "kg"
[claims.due]
description = "day"
type = "date"
[claims.open]
description = "whether it is open"
type = "boolean"
[claims.state]
description = "state"
type = "text"
[claims.parts]
description = "parts"
type = "set"
"#;

pub(in crate::reason) fn fact(name: &str, value: &str, unit: &str) -> Fact {
    let text = str::to_owned;
    Fact { name: text(name), value: text(value), unit: text(unit), pointer: String::new() }
}

/// Evidence of a tool with this label and these facts.
pub(in crate::reason) fn item(label: &str, trust: u8, facts: Vec<Fact>) -> Item {
    let source = Source::Tool {
        call_id: format!("call-{label}"),
        tool: "orders.list".to_owned(),
        success: true,
        digest: String::new(),
    };
    let words: Vec<String> =
        facts.iter().map(|one| format!("{} {} {}", one.name, one.value, one.unit)).collect();
    Item {
        id: Label::new(label),
        source,
        text: words.join("; "),
        facts,
        valid_from: None,
        valid_to: None,
        trust,
        score: 1.0,
        untrusted: true,
        digest: String::new(),
    }
}

/// The step that brought evidence, so sure.
pub(in crate::reason) fn step(id: &str, label: &str, sure: f64) -> Step {
    let confidence = Confidence { value: sure, formula: Formula::Tool, inputs: BTreeMap::new() };
    Step {
        id: Label::new(id),
        kind: StepKind::ToolResult,
        evidence: vec![Label::new(label)],
        premises: Vec::new(),
        operation: None,
        operands: Vec::new(),
        result: None,
        confidence,
        at: Timestamp::UNIX_EPOCH,
        text: String::new(),
    }
}

fn grounds() -> Grounds {
    let facts = vec![fact("revenue", "1200000", "EUR"), fact("quarter", "2026-Q4", "")];
    let mut question = item("Q", 100, Vec::new());
    question.source = Source::Question {};
    Grounds {
        items: vec![
            question,
            item("E1", 80, facts),
            item("E2", 60, vec![fact("state", "open", "")]),
        ],
        steps: vec![step("S1", "E1", 0.95), step("S2", "E2", 0.3)],
    }
}

fn task() -> Task {
    let scope = BTreeMap::from([("quarter".to_owned(), "2026-Q4".to_owned())]);
    Task {
        id: "find".to_owned(),
        agent: "worker".to_owned(),
        goal: "find it".to_owned(),
        needs: Vec::new(),
        inputs: BTreeMap::new(),
        tools: None,
        output: Output { schema: None, claims: vec!["revenue".to_owned()], scope },
    }
}

struct Desk {
    lead: Agent,
    task: Task,
    grounds: Grounds,
}

impl Desk {
    fn new() -> Self {
        let lead = toml::from_str(LEAD).unwrap();
        Self { lead, task: task(), grounds: grounds() }
    }

    fn check(&self, report: &str, upheld: &[&Message]) -> Result<Checked, Vec<Refusal>> {
        check(
            report,
            Office {
                lead: &self.lead,
                task: &self.task,
                grounds: &self.grounds,
                upheld,
                constants: &Config::default(),
                zone: &TimeZone::UTC,
            },
        )
    }

    /// Code and place of each refusal of a report.
    fn refused(&self, report: &Json) -> Vec<(Reason, String)> {
        let refusals = self.check(&report.to_string(), &[]).unwrap_err();
        refusals.into_iter().map(|one| (one.code, one.place)).collect()
    }
}

fn stated(claim: &str, value: Json, evidence: &[&str]) -> Json {
    let mut stated = json!({ "claim": claim, "evidence": evidence });
    stated["value"] = value;
    stated
}

fn report(messages: &[Json]) -> Json {
    json!({ "answer": "found", "evidence": ["E1"], "result": { "n": 1 }, "messages": messages })
}

fn good() -> Json {
    report(&[stated("revenue", json!("1200000"), &["E1"])])
}

#[test]
fn a_message_gets_its_source_and_confidence_from_the_evidence_that_it_cites() {
    let desk = Desk::new();
    let checked = desk.check(&good().to_string(), &[]).unwrap();
    assert_eq!((checked.text.as_str(), &checked.result), ("found", &json!({ "n": 1 })));
    assert_eq!(checked.low, []);
    let [message] = checked.messages.as_slice() else { panic!("{checked:?}") };
    assert_eq!((message.id.as_str(), message.form), ("find#1", Form::Number));
    assert_eq!(message.value.to_string(), "1200000 EUR");
    assert_eq!(message.source, [desk.grounds.items[1].source.clone()]);
    assert!((message.confidence - 0.95).abs() < 1e-9, "{}", message.confidence);
    assert_eq!(message.trust, 80);
    assert!((message.coverage - 1.0).abs() < 1e-9, "{}", message.coverage);
    assert_eq!(message.told(), "revenue for quarter 2026-Q4 is 1200000 EUR");
    let again: Message = serde_json::from_value(serde_json::to_value(message).unwrap()).unwrap();
    assert_eq!(&again, message);
}

#[test]
fn a_value_that_does_not_stand_in_its_evidence_is_less_sure() {
    let desk = Desk::new();
    let text = report(&[stated("revenue", json!("1250000"), &["E1"])]).to_string();
    let checked = desk.check(&text, &[]).unwrap();
    let confidence = checked.messages[0].confidence;
    assert!((confidence - 0.95 * Config::default().inference).abs() < 1e-9, "{confidence}");
}

#[test]
fn the_least_sure_of_what_is_cited_counts_and_a_low_one_needs_a_review() {
    let desk = Desk::new();
    let text = report(&[stated("revenue", json!("1200000"), &["E1", "E2"])]).to_string();
    let checked = desk.check(&text, &[]).unwrap();
    let message = &checked.messages[0];
    assert!((message.confidence - 0.3).abs() < 1e-9, "{}", message.confidence);
    assert_eq!(message.trust, 60);
    let [(0, refusal)] = checked.low.as_slice() else { panic!("{:?}", checked.low) };
    assert_eq!((refusal.code, refusal.place.as_str()), (Reason::LowConfidence, "/messages/0"));
    assert!(refusal.words.contains("0.30") && refusal.words.contains("0.50"), "{}", refusal.words);
}

#[test]
fn a_scope_that_no_evidence_speaks_of_is_not_covered() {
    let mut desk = Desk::new();
    desk.task.output.scope.insert("region".to_owned(), "EMEA".to_owned());
    let checked = desk.check(&good().to_string(), &[]).unwrap();
    assert!((checked.messages[0].coverage - 0.5).abs() < 1e-9);
    desk.grounds.items[1].text.push_str(" of EMEA");
    let checked = desk.check(&good().to_string(), &[]).unwrap();
    assert!((checked.messages[0].coverage - 1.0).abs() < 1e-9);
    desk.grounds.items[1].text = "of EMEAN".to_owned();
    let checked = desk.check(&good().to_string(), &[]).unwrap();
    assert!((checked.messages[0].coverage - 0.5).abs() < 1e-9, "a part of a word is another word");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn each_fault_of_a_report_has_its_code_and_its_place() {
    let all = |claim: &str| {
        let mut desk = Desk::new();
        desk.task.output.claims = vec![claim.to_owned()];
        desk
    };
    let revenue = |value: Json| report(&[stated("revenue", value, &["E1"])]);
    let one = |member: &str, value: Json| {
        let mut message = stated("revenue", json!("1200000"), &["E1"]);
        message[member] = value;
        report(&[message])
    };
    let mut strict = Desk::new();
    strict.task.output.schema = Some(json!({
        "type": "object", "required": ["total"], "properties": { "n": { "type": "string" } },
    }));
    let mut rests_on_nothing = Desk::new();
    rests_on_nothing.task.output =
        Output { schema: Some(json!({ "type": "object" })), ..Output::default() };
    let no_source = json!({ "answer": "done", "evidence": [], "result": {}, "messages": [] });
    let foreign = json!({ "answer": "done", "evidence": ["E9"], "result": {}, "messages": [] });
    let mut bare = Desk::new();
    bare.task.output.scope.clear();
    let desk = Desk::new();
    for (desk, report, code, place) in [
        (&desk, json!("none"), Reason::Unreadable, ""),
        (&desk, json!({ "answer": 1, "messages": [] }), Reason::BadShape, "/answer"),
        (&desk, json!({ "messages": "none" }), Reason::BadShape, "/messages"),
        (&desk, report(&[json!("revenue")]), Reason::BadShape, "/messages/0"),
        (&desk, one("confidence", json!(0.99)), Reason::BadShape, "/messages/0/confidence"),
        (&desk, one("source", json!("me")), Reason::BadShape, "/messages/0/source"),
        (&desk, one("evidence", json!("E1")), Reason::BadShape, "/messages/0/evidence"),
        (&desk, one("scope", json!("Q4")), Reason::BadShape, "/messages/0/scope"),
        (&desk, one("claim", json!(7)), Reason::BadShape, "/messages/0/claim"),
        (
            &desk,
            report(&vec![stated("revenue", json!(1), &["E1"]); 25]),
            Reason::TooMany,
            "/messages",
        ),
        (&desk, report(&[]), Reason::MissingClaim, "/messages"),
        (
            &desk,
            report(&[stated("profit", json!(1), &["E1"])]),
            Reason::UnknownClaim,
            "/messages/0/claim",
        ),
        (
            &desk,
            report(&[stated("weight", json!(1), &["E1"])]),
            Reason::UnknownClaim,
            "/messages/0/claim",
        ),
        (&desk, revenue(json!("much")), Reason::TypeMismatch, "/messages/0/value"),
        (&desk, revenue(json!(true)), Reason::TypeMismatch, "/messages/0/value"),
        (&desk, revenue(json!(null)), Reason::TypeMismatch, "/messages/0/value"),
        (&desk, revenue(json!({ "n": 1 })), Reason::TypeMismatch, "/messages/0/value"),
        (&desk, revenue(json!("1.200 or 1.300")), Reason::TypeMismatch, "/messages/0/value"),
        (&desk, one("unit", json!("USD")), Reason::TypeMismatch, "/messages/0/value"),
        (&desk, one("unit", json!("kg")), Reason::TypeMismatch, "/messages/0/value"),
        (
            &all("due"),
            report(&[stated("due", json!("soon"), &["E1"])]),
            Reason::TypeMismatch,
            "/messages/0/value",
        ),
        (
            &all("due"),
            report(&[stated("due", json!("03/04/2026"), &["E1"])]),
            Reason::TypeMismatch,
            "/messages/0/value",
        ),
        (
            &all("open"),
            report(&[stated("open", json!("maybe"), &["E1"])]),
            Reason::TypeMismatch,
            "/messages/0/value",
        ),
        (
            &all("state"),
            report(&[stated("state", json!(7), &["E1"])]),
            Reason::TypeMismatch,
            "/messages/0/value",
        ),
        (
            &all("parts"),
            report(&[stated("parts", json!("PX"), &["E1"])]),
            Reason::TypeMismatch,
            "/messages/0/value",
        ),
        (
            &all("parts"),
            report(&[stated("parts", json!([{}]), &["E1"])]),
            Reason::TypeMismatch,
            "/messages/0/value",
        ),
        (&desk, one("evidence", json!([])), Reason::MissingSource, "/messages/0/evidence"),
        (&desk, one("evidence", json!(["Q"])), Reason::MissingSource, "/messages/0/evidence"),
        (&desk, one("evidence", json!(["E9"])), Reason::UnknownEvidence, "/messages/0/evidence"),
        (
            &desk,
            one("evidence", json!(["E1", "S9"])),
            Reason::UnknownEvidence,
            "/messages/0/evidence",
        ),
        (&rests_on_nothing, no_source, Reason::MissingSource, "/evidence"),
        (&rests_on_nothing, foreign, Reason::UnknownEvidence, "/evidence/0"),
        (&bare, good(), Reason::MissingScope, "/messages/0/scope"),
        (
            &desk,
            one("scope", json!({ "quarter": "2027-Q1" })),
            Reason::OutOfScope,
            "/messages/0/scope",
        ),
        (&strict, good(), Reason::ResultMismatch, "/result/n"),
        (&strict, good(), Reason::ResultMismatch, "/result"),
        (
            &desk,
            report(&[
                stated("revenue", json!("1200000"), &["E1"]),
                stated("revenue", json!("1900000"), &["E1"]),
            ]),
            Reason::ContradictsItself,
            "/messages/1",
        ),
    ] {
        let found = desk.refused(&report);
        let right = found.contains(&(code, place.to_owned()));
        assert!(right, "{code} at {place} of {report}: {found:?}");
    }
}

#[test]
fn values_of_each_type_are_read_exactly() {
    for (claim, value, unit, told) in [
        ("revenue", json!(1_200_000.5), json!(null), "1200000.5 EUR"),
        ("revenue", json!("1,200,000 EUR"), json!(null), "1200000 EUR"),
        ("revenue", json!("12"), json!("EUR"), "12 EUR"),
        ("weight", json!("1200 g"), json!(null), "1200 g"),
        ("due", json!("2026-12-31"), json!(null), "2026-12-31"),
        ("open", json!(true), json!(null), "yes"),
        ("open", json!("no"), json!(null), "no"),
        ("state", json!(" in delivery "), json!(null), "in delivery"),
        ("parts", json!(["PX-200", "PX-100"]), json!(null), "{PX-100, PX-200}"),
    ] {
        let mut desk = Desk::new();
        desk.task.output.claims = vec![claim.to_owned()];
        let mut message = stated(claim, value.clone(), &["E1"]);
        message["unit"] = unit;
        let checked = desk.check(&report(&[message]).to_string(), &[]);
        let checked = checked.unwrap_or_else(|wrong| panic!("{claim} {value}: {wrong:?}"));
        assert_eq!(checked.messages[0].value.to_string(), told, "{claim} {value}");
    }
}

#[test]
fn a_report_that_stands_as_text_in_the_answer_is_read() {
    let desk = Desk::new();
    let mut inner = good();
    let text = inner.as_object_mut().unwrap().shift_remove("answer").unwrap();
    inner["text"] = text;
    inner.as_object_mut().unwrap().shift_remove("evidence");
    let outer = json!({ "answer": inner.to_string(), "evidence": ["E1", "E2"] });
    let checked = desk.check(&outer.to_string(), &[]).unwrap();
    assert_eq!((checked.text.as_str(), checked.messages.len()), ("found", 1));
    assert_eq!(checked.evidence, ["E1", "E2"]);
}

#[test]
fn words_are_a_report_where_nothing_else_is_asked_for() {
    let mut desk = Desk::new();
    desk.task.output = Output::default();
    let checked = desk.check(" It comes to 7 [E1]. ", &[]).unwrap();
    assert_eq!(checked.result, json!("It comes to 7 [E1]."));
    assert_eq!(checked.messages, []);
    let checked = desk.check("{\"total\": 7}", &[]).unwrap();
    assert_eq!(checked.text, "{\"total\": 7}", "JSON without messages is words too");
}

#[test]
fn what_was_settled_before_a_task_is_not_contradicted_by_it() {
    let desk = Desk::new();
    let before = desk.check(&good().to_string(), &[]).unwrap().messages.remove(0);
    let other = report(&[stated("revenue", json!("1500000"), &["E1"])]).to_string();
    let refusals = desk.check(&other, &[&before]).unwrap_err();
    assert_eq!(refusals[0].code, Reason::AgainstRuling);
    let near = report(&[stated("revenue", json!("1210000"), &["E1"])]).to_string();
    assert!(desk.check(&near, &[&before]).is_ok(), "within the tolerance");
}

#[test]
fn numbers_agree_within_the_tolerance_whatever_their_unit() {
    let read = |text: &str| {
        let expect = crate::evidence::Expect::default();
        crate::evidence::read(text, &expect, &TimeZone::UTC).unwrap()
    };
    for (one, two, tolerance, agree) in [
        ("100 EUR", "100.00 EUR", "", Ok(true)),
        ("100 EUR", "101 EUR", "", Ok(false)),
        ("100 EUR", "95 EUR", "0.05", Ok(true)),
        ("100 EUR", "94.99 EUR", "0.05", Ok(false)),
        ("95 EUR", "100 EUR", "0.05", Ok(true)),
        ("-100 EUR", "-95 EUR", "0.05", Ok(true)),
        ("-100 EUR", "-94 EUR", "0.05", Ok(false)),
        ("-1 EUR", "1 EUR", "0.99", Ok(false)),
        ("0 EUR", "1 EUR", "0.99", Ok(false)),
        ("1 kg", "990 g", "0.01", Ok(true)),
        ("1 kg", "989 g", "0.01", Ok(false)),
        ("2026-12-31", "2027-01-01", "0.5", Ok(false)),
        ("100 EUR", "100 USD", "0.5", Err(())),
        ("1 kg", "1 m", "0.5", Err(())),
    ] {
        let found = agree::values_agree(&read(one), &read(two), tolerance, &TimeZone::UTC);
        assert_eq!(found.clone().map_err(drop), agree, "{one} {two} {tolerance}: {found:?}");
    }
}

#[test]
fn the_schema_that_a_worker_is_given_takes_a_good_report_and_no_other() {
    let task = task();
    let shape = crate::schema::Shape::compile(&super::shape(&task)).unwrap();
    assert_eq!(shape.check(&good()), []);
    let other = report(&[stated("profit", json!(1), &["E1"])]);
    assert_eq!(shape.check(&other).len(), 1);
    let lead: Agent = toml::from_str(LEAD).unwrap();
    let told = instructions(&task, &lead.claims);
    assert!(told.contains("`revenue` (number in EUR)") && told.contains("2026-Q4"), "{told}");
    for reason in Reason::ALL {
        assert_eq!(serde_json::to_value(reason).unwrap(), json!(reason.as_str()));
    }
}

#[test]
fn what_is_behind_a_step_is_found_through_all_its_premises() {
    let premise = |id: &str, of: &str| Step {
        evidence: Vec::new(),
        premises: vec![Label::new(of)],
        ..step(id, "E1", 0.9)
    };
    let mut grounds = grounds();
    grounds.steps.extend([premise("S4", "S1"), premise("S5", "S4"), premise("S6", "S6")]);
    let behind: Vec<&str> =
        grounds.behind("S5").unwrap().iter().map(|item| item.id.as_str()).collect();
    assert_eq!(behind, ["E1"]);
    assert_eq!(grounds.behind("S6"), Some(Vec::new()), "a step that follows from itself ends");
    assert_eq!(grounds.behind("S9"), None);
}
