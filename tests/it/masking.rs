//! Sensitive values through the real daemon: nowhere to be read but with the operator's key, and by
//! the caller who sent them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::daemon::{Daemon, Setup, code, parsed, request};
use crate::traces::Collector;

/// Takes much and says nothing of it.
const QUIET: &str = r##"
name = "probe.quiet"
description = "Takes a text and says nothing of it. For tests of masking."
profile = "probe"
risk = "read"

[input_schema]
type = "object"
additionalProperties = false

[input_schema.properties]
text = { type = "string", description = "Any text." }
pin = { type = "string", maxLength = 12, x-sensitive = true, description = "A secret." }
who = { type = "object", properties.name = { "$ref" = "#/$defs/name" }, description = "Whom." }
count = { type = "integer", minimum = 0, maximum = 9, description = "How many." }
password = { type = "string", description = "Another secret." }

[input_schema."$defs"]
name = { type = "string", x-sensitive = true }

[command]
argv = ["sh", "-c", "cat > /dev/null; echo '{\"done\":true}'"]
stdin = "json"
json_output = true
"##;

/// Gives its arguments back, some of which it says are sensitive.
const LOUD: &str = r#"
name = "probe.loud"
description = "Gives its arguments back. For tests of masking."
profile = "probe"
risk = "read"

[input_schema]
type = "object"

[output_schema]
type = "object"
properties.rows = { type = "array", items = { properties.salary = { x-sensitive = true } } }

[command]
argv = ["cat"]
stdin = "json"
json_output = true
"#;

/// One of each kind, made here so that no scanner finds it in this file.
fn secrets() -> Vec<(&'static str, String)> {
    let fill = |length: usize| "aB3".repeat(length).get(..length).unwrap().to_owned();
    let dashes = "-".repeat(5);
    let body = fill(60);
    vec![
        ("13800138000", "call 13800138000".to_owned()),
        ("139 0013 9000", "or +86 139 0013 9000".to_owned()),
        ("１３７００１３７０００", "or １３７００１３７０００".to_owned()),
        ("11010119000101009X", "身份证11010119000101009X，已核".to_owned()),
        ("4000-0000-0000-0002", "card 4000-0000-0000-0002".to_owned()),
        ("mei.lin@example.com", "mail mei.lin@example.com".to_owned()),
        ("AKIA", format!("AKIA{}", "AB3".repeat(6).get(..16).unwrap())),
        ("ghp_", format!("ghp_{}", fill(36))),
        ("eyJ", format!("eyJ{}.eyJ{}.{}", fill(20), fill(30), fill(40))),
        (
            "MIIEv",
            format!(
                "{dashes}BEGIN PRIVATE KEY{dashes}\nMIIEv{body}\n{dashes}END PRIVATE KEY{dashes}"
            ),
        ),
        ("hunter2url", "postgres://app:hunter2url@db.example:5432/x".to_owned()),
        ("hunter2name", "then password=hunter2name".to_owned()),
        ("hunter2bearer", "Authorization: Bearer hunter2bearer99".to_owned()),
    ]
}

fn cli(daemon: &Daemon, part: &str, more: &[&str]) -> (Option<i32>, String) {
    let config = daemon.config();
    let mut line = vec!["ledger", part, "--config", &config];
    line.extend(more);
    let output = daemon.cli(&line);
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code(), text.into_owned())
}

/// Everything that a person may read of these calls, by where it stands.
fn views(daemon: &Daemon, ids: &[String]) -> Vec<(String, String)> {
    let mut views = Vec::new();
    for id in ids {
        let id = id.as_str();
        for part in ["show", "why"] {
            for more in [vec![id], vec!["--json", id]] {
                views.push((format!("{part} {more:?}"), cli(daemon, part, &more).1));
            }
        }
    }
    for (part, more) in [
        ("export", vec![]),
        ("search", vec!["--json"]),
        ("search", vec![]),
        ("tail", vec!["--json"]),
    ] {
        views.push((part.to_owned(), cli(daemon, part, &more).1));
    }
    views
}

fn key(setup: &Setup, name: &str, text: &str) -> String {
    let path = setup.folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path.display().to_string()
}

/// The bytes of the ledger and of all files beside it.
fn stored(daemon: &Daemon) -> Vec<u8> {
    let list = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let is_ledger = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ledger.db"))
    };
    let beside = list(daemon.folder()).filter(is_ledger);
    let files = beside.flat_map(|path| match path.is_dir() {
        true => list(&path).collect(),
        false => vec![path],
    });
    files.flat_map(|path| std::fs::read(path).unwrap()).collect()
}

fn id_of(reply: &Value) -> String {
    reply["metadata"]["call_id"].as_str().unwrap().to_owned()
}

/// The first of the calls had all the secrets in its text, the last one none in its arguments.
fn read_with_the_key(daemon: &Daemon, ids: &[String], whole: &str, keys: [&str; 2]) {
    let [original, other] = keys;
    let (status, text) = cli(daemon, "show", &[&ids[0], "--original", "--key", original]);
    assert_eq!(status, Some(0), "{text}");
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["text"], whole);
    assert_eq!((&read["pin"], &read["who"]["name"]), (&json!("S3cretPin-77"), &json!("Li Hua-77")));
    let (status, text) = cli(daemon, "show", &[&ids[0], "--original", "--key", other]);
    assert!(status == Some(1) && text.contains("another key"), "{text}");
    let (status, text) = cli(daemon, "show", &[&ids[4], "--original", "--key", original]);
    assert!(status == Some(1) && text.contains("were not kept"), "{text}");
    assert_eq!(cli(daemon, "show", &[&ids[0], "--original"]).0, Some(2), "it needs a key");
}

#[tokio::test(flavor = "multi_thread")]
async fn sensitive_values_are_read_only_with_the_key() {
    let (collector, mut config) = Collector::start();
    config.push_str("log = \"trace\"\n[ledger]\noriginals = { key = \"originals.key\" }\n");
    // The daemon logs where it listens.
    config.push_str("[server]\nsocket = \"13800138000.sock\"\n");
    let setup = Setup::new().config(&config).policy("tools/probe-quiet.toml", QUIET);
    let original = key(&setup, "originals.key", &"5a".repeat(32));
    let other = key(&setup, "other.key", &"5b".repeat(32));
    let mut daemon = setup.start().await;

    let all: Vec<String> = secrets().into_iter().map(|(_, text)| text).collect();
    let whole = json!({
        "text": all.join(" ; "), "pin": "S3cretPin-77", "who": { "name": "Li Hua-77" },
        "password": "plainword",
    });
    let whole = daemon.call("probe.quiet", &whole).await;
    assert_eq!(whole["data"], json!({ "done": true }), "{whole}");
    let repaired = daemon.call("probe.quiet", &json!({ "pin": 77_441_122, "count": "5" })).await;
    assert_eq!(repaired["metadata"]["repairs"][0]["from"], "77441122", "{repaired}");
    let refused = daemon
        .call("probe.quiet", &json!({ "pin": "TooLongAPin-77", "count": "13800138000" }))
        .await;
    assert_eq!(code(&refused), "SCHEMA_VALIDATION_ERROR", "{refused}");
    assert!(refused["error"].to_string().contains("TooLongAPin-77"), "the caller sees its own");
    let broken = daemon.try_call(request("probe.quiet", "{\"pin\": \"Br0kenPin-77")).await.unwrap();
    let broken = parsed(&broken);
    let unknown = daemon.call("no.such.13800138000", &json!({})).await;
    let ids: Vec<String> = [&whole, &repaired, &refused, &broken, &unknown].map(id_of).to_vec();
    daemon.signal("TERM");
    assert_eq!(daemon.wait(), Some(0));
    daemon.log_line(0, "(end of the log)");

    let mut needles: Vec<&str> = secrets().into_iter().map(|(needle, _)| needle).collect();
    needles.extend(["S3cretPin-77", "Li Hua-77", "plainword", "77441122", "TooLongAPin-77"]);
    needles.push("Br0kenPin-77");
    let mut seen = views(&daemon, &ids);
    seen.push(("the log".to_owned(), daemon.log()));
    seen.push(("the traces".to_owned(), format!("{:?}", collector.spans())));
    assert!(seen.iter().all(|(_, text)| !text.is_empty()));
    for (place, text) in &seen {
        for needle in &needles {
            let at = text.find(needle).map(|at| text.get(at.saturating_sub(200)..));
            assert!(at.is_none(), "{needle} in {place}: {at:?}");
        }
    }
    let log = daemon.log();
    assert!(
        log.contains("\"TRACE\"") && log.contains("[masked].sock"),
        "it told all that it tells"
    );
    assert!(
        seen.iter().any(|(place, text)| place == "the traces" && text.contains("no.such.[masked]"))
    );
    let stored = stored(&daemon);
    let holds = |text: &str| stored.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(holds("probe.quiet") && holds("[masked]"));
    for needle in &needles {
        assert!(!holds(needle), "{needle} in the ledger's bytes");
    }

    read_with_the_key(&daemon, &ids, &all.join(" ; "), [&original, &other]);
    assert_eq!(cli(&daemon, "verify", &[]).0, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn results_are_shown_masked_and_the_caller_gets_them_whole() {
    let daemon = Setup::new().policy("tools/probe-loud.toml", LOUD).start().await;
    let given = json!({ "rows": [{ "id": 1, "salary": 91_234_567 }], "tel": "13800138000" });
    let reply = daemon.call("probe.loud", &given).await;
    assert_eq!(reply["data"], given);
    for (place, text) in views(&daemon, &[id_of(&reply)]) {
        assert!(!text.contains("13800138000"), "{place}: {text}");
        let by_name = place == "export" || place.starts_with("show");
        assert!(!by_name || text.contains("[masked]"), "{place}: {text}");
    }
    let shown = cli(&daemon, "show", &["--json", &id_of(&reply)]).1;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(
        shown["reply_json"]["data"],
        json!({ "rows": [{ "id": 1, "salary": "[masked]" }], "tel": "[masked]" })
    );
    let config = daemon.config();
    let raw = daemon.cli(&["ledger", "show", "--config", &config, "--reply", &id_of(&reply)]);
    let raw: Value = serde_json::from_slice(&raw.stdout).unwrap();
    assert_eq!(raw["data"], given, "what is asked for by name is not hidden");
}
