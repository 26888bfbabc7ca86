//! What the memory reaches on the sets that ship with it, with the default model: how much of what
//! answers a question is among the first, and that nothing that was planted or has expired is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::super::{Line, Options, Over, Report, run};
use crate::memory::embed::{self, Embedder};

/// Place of `R@10` and `R@20` in a line.
const TEN: usize = 3;
const TWENTY: usize = 4;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/memory").join(name)
}

fn embedder() -> Arc<dyn Embedder> {
    let model = std::env::var_os("SWITCHBOARD_MODEL")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/model"), PathBuf::from);
    assert!(model.is_dir(), "no model in {}; run `deploy/model.sh`", model.display());
    let local = embed::Local { folder: model, ..embed::Local::default() };
    let config = embed::Config { local, ..embed::Config::default() };
    embed::open(&config, &tokio_util::task::TaskTracker::new()).unwrap().unwrap()
}

/// The figures, and what was found for each question.
async fn measured(
    set: &Path,
    policies: Option<PathBuf>,
) -> (Report, BTreeMap<String, Vec<String>>) {
    let out = tempfile::NamedTempFile::new().unwrap();
    let options = Options {
        questions: set.join("questions.jsonl"),
        over: Over {
            units: set.join("units.jsonl"),
            policies,
            embedder: Some(embedder()),
            config: Box::default(),
        },
        out: Some(out.path().to_owned()),
        plot: None,
        sweep: false,
        ablate: false,
    };
    let report = run(&options, &|_| {}).await.unwrap();
    println!("{report}");
    let ids = |line: &Value| -> Vec<String> {
        let hits = line["ranking"].as_array().unwrap().iter();
        hits.map(|hit| hit["id"].as_str().unwrap().to_owned()).collect()
    };
    let found = lines(out.path());
    let found = found.iter().map(|line| (line["id"].as_str().unwrap().to_owned(), ids(line)));
    (report, found.collect())
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kind<'r>(report: &'r Report, name: &str) -> &'r Line {
    &report.kinds.iter().find(|(kind, _)| kind == name).unwrap().1
}

/// Ids of the units of which this is so.
fn units(set: &Path, is: impl Fn(&str, &Value) -> bool) -> BTreeSet<String> {
    let all = lines(&set.join("units.jsonl"));
    let id = |unit: &Value| unit["source_id"].as_str().unwrap().to_owned();
    all.iter().filter(|unit| is(&id(unit), unit)).map(id).collect()
}

#[tokio::test]
async fn the_shipped_set_is_answered_and_what_was_planted_stays_out() {
    let set = folder("");
    let (report, found) = measured(&set, Some(set.join("policies"))).await;
    let planted = units(&set, |id, _| id.starts_with("px-"));
    let disputed = units(&set, |id, _| id.starts_with("cf-"));
    let all = units(&set, |_, _| true);
    let stages: BTreeMap<&str, usize> =
        report.units.iter().flatten().map(|(name, count)| (name.as_str(), *count)).collect();
    let honest = all.len() - planted.len() - disputed.len();
    let wanted = BTreeMap::from([
        ("held", disputed.len()),
        ("quarantined", planted.len()),
        ("stored", honest),
    ]);
    assert_eq!(stages, wanted, "{report}");
    for (question, hits) in &found {
        let hostile = hits.iter().find(|id| planted.contains(*id) || disputed.contains(*id));
        assert_eq!(hostile, None, "{question}");
    }
    assert_eq!(report.all.never, 0, "{report}");
    assert!(report.all.recall[TEN] >= 0.9, "{report}");
    for (language, line) in &report.languages {
        assert!(line.recall[TEN] >= 0.87, "{language}: {report}");
    }
    expired_stay_out(&set, &report, &found);
}

/// What has expired is no answer for today, and is one for the day that is asked about.
fn expired_stay_out(set: &Path, report: &Report, found: &BTreeMap<String, Vec<String>>) {
    let now = Timestamp::now();
    let over = |text: &str| {
        let day = text.get(..10).unwrap_or(text);
        // A day has ended everywhere two days after it began in UTC.
        let begun: Timestamp = format!("{day}T00:00:00Z").parse().unwrap();
        begun + jiff::SignedDuration::from_hours(48) < now
    };
    let expired = units(set, |_, unit| unit["valid_to"].as_str().is_some_and(over));
    assert!(expired.len() >= 15, "{expired:?}");
    for question in lines(&set.join("questions.jsonl")) {
        let hits = &found[question["id"].as_str().unwrap()];
        if question["as_of"].is_null() {
            let old = hits.iter().find(|id| expired.contains(*id));
            assert_eq!(old, None, "{question}");
        }
    }
    assert!(kind(report, "as-of").recall[TEN] >= 0.9, "{report}");
}

#[tokio::test]
async fn the_shipped_conversations_are_answered() {
    let (report, _) = measured(&folder("conversation"), None).await;
    let recall = report.all.recall;
    assert!(recall[TEN] >= 0.875 && recall[TWENTY] >= 0.91, "{report}");
}
