//! Random graphs: those without a fault are taken, those with one are refused for that one alone.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// For each task but the last, whether later ones need it: task `n` is needed by those whose bit is set,
/// and by the one after it where none is.
fn graph() -> impl Strategy<Value = Plan> {
    proptest::collection::vec(any::<u8>(), 2..=8).prop_map(|bits| {
        let count = bits.len();
        let mut tasks: Vec<Task> = (0..count)
            .map(|at| Task {
                id: format!("t{at}"),
                agent: ["find-orders", "find-notes", "lead"][at % 3].to_owned(),
                goal: format!("goal {at}"),
                needs: Vec::new(),
                inputs: BTreeMap::new(),
                tools: None,
                output: Output::default(),
            })
            .collect();
        for (at, bits) in bits.iter().enumerate().take(count - 1) {
            let chosen: Vec<usize> =
                (at + 1..count).filter(|later| bits & (1 << (later % 8)) != 0).collect();
            let chosen = if chosen.is_empty() { vec![at + 1] } else { chosen };
            for later in chosen {
                tasks[later].needs.push(format!("t{at}"));
                let input = Input { from: format!("t{at}"), place: String::new() };
                tasks[later].inputs.insert(format!("in{at}"), input);
            }
        }
        Plan { tasks, answer: format!("t{}", count - 1) }
    })
}

/// The same tasks in another order.
fn shuffled() -> impl Strategy<Value = Plan> {
    graph().prop_flat_map(|plan| {
        let answer = plan.answer.clone();
        Just(plan.tasks)
            .prop_shuffle()
            .prop_map(move |tasks| Plan { tasks, answer: answer.clone() })
    })
}

/// The codes of all refusals, each once.
fn codes(plan: &Plan) -> Vec<Reason> {
    let (agents, tools) = shared();
    let lead = agents.get("lead").unwrap();
    let found: BTreeSet<Reason> =
        plan.check(Staff { agents, lead, tools }).into_iter().map(|one| one.code).collect();
    found.into_iter().collect()
}

fn shared() -> &'static (Agents, BTreeSet<String>) {
    static STAFF: std::sync::OnceLock<(Agents, BTreeSet<String>)> = std::sync::OnceLock::new();
    STAFF.get_or_init(staff)
}

/// A fault, and the only code that it has. `at` is a task that is not the answer's.
#[expect(clippy::too_many_lines, reason = "one table")]
fn plant(plan: &mut Plan, fault: usize, at: usize) -> Reason {
    let answer = plan.answer.clone();
    let task = &mut plan.tasks[at];
    let id = task.id.clone();
    match fault {
        0 => {
            task.agent = "nobody".to_owned();
            Reason::UnknownAgent
        }
        1 => {
            task.agent = "judge".to_owned();
            Reason::AgentNotAllowed
        }
        2 => {
            task.tools = Some(vec!["nothing.at.all".to_owned()]);
            Reason::UnknownTool
        }
        3 => {
            task.tools = Some(vec!["mail.send".to_owned()]);
            Reason::ToolNotAllowed
        }
        4 => {
            task.needs.push("ghost".to_owned());
            Reason::MissingDependency
        }
        5 => {
            // The answer depends on every task, so this closes a circle.
            task.needs.push(answer);
            Reason::Cycle
        }
        6 => {
            let copy = task.clone();
            plan.tasks.push(Task { goal: "the same again".to_owned(), ..copy });
            Reason::DuplicateId
        }
        7 => {
            let task = Task {
                id: "island".to_owned(),
                needs: vec![id],
                inputs: BTreeMap::new(),
                ..task.clone()
            };
            plan.tasks.push(task);
            Reason::UnreachableTask
        }
        8 => {
            let input = Input { from: "ghost".to_owned(), place: String::new() };
            task.inputs.insert("extra".to_owned(), input);
            Reason::UnboundInput
        }
        9 => {
            task.goal.push_str(" with {what}");
            Reason::UnboundInput
        }
        10 => {
            task.goal.clear();
            Reason::EmptyGoal
        }
        11 => {
            plan.answer = "ghost".to_owned();
            Reason::UnknownAnswer
        }
        12 => {
            task.output.schema = Some(json!({ "type": ["strange"] }));
            Reason::BadSchema
        }
        _ => {
            task.output.claims.push("profit".to_owned());
            Reason::UnknownClaim
        }
    }
}

proptest! {
    #[test]
    fn a_graph_without_a_fault_is_taken(plan in shuffled()) {
        prop_assert_eq!(codes(&plan), vec![]);
        let text = serde_json::to_string(&plan).unwrap();
        prop_assert_eq!(Plan::read(&text).unwrap(), plan);
    }

    #[test]
    fn a_graph_with_one_fault_is_refused_for_that_one(
        mut plan in shuffled(),
        fault in 0_usize..14,
        which in any::<prop::sample::Index>(),
    ) {
        let others: Vec<usize> =
            (0..plan.tasks.len()).filter(|at| plan.tasks[*at].id != plan.answer).collect();
        let at = others[which.index(others.len())];
        // Room for one task more.
        prop_assume!(plan.tasks.len() < 8 || !matches!(fault, 6 | 7));
        let code = plant(&mut plan, fault, at);
        prop_assert_eq!(codes(&plan), vec![code]);
    }

    #[test]
    fn no_text_makes_the_reader_fail(text in ".{0,200}") {
        drop(Plan::read(&text));
    }

    #[test]
    fn every_task_of_a_graph_is_open_once_what_it_needs_has_ended(plan in shuffled()) {
        let mut board = Board::new(plan.clone());
        let mut ended: BTreeSet<String> = BTreeSet::new();
        while !board.is_over() {
            let open: Vec<Task> = board.open().cloned().collect();
            prop_assert!(!open.is_empty(), "something can always begin");
            for task in open {
                prop_assert!(task.needs.iter().all(|need| ended.contains(need)));
                board.take(&task.id, Note::Ended(boards::gave("text")));
                ended.insert(task.id);
            }
        }
        prop_assert_eq!(ended.len(), plan.tasks.len());
        prop_assert!(board.answer().is_some());
    }
}
