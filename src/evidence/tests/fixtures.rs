//! The traces that are shipped for reviewers: those in `good` hold, each in `refused` is refused for what
//! `refused.toml` says.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::evidence::{Trace, check};

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    file: String,
    reason: String,
    place: String,
    why: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/traces")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

#[test]
fn good_traces_hold() {
    let all = files(&folder().join("good"));
    assert!(all.len() >= 3);
    for file in all {
        let trace: Trace = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(check(&trace), Vec::new(), "{}", file.display());
    }
}

#[test]
fn each_tampered_trace_is_refused_for_what_was_done_to_it() {
    let text = std::fs::read_to_string(folder().join("refused.toml")).unwrap();
    let cases: Cases = toml::from_str(&text).unwrap();
    let all = files(&folder().join("refused"));
    assert!(cases.case.len() >= 20);
    assert_eq!(all.len(), cases.case.len(), "each file has its case");
    for case in cases.case {
        let file = folder().join("refused").join(&case.file);
        let text = std::fs::read_to_string(&file).unwrap();
        let wrong = match serde_json::from_str::<Trace>(&text) {
            Ok(trace) => check(&trace),
            Err(error) => {
                assert_eq!(case.reason, "FORM", "{}: {error}", case.file);
                continue;
            }
        };
        let is_it =
            wrong.iter().any(|one| one.reason.as_str() == case.reason && one.place == case.place);
        assert!(is_it, "{} ({}): {wrong:#?}", case.file, case.why);
    }
}
