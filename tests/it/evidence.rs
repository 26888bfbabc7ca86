//! `switchboard trace` without a daemon: what it verifies, what it refuses, and how it says so.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::daemon::BINARY;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn traces(kind: &str) -> Vec<PathBuf> {
    let folder = root().join("tests/fixtures/traces").join(kind);
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

fn verify(file: &Path, more: &[&str]) -> Output {
    let mut line = Command::new(BINARY);
    line.args(["trace", "verify"]).arg(file).args(more).stdin(Stdio::null());
    line.output().unwrap()
}

#[test]
fn traces_that_hold_are_verified_also_against_the_declared_rules() {
    let policies = root().join("policies");
    for file in traces("good") {
        let output = verify(&file, &["--catalog", &policies.to_string_lossy()]);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{}: {output:?}", file.display());
        assert!(told.starts_with("verified: run "), "{told}");
    }
}

#[test]
fn traces_that_do_not_hold_are_refused_with_a_reason_and_a_place() {
    let text = std::fs::read_to_string(root().join("tests/fixtures/traces/refused.toml")).unwrap();
    let cases: toml::Table = toml::from_str(&text).unwrap();
    let cases = cases["case"].as_array().unwrap();
    assert!(cases.len() >= 20 && cases.len() == traces("refused").len());
    for case in cases {
        let of = |key: &str| case[key].as_str().unwrap();
        let file = root().join("tests/fixtures/traces/refused").join(of("file"));
        let output = verify(&file, &["--json"]);
        assert_eq!(output.status.code(), Some(1), "{}: {output:?}", of("file"));
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["verified"], false);
        let refusals = told["refusals"].as_array().unwrap();
        let is_it = |one: &&Value| one["reason"] == of("reason") && one["place"] == of("place");
        assert!(refusals.iter().any(|one| is_it(&one)), "{}: {told}", of("file"));
    }
}

#[test]
fn what_is_no_trace_is_refused_and_what_is_no_file_is_wrong_usage() {
    let output = verify(&root().join("Cargo.toml"), &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("it is no trace"), "{output:?}");
    assert_eq!(verify(Path::new("/no/such/file"), &[]).status.code(), Some(2));
    let schema = Command::new(BINARY).args(["trace", "schema"]).output().unwrap();
    let told: Value = serde_json::from_slice(&schema.stdout).unwrap();
    assert_eq!(told["$defs"]["operator"]["enum"][0], "<");
}
