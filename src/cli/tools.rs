//! `switchboard tools`: list and show ask a daemon, lint, import and export read files, search does
//! either.

mod export;
mod import;
mod lint;
mod sarif;
mod search;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::client::Where;
use super::{Failed, print};
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
    Lint(lint::Options),
    /// Report what an OpenAPI document would give: imported, adapted and skipped operations.
    ///
    /// It only reports and changes nothing. The daemon makes tools of a document that lies in the
    /// policies folder once a file `openapi/NAME.toml` there names it and a sandbox profile.
    Import(import::Options),
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

pub(super) async fn run(tools: Tools) -> Result<ExitCode, Failed> {
    match tools {
        Tools::List(options) => list(options).await,
        Tools::Show(options) => show(options).await,
        Tools::Search(options) => search::run(options).await,
        Tools::Lint(options) => lint::run(&options),
        Tools::Import(options) => import::run(&options),
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
        "operation": tool.operation,
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
