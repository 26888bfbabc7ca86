//! What is wrong with a message: field by field, as much as can be read. Knows bounds of names, and no
//! message.

use tonic::Status;

use super::status;
use crate::memory::When;

/// Bytes of a name: of a collection, a field, a model, a type of places, an entity; and of a time.
const NAME_BYTES: usize = 2048;
/// What is named as wrong; the rest shows once that is mended.
const LISTED: usize = 64;

/// What is wrong with a message, field by field.
#[derive(Debug, Default)]
pub(super) struct Fields {
    named: Vec<(String, String)>,
    /// What is wrong beside them.
    more: usize,
}

impl Fields {
    pub(super) fn wrong(&mut self, field: impl Into<String>, what: impl Into<String>) {
        if self.named.len() < LISTED {
            self.named.push((field.into(), what.into()));
        } else {
            self.more += 1;
        }
    }

    pub(super) fn name(&mut self, field: &str, name: &str) {
        if name.len() > NAME_BYTES {
            self.wrong(field, format!("has {} bytes; at most {NAME_BYTES}", name.len()));
        }
    }

    /// So many names at most, each of a length that is looked up.
    pub(super) fn names(&mut self, field: &str, names: &[String], most: usize) {
        self.most(field, names.len(), most);
        names.iter().take(most).for_each(|name| self.name(field, name));
    }

    pub(super) fn when(&mut self, place: &str, when: &When) {
        let times =
            [("as_of", &when.as_of), ("known_at", &when.known_at), ("time_zone", &when.time_zone)];
        times.into_iter().for_each(|(name, text)| self.name(&format!("{place}{name}"), text));
    }

    pub(super) fn most(&mut self, field: &str, count: usize, most: usize) {
        if count > most {
            self.wrong(field, format!("has {count} items; at most {most}"));
        }
    }

    /// The value, when nothing is wrong.
    pub(super) fn all<T>(self, value: Option<T>) -> Result<T, Status> {
        match value {
            Some(value) if self.named.is_empty() => Ok(value),
            _ => Err(status::fields(&self.named, self.more)),
        }
    }

    /// What is wrong, for an answer of its own.
    pub(super) fn into_list(self) -> Vec<(String, String)> {
        self.named
    }

    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }
}
