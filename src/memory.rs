//! A memory for agents: what is written passes gate, redaction, screen and conflict check and is
//! stored; what is asked for is found in layers, by access, validity and date first, and ranked. Uses
//! no language model. Whether a caller may ask at all is decided before.

mod chunk;
mod collection;
mod config;
mod conflict;
pub mod context;
mod coverage;
mod desk;
pub mod embed;
pub mod eval;
pub mod explain;
mod facade;
mod fault;
mod gate;
pub mod guard;
pub mod instant;
pub(crate) mod members;
mod names;
mod open;
mod normal;
pub mod place;
mod question;
pub mod recall;
pub mod redact;
mod review;
mod rights;
mod scope;
mod seals;
mod store;
#[cfg(test)]
mod tests;
mod unit;
mod upkeep;
mod vision;
mod writing;

pub use collection::{Access, Attribute, Collection, Collections, Field, Form, Share, Values};
pub use config::Config;
pub use desk::{
    Answered, Asking, Desk, Error as Unserved, Place as DeskPlace, Shown, Standing, Stats, Upkeep,
    UpkeepDone, Visit, When, shelves,
};
pub use facade::{Embedding, Listing, Memory, Which};
pub use fault::{Error, Violation};
pub(crate) use gate::VALUE as IMAGE_BYTES;
pub use normal::normal;
pub use question::{Asked, Question, Recalled, Recollection, Score, Sense, THRESHOLD, TOP_K};
pub use review::{Decision, Manner, Outcome, Pending};
pub use rights::Rights;
pub use scope::{Adjacent, Compare, Filter, Owned, Scope, Spot};
pub use store::{
    Ask, Backlog, Bare, Beside, Change, Chunk, Config as StoreConfig, Counts, Error as StoreError,
    Found, Hit, Look, Looked, PostgresConfig, Receipt, Rival, Run, Settlement, SqliteConfig,
    Sslmode, Stage, Store, Vote, Write, open as open_store,
};
pub use unit::{
    Draft, End, Ended, Entity, Fact, Image, Kind, Layer, Origin, Place, Sent, State, Table, Trust,
    UnitId, Version,
};
pub use upkeep::{Config as UpkeepConfig, Item, Plan, Work};
pub use vision::Vision;
pub use writing::{Config as WritingConfig, Parts, Writing};
