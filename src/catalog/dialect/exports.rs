//! Exports that were made before: a tool and a dialect in, its export as text out. Each is made when it
//! is first asked for; what is kept is bounded, and goes with the catalog that it is of.

use std::sync::Arc;

use moka::sync::Cache;
use serde_json::Value;

use super::{Dialect, Export, Loss, define, export};
use crate::catalog::Tool;

/// Bytes of texts that are kept, of all tools and dialects together.
const MAX_KEPT: u64 = 16 << 20;
/// What an entry costs beside its texts, in bytes, about.
const ENTRY: usize = 256;

/// A tool as one provider's model hosts take it, with the definition as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The name that the model sees.
    pub name: String,
    /// The provider's own tool object, as JSON text.
    pub definition: String,
    /// What it does not say as the input schema does, by place.
    pub losses: Vec<Loss>,
}

/// The exports of one catalog's tools, those asked for most often when not all can be kept.
#[derive(Debug)]
pub struct Exports(Cache<String, Arc<Exported>>);

impl Default for Exports {
    fn default() -> Self {
        Self::within(MAX_KEPT)
    }
}

impl Exports {
    /// Keeps texts of at most so many bytes together.
    pub(super) fn within(bytes: u64) -> Self {
        let weigh = |key: &String, one: &Arc<Exported>| {
            u32::try_from(key.len() + one.size()).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().max_capacity(bytes).weigher(weigh).build())
    }

    /// A tool in a dialect, as [`export`] gives it.
    pub fn of(&self, tool: &Tool, dialect: Dialect) -> Arc<Exported> {
        self.0.get_with(format!("{} {dialect}", tool.digest), || export(tool, dialect).into())
    }

    /// A name, a description and a schema in a dialect, as [`define`] gives them.
    pub fn defined(&self, own: (&str, &str), schema: &Value, dialect: Dialect) -> Arc<Exported> {
        let (name, description) = own;
        let key = format!("{name} {description} {schema} {dialect}");
        self.0.get_with(key, || define(own, schema, dialect).into())
    }

    /// Bytes that are kept, once what is over the bound has gone.
    #[cfg(test)]
    pub(super) fn kept(&self) -> u64 {
        self.0.run_pending_tasks();
        self.0.weighted_size()
    }
}

impl From<Export> for Arc<Exported> {
    fn from(export: Export) -> Self {
        let Export { name, definition, losses } = export;
        Self::new(Exported { name, definition: definition.to_string(), losses })
    }
}

impl Exported {
    fn size(&self) -> usize {
        let losses = self
            .losses
            .iter()
            .map(|loss| ENTRY + loss.pointer.len() + loss.keyword.len() + loss.message.len());
        ENTRY + self.name.len() + self.definition.len() + losses.sum::<usize>()
    }
}
