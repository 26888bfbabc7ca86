//! `memory eval`: how well the memory finds what it should. Builds a memory of the units in a folder of
//! its own; needs no daemon.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tokio_util::task::TaskTracker;

use super::import::bar;
use crate::cli::{Failed, print};
use crate::config::Config;
use crate::memory::embed;
use crate::memory::eval::{self, Options, Over, Progress};

#[derive(Debug, Args)]
pub(in crate::cli) struct Eval {
    /// File with the units, JSON lines: as for an import, or only id, text, speaker, time, group and
    /// position.
    #[arg(long)]
    units: PathBuf,
    /// File with the questions, JSON lines: id, text, relevant and never (source ids), as_of, filters.
    #[arg(long)]
    questions: PathBuf,
    /// Folder with the collections (*.toml); without it, whatever the units name takes everything.
    #[arg(long)]
    policies: Option<PathBuf>,
    /// The daemon's configuration: its embedder and its recall are measured. Without it, the defaults.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Do without vectors.
    #[arg(long)]
    no_vectors: bool,
    /// Write what was found, JSON lines: id, and the ranking with scores.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Draw recall at k, as SVG.
    #[arg(long)]
    plot: Option<PathBuf>,
    /// Also with other thresholds.
    #[arg(long)]
    sweep: bool,
    /// Also without each layer.
    #[arg(long)]
    ablate: bool,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn eval(options: Eval) -> Result<ExitCode, Failed> {
    let config = options.config.as_deref().map(Config::read).transpose().map_err(Failed::usage)?;
    let memory = config.map(|config| config.memory).unwrap_or_default();
    let (tasks, mut embedder) = (TaskTracker::new(), memory.embedder);
    if options.no_vectors {
        embedder.kind = embed::Kind::None;
    }
    let embedder = embed::open(&embedder, &tasks).map_err(|error| {
        Failed::usage(format!("{error}; with --no-vectors recall is measured without"))
    })?;
    let asked = Options {
        questions: options.questions,
        over: Over {
            units: options.units,
            policies: options.policies,
            embedder,
            config: Box::new(memory.recall),
        },
        out: options.out,
        plot: options.plot,
        sweep: options.sweep,
        ablate: options.ablate,
    };
    let bar = bar(Some(0), "done");
    let told = |progress: Progress| {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        bar.set_message(format!("{} ", progress.stage));
        bar.set_length(number(progress.total));
        bar.set_position(number(progress.done));
    };
    let report = Box::pin(eval::run(&asked, &told)).await;
    bar.finish_and_clear();
    let report = report.map_err(Failed::answer)?;
    if options.json { print::json(&report) } else { print::text(&report.to_string()) }
}
