//! `eval run`: each question of each suite to the daemon, one after the other, and the results out.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use tokio_util::task::TaskTracker;

use super::check;
use super::judge::Judge;
use super::memory::{self, Sources};
use super::player::{self, Player};
use super::reason;
use super::record::Recorder;
use super::report::{CaseReport, Report, Sum};
use super::seen::{self, Seen};
use super::suite::{self, Case, Suite, Turn};
use crate::cli::client::{Memories, Reasons, Where, told};
use crate::cli::{Failed, print};
use crate::config::Config;
use crate::ledger::Ledger;
use crate::proto::tools::ListToolsRequest;

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    /// The suites.
    #[arg(required = true)]
    suites: Vec<PathBuf>,
    /// Only cases whose name has this.
    #[arg(long, default_value = "")]
    only: String,
    /// Which model answers: what the suites recorded, or the daemon's own.
    #[arg(long, value_enum, default_value_t = Model::Recorded)]
    model: Model,
    /// Where the recorded model answers; the daemon's endpoint must have this as its `url`, with
    /// `provider = "openai"`.
    #[arg(long, default_value = "127.0.0.1:18090")]
    listen: SocketAddr,
    /// Record what a live model says into this file, which must not be there yet. The daemon asks at
    /// `--listen`, and is answered by `--upstream`.
    #[arg(long, requires = "upstream")]
    record: Option<PathBuf>,
    /// URL of the chat completions of the model that is recorded.
    #[arg(long, requires = "record")]
    upstream: Option<String>,
    /// Environment variable with the upstream's key.
    #[arg(long, requires = "record")]
    upstream_key_env: Option<String>,
    /// The daemon's configuration: its ledger is read, and its judge asked.
    #[arg(long, default_value = "/etc/switchboard/switchboard.toml")]
    config: PathBuf,
    /// File with the token of one who may write the units that the suites need; without it the caller itself
    /// writes them.
    #[arg(long)]
    writer_token_file: Option<PathBuf>,
    /// What is measured, for `eval compare`.
    #[arg(long, default_value = "")]
    label: String,
    /// Write the results, as JSON.
    #[arg(long)]
    out: Option<PathBuf>,
    /// How long one question may take.
    #[arg(long, value_parser = crate::config::duration::parse, default_value = "60s")]
    timeout: Duration,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

/// Which model answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Model {
    /// What the suites recorded, or what is written in them.
    Recorded,
    /// The daemon's own.
    Live,
}

/// All that a case needs.
struct Bed {
    reasons: Reasons,
    memories: Memories,
    sources: Sources,
    ledger: Ledger,
    judge: Option<Judge>,
    /// The model between, where there is one.
    player: Option<Player>,
    timeout: Duration,
}

pub(super) async fn run(options: Options) -> Result<ExitCode, Failed> {
    let suites = suite::read_all(&options.suites).map_err(Failed::usage)?;
    let config = Config::read(&options.config).map_err(Failed::usage)?;
    let tasks = TaskTracker::new();
    let mut bed = Bed::make(&options, &config, &suites, &tasks).await?;
    let mut report = Report {
        label: options.label.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        began: Timestamp::now().to_string(),
        model: if options.model == Model::Live { "live" } else { "recorded" }.to_owned(),
        ..Report::default()
    };
    let bar = crate::cli::memory::bar(u64::try_from(count(&suites, &options.only)).ok(), "cases");
    for suite in &suites {
        write(&options, suite).await?;
        for case in suite.cases.iter().filter(|case| case.name.contains(&options.only)) {
            bar.set_message(format!("{} ", suite.name));
            report.cases.push(bed.case(suite, case).await?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    if report.cases.is_empty() {
        return Err(Failed::usage(format!("no case has `{}` in its name", options.only)));
    }
    report.digests = bed.digests().await?;
    report.sum = Sum::of(report.cases.iter());
    if let Some(path) = &options.out {
        keep(&report, path)?;
    }
    match options.json {
        true => print::json(&report)?,
        false => print::shown(&report.to_string())?,
    };
    Ok(ExitCode::from(u8::from(report.sum.passed < report.sum.cases)))
}

fn count(suites: &[Suite], only: &str) -> usize {
    let cases = suites.iter().flat_map(|suite| &suite.cases);
    cases.filter(|case| case.name.contains(only)).count()
}

fn keep(report: &Report, path: &Path) -> Result<(), Failed> {
    let text = serde_json::to_string_pretty(report).map_err(Failed::answer)?;
    std::fs::write(path, text)
        .map_err(|error| Failed::usage(format!("`{}`: {error}", path.display())))
}

/// Writes what a suite needs to be there.
async fn write(options: &Options, suite: &Suite) -> Result<(), Failed> {
    if suite.memory.is_empty() {
        return Ok(());
    }
    let mut writer = match &options.writer_token_file {
        Some(path) => options.at.memories_by(path).await?,
        None => options.at.memories().await?,
    };
    let drafts = suite.memory.iter().map(|(place, draft)| (place.as_str(), draft));
    let written = memory::write(&mut writer, drafts).await?;
    if written.stored + written.known == 0 {
        return Err(Failed::answer(format!(
            "none of the units of `{}` is found: {written:?}; who writes them needs the roles that the \
             collections name, see `--writer-token-file`",
            suite.name
        )));
    }
    Ok(())
}

impl Bed {
    async fn make(
        options: &Options,
        config: &Config,
        suites: &[Suite],
        tasks: &TaskTracker,
    ) -> Result<Self, Failed> {
        let judged = |turn: &Turn| turn.expect.answer.judged.is_some();
        let mut turns = suites.iter().flat_map(|suite| &suite.cases).flat_map(|case| &case.turns);
        let judge = turns.any(judged).then(|| Judge::open(config, tasks)).transpose()?;
        let memories = options.at.memories().await?;
        let player = options.player(tasks).await?;
        Ok(Self {
            reasons: options.at.reasons().await?,
            sources: Sources::new(memories.clone()),
            memories,
            ledger: Ledger::open_read_only(&config.ledger.path).map_err(Failed::usage)?,
            judge,
            player,
            timeout: options.timeout,
        })
    }

    /// Puts the questions of a case.
    async fn case(&mut self, suite: &Suite, case: &Case) -> Result<CaseReport, Failed> {
        let mut report = CaseReport {
            suite: suite.name.clone(),
            name: case.name.clone(),
            kind: case.kind.clone(),
            ..CaseReport::default()
        };
        let drafts = case.memory.iter().map(|draft| (case.name.as_str(), draft));
        memory::write(&mut self.memories, drafts).await?;
        let mut previous = String::new();
        for (at, turn) in case.turns.iter().enumerate() {
            let number = at + 1;
            let (seen, judged) = self.question(case, (turn, number), &previous).await?;
            report.take(number, &check::check(turn, &seen, judged));
            report.calls += seen.calls.len();
            report.executed += seen.calls.iter().filter(|ran| ran.executed).count();
            if let Some(heard) = &seen.heard {
                report.asked += heard.prompts.len();
                report.left += heard.left;
            }
            report.tokens += seen.tokens;
            report.millis += seen.millis;
            report.runs.push(seen.run.clone());
            previous = seen.run;
        }
        Ok(report)
    }

    async fn question(
        &mut self,
        case: &Case,
        (turn, number): (&Turn, usize),
        previous: &str,
    ) -> Result<(Seen, Option<(bool, String)>), Failed> {
        if let Some(player) = &self.player {
            player.begin((case.name.as_str(), number), &turn.question, &turn.script);
        }
        let asked = (turn, case.agent.as_str(), previous);
        let seen = reason::ask(&mut self.reasons, &mut self.sources, asked, self.timeout).await;
        let judged = match (&turn.expect.answer.judged, &self.judge, &seen) {
            (Some(criterion), Some(judge), Ok(seen)) => {
                let verdict = judge.ask(turn, criterion, &seen.answer).await;
                Some(verdict.unwrap_or_else(|why| (false, why)))
            }
            _ => None,
        };
        let heard = self.player.as_ref().map(Player::end);
        let mut seen = seen?;
        seen.heard = heard;
        if !seen.run.is_empty() {
            seen.calls = seen::calls(&self.ledger, &seen.run).await?;
        }
        Ok((seen, judged))
    }

    /// The digests that the newest records of the ledger name.
    async fn digests(&self) -> Result<Vec<String>, Failed> {
        let newest = self.ledger.search(crate::ledger::Query::default()).await;
        let newest = newest.map_err(Failed::answer)?;
        let mut found: Vec<String> = Vec::new();
        for key in ["catalog_digest", "policy_version"] {
            let digests = newest.iter().filter_map(|entry| entry.facts.get(key)?.as_str());
            found.extend(digests.take(1).map(|digest| format!("{key} {digest}")));
        }
        Ok(found)
    }
}

impl Options {
    /// Starts the model between, where there is to be one.
    async fn player(&self, tasks: &TaskTracker) -> Result<Option<Player>, Failed> {
        let recorder = match (&self.record, &self.upstream) {
            (Some(path), Some(url)) => {
                let key = self.upstream_key_env.as_deref();
                let tools = self.tools().await?;
                let recorder = Recorder::open(path, (url, key), tools, tasks);
                Some(Arc::new(recorder.map_err(Failed::usage)?))
            }
            _ => None,
        };
        if self.model == Model::Live && recorder.is_none() {
            return Ok(None);
        }
        let player = Player::default();
        let served = player::serve(player.clone(), recorder, self.listen, tasks).await;
        served.map(|_bound| Some(player)).map_err(Failed::usage)
    }

    /// The names of the tools that the caller may use.
    async fn tools(&self) -> Result<Vec<String>, Failed> {
        let mut client = self.at.tools().await?;
        let (mut asked, mut names) = (ListToolsRequest::default(), Vec::new());
        loop {
            let page = client.list_tools(asked.clone()).await.map_err(|status| told(&status))?;
            let page = page.into_inner();
            names.extend(page.tools.into_iter().map(|tool| tool.name));
            asked.page_token = page.next_page_token;
            if asked.page_token.is_empty() {
                return Ok(names);
            }
        }
    }
}
