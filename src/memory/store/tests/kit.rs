//! What the tests of stores are made with: stores, units, scopes and questions.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use tokio_util::task::TaskTracker;

use super::super::{
    Ask, Change, Chunk, Config, Error, Hit, Settlement, SqliteConfig, Stage, Store, Write, open,
};
use crate::memory::{
    Draft, Filter, Kind, Layer, Origin, Owned, Scope, State, Trust, UnitId, Version,
};

pub(super) const TENANT: &str = "acme";
pub(super) const COLLECTION: &str = "notes";
pub(super) const MODEL: &str = "e5";

/// A store with nothing in it, and what it lives in.
pub(in crate::memory) struct Fresh {
    pub(in crate::memory) store: Arc<dyn Store>,
    /// Held, not read: what must not go before the store does.
    pub(in crate::memory) _home: Box<dyn Any + Send>,
}

pub(super) async fn sqlite() -> Fresh {
    let home = tempfile::tempdir().unwrap();
    let store = sqlite_at(&home.path().join("memory.db")).await.unwrap();
    Fresh { store, _home: Box::new(home) }
}

pub(super) async fn sqlite_at(path: &Path) -> Result<Arc<dyn Store>, Error> {
    let config = SqliteConfig { path: path.to_owned(), ..SqliteConfig::default() };
    open(&Config::Sqlite(config), &TaskTracker::new()).await
}

/// An instant as text has it.
pub(super) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(super) fn draft(text: &str) -> Draft {
    let source_id = uuid::Uuid::now_v7().to_string();
    let empty = Draft::new(COLLECTION, "manual/PX-200", &source_id, Kind::Knowledge);
    Draft { text: text.into(), ..empty }
}

pub(super) fn version(text: &str) -> Version {
    of(draft(text))
}

pub(super) fn of(draft: Draft) -> Version {
    Version {
        unit: UnitId::generate(),
        seq: 0,
        tenant: TENANT.into(),
        owner: "ann".into(),
        layer: Layer::Notes,
        source_time: at("2026-03-01T09:00:00Z"),
        valid_from: None,
        valid_to: None,
        recorded: Timestamp::UNIX_EPOCH,
        ended: None,
        state: State::Active,
        trust: Trust(50),
        origin: Origin::Person,
        digest: format!("digest of {}", draft.text),
        remarks: Vec::new(),
        conflicts: Vec::new(),
        used: None,
        uses: 0,
        draft,
    }
}

/// The next version of the same unit.
pub(super) fn next(of: &Version, text: &str) -> Version {
    let mut version = Version { seq: 0, ..of.clone() };
    version.draft.text = text.into();
    version.digest = format!("digest of {text}");
    version
}

pub(super) fn write(draft: Draft) -> Write {
    Write {
        receipt: uuid::Uuid::now_v7().to_string(),
        tenant: TENANT.into(),
        caller: "ann".into(),
        draft,
        arrived: at("2026-03-01T09:00:00.123456Z"),
        ruling: r#"{"trust":50}"#.into(),
    }
}

/// The chunk of a unit that is short.
pub(super) fn chunk(version: &Version) -> Chunk {
    Chunk { ordinal: 0, text: version.draft.text.clone(), vector: None }
}

pub(super) fn settlement(receipt: &str, version: Version) -> Settlement {
    let chunks = vec![chunk(&version)];
    Settlement {
        receipt: receipt.into(),
        stage: Stage::Stored,
        remarks: Vec::new(),
        version: Some((version, chunks)),
        known: None,
        changes: Vec::new(),
    }
}

/// Stores a version as one that was written; gives its place.
pub(super) async fn put(store: &dyn Store, version: Version) -> i64 {
    let chunks = vec![chunk(&version)];
    put_with(store, version, chunks, Vec::new()).await
}

pub(super) async fn put_with(
    store: &dyn Store,
    version: Version,
    chunks: Vec<Chunk>,
    changes: Vec<Change>,
) -> i64 {
    let write = Write { tenant: version.tenant.clone(), ..write(version.draft.clone()) };
    let receipt = write.receipt.clone();
    store.accept(vec![write]).await.unwrap();
    let version = Some((version, chunks));
    let settlement = Settlement { version, changes, ..settlement(&receipt, self::version("")) };
    store.settle(vec![settlement]).await.unwrap()[0].unwrap()
}

/// Stores a unit of this text and vector.
pub(super) async fn put_vector(store: &dyn Store, text: &str, model: &str, vector: &[f32]) -> i64 {
    let version = version(text);
    let chunk = Chunk { vector: Some((model.into(), vector.to_vec())), ..chunk(&version) };
    put_with(store, version, vec![chunk], Vec::new()).await
}

/// What holds now, of everybody in the tenant.
pub(super) fn scope() -> Scope {
    let whole = Owned { collection: COLLECTION.into(), owner: None };
    Scope::new(TENANT.into(), vec![whole], at("2026-06-01T00:00:00Z"))
}

pub(super) fn filter(field: &str, compare: crate::memory::Compare, value: Value) -> Filter {
    Filter { field: field.into(), compare, values: vec![value] }
}

/// What the words of a question find.
pub(super) async fn ask_words(store: &dyn Store, scope: &Scope, question: &str) -> Vec<Hit> {
    let ask = Ask { words: Some(question.into()), limit: 50, ..Ask::default() };
    store.search(scope, &ask).await.unwrap().words.unwrap().unwrap()
}

/// What a vector finds.
pub(super) async fn ask_vector(
    store: &dyn Store,
    scope: &Scope,
    model: &str,
    vector: &[f32],
) -> Vec<Hit> {
    let ask = Ask { vector: Some((model.into(), vector.to_vec())), limit: 20, ..Ask::default() };
    store.search(scope, &ask).await.unwrap().vector.unwrap().unwrap()
}

pub(super) fn seqs(hits: &[Hit]) -> Vec<i64> {
    hits.iter().map(|hit| hit.seq).collect()
}

/// A change of nothing, to be filled.
pub(super) const fn change(seq: i64) -> Change {
    Change { seq, state: None, ended: None, conflicts: Vec::new(), remarks: Vec::new(), said: None }
}

/// Numbers that look random and are the same at every run.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let sides = u64::try_from(from.len()).unwrap();
        &from[usize::try_from(self.roll(sides)).unwrap()]
    }

    pub(super) fn chance(&mut self, of: u64) -> bool {
        self.roll(of) == 0
    }

    pub(super) fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        let number = |_| f32::from(u16::try_from(self.roll(2001)).unwrap()) / 1000.0 - 1.0;
        (0..dimensions).map(number).collect()
    }
}
