//! What the builder refuses at once, and what the checker finds in a trace that was changed.

use serde_json::{Value as Json, json};

use super::made::{self, builder, label, memory, now, time, tool};
use crate::evidence::schema::{item_digest, seal};
use crate::evidence::{
    Builder, Claim, Config, Draft, Fact, Found, Operator, Pick, Reason, Source, Trace, check,
    check_with,
};

fn reasons(trace: &Trace) -> Vec<Reason> {
    check(trace).into_iter().map(|one| one.reason).collect()
}

/// Makes all digests fit again, as somebody would who knows how they are made.
pub(super) fn resealed(json: &Json) -> Option<Trace> {
    let mut trace: Trace = serde_json::from_value(json.clone()).ok()?;
    for item in &mut trace.evidence {
        item.digest = item_digest(item);
    }
    for item in trace.follow_ups.iter_mut().flat_map(|one| &mut one.evidence) {
        item.digest = item_digest(item);
    }
    trace.seal = seal(&trace);
    Some(trace)
}

#[test]
fn what_was_asked_supports_no_answer() {
    let mut builder = builder("Is the sky green?");
    let found = memory("0199-c@3", "manuals", "The sky is blue.", Vec::new());
    let found = builder.found(found, now()).label().clone();
    let stated = builder.infer(&[label("Q")], "The sky is green.", now()).unwrap().step.id;
    for cited in [label("Q"), label("S1"), stated] {
        let evidence = vec![cited.clone()];
        let draft = Draft { answer: "It is green.".to_owned(), evidence, ..Draft::default() };
        let refusals = builder.answer(&draft, now()).unwrap_err();
        assert_eq!(refusals[0].reason, Reason::Unsupported, "{cited}: {refusals:?}");
    }
    let draft =
        Draft { answer: "It is blue.".to_owned(), evidence: vec![found], ..Draft::default() };
    builder.answer(&draft, now()).unwrap();
}

#[test]
fn honest_traces_hold_also_after_they_were_written_and_read() {
    for (name, trace) in made::all() {
        assert_eq!(check(&trace), Vec::new(), "{name}");
        let text = serde_json::to_string(&trace).unwrap();
        let again: Trace = serde_json::from_str(&text).unwrap();
        assert_eq!(again, trace, "{name}");
        assert_eq!(check(&again), Vec::new(), "{name}");
        let grown = Builder::resume(again).unwrap().finish();
        assert_eq!(grown, trace, "{name}");
    }
}

#[test]
fn a_run_is_made_again_from_what_grew() {
    let trace = made::parcel();
    let mut again = builder(&trace.question);
    for step in &trace.steps {
        let brought = step.operation.is_none().then(|| trace.item(&step.evidence[0]).cloned());
        again.again(crate::evidence::Grown { item: brought.flatten(), step: step.clone() });
    }
    assert_eq!(again.trace().steps, trace.steps);
    assert_eq!(again.trace().evidence, trace.evidence);
}

#[test]
fn equal_evidence_keeps_its_label() {
    let mut builder = builder("?");
    let first = builder.found(made::regulation(), now());
    let again = builder.found(made::regulation(), now());
    assert_eq!(first, again);
    assert_eq!(builder.trace().steps.len(), 2);
}

/// Every leaf of a JSON value, by pointer.
fn leaves(json: &Json, at: &str, found: &mut Vec<String>) {
    match json {
        Json::Object(all) => {
            all.iter().for_each(|(name, one)| leaves(one, &format!("{at}/{name}"), found));
        }
        Json::Array(all) => {
            let each = all.iter().enumerate();
            each.for_each(|(number, one)| leaves(one, &format!("{at}/{number}"), found));
        }
        _ => found.push(at.to_owned()),
    }
}

/// Other values for a leaf, of its own kind as far as that is possible.
fn others(leaf: &Json) -> Vec<Json> {
    match leaf {
        Json::Bool(one) => vec![json!(!one)],
        Json::Number(number) => {
            let number = number.as_f64().unwrap();
            vec![json!(number + 1.0), json!(number / 2.0 + 0.001)]
        }
        Json::String(text) => {
            let bumped = text.chars().rev().scan(false, |is_done, c| {
                let is_digit = c.is_ascii_digit() && !*is_done;
                *is_done |= is_digit;
                Some(if is_digit {
                    if c == '9' { '8' } else { char::from(c as u8 + 1) }
                } else {
                    c
                })
            });
            let bumped: String = bumped.collect::<Vec<_>>().into_iter().rev().collect();
            let mut all = vec![json!(format!("{text}x")), json!(bumped)];
            // Labels and operators have others of their kind.
            if text.len() < 4 {
                all.extend(
                    ["<", "<=", ">", "=", "!=", "E1", "S1", "S5", "Q"].map(|one| json!(one)),
                );
            }
            all.retain(|one| one.as_str() != Some(text));
            all
        }
        other => vec![json!(null), json!([other])],
    }
}

/// What a trace alone cannot tell: who ran it, what was shown beside the facts that count, the words of
/// people. The first part is checked against the ledger and the memory by those who have them.
const FREE: [&str; 26] = [
    // Another step that holds as well.
    "/answer/decision/step",
    "/constants/",
    "/steps/*/id",
    "/run",
    "/asked_at",
    "/as_of",
    "/answer/text",
    "/answer/missing/",
    "/answer/at",
    "/answer/decision/value",
    "/partial/reason",
    "/partial/missing/",
    "/partial/known/",
    "/evidence/*/source/",
    "/evidence/*/text",
    "/evidence/*/valid_from",
    "/evidence/*/valid_to",
    "/evidence/*/untrusted",
    "/evidence/*/facts/*/name",
    "/evidence/*/facts/*/pointer",
    "/evidence/*/facts/*/value",
    "/steps/*/at",
    "/steps/*/text",
    "/steps/*/premises/",
    "/time_zone",
    "/follow_ups/",
];

fn is_free(pointer: &str) -> bool {
    let plain: Vec<&str> = pointer
        .split('/')
        .map(|part| if part.parse::<u32>().is_ok() { "*" } else { part })
        .collect();
    let plain = plain.join("/");
    FREE.iter().any(|free| plain == *free || (free.ends_with('/') && plain.starts_with(free)))
}

#[test]
fn any_change_breaks_the_seal() {
    for (name, trace) in made::all() {
        let json = serde_json::to_value(&trace).unwrap();
        let mut all = Vec::new();
        leaves(&json, "", &mut all);
        for pointer in all {
            for other in others(json.pointer(&pointer).unwrap()).into_iter().take(2) {
                let mut changed = json.clone();
                *changed.pointer_mut(&pointer).unwrap() = other.clone();
                let Ok(read) = serde_json::from_value::<Trace>(changed) else { continue };
                // The same value in another spelling is no change.
                let is_refused = read == trace || !check(&read).is_empty();
                assert!(is_refused, "{name}{pointer} = {other}");
            }
        }
    }
}

#[test]
fn a_change_that_matters_is_refused_also_with_all_digests_made_again() {
    let mut missed = Vec::new();
    for (name, trace) in made::all() {
        let json = serde_json::to_value(&trace).unwrap();
        let mut all = Vec::new();
        leaves(&json, "", &mut all);
        for pointer in all.into_iter().filter(|one| !is_free(one)) {
            for other in others(json.pointer(&pointer).unwrap()) {
                let mut changed = json.clone();
                *changed.pointer_mut(&pointer).unwrap() = other.clone();
                let Some(read) = resealed(&changed) else { continue };
                if read != trace && check(&read).is_empty() {
                    missed.push(format!("{name}{pointer} = {other}"));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn steps_and_evidence_cannot_be_left_out_or_change_places() {
    let mut missed = Vec::new();
    for (name, trace) in made::all() {
        let json = serde_json::to_value(&trace).unwrap();
        for list in ["/steps", "/evidence"] {
            let count = json.pointer(list).unwrap().as_array().unwrap().len();
            for at in 0..count {
                let mut without = json.clone();
                without.pointer_mut(list).unwrap().as_array_mut().unwrap().remove(at);
                let mut swapped = json.clone();
                let places = swapped.pointer_mut(list).unwrap().as_array_mut().unwrap();
                places.swap(at, (at + 1) % count);
                let mut twice = json.clone();
                let places = twice.pointer_mut(list).unwrap().as_array_mut().unwrap();
                places.push(places[at].clone());
                for (how, changed) in [("without", without), ("swapped", swapped), ("twice", twice)]
                {
                    let read = resealed(&changed).unwrap();
                    if check(&read).is_empty() {
                        missed.push(format!("{name}: {how} {list}/{at}"));
                    }
                }
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn a_comparison_takes_only_what_its_evidence_states() {
    let mut builder = builder("Is 5 kg too much?");
    let text = "The locker takes at most 20 kg, and 15000 g a drawer.";
    let limit = builder.found(memory("u@1", "manuals", text, Vec::new()), now()).label().clone();
    let question = label("Q");
    let mut refused = |left: Pick, right: Pick| {
        builder.compare(&left, Operator::Less, &right, now()).unwrap_err()
    };
    let left = || Pick::new(&question, "5 kg");
    let cases = [
        (left(), Pick::new(&label("E9"), "20 kg"), Reason::NotRetrieved, "/right/evidence"),
        (left(), Pick::new(&limit, "21 kg"), Reason::NotInEvidence, "/right"),
        (left(), Pick::new(&limit, "20"), Reason::NotInEvidence, "/right"),
        (left(), Pick::new(&limit, "5000 g"), Reason::NotInEvidence, "/right"),
        (left(), Pick::new(&limit, "locker"), Reason::Incomparable, "/operator"),
        (
            Pick::new(&question, "as_of"),
            Pick::new(&limit, "20 kg"),
            Reason::Incomparable,
            "/operator",
        ),
    ];
    for (left, right, reason, place) in cases {
        let wrong = refused(left, right);
        assert_eq!((wrong.reason, wrong.place.as_str()), (reason, place), "{wrong}");
    }
    let part = refused(left(), Pick::new(&limit, "20")).message;
    assert!(part.contains("`20 kg`"), "{part}");
    assert_eq!(builder.trace().steps.len(), 2, "what is refused leaves no step");
    let right = Pick::new(&limit, "15000 g");
    let step = builder.compare(&left(), Operator::Less, &right, now()).unwrap().step;
    assert_eq!(step.result, Some(crate::evidence::Value::of(true)));
    assert_eq!(step.text, "5 kg < 15000 g holds (15000 g is 15 kg)");
}

#[test]
fn evidence_that_is_not_in_force_or_of_a_failed_tool_states_nothing() {
    let mut builder = builder("Is 5 kg too much?");
    let old = Found {
        valid_to: Some(time("2026-06-30T00:00:00Z")),
        ..memory("u@1", "manuals", "At most 20 kg.", Vec::new())
    };
    let old = builder.found(old, now());
    assert_eq!(old.step.confidence.value, 0.0);
    let mut failed = tool("parcel.weigh", &json!({ "error": "no parcel of 20 kg" }));
    let Source::Tool { success, .. } = &mut failed.source else { panic!() };
    *success = false;
    let failed = builder.found(failed, now());
    let left = Pick::new(&label("Q"), "5 kg");
    for (one, reason) in [(&old, Reason::NotInForce), (&failed, Reason::NotInEvidence)] {
        let right = Pick::new(one.label(), "20 kg");
        let wrong = builder.compare(&left, Operator::Less, &right, now()).unwrap_err();
        assert_eq!(wrong.reason, reason, "{wrong}");
    }
}

#[test]
fn an_answer_needs_evidence_and_a_decision_a_step() {
    let mut builder = builder("Is 5 kg too much?");
    let found = memory("u@1", "manuals", "At most 20 kg.", Vec::new());
    let limit = builder.found(found, now()).label().clone();
    let (left, right) = (Pick::new(&label("Q"), "5 kg"), Pick::new(&limit, "20 kg"));
    let step = builder.compare(&left, Operator::AtMost, &right, now()).unwrap().step.id;
    let draft = |text: &str, evidence: &[&str]| Draft {
        answer: text.to_owned(),
        evidence: evidence.iter().map(|text| label(text)).collect(),
        ..Draft::default()
    };
    let decided = |step: &str, holds| Draft {
        decision: Some(Claim { value: "fits".to_owned(), step: label(step), holds }),
        ..draft("It fits.", &["E1"])
    };
    let cases = [
        (draft("It fits.", &[]), Reason::Unsupported),
        (draft("It fits.", &["Q"]), Reason::Unsupported),
        (draft("It fits.", &["E7"]), Reason::NotRetrieved),
        (draft("It fits [E2].", &["E1"]), Reason::NotRetrieved),
        (draft("", &["E1"]), Reason::Form),
        (decided("S9", true), Reason::NotRetrieved),
        (decided("S3", false), Reason::DoesNotFollow),
        (decided("S2", true), Reason::Unsupported),
        (Draft { free: true, ..draft("It fits.", &["E1"]) }, Reason::Form),
    ];
    for (draft, reason) in cases {
        let wrong = builder.answer(&draft, now()).unwrap_err();
        assert!(wrong.iter().any(|one| one.reason == reason), "{draft:?}: {wrong:?}");
    }
    assert!(builder.trace().answer.is_none());
    let missing = Draft { missing: vec!["the weight".to_owned()], ..draft("I do not know.", &[]) };
    assert_eq!(builder.answer(&missing, now()).unwrap().confidence.value, 0.0);
    let free = Draft { free: true, ..draft("Hello! It is 2026.", &[]) };
    assert!(builder.answer(&free, now()).unwrap().unsupported.is_empty());
    let good = builder.answer(&decided(step.as_str(), true), now()).unwrap();
    assert_eq!(good.evidence, [label("E1"), step]);
    assert_eq!(good.confidence.value, 0.92);
}

#[test]
fn numbers_that_no_evidence_has_lower_the_confidence() {
    let answer = |text: &str| {
        let mut builder = builder("Is 5 kg too much?");
        let found = memory("u@1", "manuals", "At most 20 kg, since 2026-03-01.", Vec::new());
        builder.found(found, now());
        let evidence = vec![label("E1")];
        let draft = Draft { answer: text.to_owned(), evidence, ..Draft::default() };
        builder.answer(&draft, now()).unwrap()
    };
    let good = answer(
        "At most 20,000 g since 1 March 2026 [E1]; 5 kg fits, asked 2026-11-30, by 2 rules.",
    );
    assert_eq!(good.unsupported, Vec::<String>::new());
    for part in ["In November 2026", "2026年11月", "Since March 2026", "In 2026", "On 1 March"] {
        let unsupported = answer(&format!("{part} at most 20 kg [E1].")).unsupported;
        assert_eq!(unsupported, Vec::<String>::new(), "{part}");
    }
    for part in ["In June 2026", "2025年11月", "In 2025", "On 2 March"] {
        assert_eq!(answer(&format!("{part} at most 20 kg [E1].")).unsupported.len(), 1, "{part}");
    }
    // A unit that is not known keeps its number from being read, but not from standing there.
    let rate = |text: &str| {
        let mut builder = builder("What does oil cost?");
        let found =
            memory("u@1", "manuals", "Oil costs 215 EUR per litre; 每六百年做一次。", Vec::new());
        builder.found(found, now());
        let draft =
            Draft { answer: text.to_owned(), evidence: vec![label("E1")], ..Draft::default() };
        builder.answer(&draft, now()).unwrap().unsupported
    };
    for (text, wrong) in [
        ("PX-200 and PX200 of batch B-0413 [E1]", vec![]),
        ("PX-20 of batch B-041 and H2O, in IPv6", vec!["PX-20", "B-041"]),
        ("R-10034 is ready [E1]", vec!["R-10034"]),
    ] {
        let mut builder = builder("Which batch?");
        let fact = Fact::new("batch", "B-0413");
        builder.found(memory("u@1", "manuals", "The seal of a PX-200.", vec![fact]), now());
        let evidence = vec![label("E1")];
        let draft = Draft { answer: text.to_owned(), evidence, ..Draft::default() };
        assert_eq!(builder.answer(&draft, now()).unwrap().unsupported, wrong, "{text}");
    }
    assert_eq!(rate("215 per litre, every 600 years [E1]"), Vec::<String>::new());
    assert_eq!(rate("251 per litre [E1]"), ["251 per litre"]);
    // A number may be told with fewer places, rounded.
    for (text, wrong) in [
        ("After 133 days, 133.3 to be exact [E1]", vec![]),
        ("USD 13 or 12.5 %", vec![]),
        ("After 134 days and 133.34, or 130 [E1]", vec!["134 days", "133.34", "130"]),
    ] {
        let mut builder = builder("After how many days?");
        let found = memory("u@1", "manuals", "133.33, USD 12.99, 12.49 %", Vec::new());
        builder.found(found, now());
        let evidence = vec![label("E1")];
        let draft = Draft { answer: text.to_owned(), evidence, ..Draft::default() };
        assert_eq!(builder.answer(&draft, now()).unwrap().unsupported, wrong, "{text}");
    }
    let bad = answer("At most 25 kg since 2025-03-01 [E1].");
    assert_eq!(bad.unsupported, ["25 kg", "2025-03-01"]);
    assert_eq!(bad.confidence.value, good.confidence.value * 0.5);
}

#[test]
fn confidences_come_from_their_formulas() {
    let trace = made::parcel();
    let sure: Vec<f64> = trace.steps.iter().map(|step| step.confidence.value).collect();
    // question; 0.92 x 1 x 100 %; tool; least x 1; 0.92 x 0.92 x 0.8
    assert_eq!(sure, [1.0, 0.92, 0.95, 0.92, 0.677_12]);
    let mut builder = builder("?");
    let found = Found { trust: 60, valid_from: None, ..made::regulation() };
    assert_eq!(builder.found(found, now()).step.confidence.value, 0.496_8);
    let other = Config { undated: 0.5, ..Config::default() };
    let wrong = check_with(&trace, Some(&other));
    assert_eq!(wrong.iter().map(|one| one.place.as_str()).collect::<Vec<_>>(), ["/constants"]);
    assert!(Config { valid: 1.5, ..other }.check().is_err());
    assert!(Config { valid: f64::NAN, ..other }.check().is_err());
}

#[test]
fn the_summary_that_a_finished_run_has_of_itself_is_checked() {
    let mut trace = made::transfer();
    trace.follow_ups = crate::evidence::summaries(&trace);
    let honest = resealed(&serde_json::to_value(&trace).unwrap()).unwrap();
    assert_eq!(check(&honest), Vec::new());
    trace.follow_ups[0].decision.as_mut().unwrap().value = "single_approval".to_owned();
    let made_up = resealed(&serde_json::to_value(&trace).unwrap()).unwrap();
    assert_eq!(reasons(&made_up), [Reason::DoesNotFollow]);
}

#[test]
fn a_model_cannot_lend_a_unit_to_a_number() {
    let mut builder = builder("Is 5 too much?");
    let found = memory("u@1", "manuals", "At most 20 kg.", Vec::new());
    builder.found(found, now());
    let left = Pick { unit: "kg".to_owned(), ..Pick::new(&label("Q"), "5") };
    let wrong = builder.compare(&left, Operator::Less, &Pick::new(&label("E1"), "20 kg"), now());
    assert_eq!(wrong.unwrap_err().reason, Reason::NotInEvidence);
}

#[test]
fn drafts_are_read_from_json_and_prose() {
    let json = json!({"final": {
        "answer": "Yes [E2, S3].", "evidence": ["E1"],
        "decision": {"value": "fits", "step": "S3", "holds": true}, "free": true,
    }});
    let draft = Draft::from_json(&json).unwrap();
    assert_eq!(draft.evidence, [label("E1"), label("E2"), label("S3")]);
    assert!(!draft.free, "a model cannot free itself from evidence");
    assert!(Draft::from_json(&json!({"evidence": ["E1"]})).is_err());
    let prose = Draft::from_prose("可以【E1】（S2），见 [E10]；不是 [1]。");
    assert_eq!(prose.evidence, [label("E1"), label("S2"), label("E10")]);
}

#[test]
fn a_fact_of_a_unit_is_taken_by_its_name() {
    let mut builder = builder("Is 5 kg too much?");
    let fact = Fact::of_unit("locker", "most", "20.125", "kg");
    builder.found(memory("u@1", "manuals", "See the table.", vec![fact]), now());
    let (left, right) = (Pick::new(&label("Q"), "5 kg"), Pick::new(&label("E1"), "locker.most"));
    let step = builder.compare(&left, Operator::Less, &right, now()).unwrap().step;
    assert_eq!(step.operands[1].value.to_string(), "20.125 kg");
    let mut trace = builder.trace().clone();
    trace.steps[2].operands[1].spelled = "20.126".to_owned();
    assert!(reasons(&trace).contains(&Reason::NotInEvidence));
}
