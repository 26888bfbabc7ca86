//! Questions that change one value of an earlier one.

use jiff::tz::TimeZone;

use super::made::{self, builder, label, memory, now, opening};
use crate::evidence::{
    Again, Builder, Claim, Config, Draft, FollowUp, Opening, Operator, Pick, Reason, Source,
    Summary, Trace, Unfollowed, Value, check, follow_up, summaries,
};

fn after(question: &str, earlier: &[Summary]) -> Result<Option<FollowUp>, Unfollowed> {
    follow_up(question, earlier, (&made::rules(), &TimeZone::UTC), None)
}

fn decision(trace: &Trace) -> &str {
    &trace.answer.as_ref().unwrap().decision.as_ref().unwrap().value
}

#[test]
fn a_changed_amount_is_decided_again_by_the_rule() {
    let earlier = summaries(&made::transfer());
    let questions = [
        ("And if it were 8,000?", "8000 EUR", "single_approval"),
        ("那如果是 8000 呢", "8000 EUR", "single_approval"),
        ("换成八千呢？", "8000 EUR", "single_approval"),
        ("那2万欧元呢", "20000 EUR", "second_approval"),
        ("what about eight thousand?", "8000 EUR", "single_approval"),
        ("What if it were exactly 10,000.00 EUR instead?", "10000.00 EUR", "single_approval"),
    ];
    for (question, amount, wanted) in questions {
        let trace = made::follow_up(earlier.clone(), question);
        assert_eq!(check(&trace), Vec::new(), "{question}");
        assert_eq!(decision(&trace), wanted, "{question}");
        let compared = trace.steps.iter().find(|step| !step.operands.is_empty()).unwrap();
        assert_eq!(compared.operands[0].value.to_string(), amount, "{question}");
        assert_eq!(compared.operands[0].evidence, Some(label("Q")));
    }
}

#[test]
fn a_chain_of_follow_ups_leaves_at_most_three_summaries() {
    let mut trace = made::transfer();
    for (number, amount) in ["8,000", "12,000", "9,000", "11,000"].iter().enumerate() {
        let earlier = summaries(&trace);
        assert!(earlier.len() <= 3 && earlier[0].run == trace.run);
        let question = format!("And if it were {amount}?");
        let mut next = made::follow_up(earlier, &question);
        next.run = format!("run-{}", number + 2);
        trace = next;
    }
    assert_eq!(summaries(&trace).len(), 3);
    assert_eq!(decision(&trace), "second_approval");
}

#[test]
fn a_date_asks_the_version_of_the_rule_for_that_date() {
    let earlier = summaries(&made::transfer());
    let Ok(Some(FollowUp::Rule { rule, as_of, given })) = after("And on 2025-06-01?", &earlier)
    else {
        panic!("no rule follows");
    };
    assert_eq!(rule.file, "rules/transfer-2025.toml");
    assert_eq!(as_of.to_string(), "2025-06-01T00:00:00Z");
    assert_eq!(given["amount"].run.as_deref(), Some("run-1"));
    let both = after("And if it were 25,000 EUR on 2025-06-01?", &earlier).unwrap();
    let Some(FollowUp::Rule { as_of: then, given: changed, .. }) = both else { panic!() };
    assert_eq!((then, changed["amount"].spelled.as_str()), (as_of, "25,000 EUR"));
    let opening = Opening { earlier, as_of, ..opening("run-2", "And on 2025-06-01?") };
    let trace = made::by_rule(opening, &rule, &given, (&[], &serde_json::Value::Null));
    assert_eq!(decision(&trace), "single_approval");
    assert_eq!(check(&trace), Vec::new());
    assert!(
        trace
            .evidence
            .iter()
            .any(|one| matches!(&one.source, Source::Earlier { run } if run == "run-1"))
    );
    // The amount stays, though the question that gave it is two turns back.
    let next = made::follow_up(summaries(&trace), "And if it were 25,000 EUR?");
    assert_eq!(decision(&next), "second_approval");
    assert!(matches!(
        after("And on 2020-06-01?", &summaries(&trace)),
        Err(Unfollowed::Gone { .. })
    ));
}

#[test]
fn facts_that_were_only_used_to_read_others_are_kept_and_changed_too() {
    let earlier = summaries(&made::returned());
    let Ok(Some(FollowUp::Rule { given, .. })) = after("And what about ORD-10017?", &earlier)
    else {
        panic!("no rule follows");
    };
    assert_eq!((given["order"].spelled.as_str(), &given["order"].run), ("ORD-10017", &None));
    let Ok(Some(FollowUp::Rule { given, .. })) = after("And on 2026-12-24?", &earlier) else {
        panic!("no rule follows");
    };
    assert_eq!(given["order"].spelled, "ORD-10016");
    assert_eq!(given["order"].run.as_deref(), Some("run-4"));
}

#[test]
fn what_is_not_certain_or_no_follow_up_is_not_taken_for_one() {
    let earlier = summaries(&made::transfer());
    assert!(after("What is the weather in Lisbon?", &earlier).unwrap().is_none());
    assert!(after("And if it were different?", &earlier).unwrap().is_none());
    assert!(after("And if it were 8,000?", &[]).unwrap().is_none());
    assert!(after("And if it were 8 kg?", &earlier).unwrap().is_none());
    assert!(matches!(after("And if it were 8.000?", &earlier), Err(Unfollowed::Unread(_))));
    assert!(matches!(
        after("What about 8,000 or 9,000?", &earlier),
        Err(Unfollowed::Several { .. })
    ));
    let long = format!("And if it were 8,000? {}", "Please answer. ".repeat(10));
    assert!(after(&long, &earlier).unwrap().is_none());
}

#[test]
fn a_question_that_says_more_than_what_changes_is_none() {
    let earlier = summaries(&made::transfer());
    for more in [
        "What about the weather on 2026-12-24?",
        "And with an 8,000 EUR machine, what breaks?",
        "那2万欧元的机器坏了吗",
    ] {
        let wrong = after(more, &earlier);
        assert!(matches!(wrong, Err(Unfollowed::More { .. })), "{more}: {wrong:?}");
    }
    // By itself one for another rule.
    let other = "What if the customer wants to return ORD-10016, which cost 500 EUR?";
    assert!(after(other, &earlier).unwrap().is_none());
    for same in [
        "And if the amount were only 8,000 EUR?",
        "Okay, and what about a transfer of 8,000 EUR then?",
        "那如果转账8000欧元，需要复核吗？",
    ] {
        assert!(after(same, &earlier).unwrap().is_some(), "{same}");
    }
}

#[test]
fn the_date_that_a_caller_names_asks_for_the_version_of_then() {
    let earlier = summaries(&made::transfer());
    let at = |question: &str, day: &str| {
        let zone = TimeZone::get("Europe/Lisbon").unwrap();
        follow_up(question, &earlier, (&made::rules(), &zone), Some(made::time(day)))
    };
    let then = "2025-06-01T00:00:00Z";
    let Ok(Some(FollowUp::Rule { rule, as_of, .. })) = at("And if it were 25,000 EUR?", then)
    else {
        panic!("no rule follows");
    };
    assert_eq!(
        (rule.file.as_str(), as_of.to_string().as_str()),
        ("rules/transfer-2025.toml", then)
    );
    let same = at("And on 2025-06-01?", "2025-06-01T10:00:00Z");
    assert!(matches!(same, Ok(Some(FollowUp::Rule { .. }))), "{same:?}");
    let other = at("And on 2025-07-01?", then);
    assert!(matches!(other, Err(Unfollowed::Dates { .. })), "{other:?}");
}

/// A comparison that a model asked for, of the question with the memory.
fn locker() -> Trace {
    let mut builder =
        Builder::new(opening("run-1", "Does a parcel of 18 kg fit?"), Config::default());
    let limit = memory("u@1", "manuals", "The locker takes 20 kg.", Vec::new());
    let limit = builder.found(limit, now()).label().clone();
    let (left, right) = (Pick::new(&label("Q"), "18 kg"), Pick::new(&limit, "20 kg"));
    let step = builder.compare(&left, Operator::AtMost, &right, now()).unwrap().step.id;
    let draft = Draft {
        answer: "Yes.".to_owned(),
        evidence: vec![limit],
        decision: Some(Claim { value: "fits".to_owned(), step, holds: true }),
        ..Draft::default()
    };
    builder.answer(&draft, now()).unwrap();
    builder.finish()
}

fn again(question: &str) -> Again {
    match after(question, &summaries(&locker())) {
        Ok(Some(FollowUp::Comparison(again))) => *again,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_comparison_without_a_rule_is_made_again() {
    for (question, holds) in
        [("And if it were 22?", false), ("那如果是19公斤呢", true), ("what about 20,001 g?", false)]
    {
        let earlier = summaries(&locker());
        let mut builder =
            Builder::new(Opening { earlier, ..opening("run-2", question) }, Config::default());
        let grown = again(question).compare(&mut builder, now()).unwrap();
        let step = &grown.last().unwrap().step;
        assert_eq!(step.result, Some(Value::of(holds)), "{}", step.text);
        let draft = again(question).draft(step, question).unwrap();
        let answer = builder.answer(&draft, now()).unwrap();
        let decided = answer.decision.as_ref().unwrap();
        let word = if holds { "fits" } else { "does_not_hold" };
        assert_eq!((decided.value.as_str(), decided.holds), (word, holds), "{}", answer.text);
        assert!(answer.unsupported.is_empty(), "{}: {:?}", answer.text, answer.unsupported);
        // Made again after a restart, it is the same step.
        let twice = again(question).compare(&mut builder, now()).unwrap();
        assert_eq!(twice.last().unwrap().step.id, step.id);
        assert_eq!(check(&builder.finish()), Vec::new(), "{question}");
    }
    let mut later = builder("And if it were 22?");
    let wrong = again("And if it were 22?").compare(&mut later, now()).unwrap_err();
    assert_eq!(wrong.reason, Reason::NotInEvidence, "without the summary nobody gives the unit");
}
