//! `memory review` and `memory upkeep`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::form;
use crate::cli::client::{Where, told};
use crate::cli::{Failed, print};
use crate::proto::memory as proto;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Review {
    /// Print what waits for a decision in the collections that you review, oldest first.
    List(Waiting),
    /// Decide about one version.
    Decide(Decide),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Waiting {
    /// Only this collection; several times for several.
    #[arg(long)]
    collection: Vec<String>,
    /// So many at most.
    #[arg(long, default_value_t = 100)]
    limit: usize,
    /// One line of JSON for each.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Decide {
    /// The evidence id of the version (UNIT@NUMBER).
    evidence: String,
    /// It may be used.
    #[arg(long, required_unless_present = "reject", conflicts_with = "reject")]
    approve: bool,
    /// It may not.
    #[arg(long)]
    reject: bool,
    /// Those that it contradicts are used beside it; without this it takes their place.
    #[arg(long, requires = "approve")]
    keep_both: bool,
    /// Why.
    #[arg(long)]
    reason: String,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Upkeep {
    /// Tell what a run would do.
    Plan(Run),
    /// Do it.
    Run(Run),
    /// Put back what a run changed, where nothing changed it since.
    Undo(Undo),
    /// Print the runs there were, newest first.
    Runs(Runs),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Run {
    /// Only this collection; several times for several.
    #[arg(long)]
    collection: Vec<String>,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Undo {
    /// The run's id.
    run: String,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Runs {
    /// So many at most.
    #[arg(long, default_value_t = 100)]
    limit: u32,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

pub(super) async fn review(review: Review) -> Result<ExitCode, Failed> {
    match review {
        Review::List(options) => waiting(options).await,
        Review::Decide(options) => decide(options).await,
    }
}

async fn waiting(options: Waiting) -> Result<ExitCode, Failed> {
    let mut asked = proto::ListReviewsRequest {
        collections: options.collection,
        ..proto::ListReviewsRequest::default()
    };
    let (mut client, mut found) = (options.at.memories().await?, Vec::new());
    while found.len() < options.limit {
        asked.page_size = u32::try_from(options.limit.min(1000)).unwrap_or(1000);
        let page = client.list_reviews(asked.clone()).await;
        let page = page.map_err(|status| told(&status))?.into_inner();
        found.extend(page.reviews);
        asked.page_token = page.next_page_token;
        if asked.page_token.is_empty() {
            break;
        }
    }
    found.truncate(options.limit);
    for review in found {
        if options.json {
            print::json(&facts(review))?;
            continue;
        }
        let unit = review.unit.unwrap_or_default();
        let state = form::short(unit.state().as_str_name());
        let agreed = review.votes.iter().filter(|vote| vote.approve).count();
        print::text(&format!(
            "{}  {state}  by {}  {agreed} of {} agreed",
            unit.evidence_id, unit.owner, review.needed
        ))?;
        let draft = unit.draft.unwrap_or_default();
        print::text(&format!("  {} {}: {}", draft.collection, draft.source_id, draft.key))?;
        for remark in &unit.remarks {
            print::text(&format!("  {remark}"))?;
        }
        for rival in &review.rivals {
            print::text(&format!("  contradicts {}", rival.evidence_id))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn facts(review: proto::Review) -> Value {
    let vote = |vote: &proto::review::Vote| {
        json!({
            "by": vote.by, "approve": vote.approve, "reason": vote.reason, "at": vote.at,
        })
    };
    json!({
        "votes": review.votes.iter().map(vote).collect::<Vec<_>>(), "needed": review.needed,
        "rivals": review.rivals.into_iter().map(form::unit).collect::<Vec<_>>(),
        "unit": review.unit.map(form::unit),
    })
}

async fn decide(options: Decide) -> Result<ExitCode, Failed> {
    use proto::decide_review_request::{Decision, Manner};
    let decision = if options.approve { Decision::Approve } else { Decision::Reject };
    let manner = if options.keep_both { Manner::KeepBoth } else { Manner::Replace };
    let asked = proto::DecideReviewRequest {
        evidence_id: options.evidence,
        decision: decision.into(),
        reason: options.reason,
        manner: manner.into(),
    };
    let done = options.at.memories().await?.decide_review(asked).await;
    let done = done.map_err(|status| told(&status))?.into_inner();
    let state = form::short(done.state().as_str_name());
    if options.json {
        return print::json(&json!({ "state": state, "missing": done.missing }));
    }
    match done.missing {
        0 => print::text(&format!("it is {state} now")),
        missing => print::text(&format!("it is still {state}: {missing} more must agree")),
    }
}

pub(super) async fn upkeep(upkeep: Upkeep) -> Result<ExitCode, Failed> {
    use proto::consolidate_request::{Action, Apply, DryRun, Runs as Listed};
    let (action, collections, json, at) = match upkeep {
        Upkeep::Plan(one) => (Action::DryRun(DryRun {}), one.collection, one.json, one.at),
        Upkeep::Run(one) => (Action::Apply(Apply {}), one.collection, one.json, one.at),
        Upkeep::Undo(one) => (Action::Undo(one.run), Vec::new(), one.json, one.at),
        Upkeep::Runs(one) => {
            (Action::Runs(Listed { limit: one.limit }), Vec::new(), one.json, one.at)
        }
    };
    let undo = matches!(action, Action::Undo(_));
    let asked = proto::ConsolidateRequest { action: Some(action), collections };
    let done = at.memories().await?.consolidate(asked).await;
    let done = done.map_err(|status| told(&status))?.into_inner();
    if json {
        return print::json(&told_upkeep(&done));
    }
    for step in &done.steps {
        print::text(&format!("{:8} {}  {}", step.work, step.evidence_id, step.why))?;
    }
    if done.more > 0 {
        print::text(&format!("and {} more", done.more))?;
    }
    for run in &done.runs {
        let undone = if run.undone { " (undone)" } else { "" };
        print::text(&format!("{}  {}  {}{undone}", run.id, run.at, run.summary))?;
    }
    if undo {
        print::text(&format!("{} versions were put back", done.undone))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn told_upkeep(done: &proto::ConsolidateResponse) -> Value {
    let step = |step: &proto::consolidate_response::Step| {
        json!({
            "work": step.work, "evidence": step.evidence_id, "collection": step.collection,
            "kept": step.kept, "why": step.why,
        })
    };
    let run = |run: &proto::consolidate_response::Run| {
        json!({
            "id": run.id, "at": run.at, "summary": run.summary, "changed": run.changed,
            "undone": run.undone,
        })
    };
    json!({
        "steps": done.steps.iter().map(step).collect::<Vec<_>>(), "more": done.more,
        "runs": done.runs.iter().map(run).collect::<Vec<_>>(), "undone": done.undone,
    })
}
