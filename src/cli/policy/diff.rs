//! `switchboard policy diff`: two policies folders in, the calls that they decide differently out.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::{images, replay, review};
use crate::cli::{Failed, print};
use crate::policy::{Change, Comparison, Side};

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    /// The policies folder as it was.
    old: PathBuf,
    /// The policies folder as it is to be.
    new: PathBuf,
    /// A ledger's file: its calls are compared too. It is only read.
    #[arg(long)]
    ledger: Option<PathBuf>,
    /// So many of the ledger's newest records.
    #[arg(short = 'n', default_value_t = 1000)]
    records: u32,
    /// One line of JSON for each kind of change, and one for the sum.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(options: Options) -> Result<ExitCode, Failed> {
    let images = images(None)?;
    let old = review(&options.old, &images, None)?;
    let new = review(&options.new, &images, None)?;
    let past = match &options.ledger {
        Some(file) => replay::recorded(file, options.records).await?,
        None => Vec::new(),
    };
    let found = old.compare(&new, &past).map_err(Failed::answer)?;
    if options.json {
        for change in &found.changes {
            print::json(change)?;
        }
        print::json(&json!({
            "recorded": found.recorded, "boundary": found.boundary,
            "not_tried": found.not_tried, "kinds": found.changes.len(),
        }))?;
    } else {
        tell(&found)?;
    }
    Ok(ExitCode::from(u8::from(!found.changes.is_empty())))
}

fn tell(found: &Comparison) -> Result<(), Failed> {
    for change in &found.changes {
        print::text(&paragraph(change))?;
    }
    if !found.not_tried.is_empty() {
        print::text(&format!("not tried, no arguments fit: {}", found.not_tried.join(", ")))?;
    }
    print::text(&format!(
        "{} recorded calls and {} at boundaries: {} kinds of change",
        found.recorded,
        found.boundary,
        found.changes.len()
    ))?;
    Ok(())
}

fn paragraph(change: &Change) -> String {
    let example = &change.example;
    let side = |side: &Side| match (side.policies.as_slice(), side.message.as_str()) {
        ([], message) => message.to_owned(),
        (ids, _) => ids.join(", "),
    };
    let roles = match example.roles.as_slice() {
        [] => String::new(),
        roles => format!(" with {}", roles.join(", ")),
    };
    let taint: Vec<&str> = example.session.taint.iter().map(|label| label.as_str()).collect();
    let taint = match taint.as_slice() {
        [] => String::new(),
        labels => format!(" in a conversation that is {}", labels.join(", ")),
    };
    format!(
        "{}: {} -> {} in {} {} calls\n    for example {}{roles} of tenant {}{taint}: {}\n    before: {}\n    \
         after:  {}",
        change.tool,
        change.from.as_str(),
        change.to.as_str(),
        change.calls,
        change.origin,
        example.caller,
        example.tenant,
        example.arguments,
        side(&example.before),
        side(&example.after)
    )
}
