//! What must hold afterwards: each caller's view of its call against what is possible, and against
//! the ledger.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::process::Command;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use crate::calls::{Call, View};
use crate::daemon::BINARY;
use crate::fire::Kill;
use crate::measure::row;
use crate::stage::Stage;

/// A connection may break so long after the daemon died: until its successor listens.
const OUTAGE: Duration = Duration::from_secs(20);
/// Examples that are printed of what is wrong.
const SHOWN: usize = 5;

/// One call in the ledger.
struct Record {
    code: String,
    reply: Vec<u8>,
    container: Option<String>,
}

/// Prints what the callers saw; gives how many views are not possible.
pub fn views(calls: &[Call], kills: &[Kill]) -> usize {
    let mut table: BTreeMap<String, usize> = BTreeMap::new();
    for call in calls {
        let seen = match &call.view {
            View::Reply(code, _) => code.clone(),
            View::Refused(reason, _) => format!("status_{reason}"),
            View::Broken(status) => format!("transport_{:?}", status.code()),
            View::Left => "caller_left".to_owned(),
            View::Hung => "nothing".to_owned(),
        };
        *table.entry(format!("chaos.seen.{:?}.{seen}", call.kind).to_lowercase()).or_default() += 1;
    }
    for (name, count) in table {
        row(&name, count, "calls");
    }
    let mut words: BTreeMap<String, usize> = BTreeMap::new();
    for call in calls {
        if let View::Refused(_, text) = &call.view {
            // Numbers differ from call to call.
            let text = text.replace(|c: char| c.is_ascii_digit(), "");
            *words.entry(text).or_default() += 1;
        }
    }
    for (text, count) in words {
        eprintln!("chaos: {count} times: {text}");
    }
    let wrong: Vec<&Call> = calls
        .iter()
        .filter(|call| !call.is_possible() || is_broken_for_nothing(call, kills))
        .collect();
    for call in wrong.iter().take(SHOWN) {
        eprintln!("chaos: not possible: {call:?}");
    }
    row("chaos.impossible_views", wrong.len(), "calls");
    wrong.len()
}

/// Whether a connection broke though no daemon had died. A deadline is kept by the caller too.
fn is_broken_for_nothing(call: &Call, kills: &[Kill]) -> bool {
    let View::Broken(status) = &call.view else { return false };
    if call.kind == crate::calls::Kind::Hasty && status.code() != tonic::Code::Unavailable {
        return false;
    }
    !kills.iter().any(|kill| kill.at + OUTAGE > call.begun && kill.at < call.ended)
}

/// Holds every view against the ledger; gives how many differ.
pub fn ledger(stage: &Stage, calls: &[Call]) -> usize {
    let path = stage.setup.folder.path().join("ledger.db");
    let records = read(&path);
    let mut wrong = Vec::new();
    for call in calls {
        let record = records.get(&call.id);
        let agrees = match (&call.view, record) {
            (View::Reply(code, json), Some(record)) => {
                record.code == *code && record.reply == json.as_bytes()
            }
            (View::Refused(reason, _), Some(record)) => record.code == *reason,
            (View::Reply(..) | View::Refused(..), None) => false,
            // Whether it was recorded is not known to the caller.
            (View::Broken(_) | View::Left | View::Hung, _) => true,
        };
        if !agrees {
            wrong.push(format!("{call:?}, recorded as {:?}", record.map(|record| &record.code)));
        }
    }
    for call in wrong.iter().take(SHOWN) {
        eprintln!("chaos: the ledger differs: {call}");
    }
    let known: HashSet<&String> = calls.iter().map(|call| &call.id).collect();
    let strange = records.keys().filter(|id| !known.contains(id)).count();
    let containers: Vec<&String> =
        records.values().filter_map(|record| record.container.as_ref()).collect();
    let once: HashSet<&&String> = containers.iter().collect();
    let twice = containers.len() - once.len();
    row("chaos.records", records.len(), "records");
    row("chaos.records_that_differ", wrong.len(), "calls");
    row("chaos.records_of_no_call", strange, "records");
    row("chaos.containers_used", containers.len(), "containers");
    row("chaos.containers_used_twice", twice, "containers");
    let verified = Command::new(BINARY)
        .args(["ledger", "verify", "--json", "--file"])
        .arg(&path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&verified.stdout);
    let whole = verified.status.success();
    row("chaos.ledger_chain", if whole { "whole" } else { "broken" }, text.trim());
    wrong.len() + strange + twice + usize::from(!whole)
}

fn read(path: &std::path::Path) -> HashMap<String, Record> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut query = connection.prepare("SELECT call_id, code, reply, facts FROM call").unwrap();
    let rows = query.query_map([], |row| {
        let (id, code): (String, Option<String>) = (row.get(0)?, row.get(1)?);
        let facts: Value = serde_json::from_str(&row.get::<_, String>(3)?).unwrap();
        let container = facts["run"]["container"].as_str().map(str::to_owned);
        let code = code.unwrap_or_else(|| "SUCCESS".to_owned());
        Ok((id, Record { code, reply: row.get(2)?, container }))
    });
    let mut records = HashMap::new();
    for found in rows.unwrap() {
        let (id, record) = found.unwrap();
        assert!(records.insert(id, record).is_none(), "a call has two records");
    }
    records
}
