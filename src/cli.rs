//! The command line: one file a subcommand. Exit codes: 0 success, 1 the answer is an error,
//! 2 wrong usage, 3 no daemon answers.

mod approvals;
mod batch;
mod call;
mod client;
mod doctor;
mod eval;
mod files;
mod health;
mod janitor;
mod ledger;
mod memory;
mod native;
mod offline;
mod policy;
mod print;
mod run;
mod runs;
mod serve;
mod token;
mod tools;
mod trace;

use std::fmt::Display;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// A tool-routing sidecar for AI agents.
#[derive(Debug, Parser)]
#[command(name = "switchboard", version, propagate_version = true)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the daemon until SIGTERM.
    Serve(serve::Options),
    /// Call a tool and print its reply as one line of JSON.
    Call(call::Options),
    /// Run the calls in a provider's own message and print its own result messages as JSON.
    Native(native::Options),
    /// Run several calls of which some use the results of others; prints each reply as JSON.
    Batch(batch::Options),
    /// Calls that wait for a person: list, show, approve, deny, watch.
    #[command(subcommand)]
    Approvals(approvals::Approvals),
    /// List, find, check and export tools, and try API documents.
    #[command(subcommand)]
    Tools(tools::Tools),
    /// Check and repair arguments without a daemon; prints them, or the errors, as JSON.
    Validate(offline::Options),
    /// Check, test, explain, report, compare and replay policies; no daemon needed.
    #[command(subcommand)]
    Policy(policy::Policy),
    /// Decide recorded calls again by today's schemas and policies; the same as `policy replay`.
    Replay(policy::replay::Options),
    /// Read the ledger of calls.
    #[command(subcommand)]
    Ledger(ledger::Ledger),
    /// Fill, ask, explain, measure and keep the memory.
    #[command(subcommand)]
    Memory(memory::Memory),
    /// Have a question answered: prints each step as it comes, and the answer.
    Run(run::Options),
    /// Your runs: list them, follow and go on with one, end one.
    #[command(subcommand)]
    Runs(runs::Runs),
    /// The evidence of a run: print it, check it again offline, print its schema.
    #[command(subcommand)]
    Trace(trace::Traces),
    /// Put suites of questions to a daemon, and compare what came of them.
    #[command(subcommand)]
    Eval(eval::Eval),
    /// Check this installation: a verdict and a mend per line.
    Doctor(doctor::Options),
    /// Ask a daemon for its health; exit 0 when it serves. For exec probes.
    Health(health::Options),
    /// Make a bearer token for a caller, and its entry for the daemon's file of tokens.
    Token(token::Options),
    /// Started by the daemon: removes what a killed daemon leaves.
    #[command(hide = true)]
    Janitor(janitor::Options),
    /// Print the completions of a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

/// Why a command failed, and with which exit code.
#[derive(Debug)]
pub(crate) struct Failed {
    code: u8,
    message: String,
}

impl Failed {
    /// The answer is an error.
    pub(crate) fn answer(message: impl Display) -> Self {
        Self { code: 1, message: message.to_string() }
    }

    /// The command line, or a file that it names, is wrong.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { code: 2, message: message.to_string() }
    }

    /// No daemon answers.
    pub(crate) fn no_daemon(message: impl Display) -> Self {
        Self { code: 3, message: message.to_string() }
    }
}

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    let line = Line::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&Failed::answer(format!("no runtime: {error}"))),
    };
    let outcome = runtime.block_on(dispatch(line.command));
    runtime.shutdown_background();
    match outcome {
        Ok(code) => code,
        Err(failed) => complain(&failed),
    }
}

fn complain(failed: &Failed) -> ExitCode {
    if !failed.message.is_empty() {
        print::error(&failed.message);
    }
    ExitCode::from(failed.code)
}

#[expect(clippy::cognitive_complexity, reason = "one arm a subcommand, and nothing in it")]
async fn dispatch(command: Command) -> Result<ExitCode, Failed> {
    match command {
        Command::Serve(options) => serve::run(options).await,
        Command::Call(options) => call::run(options).await,
        Command::Native(options) => native::run(options).await,
        Command::Batch(options) => batch::run(options).await,
        Command::Approvals(approvals) => approvals::run(approvals).await,
        Command::Tools(tools) => tools::run(tools).await,
        Command::Validate(options) => offline::run(&options),
        Command::Policy(policy) => policy::run(policy).await,
        Command::Replay(options) => policy::replay::run(options).await,
        Command::Ledger(ledger) => ledger::run(ledger).await,
        Command::Memory(memory) => Box::pin(memory::run(memory)).await,
        Command::Run(options) => Box::pin(run::run(options)).await,
        Command::Runs(runs) => Box::pin(runs::run(runs)).await,
        Command::Trace(traces) => Box::pin(trace::run(traces)).await,
        Command::Eval(eval) => Box::pin(eval::run(eval)).await,
        Command::Doctor(options) => Box::pin(doctor::run(options)).await,
        Command::Health(options) => health::run(options).await,
        Command::Token(options) => token::run(&options),
        Command::Janitor(options) => janitor::run(options).await,
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Line::command(), "switchboard", &mut text);
            print::text(&String::from_utf8_lossy(&text))
        }
    }
}
