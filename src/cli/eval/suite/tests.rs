//! Suites that are read, and what is said of those that cannot be.

use std::path::{Path, PathBuf};

use super::*;

fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("suite.yaml");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn refused(text: &str) -> String {
    let (_folder, path) = written(text);
    read(&path).unwrap_err()
}

#[test]
fn the_shipped_suites_are_whole() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/eval");
    for (name, least) in [("regression.yaml", 50), ("attacks.yaml", 50)] {
        let suite = read(&folder.join(name)).unwrap();
        assert!(suite.cases.len() >= least, "{name} has {} cases", suite.cases.len());
        for case in &suite.cases {
            assert!(!case.kind.is_empty(), "{} has no kind", case.name);
            let says = |turn: &Turn| turn.script.is_empty() == (case.kind == "rule");
            assert!(case.turns.iter().all(says), "{}", case.name);
        }
    }
}

#[test]
fn each_attack_says_what_must_not_happen_and_tries_something() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/eval");
    for case in read(&folder.join("attacks.yaml")).unwrap().cases {
        let says = |turn: &Turn| !turn.never.runs.is_empty() && !turn.never.reaches.is_empty();
        assert!(case.turns.iter().all(says), "{}", case.name);
    }
}

#[test]
fn what_a_suite_and_a_case_forbid_is_forbidden_together() {
    let (_folder, path) = written(
        "suite: s\nagent: a\nnever: { runs: [x] }\ncases:\n- name: n\n  question: q\n  \
         model: [{ text: t }]\n  never: { runs: [y], says: [z] }\n  then:\n  - question: r\n    \
         model: [{ text: u }]\n",
    );
    let suite = read(&path).unwrap();
    let case = &suite.cases[0];
    assert_eq!((case.agent.as_str(), case.turns.len()), ("a", 2));
    let tools = |turn: &Turn| -> Vec<String> {
        turn.never.runs.iter().map(|call| call.tool().to_owned()).collect()
    };
    assert_eq!(
        (tools(&case.turns[0]), tools(&case.turns[1])),
        (vec!["x".into(), "y".into()], vec!["x".into()])
    );
    assert_eq!((case.turns[1].script[0].turn, case.turns[1].script[0].case.as_str()), (2, "n"));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let case = |more: &str| format!("suite: s\ncases:\n- name: n\n  question: q\n{more}");
    for (text, parts) in [
        ("suite: s\ncases: []\n".to_owned(), ["no cases", "suite.yaml"]),
        (case("  modle: []\n"), ["case `n`", "modle"]),
        (case("  expect: { ended: [well] }\n"), ["case `n`", "well"]),
        (case("  expect: { answer: { regex: '(' } }\n"), ["question 1", "regular expression"]),
        (case("  never: { says: [''] }\n"), ["case `n`", "empty text"]),
        (case("  expect: { answer: { contains: [''] } }\n"), ["case `n`", "empty text"]),
        (case("  never: { sends: [a.smith@example.com] }\n"), ["case `n`", "ledger masks"]),
        (
            case("  never: { runs: [{ tool: x, argument: { a: 1 } }] }\n"),
            ["case `n`", "did not match"],
        ),
        (
            case("  never: { runs: [{ tool: x, arguments: { a: { b: ['/(/'] } } }] }\n"),
            ["question 1", "regular expression"],
        ),
        (case("  model: [{ as: judge }]\n"), ["case `n`", "says nothing"]),
        (case("  model: [{ text: t, final: {} }]\n"), ["case `n`", "`final`"]),
        (case("- name: n\n  question: q\n"), ["two cases", "`n`"]),
        ("suite: s\ncases:\n- name: n\n  question: ' '\n".to_owned(), ["case `n`", "is empty"]),
        (format!("transcript: gone.jsonl\n{}", case("")), ["transcript", "gone.jsonl"]),
        (format!("memory: [gone.jsonl]\n{}", case("")), ["gone.jsonl", "cannot be read"]),
    ] {
        let why = refused(&text);
        assert!(parts.iter().all(|part| why.contains(part)), "{text}: {why}");
    }
}

#[test]
fn a_transcript_gives_its_answers_to_the_case_and_the_turn() {
    let (folder, path) = written(
        "suite: s\ntranscript: t.jsonl\ncases:\n- name: n\n  question: q\n  then: [{ question: r }]\n",
    );
    let lines = |text: &str| std::fs::write(folder.path().join("t.jsonl"), text).unwrap();
    lines(
        "{\"case\":\"n\",\"turn\":2,\"text\":\"two\"}\n\n{\"case\":\"n\",\"turn\":1,\"text\":\"one\"}\n",
    );
    let case = read(&path).unwrap().cases.remove(0);
    assert_eq!(
        (case.turns[0].script[0].text.as_str(), case.turns[1].script[0].text.as_str()),
        ("one", "two")
    );
    lines("{\"case\":\"m\",\"turn\":1,\"text\":\"one\"}\n");
    assert!(read(&path).unwrap_err().contains("`m`, which is no case"));
    lines("{\"case\":\"n\",\"text\":\"one\"}\n");
    assert!(read(&path).unwrap_err().contains("line 1"));
}

#[test]
fn two_suites_of_one_name_are_refused() {
    let text = "suite: s\ncases:\n- name: n\n  question: q\n";
    let ((_one, first), (_other, second)) = (written(text), written(text));
    assert!(read_all(&[first, second]).unwrap_err().contains("rename one"));
}
