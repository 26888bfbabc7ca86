//! Reading of units and questions, counting.

mod shipped;

use std::time::Duration;

use super::questions::{self, Labelled};
use super::score::Tally;
use super::{Report, plot, units};
use crate::memory::{Compare, Question, Recalled};

fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

#[test]
fn lean_units_are_turns_in_the_order_of_the_file() {
    let file = file(concat!(
        "{\"id\":\"D1:1\",\"speaker\":\"Ana\",\"time\":\"1:56 pm on 8 May, 2023\",\"text\":\"Hi\"}\n\n",
        "{\"id\":2,\"speaker\":\"Ben\",\"time\":\"2023-05-08\",\"text\":\"Hello\"}\n",
        "{\"id\":\"x\",\"text\":\"no turn\",\"time\":\"some day\"}\n",
    ));
    let read = units::read(file.path()).unwrap();
    let [first, second, third] = read.as_slice() else { panic!("{read:?}") };
    assert_eq!(first.source_time.as_deref(), Some("2023-05-08T13:56:00Z"));
    assert_eq!(first.group, second.group);
    assert!(first.position < second.position);
    assert_eq!(
        (second.source_id.as_str(), second.source_time.as_deref()),
        ("2", Some("2023-05-08T00:00:00Z"))
    );
    assert_eq!((third.group.as_str(), third.key.as_str(), third.position), ("", "some day", None));
}

#[test]
fn a_wrong_line_is_named() {
    let file = file("{\"id\":\"1\",\"text\":\"a\"}\n{\"id\":\"2\"}\n");
    let error = units::read(file.path()).unwrap_err().to_string();
    assert!(error.contains("line 2"), "{error}");
    let error = questions::read(file.path()).unwrap_err().to_string();
    assert!(error.contains("line 2"), "{error}");
}

#[test]
fn questions_carry_dates_filters_and_places() {
    let file = file(concat!(
        "{\"id\":\"q\",\"text\":\"nearest\",\"as_of\":\"2024-02-01\",\"near\":{\"latitude\":30.5,",
        "\"longitude\":114.3,\"types\":[\"store\"],\"metres\":500},\"filters\":[{\"field\":\"line\",",
        "\"compare\":\"least\",\"values\":[2]}],\"relevant\":[\"a\"],\"note\":\"for people\"}\n",
    ));
    let all = questions::read(file.path()).unwrap();
    let question = &all.first().unwrap().question;
    assert_eq!(question.as_of, Some("2024-02-01T00:00:00Z".parse().unwrap()));
    assert_eq!(question.filters.first().unwrap().compare, Compare::Least);
    assert!(question.nearest.is_some() && question.spot.is_some());
}

fn labelled(id: &str, relevant: &[&str], never: &[&str]) -> Labelled {
    let own = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    Labelled {
        id: id.to_owned(),
        language: "en".to_owned(),
        kind: "-".to_owned(),
        question: Question::default(),
        relevant: own(relevant),
        never: own(never),
    }
}

fn answer(ids: &[&str]) -> Recalled {
    let hit = |id: &&str| {
        let mut version = crate::memory::recall::tests::version(1, "x");
        version.draft.source_id = (*id).to_owned();
        crate::memory::recall::tests::found(version)
    };
    Recalled { hits: ids.iter().map(hit).collect(), ..Recalled::default() }
}

#[test]
fn recall_is_the_share_of_the_evidence_within_the_first_hits() {
    let mut tally = Tally::default();
    tally.add(
        &labelled("1", &["a", "b"], &[]),
        &answer(&["x", "a", "y", "z", "b"]),
        Duration::ZERO,
    );
    tally.add(&labelled("2", &["c"], &["y"]), &answer(&["c", "y"]), Duration::ZERO);
    tally.add(&labelled("3", &["d"], &[]), &answer(&[]), Duration::ZERO);
    tally.add(&labelled("4", &[], &["q"]), &answer(&["q"]), Duration::ZERO);
    let line = tally.line();
    let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
    let [one, three, five, ..] = line.recall;
    assert!(near(one, 1.0 / 3.0) && near(three, 1.5 / 3.0) && near(five, 2.0 / 3.0), "{line:?}");
    assert!(near(line.mrr, 0.5), "{line:?}");
    assert_eq!((line.questions, line.never), (4, 2));
    assert_eq!(tally.violations.first().unwrap().unit, "y");
}

#[test]
fn a_report_is_a_table_and_a_plot() {
    let mut tally = Tally::default();
    let questions = [labelled("1", &["a"], &[])];
    tally.add(&questions[0], &answer(&["a"]), Duration::from_millis(3));
    let mut report = Report::new(&questions, &tally, None);
    report.top_k = vec![(1, 1.0), (50, 1.0)];
    report.without = vec![(crate::memory::Sense::Words, tally.line())];
    let table = report.to_string();
    assert!(table.contains("R@10") && table.contains("without words"), "{table}");
    let out = tempfile::NamedTempFile::new().unwrap();
    plot::draw(&report, out.path()).unwrap();
    let svg = std::fs::read_to_string(out.path()).unwrap();
    assert!(
        svg.contains("<svg") && svg.contains("without words") && svg.contains("polyline"),
        "{svg}"
    );
}

#[tokio::test]
async fn a_memory_of_units_is_built_measured_and_removed() {
    let turns = file(concat!(
        "{\"id\":\"t1\",\"speaker\":\"Ana\",\"time\":\"2023-05-08\",\"text\":\"Which grease for the gland?\"}\n",
        "{\"id\":\"t2\",\"speaker\":\"Ben\",\"time\":\"2023-05-08\",\"text\":\"The white one.\"}\n",
        "{\"id\":\"t3\",\"speaker\":\"Ana\",\"time\":\"2023-05-08\",\"text\":\"Thanks!\"}\n",
        "{\"id\":\"t4\",\"speaker\":\"Ben\",\"time\":\"2023-05-09\",\"text\":\"Lunch at noon?\"}\n",
    ));
    let questions = file(
        "{\"id\":\"q\",\"text\":\"What grease is used for the gland?\",\"relevant\":[\"t2\"],\"never\":[\"t4\"]}\n",
    );
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("ranking.jsonl");
    let options = super::Options {
        questions: questions.path().to_owned(),
        over: super::Over {
            units: turns.path().to_owned(),
            policies: None,
            embedder: None,
            config: Box::default(),
        },
        out: Some(out.clone()),
        plot: Some(folder.path().join("plot.svg")),
        sweep: true,
        ablate: true,
    };
    let steps = std::sync::Mutex::new(Vec::new());
    let report = super::run(&options, &|step| steps.lock().unwrap().push(step)).await.unwrap();
    assert_eq!(report.units, Some(vec![("stored".to_owned(), 4)]), "{report}");
    let [one, three, ..] = report.all.recall;
    assert!(one < 0.5 && three > 0.5, "{report}");
    let (_, without) =
        report.without.iter().find(|(sense, _)| *sense == crate::memory::Sense::Neighbour).unwrap();
    assert!(without.recall.iter().all(|recall| *recall < 0.5), "{report}");
    let ranking: serde_json::Value =
        serde_json::from_str(std::fs::read_to_string(out).unwrap().trim()).unwrap();
    assert_eq!((&ranking["id"], &ranking["ranking"][0]["id"]), (&"q".into(), &"t1".into()));
    let steps = steps.into_inner().unwrap();
    let last = steps.last().unwrap();
    assert_eq!((last.stage, last.done), ("asking", last.total));
}

#[tokio::test]
async fn neighbours_bring_up_turns_of_conversations() {
    let folder =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/memory/conversation");
    let options = super::Options {
        questions: folder.join("questions.jsonl"),
        over: super::Over {
            units: folder.join("units.jsonl"),
            policies: None,
            embedder: None,
            config: Box::default(),
        },
        out: None,
        plot: None,
        sweep: false,
        ablate: true,
    };
    let report = super::run(&options, &|_| {}).await.unwrap();
    let at_ten = |line: &super::Line| line.recall[3];
    let (_, alone) =
        report.without.iter().find(|(sense, _)| *sense == crate::memory::Sense::Neighbour).unwrap();
    // Without vectors: half of the questions share no words with their answers.
    assert!(at_ten(&report.all) > 0.6 && at_ten(alone) < at_ten(&report.all) - 0.1, "{report}");
}

/// `SWITCHBOARD_EVAL=folder SWITCHBOARD_MODEL=folder cargo test --lib eval::tests::a_set -- --ignored
/// --nocapture`: a folder with `units.jsonl`, `questions.jsonl` and perhaps `policies`. Data that may
/// not be shipped is measured so.
#[tokio::test]
#[ignore = "needs a set and a model that the caller names"]
async fn a_set_that_is_named_is_measured() {
    let named = |name: &str| std::env::var_os(name).map(std::path::PathBuf::from);
    let folder = named("SWITCHBOARD_EVAL").expect("SWITCHBOARD_EVAL names a folder");
    let embedder = named("SWITCHBOARD_MODEL").map(|model| {
        let config = crate::memory::embed::Config {
            local: crate::memory::embed::Local { folder: model, threads: Some(1) },
            ..crate::memory::embed::Config::default()
        };
        crate::memory::embed::open(&config, &tokio_util::task::TaskTracker::new()).unwrap()
    });
    let policies = Some(folder.join("policies")).filter(|path| path.exists());
    let options = super::Options {
        questions: folder.join("questions.jsonl"),
        over: super::Over {
            units: folder.join("units.jsonl"),
            policies,
            embedder: embedder.flatten(),
            config: Box::default(),
        },
        out: named("SWITCHBOARD_EVAL_OUT"),
        plot: None,
        sweep: true,
        ablate: true,
    };
    let report = super::run(&options, &|_| {}).await.unwrap();
    println!("{report}");
    assert!(report.all.questions > 0);
}
