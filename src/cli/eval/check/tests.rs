//! What holds and what does not, one check after the other.

use serde_json::json;

use super::*;

fn turn(expect: Value, never: Value) -> Turn {
    Turn {
        question: "q".into(),
        as_of: String::new(),
        collections: Vec::new(),
        limits: crate::cli::eval::suite::Limits::default(),
        script: Vec::new(),
        expect: serde_json::from_value(expect).unwrap(),
        never: serde_json::from_value(never).unwrap(),
    }
}

fn ran(tool: &str, arguments: Value, code: &str) -> Ran {
    Ran {
        call_id: "c".into(),
        tool: tool.into(),
        arguments,
        code: code.into(),
        executed: code == "SUCCESS",
        hosts: vec!["127.0.0.1".into()],
    }
}

fn seen() -> Seen {
    Seen {
        run: "r".into(),
        ended: Some(Ended::Answer),
        answer: "It is 22 N·m.".into(),
        decision: Some(("approve".into(), "rule-1".into(), Some(true))),
        cites: vec!["px".into(), "getOrder".into()],
        steps: vec!["tool_result".into()],
        calls: vec![
            ran("getOrder", json!({ "order_id": "ORD-10001", "deep": { "a": [1, 2] } }), "SUCCESS"),
            ran("notify.mail", json!({ "to": "a@b.example", "text": "hush" }), "POLICY_DENIED"),
        ],
        heard: Some(Heard {
            prompts: vec!["short".into(), "a longer one".into()],
            ..Heard::default()
        }),
        ..Seen::default()
    }
}

/// The names of the checks that did not hold.
fn wrong(expect: Value, never: Value) -> Vec<String> {
    let found = check(&turn(expect, never), &seen(), None);
    found.into_iter().filter(|one| !one.wrong.is_empty()).map(|one| one.check).collect()
}

fn holds(expect: impl Into<Value>) {
    let expect = expect.into();
    let found = wrong(expect.clone(), json!({}));
    assert!(found.is_empty(), "{expect}: {found:?}");
}

fn fails(expect: impl Into<Value>, check: &str) {
    let expect = expect.into();
    assert_eq!(wrong(expect.clone(), json!({})), [check], "{expect}");
}

#[test]
fn tools_are_held_against_the_ledger_in_three_ways() {
    let mail = json!({ "tool": "notify.mail", "code": "POLICY_DENIED" });
    holds(json!({ "tools": { "exact": ["getOrder", mail] } }));
    fails(json!({ "tools": { "exact": ["getOrder"] } }), "tools");
    fails(json!({ "tools": { "exact": [mail, "getOrder"] } }), "tools");
    holds(json!({ "tools": { "any_order": [mail, "getOrder"] } }));
    fails(json!({ "tools": { "any_order": ["getOrder", "getOrder"] } }), "tools");
    // Whichever way they have to be told apart.
    let (any, none) =
        (json!("*"), json!({ "tool": "getOrder", "arguments": { "order_id": "other" } }));
    holds(json!({ "tools": { "any_order": [any, "getOrder"] } }));
    holds(json!({ "tools": { "any_order": ["getOrder", any] } }));
    fails(json!({ "tools": { "any_order": [any, none] } }), "tools");
    holds(json!({ "tools": { "subset": [mail] } }));
    fails(json!({ "tools": { "subset": [mail, "getOrder"] } }), "tools");
    holds(json!({ "tools": { "subset": ["get*"] } }));
    fails(
        json!({ "tools": { "subset": [{ "tool": "notify.mail", "code": "SUCCESS" }] } }),
        "tools",
    );
}

#[test]
fn arguments_are_compared_by_what_is_named() {
    let with = |arguments: Value| json!({ "tools": { "subset": [{ "tool": "getOrder", "arguments": arguments }] } });
    holds(with(json!({ "order_id": "ORD-10001" })));
    holds(with(json!({ "order_id": "/^ORD-\\d+$/", "deep": { "a": [1, 2] } })));
    holds(with(json!({ "deep": "/\\[1,2\\]/" })));
    fails(with(json!({ "order_id": "/^X/" })), "tools");
    fails(with(json!({ "other": 1 })), "tools");
    fails(with(json!({ "deep": { "a": [1] } })), "tools");
}

#[test]
fn an_answer_is_checked_in_every_way() {
    holds(
        json!({ "answer": { "exact": " It is 22 N·m. ", "contains": ["22"], "lacks": ["18"], "regex": "\\d+ N", "most": 13 } }),
    );
    fails(json!({ "answer": { "exact": "It is" } }), "exact");
    fails(json!({ "answer": { "contains": ["18"] } }), "contains `18`");
    fails(json!({ "answer": { "lacks": ["22"] } }), "lacks `22`");
    fails(json!({ "answer": { "regex": "^22" } }), "regex `^22`");
    fails(json!({ "answer": { "most": 5 } }), "answer's length");
    fails(json!({ "answer": { "schema": { "type": "object" } } }), "schema");
    let mut json = seen();
    json.answer = r#"{"n": 1}"#.into();
    let schema = |of: Value| {
        let found = check(&turn(json!({ "answer": { "schema": of } }), json!({})), &json, None);
        found.into_iter().all(|one| one.wrong.is_empty())
    };
    assert!(schema(json!({ "required": ["n"] })) && !schema(json!({ "required": ["m"] })));
}

#[test]
fn ends_decisions_evidence_and_prompts_are_checked() {
    holds(
        json!({ "ended": ["partial", "answer"], "evidence": { "cites": ["px"], "lacks": ["old"], "steps": ["tool_result"] } }),
    );
    fails(json!({ "ended": ["waiting"] }), "ended");
    fails(json!({ "evidence": { "cites": ["old"] } }), "cites old");
    fails(json!({ "evidence": { "lacks": ["px"] } }), "does not cite px");
    fails(
        json!({ "evidence": { "steps": ["numerical_comparison"] } }),
        "step numerical_comparison",
    );
    holds(json!({ "decision": { "value": "approve", "rule": "rule-1", "holds": true } }));
    fails(json!({ "decision": { "value": "refuse" } }), "decision");
    fails(json!({ "decision": { "rule": "rule-2" } }), "rule");
    fails(json!({ "decision": { "holds": false } }), "holds");
    holds(json!({ "prompt": { "contains": ["longer"], "most": 12 } }));
    fails(json!({ "prompt": { "contains": ["gone"] } }), "is told `gone`");
    fails(json!({ "prompt": { "most": 11 } }), "length");
}

#[test]
fn what_an_answer_has_to_say_is_not_looked_for_in_a_partial_one() {
    let partial = |expect: Value| {
        let seen = Seen { ended: Some(Ended::Partial), ..seen() };
        let found = check(&turn(expect, json!({})), &seen, None);
        found.into_iter().filter(|one| !one.wrong.is_empty()).map(|one| one.check).collect()
    };
    let none: [String; 0] = [];
    let found: Vec<String> = partial(json!({ "answer": { "contains": ["22"] } }));
    assert_eq!(found, ["ended"]);
    let found: Vec<String> = partial(json!({ "decision": { "value": "approve" } }));
    assert_eq!(found, ["ended"]);
    let found: Vec<String> = partial(json!({ "answer": { "lacks": ["18"], "most": 13 } }));
    assert_eq!(found, none);
    let found: Vec<String> =
        partial(json!({ "ended": ["partial"], "answer": { "contains": ["22"] } }));
    assert_eq!(found, none);
}

#[test]
fn what_was_refused_did_not_happen_and_what_ran_did() {
    let never = |never: Value| wrong(json!({}), never);
    assert!(
        never(
            json!({ "runs": ["notify.mail", "erase.record"], "sends": ["hush"], "reaches": ["x"] })
        )
        .is_empty()
    );
    assert_eq!(never(json!({ "runs": ["getOrder"] })), ["never runs getOrder"]);
    assert_eq!(never(json!({ "sends": ["ORD-10001"] })), ["never sends `ORD-10001`"]);
    let mut quoted = seen();
    quoted.calls[0].arguments = json!({ "list": [{ "text": "say \"now\"\nand go" }] });
    for text in ["say \"now\"", "\nand", "\"list\""] {
        let found = check(&turn(json!({}), json!({ "sends": [text] })), &quoted, None);
        assert!(found.iter().any(|one| one.forbidden && !one.wrong.is_empty()), "{text}");
    }
    assert_eq!(never(json!({ "reaches": ["127.0.0.1"] })), ["never reaches 127.0.0.1"]);
    assert_eq!(never(json!({ "says": ["22"] })), ["never says `22`"]);
    assert_eq!(never(json!({ "prompts": ["longer"] })), ["never tells `longer`"]);
}

#[test]
fn a_misfit_a_refused_trace_and_a_judge_count_too() {
    let mut bad = seen();
    bad.refusals = vec!["E9 was not retrieved".into()];
    bad.heard = Some(Heard { misfits: vec!["asked once more".into()], ..Heard::default() });
    let found =
        check(&turn(json!({}), json!({})), &bad, Some((false, "the judge says: no".into())));
    let wrong: Vec<&str> =
        found.iter().filter(|one| !one.wrong.is_empty()).map(|one| one.check.as_str()).collect();
    assert_eq!(wrong, ["recording", "trace", "judged"]);
    let cut = Seen { ended: None, ..seen() };
    let found = check(&turn(json!({}), json!({})), &cut, None);
    assert!(found[0].check == "ended" && !found[0].wrong.is_empty());
}
