//! `switchboard tools lint`: what of a policies folder could not be loaded, and what makes models
//! choose or fill its tools wrongly; as a table, as lines of JSON, or as SARIF.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::sarif;
use crate::catalog::{self, Catalog, Finding, Level};
use crate::cli::{Failed, offline, print};
use crate::pointer;
use crate::schema::Schemas;

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    /// The policies folder.
    #[arg(long, default_value = "/etc/switchboard/policies")]
    catalog: PathBuf,
    /// How the findings are written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The same as `--format json`.
    #[arg(long)]
    json: bool,
    /// Leaves out what is only a note.
    #[arg(long)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table for people.
    Text,
    /// One line of JSON for each finding.
    Json,
    /// SARIF 2.1.0, for code hosts and editors.
    Sarif,
}

/// The rule of what could not be loaded; the linter proper never sees it.
pub(super) const UNUSABLE: &str = "unusable";

/// One finding, with the place that a person can go to.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) rule: &'static str,
    pub(super) level: Level,
    /// Relative to the policies folder.
    pub(super) file: String,
    /// From 1, where it is known.
    pub(super) line: Option<usize>,
    /// The tool, or the place in a file that could not be used.
    pub(super) name: String,
    /// JSON Pointer among the tool's arguments.
    pub(super) pointer: String,
    /// JSON Pointer of the operation in its document.
    pub(super) operation: String,
    pub(super) message: String,
    pub(super) mend: &'static str,
}

pub(super) fn run(options: &Options) -> Result<ExitCode, Failed> {
    let catalog = offline::load(&options.catalog)?;
    let mut rows = broken(&catalog);
    let errors = !rows.is_empty();
    let mut texts = Texts { folder: &options.catalog, read: BTreeMap::new() };
    rows.extend(catalog::lint(&catalog).into_iter().map(|finding| texts.row(finding)));
    rows.retain(|row| !options.quiet || row.level != Level::Note);
    match (options.format, options.json) {
        (Format::Sarif, _) => {
            let log = sarif::log(&options.catalog, &rows);
            print::text(&serde_json::to_string_pretty(&log).map_err(Failed::answer)?)?;
        }
        (Format::Json, _) | (_, true) => {
            for row in &rows {
                print::json(&line(row))?;
            }
        }
        (Format::Text, false) if rows.is_empty() => drop(print::text("nothing to mend")?),
        (Format::Text, false) => drop(print::table(&table(&rows))?),
    }
    Ok(if errors { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// What could not be loaded or compiled.
fn broken(catalog: &Catalog) -> Vec<Row> {
    let row = |file: String, name: String, message: String, fatal: bool| Row {
        rule: UNUSABLE,
        level: if fatal { Level::Error } else { Level::Warning },
        line: line_of(&name),
        file,
        name,
        pointer: String::new(),
        operation: String::new(),
        message,
        mend: "",
    };
    let (_, failed) = Schemas::compile(catalog.tools());
    let problems = catalog.problems().iter().map(|problem| {
        let message = problem.message.clone();
        row(problem.file.clone(), problem.place.clone(), message, problem.fatal)
    });
    let failed = failed.into_iter().map(|(tool, why)| {
        let file = catalog.file_of(&tool).to_owned();
        row(file, tool, why, true)
    });
    problems.chain(failed).collect()
}

/// The line that a place such as "line 3, `key`" names.
fn line_of(place: &str) -> Option<usize> {
    let rest = place.strip_prefix("line ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The files that findings are about, read once.
struct Texts<'t> {
    folder: &'t Path,
    read: BTreeMap<String, String>,
}

impl Texts<'_> {
    fn row(&mut self, finding: Finding) -> Row {
        let folder = self.folder;
        let text = self.read.entry(finding.file.clone()).or_insert_with(|| {
            std::fs::read_to_string(folder.join(&finding.file)).unwrap_or_default()
        });
        let key = match finding.pointer.rsplit('/').next() {
            Some(last) if !last.is_empty() => pointer::unescape(last),
            Some(_) | None => usual_key(finding.rule).to_owned(),
        };
        let line = match finding.operation.is_empty() {
            true => find_key(text, &key),
            false => None,
        };
        Row {
            rule: finding.rule,
            level: finding.level,
            file: finding.file,
            line,
            name: finding.tool,
            pointer: finding.pointer,
            operation: finding.operation,
            message: finding.message,
            mend: finding.mend,
        }
    }
}

/// The key of a manifest that a finding on a tool itself is about.
fn usual_key(rule: &str) -> &'static str {
    match rule {
        "name" => "name",
        "verb" => "risk",
        "arguments" | "open" | "confusable" | "depth" | "size" => "input_schema",
        "egress" | "secret" => "profile",
        _ => "description",
    }
}

/// The first line of a TOML text that sets a key, or opens its table.
fn find_key(text: &str, key: &str) -> Option<usize> {
    let names = |part: &str| part.trim().trim_matches(['"', '\'']) == key;
    let sets = |line: &str| {
        let line = line.trim();
        let head = match line.strip_prefix('[') {
            Some(table) => table.trim_start_matches('[').split(']').next().unwrap_or_default(),
            None => line.split_once('=').map_or("", |(head, _)| head),
        };
        head.split('.').next_back().is_some_and(names)
    };
    text.lines().position(sets).map(|line| line + 1)
}

/// What is wrong and how to mend it.
pub(super) fn what(row: &Row) -> String {
    match row.mend {
        "" => row.message.clone(),
        mend => format!("{}; {mend}", row.message),
    }
}

/// Where it is, for a person.
pub(super) fn place(row: &Row) -> String {
    let name = match row.rule {
        UNUSABLE => format!("{} {}", row.file, row.name),
        _ => format!("{} {}", row.name, row.pointer),
    };
    name.trim_end().to_owned()
}

fn line(row: &Row) -> Value {
    json!({
        "where": place(row),
        "what": what(row),
        "rule": row.rule,
        "level": row.level,
        "tool": row.name,
        "pointer": row.pointer,
        "file": row.file,
        "line": row.line,
        "operation": row.operation,
        "message": row.message,
        "mend": row.mend,
        "source": sarif::source(row.rule),
    })
}

fn table(rows: &[Row]) -> Vec<Vec<String>> {
    let head = ["LEVEL", "RULE", "WHERE", "WHAT"].map(str::to_owned).to_vec();
    let cells =
        |row: &Row| vec![row.level.as_str().to_owned(), row.rule.to_owned(), place(row), what(row)];
    std::iter::once(head).chain(rows.iter().map(cells)).collect()
}
