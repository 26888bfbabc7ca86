//! `switchboard serve`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::Failed;
use crate::config::Config;
use crate::server;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The configuration file.
    #[arg(long, default_value = "/etc/switchboard/switchboard.toml")]
    config: PathBuf,
}

pub(super) async fn run(options: Options) -> Result<ExitCode, Failed> {
    let config = Config::read(&options.config).map_err(Failed::usage)?;
    Box::pin(server::serve(config)).await.map_err(Failed::answer)?;
    Ok(ExitCode::SUCCESS)
}
