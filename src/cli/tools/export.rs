//! `switchboard tools export`: the tools of a policies folder as a model host takes them, and what that
//! host cannot be told of them. Reads files only.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::call::Dialect;
use crate::catalog::{self, Catalog, Export};
use crate::cli::{Failed, offline, print};
use crate::schema::Schemas;

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    /// The policies folder.
    #[arg(long, default_value = "/etc/switchboard/policies")]
    catalog: PathBuf,
    /// The kind of model host: openai, openai-strict, anthropic, gemini or plain.
    #[arg(long)]
    dialect: Dialect,
    /// Names start with this.
    #[arg(long, default_value = "")]
    prefix: String,
    /// Writes the array to this file instead of standard output.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Reports what the dialect cannot say as the input schemas do; without `--out` it takes the place
    /// of the array.
    #[arg(long)]
    losses: bool,
    /// One line of JSON for each loss.
    #[arg(long, requires = "losses")]
    json: bool,
}

pub(super) fn run(options: &Options) -> Result<ExitCode, Failed> {
    let catalog = usable(options)?;
    let tools = catalog.tools().iter().filter(|tool| tool.name.starts_with(&options.prefix));
    let exports: Vec<(&str, Export)> =
        tools.map(|tool| (tool.name.as_str(), catalog::export(tool, options.dialect))).collect();
    let definitions: Vec<_> = exports.iter().map(|(_, export)| &export.definition).collect();
    match &options.out {
        Some(path) => {
            let mut text = serde_json::to_string(&definitions).map_err(Failed::answer)?;
            text.push('\n');
            std::fs::write(path, text).map_err(|error| {
                Failed::usage(format!("cannot write `{}`: {error}", path.display()))
            })?;
        }
        None if !options.losses => return print::json(&definitions),
        None => {}
    }
    if options.losses { report(&exports, options.json) } else { Ok(ExitCode::SUCCESS) }
}

/// The tools that a daemon would have of the folder; what is left out is said on standard error.
fn usable(options: &Options) -> Result<Catalog, Failed> {
    let catalog = offline::load(&options.catalog)?;
    let (_, broken) = Schemas::compile(catalog.tools());
    let catalog = catalog.without(&broken);
    for problem in catalog.problems() {
        print::error(&format!("{} {}: {}", problem.file, problem.place, problem.message));
    }
    Ok(catalog)
}

fn report(exports: &[(&str, Export)], json: bool) -> Result<ExitCode, Failed> {
    let mut rows = vec![["TOOL", "PLACE", "KEYWORD", "LOSS"].map(str::to_owned).to_vec()];
    for (tool, export) in exports {
        for loss in &export.losses {
            if json {
                print::json(&json!({
                    "tool": tool, "name": export.name, "pointer": loss.pointer,
                    "keyword": loss.keyword, "message": loss.message,
                }))?;
            }
            let row = [*tool, &loss.pointer, &loss.keyword, &loss.message];
            rows.push(row.map(str::to_owned).to_vec());
        }
    }
    match (json, rows.len()) {
        (true, _) => Ok(ExitCode::SUCCESS),
        (false, 1) => print::text("nothing is lost"),
        (false, _) => print::table(&rows),
    }
}
