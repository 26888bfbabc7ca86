//! `switchboard ledger why`: the story of one call on one screen, also of a call that has no record.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use super::super::{Failed, print};
use super::{File, open};
use crate::ledger::{self, Ledger, Query, StepMark, Story};

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    /// The call's id.
    call_id: String,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    file: File,
}

pub(super) async fn run(options: Options) -> Result<ExitCode, Failed> {
    let ledger = open(options.file)?;
    let call_id = options.call_id;
    let Some(entry) = ledger.get(&call_id).await.map_err(Failed::answer)? else {
        let reason = absence(&ledger, &call_id).await?;
        if options.json {
            print::json(&json!({ "call_id": call_id, "code": null, "message": reason }))?;
            return Ok(ExitCode::from(1));
        }
        return Err(Failed::answer(format!("there is no record of call `{call_id}`: {reason}")));
    };
    let story = ledger::tell(&entry);
    if options.json {
        return print::json(&story);
    }
    print::shown(&told(&story))
}

/// Why a call has no record, as far as its id and the ledger's ends tell.
async fn absence(ledger: &Ledger, call_id: &str) -> Result<String, Failed> {
    let Some(made) = moment(call_id) else {
        return Ok("the id is not one that switchboard makes, so its time is not known".to_owned());
    };
    let oldest = ledger.oldest().await.map_err(Failed::answer)?;
    let newest = ledger.search(Query { limit: Some(1), ..Query::default() }).await;
    let newest = newest.map_err(Failed::answer)?.first().map(|entry| entry.received);
    Ok(match (oldest, newest) {
        (Some((seq, oldest)), _) if seq > 1 && made < oldest => {
            format!("it was made at {made}, and retention has removed what came before {oldest}")
        }
        (_, Some(newest)) if made > newest => format!(
            "it was made at {made}, after the newest record: it runs still, or never arrived, or its \
             daemon died while it ran"
        ),
        _ => format!(
            "it was made at {made}, which the ledger covers: it never arrived, was refused before it \
             was known who called, or its daemon died while it ran"
        ),
    })
}

/// When an id of the usual kind was made.
fn moment(call_id: &str) -> Option<Timestamp> {
    let (seconds, nanos) = uuid::Uuid::try_parse(call_id).ok()?.get_timestamp()?.to_unix();
    Timestamp::new(i64::try_from(seconds).ok()?, i32::try_from(nanos).ok()?).ok()
}

fn millis(micros: u64) -> String {
    format!("{}.{:03} ms", micros / 1000, micros % 1000)
}

fn told(story: &Story) -> String {
    let mut text = format!("call {}: {} of {}", story.call_id, story.code, story.tool);
    if let Some(took) = story.took_us {
        text.push_str(&format!(" after {}", millis(took)));
    }
    text.push_str(&format!(" (record {})\n", story.seq));
    for step in &story.steps {
        let mark = match step.mark {
            StepMark::Passed => ' ',
            StepMark::Responsible => '>',
            StepMark::NotReached => '-',
        };
        let took = step.took_us.map(millis).unwrap_or_default();
        let mut facts = step.facts.iter().map(String::as_str);
        let first = facts.next().unwrap_or(match step.mark {
            StepMark::NotReached => "not reached",
            StepMark::Passed | StepMark::Responsible => "",
        });
        // Writing to a string cannot fail.
        let _ok = writeln!(text, "{mark} {:<10} {took:>12}  {first}", step.stage);
        for fact in facts {
            let _ok = writeln!(text, "{:27}{fact}", "");
        }
    }
    if let Some(stage) = story.responsible {
        let _ok = writeln!(text, "\n{stage} is responsible: {}", story.message);
        let _ok = writeln!(text, "what to do: {}", story.mend);
    }
    text
}
