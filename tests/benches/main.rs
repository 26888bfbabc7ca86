//! The bars of the design, measured: `cargo bench --bench bars -- NAME...`, or none for all. A real
//! daemon, a real engine and a real client in; rows `name<TAB>value<TAB>unit` out. `run.sh` beside
//! this file compares them with the bars. What is compared is measured in the same run, in turns.
#![expect(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a bench may fail, prints its rows, shares a harness, and its figures are no ledger"
)]

mod check;
#[expect(dead_code, reason = "shared with the integration tests, which use all of it")]
#[path = "../it/daemon.rs"]
mod daemon;
mod dialects;
mod dry;
mod embed;
mod engine;
mod faults;
mod flood;
mod import;
mod ledger;
mod measure;
mod memory;
mod overshoot;
mod policy;
mod pool;
mod reason;
mod search;
mod shell;
mod stage;
mod start;
mod sustained;
mod trace;
mod warm;
mod worker;

use std::process::ExitCode;

const ALL: [&str; 18] = [
    "start",
    "dry",
    "check",
    "dialects",
    "policy",
    "import",
    "ledger",
    "search",
    "embed",
    "memory",
    "reason",
    "worker",
    "warm",
    "pool",
    "sustained",
    "overshoot",
    "flood",
    "faults",
];

fn main() -> ExitCode {
    // cargo adds `--bench`.
    let named: Vec<String> = std::env::args().skip(1).filter(|name| name != "--bench").collect();
    if let Some(wrong) = named.iter().find(|name| !ALL.contains(&name.as_str())) {
        eprintln!("bars: there is no `{wrong}`; there are {}", ALL.join(", "));
        return ExitCode::from(2);
    }
    let chosen = ALL.iter().filter(|name| named.is_empty() || named.iter().any(|n| n == *name));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut right = true;
    for name in chosen {
        eprintln!("bars: {name}");
        right &= runtime.block_on(run(name));
    }
    if right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One subject; false when what it saw was wrong, not merely slow.
#[expect(clippy::cognitive_complexity, reason = "one arm a subject, and nothing in it")]
async fn run(name: &str) -> bool {
    match name {
        "start" => start::run().await,
        "dry" => dry::run().await,
        "check" => check::run(),
        "dialects" => dialects::run().await,
        "policy" => policy::run(),
        "import" => import::run(),
        "ledger" => ledger::run().await,
        "search" => search::run().await,
        "embed" => embed::run().await,
        "memory" => memory::run().await,
        "reason" => reason::run().await,
        "worker" => worker::run().await,
        "warm" => warm::run().await,
        "pool" => pool::run().await,
        "sustained" => sustained::run().await,
        "overshoot" => overshoot::run().await,
        "flood" => return flood::run().await,
        _ => return faults::run().await,
    }
    true
}
