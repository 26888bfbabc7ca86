//! `switchboard ledger verify` and `ledger key`: what a reviewer proves a ledger with.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::super::{Failed, print};
use super::{File, aside};
use crate::ledger::{self, Against, Damage, PublicKey, Verification};

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    /// The public key that must have signed it, as `ledger key` prints it: in hex, or a file with it
    /// in hex or PEM. Without it the ledger is checked by the key that it names itself.
    #[arg(long, value_parser = public_key)]
    key: Option<PublicKey>,
    /// The file of checkpoints, for example a copy kept elsewhere; default: the one beside the ledger.
    #[arg(long)]
    checkpoints: Option<PathBuf>,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    file: File,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct KeyOptions {
    /// In PEM, for other programs.
    #[arg(long)]
    pem: bool,
    #[command(flatten)]
    file: File,
}

fn public_key(text: &str) -> Result<PublicKey, String> {
    match PublicKey::parse(text) {
        Ok(key) => Ok(key),
        Err(reason) => {
            let file = std::fs::read_to_string(text)
                .map_err(|error| format!("{reason}, and no file that can be read: {error}"))?;
            PublicKey::parse(&file)
        }
    }
}

pub(super) async fn run(options: Options) -> Result<ExitCode, Failed> {
    let (path, checkpoints) = options.file.paths()?;
    let checkpoints = options.checkpoints.or(checkpoints);
    if let Some(missing) = checkpoints.as_ref().filter(|_| !path.exists()) {
        let reason = format!(
            "there is no `{}`; its checkpoints would be `{}`",
            path.display(),
            missing.display()
        );
        return Err(Failed::usage(reason));
    }
    let against = Against { key: options.key, checkpoints };
    let found = aside(move || ledger::verify(&path, &against).map_err(Failed::usage)).await?;
    if options.json {
        print::json(&found)?;
    } else {
        print::text(&told(&found))?;
    }
    Ok(if found.holds() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

pub(super) fn key(options: KeyOptions) -> Result<ExitCode, Failed> {
    let (path, _) = options.file.paths()?;
    let key = ledger::public_key(&path).map_err(Failed::usage)?.ok_or_else(|| {
        Failed::answer("the ledger is not signed yet: the daemon makes a key when it starts")
    })?;
    print::text(&if options.pem { key.to_pem() } else { key.to_string() })
}

fn told(found: &Verification) -> String {
    let mut lines = Vec::new();
    let verdict = if found.holds() { "whole" } else { "DAMAGED" };
    lines.push(format!("{verdict}: {} records are as they were written", found.records));
    let from = found.complete_from.map_or_else(|| "its beginning".to_owned(), |at| at.to_string());
    let after = match found.pruned_to {
        0 => "it begins with the first record".to_owned(),
        pruned => format!("retention removed records 1 to {pruned}"),
    };
    lines.push(format!("complete from {from} on: {after}; the newest is {}", found.head));
    lines.push(match (&found.key, found.key_given) {
        (Some(key), true) => format!(
            "{} checkpoints signed with {key} vouch for it up to record {}",
            found.checkpoints, found.vouched_to
        ),
        (Some(key), false) => format!(
            "{} checkpoints vouch for it up to record {}, signed with the key that it names itself \
             ({key}): give --key to prove that",
            found.checkpoints, found.vouched_to
        ),
        (None, _) => {
            "no key signed it: whoever can write the file could have written it anew".to_owned()
        }
    });
    lines.extend(found.damage.iter().map(line));
    lines.join("\n")
}

fn line(damage: &Damage) -> String {
    let kind = serde_json::to_value(damage.kind).unwrap_or_default();
    let mut text = kind.as_str().unwrap_or_default().to_owned();
    if let Some(seq) = damage.seq {
        text.push_str(&format!(" at record {seq}"));
    }
    if let Some(call_id) = &damage.call_id {
        text.push_str(&format!(" (call {call_id})"));
    }
    format!("{text}: {}", damage.reason)
}
