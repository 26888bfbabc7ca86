//! `switchboard ledger`: reads the ledger's file, whether or not a daemon writes to it.

mod export;
mod verify;
mod why;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{Failed, print};
use crate::call::Code;
use crate::config::Config;
use crate::ledger::{self, Entry, Query};

#[derive(Debug, Subcommand)]
pub(super) enum Ledger {
    /// Print the newest records, and with --follow each new one.
    Tail(Tail),
    /// Print one record: who, what, why, how it ended, where the time went. What is sensitive in the
    /// reply is masked. With --original print the arguments as they came, if they were kept.
    Show(Show),
    /// Print the records that match, newest first.
    Search(Search),
    /// Tell the story of one call: each stage, which one is responsible for a failure, what to do.
    Why(why::Options),
    /// Print all records, or those that match, oldest first, as lines of JSON that `verify --file`
    /// can check. What looks secret is masked.
    Export(export::Options),
    /// Check that no record was changed, removed, added or moved: the chain of digests, and the
    /// signed checkpoints. Exit 1 when anything was.
    Verify(verify::Options),
    /// Print the public key that signs the checkpoints, for `verify --key`.
    Key(verify::KeyOptions),
}

#[derive(Debug, Args)]
pub(super) struct File {
    /// The daemon's configuration file, which names the ledger.
    #[arg(long, default_value = "/etc/switchboard/switchboard.toml")]
    config: PathBuf,
    /// The ledger's file itself.
    #[arg(long, conflicts_with = "config")]
    file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct Tail {
    /// So many records.
    #[arg(short = 'n', default_value_t = 20)]
    records: u32,
    /// Go on with each new record until interrupted.
    #[arg(short, long)]
    follow: bool,
    /// One line of JSON for each record.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    file: File,
}

#[derive(Debug, Args)]
pub(super) struct Show {
    /// The call's id.
    call_id: String,
    /// Only the reply, byte for byte as it was kept, unmasked.
    #[arg(long)]
    reply: bool,
    /// Only the arguments, byte for byte as they came. Needs the key that they were encrypted with.
    #[arg(long, requires = "key", conflicts_with_all = ["reply", "json"])]
    original: bool,
    /// The file that `[ledger] originals` named when the call was made.
    #[arg(long, requires = "original")]
    key: Option<PathBuf>,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    file: File,
}

#[derive(Debug, Args)]
pub(super) struct Filter {
    /// Calls of this tool.
    #[arg(long)]
    tool: Option<String>,
    /// Calls of this caller.
    #[arg(long)]
    caller: Option<String>,
    /// Calls of this tenant.
    #[arg(long)]
    tenant: Option<String>,
    /// Calls of this conversation.
    #[arg(long)]
    conversation: Option<String>,
    /// Replies with this code, for example TOOL_TIMEOUT.
    #[arg(long, value_parser = code)]
    code: Option<Code>,
    /// Replies with this status: success or error.
    #[arg(long)]
    status: Option<String>,
    /// Calls since this time (2026-01-31T12:00:00Z) or for so long (15m).
    #[arg(long, value_parser = moment)]
    since: Option<Timestamp>,
    /// Calls before this time or before so long ago.
    #[arg(long, value_parser = moment)]
    until: Option<Timestamp>,
}

impl From<Filter> for Query {
    fn from(filter: Filter) -> Self {
        let Filter { tool, caller, tenant, conversation, code, status, since, until } = filter;
        Self { tool, caller, tenant, conversation, code, status, since, until, ..Self::default() }
    }
}

#[derive(Debug, Args)]
pub(super) struct Search {
    #[command(flatten)]
    filter: Filter,
    /// So many at most.
    #[arg(long, default_value_t = 100)]
    limit: u32,
    /// One line of JSON for each record.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    file: File,
}

fn code(text: &str) -> Result<Code, String> {
    let known = || Code::ALL.map(Code::as_str).join(", ");
    Code::ALL
        .into_iter()
        .find(|code| code.as_str() == text)
        .ok_or_else(|| format!("there is no such code; the codes are {}", known()))
}

fn moment(text: &str) -> Result<Timestamp, String> {
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    let ago = crate::config::duration::parse(text)
        .map_err(|_neither| format!("`{text}` is neither a time nor a duration such as 15m"))?;
    let ago = SignedDuration::try_from(ago).map_err(|e| e.to_string())?;
    Timestamp::now().checked_sub(ago).map_err(|e| e.to_string())
}

pub(super) async fn run(command: Ledger) -> Result<ExitCode, Failed> {
    match command {
        Ledger::Tail(options) => tail(options).await,
        Ledger::Show(options) => show(options).await,
        Ledger::Search(options) => search(options).await,
        Ledger::Why(options) => why::run(options).await,
        Ledger::Export(options) => export::run(options).await,
        Ledger::Verify(options) => verify::run(options).await,
        Ledger::Key(options) => verify::key(options),
    }
}

impl File {
    /// Where the ledger is, and where its checkpoints must be if that is known.
    fn paths(self) -> Result<(PathBuf, Option<PathBuf>), Failed> {
        if let Some(path) = self.file {
            return Ok((path, None));
        }
        let config = Config::read(&self.config).map_err(Failed::usage)?.ledger;
        let checkpoints = config.checkpoints_path();
        Ok((config.path, Some(checkpoints)))
    }
}

pub(super) fn open(file: File) -> Result<ledger::Ledger, Failed> {
    let (path, _) = file.paths()?;
    ledger::Ledger::open_read_only(&path).map_err(Failed::usage)
}

/// Runs what reads much on a thread of its own.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failed> + Send + 'static,
) -> Result<T, Failed> {
    tokio::task::spawn_blocking(work).await.map_err(Failed::answer)?
}

async fn tail(options: Tail) -> Result<ExitCode, Failed> {
    let ledger = open(options.file)?;
    // The newest is read in any case: new records are those after it.
    let query = Query { limit: Some(options.records.max(1)), ..Query::default() };
    let mut entries = ledger.search(query).await.map_err(Failed::answer)?;
    let last = entries.first().map_or(0, |entry| entry.seq);
    entries.truncate(usize::try_from(options.records).unwrap_or(usize::MAX));
    entries.reverse();
    rows(&entries, options.json, true)?;
    if options.follow { follow(&ledger, last, options.json).await } else { Ok(ExitCode::SUCCESS) }
}

async fn follow(ledger: &ledger::Ledger, mut last: u64, json: bool) -> Result<ExitCode, Failed> {
    let mut tick = tokio::time::interval(Duration::from_millis(500));
    loop {
        tick.tick().await;
        let fresh = since(ledger, last).await?;
        last = fresh.last().map_or(last, |entry| entry.seq);
        rows(&fresh, json, false)?;
    }
}

/// Every record after `last`, oldest first.
async fn since(ledger: &ledger::Ledger, last: u64) -> Result<Vec<Entry>, Failed> {
    let mut fresh: Vec<Entry> = Vec::new();
    loop {
        let before_seq = fresh.last().map(|entry| entry.seq);
        let query = Query { before_seq, ..Query::default() };
        let page = ledger.search(query).await.map_err(Failed::answer)?;
        let read = page.len();
        let before = fresh.len();
        fresh.extend(page.into_iter().filter(|entry| entry.seq > last));
        // Only a page that is fresh throughout can have fresh ones before it. A place that is
        // missing in the chain must not keep this waiting for it.
        if read == 0 || fresh.len() < before + read {
            fresh.reverse();
            return Ok(fresh);
        }
    }
}

async fn search(options: Search) -> Result<ExitCode, Failed> {
    let ledger = open(options.file)?;
    let query = Query { limit: Some(options.limit), ..options.filter.into() };
    let entries = ledger.search(query).await.map_err(Failed::answer)?;
    rows(&entries, options.json, true)
}

async fn show(options: Show) -> Result<ExitCode, Failed> {
    let ledger = open(options.file)?;
    let entry = ledger.get(&options.call_id).await.map_err(Failed::answer)?;
    let entry =
        entry.ok_or_else(|| Failed::answer(format!("there is no call `{}`", options.call_id)))?;
    if let (true, Some(key)) = (options.original, &options.key) {
        let kept = ledger.original(&options.call_id, key).await.map_err(Failed::answer)?;
        return print::text(&kept.ok_or_else(|| {
            Failed::answer(format!(
                "the original arguments of call `{}` were not kept: nothing in them was masked, or \
                 the daemon had no `[ledger] originals` when it was made",
                options.call_id
            ))
        })?);
    }
    if options.reply {
        return print::text(entry.reply_json.as_deref().unwrap_or_default());
    }
    let mut shown = serde_json::to_value(&entry).map_err(Failed::answer)?;
    if let Value::Object(fields) = &mut shown {
        fields.insert("reply_json".to_owned(), ledger::shown_reply(&entry));
    }
    if options.json {
        return print::json(&shown);
    }
    print::text(&serde_json::to_string_pretty(&shown).map_err(Failed::answer)?)
}

/// Looks at the records that match, newest first, at most `most` of them.
pub(super) async fn newest(
    ledger: &ledger::Ledger,
    mut query: Query,
    most: u64,
    mut look: impl FnMut(&Entry),
) -> Result<(), Failed> {
    let mut left = most;
    while left > 0 {
        query.limit = Some(u32::try_from(left).unwrap_or(u32::MAX).min(1000));
        let page = ledger.search(query.clone()).await.map_err(Failed::answer)?;
        let Some(last) = page.last() else { break };
        query.before_seq = Some(last.seq);
        page.iter().for_each(&mut look);
        left = left.saturating_sub(u64::try_from(page.len()).unwrap_or(u64::MAX));
    }
    Ok(())
}

fn rows(entries: &[Entry], json: bool, heading: bool) -> Result<ExitCode, Failed> {
    if json {
        for entry in entries {
            print::json(entry)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = Vec::new();
    if heading {
        rows.push(["RECEIVED", "CALL", "CALLER", "TOOL", "CODE", "MS"].map(str::to_owned).to_vec());
    }
    rows.extend(entries.iter().map(row));
    if rows.is_empty() { Ok(ExitCode::SUCCESS) } else { print::table(&rows) }
}

fn row(entry: &Entry) -> Vec<String> {
    let micros = entry.facts.pointer("/latency_us/total").and_then(Value::as_u64).unwrap_or(0);
    vec![
        entry.received.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        entry.call_id.clone(),
        entry.caller.clone(),
        entry.tool.clone(),
        entry.code.clone().unwrap_or_else(|| "SUCCESS".to_owned()),
        format!("{}.{}", micros / 1000, micros % 1000 / 100),
    ]
}

#[cfg(test)]
mod tests;
