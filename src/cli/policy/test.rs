//! `switchboard policy test`: the tables of tests beside the policies in, failures and coverage out.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::{Folder, images, line, review};
use crate::cli::{Failed, print};
use crate::policy::{CaseResult, Coverage, read_cases};

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    #[command(flatten)]
    folder: Folder,
    /// Hundredths of the policies that must decide a case that passes.
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=100), default_value_t = 0)]
    coverage: u8,
    /// One line of JSON for each case, and one for the coverage.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options) -> Result<ExitCode, Failed> {
    let folder = &options.folder.catalog;
    let images = images(options.folder.images.as_deref())?;
    let review = review(folder, &images, Some(&folder.join("tests")))?;
    // What the tests lean on must be whole, or they show nothing.
    let broken =
        review.catalog().problems().iter().find(|problem| problem.file.starts_with("tests/"));
    if let Some(problem) = broken {
        let place = format!("{} {}", problem.file, problem.place);
        return Err(Failed::usage(format!("{}: {}", place.trim_end(), problem.message)));
    }
    let cases = read_cases(folder).map_err(Failed::usage)?;
    if cases.is_empty() {
        let message = format!("there are no tests: write `{}/tests/*.yaml`", folder.display());
        return Err(Failed::usage(message));
    }
    let (results, coverage) = review.test(&cases).map_err(Failed::answer)?;
    let failed = results.iter().filter(|result| !result.passed).count();
    let low = coverage.percent < usize::from(options.coverage);
    if options.json {
        for result in &results {
            print::json(result)?;
        }
        print::json(&json!({ "cases": results.len(), "failed": failed, "coverage": coverage }))?;
    } else {
        for result in results.iter().filter(|result| !result.passed) {
            tell(result)?;
        }
        summary(&results, failed, &coverage)?;
    }
    Ok(ExitCode::from(u8::from(failed > 0 || low)))
}

fn tell(result: &CaseResult) -> Result<(), Failed> {
    let by = |ids: &[String]| match ids {
        [] => String::new(),
        ids => format!(" by {}", ids.join(", ")),
    };
    let expected = result.expected_policies.as_deref().map(by).unwrap_or_default();
    let ids: Vec<String> = result.deciding.iter().map(|rule| rule.id.clone()).collect();
    print::text(&format!(
        "FAILED  {} `{}`\n        expected {}{expected}\n        decided  {}{}",
        result.file,
        result.name,
        result.expected.as_str(),
        result.decided.as_str(),
        by(&ids)
    ))?;
    for rule in &result.deciding {
        print::text(&format!("        {}", line(rule)))?;
    }
    if !result.message.is_empty() {
        print::text(&format!("        {}", result.message))?;
    }
    Ok(())
}

fn summary(results: &[CaseResult], failed: usize, coverage: &Coverage) -> Result<(), Failed> {
    for rule in &coverage.missing {
        print::text(&format!("NEVER   {} decides no case that passes", line(rule)))?;
    }
    print::text(&format!(
        "{} cases, {failed} failed; {} of {} policies decide a case: {} %",
        results.len(),
        coverage.covered,
        coverage.policies,
        coverage.percent
    ))?;
    Ok(())
}
