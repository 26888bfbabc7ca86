//! A memory built of a file of units in a folder of its own, by the same way in that every write takes;
//! the folder is removed after it.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::cached::Cached;
use super::{Error, Memory, Over, Progress, declare, units};
use crate::admission::Caller;
use crate::memory::embed::Embedder;
use crate::memory::recall::{Config, Recall};
use crate::memory::seals::Seals;
use crate::memory::{
    Collections, Draft, Error as WriteError, Owned, Parts, Rights, SqliteConfig, Store,
    StoreConfig, UpkeepConfig, Writing, WritingConfig, open_store,
};

/// Units that are handed over at a time.
const BATCH: usize = 256;
/// Time for the vectors of one batch: nothing waits for them here but the measure itself.
const PATIENCE: Duration = Duration::from_secs(600);
/// Refused units that are told.
const TOLD: usize = 5;

/// A memory that was built.
#[derive(Debug)]
pub(super) struct Built {
    recall: Recall,
    caller: Caller,
    collections: Vec<Owned>,
    units: Vec<(String, usize)>,
    refused: Vec<String>,
    store: Arc<dyn Store>,
    tasks: TaskTracker,
    stop: CancellationToken,
    _folder: Folder,
}

impl Built {
    pub(super) fn memory(&self) -> Memory<'_> {
        Memory {
            recall: &self.recall,
            caller: &self.caller,
            collections: &self.collections,
            units: Some(self.units.clone()),
            refused: self.refused.clone(),
        }
    }

    /// Ends what runs for it, and removes it.
    pub(super) async fn end(self) -> Result<(), Error> {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        Ok(self.store.close().await?)
    }
}

/// A folder that is gone when it is dropped.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Error> {
        let name = format!("switchboard-eval-{}", uuid::Uuid::new_v4().simple());
        let path = std::env::temp_dir().join(name);
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|cause| Error::File { path: path.clone(), cause })?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, path = %self.0.display(), "a folder of an evaluation stays");
        }
    }
}

/// Writes all units, and waits until they are found.
pub(super) async fn build(
    Over { units, policies, embedder, config }: &Over,
    progress: &(dyn Fn(Progress) + Send + Sync),
) -> Result<Built, Error> {
    let drafts = units::read(units)?;
    let folder = Folder::new()?;
    let collections = match policies {
        Some(policies) => load(policies)?,
        None => {
            declare::write(&folder.0, &drafts)?;
            load(&folder.0)?
        }
    };
    let site = Site::open(&folder.0, collections, embedder.clone()).await?;
    let (stages, refused) = site.write(drafts, progress).await?;
    let cached = embedder.clone().map(|one| Arc::new(Cached::new(one)) as Arc<dyn Embedder>);
    let config = Config { touch: false, ..(**config).clone() };
    let shared = Arc::clone(&site.collections);
    let recall = Recall::new(Arc::clone(&site.store), cached, shared, config, &site.tasks)
        .map_err(|error| Error::Build(error.to_string()))?;
    Ok(Built {
        recall,
        collections: site.rights.owned(&site.collections.load()),
        caller: site.rights.caller,
        units: stages.into_iter().collect(),
        refused,
        store: site.store,
        tasks: site.tasks,
        stop: site.stop,
        _folder: folder,
    })
}

fn load(policies: &Path) -> Result<Collections, Error> {
    let (collections, problems) = Collections::load(policies);
    let told: Vec<String> = problems
        .iter()
        .map(|one| format!("`{}` {}: {}", one.file, one.place, one.message))
        .collect();
    let some = collections.iter().next().is_some();
    match (told.is_empty(), some) {
        (true, true) => Ok(collections),
        (true, false) => Err(Error::Build(format!(
            "`{}` declares no collection: files `memory/*.toml` do",
            policies.display()
        ))),
        (false, _) => Err(Error::Build(told.join("; "))),
    }
}

/// Where units are written.
struct Site {
    store: Arc<dyn Store>,
    writing: Writing,
    collections: Arc<ArcSwap<Collections>>,
    rights: Rights,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Site {
    async fn open(
        folder: &Path,
        collections: Collections,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Result<Self, Error> {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let file = SqliteConfig { path: folder.join("memory.db"), ..SqliteConfig::default() };
        let store = open_store(&StoreConfig::Sqlite(file)).await?;
        let rights = everything(&collections);
        let collections = Arc::new(ArcSwap::from_pointee(collections));
        let parts = Parts {
            store: Arc::clone(&store),
            embedder,
            collections: Arc::clone(&collections),
            seals: Arc::new(Seals::new(folder.join("placeholders"))),
            upkeep: UpkeepConfig { every: Duration::ZERO, ..UpkeepConfig::default() },
            tasks: tasks.clone(),
            stop: stop.clone(),
        };
        let config = WritingConfig { embed_within: PATIENCE, ..WritingConfig::default() };
        let writing = Writing::start(parts, config).await.map_err(built)?;
        Ok(Self { store, writing, collections, rights, tasks, stop })
    }

    /// Writes units; what became of them by stage, and why the first refused ones were.
    async fn write(
        &self,
        drafts: Vec<Draft>,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<(BTreeMap<String, usize>, Vec<String>), Error> {
        let total = drafts.len();
        let mut stages: BTreeMap<String, usize> = BTreeMap::new();
        let (mut receipts, mut refused, mut done) = (Vec::new(), Vec::new(), 0);
        for batch in drafts.chunks(BATCH) {
            let ids = batch.iter().map(|draft| draft.source_id.clone());
            let answers = self.writing.remember(&self.rights, batch.to_vec(), None).await;
            for (id, answer) in ids.zip(answers) {
                match answer {
                    Ok(receipt) => receipts.push(receipt.id),
                    Err(WriteError::Store(error)) => return Err(error.into()),
                    Err(error) => {
                        *stages.entry("refused".to_owned()).or_default() += 1;
                        if refused.len() < TOLD {
                            refused.push(format!("`{id}`: {error}"));
                        }
                    }
                }
            }
            // No more waits than one batch, so that the progress is true.
            self.writing.settled().await;
            done += batch.len();
            progress(Progress { stage: "writing", done, total });
        }
        for id in receipts {
            let receipt = self.store.receipt(&self.rights.caller.tenant, &id).await?;
            let stage = receipt.and_then(|one| serde_json::to_value(one.stage).ok());
            let stage = stage.as_ref().and_then(|one| one.as_str()).unwrap_or("lost");
            *stages.entry(stage.to_owned()).or_default() += 1;
        }
        Ok((stages, refused))
    }
}

/// A caller who may do everything, since nothing but recall is measured.
fn everything(collections: &Collections) -> Rights {
    let all = || collections.iter().map(|one| one.name.clone()).collect();
    let caller =
        Caller { name: units::NAME.to_owned(), tenant: units::NAME.to_owned(), roles: Vec::new() };
    Rights { caller, read: all(), write: all(), review: all() }
}

fn built(error: impl std::fmt::Display) -> Error {
    Error::Build(error.to_string())
}
