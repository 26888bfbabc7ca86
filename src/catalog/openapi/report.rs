//! What became of each operation of a document: imported, adapted (and how), or skipped (and why).

use serde::{Deserialize, Serialize};

/// A remark on one place of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// JSON Pointer of the place, after the file's name when it is not the main document.
    pub place: String,
    /// What was found there and what was done.
    pub message: String,
}

/// Why an operation cannot be used.
pub(super) type Reason = Note;

impl Note {
    pub(super) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

/// One operation that became a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// The tool's name.
    pub tool: String,
    /// The operation's id, or its method and path when it has none.
    pub operation: String,
    /// Upper-case method.
    pub method: String,
    /// Path template as in the document.
    pub path: String,
    /// What had to be changed to make a correct tool of it; empty for most.
    pub adapted: Vec<Note>,
    /// The key that it needs, by the document's security schemes, and how to bind it.
    pub needs: Option<Note>,
}

/// One operation that did not become a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The operation's id, or its method and path when it has none.
    pub operation: String,
    /// The place that is in the way.
    pub place: String,
    /// Why.
    pub reason: String,
}

/// What became of a document. Imported, skipped and excluded operations together are all it has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportReport {
    /// The document's title.
    pub title: String,
    /// The version of OpenAPI that it declares; `2.0` for Swagger.
    pub openapi: String,
    /// How many operations it has.
    pub operations: usize,
    /// The operations that became tools.
    pub imported: Vec<Imported>,
    /// The operations that did not.
    pub skipped: Vec<Skipped>,
    /// The operations that the source's filters left out.
    pub excluded: Vec<String>,
    /// What is to be said of the document as a whole, and of filters that match nothing.
    pub remarks: Vec<Note>,
    /// Webhooks and callbacks: calls that the server makes, which are no tools.
    pub ignored: usize,
    /// Its other files that cannot be read, each with the reason.
    #[serde(default)]
    pub broken: Vec<Note>,
    /// Why nothing of the document could be read at all.
    pub error: Option<Note>,
}

impl ImportReport {
    /// The report on what could not be read at all.
    pub(in crate::catalog) fn failed(place: &str, message: String) -> Self {
        Self { error: Some(Note::new(place, message)), ..Self::default() }
    }
}
