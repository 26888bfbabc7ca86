//! What a collection of the memory holds and demands, as `policies/memory/*.toml` declares it: that
//! folder in, [`Collections`] out. A broken file costs its own collection only, or nothing where its
//! last good state is known.

mod check;
mod load;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::redact::Placeholders;
use super::unit::{Kind, Layer, Origin};
use crate::catalog::Named;

/// The collections of a policies folder. Immutable: a reload makes a new one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Collections {
    named: Named<Collection>,
}

impl Collections {
    /// A collection by its name.
    pub fn get(&self, name: &str) -> Option<&Arc<Collection>> {
        self.named.get(name)
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Collection>> {
        self.named.iter()
    }

    /// SHA-256 in hex over all declarations: equal declarations, equal digest.
    pub fn digest(&self) -> &str {
        self.named.digest()
    }
}

/// A collection as its file declares it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Collection {
    /// Its name: lower-case words with dots or dashes between them.
    pub name: String,
    /// What it holds, for people and models.
    pub description: String,
    /// Who answers for it.
    pub layer: Layer,
    /// Whose units a caller sees: `tenant`, those of everybody in the tenant, or `caller`, one's own.
    #[serde(default)]
    pub share: Share,
    /// Kinds that it takes.
    pub kinds: Vec<Kind>,
    /// Sources that it takes: names, with `*` for any run of characters.
    pub sources: Vec<String>,
    /// Origin of what does not say one.
    pub origin: Origin,
    /// Trust of its units, 0 to 100, by origin; an origin that is not named is refused.
    pub trust: BTreeMap<Origin, u8>,
    /// Metadata of its units, by name. What is not named here is refused.
    #[serde(default)]
    pub metadata: BTreeMap<String, Field>,
    /// Attributes of facts that cannot have any number of values at a time.
    #[serde(default)]
    pub attributes: BTreeMap<String, Attribute>,
    /// Name of the metadata field that names a document of which there are versions: two versions that
    /// hold at the same time contradict each other. Parts of one version are of one `group`.
    #[serde(default)]
    pub document: Option<String>,
    /// What is redacted before anything is kept; default all but `ip` and `tracking`.
    #[serde(default)]
    pub redact: Option<Vec<String>>,
    /// What placeholders tell across units: `fresh` (the default) nothing, each unit counts from 1;
    /// `keyed` whether two units of a tenant speak of the same value. See `memory.placeholder_key`.
    #[serde(default)]
    pub placeholders: Placeholders,
    /// Time zone of dates and times without one, as an IANA name; default UTC.
    #[serde(default = "utc")]
    pub time_zone: String,
    /// How long versions are kept after they were recorded, also by a review that cut one; default for
    /// ever. Upkeep ends those in use, and removes for ever what has ended for longer than
    /// `memory.upkeep.grace`.
    #[serde(default, with = "optional")]
    pub retention: Option<Duration>,
    /// How long an unused unit stays out of the archive; default for ever.
    #[serde(default, with = "optional")]
    pub archive_after: Option<Duration>,
    /// Time in which an unused unit loses half its weight; default it loses none.
    #[serde(default, with = "optional")]
    pub half_life: Option<Duration>,
    /// Whether its units get vectors; default true.
    #[serde(default = "yes")]
    pub vectors: bool,
    /// People who must agree before a held or quarantined unit is used: 1 or 2; default 1. Who wrote it
    /// is none of them.
    #[serde(default = "one")]
    pub reviewers: u8,
    /// Tokens of a chunk, 256 to 512; default 384.
    #[serde(default = "chunk")]
    pub chunk_tokens: u32,
    /// Who may do what: `any`, `caller:NAME`, `role:NAME` or `tenant:NAME`. The Cedar policies in the
    /// same folder have to permit it too.
    pub access: Access,
}

/// Whose units a caller sees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// Those of everybody in the tenant.
    #[default]
    Tenant,
    /// One's own.
    Caller,
}

/// Who may do what with a collection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Recall, Context, Get, List, Explain.
    pub read: Vec<String>,
    /// Remember, Forget of one's own, Consolidate.
    pub write: Vec<String>,
    /// Review and forgetting what others wrote.
    pub review: Vec<String>,
}

/// One field of metadata.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Its type.
    #[serde(rename = "type")]
    pub form: Form,
    /// Whether a unit without it is refused; default true.
    #[serde(default = "yes")]
    pub required: bool,
    /// The only values; empty for any.
    #[serde(default, rename = "enum")]
    pub values: Vec<String>,
    /// What it means, for people.
    #[serde(default)]
    pub description: String,
}

/// Types of metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Text of one line.
    Text,
    /// A list of texts.
    Texts,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A date or a time; kept as an instant, RFC 3339 in UTC.
    Time,
}

/// How many values an attribute of an entity has at one time.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Attribute {
    /// See [`Values`].
    pub values: Values,
    /// Relative difference up to which two numbers are the same; default 0.
    #[serde(default)]
    pub tolerance: String,
}

/// How many values an attribute has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Values {
    /// Any number: nothing contradicts.
    Many,
    /// One: another value in an overlapping time is a conflict.
    One,
    /// One after the other: what holds from later on takes the place of what held before, from then on.
    Successive,
}

fn utc() -> String {
    "UTC".to_owned()
}
const fn yes() -> bool {
    true
}
const fn one() -> u8 {
    1
}
const fn chunk() -> u32 {
    384
}

impl Collection {
    /// Whether it takes what comes from this source.
    pub fn takes_source(&self, source: &str) -> bool {
        self.sources.iter().any(|pattern| check::fits(pattern, source))
    }

    /// What is redacted.
    pub fn rules(&self) -> crate::mask::Rules {
        let Some(names) = &self.redact else { return crate::mask::Rules::USUAL };
        crate::mask::Rules::from(
            names.iter().filter_map(|name| check::kind(name)).collect::<Vec<_>>(),
        )
    }

    /// Time zone of dates and times that name none.
    pub fn zone(&self) -> jiff::tz::TimeZone {
        // Checked when the file was read.
        jiff::tz::TimeZone::get(&self.time_zone).unwrap_or(jiff::tz::TimeZone::UTC)
    }
}

/// A duration that need not be there.
mod optional {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::config::duration::parse;

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| parse(&text).map_err(D::Error::custom)).transpose()
    }

    pub(super) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.collect_str(&format_args!("{value:?}")),
            None => to.serialize_none(),
        }
    }
}
