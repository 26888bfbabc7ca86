//! `switchboard policy check`: a policies folder in, its findings out.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use super::Folder;
use crate::cli::{Failed, print};
use crate::evidence::Rules;
use crate::memory::{Collections, shelves};
use crate::policy::{Finding, Keepers, Reasoners, Review, Severity};
use crate::reason::{Agents, Surroundings};

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    #[command(flatten)]
    folder: Folder,
    /// Warnings count as errors.
    #[arg(long)]
    strict: bool,
    /// One line of JSON for each finding.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options) -> Result<ExitCode, Failed> {
    let review = options.folder.review()?;
    let mut findings = review.lint();
    findings.extend(agents(&options.folder.catalog, &review));
    findings.extend(rules(&options.folder.catalog));
    findings.extend(memory(&options.folder.catalog)?);
    findings.extend(reason(&options.folder.catalog)?);
    let count = |severity| findings.iter().filter(|found| found.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if options.json {
        for finding in &findings {
            print::json(finding)?;
        }
    } else {
        for finding in &findings {
            let severity = match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "info",
            };
            let (place, rule) = (finding.location(), finding.rule);
            print::text(&format!("{severity:7}  {place}  [{rule}]\n         {}", finding.message))?;
            if !finding.mend.is_empty() {
                print::text(&format!("         mend: {}", finding.mend))?;
            }
        }
        let policies = review.rules().count();
        let tools = review.catalog().tools().len();
        print::text(&format!(
            "{policies} policies, {tools} tools: {errors} errors, {warnings} warnings"
        ))?;
    }
    let bad = errors > 0 || options.strict && warnings > 0;
    Ok(ExitCode::from(u8::from(bad)))
}

/// What is to be said of the rules that decide without a model; nothing where there are none.
fn rules(folder: &Path) -> Vec<Finding> {
    Rules::load(folder).1.iter().map(Finding::of_problem).collect()
}

/// What is to be said of the memory's collections and of the policies on it; nothing where there are none.
fn memory(folder: &Path) -> Result<Vec<Finding>, Failed> {
    if !folder.join("memory").is_dir() {
        return Ok(Vec::new());
    }
    let (collections, problems) = Collections::load(folder);
    let mut findings: Vec<Finding> = problems.iter().map(Finding::of_problem).collect();
    findings.extend(Keepers::review(folder, &shelves(&collections)).map_err(Failed::usage)?);
    Ok(findings)
}

/// What is to be said of the agents of the reasoning, and of what they name that is not there.
fn agents(folder: &Path, review: &Review) -> Vec<Finding> {
    let (agents, problems) = Agents::load(folder);
    let (collections, _) = Collections::load(folder);
    let tools: Vec<&str> = review.catalog().tools().iter().map(|one| one.name.as_str()).collect();
    let collections: Vec<&str> = collections.iter().map(|one| one.name.as_str()).collect();
    let around =
        Surroundings { tools: &tools, collections: &collections, ..Surroundings::default() };
    problems.iter().chain(&agents.lint(around)).map(Finding::of_problem).collect()
}

/// What is to be said of the policies on runs; nothing where there are none.
fn reason(folder: &Path) -> Result<Vec<Finding>, Failed> {
    match folder.join("reason").is_dir() {
        true => Reasoners::review(folder).map_err(Failed::usage),
        false => Ok(Vec::new()),
    }
}
