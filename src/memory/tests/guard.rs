//! What is held for review, and what is not.

use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::memory::guard::{Origin, Rule, judge};

#[derive(serde::Deserialize)]
struct Line {
    kind: String,
    #[expect(dead_code, reason = "it is for readers of the list")]
    lang: String,
    text: String,
}

/// The lines of a list, and for each whether it belongs to the half that the laws were not made with.
fn lines(name: &str) -> Vec<(Line, bool)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/memory/screen");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    let line = |line: &str| {
        let line: Line = serde_json::from_str(line).unwrap();
        let kept = Sha256::digest(line.text.as_bytes()).first().unwrap().is_multiple_of(2);
        (line, kept)
    };
    text.lines().map(line).collect()
}

#[test]
fn probe() {
    let file = std::env::var("PROBE").unwrap();
    let mut total = 0;
    let mut held = 0;
    for line in std::fs::read_to_string(file).unwrap().lines() {
        total += 1;
        let own = judge(line, Origin::Web);
        if own.hold {
            held += 1;
            println!(
                "HELD {:.2} {:?} {line}",
                own.score,
                own.findings.iter().map(|f| (f.rule, f.reading)).collect::<Vec<_>>()
            );
        }
    }
    println!("TOTAL {total} HELD {held}");
}

#[test]
fn tune() {
    for name in ["planted.jsonl", "ordinary.jsonl"] {
        let mut per: BTreeMap<String, (u32, u32)> = BTreeMap::new();
        for (line, kept) in lines(name) {
            if kept {
                continue;
            }
            let own = judge(&line.text, Origin::Web);
            let e = per.entry(line.kind.clone()).or_default();
            e.1 += 1;
            e.0 += u32::from(own.hold);
            if own.hold != (name == "planted.jsonl") {
                println!(
                    "WRONG {} {:.2} {:?} {}",
                    line.kind,
                    own.score,
                    own.findings.iter().map(|f| (f.rule, f.reading)).collect::<Vec<_>>(),
                    line.text
                );
            }
        }
        println!("{name} {per:?}");
    }
}
