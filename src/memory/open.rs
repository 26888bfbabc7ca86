//! Opens the memory: its configuration in, all of it joined out. A store that cannot be opened is an
//! error; an embedder that cannot is not, since recall goes on without and says so.

use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;

use super::context::{self, Context};
use super::desk::Place;
use super::embed::{self, Embedder, Model, Role};
use super::facade::Memory;
use super::recall::{self, Recall};
use super::seals::Seals;
use super::{Collections, Parts, StoreError, Writing, fault, open_store};

/// Why the memory cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The write path.
    #[error(transparent)]
    Writing(#[from] fault::Error),
    /// Recall.
    #[error(transparent)]
    Recall(#[from] recall::Error),
    /// Contexts.
    #[error(transparent)]
    Context(#[from] context::Error),
}

impl Error {
    /// Whether trying again does not help before something is mended.
    pub(super) const fn is_lasting(&self) -> bool {
        matches!(
            self,
            Self::Store(StoreError::Damaged { .. })
                | Self::Recall(recall::Error::Config { .. })
                | Self::Context(_)
        )
    }
}

/// Opens what is configured.
pub(super) async fn open(
    place: &Place,
    collections: &Arc<ArcSwap<Collections>>,
) -> Result<Memory, Error> {
    let config = &place.config;
    let context = Context::new(config.context.clone())?;
    let (store, embedder) = tokio::join!(open_store(&config.store), embedder(place));
    let store = store?;
    let recall = Recall::new(
        Arc::clone(&store),
        embedder.clone(),
        Arc::clone(collections),
        config.recall.clone(),
        &place.tasks,
    )?;
    let parts = Parts {
        store: Arc::clone(&store),
        embedder: embedder.clone(),
        collections: Arc::clone(collections),
        seals: Arc::new(Seals::new(config.placeholder_key.clone())),
        upkeep: config.upkeep.clone(),
        tasks: place.tasks.clone(),
        stop: place.stop.clone(),
    };
    let writing = Writing::start(parts, config.writing.clone()).await?;
    let recall = recall.covered(writing.coverage());
    Ok(Memory::new(store, Arc::clone(collections), (writing, recall, context), embedder))
}

/// The embedder; in its place one that says why there is none, where it cannot be opened.
async fn embedder(place: &Place) -> Option<Arc<dyn Embedder>> {
    let (config, tasks) = (place.config.embedder.clone(), place.tasks.clone());
    // Files are read for it.
    let opened = tokio::task::spawn_blocking(move || embed::open(&config, &tasks)).await;
    let opened = opened.unwrap_or_else(|lost| {
        let reason = lost.to_string();
        Err(embed::Error::Run { model: String::new(), reason })
    });
    opened.unwrap_or_else(|error| {
        tracing::error!(%error, "units get no vectors, and recall does without");
        let model = Model { name: "none".to_owned(), dimensions: 0 };
        Some(Arc::new(Missing { model, error }))
    })
}

/// Stands for an embedder that could not be opened.
#[derive(Debug)]
struct Missing {
    model: Model,
    error: embed::Error,
}

#[async_trait]
impl Embedder for Missing {
    fn model(&self) -> &Model {
        &self.model
    }

    async fn embed(&self, _: Role, _: &[String]) -> Result<Vec<Vec<f32>>, embed::Error> {
        Err(self.error.clone())
    }

    fn calibrate(&self, cosine: f32) -> f32 {
        cosine
    }
}
