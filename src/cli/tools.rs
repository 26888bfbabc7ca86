//! `switchboard tools`: list and show ask a daemon, lint and import read files.

mod lint;
mod sarif;

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::client::Where;
use super::{Failed, print};
use crate::catalog;
use crate::proto::tools::{GetToolRequest, ListToolsRequest, Tool};

#[derive(Debug, Subcommand)]
pub(super) enum Tools {
    /// List the tools that you may use.
    List(List),
    /// Show one tool with its schemas.
    Show(Show),
    /// Report what makes models choose or fill a tool wrongly, and what could not be loaded.
    Lint(lint::Options),
    /// Report what an OpenAPI document would give: imported, adapted and skipped operations.
    ///
    /// It only reports and changes nothing. The daemon makes tools of a document that lies in the
    /// policies folder once a file `openapi/NAME.toml` there names it and a sandbox profile.
    Import(Import),
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
pub(super) struct Import {
    /// The OpenAPI or Swagger document, JSON or YAML: a path, or a URL over HTTPS.
    document: String,
    /// Base URL of its operations, where the document names none.
    #[arg(long)]
    server: Option<String>,
    /// The whole report as one line of JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(tools: Tools) -> Result<ExitCode, Failed> {
    match tools {
        Tools::List(options) => list(options).await,
        Tools::Show(options) => show(options).await,
        Tools::Lint(options) => lint::run(&options),
        Tools::Import(options) => import(&options),
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
    let request = GetToolRequest { name: options.name };
    let tool = options.at.tools().await?.get_tool(request).await;
    let tool = as_json(&tool.map_err(|status| Failed::answer(status.message()))?.into_inner());
    if options.json {
        return print::json(&tool);
    }
    print::text(&serde_json::to_string_pretty(&tool).map_err(Failed::answer)?)
}

fn import(options: &Import) -> Result<ExitCode, Failed> {
    let report = catalog::import(&options.document, options.server.as_deref());
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
    let remark = |note: &catalog::Note| format!("{}: {}", note.place, note.message);
    for left in &report.skipped {
        let notes = format!("{}: {}", left.place, left.reason);
        rows.push(vec!["skipped".to_owned(), left.operation.clone(), String::new(), notes]);
    }
    print::table(&rows)?;
    print::text(&format!(
        "{}{} operations: {} imported ({} of them adapted), {} skipped; {} webhooks and callbacks are no tools",
        report.remarks.iter().map(|note| remark(note) + "\n").collect::<String>(),
        report.operations,
        report.imported.len(),
        report.imported.iter().filter(|done| !done.adapted.is_empty()).count(),
        report.skipped.len(),
        report.ignored
    ))?;
    let name = Path::new(&options.document).file_name().unwrap_or_default().to_string_lossy();
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
