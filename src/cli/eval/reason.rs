//! One question to the daemon's reasoning: its run is followed to its end, and what came of it is told.
//! A run that waits for a person is ended: nobody is there.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tokio_stream::StreamExt;
use tonic::{Request, Status};

use super::memory::Sources;
use super::seen::Seen;
use super::suite::{Ended, Turn};
use crate::cli::Failed;
use crate::cli::client::{Reasons, told};
use crate::evidence::{self, Trace};
use crate::proto::reason::{self as proto, run_event::Event};

/// What a label of a run stands for.
#[derive(Debug)]
enum Source {
    /// A version of a unit.
    Memory(String),
    Tool(String),
}

/// A run as far as it was followed.
#[derive(Debug, Default)]
struct Followed {
    seen: Seen,
    labels: HashMap<String, Source>,
    cited: Vec<String>,
}

/// Asks, and follows. `previous` is the run that the question follows up; empty for none.
pub(super) async fn ask(
    client: &mut Reasons,
    sources: &mut Sources,
    (turn, agent, previous): (&Turn, &str, &str),
    longest: Duration,
) -> Result<Seen, Failed> {
    let began = Instant::now();
    let mut followed = Followed::default();
    let following = follow(client, (turn, agent, previous), &mut followed);
    match tokio::time::timeout(longest, following).await {
        Ok(Ok(())) => {}
        // What the daemon refuses to begin is a way to end; what does not answer ends the suite.
        Ok(Err(status)) if is_refusal(&status) => {
            followed.seen.ended = Some(Ended::Failed);
            followed.seen.why = format!("{}: {}", status.code(), status.message());
        }
        Ok(Err(status)) => return Err(told(&status)),
        Err(_elapsed) => {
            followed.seen.why = format!("it has not ended after {} s", longest.as_secs());
        }
    }
    let Followed { mut seen, labels, cited } = followed;
    seen.millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    if !seen.run.is_empty() {
        finish(client, &mut seen).await?;
    }
    for label in cited {
        seen.cites.push(match labels.get(&label) {
            Some(Source::Memory(evidence)) => sources.name(evidence).await?,
            Some(Source::Tool(tool)) => tool.clone(),
            None => label,
        });
    }
    Ok(seen)
}

fn is_refusal(status: &Status) -> bool {
    use tonic::Code;
    let refusals =
        [Code::InvalidArgument, Code::NotFound, Code::PermissionDenied, Code::FailedPrecondition];
    refusals.contains(&status.code())
}

async fn follow(
    client: &mut Reasons,
    (turn, agent, previous): (&Turn, &str, &str),
    followed: &mut Followed,
) -> Result<(), Status> {
    let asked = proto::RunRequest {
        question: turn.question.clone(),
        agent: agent.to_owned(),
        previous_run_id: previous.to_owned(),
        as_of: turn.as_of.clone(),
        collections: turn.collections.clone(),
        limits: Some(proto::Limits {
            steps: turn.limits.steps,
            tokens: turn.limits.tokens,
            ..proto::Limits::default()
        }),
        cancel_on_drop: true,
        // An answer that was given before would show nothing of this one.
        no_cache: true,
        ..proto::RunRequest::default()
    };
    let mut events = client.run(Request::new(asked)).await?.into_inner();
    while let Some(event) = events.next().await {
        let event = event?;
        followed.seen.run = event.run_id;
        let Some(event) = event.event else { continue };
        if followed.take(event) {
            return Ok(());
        }
    }
    Ok(())
}

impl Followed {
    /// Takes one event; `true` for one after which nothing is to come.
    fn take(&mut self, event: Event) -> bool {
        match event {
            Event::Recalled(recalled) => {
                let items = recalled.items.into_iter();
                self.labels.extend(items.map(|item| (item.label, Source::Memory(item.source))));
            }
            Event::Observation(observation) => {
                let tool = observation.tool;
                let item = observation.item;
                self.labels.extend(item.map(|item| (item.label, Source::Tool(tool))));
            }
            Event::Evidence(step) => self.seen.steps.push(step.kind),
            Event::Waiting(waiting) => {
                self.seen.why = format!("approval {}", waiting.approval_id);
                self.seen.ended = Some(Ended::Waiting);
                return true;
            }
            Event::Answer(answer) => self.answered(answer),
            Event::Partial(partial) => {
                self.end(Ended::Partial, partial.usage);
                self.seen.why = partial.limit;
                self.seen.answer = partial.text;
                self.cited = partial.known.into_iter().map(|known| known.label).collect();
            }
            Event::Failed(failed) => {
                self.end(Ended::Failed, failed.usage);
                self.seen.why = format!("{}: {}", failed.code, failed.message);
            }
            Event::Cancelled(_) => self.seen.why = "it was cancelled".to_owned(),
            Event::Started(_)
            | Event::Routed(_)
            | Event::Thought(_)
            | Event::Rejected(_)
            | Event::Action(_)
            | Event::Planned(_)
            | Event::Message(_)
            | Event::Ruling(_)
            | Event::Resumed(_) => {}
        }
        false
    }

    fn end(&mut self, how: Ended, usage: Option<proto::Usage>) {
        self.seen.ended = Some(how);
        self.seen.tokens = usage.map_or(0, |usage| usage.input_tokens + usage.output_tokens);
    }

    fn answered(&mut self, answer: proto::Answer) {
        self.end(Ended::Answer, answer.usage);
        self.seen.answer = answer.text;
        self.cited = answer.evidence;
        self.seen.decision = answer.decision.map(|one| (one.value, one.rule, None));
    }
}

/// Ends what still runs, and reads the trace.
async fn finish(client: &mut Reasons, seen: &mut Seen) -> Result<(), Failed> {
    if matches!(seen.ended, None | Some(Ended::Waiting)) {
        let asked = proto::CancelRequest { run_id: seen.run.clone() };
        client.cancel(asked).await.map_err(|status| told(&status))?;
    }
    if seen.ended != Some(Ended::Answer) {
        return Ok(());
    }
    let asked = proto::GetTraceRequest { run_id: seen.run.clone() };
    let trace = client.get_trace(asked).await.map_err(|status| told(&status))?.into_inner();
    let trace: Trace = serde_json::from_str(&trace.trace_json)
        .map_err(|error| Failed::answer(format!("the trace of {}: {error}", seen.run)))?;
    seen.refusals = evidence::check(&trace).iter().map(ToString::to_string).collect();
    if let Some((.., holds)) = &mut seen.decision {
        *holds = trace.answer.and_then(|answer| answer.decision).map(|decision| decision.holds);
    }
    Ok(())
}
