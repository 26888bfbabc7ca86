//! Drafts between the memory's own form and the wire, for the service and the command line. What of a
//! draft can be malformed there is read before.

use serde_json::{Map, Value};

use crate::memory::{Draft, Entity, Fact, Image, Kind, Origin, Place, Table, UnitId};
use crate::proto::memory as proto;

/// The parts of a draft that can be malformed on the wire, read.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) kind: Kind,
    pub(crate) origin: Option<Origin>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) derived_from: Vec<UnitId>,
    pub(crate) supersedes: Option<UnitId>,
}

impl Read {
    /// The draft, with all else that the wire has of it. What is empty there is not there.
    pub(crate) fn with(self, wire: proto::Draft) -> Draft {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        Draft {
            collection: wire.collection,
            source: wire.source,
            source_id: wire.source_id,
            source_time: some(wire.source_time),
            kind: self.kind,
            origin: self.origin,
            key: wire.key,
            triggers: wire.triggers,
            text: wire.text,
            value: wire.value,
            metadata: self.metadata,
            valid_from: some(wire.valid_from),
            valid_to: some(wire.valid_to),
            entities: wire.entities.into_iter().map(Into::into).collect(),
            facts: wire.facts.into_iter().map(Into::into).collect(),
            place: wire.place.map(|place| Place {
                latitude: place.latitude,
                longitude: place.longitude,
                kind: place.r#type,
            }),
            images: wire.images.into_iter().map(Into::into).collect(),
            tables: wire.tables.into_iter().map(Into::into).collect(),
            group: wire.group,
            position: wire.position,
            speaker: wire.speaker,
            derived_from: self.derived_from,
            supersedes: self.supersedes,
        }
    }
}

impl From<Draft> for proto::Draft {
    fn from(draft: Draft) -> Self {
        let metadata_json = match draft.metadata.is_empty() {
            true => String::new(),
            false => Value::Object(draft.metadata).to_string(),
        };
        Self {
            collection: draft.collection,
            source: draft.source,
            source_id: draft.source_id,
            source_time: draft.source_time.unwrap_or_default(),
            kind: proto::Kind::from(draft.kind).into(),
            origin: draft.origin.map_or(0, |origin| proto::Origin::from(origin).into()),
            key: draft.key,
            triggers: draft.triggers,
            text: draft.text,
            value: draft.value,
            metadata_json,
            valid_from: draft.valid_from.unwrap_or_default(),
            valid_to: draft.valid_to.unwrap_or_default(),
            entities: draft.entities.into_iter().map(Into::into).collect(),
            facts: draft.facts.into_iter().map(Into::into).collect(),
            place: draft.place.map(|place| proto::Place {
                latitude: place.latitude,
                longitude: place.longitude,
                r#type: place.kind,
            }),
            images: draft.images.into_iter().map(Into::into).collect(),
            tables: draft.tables.into_iter().map(Into::into).collect(),
            group: draft.group,
            position: draft.position,
            speaker: draft.speaker,
            derived_from: draft.derived_from.iter().map(ToString::to_string).collect(),
            supersedes: draft.supersedes.map(|unit| unit.to_string()).unwrap_or_default(),
        }
    }
}

impl From<Kind> for proto::Kind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Knowledge => Self::Knowledge,
            Kind::Case => Self::Case,
            Kind::Preference => Self::Preference,
            Kind::Result => Self::Result,
        }
    }
}

impl From<Origin> for proto::Origin {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::Curator => Self::Curator,
            Origin::Person => Self::Person,
            Origin::Model => Self::Model,
            Origin::Tool => Self::Tool,
            Origin::File => Self::File,
            Origin::Web => Self::Web,
        }
    }
}

impl proto::Kind {
    /// The kind that it stands for; `None` for one that says nothing.
    pub(crate) const fn named(self) -> Option<Kind> {
        match self {
            Self::Unspecified => None,
            Self::Knowledge => Some(Kind::Knowledge),
            Self::Case => Some(Kind::Case),
            Self::Preference => Some(Kind::Preference),
            Self::Result => Some(Kind::Result),
        }
    }
}

impl proto::Origin {
    /// The origin that it stands for; `None` for one that says nothing.
    pub(crate) const fn named(self) -> Option<Origin> {
        match self {
            Self::Unspecified => None,
            Self::Curator => Some(Origin::Curator),
            Self::Person => Some(Origin::Person),
            Self::Model => Some(Origin::Model),
            Self::Tool => Some(Origin::Tool),
            Self::File => Some(Origin::File),
            Self::Web => Some(Origin::Web),
        }
    }
}

/// Both ways between two types with the same members.
macro_rules! same {
    ($name:ident { $($member:ident),+ }) => {
        impl From<proto::$name> for $name {
            fn from(wire: proto::$name) -> Self {
                Self { $($member: wire.$member),+ }
            }
        }

        impl From<$name> for proto::$name {
            fn from(own: $name) -> Self {
                Self { $($member: own.$member),+ }
            }
        }
    };
}

same!(Entity { kind, value });
same!(Fact { entity, attribute, value, unit });
same!(Image { uri, media_type, sha256, description, ocr_text, vector_model, vector });

impl From<proto::Table> for Table {
    fn from(wire: proto::Table) -> Self {
        let rows = wire.rows.into_iter().map(|row| row.cells).collect();
        Self { caption: wire.caption, columns: wire.columns, rows }
    }
}

impl From<Table> for proto::Table {
    fn from(own: Table) -> Self {
        let rows = own.rows.into_iter().map(|cells| proto::table::Row { cells }).collect();
        Self { caption: own.caption, columns: own.columns, rows }
    }
}
