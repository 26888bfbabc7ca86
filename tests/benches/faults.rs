//! A thousand calls, most of them faulty, against the demonstration tools and the probes: each must
//! have its right code, none with invalid arguments may reach a tool, and no container may be left.

use std::collections::BTreeMap;
use std::time::Instant;

use futures::StreamExt;
use serde_json::{Value, json};
use switchboard::proto::tools::Reply;

use crate::daemon::{Daemon, containers, request};
use crate::engine::metric;
use crate::measure::{figure, row};
use crate::stage::{self, Client, Orders};

const CALLS: usize = 1000;
/// Callers at once.
const CALLERS: usize = 6;

/// One kind of call.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    tool: &'static str,
    expected: &'static str,
    /// Whether the tool may run.
    runs: bool,
    count: usize,
    arguments: fn(usize) -> String,
}

const fn refused(name: &'static str, count: usize, arguments: fn(usize) -> String) -> Kind {
    let (tool, expected) = ("probe.echo", "SCHEMA_VALIDATION_ERROR");
    Kind { name, tool, expected, runs: false, count, arguments }
}

/// A script of the bench's tool, or of a probe with a shorter wall.
const fn ran(
    name: &'static str,
    expected: &'static str,
    count: usize,
    arguments: fn(usize) -> String,
) -> Kind {
    Kind { name, tool: "bench.sh", expected, runs: true, count, arguments }
}

const fn of(tool: &'static str, kind: Kind) -> Kind {
    Kind { tool, ..kind }
}

const fn unrun(tool: &'static str, expected: &'static str, kind: Kind) -> Kind {
    Kind { tool, expected, ..kind }
}

fn sh(script: &str) -> String {
    json!({ "script": script }).to_string()
}

fn python(code: &str) -> String {
    json!({ "code": code }).to_string()
}

fn refusals() -> Vec<Kind> {
    vec![
        refused("wrong_type", 80, |n| json!({ "count": [n] }).to_string()),
        refused("lossy_number", 30, |n| format!(r#"{{"count":{n}.5}}"#)),
        refused("missing_field", 80, |_| r#"{"colour":"red"}"#.into()),
        refused("bad_enum", 80, |n| format!(r#"{{"count":{n},"colour":"mauve-{n}"}}"#)),
        refused("unknown_field", 50, |n| format!(r#"{{"count":{n},"quux{n}":true}}"#)),
        refused("out_of_bounds", 50, |n| format!(r#"{{"count":{n},"limit":1000}}"#)),
        refused("not_json", 30, |n| format!(r#"{{"count":{n}, <"#)),
        refused("not_an_object", 20, |n| format!("[{n}]")),
        refused("too_deep", 10, |_| {
            format!(r#"{{"count":{}1{}}}"#, "[".repeat(99), "]".repeat(99))
        }),
        unrun(
            "listCustomerOrders",
            "SCHEMA_VALIDATION_ERROR",
            refused("http_bad_enum", 40, |_| r#"{"customer_id":"C-1001","status":"sent"}"#.into()),
        ),
        unrun(
            "python.run",
            "SCHEMA_VALIDATION_ERROR",
            refused("code_missing", 20, |_| r#"{"input":1}"#.into()),
        ),
        unrun(
            "probe.echo",
            "POLICY_DENIED",
            refused("denied_by_policy", 40, |n| format!(r#"{{"count":{}}}"#, 2000 + n)),
        ),
        unrun("orders.delete", "UNKNOWN_TOOL", refused("unknown_tool", 30, |_| "{}".into())),
        unrun("probe.forbidden", "POLICY_DENIED", refused("forbidden_tool", 5, |_| "{}".into())),
        unrun("probe.forbiden", "UNKNOWN_TOOL", refused("hidden_tool", 5, |_| "{}".into())),
    ]
}

fn runs() -> Vec<Kind> {
    vec![
        of("probe.echo", ran("good_repaired", "", 20, |n| format!(r#"{{"count":"{n}"}}"#))),
        of("probe.cat", ran("good_text", "", 30, |n| json!({ "text": n.to_string() }).to_string())),
        of(
            "text.stats",
            ran("good_stats", "", 20, |n| json!({ "text": format!("{n} words") }).to_string()),
        ),
        of("python.run", ran("good_python", "", 20, |n| python(&format!("result = {n} + 1")))),
        of(
            "getOrder",
            ran("good_order", "", 70, |n| format!(r#"{{"order_id":"ORD-{}"}}"#, 10_001 + n % 40)),
        ),
        of(
            "listCustomerOrders",
            ran("good_orders", "", 50, |n| {
                format!(r#"{{"customer_id":"C-100{}","limit":"5"}}"#, 1 + n % 8)
            }),
        ),
        of(
            "getOrder",
            ran("order_missing", "UPSTREAM_ERROR", 30, |n| {
                format!(r#"{{"order_id":"ORD-{}"}}"#, 90_000 + n)
            }),
        ),
        ran("exit_code", "EXECUTION_ERROR", 30, |n| sh(&format!("exit {}", 1 + n % 100))),
        ran("crash", "EXECUTION_ERROR", 20, |_| sh("kill -SEGV $$")),
        ran("killed", "EXECUTION_ERROR", 10, |_| sh("kill -9 $$")),
        ran("no_program", "EXECUTION_ERROR", 10, |n| sh(&format!("nosuchprogram{n}"))),
        of(
            "python.run",
            ran("exception", "EXECUTION_ERROR", 10, |n| python(&format!("raise ValueError({n})"))),
        ),
        of("probe.sh", ran("hangs", "TOOL_TIMEOUT", 20, |_| sh("sleep 60"))),
        of(
            "probe.sh",
            ran("spins", "TOOL_TIMEOUT", 10, |_| sh("trap '' TERM; while :; do :; done")),
        ),
        of("probe.sh", ran("stops_itself", "TOOL_TIMEOUT", 10, |_| sh("kill -STOP 0"))),
        ran("memory_hog", "TOOL_OUT_OF_MEMORY", 15, |_| sh("head -c 300000000 /dev/zero | tail")),
        of(
            "python.run",
            ran("python_hog", "TOOL_OUT_OF_MEMORY", 5, |_| python("result = len(b'x' * 2**30)")),
        ),
        ran("flood", "OUTPUT_LIMIT", 15, |_| sh("yes")),
        ran("flood_stderr", "OUTPUT_LIMIT", 10, |_| sh("yes >&2")),
        ran("disk_full", "DISK_LIMIT", 10, |_| sh("head -c 100000000 /dev/zero >/tmp/full")),
        ran("forks", "PROCESS_LIMIT", 10, |_| {
            sh("i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i+1)); done; wait")
        }),
        of(
            "python.run",
            ran("reaches_out", "EGRESS_DENIED", 5, |_| {
                python(
                    "import urllib.request as u\nresult = u.urlopen('http://127.0.0.1:9/').status",
                )
            }),
        ),
    ]
}

pub async fn run() -> bool {
    let orders = Orders::start();
    // On a busy machine, what is not meant to hang must not reach its wall.
    let setup = stage::setup().edit("sandbox/python.toml", "wall = \"3s\"", "wall = \"20s\"");
    let daemon = orders.admit(setup).start().await;
    let kinds: Vec<Kind> = refusals().into_iter().chain(runs()).collect();
    assert_eq!(kinds.iter().map(|kind| kind.count).sum::<usize>(), CALLS);
    let begun = Instant::now();
    let replies = make(&daemon, &kinds).await;
    figure("faults.took", begun.elapsed().as_secs_f64(), "s");
    let mut wrong = table(&kinds, &replies);
    wrong += reached(&daemon, &kinds, &replies).await;
    wrong += recorded(&daemon, &replies);
    wrong += ended(daemon);
    row("faults.differences", wrong, "differences");
    wrong == 0
}

/// The code of a reply or, where there is none, the gRPC status; and the reply.
type Answer = (String, Value);

/// Makes all calls in an order that mixes the kinds; gives the answers by kind.
async fn make(daemon: &Daemon, kinds: &[Kind]) -> BTreeMap<usize, Vec<Answer>> {
    let calls =
        kinds.iter().enumerate().flat_map(|(at, kind)| (0..kind.count).map(move |n| (at, n)));
    let mut calls: Vec<(usize, usize)> = calls.collect();
    calls.sort_by_key(|(at, n)| (at * 7919 + n * 104_729) % 1009);
    let client = daemon.client().await;
    let made = futures::stream::iter(calls).map(|(at, n)| {
        let (mut client, kind) = (client.clone(), &kinds[at]);
        async move { (at, one(&mut client, kind, n).await) }
    });
    let mut replies: BTreeMap<usize, Vec<Answer>> = BTreeMap::new();
    let mut made = std::pin::pin!(made.buffer_unordered(CALLERS));
    while let Some((at, answer)) = made.next().await {
        replies.entry(at).or_default().push(answer);
    }
    replies
}

async fn one(client: &mut Client, kind: &Kind, number: usize) -> Answer {
    match client.call(request(kind.tool, &(kind.arguments)(number))).await {
        Ok(response) => {
            let Reply { error, json, .. } = response.into_inner().reply.unwrap();
            let code = error.map_or_else(|| "SUCCESS".to_owned(), |error| error.code);
            (code, serde_json::from_str(&json).unwrap())
        }
        Err(status) => (format!("{:?} {}", status.code(), status.message()), Value::Null),
    }
}

fn expected(kind: &Kind) -> &str {
    if kind.expected.is_empty() { "SUCCESS" } else { kind.expected }
}

/// Prints the table; gives how many answers differ from what was expected.
fn table(kinds: &[Kind], replies: &BTreeMap<usize, Vec<Answer>>) -> usize {
    let mut wrong = 0;
    eprintln!("{:<18}{:<26}{:>6}{:>7}", "kind", "expected", "calls", "right");
    for (at, kind) in kinds.iter().enumerate() {
        let expected = expected(kind);
        let right = replies[&at].iter().filter(|(code, _)| code == expected).count();
        eprintln!("{:<18}{expected:<26}{:>6}{right:>7}", kind.name, kind.count);
        row(&format!("faults.{}.{expected}", kind.name), right, &format!("of {}", kind.count));
        for (code, reply) in replies[&at].iter().filter(|(code, _)| code != expected).take(2) {
            eprintln!("  instead: {code} {reply}");
        }
        wrong += kind.count - right;
    }
    wrong
}

/// That what was refused had no container, by its reply and by the sandbox's own count of runs.
async fn reached(daemon: &Daemon, kinds: &[Kind], replies: &BTreeMap<usize, Vec<Answer>>) -> usize {
    let pooled = |(_, reply): &&Answer| !reply["metadata"]["pool"].is_null();
    let refused = kinds.iter().enumerate().filter(|(_, kind)| !kind.runs);
    let reached: usize = refused.map(|(at, _)| replies[&at].iter().filter(pooled).count()).sum();
    let may: usize = kinds.iter().filter(|kind| kind.runs).map(|kind| kind.count).sum();
    let run = metric(daemon, "switchboard_sandbox_verdicts_total", "").await as usize;
    row("faults.invalid_that_reached_a_tool", reached, &format!("of {}", CALLS - may));
    row("faults.runs", run, &format!("of {may}"));
    reached + run.abs_diff(may)
}

/// That the ledger has each call once, with the reply's code, and a run only where there was one.
fn recorded(daemon: &Daemon, replies: &BTreeMap<usize, Vec<Answer>>) -> usize {
    let file = daemon.folder().join("ledger.db");
    let limit = (2 * CALLS).to_string();
    let found = daemon.cli(&[
        "ledger",
        "search",
        "--json",
        "--limit",
        &limit,
        "--file",
        file.to_str().unwrap(),
    ]);
    assert!(found.status.success(), "{found:?}");
    let records: BTreeMap<String, Value> = String::from_utf8(found.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|record| (record["call_id"].as_str().unwrap().to_owned(), record))
        .collect();
    let mut wrong = records.len().abs_diff(CALLS);
    for (code, reply) in replies.values().flatten() {
        let id = reply["metadata"]["call_id"].as_str().unwrap_or_default();
        let agrees = records.get(id).is_some_and(|record| {
            let kept = record["code"].as_str().unwrap_or("SUCCESS");
            let ran = !record["facts"]["run"].is_null();
            kept == code && ran != reply["metadata"]["pool"].is_null()
        });
        wrong += usize::from(!agrees);
    }
    row("faults.records_that_differ", wrong, &format!("of {CALLS}"));
    wrong
}

/// That SIGTERM ends the daemon and every container.
fn ended(mut daemon: Daemon) -> usize {
    daemon.signal("TERM");
    let exit = daemon.wait();
    let left = containers(&daemon.setup.instance).len();
    row("faults.exit_code", exit.unwrap_or(-1), "exit code");
    row("faults.containers_left", left, "containers");
    left + usize::from(exit != Some(0))
}
