//! The reviewer's commands, as a reviewer runs them: on the shipped policies, and on sets with planted
//! faults of which each must be found.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::daemon::{BINARY, ROOT, Setup, copy, lines};

fn policy(arguments: &[&str]) -> Output {
    let mut command = Command::new(BINARY);
    command.arg("policy").args(arguments).stdin(Stdio::null());
    // No engine and no daemon is there to be asked.
    command.env("DOCKER_HOST", "unix:///nonexistent").output().unwrap()
}

fn exit(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn shipped() -> String {
    Path::new(ROOT).join("policies").display().to_string()
}

fn fixture(name: &str) -> String {
    Path::new(ROOT).join("tests/fixtures").join(name).display().to_string()
}

fn has(found: &[Value], rule: &str, part: &str) {
    let fits = |one: &Value| one["rule"] == rule && one.to_string().contains(part);
    assert!(found.iter().any(fits), "no `{rule}` about `{part}`: {found:#?}");
}

#[test]
fn shipped_policies_have_nothing_to_mend_and_every_one_is_tested() {
    let checked = policy(&["check", "--strict", "--catalog", &shipped()]);
    assert_eq!(exit(&checked), 0, "{}", told(&checked));
    let tested = policy(&["test", "--coverage", "100", "--catalog", &shipped()]);
    assert_eq!(exit(&tested), 0, "{}", told(&tested));
    assert!(told(&tested).contains("100 %"), "{}", told(&tested));
}

#[test]
fn check_finds_each_planted_doubt() {
    let checked = policy(&["check", "--json", "--catalog", &fixture("faults")]);
    assert_eq!(exit(&checked), 1, "{}", told(&checked));
    let found = lines(&checked);
    has(&found, "shadowed", "\"policy\":\"smaller\"");
    has(&found, "shadowed", "\"policy\":\"twin\"");
    has(&found, "shadowed", "\"policy\":\"list-of-clerks\"");
    has(&found, "maybe-shadowed", "\"policy\":\"perhaps\"");
    has(&found, "never-applies", "\"policy\":\"impossible\"");
    has(&found, "matches-no-tool", "\"policy\":\"nowhere\"");
    has(&found, "overruled", "\"policy\":\"shut\"");
    has(&found, "tool-never-permitted", "shut.tool");
    has(&found, "tool-without-rule", "lost.tool");
    has(&found, "ceiling", "limits.memory in bytes is 1073741824, at most 268435456");
    has(&found, "ceiling", "elsewhere.example.com:443");
    // What is well is not found: of two equal ones the first stays, and the wide one is not shadowed.
    let policies = ["small", "tenant", "list", "shut-for-all"];
    let wrong = found.iter().find(|one| policies.iter().any(|id| one["policy"] == *id));
    assert_eq!(wrong, None);
    for one in &found {
        assert!(one["file"].as_str().unwrap().contains('/') && one["message"] != "", "{one:#}");
    }
    let at = |id: &str| found.iter().find(|one| one["policy"] == id).unwrap()["line"].clone();
    assert_eq!((at("smaller"), at("nowhere")), (json!(6), json!(47)));
}

#[test]
fn check_finds_each_planted_error_with_its_line() {
    let checked = policy(&["check", "--json", "--catalog", &fixture("faults-refused")]);
    assert_eq!(exit(&checked), 1, "{}", told(&checked));
    let found = lines(&checked);
    has(&found, "syntax", "cedar/broken.cedar");
    has(&found, "id-missing", "\"line\":1");
    has(&found, "owner-missing", "\"policy\":\"nobody\"");
    has(&found, "id-repeated", "already stands at cedar/refused.cedar:3");
    has(&found, "unguarded", "\"policy\":\"unguarded\"");
    has(&found, "unknown-name", "pay.sent");
    has(&found, "unknown-attribute", "amuont");
    has(&found, "type", "\"policy\":\"wrong-type\"");
    has(&found, "template", "?principal");
    has(&found, "permits-everything", "\"policy\":\"open\"");
    has(&found, "unread-file", "old.cedar.bak");
    let errors = found.iter().filter(|one| one["severity"] == "error");
    for one in errors {
        assert!(one["mend"] != "" || one["rule"] == "syntax", "{one:#}");
    }
    let table = policy(&["check", "--catalog", &fixture("faults-refused")]);
    assert!(exit(&table) == 1 && told(&table).contains("[unguarded]"), "{}", told(&table));
    assert_eq!(exit(&policy(&["check", "--catalog", "/nonexistent"])), 2);
}

#[test]
fn test_prints_what_was_decided_instead_and_what_no_case_covers() {
    let folder = tempfile::tempdir().unwrap();
    copy(Path::new(&shipped()), folder.path());
    let path = folder.path().display().to_string();
    let table = "cases:\n- { name: wrong outcome, tool: text.stats, arguments: { text: a }, expect: deny }\n\
                 - { name: wrong policy, tool: text.stats, arguments: { text: a }, expect: permit, policies: [other] }\n\
                 - { name: right, tool: text.stats, arguments: { text: a }, expect: permit }\n";
    std::fs::write(folder.path().join("tests/default.yaml"), table).unwrap();
    let tested = policy(&["test", "--catalog", &path]);
    assert_eq!(exit(&tested), 1);
    let text = told(&tested);
    for part in [
        "`wrong outcome`",
        "expected deny",
        "decided  permit by default-read",
        "owner platform",
        "`wrong policy`",
        "NEVER   permit default-attended",
        "3 cases, 2 failed; 1 of 4 policies decide a case: 25 %",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    let last = lines(&policy(&["test", "--json", "--catalog", &path])).pop().unwrap();
    assert_eq!(last["coverage"]["percent"], 25);
    std::fs::write(folder.path().join("tests/default.yaml"), "cases:\n- { name: x, tol: y }\n")
        .unwrap();
    let wrong = policy(&["test", "--catalog", &path]);
    assert_eq!(exit(&wrong), 2, "{}", told(&wrong));
    assert!(told(&wrong).contains("tests/default.yaml") && told(&wrong).contains("tol"));
    let right =
        "cases:\n- { name: right, tool: text.stats, arguments: { text: a }, expect: permit }\n";
    std::fs::write(folder.path().join("tests/default.yaml"), right).unwrap();
    assert_eq!(exit(&policy(&["test", "--catalog", &path])), 0);
    assert_eq!(exit(&policy(&["test", "--coverage", "34", "--catalog", &path])), 1);
}

#[test]
fn explain_tells_what_would_have_to_change() {
    let folder = fixture("faults");
    let ask = |more: &[&str]| {
        let mut line = vec!["explain", "--json", "--catalog", &folder, "--caller", "bob"];
        line.extend(more);
        let output = policy(&line);
        (exit(&output), lines(&output).pop().unwrap())
    };
    let (code, denied) =
        ask(&["--tool", "pay.send", "--tenant", "south", "--arguments", r#"{"amount":"500"}"#]);
    assert_eq!((code, &denied["decision"]), (1, &json!("deny")), "{denied:#}");
    assert_eq!(denied["arguments"]["amount"], 500, "the repaired arguments decide");
    let near = &denied["nearest"][0];
    assert_eq!(near["unmet"], 1, "{denied:#}");
    let mut near = denied["nearest"].as_array().unwrap().iter();
    let small = near.find(|told| told["policy"]["id"] == "small").unwrap();
    assert_eq!(small["policy"]["owner"], "pay");
    assert_eq!(small["policy"]["line"], 1);
    let parts = small["parts"].as_array().unwrap();
    let unmet: Vec<&Value> = parts.iter().filter(|part| part["met"] == false).collect();
    assert_eq!(unmet.len(), 1, "{small:#}");
    assert!(unmet[0]["text"].as_str().unwrap().contains("amount") && unmet[0]["found"] == "500");
    let (code, permitted) = ask(&["--tool", "pay.send", "--arguments", r#"{"amount":60}"#]);
    assert_eq!((code, &permitted["policies"]), (0, &json!(["small", "twin"])), "{permitted:#}");
    let (_, shut) = ask(&["--tool", "shut.tool", "--arguments", r#"{"amount":1}"#]);
    assert_eq!(shut["deciding"][0]["policy"]["id"], "shut-for-all", "{shut:#}");
    let held = policy(&[
        "explain",
        "--catalog",
        &format!("{}/tests", shipped()),
        "--tool",
        "nothing",
        "--caller",
        "x",
    ]);
    assert_eq!(exit(&held), 1);
    assert!(told(&held).contains("unknown"), "{}", told(&held));
}

#[test]
fn explain_takes_what_the_conversation_has_come_to() {
    let folder = tempfile::tempdir().unwrap();
    copy(Path::new(&shipped()), folder.path());
    copy(&Path::new(&shipped()).join("tests"), folder.path());
    let path = folder.path().display().to_string();
    let mail = r#"{"to":"a@example.com","text":"x"}"#;
    let explain = |more: &[&str]| {
        let call = ["explain", "--catalog", &path, "--tool", "notify.mail", "--arguments", mail];
        policy(&[&call[..], &["--caller", "a"], more].concat())
    };
    let clean = explain(&["--conversation", "c"]);
    assert!(exit(&clean) == 1 && told(&clean).starts_with("approval"), "{}", told(&clean));
    let tainted = explain(&["--conversation", "c", "--taint", "outside", "--taint", "flagged"]);
    assert!(exit(&tainted) == 1 && told(&tainted).starts_with("deny"), "{}", told(&tainted));
    assert!(told(&tainted).contains("default-after-instructions"), "{}", told(&tainted));
    let wrong = explain(&["--conversation", "c", "--taint", "flaged"]);
    assert!(exit(&wrong) == 2 && told(&wrong).contains("unsearched"), "{}", told(&wrong));
    assert_eq!(exit(&explain(&["--taint", "flagged"])), 2, "taint belongs to a conversation");
}

#[test]
fn report_is_one_page_in_each_form() {
    let json = policy(&["report", "--json", "--catalog", &shipped()]);
    assert_eq!(exit(&json), 0, "{}", told(&json));
    let audit = lines(&json).pop().unwrap();
    let row = |name: &str| {
        let tools = audit["tools"].as_array().unwrap();
        tools.iter().find(|row| row["tool"] == name).unwrap().clone()
    };
    assert_eq!(row("text.stats")["callers"], json!([{ "who": "every caller", "may": "always" }]));
    assert_eq!(row("cancelOrder")["envelope"]["hosts"], json!(["127.0.0.1:18080 in 127.0.0.0/8"]));
    assert_eq!(audit["policy_version"].as_str().unwrap().len(), 64);
    let page = told(&policy(&["report", "--catalog", &shipped()]));
    for part in
        ["# Policy report", "## Findings", "### `python.run`", "default-attended", "`image.ocr`"]
    {
        assert!(page.contains(part), "no `{part}` in {page}");
    }
    let html = told(&policy(&["report", "--format", "html", "--catalog", &shipped()]));
    assert!(html.starts_with("<!doctype html>") && html.contains("<code>python.run</code>"));
    assert!(!html.contains("<script") && !html.contains("src="), "nothing from elsewhere");
    assert_eq!(html.matches("<table>").count(), html.matches("</table>").count());
}

#[test]
fn diff_names_each_kind_of_change_with_an_example() {
    let folder = tempfile::tempdir().unwrap();
    copy(Path::new(&fixture("faults")), folder.path());
    let new = folder.path().display().to_string();
    let same = policy(&["diff", &fixture("faults"), &new]);
    assert_eq!(exit(&same), 0, "{}", told(&same));
    let file = folder.path().join("cedar/doubtful.cedar");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text
        .replace("<= 100", "<= 101")
        .replace("resource == Switchboard::Source::\"pay.list\"", "resource");
    std::fs::write(&file, text.replace("forbid (principal, action == Switchboard::Action::\"pay.send\", resource);", "forbid (principal, action == Switchboard::Action::\"pay.send\", resource) when { context.input has note };")).unwrap();
    let changed = policy(&["diff", "--json", &fixture("faults"), &new]);
    assert_eq!(exit(&changed), 1, "{}", told(&changed));
    let found = lines(&changed);
    let change = |from: &str, to: &str| {
        let fits =
            |one: &&Value| one["tool"] == "pay.send" && one["from"] == from && one["to"] == to;
        found.iter().find(fits).unwrap_or_else(|| panic!("{from} {to}: {found:#?}")).clone()
    };
    let wider = change("deny", "permit");
    assert!(wider["example"]["arguments"].as_str().unwrap().contains("101"), "{wider:#}");
    let narrower = change("permit", "deny");
    assert!(narrower["example"]["arguments"].as_str().unwrap().contains("note"), "{narrower:#}");
    assert_eq!(narrower["example"]["after"]["policies"], json!(["nowhere"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn replay_tells_the_models_mistakes_from_the_definitions() {
    let daemon = Setup::new().start().await;
    daemon.call("probe.cat", &json!({ "text": "one" })).await;
    daemon.call("probe.echo", &json!({ "count": 2000, "colour": "red" })).await;
    daemon.call("probe.cat", &json!({})).await;
    daemon.call("no.such", &json!({})).await;
    let config = daemon.config();
    let replay = |expected: &[(&str, u64)]| {
        let output = daemon.cli(&["replay", "--json", "--config", &config]);
        assert_eq!(exit(&output), 0, "{}", told(&output));
        let mut found = lines(&output);
        let sum = found.pop().unwrap();
        for (name, count) in expected {
            assert_eq!(sum[*name], json!(count), "{name} of {sum:#} {found:#?}");
        }
        found
    };
    replay(&[("calls", 4), ("same", 4), ("differs", 0), ("same_mistake", 2), ("unclear", 0)]);
    let policies = daemon.setup.policies();
    let edit = |name: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(policies.join(name)).unwrap();
        assert!(text.contains(from), "{name} has no `{from}`");
        std::fs::write(policies.join(name), text.replace(from, to)).unwrap();
    };
    edit("cedar/probe.cedar", "> 1000", "> 9000");
    std::fs::remove_file(policies.join("tools/probe-cat.toml")).unwrap();
    let found = replay(&[("differs", 3), ("policy", 1), ("definition", 2), ("model", 0)]);
    let echo = found.iter().find(|one| one["tool"] == "probe.echo").unwrap();
    assert_eq!((&echo["then"], &echo["now"]), (&json!("deny"), &json!("permit")), "{echo:#}");
    assert_eq!(echo["then_policies"], json!(["probe-echo-many"]));
    let text = told(&daemon.cli(&["policy", "replay", "--config", &config]));
    assert!(text.contains("The tool definition's:") && text.contains("The policies':"), "{text}");
}
