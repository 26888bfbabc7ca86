//! A file that goes with a call, or that a tool gives: content with name, media type and digest.
//! Knows nothing of where it lies.

use std::collections::HashSet;
use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::digest_of;

/// Whether a text can be the name of a file: 1 to 128 characters of `A-Z a-z 0-9 . _ -`, of which the
/// first is neither `.` nor `-`, and the last no `.`.
pub use switchboard_runner::file::is_name as is_file_name;

/// Why some names cannot be those of the files of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadName<'n> {
    /// It is no name of a file.
    Illegal(&'n str),
    /// It is there twice, whatever the case.
    Twice(&'n str),
}

/// Checks that each name can be that of a file, and none is there twice, whatever the case.
pub fn check_names<'n>(names: impl IntoIterator<Item = &'n String>) -> Result<(), BadName<'n>> {
    let mut seen = HashSet::new();
    for name in names {
        if !is_file_name(name) {
            return Err(BadName::Illegal(name));
        }
        if !seen.insert(name.to_ascii_lowercase()) {
            return Err(BadName::Twice(name));
        }
    }
    Ok(())
}

/// Most bytes of all files of one call together, each way. The wire's limits are made for it.
pub const MAX_FILES_BYTES: u64 = 16 << 20;
/// Most files of one call, each way.
pub const MAX_FILES: u32 = 64;
/// The media type of what is neither known nor text.
const UNKNOWN: &str = "application/octet-stream";

/// A file. Clones share the content.
#[derive(Clone, PartialEq)]
pub struct File {
    /// What is said of it.
    pub facts: FileFacts,
    /// Its bytes.
    pub content: Bytes,
}

/// What is said of a file where its content does not go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// Name, without any folder.
    pub name: String,
    /// Media type, lower case, without parameters.
    pub media_type: String,
    /// Length.
    pub bytes: u64,
    /// SHA-256 in hex.
    pub sha256: String,
}

impl File {
    /// A file. An empty `media_type` stands for what the content shows. Reads the whole content: some
    /// 3 ms a MiB where the processor does not help.
    pub fn new(name: impl Into<String>, media_type: &str, content: Bytes) -> Self {
        let media_type = match media_type {
            "" => detect(&content).to_owned(),
            declared => declared.to_ascii_lowercase(),
        };
        let facts = FileFacts {
            name: name.into(),
            media_type,
            bytes: u64::try_from(content.len()).unwrap_or(u64::MAX),
            sha256: hex::encode(Sha256::digest(&content)),
        };
        Self { facts, content }
    }

    /// The media type that the content shows.
    pub fn detected(&self) -> &'static str {
        detect(&self.content)
    }

    /// Whether the content is of the media type that the file has, as far as its first bytes can show
    /// it. A type that has no such sign, for example `text/csv`, is believed.
    pub fn is_plausible(&self) -> bool {
        let media_type = &self.facts.media_type;
        !infer::is_mime_supported(media_type) || infer::is_mime(&self.content, media_type)
    }
}

/// The media type that content shows.
fn detect(content: &[u8]) -> &'static str {
    if let Some(kind) = infer::get(content) {
        return kind.mime_type();
    }
    match std::str::from_utf8(content) {
        Ok(text) if !text.contains('\0') => "text/plain",
        Ok(_) | Err(_) => UNKNOWN,
    }
}

/// Digest over the files of a call and the names of those it wants back; empty without any.
pub(super) fn digest(files: &[File], wanted: &[String]) -> String {
    if files.is_empty() && wanted.is_empty() {
        return String::new();
    }
    let count = files.len().to_string();
    let facts = files.iter().flat_map(|file| {
        let FileFacts { name, media_type, sha256, .. } = &file.facts;
        [name, media_type, sha256]
    });
    hex::encode(digest_of(std::iter::once(&count).chain(facts).chain(wanted)))
}

impl fmt::Debug for File {
    // The content may be secret, and is long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.facts.fmt(f)
    }
}
