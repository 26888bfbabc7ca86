//! Batches as models write them: what is refused before anything runs, and what each call gets.

mod laws;
mod reach;

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::catalog::Tool;

/// A tool that takes and gives what these schemas say.
fn tool(input: Value, output: Value) -> Arc<Tool> {
    let mut tool = Arc::unwrap_or_clone(crate::policy::sample(input));
    tool.output_schema = (!output.is_null()).then_some(output);
    Arc::new(tool)
}

fn anything() -> Arc<Tool> {
    tool(json!({"type": "object"}), Value::Null)
}

/// Plans calls of one tool that takes anything: names and arguments.
fn of(calls: &[(&str, Value)]) -> (Plan, Vec<Vec<Violation>>) {
    let tool = anything();
    let texts: Vec<String> = calls.iter().map(|(_, arguments)| arguments.to_string()).collect();
    let parts: Vec<Part<'_>> = calls
        .iter()
        .zip(&texts)
        .map(|((name, _), text)| Part { name, arguments: text, tool: Some(&tool), own_terms: true })
        .collect();
    plan(&parts)
}

/// Places and messages of what is wrong, by call.
fn told(faults: &[Vec<Violation>]) -> Vec<Vec<(&str, &str)>> {
    let one = |one: &'_ Violation| -> (&str, &str) {
        // They live as long as the faults.
        (
            Box::leak(one.pointer.clone().into_boxed_str()),
            Box::leak(one.message.clone().into_boxed_str()),
        )
    };
    faults.iter().map(|faults| faults.iter().map(one).collect()).collect()
}

fn fill(plan: &Plan, call: usize, results: &[Value]) -> Result<Value, Unfilled> {
    let filled = plan.fill(call, &|from| results.get(from))?;
    Ok(serde_json::from_str(&filled.expect("it has references")).unwrap())
}

#[test]
fn a_reference_takes_the_very_value_at_its_place() {
    let (plan, faults) = of(&[
        ("find", json!({"q": "x"})),
        (
            "use",
            json!({
                "id": {"$ref": "find#/items/0/id"},
                "all": {"$ref": "find#"},
                "list": [1, {"$ref": "find#/items/1"}, {"deep": {"$ref": "find#/a~1b/c~0d"}}],
                "nothing": {"$ref": "find#/none"},
                "text": "a {\"$ref\": \"find#\"} b",
            }),
        ),
    ]);
    assert!(faults.iter().all(Vec::is_empty), "{faults:?}");
    assert_eq!((plan.needs(0), plan.needs(1)), (&[][..], &[0][..]));
    let result: Value = serde_json::from_str(
        r#"{"items": [{"id": 9007199254740993.10}, "two"], "a/b": {"c~d": true}, "none": null}"#,
    )
    .unwrap();
    let filled = fill(&plan, 1, std::slice::from_ref(&result)).unwrap();
    assert_eq!(filled["id"].to_string(), "9007199254740993.10", "the spelling stays");
    assert_eq!(filled["all"], result);
    assert_eq!(filled["list"], json!([1, "two", {"deep": true}]));
    assert_eq!((&filled["nothing"], filled.get("nothing").is_some()), (&Value::Null, true));
    assert_eq!(filled["text"], "a {\"$ref\": \"find#\"} b");
    assert_eq!(plan.fill(0, &|_| None), Ok(None), "without references the text stays as it came");
}

#[test]
fn references_stand_in_every_notation_that_is_read() {
    let tool = anything();
    let planned = |tool: &Tool, text: &str| {
        let part = |name, arguments| Part { name, arguments, tool: Some(tool), own_terms: true };
        plan(&[part("a", "{}"), part("b", text)])
    };
    for text in [
        "{'v': {'$ref': 'a#/v'}, 'n': None}",
        "{\"v\": {\"$ref\": \"a#/v\"}, \"n\": null,}",
        "{v: {\"$ref\": 'a#/v'}, n: null} // with a comment\n",
        "```json\n{\"v\": {\"$ref\": \"a#/v\"}, \"n\": null}\n```",
        r#""{\"v\": {\"$ref\": \"a#/v\"}, \"n\": null}""#,
    ] {
        let (plan, faults) = planned(&tool, text);
        assert!(faults.iter().all(Vec::is_empty), "{text}: {faults:?}");
        assert!(plan.is_rewritten(1) && !plan.is_rewritten(0), "{text}");
        let filled = fill(&plan, 1, &[json!({"v": 1})]).unwrap();
        assert_eq!(filled, json!({"v": 1, "n": null}), "{text}");
    }
    let (plan, _) = planned(&tool, "{\"v\": {\"$ref\": \"a#/v\"}}");
    assert!(!plan.is_rewritten(1), "JSON is not another notation");
    let (_, faults) = planned(&tool, "{'v': {'$ref': 'c#/v'}}");
    assert!(faults[1][0].message.contains("`c`, which is no call"), "{faults:?}");
    let (_, faults) = planned(&tool, "{'v': {'$ref': 'a#/v'");
    assert!(faults[1][0].message.contains("cannot be read"), "{faults:?}");
    let mut strict = Arc::unwrap_or_clone(tool);
    strict.repair = Repair::Off;
    let (_, faults) = planned(&strict, "{'v': {'$ref': 'a#/v'}}");
    assert!(faults[1][0].message.contains("cannot be read"), "a tool that takes JSON only");
}

#[test]
fn what_a_result_holds_is_no_reference() {
    let (plan, _) = of(&[("a", json!({})), ("b", json!({"x": {"$ref": "a#/x"}}))]);
    let hostile = json!({"x": {"$ref": "b#"}, "secret": 1});
    assert_eq!(fill(&plan, 1, &[hostile]).unwrap(), json!({"x": {"$ref": "b#"}}));
}

#[test]
fn a_literal_is_written_with_a_dollar_more() {
    let arguments = json!({
        "schema": {"$$ref": "#/definitions/x"},
        "more": {"$$$ref": {"$$ref": {"$ref": "a#"}}},
        "beside": {"$ref": "a#", "title": "no reference"},
        "two": {"$$ref": 1, "x": 2},
    });
    let (plan, faults) = of(&[("a", json!({})), ("b", arguments)]);
    assert!(faults.iter().all(Vec::is_empty), "{faults:?}");
    assert_eq!(
        fill(&plan, 1, &[json!(7)]).unwrap(),
        json!({
            "schema": {"$ref": "#/definitions/x"},
            "more": {"$$ref": {"$ref": 7}},
            "beside": {"$ref": "a#", "title": "no reference"},
            "two": {"$$ref": 1, "x": 2},
        })
    );
    let (plan, _) = of(&[("b", json!({"x": {"$$ref": "y"}}))]);
    assert_eq!(
        fill(&plan, 0, &[]).unwrap(),
        json!({"x": {"$ref": "y"}}),
        "also without any reference"
    );
}

#[test]
fn what_is_no_reference_is_told_with_its_place() {
    let (_, faults) = of(&[
        ("a", json!({})),
        (
            "b",
            json!({
                "x": {"$ref": "c#/id"}, "y": [{"$ref": "a"}], "z": {"$ref": 5},
                "w": {"$ref": "a#id"}, "v": {"$ref": "a#/~2"}, "u": {"$ref": "b#/x"},
            }),
        ),
    ]);
    assert!(faults[0].is_empty());
    let told = told(&faults);
    let at = |pointer: &str| told[1].iter().find(|(at, _)| *at == pointer).unwrap().1;
    assert!(at("/x").contains("`c`, which is no call of this batch; the calls are `a`, `b`"));
    assert!(at("/y/0").contains("write NAME#"));
    assert!(at("/z").contains("must be text") && at("/z").contains("$$ref"));
    assert!(at("/w").contains("JSON Pointer") && at("/v").contains("~0 and ~1"));
    assert!(at("/u").contains("own call"));
    assert_eq!(told[1].len(), 6);
}

#[test]
fn calls_that_wait_for_each_other_are_named_as_a_path() {
    let needs = |name: &str| json!({"x": {"$ref": format!("{name}#")}});
    let (_, faults) = of(&[
        ("free", json!({})),
        ("a", needs("b")),
        ("b", json!({"x": {"$ref": "free#"}, "y": {"$ref": "c#"}})),
        ("c", needs("a")),
        ("outside", needs("a")),
        ("d", needs("e")),
        ("e", needs("d")),
    ]);
    let told = told(&faults);
    for (call, path) in
        [(1, "a → b → c → a"), (2, "a → b → c → a"), (3, "a → b → c → a"), (5, "d → e → d")]
    {
        assert!(told[call].len() == 1 && told[call][0].1.contains(path), "{call} {told:?}");
    }
    assert_eq!(told[2][0].0, "/y", "the place that closes the circle");
    assert!(told[0].is_empty() && told[4].is_empty(), "who only waits for a circle is not on it");
}

#[test]
fn a_pointer_that_the_output_schema_rules_out_is_refused_at_once() {
    let output = json!({"type": "object", "additionalProperties": false, "properties": {
        "id": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}},
    }});
    let input = json!({"type": "object", "properties": {
        "id": {"type": "integer"}, "who": {"type": "object"}, "name": {"type": "string"},
    }});
    let (source, target) = (tool(json!({"type": "object"}), output), tool(input, Value::Null));
    let check = |arguments: Value| {
        let text = arguments.to_string();
        let part = |name, arguments, tool| Part { name, arguments, tool, own_terms: true };
        let (_, faults) =
            plan(&[part("a", "{}", Some(&*source)), part("b", &text, Some(&*target))]);
        faults[1].iter().map(|one| one.message.clone()).collect::<Vec<_>>().join("; ")
    };
    for right in ["a#/id", "a#/tags/0", "a#"] {
        assert_eq!(check(json!({"other": {"$ref": right}})), "", "{right}");
    }
    for wrong in ["a#/ids", "a#/id/0", "a#/tags/first", "a#/tags/01", "a#/tags/0/x"] {
        let told = check(json!({"other": {"$ref": wrong}}));
        assert!(told.contains("no such place"), "{wrong}: {told}");
    }
    let told = check(json!({"who": {"$ref": "a#/id"}}));
    assert_eq!(
        told,
        "`/who` must be object, but `/id` in the result of `a` is integer by the output schema of \
         `sample.tool`"
    );
    assert_eq!(check(json!({"name": {"$ref": "a#/id"}})), "", "a number can be written as text");
}

#[test]
fn results_that_are_missing_or_too_large_keep_a_call_from_running() {
    let (plan, _) = of(&[("a", json!({})), ("b", json!({"x": {"$ref": "a#/x/0"}}))]);
    let missing = |result: Value| fill(&plan, 1, &[result]).unwrap_err();
    let place = Unfilled::Missing { from: 0, place: "/x/0".to_owned() };
    for result in [json!(null), json!({"x": []}), json!({"x": "text"}), json!({"x": {"1": 2}})] {
        assert_eq!(missing(result), place);
    }
    let many = vec![json!({"$ref": "a#"}); 100];
    let (plan, faults) = of(&[("a", json!({})), ("b", json!({ "x": many }))]);
    assert!(faults.iter().all(Vec::is_empty));
    let large = json!("x".repeat(20_000));
    assert_eq!(fill(&plan, 1, &[large]), Err(Unfilled::Large));
    let (_, faults) =
        of(&[("a", json!({})), ("b", json!({"x": vec![json!({"$ref": "a#"}); 257]}))]);
    assert!(faults[1][0].message.contains("at most 256"));
}

#[test]
fn text_in_another_notation_without_references_is_left_as_it_is() {
    let part = |arguments| Part { name: "a", arguments, tool: None, own_terms: true };
    let (plan, faults) = plan(&[part("{'x': 1}")]);
    assert!(faults[0].is_empty() && plan.outline(0).is_none(), "repair is for the schema room");
    let (_, faults) = super::plan(&[part("{'x': {'$ref': 'b#'}}")]);
    assert!(faults[0][0].message.contains("is no call"), "a reference is read: {faults:?}");
    let (_, faults) = super::plan(&[part(r#"{"x": {"$ref": "a#", "$ref": "b#"}}"#)]);
    assert!(faults[0][0].message.contains("twice") || faults[0][0].message.contains("$ref"));
}

#[test]
fn names_are_short_plain_and_unique() {
    let long = "n".repeat(65);
    let wrong = misnamed(["a", "", "b c", "a", &long, "名", "x#y", "call_1.2-3", "A"]);
    let calls: Vec<usize> = wrong.iter().map(|(call, _)| *call).collect();
    assert_eq!(calls, [1, 2, 3, 4, 5, 6]);
    assert!(wrong[2].1.contains("calls[0]"));
}

#[test]
fn who_depends_on_a_failed_call_is_left_out_and_the_others_go_on() {
    let needs = |name: &str| json!({"x": {"$ref": format!("{name}#")}});
    let (plan, _) = of(&[
        ("a", json!({})),
        ("b", needs("a")),
        ("c", needs("b")),
        ("d", json!({})),
        ("e", needs("d")),
    ]);
    let mut progress = Progress::new(&plan);
    assert_eq!(
        [progress.advance(), progress.advance(), progress.advance()],
        [Some(Step::Run(0)), Some(Step::Run(3)), None]
    );
    progress.end(0, false);
    assert_eq!(progress.advance(), Some(Step::Skip(1, Because::Failed(0))));
    assert_eq!(progress.advance(), None, "until that is written down");
    progress.end(1, false);
    assert_eq!(progress.advance(), Some(Step::Skip(2, Because::Failed(1))));
    progress.end(2, false);
    progress.end(3, true);
    assert_eq!(progress.advance(), Some(Step::Run(4)));
    let mut progress = Progress::new(&plan);
    assert_eq!(progress.advance(), Some(Step::Run(0)));
    progress.stop(Because::Stopped(0));
    progress.stop(Because::Cancelled);
    assert_eq!(progress.advance(), Some(Step::Skip(1, Because::Stopped(0))));
}
