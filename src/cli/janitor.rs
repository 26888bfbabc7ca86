//! `switchboard janitor`, started by the daemon: waits for the end of standard input, then removes
//! the containers of the boot that has ended.

use std::process::ExitCode;

use clap::Args;
use tokio::io::AsyncReadExt;

use super::Failed;
use crate::sandbox::{self, Config};

#[derive(Debug, Args)]
pub(super) struct Options {
    #[arg(long)]
    engine: String,
    #[arg(long)]
    instance: String,
    #[arg(long)]
    boot: String,
}

pub(super) async fn run(options: Options) -> Result<ExitCode, Failed> {
    let mut pipe = tokio::io::stdin();
    let mut byte = [0];
    while pipe.read(&mut byte).await.is_ok_and(|read| read > 0) {}
    let Options { engine, instance, boot } = options;
    let config = Config { engine, instance, ..Config::default() };
    sandbox::clear(&config, &boot).await;
    Ok(ExitCode::SUCCESS)
}
