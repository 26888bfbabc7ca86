//! `switchboard eval`: suites of questions put to a live daemon, with recorded or live models, and two
//! results side by side; and the model that is played, by itself. What came of a question is judged by the daemon's ledger, not by what it streamed.

mod ask;
mod check;
mod compare;
mod judge;
mod memory;
mod player;
mod play;
mod plot;
mod reason;
mod record;
mod report;
mod run;
mod script;
mod seen;
mod suite;

use std::process::ExitCode;

use clap::Subcommand;

use super::Failed;

#[derive(Debug, Subcommand)]
pub(super) enum Eval {
    /// Put the questions of suites to a daemon, and check what comes of them. Exit 1 when a check does not
    /// hold.
    ///
    /// A suite is a YAML file: `suite` (its name), optionally `agent`, `memory` (files of units), `transcript`
    /// (file of recorded answers), `never`, and `cases`. A case has a `name`, a `question`, and optionally
    /// `kind`, `agent`, `memory` (units), `as_of`, `collections`, `limits` (steps, tokens), `model` (what the
    /// model says), `expect` (ended, tools, answer, decision, evidence, prompt), `never` (runs, sends, says,
    /// prompts, reaches), and `then`: the questions that follow it up.
    Run(Box<run::Options>),
    /// Put two results of `eval run --out` side by side: the score of each, by case and in sum. Exit 1 when a
    /// case got worse.
    Compare(compare::Options),
    /// Answer in place of a model, by a script, for a daemon that stands by itself; until this is ended.
    ///
    /// The script is a YAML file: a list of answers as `model` of a case has them. Each question is given the
    /// first answer that fits, any number of times; one that fits none is refused, and said on standard error.
    Play(play::Options),
}

pub(super) async fn run(eval: Eval) -> Result<ExitCode, Failed> {
    match eval {
        Eval::Run(options) => Box::pin(run::run(*options)).await,
        Eval::Compare(options) => compare::run(&options),
        Eval::Play(options) => play::run(&options).await,
    }
}
