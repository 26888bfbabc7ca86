//! `switchboard policy replay`, also `switchboard replay`: the last recorded calls in, those that
//! would be decided differently today out. The ledger is only read, and nothing runs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::{images, review};
use crate::admission::Caller;
use crate::call::FileFacts;
use crate::cli::ledger::newest;
use crate::cli::{Failed, print};
use crate::config::Config;
use crate::ledger::{Entry, Ledger, Query};
use crate::policy::{Asked, Fault, Outcome, Past, Replayed};

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    /// So many of the newest records.
    #[arg(short = 'n', default_value_t = 100)]
    records: u32,
    /// The daemon's configuration file, which names the ledger, the policies folder and the images.
    #[arg(long, default_value = "/etc/switchboard/switchboard.toml")]
    config: PathBuf,
    /// The ledger's file; default the configuration's.
    #[arg(long)]
    ledger: Option<PathBuf>,
    /// The policies folder; default the configuration's.
    #[arg(long)]
    catalog: Option<PathBuf>,
    /// The file with the ids of images; default the configuration's. Without any, digests of tools
    /// differ from the recorded ones, and every refusal by a schema counts as the definition's.
    #[arg(long)]
    images: Option<PathBuf>,
    /// One line of JSON for each such call, and one for the sum.
    #[arg(long)]
    json: bool,
}

/// Exit code 0; what is decided differently is the answer, not an error.
pub(in crate::cli) async fn run(options: Options) -> Result<ExitCode, Failed> {
    let whole = options.ledger.is_some() && options.catalog.is_some();
    let config = match Config::read(&options.config) {
        Ok(config) => Some(config),
        Err(_) if whole => None,
        Err(error) => return Err(Failed::usage(error)),
    };
    let configured = |own: Option<PathBuf>, from: fn(Config) -> PathBuf| {
        own.or_else(|| config.clone().map(from)).unwrap_or_default()
    };
    let ledger = configured(options.ledger, |config| config.ledger.path);
    let folder = configured(options.catalog, |config| config.policies.folder);
    let own = options.images.is_some();
    let file = configured(options.images, |config| config.sandbox.images);
    // A file that only the configuration names may be missing on a reviewer's machine.
    let images = images(Some(&file).filter(|file| own || file.is_file()).map(PathBuf::as_path))?;
    let review = review(&folder, &images, None)?;
    let mut found = Vec::new();
    for past in recorded(&ledger, options.records).await? {
        found.push(review.replay(&past).map_err(Failed::answer)?);
    }
    tell(&found, options.json)
}

/// The newest records, oldest first.
pub(super) async fn recorded(file: &Path, records: u32) -> Result<Vec<Past>, Failed> {
    let ledger = Ledger::open_read_only(file).map_err(Failed::usage)?;
    let mut found = Vec::new();
    newest(&ledger, Query::default(), records.into(), |entry| {
        // Decisions of people, and requests to memory and reasoning, are recorded too, and are no calls of tools.
        if !entry.is_decision() && !entry.is_memory() && !entry.is_reason() {
            found.push(past(entry));
        }
    })
    .await?;
    found.reverse();
    Ok(found)
}

/// The call that a record is of, and what was decided on it.
pub(super) fn past(entry: &Entry) -> Past {
    let text =
        |name: &str| entry.facts.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let files: Vec<FileFacts> = entry
        .facts
        .get("files_in")
        .and_then(|files| serde_json::from_value(files.clone()).ok())
        .unwrap_or_default();
    let session = entry.facts.get("session").filter(|session| session.is_object());
    let session =
        session.and_then(|facts| serde_json::from_value(facts.clone()).ok()).unwrap_or_default();
    let bytes = entry.facts.get("arguments_bytes").and_then(Value::as_u64).unwrap_or(0);
    let kept = u64::try_from(entry.arguments.len()).unwrap_or(u64::MAX);
    // Masking may write the text anew and shorter; what was cut is no JSON any more.
    let whole = serde_json::from_str::<serde::de::IgnoredAny>(&entry.arguments).is_ok();
    let ruling = entry.facts.pointer("/decision/outcome").and_then(Value::as_str);
    let ruling = ruling.unwrap_or_default();
    let decided = entry.facts.get("decision").is_some_and(|decision| !decision.is_null());
    let outcome = match entry.code.as_deref() {
        // The message that it came in spoke against it, not a schema or a policy.
        _ if entry.facts.get("withheld").is_some() => None,
        // Whatever came of it, a person had to permit it.
        _ if matches!(ruling, "approved" | "approval_required") => Some(Outcome::Approval),
        Some("UNKNOWN_TOOL") => Some(Outcome::Unknown),
        Some("SCHEMA_VALIDATION_ERROR") => Some(Outcome::Invalid),
        Some("POLICY_DENIED") => Some(Outcome::Deny),
        Some("APPROVAL_REQUIRED" | "APPROVAL_REJECTED") => Some(Outcome::Approval),
        // Whatever happened later, policy had let it through.
        _ if decided => Some(Outcome::Permit),
        _ => None,
    };
    Past {
        call_id: entry.call_id.clone(),
        asked: Asked {
            tool: entry.tool.clone(),
            arguments: entry.arguments.clone(),
            caller: Caller {
                name: entry.caller.clone(),
                tenant: entry.tenant.clone(),
                roles: entry.texts("/roles"),
            },
            conversation: entry.conversation.clone(),
            session,
            files,
        },
        outcome,
        policies: entry.texts("/decision/policies"),
        tool_digest: text("tool_digest"),
        arguments_digest: text("arguments_digest"),
        cut: kept < bytes && !whole,
    }
}

fn tell(found: &[Replayed], json: bool) -> Result<ExitCode, Failed> {
    let count = |test: &dyn Fn(&Replayed) -> bool| found.iter().filter(|one| test(one)).count();
    let by = |fault| count(&move |one: &Replayed| one.differs && one.fault == Some(fault));
    let mistakes = count(&|one| !one.differs && one.fault == Some(Fault::Model));
    let sum = json!({
        "calls": found.len(),
        "same": count(&|one| !one.differs && one.unclear.is_empty()),
        "differs": count(&|one| one.differs),
        "model": by(Fault::Model), "definition": by(Fault::Definition), "policy": by(Fault::Policy),
        "same_mistake": mistakes,
        "unclear": count(&|one| !one.unclear.is_empty()),
    });
    if json {
        for one in found.iter().filter(|one| one.differs) {
            print::json(one)?;
        }
        return print::json(&sum);
    }
    for (fault, title) in [
        (Fault::Model, "The model's mistakes"),
        (Fault::Definition, "The tool definition's"),
        (Fault::Policy, "The policies'"),
    ] {
        let group = found.iter().filter(|one| one.differs && one.fault == Some(fault));
        for (index, one) in group.enumerate() {
            if index == 0 {
                print::text(&format!("{title}:"))?;
            }
            print::text(&format!("  {}", sentence(one)))?;
        }
    }
    let number = |name: &str| sum.get(name).and_then(Value::as_u64).unwrap_or(0);
    print::text(&format!(
        "{} calls: {} as before, {} otherwise ({} the model's, {} the definition's, {} the policies'), \
         {} unclear; {mistakes} mistakes of the model are refused then and now",
        found.len(),
        number("same"),
        number("differs"),
        number("model"),
        number("definition"),
        number("policy"),
        number("unclear")
    ))
}

fn sentence(one: &Replayed) -> String {
    let by = |ids: &[String]| match ids {
        [] => String::new(),
        ids => format!(" by {}", ids.join(", ")),
    };
    let then = one.then.map_or("nothing", Outcome::as_str);
    let mut text = format!(
        "{} {} of {}: was {then}{}, now {}{}",
        one.call_id,
        one.tool,
        one.caller,
        by(&one.then_policies),
        one.now.as_str(),
        by(&one.now_policies)
    );
    if !one.message.is_empty() {
        text.push_str(": ");
        text.push_str(&one.message);
    }
    text
}
