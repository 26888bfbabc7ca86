//! Vectors of texts: texts in, one vector of length one for each out. A model in this process or an
//! endpoint makes them; what they are kept in and compared with is the store's.

mod answer;
mod calibration;
mod center;
mod charmap;
mod config;
mod engine;
mod error;
mod folder;
mod local;
mod normal;
mod pieces;
mod remote;
mod tokenizer;
mod vector;

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::task::TaskTracker;

pub use config::{Config, Endpoint, Kind, Local};
pub use error::Error;

/// What vectors are of. Vectors of different models are never compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Model {
    /// Its name: equal names make equal vectors. Of a model folder it holds the digest of the
    /// folder's files, of an endpoint the place and the model's name there.
    pub name: String,
    /// Numbers in a vector.
    pub dimensions: usize,
}

/// What a text is: many models want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A question, which goes before passages where both wait.
    Query,
    /// A text that a question may find.
    Passage,
}

/// Makes vectors of texts.
#[async_trait]
pub trait Embedder: Send + Sync + Debug {
    /// What the vectors are of.
    fn model(&self) -> &Model;

    /// A vector of length one for each text, in order. A text longer than the model takes is cut, and
    /// counted in `switchboard_memory_embed_cut_total`. All or nothing: an error is of all texts.
    async fn embed(&self, role: Role, texts: &[String]) -> Result<Vec<Vec<f32>>, Error>;

    /// Whether the model is being read at this moment, so that vectors come later than usual.
    fn is_loading(&self) -> bool {
        false
    }

    /// Begins to read a model that is read at its first use; returns at once.
    fn warm(&self) {}

    /// A cosine of this model as a score from 0 to 1 that is comparable between models: 0.35 is
    /// where a text begins to be about what the question asks. Never falls as the cosine rises.
    fn calibrate(&self, cosine: f32) -> f32;
}

/// Opens the embedder that is configured; `None` where there is to be none. Files of keys are read on
/// `tasks`. A model in this process is read at its first use, since it fills much memory.
pub fn open(config: &Config, tasks: &TaskTracker) -> Result<Option<Arc<dyn Embedder>>, Error> {
    match (config.kind, &config.endpoint) {
        (Kind::None, _) => Ok(None),
        (Kind::Local, _) => Ok(Some(Arc::new(local::Local::open(&config.local)?))),
        (Kind::Endpoint, Some(endpoint)) => {
            Ok(Some(Arc::new(remote::Remote::open(endpoint, tasks)?)))
        }
        (Kind::Endpoint, None) => Err(Error::Config {
            key: "memory.embedder.endpoint",
            reason: "it is missing; the kind `endpoint` needs its `url`, `model` and `dimensions`"
                .to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests;
