//! How far a plan is, by what happened to its tasks.

use super::*;
use crate::reason::message;

/// What a task gave, without messages.
pub(super) fn gave(text: &str) -> Ended {
    Ended { text: text.to_owned(), result: json!(text), messages: Vec::new(), evidence: Vec::new() }
}

fn skipped(words: &str) -> Skipped {
    Skipped { why: "failed".to_owned(), need: String::new(), words: words.to_owned() }
}

fn board() -> Board {
    Board::new(Plan::read(&good().to_string()).unwrap())
}

fn open(board: &Board) -> Vec<&str> {
    board.open().map(|task| task.id.as_str()).collect()
}

#[test]
fn a_task_begins_when_what_it_needs_has_ended_and_gets_its_inputs() {
    let mut board = board();
    assert_eq!(open(&board), ["orders"]);
    board.take("orders", Note::Begun { agent: "find-orders".to_owned(), attempt: 1 });
    assert_eq!(open(&board), ["orders"], "one that was begun can be taken up");
    let result = json!({ "ids": [1, 2] });
    board.take("orders", Note::Ended(Ended { result, ..gave("two") }));
    assert_eq!(open(&board), ["sum"]);
    let sum = board.plan().task("sum").unwrap();
    assert_eq!(board.inputs(sum).unwrap()["ids"], json!([1, 2]));
    assert!(!board.is_over() && board.answer().is_none());
    board.take("sum", Note::Ended(gave("three")));
    assert!(board.is_over());
    assert_eq!(board.answer().unwrap().text, "three");
    board.take("sum", Note::Skipped(skipped("late")));
    assert_eq!(board.answer().unwrap().text, "three", "what ended stays so");
    board.take("ghost", Note::Skipped(skipped("none")));
    assert_eq!(board.told(), [""; 0]);
}

#[test]
fn a_value_that_a_result_does_not_have_is_told() {
    let mut board = board();
    board.take("orders", Note::Ended(gave("no list")));
    let sum = board.plan().task("sum").unwrap();
    let missing = board.inputs(sum).unwrap_err();
    assert_eq!((missing.why.as_str(), missing.need.as_str()), ("input", "orders"));
    assert!(missing.words.contains("no place `/ids`"), "{}", missing.words);
}

#[test]
fn what_needs_a_skipped_task_is_lost_with_its_reason() {
    let mut board = board();
    board.take("orders", Note::Skipped(skipped("the endpoint is gone")));
    let lost = board.lost();
    assert_eq!(lost.len(), 1);
    let (task, skipped) = &lost[0];
    assert_eq!((task.as_str(), skipped.need.as_str()), ("sum", "orders"));
    assert!(skipped.words.contains("the endpoint is gone"), "{}", skipped.words);
    board.take("sum", Note::Skipped(skipped.clone()));
    assert!(board.is_over() && board.lost().is_empty() && board.answer().is_none());
    assert_eq!(board.told().len(), 2);
}

#[test]
fn reasons_are_kept_for_the_next_attempt() {
    let mut board = board();
    board.take("orders", Note::Begun { agent: "find-orders".to_owned(), attempt: 1 });
    let refusals =
        vec![message::Refusal::new(message::Reason::MissingSource, "/messages/0", "cite")];
    board.take("orders", Note::Refused { attempt: 1, refusals: refusals.clone() });
    board.take("orders", Note::Begun { agent: "find-orders".to_owned(), attempt: 2 });
    let standing = Standing::Begun { attempt: 2, refusals, is_on: true };
    assert_eq!(board.standing("orders"), Some(&standing));
}

#[test]
fn a_note_is_the_same_again_after_the_record() {
    let refusal = message::Refusal::new(message::Reason::LowConfidence, "/messages/0", "cite");
    for note in [
        Note::Begun { agent: "find-orders".to_owned(), attempt: 1 },
        Note::Refused { attempt: 1, refusals: vec![refusal] },
        Note::Ended(gave("done")),
        Note::Skipped(skipped("gone")),
    ] {
        let kept = serde_json::to_value(&note).unwrap();
        assert_eq!(serde_json::from_value::<Note>(kept).unwrap(), note);
    }
}
