//! A memory for agents: what is written passes gate, redaction, screen and conflict check and is
//! stored; what is asked for is found in layers, by access, validity and date first, and ranked. Uses
//! no language model. Whether a caller may ask at all is decided before.

mod collection;
pub mod place;
mod question;
mod scope;
mod store;
mod unit;

pub use collection::{Access, Attribute, Collection, Field, Form, Share, Values};
pub use question::{Asked, Question, Recalled, Recollection, Score, Sense, THRESHOLD, TOP_K};
pub use scope::{Compare, Filter, Owned, Scope, Spot};
pub use store::{
    Ask, Bare, Beside, Change, Chunk, Config as StoreConfig, Counts, Error as StoreError, Found, Hit,
    Receipt, Run, Settlement, SqliteConfig, Stage, Store, Vote, Write, open as open_store,
};
pub use unit::{
    Draft, End, Ended, Entity, Fact, Image, Kind, Layer, Origin, Place, State, Table, Trust,
    UnitId, Version,
};
