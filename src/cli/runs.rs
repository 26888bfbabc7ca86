//! `switchboard runs`: your runs, and what can be done with one: follow it, go on with it, end it.

use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use super::client::{Where, told};
use super::run::{self, Manner};
use super::{Failed, print};
use crate::proto::reason as proto;

/// Runs that are fetched at once.
const PAGE: u32 = 200;
/// Characters of a question in a table.
const SHOWN: usize = 80;

#[derive(Debug, Subcommand)]
pub(super) enum Runs {
    /// List your runs, those started last first.
    List(List),
    /// Follow a run from an event on. One that is suspended goes on, if what it waits for has come.
    Resume(Resume),
    /// End a run.
    Cancel(Cancel),
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Only runs in this state; several times for several.
    #[arg(long)]
    state: Vec<State>,
    /// Only runs of this conversation.
    #[arg(long, default_value = "")]
    conversation: String,
    /// So many at most.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// One line of JSON for each.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum State {
    Running,
    Waiting,
    Answered,
    Partial,
    Failed,
    Cancelled,
}

#[derive(Debug, Args)]
pub(super) struct Resume {
    /// The run's id.
    run: String,
    /// The last event that was seen; all without it.
    #[arg(long, default_value_t = 0)]
    after: u64,
    #[command(flatten)]
    manner: Manner,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Args)]
pub(super) struct Cancel {
    /// The run's id.
    run: String,
    #[command(flatten)]
    at: Where,
}

pub(super) async fn run(runs: Runs) -> Result<ExitCode, Failed> {
    match runs {
        Runs::List(options) => list(options).await,
        Runs::Resume(Resume { run, after, manner, at }) => {
            run::resume(at.reasons().await?, run, after, manner).await
        }
        Runs::Cancel(options) => cancel(options).await,
    }
}

impl From<State> for proto::State {
    fn from(state: State) -> Self {
        match state {
            State::Running => Self::Running,
            State::Waiting => Self::Waiting,
            State::Answered => Self::Answered,
            State::Partial => Self::Partial,
            State::Failed => Self::Failed,
            State::Cancelled => Self::Cancelled,
        }
    }
}

async fn list(options: List) -> Result<ExitCode, Failed> {
    let mut client = options.at.reasons().await?;
    let states: Vec<i32> =
        options.state.iter().map(|state| proto::State::from(*state).into()).collect();
    let (mut runs, mut token) = (Vec::new(), String::new());
    loop {
        let left = options.limit.saturating_sub(runs.len());
        let page_size = u32::try_from(left).unwrap_or(PAGE).min(PAGE);
        if page_size == 0 {
            break;
        }
        let asked = proto::ListRunsRequest {
            page_size,
            page_token: token,
            states: states.clone(),
            conversation_id: options.conversation.clone(),
        };
        let page = client.list_runs(asked).await.map_err(|status| told(&status))?.into_inner();
        runs.extend(page.runs);
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    match options.json {
        true => runs.iter().try_fold(ExitCode::SUCCESS, |_, run| lines(run)),
        false => table(&runs),
    }
}

fn state(run: &proto::RunSummary) -> String {
    run.state().as_str_name().trim_start_matches("STATE_").to_lowercase()
}

fn lines(run: &proto::RunSummary) -> Result<ExitCode, Failed> {
    let usage = run.usage.clone().unwrap_or_default();
    print::json(&json!({
        "run": run.run_id, "state": state(run), "question": run.question, "agent": run.agent,
        "conversation": run.conversation_id, "started": run.started, "ended": run.ended,
        "last_seq": run.last_seq, "steps": run.steps, "code": run.code,
        "usage": {
            "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
            "money": usage.money, "estimated": usage.estimated,
        },
    }))
}

fn table(runs: &[proto::RunSummary]) -> Result<ExitCode, Failed> {
    let head = ["RUN", "STATE", "STARTED", "STEPS", "TOKENS", "MONEY", "QUESTION"];
    let row = |run: &proto::RunSummary| {
        let usage = run.usage.clone().unwrap_or_default();
        let tokens = usage.input_tokens.saturating_add(usage.output_tokens).to_string();
        let question = run.question.split_whitespace().collect::<Vec<_>>().join(" ");
        let question: String = question.chars().take(SHOWN).collect();
        let (id, started) = (run.run_id.clone(), run.started.clone());
        vec![id, state(run), started, run.steps.to_string(), tokens, usage.money, question]
    };
    let head = std::iter::once(head.map(str::to_owned).to_vec());
    print::table(&head.chain(runs.iter().map(row)).collect::<Vec<_>>())
}

async fn cancel(options: Cancel) -> Result<ExitCode, Failed> {
    let mut client = options.at.reasons().await?;
    let asked = proto::CancelRequest { run_id: options.run };
    let answer = client.cancel(asked).await.map_err(|status| told(&status))?.into_inner();
    match answer.cancelled {
        true => print::text("cancelled"),
        false => Err(Failed::answer("the run had ended already")),
    }
}
