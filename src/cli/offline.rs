//! `switchboard validate`: checks arguments against a catalog on disk, without a daemon.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::{Failed, client, print};
use crate::call::Failure;
use crate::catalog::Catalog;
use crate::schema::Schemas;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The policies folder, with `tools/`, `openapi/` and `sandbox/` in it.
    #[arg(long)]
    catalog: PathBuf,
    /// The tool's name.
    tool: String,
    /// The arguments as JSON text, `@file`, or `-` for standard input.
    arguments: String,
}

pub(super) fn run(options: &Options) -> Result<ExitCode, Failed> {
    let arguments = client::arguments(&options.arguments)?;
    let catalog = load(&options.catalog)?;
    let Some(tool) = catalog.find(&options.tool, &|_| true) else {
        // `switchboard tools lint` tells what was left out of the catalog.
        return invalid(&catalog.unknown(&options.tool, &|_| true).failure());
    };
    let (schemas, failed) = Schemas::compile(std::slice::from_ref(&tool));
    if let Some((_, why)) = failed.first() {
        return Err(Failed::usage(format!("the schema of `{}` is unusable: {why}", tool.name)));
    }
    match schemas.check_text(&tool, &arguments) {
        Ok(fit) => {
            print::json(&json!({
                "valid": true, "arguments": fit.value, "repairs": fit.repairs, "error": Value::Null,
            }))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => invalid(&error.failure()),
    }
}

fn invalid(failure: &Failure) -> Result<ExitCode, Failed> {
    print::json(&json!({
        "valid": false, "arguments": Value::Null, "repairs": [],
        "error": {
            "code": failure.code, "message": failure.message, "details": failure.details,
        },
    }))?;
    Ok(ExitCode::from(1))
}

/// Loads a catalog without an engine: which images are built is not asked, so that the digests of
/// tools differ from a daemon's.
pub(super) fn load(folder: &std::path::Path) -> Result<Catalog, Failed> {
    if !folder.is_dir() {
        return Err(Failed::usage(format!("`{}` is not a folder", folder.display())));
    }
    Ok(Catalog::load_with(folder, &|_| Some(String::new()), None))
}
