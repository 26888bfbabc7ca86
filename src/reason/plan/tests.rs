//! Plans as models write them: what is refused, with which code and where, and what can be run.

mod boards;
mod courses;
mod laws;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::board::{Ended, Skipped, Standing};
use super::course::{Course, Crew, Hearing, Job, Move, Worked};
use super::*;
use crate::reason::agent::tests::agents;

const LEAD: &str = r#"
name = "lead"
description = "plans"
role = "orchestrator"
instructions = "Plan well."
limits = { tasks = 8, parallel = 2 }
[team]
workers = ["find-*"]
[claims.revenue]
description = "revenue of a quarter"
type = "number"
unit = "EUR"
tolerance = "0.05"
scope = ["quarter"]
"#;
const ORDERS: &str = r#"
name = "find-orders"
description = "finds orders"
role = "worker"
instructions = "Find orders."
tools = ["orders.*"]
"#;
const NOTES: &str = r#"
name = "find-notes"
description = "finds notes"
role = "worker"
instructions = "Find notes."
memory = { collections = ["notes"] }
"#;
const OTHER: &str = r#"
name = "writer"
description = "writes"
role = "worker"
instructions = "Write."
"#;
const JUDGE: &str = r#"
name = "judge"
description = "judges"
role = "judge"
instructions = "Judge."
"#;

/// The agents of these tests, and the tools of their caller.
pub(super) fn staff() -> (Agents, BTreeSet<String>) {
    let tools = ["orders.get", "orders.list", "mail.send"];
    (agents(&[LEAD, ORDERS, NOTES, OTHER, JUDGE]), tools.map(str::to_owned).into())
}

/// Code and place of each refusal of a text, with its words.
fn refusals(text: &str) -> Vec<(Reason, String, String)> {
    let (agents, tools) = staff();
    let lead = agents.get("lead").unwrap();
    let staff = Staff { agents: &agents, lead, tools: &tools };
    let refusals = match Plan::read(text) {
        Ok(plan) => plan.check(staff),
        Err(refusals) => refusals,
    };
    refusals.into_iter().map(|one| (one.code, one.place, one.words)).collect()
}

/// A plan of tasks, each with its id, agent and goal: the last gives the answer and needs all others, which
/// have to give `output`; null for whatever they like.
pub(in crate::reason) fn made(tasks: &[(&str, &str, &str)], output: &Value) -> Value {
    let (last, others) = tasks.split_last().unwrap();
    let task =
        |(id, agent, goal): &(&str, &str, &str)| json!({ "id": id, "agent": agent, "goal": goal });
    let mut all: Vec<Value> = others.iter().map(task).collect();
    all.iter_mut().filter(|_| !output.is_null()).for_each(|one| one["output"] = output.clone());
    let mut answer = task(last);
    if !others.is_empty() {
        answer["needs"] = others.iter().map(|(id, ..)| *id).collect();
    }
    all.push(answer);
    json!({ "tasks": all, "answer": last.0 })
}

/// A plan of two tasks, of which the second uses the first.
fn good() -> Value {
    json!({
        "tasks": [
            {
                "id": "orders",
                "agent": "find-orders",
                "goal": "Find the orders of customer 7.",
                "tools": ["orders.list"],
                "output": {
                    "schema": { "type": "object", "properties": { "ids": { "type": "array" } } },
                    "claims": ["revenue"],
                    "scope": { "quarter": "2026-Q4" },
                },
            },
            {
                "id": "sum",
                "agent": "lead",
                "goal": "Say what {ids} come to.",
                "needs": ["orders"],
                "inputs": { "ids": { "from": "orders", "place": "/ids" } },
            },
        ],
        "answer": "sum",
    })
}

/// The good plan with the value at a place changed; null takes the member out.
fn with(place: &str, value: Value) -> String {
    let mut plan = good();
    let (parent, name) = place.rsplit_once('/').unwrap();
    match plan.pointer_mut(parent).unwrap() {
        Value::Object(members) if value.is_null() => drop(members.shift_remove(name)),
        Value::Object(members) => drop(members.insert(name.to_owned(), value)),
        Value::Array(items) => items[name.parse::<usize>().unwrap()] = value,
        other => panic!("{other}"),
    }
    plan.to_string()
}

#[test]
fn a_plan_that_can_be_run_is_taken_in_every_notation_that_is_read() {
    let text = good().to_string();
    for text in [text.clone(), format!("```json\n{text}\n```"), text.replace('"', "'")] {
        assert_eq!(refusals(&text), [], "{text}");
    }
    let plan = Plan::read(&text).unwrap();
    let again: Plan = serde_json::from_value(serde_json::to_value(&plan).unwrap()).unwrap();
    assert_eq!(plan, again, "a plan is the same again after the record");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn each_fault_of_a_plan_has_its_code_its_place_and_words_to_mend_it() {
    let long = "a".repeat(4001);
    for (text, code, place, words) in [
        ("[]".to_owned(), Reason::Unreadable, "", "no JSON object"),
        ("I would first find".to_owned(), Reason::Unreadable, "", "cannot be read"),
        (
            format!("{{\"tasks\": \"{}\"}}", "a".repeat(300_000)),
            Reason::Unreadable,
            "",
            "at most 262144",
        ),
        ("{}".to_owned(), Reason::BadShape, "", "`tasks` is missing"),
        (with("/answer", Value::Null), Reason::BadShape, "", "`answer` is missing"),
        (with("/answer", json!(7)), Reason::BadShape, "/answer", "must be text"),
        (with("/steps", json!([])), Reason::BadShape, "/steps", "known are `tasks`, `answer`"),
        (with("/tasks", json!({})), Reason::BadShape, "/tasks", "must be an array"),
        (with("/tasks/0", json!("find")), Reason::BadShape, "/tasks/0", "must be an object"),
        (with("/tasks/0/agent", Value::Null), Reason::BadShape, "/tasks/0", "`agent` is missing"),
        (with("/tasks/0/goal", json!(["a"])), Reason::BadShape, "/tasks/0/goal", "must be text"),
        (
            with("/tasks/1/needs", json!("orders")),
            Reason::BadShape,
            "/tasks/1/needs",
            "array of texts",
        ),
        (with("/tasks/1/needs/0", json!(1)), Reason::BadShape, "/tasks/1/needs/0", "must be text"),
        (with("/tasks/1/inputs", json!([])), Reason::BadShape, "/tasks/1/inputs", "an object"),
        (
            with("/tasks/1/inputs/ids", json!("orders#/ids")),
            Reason::BadShape,
            "/tasks/1/inputs/ids",
            "\"from\"",
        ),
        (
            with("/tasks/1/inputs/ids/from", Value::Null),
            Reason::BadShape,
            "/tasks/1/inputs/ids",
            "`from` is missing",
        ),
        (
            with("/tasks/0/output/schema", json!("any")),
            Reason::BadShape,
            "/tasks/0/output/schema",
            "JSON Schema",
        ),
        (
            with("/tasks/0/output/scope/quarter", json!([4])),
            Reason::BadShape,
            "/tasks/0/output/scope/quarter",
            "text",
        ),
        (with("/tasks", json!([])), Reason::NoTasks, "/tasks", "at least the one"),
        (many(9), Reason::TooManyTasks, "/tasks", "at most 8"),
        (with("/tasks/0/id", json!("find orders")), Reason::BadName, "/tasks/0/id", "is no id"),
        (with("/tasks/0/id", json!("rule")), Reason::BadName, "/tasks/0/id", "what a rule reads"),
        (
            with("/tasks/1/inputs/a b", json!({"from": "orders"})),
            Reason::BadName,
            "/tasks/1/inputs/a b",
            "no name",
        ),
        (
            with("/tasks/1/id", json!("orders")),
            Reason::DuplicateId,
            "/tasks/1/id",
            "also the id of /tasks/0",
        ),
        (with("/tasks/0/goal", json!(" \n")), Reason::EmptyGoal, "/tasks/0/goal", "is empty"),
        (with("/tasks/0/goal", json!(long)), Reason::LongGoal, "/tasks/0/goal", "4000"),
        (
            with("/tasks/0/agent", json!("find-order")),
            Reason::UnknownAgent,
            "/tasks/0/agent",
            "did you mean `find-orders`",
        ),
        (
            with("/tasks/0/agent", json!("writer")),
            Reason::AgentNotAllowed,
            "/tasks/0/agent",
            "find-notes`, `find-orders`, `lead",
        ),
        (
            with("/tasks/0/agent", json!("judge")),
            Reason::AgentNotAllowed,
            "/tasks/0/agent",
            "takes no tasks",
        ),
        (
            with("/tasks/0/tools/0", json!("orders.lst")),
            Reason::UnknownTool,
            "/tasks/0/tools/0",
            "did you mean `orders.list`",
        ),
        (
            with("/tasks/0/tools/0", json!("mail.send")),
            Reason::ToolNotAllowed,
            "/tasks/0/tools/0",
            "leave it out",
        ),
        (
            with("/tasks/1/tools", json!(["orders.get"])),
            Reason::ToolNotAllowed,
            "/tasks/1/tools/0",
            "give the task to `find-orders`",
        ),
        (
            with("/tasks/1/needs", json!(["orders", "ordres"])),
            Reason::MissingDependency,
            "/tasks/1/needs/1",
            "did you mean `orders`",
        ),
        (
            with("/tasks/0/needs", json!(["sum"])),
            Reason::Cycle,
            "/tasks/0/needs",
            "orders → sum → orders",
        ),
        (
            with("/tasks/0/needs", json!(["orders"])),
            Reason::Cycle,
            "/tasks/0/needs",
            "orders → orders",
        ),
        (
            with("/answer", json!("orders")),
            Reason::UnreachableTask,
            "/tasks/1",
            "does not depend on `sum`",
        ),
        (with("/answer", json!("total")), Reason::UnknownAnswer, "/answer", "`orders`"),
        (
            with("/tasks/1/needs", json!([])),
            Reason::UnboundInput,
            "/tasks/1/inputs/ids/from",
            "add it there",
        ),
        (
            with("/tasks/1/inputs/ids/from", json!("ordres")),
            Reason::UnboundInput,
            "/tasks/1/inputs/ids/from",
            "no task has that id",
        ),
        (with("/tasks/1/inputs", json!({})), Reason::UnboundInput, "/tasks/1/goal", "has no `ids`"),
        (
            with("/tasks/1/inputs/ids/place", json!("ids")),
            Reason::BadPlace,
            "/tasks/1/inputs/ids/place",
            "no JSON Pointer",
        ),
        (
            with("/tasks/0/output/schema", json!({"type": "string"})),
            Reason::BadPlace,
            "/tasks/1/inputs/ids/place",
            "no place",
        ),
        (
            with("/tasks/0/output/schema", json!({"type": 7})),
            Reason::BadSchema,
            "/tasks/0/output/schema",
            "cannot be used",
        ),
        (
            with("/tasks/0/output/claims/0", json!("revenu")),
            Reason::UnknownClaim,
            "/tasks/0/output/claims/0",
            "did you mean `revenue`",
        ),
    ] {
        let found = refusals(&text);
        let right =
            found.iter().any(|(is, at, why)| *is == code && at == place && why.contains(words));
        assert!(right, "{code} at {place}: {words}: {found:?}");
        for (_, at, why) in &found {
            assert!(!why.contains('\n') && why.len() < 1000, "{at}: {why}");
        }
    }
}

/// A chain of so many tasks.
fn many(count: usize) -> String {
    let tasks: Vec<Value> = (0..count)
        .map(|at| {
            let needs: Vec<String> =
                at.checked_sub(1).map(|one| format!("t{one}")).into_iter().collect();
            json!({ "id": format!("t{at}"), "agent": "lead", "goal": "go on", "needs": needs })
        })
        .collect();
    json!({ "tasks": tasks, "answer": format!("t{}", count - 1) }).to_string()
}

#[test]
fn a_plan_of_the_largest_size_is_taken() {
    assert_eq!(refusals(&many(8)), []);
}

#[test]
fn a_plan_with_any_number_of_faults_is_told_some_and_no_more_is_looked_at() {
    let names: Vec<String> = (0..5000).map(|at| format!("t{at}")).collect();
    for place in ["/tasks/0/tools", "/tasks/0/output/claims", "/tasks/1/needs"] {
        assert_eq!(refusals(&with(place, json!(names))).len(), MOST, "{place}");
    }
    assert_eq!(refusals(&with("/tasks", json!(vec![json!({}); 5000]))).len(), MOST);
    // What is too long or too much is told once, and not looked through.
    let holes: String = names.iter().map(|name| format!("{{{name}}}")).collect();
    let found = refusals(&with("/tasks/1/goal", json!(holes)));
    assert_eq!(found.iter().map(|one| one.0).collect::<Vec<_>>(), [Reason::LongGoal]);
    let inputs: serde_json::Map<String, Value> =
        names.iter().map(|name| (name.clone(), json!({ "from": "nobody" }))).collect();
    let found = refusals(&with("/tasks/1/inputs", json!(inputs)));
    assert!(found.len() == 1 && found[0].2.contains("at most 32"), "{found:?}");
}

#[test]
fn all_faults_are_told_at_once() {
    let mut plan = good();
    plan["tasks"][0]["agent"] = json!("nobody");
    plan["tasks"][0]["goal"] = json!("");
    plan["tasks"][1]["needs"] = json!(["orders", "ghost"]);
    let codes: BTreeSet<Reason> =
        refusals(&plan.to_string()).into_iter().map(|(code, ..)| code).collect();
    let all = [Reason::UnknownAgent, Reason::EmptyGoal, Reason::MissingDependency];
    assert_eq!(codes, all.into_iter().collect());
}

#[test]
fn a_tool_that_the_caller_may_not_see_is_not_named() {
    let found = refusals(&with("/tasks/0/tools/0", json!("payments.send")));
    assert_eq!(found.len(), 1);
    assert!(!found[0].2.contains("mail.send"), "{found:?}");
    let (agents, tools) = staff();
    let lead = agents.get("lead").unwrap();
    let told = Plan::instructions(Staff { agents: &agents, lead, tools: &tools });
    assert!(told.contains("`orders.get`, `orders.list`") && !told.contains("mail.send"), "{told}");
}

#[test]
fn the_example_and_the_schema_that_a_model_is_given_are_right() {
    let (agents, tools) = staff();
    let staff = Staff { agents: &agents, lead: agents.get("lead").unwrap(), tools: &tools };
    let told = Plan::instructions(staff);
    let example = told.lines().find(|line| line.starts_with("{\"tasks\"")).unwrap();
    assert_eq!(refusals(example), [], "{example}");
    let shape = crate::schema::Shape::compile(&Plan::shape(staff)).unwrap();
    for text in [example, &good().to_string()] {
        assert_eq!(shape.check(&serde_json::from_str(text).unwrap()), []);
    }
    let misfits =
        shape.check(&serde_json::from_str(&with("/tasks/0/agent", json!("judge"))).unwrap());
    assert_eq!(misfits.len(), 1, "{misfits:?}");
    for claim in ["`revenue` (number in EUR)", "Plan well.", "1 to 8 tasks"] {
        assert!(told.contains(claim), "{claim}: {told}");
    }
}

#[test]
fn codes_are_written_as_they_are_kept() {
    for reason in Reason::ALL {
        assert_eq!(serde_json::to_value(reason).unwrap(), json!(reason.as_str()));
    }
    let refusal = Refusal::new(Reason::Cycle, "/tasks/0", "mend it");
    assert_eq!(refusal.to_string(), "[CYCLE] at /tasks/0: mend it");
    let many: Vec<Refusal> = std::iter::repeat_n(refusal, 20).collect();
    assert!(Plan::mend(&many).contains("- and 8 more"), "a model is not flooded");
}
