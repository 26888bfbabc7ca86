//! Calls under fire: thousands of calls while the daemon is killed, the engine restarted and callers
//! go away, each at random moments of a seed. Then nothing may be left, every call must have had one
//! verdict, and every reply its record. `run.sh` beside this file says how to use it.
#![expect(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test program may fail, prints what it saw, shares a harness, and its figures are no ledger"
)]

mod calls;
mod checks;
#[expect(dead_code, reason = "shared with the integration tests, which use all of it")]
#[path = "../it/daemon.rs"]
mod daemon;
#[path = "../benches/trace.rs"]
#[expect(dead_code, reason = "shared with the benches, which use all of it")]
mod dice;
mod engine;
mod fire;
#[expect(dead_code, reason = "shared with the benches, which use all of it")]
#[path = "../benches/measure.rs"]
mod measure;
mod orphans;
#[path = "../benches/shell.rs"]
mod shell;
mod stage;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio_util::task::TaskTracker;

use calls::{Call, View};
use engine::Engine;
use fire::{Keeper, Progress};
use measure::{figure, row};
use orphans::Orphans;
use stage::Stage;

/// Calls at once.
const CALLERS: usize = 12;
/// Connections that they share.
const CHANNELS: usize = 4;

/// How much of everything.
#[derive(Debug, Clone, Copy)]
struct Plan {
    calls: usize,
    kills: usize,
    restarts: usize,
    seed: u64,
}

fn plan() -> Result<Plan, String> {
    let mut plan = Plan { calls: 10_000, kills: 50, restarts: 3, seed: 1 };
    // cargo adds `--bench`.
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        let value = words.next().unwrap_or_default();
        let number: u64 =
            value.parse().map_err(|_bad| format!("{word} `{value}`: not a number"))?;
        match word.as_str() {
            "--calls" => plan.calls = number as usize,
            "--kills" => plan.kills = number as usize,
            "--engine-restarts" => plan.restarts = number as usize,
            "--seed" => plan.seed = number,
            _ => return Err(format!("there is no {word}; see tests/chaos/run.sh")),
        }
    }
    Ok(plan)
}

fn main() -> ExitCode {
    let plan = match plan() {
        Ok(plan) => plan,
        Err(wrong) => {
            eprintln!("chaos: {wrong}");
            return ExitCode::from(2);
        }
    };
    eprintln!(
        "chaos: {} calls, {} kills of the daemon, {} restarts of the engine, seed {}",
        plan.calls, plan.kills, plan.restarts, plan.seed
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let wrong = runtime.block_on(run(plan));
    row("chaos.wrong", wrong, "of anything");
    if wrong > 0 {
        eprintln!("chaos: the daemons' words are in {}", fire::LOG);
    }
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Plays the plan; gives how much was not as it should be.
async fn run(plan: Plan) -> usize {
    let tasks = TaskTracker::new();
    let engine = Arc::new(Engine::start().await);
    let stage = Stage::set(&engine, &tasks).await;
    let before = engine.leftovers();
    let orphans = Orphans::watch(&engine, &stage.setup.instance, &tasks);
    let keeper = Arc::new(Keeper::start(&stage));
    stage.listening().await;
    let begun = Instant::now();
    let progress = Arc::new(Progress::default());
    let fire = fire::open(plan, &keeper, &engine, &progress, &tasks);
    let calls = make(plan, &stage, &progress).await;
    fire.await.unwrap();
    let took = begun.elapsed().as_secs_f64();
    row("chaos.calls", calls.len(), "calls");
    figure("chaos.took", took, "s");
    row("chaos.kills", keeper.kills().len(), "kills of the daemon");
    row("chaos.engine_restarts", plan.restarts, "restarts of the engine");
    let mut wrong = checks::views(&calls, &keeper.kills());
    wrong += keeper.end().await;
    wrong += engine.empty(&before, &stage.setup.instance).await;
    wrong += checks::ledger(&stage, &calls);
    wrong += orphans.report(&keeper.kills()).await;
    engine.stop().await;
    wrong
}

/// Makes the calls, so many at once; gives what the callers saw of each.
async fn make(plan: Plan, stage: &Stage, progress: &Arc<Progress>) -> Vec<Call> {
    let (next, callers) = (Arc::new(AtomicUsize::new(0)), TaskTracker::new());
    let clients: Vec<_> = (0..CHANNELS).map(|_| stage.client()).collect();
    let handles: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let client = clients[caller % CHANNELS].clone();
            let (next, progress) = (Arc::clone(&next), Arc::clone(progress));
            callers.spawn(async move {
                let (mut seen, mut failures) = (Vec::new(), 0);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= plan.calls {
                        return seen;
                    }
                    let call = calls::one(&client, plan.seed, number).await;
                    let pause = call.pause(&mut failures);
                    progress.note(matches!(call.view, View::Reply(..)));
                    seen.push(call);
                    tokio::time::sleep(pause).await;
                }
            })
        })
        .collect();
    let mut all = Vec::new();
    for handle in handles {
        all.extend(handle.await.unwrap());
    }
    all
}
