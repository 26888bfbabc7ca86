//! What recall is asked and what it answers. Computes nothing.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::scope::{Adjacent, Filter, Spot};
use super::unit::{Entity, Kind, Version};

/// Hits of a recall that names no number (M4).
pub const TOP_K: usize = 20;
/// Calibrated similarity below which the vector layer alone brings nothing up (M4).
pub const THRESHOLD: f32 = 0.35;

/// One question to the memory. Which collections may answer is decided before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Question {
    /// In the words of whoever asks. Empty: no question, only filters, place or date; then the newest.
    pub text: String,
    /// Turns before it, oldest first, for the rerank with the conversation.
    pub conversation: Vec<String>,
    /// Entities that it is about, beside those found in its text.
    pub entities: Vec<Entity>,
    /// Hits that are wanted; 0 for [`TOP_K`]; at most 200.
    pub top_k: usize,
    /// Least calibrated similarity of a hit that only the vector layer brings; `None` for
    /// [`THRESHOLD`], and where filters alone bring anything, for none.
    pub threshold: Option<f32>,
    /// The date that is asked about; `None`: now.
    pub as_of: Option<Timestamp>,
    /// What was known when; `None`: now.
    pub known_at: Option<Timestamp>,
    /// Kinds that are wanted; empty for all.
    pub kinds: Vec<Kind>,
    /// Conditions on metadata.
    pub filters: Vec<Filter>,
    /// Where it has to be.
    pub spot: Option<Spot>,
    /// Only what is beside this unit, in the place of `spot`.
    pub adjacent: Option<Adjacent>,
    /// A point, and types of places: the nearest rank first.
    pub nearest: Option<(f64, f64, Vec<String>)>,
    /// A vector of an image, and the name of its model.
    pub image: Option<(String, Vec<f32>)>,
    /// Also what is held for review, marked.
    pub held: bool,
    /// Also what is archived.
    pub archived: bool,
    /// Layers that must not be asked, for diagnosis.
    pub without: Vec<Sense>,
    /// Whether the scores of what did not come back are wanted too.
    pub explain: bool,
}

/// The layers of recall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sense {
    /// Triggers.
    Trigger,
    /// Entities.
    Entity,
    /// Full text.
    Words,
    /// Vectors.
    Vector,
    /// Neighbours in the same group, and kin of the best hit.
    Neighbour,
    /// Vectors of images.
    Image,
    /// Distance.
    Place,
    /// How new it is.
    Recency,
    /// The optional rerank.
    Rerank,
    /// The optional rewriting of the question; it has no scores, but can fail.
    Rewrite,
}

impl Sense {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Trigger,
        Self::Entity,
        Self::Words,
        Self::Vector,
        Self::Neighbour,
        Self::Image,
        Self::Place,
        Self::Recency,
        Self::Rerank,
        Self::Rewrite,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trigger => "trigger",
            Self::Entity => "entity",
            Self::Words => "words",
            Self::Vector => "vector",
            Self::Neighbour => "neighbour",
            Self::Image => "image",
            Self::Place => "place",
            Self::Recency => "recency",
            Self::Rerank => "rerank",
            Self::Rewrite => "rewrite",
        }
    }
}

/// What one layer gave to a hit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Score {
    /// The layer.
    pub sense: Sense,
    /// As the layer counts; see each layer.
    pub raw: f64,
    /// Evened out to 0..1 over the layers.
    pub even: f64,
    /// What it adds to the whole.
    pub adds: f64,
    /// Place in that layer's own order, from 1.
    pub rank: usize,
}

/// One unit that came back.
#[derive(Debug, Clone, PartialEq)]
pub struct Recollection {
    /// The version, whole.
    pub version: Version,
    /// The chunks that were found, best first, with their words.
    pub passages: Vec<(u32, String)>,
    /// The whole score, 0..1, that it is ranked by.
    pub score: f64,
    /// By layer.
    pub scores: Vec<Score>,
    /// Metres from the point that was asked about, where both have a place.
    pub metres: Option<f64>,
    /// Why it would not be given: held, below the threshold, overtaken by a later fact; empty for a hit.
    pub withheld: String,
}

impl Recollection {
    /// The evidence id: the unit and the version, for ever.
    pub fn evidence(&self) -> String {
        self.version.evidence()
    }
}

/// The answer to a question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recalled {
    /// What came back, best first.
    pub hits: Vec<Recollection>,
    /// Candidates that did not come back, each with the reason; only where it was asked for.
    pub missed: Vec<Recollection>,
    /// Layers that did not work, and why; the others answered.
    pub failed: Vec<(Sense, String)>,
    /// The question as the layers were asked it.
    pub asked: Asked,
}

/// How a question was read.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Asked {
    /// Its text, evened out for the triggers.
    pub normal: String,
    /// Entities found in it, and those given.
    pub entities: Vec<Entity>,
    /// The words that full text was asked for.
    pub words: String,
    /// As a model rewrote it; empty without one.
    pub rewritten: String,
    /// Time spent in each layer, in microseconds.
    pub micros: Vec<(Sense, u64)>,
}
