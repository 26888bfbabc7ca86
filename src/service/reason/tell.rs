//! Runs and their events in their wire form.

use jiff::Timestamp;
use serde_json::Value;
use tonic::Status;

use super::status;
use crate::evidence;
use crate::proto::reason as proto;
use crate::proto::reason::run_event::Event as Wire;
use crate::reason::event::{
    Action, Answered, Failure, Observation, Partial, Planned, Recalled, Rejected, Routed, Ruled,
    Spent, Started, Thought, Told, Waiting,
};
use crate::reason::{Event, Kept, Limits, State, Summary};

fn time(at: Timestamp) -> String {
    at.to_string()
}

fn json(value: &Value) -> String {
    value.to_string()
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// An event, and its JSON where that was asked for.
pub(super) fn event(mut kept: Kept, with_json: bool) -> proto::RunEvent {
    // The store has microseconds: an event is told alike before and after it is read from there.
    kept.at = Timestamp::from_microsecond(kept.at.as_microsecond()).unwrap_or(kept.at);
    // What was read from the store as JSON can be written as such.
    let json =
        if with_json { serde_json::to_string(&kept).unwrap_or_default() } else { String::new() };
    proto::RunEvent {
        seq: kept.seq,
        run_id: kept.run.to_string(),
        step: kept.step,
        time: time(kept.at),
        task: kept.task,
        event: Some(wire(kept.event)),
        json,
    }
}

fn wire(event: Event) -> Wire {
    match event {
        Event::Started(one) => Wire::Started(started(*one)),
        Event::Routed(one) => Wire::Routed(routed(one)),
        Event::Recalled(one) => Wire::Recalled(recalled(one)),
        Event::Thought(one) => Wire::Thought(thought(*one)),
        Event::Rejected(one) => {
            let Rejected { what, attempt, reasons } = one;
            Wire::Rejected(proto::Rejected { what, attempt, reasons })
        }
        Event::Action(one) => Wire::Action(action(one)),
        Event::Waiting(Waiting { call_id, approval_id, .. }) => {
            Wire::Waiting(proto::Waiting { call_id, approval_id })
        }
        Event::Observation(one) => Wire::Observation(observation(*one)),
        Event::Evidence(one) => Wire::Evidence(step(&one)),
        Event::Planned(Planned { plan, refusals, spent }) => {
            let asked = spent.map(asked);
            Wire::Planned(proto::Planned { plan_json: json(&plan), refusals, asked })
        }
        Event::Message(Told { from, to, message, refusals, items }) => {
            let message_json = json(&message);
            let items = items.into_iter().map(item).collect();
            Wire::Message(proto::Message { from, to, message_json, refusals, items })
        }
        Event::Ruling(Ruled { ruling, spent }) => {
            let asked = spent.map(asked);
            Wire::Ruling(proto::Ruling { ruling_json: json(&ruling), asked })
        }
        Event::Resumed(one) => Wire::Resumed(proto::Resumed { why: one.why }),
        Event::Partial(one) => Wire::Partial(partial(*one)),
        Event::Answer(one) => Wire::Answer(answer(*one)),
        Event::Failed(Failure { code, message, total }) => {
            Wire::Failed(proto::Failed { code, message, usage: Some(usage(&total)) })
        }
        Event::Cancelled => Wire::Cancelled(proto::Cancelled {}),
    }
}

fn started(one: Started) -> proto::Started {
    let Started { question, agent, limits, digest, .. } = one;
    let Limits { steps, tokens, money, wall_ms } = limits;
    let limits = Some(proto::Limits { steps, tokens, money, wall_ms });
    proto::Started { question, agent, limits, digest }
}

fn routed(one: Routed) -> proto::Routed {
    let Routed { route, rewritten, rule, why, spent } = one;
    let route = word(&route);
    proto::Routed { route, rewritten, rule, why, asked: spent.map(asked) }
}

/// The word that a plain variant is written as.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

fn usage(spent: &Spent) -> proto::Usage {
    let money = if spent.money.is_empty() { "0".to_owned() } else { spent.money.clone() };
    proto::Usage {
        input_tokens: spent.input,
        output_tokens: spent.output,
        money,
        estimated: spent.estimated,
    }
}

fn asked(spent: Spent) -> proto::Asked {
    let usage = Some(usage(&spent));
    let attempt = |one: crate::model::Tried| proto::Attempt {
        endpoint: one.endpoint,
        outcome: one.outcome.as_str().to_owned(),
        status: one.status.unwrap_or_default().into(),
        part: one.part,
        message: one.message,
        waited_ms: one.waited_ms,
        took_ms: one.took_ms,
    };
    let attempts = spent.tried.into_iter().map(attempt).collect();
    proto::Asked { endpoint: spent.endpoint, model: spent.model, usage, attempts }
}

fn recalled(one: Recalled) -> proto::Recalled {
    let Recalled { question, items, remarks, .. } = one;
    proto::Recalled { question, items: items.into_iter().map(item).collect(), remarks }
}

fn item(item: evidence::Item) -> proto::Item {
    let (kind, source, name) = origin(item.source);
    proto::Item {
        label: item.id.to_string(),
        kind: kind.to_owned(),
        source,
        name,
        text: item.text,
        score: item.score,
        trust: item.trust.into(),
        untrusted: item.untrusted,
    }
}

/// Kind, id and name of where evidence comes from.
fn origin(source: evidence::Source) -> (&'static str, String, String) {
    use evidence::Source;
    match source {
        Source::Question {} => ("question", String::new(), String::new()),
        Source::Memory { evidence, collection } => ("memory", evidence, collection),
        Source::Tool { call_id, tool, .. } => ("tool", call_id, tool),
        Source::Rule { id, .. } => ("rule", id, String::new()),
        Source::Earlier { run } => ("earlier", run, String::new()),
        Source::Message { from, id } => ("message", id, from),
        Source::Recall { .. } => ("recall", String::new(), String::new()),
    }
}

fn thought(one: Thought) -> proto::Thought {
    let Thought { text, calls, answer, remarks, spent, .. } = one;
    let answer_json = answer.as_ref().map(json).unwrap_or_default();
    let (asked, calls) = (Some(asked(spent)), number(calls.len()));
    proto::Thought { text, asked, remarks, answer_json, calls }
}

fn action(one: Action) -> proto::Action {
    let Action { call_id, tool, arguments, approval, .. } = one;
    let approval_id = approval.unwrap_or_default();
    proto::Action { call_id, tool, arguments_json: arguments, approval_id }
}

fn observation(one: Observation) -> proto::Observation {
    let Observation { call_id, tool, success, code, told, item: found, .. } = one;
    let (told_json, item) = (json(&told), found.map(item));
    proto::Observation { call_id, tool, success, code, told_json, item }
}

fn step(step: &evidence::Step) -> proto::Evidence {
    let labels = step.evidence.iter().chain(&step.premises).map(ToString::to_string);
    proto::Evidence {
        id: step.id.to_string(),
        kind: word(&step.kind),
        evidence: labels.collect(),
        text: step.text.clone(),
        confidence: step.confidence.value,
        step_json: serde_json::to_string(step).unwrap_or_default(),
    }
}

fn partial(one: Partial) -> proto::Partial {
    let Partial { limit, partial, text, total } = one;
    let known =
        |one: evidence::Known| proto::partial::Known { label: one.id.to_string(), text: one.text };
    proto::Partial {
        limit,
        text,
        known: partial.known.into_iter().map(known).collect(),
        missing: partial.missing,
        usage: Some(usage(&total)),
    }
}

fn answer(one: Answered) -> proto::Answer {
    let Answered { answer, cached, served, total, .. } = one;
    let served = served.unwrap_or_default();
    let decision = answer.decision.map(|one| proto::Decision {
        value: one.value,
        step: one.step.to_string(),
        holds: one.holds,
        rule: one.rule.unwrap_or_default(),
    });
    proto::Answer {
        text: answer.text,
        evidence: answer.evidence.iter().map(ToString::to_string).collect(),
        decision,
        missing: answer.missing,
        confidence: answer.confidence.value,
        cached,
        usage: Some(usage(&total)),
        unsupported: answer.unsupported,
        free: answer.free,
        cache_age_ms: served.age_ms,
        cached_question: served.question.unwrap_or_default(),
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

/// A run's evidence.
pub(super) fn trace(
    summary: &Summary,
    trace: &evidence::Trace,
) -> Result<proto::GetTraceResponse, Status> {
    let trace_json = serde_json::to_string(trace).map_err(|error| {
        tracing::error!(%error, run = %summary.run, "a trace cannot be written");
        status::internal("")
    })?;
    let state = proto::State::from(summary.state).into();
    Ok(proto::GetTraceResponse { run_id: summary.run.to_string(), state, trace_json })
}

/// A page of so many runs, of which there may be one more.
pub(super) fn runs(mut found: Vec<Summary>, size: u32) -> proto::ListRunsResponse {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let more = found.len() > size;
    found.truncate(size);
    let last = found.last().filter(|_| more);
    let next_page_token = last.map(|last| last.run.to_string()).unwrap_or_default();
    proto::ListRunsResponse { runs: found.into_iter().map(summary).collect(), next_page_token }
}

fn summary(one: Summary) -> proto::RunSummary {
    let money = if one.money.is_empty() { "0".to_owned() } else { one.money };
    proto::RunSummary {
        run_id: one.run.to_string(),
        state: proto::State::from(one.state).into(),
        question: one.question,
        agent: one.agent,
        conversation_id: one.conversation,
        started: time(one.started),
        ended: one.ended.map(time).unwrap_or_default(),
        last_seq: one.last_seq,
        steps: one.steps,
        usage: Some(proto::Usage {
            input_tokens: one.input,
            output_tokens: one.output,
            money,
            estimated: one.estimated,
        }),
        code: one.code,
    }
}
