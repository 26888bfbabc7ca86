//! What goes wrong between the tables and the store's face: errors of the engine and of what is in
//! the rows, told in the words of the contract once the file is known.

use std::path::Path;

use super::super::Error;
use super::file;

/// Why work on the tables failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The engine said no.
    Engine(rusqlite::Error),
    /// A row holds what no version of the product wrote.
    Broken(String),
    /// It is not asked rightly.
    Asked(Error),
}

impl Fault {
    /// The fault as the contract has it.
    pub(super) fn told(self, path: &Path) -> Error {
        match self {
            Self::Engine(error) => file::told(&error, path),
            Self::Broken(reason) => Error::Damaged {
                place: file::place(path),
                reason: format!("{reason}; {}", file::MEND),
            },
            Self::Asked(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Asked(error)
    }
}

/// Text that was written as JSON.
pub(super) fn json<T: serde::Serialize>(value: &T) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|error| Fault::Asked(Error::Engine(error.to_string())))
}

/// A value out of its JSON.
pub(super) fn parsed<T: serde::de::DeserializeOwned>(text: &str, what: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| Fault::Broken(format!("{what}: {error}")))
}
