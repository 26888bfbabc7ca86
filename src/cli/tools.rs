//! `switchboard tools`: list and show ask a daemon; lint, import and export read files; search does
//! either.

mod export;
mod search;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::client::Where;
use super::{Failed, offline, print};
use crate::catalog;
use crate::proto::tools::{GetToolRequest, ListToolsRequest, Tool};

#[derive(Debug, Subcommand)]
pub(super) enum Tools {
    /// List the tools that you may use.
    List(List),
    /// Show one tool with its schemas.
    Show(Show),
    /// Find tools by what they do: a question or words, in English or Chinese.
    Search(search::Options),
    /// Report what makes models choose or fill a tool wrongly, and what could not be loaded.
    Lint(Lint),
    /// Report what an OpenAPI document would give: imported, adapted and skipped operations.
    ///
    /// It only reports and changes nothing. The daemon makes tools of a document that lies in the
    /// policies folder once a file `openapi/NAME.toml` there names it and a sandbox profile.
    Import(Import),
    /// Print the tools as a kind of model host takes them: a JSON array for `tools` of a message to it
    /// (Gemini: for functionDeclarations), without a daemon.
    Export(export::Options),
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Names start with this.
    #[arg(default_value = "")]
    prefix: String,
    /// One line of JSON for each tool.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Args)]
pub(super) struct Show {
    /// The tool's name.
    name: String,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Args)]
pub(super) struct Lint {
    /// The policies folder.
    #[arg(long, default_value = "/etc/switchboard/policies")]
    catalog: PathBuf,
    /// One line of JSON for each finding.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Import {
    /// The OpenAPI document, JSON or YAML.
    document: PathBuf,
    /// The whole report as one line of JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(tools: Tools) -> Result<ExitCode, Failed> {
    match tools {
        Tools::List(options) => list(options).await,
        Tools::Show(options) => show(options).await,
        Tools::Search(options) => search::run(options).await,
        Tools::Lint(options) => lint(&options),
        Tools::Import(options) => import(&options),
        Tools::Export(options) => export::run(&options),
    }
}

async fn list(options: List) -> Result<ExitCode, Failed> {
    let mut client = options.at.tools().await?;
    let mut request =
        ListToolsRequest { name_prefix: options.prefix, page_size: 1000, ..Default::default() };
    let mut rows = vec![vec!["NAME".to_owned(), "RISK".to_owned(), "DESCRIPTION".to_owned()]];
    loop {
        let page =
            client.list_tools(request.clone()).await.map_err(|s| Failed::answer(s.message()))?;
        let page = page.into_inner();
        for tool in &page.tools {
            if options.json {
                print::json(&as_json(tool))?;
            }
            rows.push(vec![tool.name.clone(), risk(tool), first_line(&tool.description)]);
        }
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            break;
        }
    }
    if options.json { Ok(ExitCode::SUCCESS) } else { print::table(&rows) }
}

async fn show(options: Show) -> Result<ExitCode, Failed> {
    let request = GetToolRequest { name: options.name, ..Default::default() };
    let tool = options.at.tools().await?.get_tool(request).await;
    let tool = as_json(&tool.map_err(|status| Failed::answer(status.message()))?.into_inner());
    if options.json {
        return print::json(&tool);
    }
    print::text(&serde_json::to_string_pretty(&tool).map_err(Failed::answer)?)
}

fn lint(options: &Lint) -> Result<ExitCode, Failed> {
    let catalog = offline::load(&options.catalog)?;
    let (_, broken) = crate::schema::Schemas::compile(catalog.tools());
    let mut rows = vec![vec!["WHERE".to_owned(), "WHAT".to_owned()]];
    for problem in catalog.problems() {
        let place = format!("{} {}", problem.file, problem.place);
        rows.push(vec![place.trim_end().to_owned(), problem.message.clone()]);
    }
    rows.extend(broken.into_iter().map(|(tool, why)| vec![tool, why]));
    let errors = rows.len() > 1;
    for finding in catalog::lint(&catalog) {
        rows.push(vec![format!("{} {}", finding.tool, finding.pointer), finding.message]);
    }
    match options.json {
        true => {
            for row in rows.iter().skip(1) {
                print::json(&json!({ "where": row.first(), "what": row.get(1) }))?;
            }
        }
        false if rows.len() == 1 => drop(print::text("nothing to mend")?),
        false => drop(print::table(&rows)?),
    }
    Ok(if errors { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn import(options: &Import) -> Result<ExitCode, Failed> {
    let report = catalog::import(&options.document);
    if let Some(note) = &report.error {
        return Err(Failed::usage(format!("{} {}", note.place, note.message)));
    }
    if options.json {
        return print::json(&report);
    }
    let mut rows = vec![["OUTCOME", "OPERATION", "TOOL", "NOTES"].map(str::to_owned).to_vec()];
    for done in &report.imported {
        let outcome = if done.adapted.is_empty() { "imported" } else { "adapted" };
        let notes: Vec<_> =
            done.adapted.iter().map(|note| format!("{}: {}", note.place, note.message)).collect();
        let tool = done.tool.clone();
        rows.push(vec![outcome.to_owned(), done.operation.clone(), tool, notes.join("; ")]);
    }
    for left in &report.skipped {
        let notes = format!("{}: {}", left.place, left.reason);
        rows.push(vec!["skipped".to_owned(), left.operation.clone(), String::new(), notes]);
    }
    print::table(&rows)?;
    print::text(&format!(
        "{} operations: {} imported, {} skipped; {} webhooks and callbacks are no tools",
        report.operations,
        report.imported.len(),
        report.skipped.len(),
        report.ignored
    ))?;
    let name = options.document.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    print::text(&format!(
        "\nNothing was changed. To use it, copy the document to openapi/ in the policies folder, and \
         write openapi/{stem}.toml:\n\n    document = \"openapi/{name}\"\n    profile = \"PROFILE\"\n\n\
         PROFILE is a sandbox profile whose `egress` names the document's server."
    ))
}

fn as_json(tool: &Tool) -> Value {
    let schema = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    json!({
        "name": tool.name,
        "description": tool.description,
        "risk": risk(tool),
        "idempotent": tool.idempotent,
        "cache_ttl_ms": tool.cache_ttl_ms,
        "timeout_ms": tool.timeout_ms,
        "source": tool.source,
        "digest": tool.digest,
        "input_schema": schema(&tool.input_schema_json),
        "output_schema": schema(&tool.output_schema_json),
    })
}

fn risk(tool: &Tool) -> String {
    tool.risk().as_str_name().trim_start_matches("RISK_").to_lowercase()
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(100).collect()
}
