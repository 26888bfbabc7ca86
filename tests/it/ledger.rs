//! The ledger as a reviewer meets it: the story of a call, the proof, the export.

use std::process::Output;

use serde_json::{Value, json};

use crate::daemon::{Daemon, Setup, request};

fn ledger(daemon: &Daemon, part: &str, more: &[&str]) -> Output {
    let config = daemon.config();
    let mut line = vec!["ledger", part, "--config", &config];
    line.extend(more);
    daemon.cli(&line)
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn why_names_the_responsible_stage_of_each_failure() {
    let daemon = Setup::new().start().await;
    for (tool, arguments, code, stage) in [
        ("no.such", json!({}), "UNKNOWN_TOOL", "resolve"),
        ("probe.echo", json!({ "count": "12.5" }), "SCHEMA_VALIDATION_ERROR", "check"),
        ("probe.sh", json!({ "script": "exit 7" }), "EXECUTION_ERROR", "tool"),
        ("probe.sh", json!({ "script": "sleep 60" }), "TOOL_TIMEOUT", "tool"),
    ] {
        let reply = daemon.try_call(request(tool, &arguments.to_string())).await.unwrap();
        let id = reply.metadata.unwrap().call_id;
        let story = ledger(&daemon, "why", &["--json", &id]);
        let story: Value = serde_json::from_slice(&story.stdout).unwrap();
        assert_eq!(
            (&story["code"], &story["responsible"]),
            (&json!(code), &json!(stage)),
            "{story:#}"
        );
        let screen = told(&ledger(&daemon, "why", &[&id]));
        assert!(screen.contains(&format!("{stage} is responsible")), "{screen}");
        assert!(screen.contains("what to do: ") && screen.lines().count() < 40, "{screen}");
        assert!(screen.contains("connection from 127.0.0.1"), "who proved what: {screen}");
    }
    let absent = ledger(&daemon, "why", &["01a22941-dbc1-74c1-afb1-6ca7ee5fe2ed"]);
    assert_eq!(absent.status.code(), Some(1));
    assert!(told(&absent).contains("there is no record"), "{absent:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn reviewer_proves_the_ledger_and_its_export_by_the_key() {
    let mut daemon = Setup::new().start().await;
    daemon.call("text.stats", &json!({ "text": "one" })).await;
    daemon.signal("TERM");
    daemon.wait();
    let key = told(&ledger(&daemon, "key", &[])).trim().to_owned();
    let proved = ledger(&daemon, "verify", &["--key", &key]);
    assert_eq!(proved.status.code(), Some(0), "{proved:?}");
    let wrong = ledger(&daemon, "verify", &["--key", &"0".repeat(64)]);
    assert!(wrong.status.code() == Some(1) && told(&wrong).contains("key: "), "{wrong:?}");
    let export = daemon.folder().join("export.jsonl");
    std::fs::write(&export, ledger(&daemon, "export", &[]).stdout).unwrap();
    let export = export.display().to_string();
    let proved = daemon.cli(&["ledger", "verify", "--key", &key, "--file", &export]);
    assert_eq!(proved.status.code(), Some(0), "{}", told(&proved));
}
