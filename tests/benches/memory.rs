//! The memory's embedded store beside chromadb: the same units, vectors, filters and questions, each
//! side in processes of its own, in turns. `MEMORY_PEER` names a Python that has the peer (`run.sh`
//! makes one); without it only ours is measured. `MEMORY_BENCH_MILLION=1` adds a million units of ours,
//! `MEMORY_BENCH_UNITS` sets another number for all the rest, which the bars are not made for.

mod data;
mod fts5;
mod ours;
mod service;

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::measure::{Samples, figure, row};
use data::{Files, Width, overlap};

const UNITS: usize = 100_000;
const MILLION: usize = 1_000_000;
const QUESTIONS: usize = 100;
/// The peer takes half a second for a question.
const ROUNDS: usize = 2;
const SIZE: &str = "MEMORY_BENCH_UNITS";
/// What a process of ours is told to do, and in which folder.
const ROLE: &str = "MEMORY_BENCH_ROLE";
const FOLDER: &str = "MEMORY_BENCH_FOLDER";

pub async fn run() {
    let told = |key| std::env::var_os(key)?.into_string().ok();
    let (Some(role), Some(folder)) = (told(ROLE), told(FOLDER)) else { return compare().await };
    let files = Files::new(Path::new(&folder));
    let out = match role.as_str() {
        "fill" => vec![ours::fill(&files, "ours.db", true).await],
        "fill-bare" => vec![ours::fill(&files, "bare.db", false).await],
        "words" => ours::words(&files, "bare.db").await,
        "fts5-fill" => vec![fts5::fill(&files)],
        "fts5-ask" => fts5::ask(&files),
        _ => ours::ask(&files, "ours.db").await,
    };
    out.iter().for_each(|value| println!("{value}"));
}

async fn compare() {
    let folder = tempfile::TempDir::new().unwrap();
    let files = Files::new(folder.path());
    let told = std::env::var_os(SIZE);
    let units = told.map_or(UNITS, |units| units.to_str().unwrap().parse().unwrap());
    files.make(units, QUESTIONS.min(units));
    row("memory.units", units, "units");
    service::run("memory.service", &files, units).await;
    filled("memory", &files);
    words(&files);
    let peer = std::env::var_os("MEMORY_PEER");
    if let Some(python) = &peer {
        let filled = peer_says(python, "fill", &files);
        row("memory.chroma.version", filled[0]["version"].as_str().unwrap(), "");
        figure("memory.chroma.import.rate", number(&filled[0], "rate"), "units/s");
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(says("ask", &files));
        theirs.extend(peer.iter().map(|python| peer_says(python, "ask", &files)));
    }
    let exact = Width::ALL.map(|width| files.exact(width));
    let mine = report("memory", &ours, &exact);
    if !theirs.is_empty() {
        let peers = report("memory.chroma", &theirs, &exact);
        for (width, (mine, theirs)) in Width::ALL.into_iter().zip(mine.into_iter().zip(peers)) {
            figure(&format!("memory.{}.times", width.name()), mine / theirs, "of chromadb's");
        }
    }
    drop(folder);
    if std::env::var_os("MEMORY_BENCH_MILLION").is_some() {
        million();
    }
}

fn million() {
    let folder = tempfile::TempDir::new().unwrap();
    let files = Files::new(folder.path());
    files.make(MILLION, QUESTIONS);
    row("memory_million.units", MILLION, "units");
    filled("memory_million", &files);
    let answers = [says("ask", &files)];
    report("memory_million", &answers, &Width::ALL.map(|width| files.exact(width)));
}

/// Imports with vectors that are there already, and without any.
fn filled(name: &str, files: &Files) {
    for (role, what) in [("fill-bare", "import"), ("fill", "import_vectors")] {
        let filled = says(role, files);
        figure(&format!("{name}.{what}.rate"), number(&filled[0], "rate"), "units/s");
        figure(&format!("{name}.{what}.peak"), number(&filled[0], "peak"), "MiB");
        figure(&format!("{name}.{what}.size"), number(&filled[0], "bytes") / 1e6, "MB");
        figure(&format!("{name}.{what}.processor"), number(&filled[0], "each"), "us/unit");
    }
}

/// The words of the store in memory, beside the same in FTS5.
fn words(files: &Files) {
    let filled = says("fts5-fill", files);
    figure("memory.fts5.import.rate", number(&filled[0], "rate"), "units/s");
    figure("memory.fts5.import.processor", number(&filled[0], "each"), "us/unit");
    figure("memory.fts5.import.size", number(&filled[0], "bytes") / 1e6, "MB");
    let own = says("words", files);
    figure("memory.words.start.processor", number(&own[0], "processor"), "ms");
    let mut found: Vec<Vec<Vec<u64>>> = Vec::new();
    for (name, answer) in [("words", own), ("fts5", says("fts5-ask", files))] {
        let took: Vec<f64> = serde_json::from_value(answer[0]["took"].clone()).unwrap();
        let took: Samples = took.into_iter().collect();
        figure(&format!("memory.{name}.start"), number(&answer[0], "start"), "ms");
        figure(&format!("memory.{name}.resident"), number(&answer[0], "resident"), "MiB");
        figure(&format!("memory.{name}.p50"), took.median(), "ms");
        figure(&format!("memory.{name}.p95"), took.quantile(0.95), "ms");
        found.push(serde_json::from_value(answer[0]["found"].clone()).unwrap());
    }
    figure("memory.words.overlap", overlap(&found[1], &found[0]), "of FTS5's 60");
}

/// Prints what the rounds of one side show; answers how many questions it takes a second, by width.
fn report(name: &str, rounds: &[Vec<Value>], exact: &[Vec<Vec<u64>>; 2]) -> Vec<f64> {
    let all = |key: &str, of: fn(&[Value]) -> &Value| {
        rounds.iter().map(|round| number(of(round), key)).collect::<Samples>()
    };
    figure(&format!("{name}.start"), all("start", first).median(), "ms");
    figure(&format!("{name}.start.processor"), all("processor", first).least(), "ms");
    figure(&format!("{name}.resident"), all("resident", first).most(), "MiB");
    figure(&format!("{name}.peak"), all("peak", last).most(), "MiB");
    let mut rates = Vec::new();
    for (width, exact) in Width::ALL.into_iter().zip(exact) {
        for layers in [false, true] {
            let asked = |answer: &&Value| {
                answer["width"] == width.name()
                    && answer["layers"].as_bool().unwrap_or_default() == layers
            };
            let answers: Vec<&Value> = rounds.iter().flatten().filter(asked).collect();
            let Some(answer) = answers.first() else { continue };
            let took: Samples = answers
                .iter()
                .flat_map(|answer| answer["took"].as_array().unwrap())
                .map(|took| took.as_f64().unwrap())
                .collect();
            let name = format!("{name}.{}{}", width.name(), if layers { ".layers" } else { "" });
            figure(&format!("{name}.p50"), took.median(), "ms");
            figure(&format!("{name}.p95"), took.quantile(0.95), "ms");
            if !layers {
                rates.push(1000.0 / took.mean());
                figure(&format!("{name}.rate"), 1000.0 / took.mean(), "questions/s");
                let found: Vec<Vec<u64>> = serde_json::from_value(answer["found"].clone()).unwrap();
                figure(&format!("{name}.overlap"), overlap(exact, &found), "of the exact 20");
            }
        }
    }
    rates
}

fn first(answers: &[Value]) -> &Value {
    answers.first().unwrap()
}

fn last(answers: &[Value]) -> &Value {
    answers.last().unwrap()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no {key} in {value}"))
}

/// A process of ours in a role.
fn says(role: &str, files: &Files) -> Vec<Value> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("memory").env(ROLE, role).env(FOLDER, files.folder());
    lines(&mut command)
}

/// A process of the peer's.
fn peer_says(python: &OsStr, role: &str, files: &Files) -> Vec<Value> {
    let script = Path::new(crate::daemon::ROOT).join("tests/benches/memory/chroma.py");
    lines(Command::new(python).arg(script).arg(role).arg(files.folder()))
}

fn lines(command: &mut Command) -> Vec<Value> {
    let output = command.stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", output.status);
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
