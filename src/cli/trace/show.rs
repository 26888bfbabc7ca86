//! `switchboard trace show`: the evidence of one of your runs, from its daemon.

use std::process::ExitCode;

use clap::Args;

use crate::cli::client::{Where, told};
use crate::cli::{Failed, print};
use crate::evidence::{Answer, Item, Partial, Source, Step, Trace};
use crate::proto::reason as proto;

/// Characters of a text in a table.
const SHOWN: usize = 120;

#[derive(Debug, Args)]
pub(in crate::cli) struct Show {
    /// The run's id.
    run: String,
    /// The trace itself as one line of JSON, as `verify` takes it.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

pub(super) async fn show(options: Show) -> Result<ExitCode, Failed> {
    let asked = proto::GetTraceRequest { run_id: options.run };
    let answer = options.at.reasons().await?.get_trace(asked).await;
    let text = answer.map_err(|status| told(&status))?.into_inner().trace_json;
    if options.json {
        return print::text(&text);
    }
    let trace: Trace = serde_json::from_str(&text).map_err(|error| {
        Failed::answer(format!("the trace is not one of this version: {error}; use --json"))
    })?;
    let head = ["LABEL", "KIND", "CONFIDENCE", "RESTS ON", "WHAT"].map(str::to_owned).to_vec();
    let rows = trace.evidence.iter().map(evidence).chain(trace.steps.iter().map(step));
    print::table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())?;
    if let Some(answer) = &trace.answer {
        answered(answer)?;
    }
    if let Some(partial) = &trace.partial {
        known(partial)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn evidence(item: &Item) -> Vec<String> {
    let (kind, from) = match &item.source {
        Source::Question {} => ("question", String::new()),
        Source::Memory { evidence, .. } => ("memory", evidence.clone()),
        Source::Tool { tool, call_id, .. } => ("tool", format!("{tool} {call_id}")),
        Source::Rule { id, .. } => ("rule", id.clone()),
        Source::Message { from, id } => ("message", format!("{from} {id}")),
        Source::Earlier { run } => ("earlier", run.clone()),
        Source::Recall { evidence, .. } => ("recall", format!("{} units", evidence.len())),
    };
    vec![item.id.to_string(), kind.to_owned(), String::new(), from, brief(&item.text)]
}

fn step(step: &Step) -> Vec<String> {
    let kind = serde_json::to_value(step.kind).ok();
    let kind = kind.as_ref().and_then(|kind| kind.as_str()).unwrap_or_default().to_owned();
    let labels: Vec<&str> =
        step.evidence.iter().chain(&step.premises).map(|label| label.as_str()).collect();
    let confidence = format!("{:.2}", step.confidence.value);
    vec![step.id.to_string(), kind, confidence, labels.join(" "), brief(&step.text)]
}

fn answered(answer: &Answer) -> Result<ExitCode, Failed> {
    let labels: Vec<&str> = answer.evidence.iter().map(|label| label.as_str()).collect();
    print::text(&format!("\nanswer ({:.2}, {})", answer.confidence.value, labels.join(" ")))?;
    for line in answer.text.lines() {
        print::text(&format!("  {}", print::visible(line)))?;
    }
    if let Some(decision) = &answer.decision {
        let rule = decision.rule.as_deref().map(|rule| format!(" by rule {rule}"));
        let (value, rule) = (&decision.value, rule.unwrap_or_default());
        print::shown(&format!("decision: {value} from {}{rule}", decision.step))?;
    }
    missing(&answer.missing)
}

fn known(partial: &Partial) -> Result<ExitCode, Failed> {
    print::text(&format!("\nno answer: {}", print::visible(&partial.reason)))?;
    for one in &partial.known {
        print::text(&format!("known: {} [{}]", brief(&one.text), one.id))?;
    }
    missing(&partial.missing)
}

fn missing(all: &[String]) -> Result<ExitCode, Failed> {
    for one in all {
        print::text(&format!("missing: {}", print::visible(one)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The beginning of a text, in one line that steers no terminal.
fn brief(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(SHOWN).collect();
    let short = if short.len() < line.len() { format!("{short}…") } else { short };
    print::visible(&short)
}
