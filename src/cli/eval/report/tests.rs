//! Scores.

use super::*;

fn found(check: &str, wrong: &str, forbidden: bool) -> Found {
    Found { check: check.into(), wrong: wrong.into(), forbidden }
}

#[test]
fn a_score_is_the_share_that_holds_and_nothing_where_something_forbidden_happened() {
    let mut case = CaseReport::default();
    case.take(1, &[found("a", "", false), found("b", "bad", false), found("c", "", true)]);
    assert!((case.score - 2.0 / 3.0).abs() < 1e-9 && !case.passed && case.forbidden == 0);
    case.take(2, &[found("d", "", false)]);
    assert!((case.score - 0.75).abs() < 1e-9);
    assert_eq!(case.wrong, ["question 1: b: bad"]);
    case.take(3, &[found("e", "it ran", true)]);
    assert!(case.score == 0.0 && case.forbidden == 1);
}

#[test]
fn sums_are_told_by_suite_and_kind() {
    let case = |kind: &str, score: f64| CaseReport {
        suite: "s".into(),
        kind: kind.into(),
        score,
        passed: score > 0.9,
        ..CaseReport::default()
    };
    let report =
        Report { cases: vec![case("x", 1.0), case("y", 0.5), case("", 0.0)], ..Report::default() };
    let rows: Vec<(String, usize, usize)> =
        report.rows().into_iter().map(|(name, sum)| (name, sum.cases, sum.passed)).collect();
    assert_eq!(rows, [("s".into(), 3, 1), ("s/x".into(), 1, 1), ("s/y".into(), 1, 0)]);
    assert!((Sum::of(report.cases.iter()).score - 0.5).abs() < 1e-9);
}
