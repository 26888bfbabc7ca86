//! `switchboard tools import`: what a document would give, operation by operation. It only reports;
//! what makes tools of a document is its source's file in the policies folder.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use crate::catalog::{self, ImportReport, Note};
use crate::cli::{Failed, print};

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    /// The OpenAPI or Swagger document, JSON or YAML: a path, or a URL over HTTPS. Or a source's file
    /// in a policies folder (`openapi/NAME.toml`), with its filters and settings.
    document: String,
    /// Base URL of its operations, where the document names none.
    #[arg(long)]
    server: Option<String>,
    /// The whole report as one line of JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options) -> Result<ExitCode, Failed> {
    let report = catalog::import(&options.document, options.server.as_deref());
    if let Some(note) = &report.error {
        return Err(Failed::usage(said(note).trim_start_matches(": ").to_owned()));
    }
    if options.json {
        return print::json(&report);
    }
    print::table(&table(&report))?;
    for remark in &report.remarks {
        print::text(&said(remark))?;
    }
    print::text(&sum(&report))?;
    match options.document.ends_with(".toml") {
        true => Ok(ExitCode::SUCCESS),
        false => print::text(&hint(options, &report)),
    }
}

fn said(note: &Note) -> String {
    format!("{}: {}", note.place, note.message)
}

fn table(report: &ImportReport) -> Vec<Vec<String>> {
    let row = |outcome: &str, operation: &str, tool: &str, notes: String| {
        vec![outcome.to_owned(), operation.to_owned(), tool.to_owned(), notes]
    };
    let mut rows = vec![row("OUTCOME", "OPERATION", "TOOL", "NOTES".to_owned())];
    for done in &report.imported {
        let outcome = if done.adapted.is_empty() { "imported" } else { "adapted" };
        let notes: Vec<String> = done.adapted.iter().chain(&done.needs).map(said).collect();
        rows.push(row(outcome, &done.operation, &done.tool, notes.join("; ")));
    }
    for left in &report.skipped {
        let notes = format!("{}: {}", left.place, left.reason);
        rows.push(row("skipped", &left.operation, "", notes));
    }
    rows.extend(
        report.excluded.iter().map(|operation| row("excluded", operation, "", String::new())),
    );
    rows
}

/// The numbers; imported, skipped and excluded are all that the document has.
fn sum(report: &ImportReport) -> String {
    let adapted = report.imported.iter().filter(|done| !done.adapted.is_empty()).count();
    let excluded = match report.excluded.len() {
        0 => String::new(),
        many => format!(", {many} excluded"),
    };
    let none = if report.operations == 0 { "the document has no callable operation; " } else { "" };
    format!(
        "{none}{} operations: {} imported, {} skipped{excluded}; {adapted} of the imported were \
         adapted; {} webhooks and callbacks are no tools",
        report.operations,
        report.imported.len(),
        report.skipped.len(),
        report.ignored
    )
}

/// How the document is put to use.
fn hint(options: &Options, report: &ImportReport) -> String {
    let document = &options.document;
    let name = Path::new(document).file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    let (copy, place) = match document.contains("://") {
        true => ("", document.clone()),
        false => (
            "copy the document to openapi/ in the policies folder, and ",
            format!("openapi/{name}"),
        ),
    };
    let bare = |note: &Note| note.message.contains("set `server`");
    let server = match &options.server {
        Some(server) => format!("    server = \"{server}\"\n"),
        None if report.imported.iter().any(|done| done.adapted.iter().any(bare)) => {
            "    server = \"https://HOST/BASE\"\n".to_owned()
        }
        None => String::new(),
    };
    format!(
        "\nNothing was changed. To use it, {copy}write openapi/{stem}.toml:\n\n    document = \
         \"{place}\"\n    profile = \"PROFILE\"\n{server}\nPROFILE is a sandbox profile whose \
         `egress` names the server of its operations."
    )
}
