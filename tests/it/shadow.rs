//! A candidate policy set beside the active one: calls run as before, and what it would decide
//! otherwise is counted, recorded and listed.

use std::path::Path;

use serde_json::{Value, json};

use crate::daemon::{Daemon, Setup, code};

const CANDIDATE: &str = r#"
@id("read")
@owner("tests")
permit (principal, action in Switchboard::Action::"risk:read", resource);

@id("probe-forbidden")
@owner("tests")
forbid (principal, action == Switchboard::Action::"probe.forbidden", resource);

@id("few")
@owner("tests")
forbid (principal, action == Switchboard::Action::"probe.echo", resource)
when { context.input.count > 100 };
"#;

fn setup() -> Setup {
    let setup = Setup::new().config("[policies]\nshadow = \"candidate\"");
    write(setup.folder.path(), CANDIDATE);
    setup
}

fn write(folder: &Path, text: &str) {
    let folder = folder.join("candidate/cedar");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("next.cedar"), text).unwrap();
}

async fn echo(daemon: &Daemon, count: u32) -> Value {
    daemon.call("probe.echo", &json!({ "count": count })).await
}

fn listed(daemon: &Daemon) -> (Vec<Value>, Value) {
    let config = daemon.config();
    let output = daemon.cli(&["policy", "shadow", "--json", "--config", &config]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sum = lines.pop().unwrap();
    (lines, sum)
}

fn flips(metrics: &str, from: &str, to: &str) -> Option<String> {
    let name = format!("switchboard_policy_flips_total{{from=\"{from}\",to=\"{to}\"}} ");
    metrics.lines().find_map(|line| line.strip_prefix(&name)).map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_that_denies_changes_nothing_but_is_counted_and_listed() {
    let daemon = setup().start().await;
    assert_eq!(code(&echo(&daemon, 1).await), "SUCCESS");
    for count in [101, 102] {
        let reply = echo(&daemon, count).await;
        assert_eq!(code(&reply), "SUCCESS", "{reply:#}");
        assert_eq!(reply["data"]["count"], count, "it ran: {reply:#}");
    }
    assert_eq!(code(&echo(&daemon, 1001).await), "POLICY_DENIED");
    let python = daemon.call("python.run", &json!({ "code": "result = 1" })).await;
    assert_eq!(code(&python), "SUCCESS", "{python:#}");
    assert_eq!(code(&daemon.call("no.such", &json!({})).await), "UNKNOWN_TOOL");

    let metrics = daemon.metrics().await;
    assert_eq!(flips(&metrics, "permit", "deny").as_deref(), Some("3"), "{metrics}");
    assert!(metrics.contains("switchboard_shadow_candidate 1"), "{metrics}");
    assert!(metrics.contains("switchboard_shadow_decisions_total 5"), "{metrics}");
    let (kinds, sum) = listed(&daemon);
    assert_eq!((&sum["records"], &sum["flips"]), (&json!(6), &json!(3)), "{sum:#}");
    let kind = kinds.iter().find(|kind| kind["tool"] == "probe.echo").unwrap();
    assert_eq!((&kind["from"], &kind["to"]), (&json!("permit"), &json!("deny")));
    assert_eq!(kind["calls"], 2);
    assert_eq!(kind["example"]["active"], json!(["default-read"]));
    assert_eq!(kind["example"]["candidate"], json!(["few"]));
    assert_ne!(kind["version"], kind["example"]["active_version"]);
    let kind = kinds.iter().find(|kind| kind["tool"] == "python.run").unwrap();
    assert_eq!(kind["example"]["candidate"], json!([]), "{kind:#}");

    let config = daemon.config();
    let text = daemon.cli(&["policy", "shadow", "--tool", "probe.echo", "--config", &config]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("probe.echo: permit -> deny in 2 calls"), "{text}");
    assert!(text.contains("candidate: deny by few") && !text.contains("python.run"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_candidate_is_told_of_and_the_active_set_decides_on() {
    let setup = setup();
    write(setup.folder.path(), "permit (principal, action, resource)");
    let daemon = setup.start().await;
    let line = daemon.log_line(0, "the candidate policy set was not taken");
    assert!(line.contains("cedar/next.cedar:1"), "{line}");
    assert_eq!(code(&echo(&daemon, 101).await), "SUCCESS");
    assert_eq!(code(&echo(&daemon, 1001).await), "POLICY_DENIED");
    let metrics = daemon.metrics().await;
    assert!(metrics.contains("switchboard_shadow_candidate 0"), "{metrics}");
    assert!(metrics.contains("switchboard_shadow_loads_total{outcome=\"refused\"} 1"), "{metrics}");
    assert_eq!(listed(&daemon).1["flips"], 0);

    let skip = daemon.logged();
    write(daemon.folder(), CANDIDATE);
    daemon.log_line(skip, "catalog and policies are in force");
    assert_eq!(code(&echo(&daemon, 102).await), "SUCCESS");
    assert_eq!(listed(&daemon).1["flips"], 1);

    let skip = daemon.logged();
    write(daemon.folder(), "permit (");
    daemon.log_line(skip, "catalog and policies are in force");
    let metrics = daemon.metrics().await;
    assert!(metrics.contains("switchboard_shadow_candidate 0"), "{metrics}");
    assert_eq!(code(&echo(&daemon, 103).await), "SUCCESS");
    assert_eq!(listed(&daemon).1["flips"], 1);
}
