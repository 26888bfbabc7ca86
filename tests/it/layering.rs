//! The structure of the house, held against the source: which room may use which, which crate may
//! be named where, how long a file may be.

use std::path::{Path, PathBuf};

/// The rooms in the order in which a call meets them. A room uses only rooms before it.
const ROOMS: [&str; 20] = [
    "call",
    "pointer",
    "decimal",
    "outward",
    "mask",
    "tokens",
    "admission",
    "catalog",
    "schema",
    "approval",
    "policy",
    "sandbox",
    "screen",
    "normalize",
    "native",
    "batch",
    "model",
    "evidence",
    "ledger",
    "memory",
];
/// Above the rooms: they wire and translate, and no room may use them.
const ABOVE: [&str; 6] = ["pipeline", "reason", "service", "server", "cli", "proto"];
/// A crate, and the only places that may name it.
const FENCES: [(&str, &[&str]); 14] = [
    ("bollard", &["sandbox"]),
    ("yamux", &["sandbox"]),
    ("hickory_resolver", &["sandbox"]),
    ("cedar_policy", &["policy"]),
    ("jsonschema", &["schema"]),
    ("serde_json_path", &["catalog"]),
    ("governor", &["admission"]),
    ("rten", &["memory"]),
    ("rusqlite", &["config", "ledger", "approval", "memory", "model", "reason"]),
    ("tokio_postgres", &["memory"]),
    ("deadpool_postgres", &["memory"]),
    ("geographiclib_rs", &["memory"]),
    // The others name the part of rustls that is called so.
    ("ring", &["ledger", "memory", "outward", "sandbox", "server"]),
    ("tonic", &["service", "server", "proto", "cli"]),
];
const LINES: usize = 450;

fn sources() -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    walk(&root.join("src"), &mut found);
    walk(&root.join("sandbox-images/runner/src"), &mut found);
    found
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path.strip_prefix(root).unwrap().to_owned(), text)
        })
        .collect()
}

fn is_test(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
}

/// The top-level module that a file of the product belongs to.
fn room(path: &Path) -> Option<String> {
    let inside = path.strip_prefix("src").ok()?;
    let first = inside.components().next()?.as_os_str().to_str()?;
    Some(first.trim_end_matches(".rs").to_owned())
}

fn names(text: &str, module: &str) -> bool {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).any(|line| {
        line.match_indices(module).any(|(at, _)| {
            let before = line.get(..at).and_then(|text| text.chars().next_back());
            let after = line.get(at + module.len()..).unwrap_or_default();
            !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
                && after.starts_with("::")
        })
    })
}

/// The modules of this crate that a file names, also inside `use crate::{a, b}`.
fn used(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = text.get(at + "crate::".len()..).unwrap_or_default();
        match rest.strip_prefix('{') {
            Some(list) => {
                let list = list.split('}').next().unwrap_or_default();
                found.extend(list.split(',').map(|item| word(item.trim())));
            }
            None => found.push(word(rest)),
        }
    }
    found
}

fn word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

#[test]
fn a_room_uses_only_the_rooms_before_it() {
    let place = |name: &str| ROOMS.iter().position(|room| *room == name);
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let Some(own) = room(&path).and_then(|room| place(&room)) else {
            continue;
        };
        for name in used(&text) {
            let later = place(name).is_some_and(|at| at > own);
            if (later || ABOVE.contains(&name)) && !is_test(&path) {
                wrong.push(format!("{} uses {name}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_fenced_crate_is_named_only_in_its_room() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let Some(room) = room(&path).filter(|_| !is_test(&path)) else { continue };
        for (name, allowed) in FENCES {
            if names(&text, name) && !allowed.contains(&room.as_str()) {
                wrong.push(format!("{} names {name}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_file_says_what_it_is_for_and_stays_short() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        if is_test(&path) {
            continue;
        }
        if !text.starts_with("//!") {
            wrong.push(format!("{} does not open with `//!`", path.display()));
        }
        let lines = text.lines().count();
        if lines > LINES {
            wrong.push(format!("{} has {lines} lines; {LINES} is the cap", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_path_of_one_call_is_read_in_under_500_lines() {
    let path = ["src/main.rs", "src/server.rs", "src/service/tools.rs", "src/pipeline.rs"];
    let lines = |file: &&str| {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file))
            .unwrap()
            .lines()
            .count()
    };
    let total: usize = path.iter().map(lines).sum();
    assert!(total < 500, "{path:?} have {total} lines together");
}

#[test]
fn every_code_stands_in_the_proto_file_and_the_other_way_round() {
    let proto =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("proto/switchboard/tools/v1/tools.proto");
    let proto = std::fs::read_to_string(proto).unwrap();
    let written: Vec<&str> = proto
        .lines()
        .skip_while(|line| !line.contains("CODES OF A REPLY"))
        .skip(1)
        .take_while(|line| line.starts_with("//"))
        .filter_map(|line| line.strip_prefix("//   ")?.split(' ').next())
        .collect();
    let codes: Vec<&str> = switchboard::call::Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(written, codes);
}

#[test]
fn every_way_a_run_fails_is_told_in_the_proto_file() {
    let proto =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("proto/switchboard/reason/v1/reason.proto");
    let text = std::fs::read_to_string(proto).unwrap();
    let (_, told) = text.split_once("// CODES of `failed`").unwrap();
    let (told, _) = told.split_once("syntax =").unwrap();
    let is_code =
        |word: &&str| word.len() > 3 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let listed: std::collections::BTreeSet<&str> =
        told.lines().filter_map(|line| line.split_whitespace().nth(1)).filter(is_code).collect();
    let mut used = std::collections::BTreeSet::new();
    let sources = sources();
    for (path, text) in &sources {
        if room(path).as_deref() != Some("reason") || is_test(path) {
            continue;
        }
        for start in ["at_limit(", "Failure { code: \""] {
            for (at, _) in text.match_indices(start) {
                let call = text.get(at..).unwrap_or_default().split(['}', ';']).next();
                used.extend(call.unwrap_or_default().split('"').filter(is_code));
            }
        }
    }
    assert_eq!(listed, used);
}
