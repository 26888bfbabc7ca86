//! A version as the indexes in memory take it: made from what is written and from what is read at
//! the start, in the same way, off the threads that others wait for.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::fault::Fault;
use super::rows::{chunk_id, micros, name, vector_id};
use super::vectors::Code;
use super::words::Bag;
use crate::memory::{Chunk, Draft, Entity, Kind, State, Version};

/// What the indexes need of a version.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) tenant: String,
    pub(super) seq: i64,
    pub(super) collection: String,
    pub(super) owner: String,
    pub(super) kind: Kind,
    pub(super) kind_name: String,
    pub(super) origin: String,
    pub(super) state: State,
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) recorded: i64,
    pub(super) ended: i64,
    pub(super) facets: Facets,
    pub(super) chunks: Vec<(u32, Bag)>,
    pub(super) vectors: Vec<Vector>,
}

/// Members of a draft that are found by indexes.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Facets {
    pub(super) source: String,
    #[serde(default)]
    pub(super) metadata: Map<String, Value>,
    #[serde(default)]
    pub(super) entities: Vec<Entity>,
    #[serde(default)]
    pub(super) triggers: Vec<String>,
}

/// A vector, what it is of, and its id in the file.
#[derive(Debug)]
pub(super) struct Vector {
    pub(super) what: What,
    pub(super) id: i64,
    pub(super) code: Code,
}

/// What a vector is of.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// A chunk.
    Chunk { ordinal: u32, model: i64 },
    /// An image of the unit.
    Image { model: i64 },
}

/// A change of the indexes, after what it says is in the file.
#[derive(Debug)]
pub(super) enum Event {
    Add(Box<Entry>),
    Amend {
        tenant: String,
        seq: i64,
        state: State,
        ended: i64,
    },
    /// Versions that are gone, with the words of their chunks, and models whose last image went.
    Erase {
        tenant: String,
        gone: Vec<(i64, Vec<(u32, Bag)>)>,
        models: Vec<i64>,
    },
    Embed {
        tenant: String,
        seq: i64,
        vector: Vector,
    },
    Forget {
        model: i64,
    },
}

impl Entry {
    /// A version that is written; its place and times of recording are set when it is.
    pub(super) fn new(version: &Version, chunks: &[Chunk]) -> Result<Self, Fault> {
        let draft = &version.draft;
        Ok(Self {
            tenant: version.tenant.clone(),
            seq: 0,
            collection: draft.collection.clone(),
            owner: version.owner.clone(),
            kind: draft.kind,
            kind_name: name(&draft.kind)?,
            origin: name(&version.origin)?,
            state: version.state,
            from: version.valid_from.map_or(i64::MIN, micros),
            to: version.valid_to.map_or(i64::MAX, micros),
            recorded: 0,
            ended: i64::MAX,
            facets: Facets::new(draft),
            chunks: chunks.iter().map(|chunk| (chunk.ordinal, Bag::new(&chunk.text))).collect(),
            vectors: Vec::new(),
        })
    }
}

impl Facets {
    fn new(draft: &Draft) -> Self {
        Self {
            source: draft.source.clone(),
            metadata: draft.metadata.clone(),
            entities: draft.entities.clone(),
            triggers: draft.triggers.clone(),
        }
    }
}

impl Vector {
    /// A vector of a chunk.
    pub(super) fn of_chunk(seq: i64, ordinal: u32, model: i64, code: Code) -> Self {
        let id = vector_id(chunk_id(seq, ordinal), model);
        Self { what: What::Chunk { ordinal, model }, id, code }
    }

    /// A vector of an image.
    pub(super) fn of_image(seq: i64, ordinal: u32, model: i64, code: Code) -> Self {
        let id = vector_id(chunk_id(seq, ordinal), model);
        Self { what: What::Image { model }, id, code }
    }
}
