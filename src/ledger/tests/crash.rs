//! The ledger after its process was killed, and while its disk is full. This test binary starts
//! itself again as the process that dies.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::*;

/// Names the file for the other process.
const FILE: &str = "SWITCHBOARD_TEST_LEDGER";

fn file() -> Option<OsString> {
    std::env::var_os(FILE)
}

/// Not a test by itself: the other process. Prints the id of each record once it is kept, and
/// `refused` for each that is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started by the tests of this file"]
async fn other_process() {
    let Some(path) = file() else { return };
    let config = Config { path: PathBuf::from(path), ..Config::default() };
    let ledger = Ledger::open(&config).unwrap();
    let writers = (0..16).map(|_| {
        let ledger = ledger.clone();
        async move {
            for _ in 0..100_000 {
                let given = record("t");
                let id = given.call_id.clone();
                let kept = ledger.record(given, "{\"reply\":true}").await;
                let line = kept.map_or_else(|_| "refused".to_owned(), |()| id);
                writeln!(std::io::stderr(), "{line}").unwrap();
            }
        }
    });
    futures::future::join_all(writers).await;
}

fn other(path: &Path, prelude: &str) -> Child {
    Command::new("sh")
        .arg("-c")
        .arg(format!("{prelude} exec \"$0\" --exact --ignored --nocapture ledger::tests::crash::other_process"))
        .arg(std::env::current_exe().unwrap())
        .env(FILE, path)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn is_id(line: &str) -> bool {
    line.len() == 36 && line.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

#[tokio::test]
async fn what_was_acknowledged_outlives_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let path = config(&folder).path;
    let mut acknowledged = Vec::new();
    // Each round dies in the middle of another piece of work on the same file.
    for round in 1..=5 {
        let mut child = other(&path, "");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let ids = lines.by_ref().map_while(Result::ok).filter(|line| is_id(line));
        acknowledged.extend(ids.take(200 * round + 7));
        child.kill().unwrap();
        child.wait().unwrap();
        acknowledged.extend(lines.map_while(Result::ok).filter(|line| is_id(line)));
    }
    let ledger = Ledger::open(&config(&folder)).unwrap();
    for id in &acknowledged {
        let entry = ledger.get(id).await.unwrap().unwrap();
        assert_eq!(entry.reply_json.as_deref(), Some("{\"reply\":true}"));
    }
    let found = ledger.verify().await.unwrap();
    assert_eq!(found.damage, []);
    assert!(found.records >= acknowledged.len() as u64 && acknowledged.len() > 3000);
}

#[tokio::test]
async fn full_disk_refuses_records_and_loses_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = config(&folder).path;
    // A limit on the size of files fails writes as a full disk does. In units of 512 bytes.
    let mut child = other(&path, "trap '' XFSZ; ulimit -f 32000;");
    let mut acknowledged = Vec::new();
    let mut refused = 0;
    for line in BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok) {
        if is_id(&line) {
            acknowledged.push(line);
        } else if line == "refused" {
            refused += 1;
        }
        if refused == 500 {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(refused, 500);
    assert!(acknowledged.len() > 10, "{}", acknowledged.len());
    let ledger = Ledger::open(&config(&folder)).unwrap();
    for id in &acknowledged {
        assert!(ledger.get(id).await.unwrap().is_some(), "{id}");
    }
    keep(&ledger, 1).await;
    assert_eq!(ledger.verify().await.unwrap().damage, []);
}
