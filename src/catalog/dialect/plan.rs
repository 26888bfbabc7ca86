//! What the way back goes by and depends on a tool and a dialect alone: a schema in, a [`Plan`] out. It is
//! made for the first call and goes with the tool, so a new catalog begins without any.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use serde_json::Value;

use super::lent::lent;
use super::names::Keys;
use super::{Dialect, strict};
use crate::catalog::Tool;

/// What the way back of one tool in one dialect goes by: nothing but names of the schema.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) keys: Keys,
    /// Whether the tool is exported in strict mode.
    pub(super) strict: bool,
    /// Members of the root that only some alternatives have, and none of them as null.
    pub(super) lent: BTreeSet<String>,
}

/// The plans of one tool, each made for the first call in its dialect; a tool that is only told has none.
/// They hold no more than the names in its schema that a dialect exports under others, and those that
/// alternatives lend. A clone begins without any, since a tool's copy may be changed.
#[derive(Debug, Default)]
pub struct Plans(OnceLock<Box<Slots>>);

#[derive(Debug, Default)]
struct Slots {
    openai: OnceLock<Plan>,
    openai_strict: OnceLock<Plan>,
    anthropic: OnceLock<Plan>,
    gemini: OnceLock<Plan>,
    plain: OnceLock<Plan>,
}

impl Plan {
    pub(super) fn make(root: &Value, dialect: Dialect) -> Self {
        Self {
            keys: Keys::of_schema(root, dialect),
            strict: dialect == Dialect::OpenaiStrict && strict::refusal(root).is_empty(),
            lent: lent(root),
        }
    }
}

impl Clone for Plans {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Tool {
    /// What the way back of this tool in a dialect goes by; kept from now on.
    pub(super) fn plan(&self, dialect: Dialect) -> &Plan {
        let slots = self.plans.0.get_or_init(Box::default);
        let slot = match dialect {
            Dialect::Openai => &slots.openai,
            Dialect::OpenaiStrict => &slots.openai_strict,
            Dialect::Anthropic => &slots.anthropic,
            Dialect::Gemini => &slots.gemini,
            Dialect::Plain => &slots.plain,
        };
        slot.get_or_init(|| Plan::make(&self.input_schema, dialect))
    }
}
