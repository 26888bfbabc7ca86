//! `switchboard run`: one question, its steps as they come, its answer. A run goes on when its terminal is
//! closed; the line says how to come back to it. Any run is followed here, also one that is taken up again.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tonic::{Code, Request, Status, Streaming};
use tonic_types::StatusExt;

use super::client::{self, Reasons, Where, told};
use super::{Failed, print};
use crate::proto::reason as proto;
use crate::proto::reason::run_event::Event;

/// Characters of one line on a terminal.
const SHOWN: usize = 160;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The question, in your own words; `@file`, or `-` for standard input.
    question: String,
    /// Who answers: an agent of `agents/*.toml` in the policies folder; the default agent without it.
    #[arg(long, default_value = "")]
    agent: String,
    /// A name of yours for what the run is part of; `runs list` finds it by that.
    #[arg(long, default_value = "")]
    conversation: String,
    /// The run that this question follows up.
    #[arg(long, value_name = "RUN", default_value = "")]
    previous: String,
    /// The date that is asked about, such as 2026-03-01; now without it.
    #[arg(long, default_value = "")]
    as_of: String,
    /// Only this collection of the memory; several times for several. Without it all that you may read.
    #[arg(long)]
    collection: Vec<String>,
    /// Questions to the reasoning model, at most.
    #[arg(long)]
    steps: Option<u32>,
    /// Tokens of all models, at most.
    #[arg(long)]
    tokens: Option<u64>,
    /// Money for all models, at most, such as 0.05.
    #[arg(long)]
    money: Option<String>,
    /// Time, at most, for example 30s.
    #[arg(long, value_parser = crate::config::duration::parse)]
    wall: Option<Duration>,
    /// Answers anew, though an equal question was answered a moment ago.
    #[arg(long)]
    no_cache: bool,
    #[command(flatten)]
    manner: Manner,
    #[command(flatten)]
    at: Where,
}

/// How a run is followed.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Manner {
    /// Ends the run when this command ends.
    #[arg(long)]
    pub(super) cancel_on_drop: bool,
    /// One line of JSON for each event.
    #[arg(long)]
    pub(super) json: bool,
    /// Only the answer, without the steps.
    #[arg(long, conflicts_with = "json")]
    pub(super) quiet: bool,
}

pub(super) async fn run(options: Options) -> Result<ExitCode, Failed> {
    let millis = |wall: Duration| u64::try_from(wall.as_millis()).unwrap_or(u64::MAX);
    let asked = proto::RunRequest {
        question: client::arguments(&options.question)?,
        agent: options.agent,
        conversation_id: options.conversation,
        previous_run_id: options.previous,
        as_of: options.as_of,
        collections: options.collection,
        limits: Some(proto::Limits {
            steps: options.steps,
            tokens: options.tokens,
            money: options.money,
            wall_ms: options.wall.map(millis),
        }),
        cancel_on_drop: options.manner.cancel_on_drop,
        no_cache: options.no_cache,
        with_json: options.manner.json,
    };
    let mut client = options.at.reasons().await?;
    let events = client.run(Request::new(asked)).await.map_err(|status| told(&status))?;
    let place = Place { run: String::new(), seq: 0, manner: options.manner };
    follow(client, events.into_inner(), place).await
}

/// Takes up a run behind an event, and prints what comes.
pub(super) async fn resume(
    mut client: Reasons,
    run: String,
    after: u64,
    manner: Manner,
) -> Result<ExitCode, Failed> {
    let place = Place { run, seq: after, manner };
    let events = place.resume(&mut client).await.map_err(|status| told(&status))?;
    follow(client, events, place).await
}

/// How far a run was followed; its id is empty before the first event of a new one.
struct Place {
    run: String,
    seq: u64,
    manner: Manner,
}

/// Prints a run's events to its end. Exit 0 for an answer, 1 for any other end. A stream that the daemon
/// ends for its age, as one that waits for a person may, is taken up again.
async fn follow(
    mut client: Reasons,
    mut events: Streaming<proto::RunEvent>,
    mut place: Place,
) -> Result<ExitCode, Failed> {
    // From before the first event on, so that whoever has seen it can interrupt.
    let mut interrupts = signal(SignalKind::interrupt()).map_err(Failed::answer)?;
    loop {
        let came = tokio::select! {
            came = events.message() => came,
            _ = interrupts.recv() => {
                return Err(Failed::answer(place.later("stopped")));
            }
        };
        let event = match came {
            Ok(Some(event)) => event,
            Ok(None) => return Err(Failed::answer(place.later("the stream has no end"))),
            Err(status) if is_over(&status) => {
                events = place.resume(&mut client).await.map_err(|status| place.broken(&status))?;
                continue;
            }
            Err(status) => return Err(place.broken(&status)),
        };
        if let Some(code) = place.take(event)? {
            return Ok(code);
        }
    }
}

/// Whether a stream ended for its age alone.
fn is_over(status: &Status) -> bool {
    status.get_details_error_info().is_some_and(|info| info.reason == "STREAM_OVER")
}

impl Place {
    async fn resume(&self, client: &mut Reasons) -> Result<Streaming<proto::RunEvent>, Status> {
        let asked = proto::ResumeRequest {
            run_id: self.run.clone(),
            after: self.seq,
            cancel_on_drop: self.manner.cancel_on_drop,
            with_json: self.manner.json,
        };
        Ok(client.resume(asked).await?.into_inner())
    }

    /// Prints an event; how the command ends where it is the last.
    fn take(&mut self, event: proto::RunEvent) -> Result<Option<ExitCode>, Failed> {
        self.run.clone_from(&event.run_id);
        self.seq = event.seq;
        if self.manner.json {
            print::text(&event.json)?;
        } else if !self.manner.quiet {
            print::text(&line(&event))?;
        }
        end(event.event, self.manner)
    }

    /// What became of the run, and how one comes back to it.
    fn later(&self, what: &str) -> String {
        let Self { run, seq, manner } = self;
        match run.as_str() {
            "" => what.to_owned(),
            run if manner.cancel_on_drop => format!("{what}; run {run} ends with this command"),
            run => {
                format!("{what}; the run goes on: `switchboard runs resume {run} --after {seq}`")
            }
        }
    }

    fn broken(&self, status: &Status) -> Failed {
        match (self.run.as_str(), status.code()) {
            ("", _) => told(status),
            (_, Code::Unavailable | Code::Cancelled | Code::Unknown) => {
                Failed::no_daemon(self.later(status.message()))
            }
            _ => Failed::answer(self.later(status.message())),
        }
    }
}

/// What is printed at the end of a run; `None` for what is none.
fn end(event: Option<Event>, manner: Manner) -> Result<Option<ExitCode>, Failed> {
    let (text, code) = match event {
        Some(Event::Answer(answer)) => (answer.text, ExitCode::SUCCESS),
        Some(Event::Partial(partial)) => (partial.text, ExitCode::from(1)),
        Some(Event::Failed(failed)) => {
            return Err(Failed::answer(format!("{}: {}", failed.code, failed.message)));
        }
        Some(Event::Cancelled(_)) => return Err(Failed::answer("the run was cancelled")),
        _ => return Ok(None),
    };
    if !manner.json {
        print::shown(&text)?;
    }
    Ok(Some(code))
}

/// One event in one line.
fn line(event: &proto::RunEvent) -> String {
    let (kind, what) = match &event.event {
        Some(one) => short(one),
        None => ("unknown", "an event of a newer version".to_owned()),
    };
    let task = if event.task.is_empty() { String::new() } else { format!("[{}] ", event.task) };
    let text = print::visible(&format!("{task}{what}"));
    format!("{:>3}  {kind:<11}  {}", event.step, cut(&text)).trim_end().to_owned()
}

fn cut(text: &str) -> String {
    let short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

fn short(event: &Event) -> (&'static str, String) {
    match event {
        Event::Started(_) | Event::Cancelled(_) => (kind(event), String::new()),
        Event::Routed(one) => (kind(event), format!("{}: {}", one.route, one.why)),
        Event::Recalled(one) => {
            let labels: Vec<&str> = one.items.iter().map(|item| item.label.as_str()).collect();
            let all = labels.into_iter().chain(one.remarks.iter().map(String::as_str));
            (kind(event), all.collect::<Vec<_>>().join(" "))
        }
        Event::Thought(one) => {
            let model = one.asked.as_ref().map(|asked| asked.endpoint.as_str());
            (kind(event), format!("{}: {}", model.unwrap_or_default(), flat(&one.text)))
        }
        Event::Rejected(one) => (kind(event), format!("{}: {}", one.what, one.reasons.join("; "))),
        Event::Action(one) => (kind(event), format!("{} {}", one.tool, one.arguments_json)),
        Event::Waiting(one) => {
            let how = format!("`switchboard approvals approve {}`", one.approval_id);
            (kind(event), format!("a person has to approve: {how}"))
        }
        Event::Observation(one) => {
            let label = one.item.as_ref().map_or(one.code.as_str(), |item| item.label.as_str());
            (kind(event), format!("{label} {} {}", one.tool, flat(&one.told_json)))
        }
        Event::Evidence(one) => {
            (kind(event), format!("{} {} ({:.2})", one.id, flat(&one.text), one.confidence))
        }
        Event::Planned(one) if one.refusals.is_empty() => (kind(event), tasks(&one.plan_json)),
        Event::Planned(one) => (kind(event), format!("refused: {}", one.refusals.join("; "))),
        Event::Message(one) if one.refusals.is_empty() => {
            (kind(event), format!("{} to {}: {}", one.from, one.to, one.message_json))
        }
        Event::Message(one) => {
            (kind(event), format!("{} held back: {}", one.from, one.refusals.join("; ")))
        }
        Event::Ruling(one) => (kind(event), one.ruling_json.clone()),
        Event::Resumed(one) => (kind(event), one.why.clone()),
        Event::Partial(one) => (kind(event), format!("limit: {}", one.limit)),
        Event::Answer(one) => {
            let labels = one.evidence.join(" ");
            (kind(event), format!("confidence {:.2} {labels}", one.confidence))
        }
        Event::Failed(one) => (kind(event), one.code.clone()),
    }
}

const fn kind(event: &Event) -> &'static str {
    match event {
        Event::Started(_) => "started",
        Event::Routed(_) => "routed",
        Event::Recalled(_) => "recalled",
        Event::Thought(_) => "thought",
        Event::Rejected(_) => "rejected",
        Event::Action(_) => "action",
        Event::Waiting(_) => "waiting",
        Event::Observation(_) => "observation",
        Event::Evidence(_) => "evidence",
        Event::Planned(_) => "planned",
        Event::Message(_) => "message",
        Event::Ruling(_) => "ruling",
        Event::Resumed(_) => "resumed",
        Event::Partial(_) => "partial",
        Event::Answer(_) => "answer",
        Event::Failed(_) => "failed",
        Event::Cancelled(_) => "cancelled",
    }
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The ids of a plan's tasks.
fn tasks(plan: &str) -> String {
    let plan: Value = serde_json::from_str(plan).unwrap_or_default();
    let tasks = plan.get("tasks").and_then(Value::as_array).into_iter().flatten();
    let ids: Vec<&str> = tasks.filter_map(|task| task.get("id")?.as_str()).collect();
    ids.join(" ")
}
