//! The command line as a person or a script meets it: what it prints, and its exit codes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::daemon::{BINARY, Daemon, Setup, lines, request};

/// A document with one usable operation and one whose parameter is nowhere defined.
const DOCUMENT: &str = r##"
openapi: 3.1.0
info: { title: Shelf, version: "1" }
servers: [{ url: "http://127.0.0.1:1" }]
paths:
  /books/{id}:
    get:
      operationId: getBook
      summary: Gives one book.
      parameters:
        - { name: id, in: path, required: true, schema: { type: string } }
      responses: { "200": { description: ok } }
  /lost:
    get:
      operationId: getLost
      summary: Cannot be read.
      parameters: [{ $ref: "#/components/parameters/nowhere" }]
      responses: { "200": { description: ok } }
"##;

fn run(arguments: &[&str]) -> Output {
    Command::new(BINARY).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn exit(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// `switchboard ledger PART --config ... MORE`.
fn ledger(daemon: &Daemon, part: &str, more: &[&str]) -> Output {
    let config = daemon.config();
    let mut line = vec!["ledger", part, "--config", &config];
    line.extend(more);
    daemon.cli(&line)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_tool_is_shown_with_its_schemas_and_an_unknown_one_is_an_error() {
    let daemon = Setup::new().start().await;
    let shown = daemon.cli(&["tools", "show", "text.stats", "--json"]);
    assert_eq!(exit(&shown), 0, "{shown:?}");
    let shown = lines(&shown);
    assert_eq!(shown.len(), 1, "one line of JSON");
    assert_eq!(shown[0]["name"], "text.stats");
    assert_eq!(shown[0]["risk"], "read");
    assert_eq!(shown[0]["input_schema"]["required"], json!(["text"]));
    let pretty = daemon.cli(&["tools", "show", "text.stats"]);
    assert_eq!(serde_json::from_slice::<Value>(&pretty.stdout).unwrap(), shown[0]);

    let unknown = daemon.cli(&["tools", "show", "no.such"]);
    assert_eq!(exit(&unknown), 1);
    assert!(told(&unknown).contains("no.such"), "{unknown:?}");
    let hidden = daemon.cli(&["tools", "show", "probe.forbidden"]);
    assert_eq!(exit(&hidden), 1, "what policy always denies is not shown: {hidden:?}");
    let absent = run(&["tools", "show", "text.stats", "--endpoint", "http://127.0.0.1:1"]);
    assert_eq!(exit(&absent), 3, "{absent:?}");

    let all = daemon.cli(&["tools", "list"]);
    let all = String::from_utf8(all.stdout).unwrap();
    assert!(all.starts_with("NAME"), "{all}");
    let some = daemon.cli(&["tools", "list", "probe.", "--json"]);
    let some = lines(&some);
    let named = |tool: &Value| tool["name"].as_str().unwrap().starts_with("probe.");
    assert!(!some.is_empty() && some.iter().all(named), "{some:#?}");
}

#[test]
fn lint_names_the_file_that_cannot_be_used() {
    let setup = Setup::new();
    let folder = setup.policies().display().to_string();
    let good = run(&["tools", "lint", "--catalog", &folder, "--json"]);
    assert_eq!(exit(&good), 0, "{}", told(&good));
    assert!(lines(&good).iter().all(|line| line["what"].is_string()), "{}", told(&good));

    let setup = setup.policy("tools/broken.toml", "[[tool]\n");
    let folder = setup.policies().display().to_string();
    let bad = run(&["tools", "lint", "--catalog", &folder, "--json"]);
    assert_eq!(exit(&bad), 1, "{}", told(&bad));
    let named = |line: &Value| line["where"].as_str().unwrap().contains("tools/broken.toml");
    assert!(lines(&bad).iter().any(named), "{}", told(&bad));
    let table = run(&["tools", "lint", "--catalog", &folder]);
    assert_eq!(exit(&table), 1);
    assert!(told(&table).contains("tools/broken.toml"), "{}", told(&table));
    assert_eq!(exit(&run(&["tools", "lint", "--catalog", "/nonexistent"])), 2);
}

/// What the format demands of each result, and that none has the print of another.
fn well_formed(folder: &Path, rules: &[Value], results: &[Value]) {
    let mut prints = std::collections::BTreeSet::new();
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(rule["help"]["text"].is_string() && rule["shortDescription"]["text"].is_string());
        assert!(rule["helpUri"].as_str().unwrap().starts_with("https://"));
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
        assert!(result["message"]["text"].as_str().unwrap().ends_with('.'), "{result:#}");
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(folder.join(uri).is_file(), "{uri}");
        assert!(place["region"]["startLine"].as_u64().unwrap() > 0);
        let print = result["partialFingerprints"]["finding/v1"].as_str().unwrap();
        assert!(prints.insert(print), "{result:#}");
    }
}

#[test]
fn lint_writes_a_log_that_code_hosts_read() {
    let setup = Setup::new()
        .policy("openapi/shelf.yaml", DOCUMENT)
        .policy("openapi/shelf.toml", "document = 'openapi/shelf.yaml'\nprofile = 'shell'\n");
    let folder = setup.policies();
    let output =
        run(&["tools", "lint", "--format", "sarif", "--catalog", &folder.display().to_string()]);
    assert_eq!(exit(&output), 1, "an operation cannot be loaded");
    let log: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    assert!(log["$schema"].as_str().unwrap().ends_with("sarif-schema-2.1.0.json"));
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    well_formed(&folder, rules, results);
    let of = |rule: &str, name: &str| {
        let logical = |result: &Value| result["locations"][0]["logicalLocations"][0].clone();
        let found = results.iter().find(|result| {
            result["ruleId"] == rule && logical(result)["name"].as_str().unwrap().contains(name)
        });
        found.unwrap_or_else(|| panic!("no {rule} of {name}")).clone()
    };
    let lost = of("unusable", "getLost");
    assert!(lost["message"]["text"].as_str().unwrap().contains("nowhere"), "{lost:#}");
    let book = of("format", "getBook");
    assert_eq!(
        book["locations"][0]["logicalLocations"][0]["fullyQualifiedName"],
        "getBook#/paths/~1books~1{id}/get/id"
    );
    // What a document brings stands at its lines in the document.
    let at = |result: &Value| {
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap().to_owned();
        (uri, place["region"]["startLine"].as_u64().unwrap())
    };
    assert_eq!(at(&book), ("openapi/shelf.yaml".to_owned(), 11));
    assert_eq!(at(&of("output", "getBook")), ("openapi/shelf.yaml".to_owned(), 7));
    assert_eq!(at(&lost), ("openapi/shelf.yaml".to_owned(), 14));
    // A manifest's finding stands at the line of its key.
    let echo = of("output", "probe.echo");
    assert_eq!(echo["locations"][0]["physicalLocation"]["region"]["startLine"], 2);
}

#[test]
fn lint_shows_the_line_of_a_document_that_cannot_be_read() {
    let broken = DOCUMENT.replace("summary: Cannot be read.", "summary: [");
    let setup = Setup::new()
        .policy("openapi/shelf.yaml", &broken)
        .policy("openapi/shelf.toml", "document = 'openapi/shelf.yaml'\nprofile = 'shell'\n");
    let folder = setup.policies().display().to_string();
    let output = run(&["tools", "lint", "--catalog", &folder, "--json"]);
    assert_eq!(exit(&output), 1);
    let found = lines(&output).into_iter().find(|line| line["rule"] == "unusable").unwrap();
    assert_eq!(found["file"], "openapi/shelf.yaml", "{found:#}");
    assert!((16..=18).contains(&found["line"].as_u64().unwrap()), "{found:#}");
}

#[test]
fn import_reports_what_each_operation_of_a_document_becomes() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("shelf.yaml");
    std::fs::write(&path, DOCUMENT).unwrap();
    let path = path.display().to_string();
    let output = run(&["tools", "import", "--json", &path]);
    assert_eq!(exit(&output), 0, "{}", told(&output));
    let report = &lines(&output)[0];
    assert_eq!(report["title"], "Shelf");
    assert_eq!(report["operations"], 2);
    let only = |list: &Value| {
        assert_eq!(list.as_array().unwrap().len(), 1, "{report:#}");
        list[0].clone()
    };
    assert_eq!(only(&report["imported"])["operation"], "getBook");
    let skipped = only(&report["skipped"]);
    assert_eq!(skipped["operation"], "getLost");
    assert!(skipped["place"].as_str().unwrap().contains("~1lost"), "{skipped:#}");
    assert!(skipped["reason"].as_str().unwrap().contains("nowhere"), "{skipped:#}");

    let table = told(&run(&["tools", "import", &path]));
    for part in ["getLost", "nowhere", "2 operations: 1 imported, 1 skipped"] {
        assert!(table.contains(part), "`{part}` is not in {table}");
    }
    assert_eq!(exit(&run(&["tools", "import", "/nonexistent.yaml"])), 2);
    let other = folder.path().join("other.json");
    std::fs::write(&other, "{\"swagger\":\"1.2\"}").unwrap();
    let other = run(&["tools", "import", &other.display().to_string()]);
    assert_eq!(exit(&other), 2, "{}", told(&other));
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_come_as_text_from_a_file_or_from_standard_input() {
    let daemon = Setup::new().start().await;
    let file = daemon.folder().join("arguments.json");
    std::fs::write(&file, "{\"text\":\"from a file äß\\n\"}").unwrap();
    let output = daemon.cli(&["call", "probe.cat", &format!("@{}", file.display())]);
    assert_eq!(exit(&output), 0, "{}", told(&output));
    assert_eq!(lines(&output)[0]["data"], "from a file äß\n");

    let mut child = Command::new(BINARY)
        .args(["call", "probe.cat", "-", "--endpoint", &daemon.socket()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{\"text\":\"from a pipe\"}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(exit(&output), 0, "{}", told(&output));
    assert_eq!(lines(&output)[0]["data"], "from a pipe");

    let missing = daemon.cli(&["call", "probe.cat", "@/nonexistent.json"]);
    assert_eq!(exit(&missing), 2);
    assert!(told(&missing).contains("/nonexistent.json"), "{missing:?}");
    let refused = daemon.cli(&["call", "probe.cat", "{\"text\":1"]);
    assert_eq!(exit(&refused), 1, "a reply that is an error: {}", told(&refused));
    assert_eq!(lines(&refused)[0]["error"]["code"], "SCHEMA_VALIDATION_ERROR");
    let late = daemon.cli(&["call", "probe.sh", "{\"script\":\"sleep 1\"}", "--timeout", "300ms"]);
    assert_eq!(exit(&late), 1, "{}", told(&late));
    for usage in [&["call", "a", "{}", "--nonsense"][..], &["nonsense"], &[]] {
        assert_eq!(exit(&daemon.cli(usage)), 2, "{usage:?}");
    }
    assert_eq!(exit(&run(&["health", "--endpoint", "unix:///nonexistent.sock"])), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_is_read_by_number_and_by_time() {
    let daemon = Setup::new().start().await;
    for text in ["one", "two", "three"] {
        daemon.call("probe.cat", &json!({ "text": text })).await;
    }
    let all = lines(&ledger(&daemon, "tail", &["--json"]));
    let received: Vec<_> = all.iter().map(|entry| entry["received"].as_str().unwrap()).collect();
    assert_eq!(received.len(), 3);
    assert!(received.is_sorted(), "the newest comes last: {received:?}");
    assert_ne!(received[1], received[2]);
    let last = lines(&ledger(&daemon, "tail", &["-n", "2", "--json"]));
    assert_eq!(last, all[1..]);
    let table = told(&ledger(&daemon, "tail", &["-n", "1"]));
    assert!(table.starts_with("RECEIVED") && table.contains("probe.cat"), "{table}");
    assert_eq!(table.lines().count(), 2, "{table}");

    let found = |more: &[&str]| {
        let mut more = more.to_vec();
        more.push("--json");
        let output = ledger(&daemon, "search", &more);
        assert_eq!(exit(&output), 0, "{}", told(&output));
        lines(&output)
    };
    assert_eq!(found(&["--since", received[2]]), all[2..], "at or after");
    assert_eq!(found(&["--until", received[1]]), all[..1], "before");
    assert_eq!(found(&["--since", received[1], "--until", received[2]]), all[1..2]);
    assert_eq!(found(&["--since", "1h"]).len(), 3);
    assert_eq!(found(&["--until", "1h"]).len(), 0);
    assert_eq!(found(&["--since", "1h", "--limit", "2"]).len(), 2);
    let wrong = ledger(&daemon, "search", &["--since", "yesterday"]);
    assert_eq!(exit(&wrong), 2);
    assert!(told(&wrong).contains("yesterday"), "{wrong:?}");
    let wrong = ledger(&daemon, "search", &["--code", "NOPE"]);
    assert!(exit(&wrong) == 2 && told(&wrong).contains("TOOL_TIMEOUT"), "{wrong:?}");
    assert_eq!(exit(&ledger(&daemon, "show", &["no-such-call"])), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tail_of_the_ledger_follows_new_calls() {
    let daemon = Setup::new().start().await;
    daemon.call("probe.cat", &json!({ "text": "before" })).await;
    let mut tail = Command::new(BINARY)
        .args(["ledger", "tail", "--follow", "--json", "--config", &daemon.config()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = BufReader::new(tail.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&printed.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["seq"], 1);
    let reply = daemon.try_call(request("no.such", "{}")).await.unwrap();
    let shown = next();
    assert_eq!(shown["call_id"], reply.metadata.unwrap().call_id);
    assert_eq!(shown["code"], "UNKNOWN_TOOL");
    tail.kill().unwrap();
    tail.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_record_is_found() {
    let daemon = Setup::new().start().await;
    for text in ["one", "two", "three"] {
        daemon.call("probe.cat", &json!({ "text": text })).await;
    }
    let whole = ledger(&daemon, "verify", &["--json"]);
    assert_eq!(exit(&whole), 0, "{}", told(&whole));
    assert_eq!(lines(&whole)[0]["records"], 3);
    assert_eq!(lines(&whole)[0]["damage"], json!([]));

    change(daemon.folder(), "UPDATE call SET caller = 'somebody' WHERE seq = 2");
    let broken = ledger(&daemon, "verify", &["--json"]);
    assert_eq!(exit(&broken), 1, "{}", told(&broken));
    assert_eq!(lines(&broken)[0]["damage"][0]["seq"], 2);
    assert_eq!(lines(&broken)[0]["records"], 2);
    let broken = ledger(&daemon, "verify", &[]);
    assert!(told(&broken).contains("changed at record 2 (call "), "{}", told(&broken));

    let file = daemon.folder().join("ledger.db").display().to_string();
    assert_eq!(exit(&daemon.cli(&["ledger", "verify", "--file", &file])), 1);
    assert_eq!(exit(&daemon.cli(&["ledger", "verify", "--file", "/nonexistent.db"])), 2);
}

fn change(folder: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(folder.join("ledger.db")).unwrap();
    assert_eq!(connection.execute(sql, []).unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_finds_a_good_installation_good() {
    let daemon = Setup::new().start().await;
    let output = daemon.cli(&["doctor", "--json", "--config", &daemon.config()]);
    assert_eq!(exit(&output), 0, "{}", told(&output));
    let checks = lines(&output);
    for name in
        ["clock", "configuration", "engine", "control groups", "limits read back", "policies"]
    {
        let check = checks.iter().find(|check| check["check"] == name);
        let check = check.unwrap_or_else(|| panic!("`{name}` is not checked: {checks:#?}"));
        assert_eq!(check["verdict"], "good", "{check:#}");
    }
    assert!(checks.iter().any(|check| check["check"] == "image"), "{checks:#?}");
    let table = daemon.cli(&["doctor", "--config", &daemon.config()]);
    assert_eq!(exit(&table), 0);
    assert!(told(&table).starts_with("VERDICT"), "{}", told(&table));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_tells_how_to_mend_what_is_bad() {
    let setup = Setup::new().config("[sandbox]\nengine = \"unix:///nonexistent/docker.sock\"");
    let daemon = setup.start_unready().await;
    let output = daemon.cli(&["doctor", "--json", "--config", &daemon.config()]);
    assert_eq!(exit(&output), 1, "{}", told(&output));
    let checks = lines(&output);
    let engine = checks.iter().find(|check| check["check"] == "engine").unwrap();
    assert_eq!(engine["verdict"], "bad");
    assert!(engine["found"].as_str().unwrap().contains("/nonexistent/docker.sock"), "{engine:#}");
    assert!(engine["mend"].as_str().unwrap().contains("sandbox.engine"), "{engine:#}");
    let mendless = |check: &&Value| check["verdict"] != "good" && check["mend"] == "";
    assert_eq!(checks.iter().find(mendless), None);

    let file = daemon.folder().join("wrong.toml");
    std::fs::write(&file, "[server]\nsokcet = \"x\"\n").unwrap();
    let output = daemon.cli(&["doctor", "--json", "--config", &file.display().to_string()]);
    assert_eq!(exit(&output), 1);
    assert!(told(&output).contains("sokcet"), "{}", told(&output));
}
