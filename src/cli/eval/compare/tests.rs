//! Two results side by side.

use super::*;

fn case(name: &str, score: f64, forbidden: usize) -> CaseReport {
    CaseReport {
        suite: "s".into(),
        name: name.into(),
        kind: "k".into(),
        score,
        passed: score > 0.9,
        forbidden,
        wrong: if score < 1.0 { vec![format!("question 1: {name}: bad")] } else { Vec::new() },
        ..CaseReport::default()
    }
}

fn report(label: &str, cases: Vec<CaseReport>) -> Report {
    Report { label: label.into(), sum: Sum::of(cases.iter()), cases, ..Report::default() }
}

fn two() -> Comparison {
    let before = vec![
        case("up", 0.5, 0),
        case("down", 1.0, 0),
        case("same", 1.0, 0),
        case("gone", 1.0, 0),
        case("leak", 0.0, 0),
    ];
    let after = vec![
        case("up", 1.0, 0),
        case("down", 0.5, 0),
        case("same", 1.0, 0),
        case("new", 1.0, 0),
        case("leak", 0.0, 1),
    ];
    Comparison::of(&report("version one", before), &report("version two", after))
}

#[test]
fn cases_are_better_worse_new_gone_or_as_they_were() {
    let comparison = two();
    let told: Vec<(&str, Change)> =
        comparison.cases.iter().map(|pair| (pair.name.as_str(), pair.change)).collect();
    let wanted = [
        ("s/down", Change::Worse),
        ("s/leak", Change::Worse),
        ("s/gone", Change::Gone),
        ("s/up", Change::Better),
        ("s/new", Change::New),
        ("s/same", Change::Same),
    ];
    assert_eq!(told, wanted);
    assert_eq!(comparison.cases[0].wrong, ["question 1: down: bad"]);
    assert!(comparison.cases[1].wrong.is_empty(), "it was wrong before");
    let text = comparison.to_string();
    for part in [
        "A: version one",
        "B: version two",
        "s/k",
        "worse",
        "2 worse, 1 gone, 1 better, 1 new, 1 same",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn the_plot_has_a_bar_for_each_version_of_each_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plot.svg");
    plot::draw(&two(), &path).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.starts_with("<svg"), "{text}");
    for part in ["Score by suite", "\nversion one\n", "\nversion two\n", "\ns/k\n", "\nall\n"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn the_plot_names_each_row_however_many_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plot.svg");
    for count in [1_usize, 2, 5, 9, 14, 23, 41] {
        let cases = |score| {
            let case = |at: usize| CaseReport {
                kind: format!("kind{at}"),
                ..case(&at.to_string(), score, 0)
            };
            (0..count).map(case).collect()
        };
        let (one, other) = (report("one", cases(1.0)), report("a < b & c", cases(0.5)));
        plot::draw(&Comparison::of(&one, &other), &path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let missing: Vec<usize> =
            (0..count).filter(|at| !text.contains(&format!("\ns/kind{at}\n"))).collect();
        assert!(missing.is_empty() && text.contains("a &lt; b &amp; c"), "{count}: {missing:?}");
    }
}
