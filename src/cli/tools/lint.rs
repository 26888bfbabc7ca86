//! `switchboard tools lint`: what of a policies folder could not be loaded, and what makes models
//! choose or fill its tools wrongly; as a table, as lines of JSON, or as SARIF.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::sarif;
use crate::catalog::{self, Catalog, Finding, Level, Lines};
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
    let mut texts =
        Texts { folder: &options.catalog, read: BTreeMap::new(), documents: BTreeMap::new() };
    let mut rows = texts.broken(&catalog);
    let errors = !rows.is_empty();
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

/// The line that a place such as "line 3, `key`" names.
fn line_of(place: &str) -> Option<usize> {
    let rest = place.strip_prefix("line ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The files that findings are about, read once.
struct Texts<'t> {
    folder: &'t Path,
    read: BTreeMap<String, String>,
    documents: BTreeMap<String, Lines>,
}

impl Texts<'_> {
    fn text(&mut self, file: &str) -> &str {
        let folder = self.folder;
        let read = || std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        self.read.entry(file.to_owned()).or_insert_with(read)
    }

    /// Where an operation, or one of its arguments, stands in its document.
    fn line_in(&mut self, document: &str, operation: &str, argument: &str) -> Option<usize> {
        if !self.documents.contains_key(document) {
            let lines = Lines::of(self.text(document));
            self.documents.insert(document.to_owned(), lines);
        }
        self.documents.get(document)?.find(operation, argument)
    }

    /// What could not be loaded or compiled.
    fn broken(&mut self, catalog: &Catalog) -> Vec<Row> {
        let (_, failed) = Schemas::compile(catalog.tools());
        let problems = catalog.problems().iter().map(|problem| {
            let message = problem.message.clone();
            self.unusable(catalog, &problem.file, problem.place.clone(), (message, problem.fatal))
        });
        let mut rows: Vec<Row> = problems.collect();
        rows.extend(failed.into_iter().map(|(tool, why)| {
            let file = catalog.file_of(&tool);
            self.unusable(catalog, file, tool, (why, true))
        }));
        rows
    }

    /// What is wrong with an operation stands in its document, though the source's file brought it.
    fn unusable(
        &mut self,
        catalog: &Catalog,
        file: &str,
        name: String,
        (message, fatal): (String, bool),
    ) -> Row {
        let document = catalog.document_of(file);
        let at = document.and_then(|document| Some((document, operation_in(&name)?)));
        let (file, operation, line) = match at {
            Some((document, operation)) => {
                let line = self.line_in(document, &operation, "");
                (document.to_owned(), operation, line)
            }
            None => (file.to_owned(), String::new(), line_of(&name)),
        };
        let level = if fatal { Level::Error } else { Level::Warning };
        let (rule, pointer, mend) = (UNUSABLE, String::new(), "");
        Row { rule, level, file, line, name, pointer, operation, message, mend }
    }

    fn row(&mut self, finding: Finding) -> Row {
        let argument = pointer::unescape(finding.pointer.rsplit('/').next().unwrap_or_default());
        let line = match (finding.operation.as_str(), argument.as_str()) {
            ("", "") => find_key(self.text(&finding.file), usual_key(finding.rule)),
            ("", argument) => find_key(self.text(&finding.file), argument),
            (operation, argument) => self.line_in(&finding.file, operation, argument),
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

/// The pointer of the operation, or of the path, that a place such as
/// "getBook #/paths/~1books/get/parameters/0" names.
fn operation_in(place: &str) -> Option<String> {
    let (_, pointer) = place.split_once(" #/paths/")?;
    let mut parts = pointer.splitn(3, '/');
    let (path, method) = (parts.next()?, parts.next());
    Some(match method {
        Some(method) => format!("/paths/{path}/{method}"),
        None => format!("/paths/{path}"),
    })
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
