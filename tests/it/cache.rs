//! Starts from the cache of the catalog: the same tools as before, and none that the files do not say.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::daemon::{Daemon, Setup, code};

const DOCUMENT: &str = "openapi: 3.0.3\ninfo: {title: T, version: '1'}\nservers: [{url: 'http://127.0.0.1:9'}]\npaths:\n  /things/{id}: {get: {operationId: things/get, summary: Gives one thing, parameters: [{name: id, in: path, required: true, schema: {type: string, maxLength: 3}}]}}\n";

fn files(daemon: &Daemon) -> Vec<PathBuf> {
    let mut folders = vec![daemon.folder().to_path_buf()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "cache") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn shown(daemon: &Daemon) -> Value {
    let output = daemon.cli(&["tools", "show", "things__get", "--json"]);
    serde_json::from_slice(&output.stdout).unwrap()
}

async fn again(mut daemon: Daemon) -> Daemon {
    daemon.signal("TERM");
    assert_eq!(daemon.wait(), Some(0));
    daemon.restart().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_gives_the_same_tools_from_a_cache_good_or_damaged() {
    let source = "document = 'openapi/things.yaml'\nprofile = 'probe'\n";
    let setup = Setup::new();
    let setup = setup.policy("openapi/things.yaml", DOCUMENT).policy("openapi/things.toml", source);
    let daemon = setup.start().await;
    let first = shown(&daemon);
    assert_eq!(first["operation"], "things/get", "the document's own id");
    let kept = files(&daemon);
    assert_eq!(kept.len(), 4, "two documents, the schemas and the policies: {kept:?}");
    for file in &kept {
        let mode = fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file:?}");
    }

    let daemon = again(daemon).await;
    assert_eq!(shown(&daemon), first);
    let wrong = daemon.call("things__get", &json!({"id": "too long"})).await;
    assert_eq!(code(&wrong), "SCHEMA_VALIDATION_ERROR", "validators are there: {wrong:#}");
    let good = daemon.call("probe.echo", &json!({"count": 1})).await;
    assert_eq!(good["data"]["count"], 1);

    for file in &kept {
        let mut bytes = fs::read(file).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(file, bytes).unwrap();
    }
    let daemon = again(daemon).await;
    assert!(daemon.log().contains("made again"), "the log says that it was damaged");
    assert_eq!(shown(&daemon), first);
    let wrong = daemon.call("things__get", &json!({"id": "too long"})).await;
    assert_eq!(code(&wrong), "SCHEMA_VALIDATION_ERROR");
}
