//! Plans on their way: what begins when, what travels on, what is asked again, what is settled, and that
//! one that was killed goes on without doing anything twice.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::tz::TimeZone;

use super::*;
use crate::evidence::{Config, Source};
use crate::memory::Layer;
use crate::reason::judge::{By, Ruling};
use crate::reason::message::Grounds;
use crate::reason::message::tests::{fact, item, step};

/// Two workers that state the same, and a last task that needs both.
fn forecast() -> Value {
    let tasks = [
        ("history", "find-notes", "forecast from notes"),
        ("orders", "find-orders", "forecast from orders"),
        ("answer", "lead", "say it"),
    ];
    made(&tasks, &revenue())
}

/// What a task has to give that states revenue.
fn revenue() -> Value {
    json!({ "claims": ["revenue"], "scope": { "quarter": "2026-Q4" } })
}

/// One worker that gives this, and a last task that states revenue itself.
fn repeated(output: &Value) -> Value {
    let tasks = [("history", "find-notes", "forecast from notes"), ("answer", "lead", "state it")];
    let mut plan = made(&tasks, output);
    plan["tasks"][1]["output"] = revenue();
    plan
}

/// A course with everything that was kept of it.
struct Trip {
    course: Course,
    kept: Vec<(String, Note)>,
    ruled: Vec<Ruling>,
    jobs: Vec<Job>,
    hearings: Vec<Hearing>,
}

fn crew(judged: bool, settle: &str) -> Crew {
    let lead = match judged {
        true => LEAD.replace("[team]", "[team]\njudge = \"judge\""),
        false => LEAD.replace("[team]", &format!("[team]\nsettle = [{settle}]")),
    };
    let agents = agents(&[&lead, ORDERS, NOTES, OTHER, JUDGE]);
    Crew {
        lead: Arc::clone(agents.get("lead").unwrap()),
        tools: staff().1,
        shelves: vec![("notes".to_owned(), Layer::Notes), ("cases".to_owned(), Layer::Curated)],
        laws: Vec::new(),
        constants: Config::default(),
        zone: TimeZone::UTC,
        hears: judged,
        agents: Arc::new(agents),
    }
}

/// Evidence of both tasks: two figures, the second less trusted; one of little confidence, and one of as
/// little from the source of the first; and the first as a message.
fn grounds() -> Grounds {
    let mut same = item("E4", 80, vec![fact("revenue", "100", "EUR")]);
    same.source = item("E1", 80, Vec::new()).source;
    let mut told = item("E5", 80, vec![fact("revenue", "100", "EUR")]);
    told.source = Source::Message { from: "find-notes".to_owned(), id: "history#1".to_owned() };
    Grounds {
        items: vec![
            item("E1", 80, vec![fact("revenue", "100", "EUR"), fact("quarter", "2026-Q4", "")]),
            item("E2", 60, vec![fact("revenue", "130", "EUR"), fact("quarter", "2026-Q4", "")]),
            item("E3", 90, vec![fact("revenue", "100", "EUR"), fact("quarter", "2026-Q4", "")]),
            same,
            told,
        ],
        steps: vec![
            step("S1", "E1", 0.9),
            step("S2", "E2", 0.8),
            step("S3", "E3", 0.2),
            step("S4", "E4", 0.2),
            step("S5", "E5", 0.2),
        ],
    }
}

impl Trip {
    fn new(plan: &Value, crew: Crew) -> Self {
        let plan = Plan::read(&plan.to_string()).unwrap();
        Self::of(Course::new(crew, Board::new(plan), grounds()))
    }

    fn of(course: Course) -> Self {
        let (kept, ruled, jobs, hearings) = (vec![], vec![], vec![], vec![]);
        let mut trip = Self { course, kept, ruled, jobs, hearings };
        trip.go();
        trip
    }

    /// Does what the course says, until something has to end first.
    fn go(&mut self) {
        loop {
            let moves = self.course.moves();
            if moves.is_empty() {
                return;
            }
            for one in moves {
                match one {
                    Move::Keep(task, note) => self.kept.push((task, note)),
                    Move::Rule(ruling) => self.ruled.push(*ruling),
                    Move::Work(job) => self.jobs.push(*job),
                    Move::Hear(hearing) => self.hearings.push(*hearing),
                }
            }
        }
    }

    /// Ends a job that is being worked on with a report.
    fn report(&mut self, task: &str, text: &str, found: &[&str]) {
        let at = self.jobs.iter().position(|job| job.task == task).expect(task);
        self.jobs.remove(at);
        let found: BTreeSet<String> = found.iter().map(|one| (*one).to_owned()).collect();
        let evidence = found.iter().cloned().collect();
        let worked = Worked::Reported { text: text.to_owned(), evidence, found };
        self.course.worked(task, worked, grounds());
        self.go();
    }

    fn states(&mut self, task: &str, value: &str, label: &str) {
        self.report(task, &says(value, label), &[label]);
    }

    fn fails(&mut self, task: &str, worked: Worked) {
        let at = self.jobs.iter().position(|job| job.task == task).expect(task);
        self.jobs.remove(at);
        self.course.worked(task, worked, grounds());
        self.go();
    }

    fn rules(&mut self, said: Result<&str, &str>) {
        let hearing = self.hearings.remove(0);
        self.course.judged(&hearing.case, said.map_err(str::to_owned));
        self.go();
    }

    fn working(&self) -> Vec<&str> {
        self.jobs.iter().map(|job| job.task.as_str()).collect()
    }

    /// The board as another daemon reads it from the record.
    fn board(&self, plan: &Value) -> Board {
        let mut board = Board::new(Plan::read(&plan.to_string()).unwrap());
        for (task, note) in &self.kept {
            let kept = serde_json::to_value(note).unwrap();
            board.take(task, serde_json::from_value(kept).unwrap());
        }
        for ruling in &self.ruled {
            let kept = serde_json::to_value(ruling).unwrap();
            board.rule(serde_json::from_value(kept).unwrap());
        }
        board
    }

    fn skipped(&self, task: &str) -> &Skipped {
        match self.course.board().standing(task) {
            Some(Standing::Skipped(skipped)) => skipped,
            other => panic!("{task}: {other:?}"),
        }
    }
}

fn says(value: &str, label: &str) -> String {
    let message = json!({ "claim": "revenue", "value": value, "unit": "EUR", "evidence": [label] });
    json!({ "answer": "found", "evidence": [label], "messages": [message] }).to_string()
}

const UPHOLD: &str = r#"{"verdict": "P1", "grounds": ["E1"], "words": "It is in force."}"#;

#[test]
fn tasks_that_need_nothing_of_each_other_run_at_once_and_the_others_wait() {
    let mut trip = Trip::new(&forecast(), crew(true, ""));
    assert_eq!(trip.working(), ["history", "orders"]);
    trip.states("history", "100", "E1");
    assert_eq!(trip.working(), ["orders"]);
    trip.states("orders", "101", "E2");
    assert!(trip.hearings.is_empty(), "they agree within the tolerance");
    assert_eq!(trip.working(), ["answer"]);
    trip.report("answer", "It is 100 EUR.", &[]);
    assert!(trip.course.is_over());
    assert_eq!(trip.course.board().answer().unwrap().text, "It is 100 EUR.");
}

#[test]
fn no_more_tasks_run_at_once_than_the_orchestrator_allows() {
    let mut plan = forecast();
    plan["tasks"][2]["needs"] = json!(["history", "orders", "more"]);
    let more = json!({ "id": "more", "agent": "find-orders", "goal": "find more" });
    plan["tasks"].as_array_mut().unwrap().push(more);
    let mut trip = Trip::new(&plan, crew(true, ""));
    assert_eq!(trip.working(), ["history", "orders"], "parallel = 2");
    trip.states("history", "100", "E1");
    assert_eq!(trip.working(), ["orders", "more"]);
}

#[test]
fn a_worker_sees_its_own_tools_and_collections_and_what_it_is_given() {
    let mut plan = forecast();
    plan["tasks"][1]["tools"] = json!(["orders.list"]);
    plan["tasks"][2]["inputs"] = json!({ "text": { "from": "orders", "place": "" } });
    let mut trip = Trip::new(&plan, crew(true, ""));
    let [history, orders] = trip.jobs.as_slice() else { panic!("{:?}", trip.jobs) };
    assert_eq!(
        (history.tools.len(), history.collections.as_slice()),
        (0, &["notes".to_owned()][..])
    );
    assert_eq!(orders.tools, BTreeSet::from(["orders.list".to_owned()]));
    assert!(orders.collections.is_empty() && orders.given.is_empty());
    assert!(orders.role.starts_with("Find orders.") && orders.role.contains("`revenue`"));
    trip.states("history", "100", "E1");
    trip.states("orders", "100", "E2");
    let [answer] = trip.jobs.as_slice() else { panic!("{:?}", trip.jobs) };
    assert!(answer.tools.is_empty() && answer.shape.is_none());
    let given = answer.given.join("\n");
    assert!(given.contains("history#1") && given.contains("orders#1"), "{given}");
    assert!(
        given.contains(r#"{"input":"text","from":"orders","value":"found","evidence":["E2"]}"#),
        "{given}"
    );
}

#[test]
fn what_does_not_pass_the_check_is_asked_for_once_more_and_then_left_out() {
    let mut trip = Trip::new(&forecast(), crew(true, ""));
    trip.states("orders", "130", "E9");
    let again = trip.jobs.iter().find(|job| job.task == "orders").unwrap();
    assert_eq!(again.errand, "orders/2");
    assert!(again.role.contains("[UNKNOWN_EVIDENCE] at /messages/0/evidence"), "{}", again.role);
    trip.states("orders", "much", "E2");
    let skipped = trip.skipped("orders");
    assert_eq!(skipped.why, "refused");
    assert!(skipped.words.contains("TYPE_MISMATCH"), "{}", skipped.words);
    trip.states("history", "100", "E1");
    assert_eq!(trip.skipped("answer").need, "orders");
    assert!(trip.skipped("answer").words.contains("TYPE_MISMATCH"), "the reason goes along");
    assert!(trip.course.is_over() && trip.jobs.is_empty());
    let refused = |(_, note): &&(String, Note)| matches!(note, Note::Refused { .. });
    assert_eq!(trip.kept.iter().filter(refused).count(), 2, "{:?}", trip.kept);
}

#[test]
fn a_second_attempt_that_passes_travels_on() {
    let mut trip = Trip::new(&forecast(), crew(true, ""));
    trip.report("orders", "I found 130 EUR.", &["E2"]);
    trip.states("orders", "100", "E2");
    trip.states("history", "100", "E1");
    assert_eq!(trip.working(), ["answer"]);
}

#[test]
fn a_task_cannot_cite_what_another_found_unless_it_was_given_it() {
    let mut trip = Trip::new(&forecast(), crew(true, ""));
    // The run has E1, but the task of the orders did not find it.
    trip.report("orders", &says("100", "E1"), &["E2"]);
    let again = trip.jobs.iter().find(|job| job.task == "orders").unwrap();
    assert!(again.role.contains("UNKNOWN_EVIDENCE"), "{}", again.role);
}

#[test]
fn a_task_can_cite_what_it_was_given_in_words_or_as_an_input() {
    let mut plan = repeated(&Value::Null);
    for input in [false, true] {
        if input {
            plan["tasks"][1]["inputs"] = json!({ "told": { "from": "history", "place": "" } });
        }
        let mut trip = Trip::new(&plan, crew(true, ""));
        trip.report("history", "It was 100 EUR.", &["E1"]);
        let given = trip.jobs[0].given.join("\n");
        assert!(given.contains(r#""evidence":["E1"]"#), "{given}");
        trip.report("answer", &says("100", "E1"), &[]);
        assert!(trip.course.is_over(), "{:?}", trip.kept);
        assert_eq!(trip.course.board().messages().count(), 1, "{:?}", trip.kept);
    }
}

#[test]
fn a_message_is_not_reviewed_by_the_one_that_it_repeats() {
    let mut trip = Trip::new(&repeated(&revenue()), crew(false, ""));
    trip.states("history", "100", "E1");
    trip.report("answer", &says("100", "E5"), &[]);
    let again = trip.jobs.iter().find(|job| job.task == "answer").unwrap();
    assert!(again.role.contains("LOW_CONFIDENCE"), "{}", again.role);
}

#[test]
fn an_answer_that_lost_is_told_as_disputed() {
    let mut trip = Trip::new(&repeated(&revenue()), crew(true, ""));
    trip.states("history", "100", "E1");
    trip.states("answer", "130", "E2");
    assert_eq!(trip.hearings.len(), 1, "it is settled, although nothing is built on it");
    trip.rules(Ok(UPHOLD));
    assert!(trip.course.is_over());
    let board = trip.course.board();
    let told: Vec<String> = board.disputed().map(Ruling::told).collect();
    assert!(told.len() == 1 && told[0].contains("`judge` ruled: 100 EUR holds"), "{told:?}");
    // One that agrees with what holds is not.
    let mut trip = Trip::new(&forecast(), crew(true, ""));
    trip.states("history", "100", "E1");
    trip.states("orders", "130", "E2");
    trip.rules(Ok(UPHOLD));
    trip.report("answer", "100 EUR", &[]);
    assert_eq!(trip.course.board().disputed().count(), 0);
}

#[test]
fn a_value_out_of_a_report_that_lost_says_so() {
    let mut plan = forecast();
    plan["tasks"][2]["inputs"] = json!({
        "one": { "from": "history", "place": "" }, "two": { "from": "orders", "place": "" },
    });
    let mut trip = Trip::new(&plan, crew(true, ""));
    trip.states("history", "100", "E1");
    trip.states("orders", "130", "E2");
    trip.rules(Ok(UPHOLD));
    let given = &trip.jobs[0].given;
    let lost: Vec<&String> = given.iter().filter(|one| one.contains("overruled")).collect();
    assert!(
        lost.len() == 1 && lost[0].contains(r#""from":"orders""#) && lost[0].contains("orders#1"),
        "{given:?}"
    );
}

#[test]
fn failures_and_limits_take_what_needs_them_along() {
    for (worked, why) in [
        (Worked::Failed("no endpoint answered".to_owned()), "failed"),
        (Worked::Limited("the steps are used up".to_owned()), "limit"),
    ] {
        let mut trip = Trip::new(&forecast(), crew(true, ""));
        trip.fails("orders", worked);
        assert_eq!(trip.skipped("orders").why, why);
        assert_eq!(trip.skipped("answer").why, "need");
        trip.states("history", "100", "E1");
        assert!(trip.course.is_over());
        assert_eq!(trip.course.board().told().len(), 2);
    }
}

#[test]
fn a_contradiction_is_settled_by_the_judge_before_anything_is_built_on_it() {
    let mut trip = Trip::new(&forecast(), crew(true, ""));
    trip.states("history", "100", "E1");
    trip.states("orders", "130", "E2");
    assert!(trip.working().is_empty(), "the answer waits for the ruling");
    assert_eq!(trip.hearings.len(), 1);
    trip.rules(Ok(UPHOLD));
    let [ruling] = trip.ruled.as_slice() else { panic!("{:?}", trip.ruled) };
    assert_eq!(ruling.upheld(), Some("history#1"));
    let [answer] = trip.jobs.as_slice() else { panic!("{:?}", trip.jobs) };
    let given = answer.given.join("\n");
    assert!(given.contains("\"message\":\"history#1\""), "{given}");
    assert!(!given.contains("\"message\":\"orders#1\""), "what lost does not travel on: {given}");
    assert!(given.contains("`judge` ruled: 100 EUR holds"), "{given}");
    trip.report("answer", "100 EUR", &[]);
    assert!(trip.course.is_over() && trip.hearings.is_empty());
}

#[test]
fn a_ruling_that_does_not_hold_is_asked_for_once_more_and_then_nothing_is_decided() {
    let mut trip = Trip::new(&forecast(), crew(true, ""));
    trip.states("history", "100", "E1");
    trip.states("orders", "130", "E2");
    trip.rules(Ok(r#"{"verdict": "P3", "grounds": ["E1"]}"#));
    let before = trip.hearings[0].before.as_ref().unwrap();
    assert!(before.1.contains("[UNKNOWN_PACK] at /verdict"), "{before:?}");
    trip.rules(Ok(r#"{"verdict": "P1", "grounds": ["E2"]}"#));
    let [ruling] = trip.ruled.as_slice() else { panic!("{:?}", trip.ruled) };
    assert_eq!((&ruling.by, ruling.upheld(), ruling.refused.len()), (&By::Nobody, None, 2));
    let given = trip.jobs[0].given.join("\n");
    assert!(given.contains("undecided, so it is disputed"), "{given}");
    assert!(given.contains("history#1") && given.contains("orders#1"), "both are shown: {given}");
}

#[test]
fn a_judge_that_gives_nothing_leaves_it_undecided() {
    let mut trip = Trip::new(&forecast(), crew(true, ""));
    trip.states("history", "100", "E1");
    trip.states("orders", "130", "E2");
    trip.rules(Err("no endpoint answered"));
    assert_eq!(trip.ruled[0].upheld(), None);
    assert!(trip.ruled[0].words.contains("no endpoint answered"), "{:?}", trip.ruled[0].words);
    assert_eq!(trip.working(), ["answer"]);
}

#[test]
fn without_a_judge_the_declared_measure_decides_or_nothing_does() {
    for (settle, upheld) in [("\"trust\"", Some("history#1")), ("", None)] {
        let mut trip = Trip::new(&forecast(), crew(false, settle));
        trip.states("history", "100", "E1");
        trip.states("orders", "130", "E2");
        assert_eq!(trip.ruled.len(), 1, "at once, by code");
        assert_eq!(trip.ruled[0].upheld(), upheld, "{settle}");
        assert_eq!(trip.working(), ["answer"]);
    }
}

#[test]
fn a_message_of_low_confidence_needs_one_that_says_the_same_or_a_judge() {
    // Reviewed by the other message.
    let mut trip = Trip::new(&forecast(), crew(false, ""));
    trip.states("history", "100", "E1");
    trip.states("orders", "100", "E3");
    let messages: Vec<_> = trip.course.board().messages().cloned().collect();
    assert_eq!(messages[1].review.as_ref().unwrap().by, "history#1");
    // Not by one that has it from the same source.
    let mut trip = Trip::new(&forecast(), crew(false, ""));
    trip.states("history", "100", "E1");
    trip.states("orders", "100", "E4");
    let again = trip.jobs.iter().find(|job| job.task == "orders").unwrap();
    assert!(again.role.contains("LOW_CONFIDENCE"), "{}", again.role);
    // By nobody: refused, as there is no judge and nothing else.
    let mut trip = Trip::new(&forecast(), crew(false, "\"trust\""));
    trip.states("orders", "100", "E3");
    let again = trip.jobs.iter().find(|job| job.task == "orders").unwrap();
    assert!(again.role.contains("LOW_CONFIDENCE"), "{}", again.role);
    // By the judge, who upholds it.
    let mut trip = Trip::new(&forecast(), crew(true, ""));
    trip.states("orders", "100", "E3");
    assert!(trip.hearings[0].case.is_review);
    trip.rules(Ok(r#"{"verdict": "P1", "grounds": ["E3"], "words": "It carries."}"#));
    let message = trip.course.board().messages().next().unwrap().clone();
    assert_eq!(message.review.unwrap().by, "judge");
    // Or does not.
    let mut trip = Trip::new(&forecast(), crew(true, ""));
    trip.states("orders", "100", "E3");
    trip.rules(Ok(r#"{"verdict": "undecided", "grounds": [], "words": "It does not tell."}"#));
    assert!(trip.course.board().messages().next().is_none());
    assert_eq!(trip.jobs.iter().find(|job| job.task == "orders").unwrap().errand, "orders/2");
}

#[test]
fn the_answer_cannot_state_what_lost() {
    let mut plan = forecast();
    plan["tasks"][2]["output"] =
        json!({ "claims": ["revenue"], "scope": { "quarter": "2026-Q4" } });
    let mut trip = Trip::new(&plan, crew(true, ""));
    trip.states("history", "100", "E1");
    trip.states("orders", "130", "E2");
    trip.rules(Ok(UPHOLD));
    trip.states("answer", "130", "E2");
    assert!(trip.jobs[0].role.contains("AGAINST_RULING"), "{}", trip.jobs[0].role);
    trip.states("answer", "100", "E1");
    assert!(trip.course.is_over() && trip.ruled.len() == 1, "{:?}", trip.ruled);
}

#[test]
fn a_plan_that_was_killed_goes_on_without_doing_anything_twice() {
    let plan = forecast();
    let mut first = Trip::new(&plan, crew(true, ""));
    first.states("history", "100", "E1");
    // Killed while the orders are worked on.
    let board = first.board(&plan);
    let second = Trip::of(Course::new(crew(true, ""), board, grounds()));
    assert_eq!(second.working(), ["orders"]);
    assert_eq!(second.jobs[0].errand, "orders", "its own events go on");
    assert!(second.kept.is_empty(), "it had begun already: {:?}", second.kept);
    // Killed after the ruling.
    first.states("orders", "130", "E2");
    first.rules(Ok(UPHOLD));
    let board = first.board(&plan);
    let mut third = Trip::of(Course::new(crew(true, ""), board, grounds()));
    assert_eq!(third.working(), ["answer"]);
    assert!(third.hearings.is_empty(), "what was ruled is not asked again");
    third.report("answer", "100 EUR", &[]);
    assert!(third.course.is_over());
    // Killed after the end of everything.
    first.report("answer", "100 EUR", &[]);
    let fourth = Trip::of(Course::new(crew(true, ""), first.board(&plan), grounds()));
    assert!(fourth.course.is_over() && fourth.jobs.is_empty() && fourth.kept.is_empty());
    assert_eq!(fourth.course.board().answer().unwrap().text, "100 EUR");
}

#[test]
fn a_second_attempt_that_was_killed_is_the_second_again() {
    let plan = forecast();
    let mut first = Trip::new(&plan, crew(true, ""));
    first.states("orders", "130", "E9");
    let second = Trip::of(Course::new(crew(true, ""), first.board(&plan), grounds()));
    let orders = second.jobs.iter().find(|job| job.task == "orders").unwrap();
    assert_eq!(orders.errand, "orders/2");
    assert!(orders.role.contains("UNKNOWN_EVIDENCE"), "the reasons are known still");
}

#[test]
fn an_agent_that_is_gone_by_now_ends_its_task() {
    let plan = forecast();
    let mut crew = crew(true, "");
    crew.agents = Arc::new(agents(&[LEAD, ORDERS, JUDGE]));
    let mut trip = Trip::new(&plan, crew);
    assert!(trip.skipped("history").words.contains("not declared any more"));
    trip.states("orders", "100", "E2");
    assert!(trip.course.is_over());
}
