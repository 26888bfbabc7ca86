//! A memory to ask: the embedded store, the real way in, and recall above both.

use std::sync::Arc;

use arc_swap::ArcSwap;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::Caller;
use crate::memory::embed::{self, Embedder};
use crate::memory::recall::{Config, Recall};
use crate::memory::seals::Seals;
use crate::memory::{
    Collections, Draft, Owned, Parts, Question, Recalled, Receipt, Rights, SqliteConfig, Store,
    StoreConfig, Writing, WritingConfig, open_store,
};

/// Collections of the tests: one for all, one of each caller's own.
const DECLARED: [&str; 2] = [
    r#"
name = "cases"
description = "Cases, facts and places"
layer = "notes"
kinds = ["knowledge", "case", "preference", "result"]
sources = ["*"]
origin = "person"
trust = { person = 70, web = 20 }
[metadata]
line = { type = "text", required = false }
[attributes]
city = { values = "successive" }
torque = { values = "one" }
speaks = { values = "many" }
[access]
read = ["any"]
write = ["any"]
review = ["caller:reviewer"]
"#,
    r#"
name = "own"
description = "What each caller keeps for itself"
layer = "notes"
share = "caller"
kinds = ["preference"]
sources = ["*"]
origin = "person"
trust = { person = 70 }
[access]
read = ["any"]
write = ["any"]
review = ["caller:reviewer"]
"#,
];

pub(in crate::memory) struct Home {
    pub(in crate::memory) store: Arc<dyn Store>,
    pub(in crate::memory) collections: Arc<ArcSwap<Collections>>,
    embedder: Option<Arc<dyn Embedder>>,
    writing: Writing,
    stop: CancellationToken,
    pub(in crate::memory) tasks: TaskTracker,
    _folder: tempfile::TempDir,
}

impl Home {
    pub(in crate::memory) async fn new() -> Self {
        Self::with(None).await
    }

    pub(in crate::memory) async fn with(embedder: Option<Arc<dyn Embedder>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("memory")).unwrap();
        for (at, text) in DECLARED.iter().enumerate() {
            std::fs::write(folder.path().join(format!("memory/{at}.toml")), text).unwrap();
        }
        let (collections, problems) = Collections::load(folder.path());
        assert!(problems.is_empty(), "{problems:?}");
        let collections = Arc::new(ArcSwap::from_pointee(collections));
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let path = folder.path().join("memory.db");
        let config = StoreConfig::Sqlite(SqliteConfig { path, ..SqliteConfig::default() });
        let store = open_store(&config, &tasks).await.unwrap();
        let parts = Parts {
            store: Arc::clone(&store),
            embedder: None,
            collections: Arc::clone(&collections),
            seals: Arc::new(Seals::new(folder.path().join("placeholders"))),
            upkeep: crate::memory::UpkeepConfig::default(),
            tasks: tasks.clone(),
            stop: stop.clone(),
        };
        let writing = Writing::start(parts, WritingConfig::default()).await.unwrap();
        Self { store, collections, embedder, writing, stop, tasks, _folder: folder }
    }

    pub(in crate::memory) fn rights(&self, name: &str) -> Rights {
        Rights::of(&caller(name), &self.collections.load())
    }

    pub(in crate::memory) async fn write(&self, name: &str, drafts: Vec<Draft>) -> Vec<Receipt> {
        let wait = Some(std::time::Duration::from_secs(30));
        let answers = self.writing.remember(&self.rights(name), drafts, wait).await;
        answers.into_iter().map(|answer| answer.unwrap()).collect()
    }

    /// Writes texts whose source ids are their places, from 1.
    pub(in crate::memory) async fn texts(&self, texts: &[&str]) {
        let drafts = texts
            .iter()
            .enumerate()
            .map(|(at, text)| unit(&(at + 1).to_string(), json!({"text": text})))
            .collect();
        self.write("ana", drafts).await;
    }

    pub(in crate::memory) fn recall(&self, config: Config) -> Recall {
        let (store, embedder) = (Arc::clone(&self.store), self.embedder.clone());
        Recall::new(store, embedder, Arc::clone(&self.collections), config, &self.tasks).unwrap()
    }

    pub(in crate::memory) fn owned(&self, name: &str) -> Vec<Owned> {
        self.rights(name).owned(&self.collections.load())
    }

    pub(in crate::memory) async fn ask(&self, question: &Question) -> Recalled {
        self.ask_as("ana", question).await
    }

    pub(in crate::memory) async fn ask_as(&self, name: &str, question: &Question) -> Recalled {
        let recall = self.recall(Config::default());
        recall.recall(&caller(name), &self.owned(name), question).await.unwrap()
    }

    /// Ends what runs, marks of use too.
    pub(in crate::memory) async fn end(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

pub(in crate::memory) fn caller(name: &str) -> Caller {
    Caller { name: name.to_owned(), tenant: "acme".to_owned(), roles: Vec::new() }
}

pub(in crate::memory) fn unit(id: &str, more: Value) -> Draft {
    let mut whole = json!({
        "collection": "cases", "source": "tickets/1", "source_id": id, "kind": "knowledge",
    });
    let Value::Object(more) = more else { panic!("a unit is an object") };
    for (name, value) in more {
        whole[name] = value;
    }
    serde_json::from_value(whole).unwrap()
}

pub(in crate::memory) fn text(text: &str) -> Question {
    Question { text: text.to_owned(), ..Question::default() }
}

/// Source ids of the hits, best first.
pub(in crate::memory) fn ids(answer: &Recalled) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.version.draft.source_id.as_str()).collect()
}

/// An endpoint for vectors at which nobody listens.
pub(in crate::memory) fn deaf() -> Arc<dyn Embedder> {
    let config: embed::Config = serde_json::from_value(json!({
        "kind": "endpoint",
        "endpoint": {
            "url": "http://127.0.0.1:9/v1/embeddings", "model": "m", "dimensions": 4,
            "attempts": 1, "timeout": "2s",
        },
    }))
    .unwrap();
    embed::open(&config, &TaskTracker::new()).unwrap().unwrap()
}
