//! `switchboard tools search`: a question in, the tools that fit it best out, with the reason of each;
//! of a daemon those that its caller may use, or all of a policies folder.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;

use crate::catalog::{Index, Risk, Search, Tool};
use crate::cli::client::{Where, told};
use crate::cli::{Failed, offline, print};
use crate::proto::tools::{self as proto, SearchToolsRequest};

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    /// What is looked for: a question, words or a tool's name.
    query: String,
    /// Searches this policies folder, without a daemon and whatever a caller may use.
    #[arg(long)]
    catalog: Option<PathBuf>,
    /// At most so many tools, up to 100.
    #[arg(long, default_value_t = 10)]
    limit: u32,
    /// Only tools of this source. Can be repeated.
    #[arg(long)]
    source: Vec<String>,
    /// Only tools of this risk. Can be repeated.
    #[arg(long, value_parser = named())]
    risk: Vec<Risk>,
    /// Only tools whose names start with this.
    #[arg(long, default_value = "")]
    prefix: String,
    /// One line of JSON for each tool, and one for the sum.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

/// The names of the risks.
fn named() -> impl TypedValueParser<Value = Risk> {
    const ALL: [Risk; 4] = [Risk::Read, Risk::Write, Risk::Destructive, Risk::Outbound];
    PossibleValuesParser::new(ALL.map(Risk::as_str)).try_map(|name| {
        let known = ALL.into_iter().find(|risk| risk.as_str() == name);
        known.ok_or("there is no such risk")
    })
}

/// A tool that was found.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    score: f64,
    risk: String,
    tokens: u32,
    description: String,
    matches: Vec<Match>,
}

#[derive(Debug, Serialize)]
struct Match {
    word: String,
    found: String,
    how: String,
    fields: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Sum {
    total: u32,
}

/// Exit code 1 when no tool was found.
pub(in crate::cli) async fn run(options: Options) -> Result<ExitCode, Failed> {
    let (rows, total) = match &options.catalog {
        Some(folder) => search(&options, folder)?,
        None => ask(&options).await?,
    };
    let found = !rows.is_empty();
    if options.json {
        for row in &rows {
            print::json(row)?;
        }
        print::json(&Sum { total })?;
    } else {
        let head = ["NAME", "SCORE", "RISK", "TOKENS", "FOUND", "DESCRIPTION"];
        let mut table = vec![head.map(str::to_owned).to_vec()];
        table.extend(rows.into_iter().map(Row::cells));
        print::table(&table)?;
        print::text(&format!("{total} tools in all"))?;
    }
    Ok(if found { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

impl Row {
    fn cells(self) -> Vec<String> {
        let found = self.matches.iter().map(|one| match one.word == one.found {
            true => one.word.clone(),
            false => format!("{} ({} {})", one.word, one.how, one.found),
        });
        let found: Vec<String> = found.collect();
        let score = format!("{:.2}", self.score);
        let tokens = self.tokens.to_string();
        vec![self.name, score, self.risk, tokens, found.join(", "), self.description]
    }
}

/// Asks a daemon.
async fn ask(options: &Options) -> Result<(Vec<Row>, u32), Failed> {
    let request = SearchToolsRequest {
        query: options.query.clone(),
        limit: options.limit,
        sources: options.source.clone(),
        risks: options.risk.iter().map(|risk| proto::Risk::from(*risk).into()).collect(),
        name_prefix: options.prefix.clone(),
        detail: proto::Detail::Compact.into(),
        ..Default::default()
    };
    let answer = options.at.tools().await?.search_tools(request).await;
    let answer = answer.map_err(|status| told(&status))?.into_inner();
    let row = |hit: proto::search_tools_response::Hit| {
        let tool = hit.tool?;
        let matches = hit.matches.into_iter().map(|one| Match {
            word: one.word,
            found: one.found,
            how: one.how,
            fields: one.fields,
        });
        Some(Row {
            risk: super::risk(&tool),
            name: tool.name,
            score: hit.score,
            tokens: tool.tokens,
            description: tool.description,
            matches: matches.collect(),
        })
    };
    Ok((answer.hits.into_iter().filter_map(row).collect(), answer.total))
}

/// Searches a policies folder.
fn search(options: &Options, folder: &Path) -> Result<(Vec<Row>, u32), Failed> {
    let catalog = offline::load(folder)?;
    let wanted = |tool: &Tool| {
        (options.source.is_empty() || options.source.contains(&tool.source))
            && (options.risk.is_empty() || options.risk.contains(&tool.risk))
            && tool.name.starts_with(&options.prefix)
    };
    let found = Index::new(catalog.tools()).search(&Search {
        query: &options.query,
        limit: usize::try_from(options.limit.clamp(1, 100)).unwrap_or(100),
        seen: &|_| true,
        wanted: &|place| catalog.tools().get(place).is_some_and(|tool| wanted(tool)),
    });
    let rows = found.hits.into_iter().filter_map(|hit| {
        let tool = catalog.tools().get(hit.place)?;
        let matches = hit.matches.into_iter().map(|one| Match {
            word: one.word,
            found: one.found,
            how: one.how.as_str().to_owned(),
            fields: one.fields.iter().map(|field| field.as_str().to_owned()).collect(),
        });
        Some(Row {
            name: tool.name.clone(),
            score: f64::from(hit.score),
            risk: tool.risk.as_str().to_owned(),
            tokens: tool.tokens(),
            description: tool.lead().to_owned(),
            matches: matches.collect(),
        })
    });
    Ok((rows.collect(), u32::try_from(found.total).unwrap_or(u32::MAX)))
}
