//! Which versions a caller can be told of at all: decided by policy, date and filter before anything
//! is ranked. Every layer of every store looks only inside one [`Scope`].

use jiff::Timestamp;
use serde_json::Value;

use super::place;
use super::unit::{Kind, Place, UnitId, Version};
use crate::decimal;

/// What may be found. Both stores answer every question inside it, and lose nothing by it.
#[derive(Debug, Clone, PartialEq)]
pub struct Scope {
    /// The caller's tenant; units of others do not exist.
    pub tenant: String,
    /// Collections that the caller may read, and wants.
    pub collections: Vec<Owned>,
    /// The date that is asked about: what does not hold then is not found.
    pub as_of: Timestamp,
    /// What was known when: versions recorded later, or ended by then, are not found; their states are
    /// those of today. `None`: now.
    pub known_at: Option<Timestamp>,
    /// Kinds that are wanted; empty for all.
    pub kinds: Vec<Kind>,
    /// Conditions on metadata; all must hold.
    pub filters: Vec<Filter>,
    /// Where it has to be.
    pub spot: Option<Spot>,
    /// Also what is held for review; marked in the answer.
    pub held: bool,
    /// Also what is quarantined; only for reviewers.
    pub quarantined: bool,
    /// Also what is archived.
    pub archived: bool,
}

/// A collection, and whose units of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    /// The collection's name.
    pub collection: String,
    /// Only units of this caller; `None` for those of the whole tenant.
    pub owner: Option<String>,
}

/// One condition on metadata. A unit without the field does not meet it.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// The metadata's name, or `source`, `source_id`, `group`, `kind`, `origin`.
    pub field: String,
    /// How it is compared.
    pub compare: Compare,
    /// The values: one, or several for [`Compare::Any`]. Numbers compare as numbers, text by code
    /// points, dates (RFC 3339 text of a date or time field) as instants.
    pub values: Vec<Value>,
}

/// How a filter compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// Equal to one of the values; a list has one of them as a member.
    Any,
    /// Equal to none of them.
    None,
    /// Less than the value.
    Less,
    /// At most the value.
    Most,
    /// More than the value.
    More,
    /// At least the value.
    Least,
}

/// A condition on the place of a unit; distances are geodesics on the WGS 84 ellipsoid.
#[derive(Debug, Clone, PartialEq)]
pub enum Spot {
    /// At most so many metres from a point.
    Within {
        /// Degrees north.
        latitude: f64,
        /// Degrees east.
        longitude: f64,
        /// Metres.
        metres: f64,
        /// Types of places; empty for all.
        kinds: Vec<String>,
    },
    /// Inside a closed ring of points (latitude, longitude), its edge included; edges are the shorter
    /// way round.
    Inside {
        /// At least three points.
        ring: Vec<(f64, f64)>,
        /// Types of places; empty for all.
        kinds: Vec<String>,
    },
}

impl Spot {
    /// Whether a place meets the condition; none does where it is no spot on the Earth.
    pub fn has(&self, place: &Place) -> bool {
        let point = (place.latitude, place.longitude);
        let (Self::Within { kinds, .. } | Self::Inside { kinds, .. }) = self;
        let here = || match self {
            Self::Within { latitude, longitude, metres, .. } => {
                place::metres((*latitude, *longitude), point) <= *metres
            }
            Self::Inside { ring, .. } => place::Ring::new(ring).is_ok_and(|ring| ring.has(point)),
        };
        (kinds.is_empty() || kinds.contains(&place.kind)) && here()
    }
}

/// The others beside a unit, before it is known where that is.
#[derive(Debug, Clone, PartialEq)]
pub struct Adjacent {
    /// The unit; it has a place.
    pub unit: UnitId,
    /// At most so many metres away from it.
    pub metres: f64,
    /// Types of places; empty for all.
    pub kinds: Vec<String>,
}

impl Scope {
    /// All that is in use in these collections and holds at `as_of`, as it is known now.
    pub fn new(tenant: String, collections: Vec<Owned>, as_of: Timestamp) -> Self {
        Self {
            tenant,
            collections,
            as_of,
            known_at: None,
            kinds: Vec::new(),
            filters: Vec::new(),
            spot: None,
            held: false,
            quarantined: false,
            archived: false,
        }
    }

    /// Whether a version lies in the scope, but for its place, which needs geodesy. What the stores
    /// answer is held against this in their tests.
    pub fn has(&self, version: &Version) -> bool {
        use super::unit::State;
        let owned = self.collections.iter().any(|owned| {
            owned.collection == version.draft.collection
                && owned.owner.as_ref().is_none_or(|owner| *owner == version.owner)
        });
        let known = match self.known_at {
            None => version.ended.is_none(),
            Some(at) => {
                version.recorded <= at && version.ended.as_ref().is_none_or(|end| at < end.at)
            }
        };
        let valid = version.valid_from.is_none_or(|from| from <= self.as_of)
            && version.valid_to.is_none_or(|to| self.as_of < to);
        let used = match version.state {
            State::Active => true,
            State::Held => self.held,
            State::Quarantined => self.quarantined,
            State::Archived => self.archived,
            State::Rejected => false,
        };
        let kind = self.kinds.is_empty() || self.kinds.contains(&version.draft.kind);
        let filters = self.filters.iter().all(|filter| filter.meets(version));
        self.tenant == version.tenant && owned && known && valid && used && kind && filters
    }
}

impl Filter {
    /// Whether a version meets the condition.
    pub fn meets(&self, version: &Version) -> bool {
        let draft = &version.draft;
        let own;
        let value = match self.field.as_str() {
            "source" => {
                own = Value::from(draft.source.clone());
                Some(&own)
            }
            "source_id" => {
                own = Value::from(draft.source_id.clone());
                Some(&own)
            }
            "group" => {
                own = Value::from(draft.group.clone());
                Some(&own)
            }
            "kind" => {
                own = serde_json::to_value(draft.kind).unwrap_or_default();
                Some(&own)
            }
            "origin" => {
                own = serde_json::to_value(version.origin).unwrap_or_default();
                Some(&own)
            }
            name => draft.metadata.get(name),
        };
        value.is_some_and(|value| self.compare.holds(value, &self.values))
    }
}

impl Compare {
    /// Whether a value of a unit stands so to the values that are asked for.
    pub fn holds(self, value: &Value, asked: &[Value]) -> bool {
        use std::cmp::Ordering;
        let any = || match value {
            Value::Array(members) => {
                members.iter().any(|member| asked.iter().any(|one| equal(member, one)))
            }
            single => asked.iter().any(|one| equal(single, one)),
        };
        let order = || asked.first().and_then(|one| compare(value, one));
        match self {
            Self::Any => any(),
            Self::None => !any(),
            Self::Less => order() == Some(Ordering::Less),
            Self::Most => order().is_some_and(Ordering::is_le),
            Self::More => order() == Some(Ordering::Greater),
            Self::Least => order().is_some_and(Ordering::is_ge),
        }
    }
}

fn equal(left: &Value, right: &Value) -> bool {
    compare(left, right).is_some_and(std::cmp::Ordering::is_eq)
}

/// Numbers as numbers, instants as instants, other text by code points; `None` across types.
fn compare(left: &Value, right: &Value) -> Option<std::cmp::Ordering> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => Some(decimal::compare(left, right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (Value::String(left), Value::String(right)) => {
            let instants = || -> Option<(Timestamp, Timestamp)> {
                Some((left.parse().ok()?, right.parse().ok()?))
            };
            Some(instants().map_or_else(|| left.cmp(right), |(left, right)| left.cmp(&right)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Compare;

    #[test]
    fn long_numbers_are_told_apart() {
        let number = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
        let (less, more) = (number("9007199254740992"), number("9007199254740993"));
        assert!(!Compare::Any.holds(&less, std::slice::from_ref(&more)));
        assert!(Compare::None.holds(&less, std::slice::from_ref(&more)));
        assert!(Compare::More.holds(&more, std::slice::from_ref(&less)));
        assert!(!Compare::More.holds(&less, std::slice::from_ref(&less)));
        assert!(Compare::Any.holds(&json!(2), &[number("2.0")]), "spellings do not matter");
    }
}
