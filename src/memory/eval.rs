//! How well the memory finds what it should: labelled questions in, recall at several places, sweeps
//! and ablations out. Builds a memory of units in a folder of its own. Needs no network.

mod build;
mod cached;
mod declare;
mod plot;
mod questions;
mod report;
mod score;
mod units;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::embed::Embedder;
use super::recall::{self, Recall};
use super::{Owned, Question, Recalled, Sense, StoreError, TOP_K};
use crate::admission::Caller;
use questions::Labelled;
use score::Tally;

pub use report::{Line, Report, Violation};

/// Places at which recall is told.
pub const PLACES: [usize; 6] = [1, 3, 5, 10, 20, 50];
/// Hits of each question: as many as the last place.
const DEPTH: usize = 50;
/// Numbers of hits that are swept.
const TOPS: [usize; 9] = [1, 3, 5, 10, 15, 20, 30, 40, 50];
/// Thresholds that are swept.
const THRESHOLDS: [f32; 7] = [0.0, 0.2, 0.3, 0.35, 0.4, 0.5, 0.65];
/// Layers that are left out one by one.
const ABLATED: [Sense; 6] =
    [Sense::Trigger, Sense::Entity, Sense::Words, Sense::Vector, Sense::Neighbour, Sense::Recency];

/// What is measured, and what is written.
#[derive(Debug, Clone)]
pub struct Options {
    /// File with the questions, JSON lines: `id`, `text`, optionally `language`, `kind`, `as_of`,
    /// `known_at` (times), `filters` (`field`, `compare`, `values`), `near` (`latitude`, `longitude`,
    /// `types`, and `metres` for a bound), `relevant` and `never` (each source ids, unit ids or
    /// evidence ids).
    pub questions: PathBuf,
    /// What is asked.
    pub over: Over,
    /// File for what was found, JSON lines: `{"id", "ranking": [{"id", "score"}...]}`, best first, in
    /// the order of the questions; ids are source ids.
    pub out: Option<PathBuf>,
    /// File for a plot, as SVG.
    pub plot: Option<PathBuf>,
    /// Whether thresholds are swept.
    pub sweep: bool,
    /// Whether it is measured without each layer.
    pub ablate: bool,
}

/// The memory that is measured: it is built for this, and removed after it.
#[derive(Debug, Clone)]
pub struct Over {
    /// File with its units, JSON lines: as for an import, or the lean form `id`, `text`, optionally
    /// `speaker`, `time`, `group`, `position`. Turns (units with a speaker) without a group are one
    /// group; without a position, their order in the file is it.
    pub units: PathBuf,
    /// Policies folder whose `memory/*.toml` declare the collections; `None`: whatever the units name
    /// takes all kinds and sources, and demands nothing.
    pub policies: Option<PathBuf>,
    /// Makes the vectors.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// How questions are answered.
    pub config: Box<recall::Config>,
}

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// `writing` or `asking`.
    pub stage: &'static str,
    /// Units or questions done.
    pub done: usize,
    /// Of how many.
    pub total: usize,
}

/// Why nothing is measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("`{}`: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: std::io::Error,
    },
    /// A line of a file is wrong.
    #[error("`{}` line {line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// The memory for it cannot be built.
    #[error("the memory cannot be built: {0}")]
    Build(String),
    /// Its store does not work.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A question is not answered.
    #[error("question `{id}`: {cause}")]
    Recall {
        /// The question's id.
        id: String,
        /// Why.
        cause: recall::Error,
    },
    /// The plot cannot be drawn.
    #[error("the plot cannot be drawn: {0}")]
    Plot(String),
}

/// Measures, and tells how far it has come.
pub async fn run(
    options: &Options,
    progress: &(dyn Fn(Progress) + Send + Sync),
) -> Result<Report, Error> {
    let questions = questions::read(&options.questions)?;
    let built = build::build(&options.over, progress).await?;
    let report = measure(options, &questions, built.memory(), progress).await;
    built.end().await?;
    report
}

async fn measure(
    options: &Options,
    questions: &[Labelled],
    memory: Memory<'_>,
    progress: &(dyn Fn(Progress) + Send + Sync),
) -> Result<Report, Error> {
    let total = questions.len() * rounds(options);
    let mut rounds = Rounds { memory, questions, progress, done: 0, total };
    let (tally, rankings) = rounds.round(&|_| {}).await?;
    let mut report = Report::new(questions, &tally, rounds.memory.units.clone());
    report.refused.clone_from(&rounds.memory.refused);
    for top in TOPS {
        report.top_k.push((top, tally.recall_at(top)));
    }
    if options.sweep {
        for threshold in THRESHOLDS {
            let (tally, _) = rounds.round(&|one| one.threshold = Some(threshold)).await?;
            report.thresholds.push((threshold, tally.line()));
        }
    }
    if options.ablate {
        for sense in ABLATED {
            let (tally, _) = rounds.round(&|one| one.without.push(sense)).await?;
            report.without.push((sense, tally.line()));
        }
    }
    if let Some(path) = &options.out {
        questions::write(path, &rankings)?;
    }
    if let Some(path) = &options.plot {
        plot::draw(&report, path)?;
    }
    Ok(report)
}

const fn rounds(options: &Options) -> usize {
    1 + if options.sweep { THRESHOLDS.len() } else { 0 }
        + if options.ablate { ABLATED.len() } else { 0 }
}

/// What is asked.
struct Memory<'m> {
    recall: &'m Recall,
    caller: &'m Caller,
    collections: &'m [Owned],
    /// What became of the units that were written, by stage.
    units: Option<Vec<(String, usize)>>,
    /// Why the first refused ones were.
    refused: Vec<String>,
}

/// The same questions, asked again and again.
struct Rounds<'r> {
    memory: Memory<'r>,
    questions: &'r [Labelled],
    progress: &'r (dyn Fn(Progress) + Send + Sync),
    done: usize,
    total: usize,
}

impl Rounds<'_> {
    async fn round(
        &mut self,
        change: &(dyn Fn(&mut Question) + Send + Sync),
    ) -> Result<(Tally, Vec<(String, Recalled)>), Error> {
        let mut tally = Tally::default();
        let mut answers = Vec::new();
        for labelled in self.questions {
            let mut question = labelled.question.clone();
            question.top_k = DEPTH;
            change(&mut question);
            let started = Instant::now();
            let Memory { recall, caller, collections, .. } = &self.memory;
            let answer = recall
                .recall(caller, collections, &question)
                .await
                .map_err(|cause| Error::Recall { id: labelled.id.clone(), cause })?;
            tally.add(labelled, &answer, started.elapsed());
            answers.push((labelled.id.clone(), answer));
            self.done += 1;
            (self.progress)(Progress { stage: "asking", done: self.done, total: self.total });
        }
        Ok((tally, answers))
    }
}

/// The time that so many of a hundred took at most.
fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(at).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
