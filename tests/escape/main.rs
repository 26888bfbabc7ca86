//! The escape suite: attacking programs and hostile calls against the real daemon and the real engine,
//! each with the exact observation that it has to end in. Prints a line a probe and a line of counts.
//!
//!   escape [--runsc ENDPOINT | --no-runsc REASON] [--only runc|runsc] [--verdicts] [NUMBER...]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test may fail and say so"
)]

mod control;
#[path = "../it/daemon.rs"]
#[expect(dead_code, reason = "the integration tests use more of it")]
mod daemon;
mod expect;
mod gate;
mod host;
mod life;
mod program;
mod requests;
mod site;
mod smuggle;
mod trial;
mod verdicts;
mod watch;
mod wire;
mod world;

use std::os::unix::process::CommandExt;
use std::panic::AssertUnwindSafe;
use std::process::{Command, ExitCode};

use futures::FutureExt;
use site::{Engine, Runtime, Site};
use trial::{Finding, Verdict};
use world::World;

/// Names the machine's own network namespace, once the suite has another.
pub(crate) const INSIDE: &str = "SWITCHBOARD_ESCAPE_INSIDE";
/// What the command line asks for.
#[derive(Debug, Default)]
struct Options {
    runsc: Option<String>,
    no_runsc: Option<String>,
    only: Option<String>,
    numbers: Vec<u32>,
    verdicts: bool,
}

fn main() -> ExitCode {
    let options = options();
    if std::env::var(INSIDE).is_err() {
        // The gate is tried with addresses that this machine must not take over.
        let own = std::env::current_exe().unwrap();
        let error = Command::new("unshare")
            .args(["--net", "--mount"])
            .arg(own)
            .args(std::env::args_os().skip(1))
            .env(INSIDE, std::fs::read_link("/proc/self/ns/net").unwrap())
            .exec();
        panic!("no network namespace of our own: {error}");
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    match runtime.block_on(suite(&options)) {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn options() -> Options {
    let mut options = Options::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--runsc" => options.runsc = words.next(),
            "--no-runsc" => options.no_runsc = words.next(),
            "--verdicts" => options.verdicts = true,
            "--only" => options.only = words.next(),
            number => options.numbers.push(number.parse().unwrap()),
        }
    }
    options
}

async fn suite(options: &Options) -> usize {
    let programs = program::all();
    let world = World::open().await;
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for runtime in [Runtime::Runc, Runtime::Runsc] {
        if options.only.as_deref().is_some_and(|only| only != runtime.name()) {
            continue;
        }
        let endpoint = match runtime {
            Runtime::Runc => Some("unix:///var/run/docker.sock".to_owned()),
            Runtime::Runsc => options.runsc.clone(),
        };
        let site = match endpoint {
            Some(endpoint) => Some(Site::open(Engine { runtime, endpoint }, &world).await),
            None => None,
        };
        for number in 1..=46 {
            if !options.numbers.is_empty() && !options.numbers.contains(&number) {
                continue;
            }
            let finding = match &site {
                Some(site) => {
                    let held = AssertUnwindSafe(trial::hold(site, &programs, number));
                    held.catch_unwind().await.unwrap_or_else(|_| Finding::broken())
                }
                None => Finding::skip(options.no_runsc.as_deref().unwrap_or("no engine with it")),
            };
            match finding.verdict() {
                Verdict::Passed => passed += 1,
                Verdict::Failed => failed += 1,
                Verdict::Skipped => skipped += 1,
            }
            let title = trial::title(&programs, number);
            let class = trial::class(&programs, number);
            println!("{}", finding.line(number, &title, &class, runtime));
        }
        if let (Some(site), true) = (&site, options.numbers.is_empty() || options.verdicts) {
            let (good, bad) = verdicts::print(site).await;
            passed += good;
            failed += bad;
        }
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    failed
}
