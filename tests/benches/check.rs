//! The check of a typical call's arguments, in this process: as they are, with repairs, from a
//! dialect's terms; beside the bare validator, which neither reads the text nor repairs nor makes the
//! canonical form.

use std::time::Instant;

use serde_json::{Value, json};
use switchboard::call::Dialect;
use switchboard::pipeline::Snapshot;

use crate::daemon::Setup;
use crate::measure::{Samples, figure};

const ROUNDS: usize = 20_000;
const TOOL: &str = "bench.issue";
const MANIFEST: &str = r#"
name = "bench.issue"
description = "Opens an issue about a part of the product, for the people who keep that part."
profile = "probe"
risk = "write"

[command]
argv = ["true"]

[input_schema]
type = "object"
required = ["repository", "title", "labels"]
additionalProperties = false

[input_schema.properties]
repository = { type = "string", pattern = "^[a-z0-9-]+/[a-z0-9-]+$", maxLength = 100 }
title = { type = "string", minLength = 1, maxLength = 200 }
body = { type = "string", maxLength = 20000 }
labels = { type = "array", maxItems = 10, items = { type = "string", enum = ["bug", "docs", "question"] } }
priority = { type = "integer", minimum = 1, maximum = 5 }
due = { type = "string", format = "date" }
place = { type = "object", required = ["file"], properties = { file = { type = "string" }, line = { type = "integer", minimum = 1 } }, additionalProperties = false }
"#;

pub fn run() {
    let setup = Setup::new().policy("tools/bench.issue.toml", MANIFEST);
    let snapshot = Snapshot::load(&setup.policies(), &|name| Some(name.to_owned()), None).unwrap();
    let tool = snapshot.catalog.get(TOOL).unwrap();
    let plain = json!({
        "repository": "city/lamps",
        "title": "Lamp 17 stays dark",
        "body": "Since the storm of Monday lamp 17 stays dark; the fuse was changed twice.",
        "labels": ["bug", "question"],
        "priority": 3,
        "due": "2026-12-24",
        "place": {"file": "lamps/17.toml", "line": 12},
    });
    let mut mended = plain.clone();
    mended["priority"] = json!("3");
    mended["labels"] = json!(["Bug", "question"]);
    let mut strict = plain.clone();
    strict["body"] = Value::Null;
    let bare = jsonschema::validator_for(&tool.input_schema).unwrap();
    let texts = [
        ("typical", None, plain.to_string()),
        ("repaired", None, mended.to_string()),
        ("openai_strict", Some(Dialect::OpenaiStrict), strict.to_string()),
    ];
    let mut seen = texts.each_ref().map(|_| Samples::default());
    let mut alone = Samples::default();
    // In turns, so that a busy moment meets all.
    for _ in 0..ROUNDS {
        for ((_, dialect, text), seen) in texts.iter().zip(&mut seen) {
            let begun = Instant::now();
            let checked = snapshot.schemas.check_in(*dialect, tool, text);
            seen.add(begun.elapsed().as_secs_f64() * 1e6);
            assert!(checked.is_ok(), "{checked:?}");
        }
        let begun = Instant::now();
        let valid = bare.is_valid(&plain);
        alone.add(begun.elapsed().as_secs_f64() * 1e6);
        assert!(valid);
    }
    for ((name, ..), seen) in texts.iter().zip(&seen) {
        figure(&format!("check.{name}.p50"), seen.median(), "us");
        figure(&format!("check.{name}.p99"), seen.quantile(0.99), "us");
    }
    figure("check.validator_alone.p50", alone.median(), "us");
}
