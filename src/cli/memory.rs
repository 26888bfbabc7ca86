//! `switchboard memory`: the memory of a daemon, asked and filled from the command line; and its measure,
//! which needs no daemon. One file a group of subcommands.

mod eval;
mod form;
mod import;
mod order;
mod read;
mod sums;
mod write;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::Failed;
use crate::proto::memory as proto;

pub(super) use import::bar;

#[derive(Debug, Subcommand)]
pub(super) enum Memory {
    /// Remember one unit.
    Add(write::Add),
    /// Remember units from a file of JSON lines, as `export` writes them.
    ///
    /// A line is one unit: collection, source, source_id, kind, and whatever else it has. An import that
    /// was broken off is sent again as it is: what is there already costs next to nothing.
    Import(import::Import),
    /// Find evidence for a question.
    Recall(read::Recall),
    /// Put a model's context together for a question, under a budget of tokens.
    Context(read::Context),
    /// Print one unit, or one version of it.
    Get(read::Get),
    /// List units, those recorded last first.
    List(read::List),
    /// Hide a unit from now on, or erase it with its history.
    Forget(write::Forget),
    /// What waits for a reviewer, and the decisions.
    #[command(subcommand)]
    Review(order::Review),
    /// Tell what each layer found for a question, and why a unit did or did not come back.
    Explain(read::Explain),
    /// Measure recall on labelled questions: recall at 1 to 50, sweeps, without each layer.
    Eval(eval::Eval),
    /// Keep the memory in order: tell what a run would do, do it, undo it.
    #[command(subcommand)]
    Upkeep(order::Upkeep),
    /// Write all units that you may read as JSON lines, as `import` takes them, those recorded first first: what each
    /// says now, without its history, and without ids of other units, which are of this memory alone.
    Export(import::Export),
    /// Print how much there is, and the collections that you may use.
    Stats(read::Stats),
}

pub(super) async fn run(memory: Memory) -> Result<ExitCode, Failed> {
    match memory {
        Memory::Add(options) => write::add(options).await,
        Memory::Import(options) => import::import(options).await,
        Memory::Recall(options) => read::recall(options).await,
        Memory::Context(options) => read::context(options).await,
        Memory::Get(options) => read::get(options).await,
        Memory::List(options) => read::list(options).await,
        Memory::Forget(options) => write::forget(options).await,
        Memory::Review(review) => order::review(review).await,
        Memory::Explain(options) => read::explain(options).await,
        Memory::Eval(options) => Box::pin(eval::eval(options)).await,
        Memory::Upkeep(upkeep) => order::upkeep(upkeep).await,
        Memory::Export(options) => import::export(options).await,
        Memory::Stats(options) => read::stats(options).await,
    }
}

/// What is asked, and where.
#[derive(Debug, Args)]
struct Asked {
    /// The question, in your own words.
    question: String,
    /// Only this collection; several times for several. Without it all that you may read.
    #[arg(long)]
    collection: Vec<String>,
    /// Hits at most; 20 without it.
    #[arg(long, default_value_t = 0)]
    top_k: u32,
    /// Least similarity, 0 to 1, of a hit that only the vectors bring; 0.35 without it.
    #[arg(long)]
    threshold: Option<f32>,
    /// The date that is asked about, such as 2026-03-01; now without it.
    #[arg(long, default_value = "")]
    as_of: String,
    /// What was known when; now without it.
    #[arg(long, default_value = "")]
    known_at: String,
    /// Zone of times without an offset, such as Asia/Shanghai.
    #[arg(long, default_value = "")]
    time_zone: String,
    /// Only units whose metadata is so: FIELD=VALUE, or with <, <=, >, >= and !=. Values are JSON or
    /// plain text; with = and != a number is also looked for as text.
    #[arg(long)]
    filter: Vec<String>,
    /// Only units of this kind: knowledge, case, preference or result; several times for several.
    #[arg(long, value_parser = form::kind)]
    kind: Vec<proto::Kind>,
    /// What it is about, beside what the question names: VALUE, or KIND=VALUE; several times for several.
    #[arg(long)]
    entity: Vec<String>,
    #[command(flatten)]
    around: Around,
    /// Only what is beside this unit, which has a place.
    #[arg(long, value_name = "UNIT", conflicts_with = "within")]
    adjacent: Option<String>,
    /// How far from it that reaches, in metres.
    #[arg(long, default_value_t = 1000.0, requires = "adjacent")]
    metres: f64,
    /// Also what is held for review.
    #[arg(long)]
    held: bool,
    /// Also what is archived.
    #[arg(long)]
    archived: bool,
}

/// Where units have to be.
#[derive(Debug, Args)]
struct Around {
    /// A point, as degrees north and east: LAT,LON; the nearest to it rank first.
    #[arg(long, value_name = "LAT,LON", value_parser = form::point, allow_hyphen_values = true)]
    near: Option<proto::Point>,
    /// Only units at most so many metres from that point.
    #[arg(long, value_name = "METRES", requires = "near")]
    within: Option<f64>,
    /// Only places of this type; several times for several.
    #[arg(long, value_name = "TYPE", requires = "near")]
    place: Vec<String>,
}

impl Around {
    /// Where they have to be, if anywhere.
    fn spot(&self) -> Option<proto::Spot> {
        let (center, metres) = (self.near, self.within?);
        let within = proto::spot::Within { center, metres };
        let shape = Some(proto::spot::Shape::Within(within));
        Some(proto::Spot { shape, types: self.place.clone() })
    }
}

impl Asked {
    fn wire(self) -> Result<proto::Question, Failed> {
        let filters =
            self.filter.iter().map(|text| form::filter(text)).collect::<Result<_, _>>()?;
        let types = self.around.place.clone();
        Ok(proto::Question {
            kinds: self.kind.into_iter().map(Into::into).collect(),
            entities: self.entity.iter().map(|text| form::entity(text)).collect(),
            spot: self
                .around
                .spot()
                .or_else(|| self.adjacent.map(|unit_id| beside(unit_id, self.metres))),
            nearest: self.around.near.map(|point| proto::Nearest { point: Some(point), types }),
            text: self.question,
            collections: self.collection,
            top_k: self.top_k,
            threshold: self.threshold,
            as_of: self.as_of,
            known_at: self.known_at,
            time_zone: self.time_zone,
            filters,
            held: self.held,
            archived: self.archived,
            ..proto::Question::default()
        })
    }
}

/// What is beside a unit.
fn beside(unit_id: String, metres: f64) -> proto::Spot {
    let adjacent = proto::spot::Adjacent { unit_id, metres };
    proto::Spot { shape: Some(proto::spot::Shape::Adjacent(adjacent)), types: Vec::new() }
}
