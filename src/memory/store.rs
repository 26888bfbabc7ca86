//! What a store of the memory keeps and answers: the contract of the embedded one (SQLite) and the
//! shared one (PostgreSQL with pgvector). One set of tests holds both to it. It decides nothing about
//! access, redaction or conflicts; it keeps what it is given, whole, or not at all.

mod ask;
mod error;
mod look;
mod mark;
mod postgres;
mod sqlite;
mod words;
#[cfg(test)]
#[expect(clippy::cognitive_complexity, reason = "each assertion counts as branches")]
mod tests;

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use ask::{Ask, Beside, Found, Hit};
pub use error::Error;
pub use look::{Look, Looked};
pub use postgres::{Config as PostgresConfig, Sslmode};
pub use sqlite::Config as SqliteConfig;

use super::scope::Scope;
use super::unit::{Draft, Ended, State, UnitId, Version};

/// Models of image vectors that one tenant can have: their names are the callers' own.
const IMAGE_MODELS: i64 = 16;
/// Places of a group that are looked at on each side of a version, in the scope or not.
const BESIDE: i64 = 64;

/// Where the memory is kept: the key `kind` names the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Config {
    /// `sqlite`, the default: one file.
    Sqlite(SqliteConfig),
    /// `postgresql`: a server with pgvector, for several daemons.
    Postgresql(PostgresConfig),
}

impl Default for Config {
    fn default() -> Self {
        Self::Sqlite(SqliteConfig::default())
    }
}

/// Opens the store that the configuration names.
pub async fn open(config: &Config) -> Result<Arc<dyn Store>, Error> {
    match config {
        Config::Sqlite(config) => Ok(Arc::new(sqlite::Sqlite::open(config).await?)),
        Config::Postgresql(config) => Ok(Arc::new(postgres::Postgres::open(config).await?)),
    }
}

/// A write that was acknowledged and not yet worked on. It is on the disk when [`Store::accept`]
/// returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Write {
    /// Id of its receipt: a UUID of version 7.
    pub receipt: String,
    /// Tenant of its caller.
    pub tenant: String,
    /// Name of its caller.
    pub caller: String,
    /// What is written, redacted already: the clear text of what is masked is never kept.
    pub draft: Draft,
    /// When it arrived.
    pub arrived: Timestamp,
    /// What the gate decided of it, as JSON of the write path's own.
    pub ruling: String,
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// Its id.
    pub id: String,
    /// Tenant of its caller.
    pub tenant: String,
    /// Name of its caller.
    pub caller: String,
    /// How far it has come.
    pub stage: Stage,
    /// The unit and the version that hold it, once stored.
    pub stored: Option<(UnitId, i64)>,
    /// Whether it made a later version of a unit that was there, and no new unit.
    pub newer: bool,
    /// Why it is held, quarantined or refused; what is missing, such as vectors; one line each.
    pub remarks: Vec<String>,
    /// When it arrived.
    pub arrived: Timestamp,
    /// When it came to its last stage.
    pub changed: Timestamp,
}

/// How far a write has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Durable, not yet worked on.
    Accepted,
    /// Stored and found by every layer.
    Stored,
    /// Equal to what was there; nothing was stored.
    Unchanged,
    /// Older than what is there by its source time: kept as history.
    Outdated,
    /// Stored, not used: it contradicts another unit.
    Held,
    /// Stored, not used: it reads like instructions to a model.
    Quarantined,
    /// Not stored.
    Refused,
}

/// All that one worked-on write changes, in one transaction: either all of it is there after a crash,
/// or none of it and the write still waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// The receipt of the write.
    pub receipt: String,
    /// The stage that it has come to.
    pub stage: Stage,
    /// Lines for the receipt.
    pub remarks: Vec<String>,
    /// What is stored; `None` where nothing is. `seq` and `recorded` are set by the store.
    pub version: Option<(Version, Vec<Chunk>)>,
    /// The unit and version that the receipt names where nothing new is stored.
    pub known: Option<(UnitId, i64)>,
    /// What it changes in other versions. A `by` that the store cannot know yet names the unit only.
    pub changes: Vec<Change>,
}

/// A piece of a unit as the layers search it. A unit has at least one.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// Its place in the unit, from 0.
    pub ordinal: u32,
    /// Its words for full text and vectors, title, speaker and date included.
    pub text: String,
    /// Its vector, and the name of the model; `None` until it is embedded.
    pub vector: Option<(String, Vec<f32>)>,
}

/// A change of a version that is there already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The version.
    pub seq: i64,
    /// Its new state; `None` to leave it.
    pub state: Option<State>,
    /// Its end; `Some(None)` to open it again, `None` to leave it.
    pub ended: Option<Option<Ended>>,
    /// Units that it now contradicts too.
    pub conflicts: Vec<UnitId>,
    /// Remarks to add.
    pub remarks: Vec<String>,
    /// When the source said it again: the version's source time is moved forward to it, never back.
    pub said: Option<Timestamp>,
}

/// Which versions a new one is held against: those in use that hold at some time of an interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rival {
    /// Beginning of the interval; `None` for since ever.
    pub from: Option<Timestamp>,
    /// Its end, exclusive; `None` for never.
    pub to: Option<Timestamp>,
    /// A group whose versions are left out; empty for none.
    pub but: String,
    /// So many at most, those recorded last.
    pub limit: usize,
}

/// How much waits to be worked on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Writes.
    pub writes: u64,
    /// Their bytes as they are kept.
    pub bytes: u64,
}

/// One person's decision on a version that is held or quarantined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    /// The version.
    pub seq: i64,
    /// Who decided.
    pub by: String,
    /// Whether it may be used.
    pub approve: bool,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

/// A chunk without a vector of the model that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Bare {
    /// Its version.
    pub seq: i64,
    /// Its place in the unit.
    pub ordinal: u32,
    /// Its words.
    pub text: String,
}

/// One run of upkeep, as it can be undone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// What it did, in words.
    pub summary: String,
    /// Versions that it changed.
    pub changed: u64,
    /// Whether it was undone.
    pub undone: bool,
    /// Tenant of the versions that it changed.
    pub tenant: String,
    /// Their collections, by name.
    pub collections: Vec<String>,
}

/// How much a store holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Units with a version that has not ended.
    pub units: u64,
    /// Versions, ended ones too.
    pub versions: u64,
    /// Chunks of versions that have not ended.
    pub chunks: u64,
    /// Chunks that have a vector, by model.
    pub vectors: Vec<(String, u64)>,
    /// Versions that are held, and that are quarantined.
    pub held: (u64, u64),
    /// Writes that wait.
    pub waiting: u64,
    /// Bytes on the disk.
    pub bytes: u64,
}

/// A store. Every method is one transaction, and may be called from many tasks at once. Times are kept
/// in whole microseconds; what is finer is left off. No end lies before its version was recorded.
#[async_trait::async_trait]
pub trait Store: Send + Sync + std::fmt::Debug {
    /// What it is, for logs and Stats: `sqlite` or `postgresql`.
    fn name(&self) -> &'static str;
    /// Whether other daemons work on it too: what they do is seen only by asking.
    fn is_shared(&self) -> bool;

    // Writes

    /// Takes writes; they survive a kill once this returns.
    async fn accept(&self, writes: Vec<Write>) -> Result<(), Error>;
    /// What became of a write; `None` too where its receipt was removed since.
    async fn receipt(&self, tenant: &str, id: &str) -> Result<Option<Receipt>, Error>;
    /// Writes that wait, in the order of their arrival, beginning after those of this receipt.
    async fn waiting(&self, after: Option<&str>, limit: usize) -> Result<Vec<Write>, Error>;
    /// How much waits, whoever works on it.
    async fn backlog(&self) -> Result<Backlog, Error>;
    /// Brings writes to their end; gives the `seq` of each version that was stored. One that was
    /// settled before is left as it is, and gives that version's. What it ends, ends in the instant in
    /// which the new version is recorded: one of the two is known at any time.
    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Option<i64>>, Error>;

    // Versions

    /// Versions by their `seq`, in the order asked for; those of other tenants are left out.
    async fn load(&self, tenant: &str, seqs: &[i64]) -> Result<Vec<Version>, Error>;
    /// All versions of a unit, newest recorded first.
    async fn history(&self, tenant: &str, unit: &UnitId) -> Result<Vec<Version>, Error>;
    /// The versions of one source id that have not ended, whatever their state.
    async fn of_source(&self, tenant: &str, draft: &Draft) -> Result<Vec<Version>, Error>;
    /// Versions of a collection with a fact of one of these entities and attributes.
    async fn rivals(
        &self,
        (tenant, collection): (&str, &str),
        claims: &[(String, String)],
        rival: &Rival,
    ) -> Result<Vec<Version>, Error>;
    /// Versions of a collection whose metadata `field` has the value: those of one document, where the
    /// collection says which field names it.
    async fn alike(
        &self,
        (tenant, collection): (&str, &str),
        (field, value): (&str, &str),
        rival: &Rival,
    ) -> Result<Vec<Version>, Error>;
    /// Versions of a collection, not ended, with this digest.
    async fn equal(
        &self,
        (tenant, collection): (&str, &str),
        digest: &str,
    ) -> Result<Vec<Version>, Error>;
    /// What bears on each of several writes, all of it at one time where the store can.
    async fn look(&self, looks: &[Look]) -> Result<Vec<Looked>, Error> {
        look::look(self, looks).await
    }
    /// Versions in a scope, newest recorded first, that were recorded before `before`.
    async fn list(
        &self,
        scope: &Scope,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<Version>, Error>;

    // Recall

    /// Asks the layers. What is outside the scope is left out before `limit` counts.
    async fn search(&self, scope: &Scope, ask: &Ask) -> Result<Found, Error>;
    /// Numbers of a vector of this model of images; `None` where the tenant has none of it.
    async fn image_length(&self, tenant: &str, model: &str) -> Result<Option<usize>, Error>;
    /// The neighbours of versions in their groups, at most `span` places away, inside the scope: in the
    /// order of their positions, then of recording. What is outside the scope counts as no place; no
    /// more than 64 places are looked at on each side.
    async fn beside(&self, scope: &Scope, seqs: &[i64], span: u32) -> Result<Vec<Beside>, Error>;
    /// The words of chunks, in the order asked for.
    async fn texts(&self, chunks: &[(i64, u32)]) -> Result<Vec<String>, Error>;
    /// Distances in metres of those versions that have a place, from a point.
    async fn distances(&self, seqs: &[i64], from: (f64, f64)) -> Result<Vec<(i64, f64)>, Error>;
    /// Notes that versions were given out.
    async fn touch(&self, seqs: &[i64], at: Timestamp) -> Result<(), Error>;

    // Review and upkeep

    /// Changes versions, all or none; under a run's id and summary, so that it can be undone. A run is of
    /// one tenant.
    async fn change(&self, run: Option<(&str, &str)>, changes: &[Change]) -> Result<(), Error>;
    /// Puts back what a run changed, where nothing changed it since; answers how many versions.
    async fn undo(&self, run: &str) -> Result<u64, Error>;
    /// Runs of upkeep, newest first.
    async fn runs(&self, limit: usize) -> Result<Vec<Run>, Error>;
    /// Keeps a vote; a second one of the same person takes the place of the first. Gives all votes on
    /// that version.
    async fn vote(&self, tenant: &str, vote: Vote) -> Result<Vec<Vote>, Error>;
    /// The votes on a version, oldest first.
    async fn votes(&self, tenant: &str, seq: i64) -> Result<Vec<Vote>, Error>;
    /// Takes all votes on a version back.
    async fn unvote(&self, tenant: &str, seq: i64) -> Result<(), Error>;
    /// Refuses those writes of these callers that wait to be stored under the draft's source id; answers
    /// how many.
    async fn withdraw(&self, tenant: &str, draft: &Draft, by: &[String]) -> Result<u64, Error>;
    /// Removes every version of a unit and all that was made of it, for ever, on every axis; what its
    /// writers have waiting under its source id is refused.
    /// What remarks of other units, their receipts and the journal of runs say of it goes too.
    async fn erase(&self, tenant: &str, unit: &UnitId) -> Result<u64, Error>;
    /// Versions that ended before an instant, and either expired, or were recorded before the instant
    /// that is named for their collection: tenant and `seq`, those that ended first.
    async fn outlived(
        &self,
        ended: Timestamp,
        recorded: &[(String, Timestamp)],
        limit: usize,
    ) -> Result<Vec<(String, i64)>, Error>;
    /// Removes those of these versions that have ended, and all that was made of them, for ever; of a
    /// unit that is gone with them also what erasing removes of other units. Answers how many.
    async fn purge(&self, tenant: &str, seqs: &[i64]) -> Result<u64, Error>;
    /// When upkeep of the whole memory was last done.
    async fn tended(&self) -> Result<Option<Timestamp>, Error>;
    /// Notes that it was done.
    async fn tend(&self, at: Timestamp) -> Result<(), Error>;
    /// Versions that have not ended, of one tenant or of all, in these states (none for all), in the
    /// order of their `seq`, after this one; whatever their validity.
    async fn walk(
        &self,
        tenant: Option<&str>,
        states: &[State],
        after: i64,
        limit: usize,
    ) -> Result<Vec<Version>, Error>;
    /// Chunks of versions that have not ended without a vector of this model, oldest first; but those
    /// of the collections `without` vectors.
    async fn bare(&self, model: &str, without: &[String], limit: usize)
    -> Result<Vec<Bare>, Error>;
    /// Passes over chunks in what [`Store::bare`] answers for this model, until the store is opened
    /// again: nothing makes a vector of them.
    async fn pass_over(&self, model: &str, chunks: &[(i64, u32)]) -> Result<(), Error>;
    /// Keeps vectors of chunks that are still there.
    async fn embed(&self, model: &str, vectors: &[(i64, u32, Vec<f32>)]) -> Result<(), Error>;
    /// How many chunks of versions that have not ended have no vector of this model, by tenant, but
    /// those of the collections `without` vectors; tenants without any are left out.
    async fn count_bare(
        &self,
        model: &str,
        without: &[String],
    ) -> Result<Vec<(String, u64)>, Error>;
    /// Removes vectors of other models; answers how many.
    async fn forget_models(&self, keep: &str) -> Result<u64, Error>;
    /// Removes receipts of writes that came to their last stage before this; answers how many. What
    /// they stored stays.
    async fn forget_receipts(&self, before: Timestamp) -> Result<u64, Error>;
    /// Gives room back to the disk.
    async fn compact(&self) -> Result<(), Error>;
    /// How much it holds; of one tenant or of all.
    async fn counts(&self, tenant: Option<&str>) -> Result<Counts, Error>;
    /// How collections of a tenant stand: another text after each change of what a question can find in
    /// them, whoever made it. Only to be compared; it tells nothing else.
    async fn revision(&self, tenant: &str, collections: &[String]) -> Result<String, Error>;
    /// Writes what is open, and ends. Later calls answer [`Error::Closed`].
    async fn close(&self) -> Result<(), Error>;
}
