mod charmap;
mod local;
mod points;
mod remote;
mod tokenizer;

use std::path::PathBuf;

/// The folder of the default model.
fn folder() -> PathBuf {
    let folder = std::env::var_os("SWITCHBOARD_MODEL").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/target/model")),
        PathBuf::from,
    );
    let there = folder.join("model.toml").is_file();
    assert!(there, "no model in {}; run `deploy/model.sh`", folder.display());
    folder
}

/// Questions and what answers them, one pair a line.
fn pairs(text: &str) -> Vec<(String, String)> {
    text.lines()
        .map(|line| {
            let (question, passage) = line.split_once('\t').unwrap();
            (question.to_owned(), passage.to_owned())
        })
        .collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
