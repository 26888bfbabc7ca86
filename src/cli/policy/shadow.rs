//! `switchboard policy shadow`: the ledger in, the calls that a candidate policy set decided otherwise
//! out. The ledger is only read, and nothing is decided again.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::ledger::{File, Filter, newest, open};
use crate::cli::{Failed, print};
use crate::ledger::{Entry, Ledger, Query};

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    #[command(flatten)]
    filter: Filter,
    /// Only flips by the candidate whose version begins so.
    #[arg(long, default_value = "")]
    candidate: String,
    /// So many of the newest records that match; default all.
    #[arg(short = 'n')]
    records: Option<u64>,
    /// One line of JSON for each kind of flip, and one for the sum.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    file: File,
}

/// Calls of one tool that one candidate decided otherwise in the same way.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Kind {
    /// Digest of the candidate.
    version: String,
    tool: String,
    /// What the active set said.
    from: String,
    /// What the candidate said.
    to: String,
    calls: u64,
    /// When the first and the last of them arrived.
    first: Timestamp,
    last: Timestamp,
    /// The last of them.
    example: Example,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Example {
    call_id: String,
    caller: String,
    tenant: String,
    /// Ids of the policies that decided.
    active: Vec<String>,
    /// Digest of the active set.
    active_version: String,
    /// Ids of the policies by which the candidate would have decided.
    candidate: Vec<String>,
}

/// What was found in the ledger.
#[derive(Debug, Default)]
struct Found {
    records: u64,
    /// When the oldest and the newest record that was looked at arrived.
    range: Option<(Timestamp, Timestamp)>,
    kinds: BTreeMap<[String; 4], Kind>,
}

/// Exit code 0; flips are the answer, not an error.
pub(super) async fn run(options: Options) -> Result<ExitCode, Failed> {
    let ledger = open(options.file)?;
    let most = options.records.unwrap_or(u64::MAX);
    let found = gather(&ledger, options.filter.into(), &options.candidate, most).await?;
    let mut kinds: Vec<&Kind> = found.kinds.values().collect();
    // The newest candidate first, and of each the most frequent flips.
    let newest = |version: &str| {
        found.kinds.values().filter(|kind| kind.version == version).map(|kind| kind.last).max()
    };
    kinds.sort_by_cached_key(|kind| {
        let rank = std::cmp::Reverse((newest(&kind.version), kind.version.clone(), kind.calls));
        (rank, kind.tool.clone())
    });
    if options.json { lines(&found, &kinds) } else { tell(&found, &kinds) }
}

/// Looks at the records that match.
async fn gather(
    ledger: &Ledger,
    query: Query,
    candidate: &str,
    most: u64,
) -> Result<Found, Failed> {
    let mut found = Found::default();
    newest(ledger, query, most, |entry| found.see(entry, candidate)).await?;
    Ok(found)
}

impl Found {
    fn see(&mut self, entry: &Entry, candidate: &str) {
        let at = entry.received;
        let (oldest, newest) = self.range.unwrap_or((at, at));
        self.range = Some((oldest.min(at), newest.max(at)));
        self.records += 1;
        let Some(kind) = kind(entry).filter(|kind| kind.version.starts_with(candidate)) else {
            return;
        };
        let key = [&kind.version, &kind.tool, &kind.from, &kind.to].map(String::clone);
        match self.kinds.get_mut(&key) {
            None => drop(self.kinds.insert(key, kind)),
            Some(known) => {
                known.calls += 1;
                (known.first, known.last) = (known.first.min(at), known.last.max(at));
            }
        }
    }
}

/// The flip that a record tells of; `None` when both sets said the same, or there was no candidate.
fn kind(entry: &Entry) -> Option<Kind> {
    let text = |pointer: &str| entry.facts.pointer(pointer).and_then(Value::as_str);
    Some(Kind {
        version: text("/shadow/version")?.to_owned(),
        tool: entry.tool.clone(),
        from: text("/shadow/from")?.to_owned(),
        to: text("/shadow/outcome")?.to_owned(),
        calls: 1,
        first: entry.received,
        last: entry.received,
        example: Example {
            call_id: entry.call_id.clone(),
            caller: entry.caller.clone(),
            tenant: entry.tenant.clone(),
            active: entry.texts("/decision/policies"),
            active_version: text("/decision/version").unwrap_or_default().to_owned(),
            candidate: entry.texts("/shadow/policies"),
        },
    })
}

fn sum(found: &Found, kinds: &[&Kind]) -> Value {
    let mut totals: BTreeMap<String, u64> = BTreeMap::new();
    for kind in kinds {
        *totals.entry(format!("{} -> {}", kind.from, kind.to)).or_default() += kind.calls;
    }
    json!({
        "records": found.records,
        "flips": kinds.iter().map(|kind| kind.calls).sum::<u64>(),
        "totals": totals,
        "since": found.range.map(|range| range.0),
        "until": found.range.map(|range| range.1),
    })
}

fn lines(found: &Found, kinds: &[&Kind]) -> Result<ExitCode, Failed> {
    for kind in kinds {
        print::json(kind)?;
    }
    print::json(&sum(found, kinds))
}

fn tell(found: &Found, kinds: &[&Kind]) -> Result<ExitCode, Failed> {
    let mut version = "";
    for kind in kinds {
        if kind.version != version {
            version = &kind.version;
            print::text(&format!("candidate {version}"))?;
        }
        print::text(&paragraph(kind))?;
    }
    let sum = sum(found, kinds);
    let flips = sum.get("flips").cloned().unwrap_or_default();
    let range =
        found.range.map(|(since, until)| format!(" from {} to {}", when(since), when(until)));
    let range = range.unwrap_or_default();
    print::text(&format!("{} records{range}: {flips} flips", found.records))?;
    for (kind, calls) in sum.get("totals").and_then(Value::as_object).into_iter().flatten() {
        print::text(&format!("  {kind}: {calls}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn paragraph(kind: &Kind) -> String {
    let example = &kind.example;
    let by = |ids: &[String]| match ids {
        [] => "no policy".to_owned(),
        ids => ids.join(", "),
    };
    format!(
        "  {}: {} -> {} in {} calls, {} to {}\n    for example {} of {} (tenant {})\n    active:    {} by {}\n    \
         candidate: {} by {}",
        kind.tool,
        kind.from,
        kind.to,
        kind.calls,
        when(kind.first),
        when(kind.last),
        example.call_id,
        example.caller,
        example.tenant,
        kind.from,
        by(&example.active),
        kind.to,
        by(&example.candidate)
    )
}

fn when(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests;
