//! One decision with few policies and with a hundred, in this process; and the check of many tools and
//! policies by the command line.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use switchboard::admission::{Admission, Config, Link};
use switchboard::call::Call;
use switchboard::pipeline::Snapshot;

use crate::daemon::{BINARY, Setup};
use crate::measure::{Samples, figure, row};

const DECISIONS: usize = 20_000;
const POLICIES: i64 = 100;
const TOOLS: usize = 500;

pub fn run() {
    let few = Setup::new();
    let spread = Setup::new().policy("cedar/many.cedar", &policies(4));
    let heaped = Setup::new().policy("cedar/many.cedar", &policies(1));
    // In turns, so that a busy moment meets all.
    let folders = [
        ("default", few.policies()),
        ("hundred", spread.policies()),
        ("hundred_on_one_tool", heaped.policies()),
    ];
    let snapshots = folders.map(|(name, folder)| (name, load(&folder), Samples::default()));
    let mut snapshots = Vec::from(snapshots);
    for _ in 0..5 {
        for (_, snapshot, seen) in &mut snapshots {
            decide(snapshot, seen);
        }
    }
    for (name, _, seen) in &snapshots {
        figure(&format!("policy.{name}.p50"), seen.median(), "us");
        figure(&format!("policy.{name}.p99"), seen.quantile(0.99), "us");
    }
    check();
}

fn load(folder: &Path) -> Snapshot {
    Snapshot::load(folder, &|name| Some(name.to_owned()), None).unwrap()
}

fn decide(snapshot: &Snapshot, seen: &mut Samples) {
    let admission = Admission::new(Config {
        calls_per_second: u32::MAX,
        calls_per_second_per_caller: u32::MAX,
        ..Config::default()
    })
    .unwrap();
    let caller = admission.identify(&Link::Inside.into()).unwrap();
    for number in 0..DECISIONS / 5 {
        let arguments = format!(r#"{{"count":{},"colour":"red"}}"#, number % 1000);
        let call = Call::new("probe.echo", arguments);
        let admitted = admission.admit(call, caller.clone()).unwrap();
        let resolved = snapshot.catalog.resolve(admitted, &|_, _| true).unwrap();
        let checked = snapshot.schemas.check(resolved).unwrap();
        let begun = Instant::now();
        let decided = snapshot.policies.authorize(checked, None);
        seen.add(begun.elapsed().as_secs_f64() * 1e6);
        assert!(decided.is_ok());
    }
}

/// A hundred policies that read arguments, caller and sandbox. Each `nth` of them concerns the tool in
/// question, the others one of four other tools.
fn policies(nth: i64) -> String {
    let mut text = String::new();
    for number in 0..POLICIES {
        let (tool, inputs) = match number % nth {
            0 => ("probe.echo", true),
            1 => ("text.stats", false),
            2 => ("probe.cat", false),
            _ => ("probe.sh", false),
        };
        let when = match number / nth % 4 {
            0 if inputs => format!("context.input.count == {}", 100_000 + number),
            1 if inputs => {
                format!("context.input has colour && context.input.colour == \"hue-{number}\"")
            }
            2 => format!("context.sandbox.memory > {}", 1_000_000_000_000 + number),
            _ => format!("principal.name == \"nobody-{number}\""),
        };
        writeln!(
            text,
            "@id(\"bench-{number}\")\n@owner(\"bench\")\nforbid (principal, action == \
             Switchboard::Action::\"{tool}\", resource)\nwhen {{ {when} }};"
        )
        .unwrap();
    }
    text
}

/// `policy check` of many tools and policies by the command line.
fn check() {
    let setup = Setup::of(&["policies", "tests/fixtures/policies"])
        .policy("cedar/many.cedar", &policies(4));
    let folder = setup.policies();
    let tool = std::fs::read_to_string(folder.join("tools/probe-echo.toml")).unwrap();
    for number in 0..TOOLS {
        let text = tool.replace("probe.echo", &format!("bench.tool{number}"));
        std::fs::write(folder.join(format!("tools/bench-{number}.toml")), text).unwrap();
    }
    let mut took = Samples::default();
    for _ in 0..3 {
        let begun = Instant::now();
        let checked = Command::new(BINARY)
            .args(["policy", "check", "--json", "--catalog"])
            .arg(&folder)
            .output()
            .unwrap();
        assert!(checked.status.code().is_some_and(|code| code < 2), "{checked:?}");
        took.time(begun.elapsed());
    }
    row("policy.check.tools", TOOLS, "tools");
    figure("policy.check.p50", took.median(), "ms");
}
