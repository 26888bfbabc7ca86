//! What the memory holds: a [`Draft`] as it is written, a [`Version`] as it is kept. The JSON form of
//! both is that of `switchboard memory import` and `export`. Checks nothing.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Names one unit for ever, through all its versions: a UUID of version 7.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnitId(String);

impl UnitId {
    /// Makes a new id.
    pub fn generate() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }

    /// An id as text; `None` when it is no UUID in its usual form.
    pub fn parse(text: &str) -> Option<Self> {
        let id = uuid::Uuid::try_parse(text).ok()?.to_string();
        (id == text).then_some(Self(id))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The evidence id of the version with this `seq`: names it for ever.
    pub fn evidence(&self, seq: i64) -> String {
        format!("{self}@{seq}")
    }
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a unit is good for; each collection says which kinds it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Holds again and again: a manual, a rule, how to look something up.
    Knowledge,
    /// What happened once, and how it was resolved.
    Case,
    /// How somebody wants things done.
    Preference,
    /// A tool result that is worth keeping.
    Result,
}

/// Who answers for what a collection holds. The two are never mixed without a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Curated by the organisation.
    Curated,
    /// Notes of users and agents.
    Notes,
}

/// Where the text of a unit comes from. Decides what authority it can have, whatever it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A curator of the organisation wrote or approved it.
    Curator,
    /// A person said it.
    Person,
    /// A model wrote it.
    Model,
    /// A tool gave it.
    Tool,
    /// A file holds it.
    File,
    /// A web page or a message from outside holds it.
    Web,
}

impl Origin {
    /// Whether its words may ask for something, rather than only state it.
    pub const fn may_ask(self) -> bool {
        matches!(self, Self::Curator | Self::Person)
    }
}

/// How far a unit is believed, from 0 (not at all) to 100 (curated). Comes from the authenticated
/// caller, the collection and the origin; a derived unit has the least of its sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Trust(pub u8);

/// Whether a version is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// In use.
    Active,
    /// Contradicts another; waits for a reviewer.
    Held,
    /// Reads like instructions to a model; waits for a reviewer.
    Quarantined,
    /// A reviewer refused it.
    Rejected,
    /// Not used for long; found only where the archive is asked for.
    Archived,
}

/// Why a version is no longer what its unit says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// A later version of the same unit took its place.
    Replaced,
    /// Another unit says that it takes its place.
    Superseded,
    /// A caller asked to forget it: hidden from then on, its history stays.
    Forgotten,
    /// Upkeep merged it into another.
    Merged,
    /// Its retention is over.
    Expired,
}

/// When and why a version ended, on the axis of what was known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Since when it is no longer known; exclusive end of its recorded interval.
    pub at: Timestamp,
    /// Why.
    pub why: End,
    /// The unit that took its place, where one did.
    pub by: Option<UnitId>,
}

/// A business entity that a unit speaks of, such as kind `part`, value `PX-200`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entity {
    /// Its kind: `customer`, `project`, `contract`, `part`, `batch` and so on.
    pub kind: String,
    /// Its number or name.
    pub value: String,
}

/// One statement of a unit that can contradict another one's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// Of what it speaks.
    pub entity: String,
    /// Which property; the collection says whether it can have several values at a time.
    pub attribute: String,
    /// The value as text: a number, a date, `true`, a name.
    pub value: String,
    /// Its unit of measure; empty without one.
    #[serde(default)]
    pub unit: String,
}

/// Where something is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Degrees north on WGS 84, from -90 to 90.
    pub latitude: f64,
    /// Degrees east, from -180 to 180.
    pub longitude: f64,
    /// What is there: `store`, `warehouse`, `site` and so on.
    #[serde(rename = "type", default)]
    pub kind: String,
}

/// An image of the source, by reference; its bytes are not kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Where it is kept: a URI of the caller's own.
    #[serde(default)]
    pub uri: String,
    /// Its media type.
    #[serde(default)]
    pub media_type: String,
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
    /// What it shows, in words.
    #[serde(default)]
    pub description: String,
    /// What is written on it.
    #[serde(default)]
    pub ocr_text: String,
    /// Name of the model of `vector`; empty without one.
    #[serde(default)]
    pub vector_model: String,
    /// A vector of the image that the caller gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vector: Vec<f32>,
}

/// A table of the source, its structure kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its heading.
    #[serde(default)]
    pub caption: String,
    /// Names of its columns.
    pub columns: Vec<String>,
    /// Its rows, each as long as `columns`.
    pub rows: Vec<Vec<String>>,
}

/// A unit as a caller writes it; nothing in it has been checked. Times are text as the caller wrote
/// them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// The collection that is to hold it.
    pub collection: String,
    /// Who or what it comes from, such as `manual/PX-200`; checked against the collection's list.
    pub source: String,
    /// Its id at the source. A later write with the same collection, tenant, source and id, among notes
    /// also of the same caller, replaces this one.
    pub source_id: String,
    /// When the source said it: decides which of two writes is newer; of equal times the later arrival
    /// is. Default the time of the write. At most a day ahead of the daemon's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_time: Option<String>,
    /// What it is good for.
    pub kind: Kind,
    /// Where its text comes from; default what the collection says. A caller can only lower it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// What it is, in a few words: its title.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// Questions and words on which it should be recalled; at most 32 of 200 characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<String>,
    /// Its text, at most 1 MiB; a whole draft at most 4 MiB.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What it gives, where that is something else than its text: an answer, a resolution.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Typed metadata, as the collection declares it.
    #[serde(
        default,
        skip_serializing_if = "Map::is_empty",
        deserialize_with = "super::members::read"
    )]
    pub metadata: Map<String, Value>,
    /// From when on it holds, inclusive; open without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<String>,
    /// Until when it holds, exclusive (a date alone: the whole day still); open without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<String>,
    /// Entities that it speaks of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<Entity>,
    /// Statements that can contradict others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Images of the source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Tables of the source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
    /// A series that it is part of: a conversation, a document cut by its owner. Its neighbours there
    /// are searched together with it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Its place in the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<i64>,
    /// Who says it, in a conversation; part of what is indexed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub speaker: String,
    /// Units that it was made from; its trust is the least of theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived_from: Vec<UnitId>,
    /// The unit whose place it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<UnitId>,
}

impl Draft {
    /// A draft that says nothing yet.
    pub fn new(collection: &str, source: &str, source_id: &str, kind: Kind) -> Self {
        Self {
            collection: collection.to_owned(),
            source: source.to_owned(),
            source_id: source_id.to_owned(),
            source_time: None,
            kind,
            origin: None,
            key: String::new(),
            triggers: Vec::new(),
            text: String::new(),
            value: String::new(),
            metadata: Map::new(),
            valid_from: None,
            valid_to: None,
            entities: Vec::new(),
            facts: Vec::new(),
            place: None,
            images: Vec::new(),
            tables: Vec::new(),
            group: String::new(),
            position: None,
            speaker: String::new(),
            derived_from: Vec::new(),
            supersedes: None,
        }
    }

    /// What its images show, and what is written on them.
    pub fn image_words(&self) -> Vec<&str> {
        let words = self.images.iter().flat_map(|one| [one.description.as_str(), &one.ocr_text]);
        words.filter(|text| !text.is_empty()).collect()
    }
}

/// A draft as it is handed in, and what its unit is to tell beside what it says.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// The draft.
    pub draft: Draft,
    /// What is missing of it, such as the text of an image that could not be read; one line each. It is
    /// kept with the unit, and is no part of what that says.
    pub notes: Vec<String>,
}

impl From<Draft> for Sent {
    fn from(draft: Draft) -> Self {
        Self { draft, notes: Vec::new() }
    }
}

/// One recorded state of a unit. What it says is redacted and never changed; only `state`, `ended`,
/// the marks of use and when it was said last are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Version {
    /// The unit.
    pub unit: UnitId,
    /// Its place among all versions of the store, counted up in the order of recording; 0 before it is
    /// stored. The evidence id of a hit is `unit@seq`.
    pub seq: i64,
    /// Tenant that it belongs to.
    pub tenant: String,
    /// Name of the caller who wrote it.
    pub owner: String,
    /// The layer of its collection.
    pub layer: Layer,
    /// What it says, redacted; `source_time`, `valid_from`, `valid_to` are RFC 3339 in UTC here.
    pub draft: Draft,
    /// When the source said it, last.
    pub source_time: Timestamp,
    /// From when on it holds, inclusive; `None` when that is open.
    pub valid_from: Option<Timestamp>,
    /// Until when it holds, exclusive; `None` when that is open.
    pub valid_to: Option<Timestamp>,
    /// When it was recorded: set by the daemon, never earlier than that of any version before it.
    pub recorded: Timestamp,
    /// When it stopped being what the unit says.
    pub ended: Option<Ended>,
    /// Whether it is used.
    pub state: State,
    /// How far it is believed.
    pub trust: Trust,
    /// Where its text comes from, after the collection's rules.
    pub origin: Origin,
    /// SHA-256 in hex of what it says, in canonical form: equal content, equal digest.
    pub digest: String,
    /// Why it is held or quarantined, what the screen found, and what of its images could not be read;
    /// one line each.
    pub remarks: Vec<String>,
    /// Units that it contradicts.
    pub conflicts: Vec<UnitId>,
    /// Last recall that gave it out.
    pub used: Option<Timestamp>,
    /// Times that a recall gave it out.
    pub uses: u64,
}

impl Version {
    /// Its evidence id.
    pub fn evidence(&self) -> String {
        self.unit.evidence(self.seq)
    }
}
