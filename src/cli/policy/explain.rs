//! `switchboard policy explain`: one call in, why it is decided as it is out.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::{Folder, line};
use crate::admission::Caller;
use crate::call::{FileFacts, Session, Taint};
use crate::cli::{Failed, client, print};
use crate::policy::{Asked, Explanation, Outcome, Told};

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    #[command(flatten)]
    folder: Folder,
    /// The tool's name.
    #[arg(long)]
    tool: String,
    /// The arguments as JSON text, `@file`, or `-` for standard input.
    #[arg(long, default_value = "{}")]
    arguments: String,
    /// Name of the caller.
    #[arg(long)]
    caller: String,
    /// Tenant of the caller.
    #[arg(long, default_value = "default")]
    tenant: String,
    /// A role of the caller; may be given more than once.
    #[arg(long = "role")]
    roles: Vec<String>,
    /// The conversation.
    #[arg(long)]
    conversation: Option<String>,
    /// What replies of the conversation brought in before: flagged, outside, unsearched or noted; may be
    /// given more than once.
    #[arg(long = "taint", requires = "conversation")]
    taint: Vec<Taint>,
    /// Calls of the conversation before this one.
    #[arg(long, default_value_t = 0, requires = "conversation")]
    calls: u64,
    /// A file that the call brings, as `MEDIA_TYPE:BYTES`; may be given more than once.
    #[arg(long = "file", value_parser = file)]
    files: Vec<FileFacts>,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
}

fn file(text: &str) -> Result<FileFacts, String> {
    let parsed = text.rsplit_once(':').and_then(|(kind, size)| Some((kind, size.parse().ok()?)));
    let (media_type, bytes) =
        parsed.ok_or_else(|| format!("`{text}` is not of the form image/png:1024"))?;
    Ok(FileFacts {
        name: "file".to_owned(),
        media_type: media_type.to_ascii_lowercase(),
        bytes,
        sha256: String::new(),
    })
}

/// Exit code 0 when the call would run, 1 when it would not.
pub(super) fn run(options: Options) -> Result<ExitCode, Failed> {
    let review = options.folder.review()?;
    let asked = Asked {
        tool: options.tool,
        arguments: client::arguments(&options.arguments)?,
        caller: Caller { name: options.caller, tenant: options.tenant, roles: options.roles },
        conversation: options.conversation.unwrap_or_default(),
        session: Session { calls: options.calls, taint: options.taint.into_iter().collect() },
        files: options.files,
    };
    let explanation = review.explain(&asked).map_err(Failed::answer)?;
    if options.json {
        print::json(&as_json(&explanation))?;
    } else {
        tell(&explanation)?;
    }
    let permitted = explanation.judged.outcome == Outcome::Permit;
    Ok(ExitCode::from(u8::from(!permitted)))
}

pub(super) fn as_json(explanation: &Explanation) -> Value {
    let judged = &explanation.judged;
    json!({
        "decision": judged.outcome,
        "tool": judged.tool.as_ref().map(|tool| &tool.name),
        "message": judged.message,
        "policies": judged.policies,
        "policy_version": explanation.version,
        "arguments": judged.arguments,
        "repairs": judged.repairs,
        "deciding": explanation.deciding,
        "nearest": explanation.nearest,
    })
}

fn tell(explanation: &Explanation) -> Result<(), Failed> {
    let judged = &explanation.judged;
    print::text(&match judged.outcome {
        Outcome::Permit => "permit: the call would run".to_owned(),
        Outcome::Approval => format!("approval: {}", judged.message),
        other => format!("{}: {}", other.as_str(), judged.message),
    })?;
    if !judged.repairs.is_empty() {
        let arguments = judged.arguments.as_ref().unwrap_or(&Value::Null);
        print::text(&format!("the arguments were repaired; decided is on {arguments}"))?;
    }
    if !explanation.deciding.is_empty() {
        print::text(match judged.outcome {
            Outcome::Approval => "\nThese would permit it once a person has approved it:",
            _ => "\nThese decided:",
        })?;
    }
    for told in &explanation.deciding {
        policy(told)?;
    }
    match judged.outcome {
        Outcome::Permit => return Ok(()),
        Outcome::Deny if !explanation.deciding.is_empty() => {
            print::text("\nTo be permitted, the call must miss a part of each of these, and:")?;
        }
        _ => {}
    }
    if !explanation.nearest.is_empty() {
        print::text("\nNearest policies that permit, and what they need:")?;
    }
    for told in &explanation.nearest {
        policy(told)?;
    }
    print::text(&format!("\npolicy version {}", explanation.version))?;
    Ok(())
}

fn policy(told: &Told) -> Result<(), Failed> {
    print::text(&format!("  {}", line(&told.policy)))?;
    for part in &told.parts {
        let met = match part.met {
            Some(true) => "met",
            Some(false) => "not met",
            None => "not reached",
        };
        let found = match part.found.as_str() {
            "" => String::new(),
            found => format!("   (here: {found})"),
        };
        print::text(&format!("    {met:11}  {}{found}", part.text))?;
    }
    Ok(())
}
