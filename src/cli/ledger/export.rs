//! `switchboard ledger export`: the ledger as lines of JSON, for keeping and checking elsewhere.

use std::process::ExitCode;

use clap::Args;

use super::super::{Failed, print};
use super::{File, Filter, aside};
use crate::ledger;

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    #[command(flatten)]
    filter: Filter,
    /// Replies byte for byte as callers got them, with all that is secret in them.
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    file: File,
}

pub(super) async fn run(options: Options) -> Result<ExitCode, Failed> {
    let (path, _) = options.file.paths()?;
    let query = options.filter.into();
    aside(move || {
        let mut outcome = Ok(ExitCode::SUCCESS);
        let mut write = |line: &str| {
            outcome = print::text(line);
            outcome.is_ok()
        };
        ledger::export(&path, &query, options.raw, &mut write).map_err(Failed::usage)?;
        outcome
    })
    .await
}
