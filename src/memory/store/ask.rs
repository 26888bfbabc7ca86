//! A question to the layers of a store, and what each of them found. Finds nothing itself.

use super::Error;
use crate::memory::unit::Entity;

/// One question to the layers. Each member that is there asks one layer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ask {
    /// The question, normalised, for the triggers.
    pub trigger: Option<String>,
    /// Entities that the question names; an empty kind matches each.
    pub entities: Vec<Entity>,
    /// Words for full text.
    pub words: Option<String>,
    /// A vector of the question, and the name of its model.
    pub vector: Option<(String, Vec<f32>)>,
    /// A vector for the images' own vectors, and the name of its model.
    pub image: Option<(String, Vec<f32>)>,
    /// A point whose nearest are asked for: latitude and longitude, and types of places.
    pub nearest: Option<(f64, f64, Vec<String>)>,
    /// Hits of each layer, at most.
    pub limit: usize,
}

/// A hit of one layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The version.
    pub seq: i64,
    /// The chunk; 0 for a layer that knows whole units.
    pub ordinal: u32,
    /// The layer's own score, higher is better: for a trigger 1 for an equal one, less for one whose
    /// words the question contains; for an entity the number matched; for full text BM25, positive;
    /// for vectors the cosine; for places the distance in metres, negative.
    pub score: f64,
}

/// What each layer found; an error for a layer that does not work, while the others go on.
#[derive(Debug, Default)]
pub struct Found {
    /// By trigger.
    pub trigger: Option<Result<Vec<Hit>, Error>>,
    /// By entity.
    pub entity: Option<Result<Vec<Hit>, Error>>,
    /// By full text.
    pub words: Option<Result<Vec<Hit>, Error>>,
    /// By vector.
    pub vector: Option<Result<Vec<Hit>, Error>>,
    /// By image vector.
    pub image: Option<Result<Vec<Hit>, Error>>,
    /// By distance.
    pub nearest: Option<Result<Vec<Hit>, Error>>,
}

/// A version that stands beside another in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beside {
    /// The version that was asked about.
    pub of: i64,
    /// Its neighbour.
    pub seq: i64,
    /// Places between them in the order of the group, negative for one before; never 0.
    pub distance: i32,
}
