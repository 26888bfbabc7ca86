//! A write path over a new file, its collections, callers and drafts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::Caller;
use crate::memory::embed::Embedder;
use crate::memory::seals::Seals;
use crate::memory::store::{Config as StoreConfig, SqliteConfig, open};
use crate::memory::writing::Parts;
use crate::memory::{
    Collections, Draft, Error, Owned, Receipt, Rights, Scope, Stage, Store, UpkeepConfig, Version,
    Writing, WritingConfig,
};

pub(super) const WAIT: Option<Duration> = Some(Duration::from_secs(30));

const MANUALS: &str = r#"
name = "manuals"
description = "manuals"
layer = "curated"
kinds = ["knowledge", "case"]
sources = ["manual/*"]
origin = "curator"
trust = { curator = 100, file = 70 }
document = "manual"
reviewers = 2
access = { read = ["any"], write = ["role:curator"], review = ["role:reviewer"] }
metadata.manual = { type = "text", required = false }
metadata.pages = { type = "integer", required = false }
metadata.printed = { type = "time", required = false }
metadata.language = { type = "text", enum = ["zh", "en"], required = false }
attributes.pressure = { values = "one" }
attributes.city = { values = "successive" }
attributes.tested_with = { values = "many" }
"#;
const NOTES: &str = r#"
name = "notes"
description = "notes"
layer = "notes"
share = "caller"
kinds = ["preference", "knowledge", "result"]
sources = ["user/*", "tool/*"]
origin = "person"
trust = { person = 60, model = 40, tool = 30, web = 10 }
retention = "8760h"
archive_after = "2400h"
access = { read = ["any"], write = ["any"], review = ["role:reviewer"] }
attributes.city = { values = "successive" }
"#;
const SHARED: &str = r#"
name = "shared"
description = "what all agents of a tenant noted"
layer = "notes"
kinds = ["knowledge", "result"]
sources = ["*"]
origin = "person"
trust = { person = 60, model = 40, tool = 30, web = 10 }
vectors = false
access = { read = ["any"], write = ["any"], review = ["role:reviewer"] }
"#;

const CLIENTS: &str = r#"
name = "clients"
description = "what is known of clients, told apart and not by name"
layer = "notes"
kinds = ["knowledge", "case"]
sources = ["*"]
origin = "person"
trust = { person = 60 }
placeholders = "keyed"
vectors = false
access = { read = ["any"], write = ["any"], review = ["role:reviewer"] }
"#;

pub(super) struct Bench {
    pub(super) writing: Writing,
    pub(super) store: Arc<dyn Store>,
    pub(super) collections: Arc<ArcSwap<Collections>>,
    pub(super) stop: CancellationToken,
    pub(super) tasks: TaskTracker,
    pub(super) home: tempfile::TempDir,
}

pub(super) fn collections(home: &Path) -> Collections {
    let folder = home.join("memory");
    std::fs::create_dir_all(&folder).unwrap();
    let all = [("manuals", MANUALS), ("notes", NOTES), ("shared", SHARED), ("clients", CLIENTS)];
    for (name, text) in all {
        std::fs::write(folder.join(format!("{name}.toml")), text).unwrap();
    }
    let (collections, problems) = Collections::load(home);
    assert!(problems.is_empty(), "{problems:?}");
    collections
}

pub(super) fn file(home: &Path) -> PathBuf {
    home.join("memory.db")
}

impl Bench {
    pub(super) async fn new() -> Self {
        Self::with(None, WritingConfig::default()).await
    }

    pub(super) async fn with(embedder: Option<Arc<dyn Embedder>>, config: WritingConfig) -> Self {
        Self::at(tempfile::tempdir().unwrap(), embedder, config).await
    }

    pub(super) async fn at(
        home: tempfile::TempDir,
        embedder: Option<Arc<dyn Embedder>>,
        config: WritingConfig,
    ) -> Self {
        let upkeep = UpkeepConfig { every: Duration::ZERO, ..UpkeepConfig::default() };
        Self::open(home, embedder, (config, upkeep)).await
    }

    async fn open(
        home: tempfile::TempDir,
        embedder: Option<Arc<dyn Embedder>>,
        (config, upkeep): (WritingConfig, UpkeepConfig),
    ) -> Self {
        let path = file(home.path());
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let sqlite = StoreConfig::Sqlite(SqliteConfig { path, ..SqliteConfig::default() });
        let store = open(&sqlite, &tasks).await.unwrap();
        let collections = Arc::new(ArcSwap::from_pointee(collections(home.path())));
        let parts = Parts {
            store: Arc::clone(&store),
            embedder,
            collections: Arc::clone(&collections),
            seals: Arc::new(Seals::new(home.path().join("placeholders"))),
            upkeep,
            tasks: tasks.clone(),
            stop: stop.clone(),
        };
        let writing = Writing::start(parts, config).await.unwrap();
        Self { writing, store, collections, stop, tasks, home }
    }

    /// Ends it, and begins again on the same file.
    pub(super) async fn again(self, config: WritingConfig) -> Self {
        self.again_with(None, config).await
    }

    /// The same, with an embedder.
    pub(super) async fn again_with(
        self,
        embedder: Option<Arc<dyn Embedder>>,
        config: WritingConfig,
    ) -> Self {
        Self::at(self.end().await, embedder, config).await
    }

    /// The same, with receipts that are kept so long.
    pub(super) async fn again_kept(self, receipts: Duration) -> Self {
        let upkeep = UpkeepConfig { every: Duration::ZERO, receipts, ..UpkeepConfig::default() };
        Self::open(self.end().await, None, (WritingConfig::default(), upkeep)).await
    }

    async fn end(self) -> tempfile::TempDir {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.store.close().await.unwrap();
        self.home
    }

    pub(super) fn rights(&self, name: &str, roles: &[&str]) -> Rights {
        Rights::of(&caller(name, "acme", roles), &self.collections.load())
    }

    pub(super) fn curator(&self) -> Rights {
        self.rights("cora", &["curator"])
    }

    pub(super) fn user(&self) -> Rights {
        self.rights("uma", &[])
    }

    pub(super) fn reviewer(&self, name: &str) -> Rights {
        self.rights(name, &["reviewer"])
    }

    /// Writes one and waits until it is worked on.
    pub(super) async fn put(&self, rights: &Rights, draft: Value) -> Receipt {
        self.try_put(rights, draft).await.unwrap()
    }

    pub(super) async fn try_put(&self, rights: &Rights, draft: Value) -> Result<Receipt, Error> {
        let draft: Draft = serde_json::from_value(draft).unwrap();
        self.writing.remember(rights, vec![draft], WAIT).await.remove(0)
    }

    /// Writes one that is to be stored and used.
    pub(super) async fn stored(&self, rights: &Rights, draft: Value) -> Version {
        let receipt = self.put(rights, draft).await;
        assert_eq!(receipt.stage, Stage::Stored, "{receipt:?}");
        self.version(&receipt).await
    }

    pub(super) async fn version(&self, receipt: &Receipt) -> Version {
        let (_, seq) = receipt.stored.clone().unwrap();
        self.load(seq).await
    }

    pub(super) async fn load(&self, seq: i64) -> Version {
        self.store.load("acme", &[seq]).await.unwrap().remove(0)
    }

    /// Texts of what is valid at one instant, as it was known at another.
    pub(super) async fn known(
        &self,
        collection: &str,
        as_of: &str,
        known_at: Option<jiff::Timestamp>,
    ) -> Vec<String> {
        let whole = Owned { collection: collection.into(), owner: None };
        let scope = Scope::new("acme".into(), vec![whole], as_of.parse().unwrap());
        let scope = Scope { known_at, ..scope };
        let mut found = self.store.list(&scope, None, 100).await.unwrap();
        found.sort_by_key(|version| version.seq);
        found.into_iter().map(|version| version.draft.text).collect()
    }
}

pub(super) fn caller(name: &str, tenant: &str, roles: &[&str]) -> Caller {
    Caller {
        name: name.into(),
        tenant: tenant.into(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
    }
}

pub(super) fn manual(id: &str, text: &str) -> Value {
    json!({"collection": "manuals", "source": "manual/PX", "source_id": id, "kind": "knowledge",
        "text": text})
}

pub(super) fn note(id: &str, text: &str) -> Value {
    json!({"collection": "notes", "source": "user/uma", "source_id": id, "kind": "preference",
        "text": text})
}

/// A draft with more.
pub(super) fn with(mut draft: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("no fields") };
    draft.as_object_mut().unwrap().extend(more);
    draft
}

/// What is wrong with a refused draft: places and messages.
pub(super) fn wrong(refused: Result<Receipt, Error>) -> Vec<(String, String)> {
    match refused {
        Err(Error::Refused(all)) => all.into_iter().map(|one| (one.place, one.message)).collect(),
        other => panic!("{other:?}"),
    }
}
