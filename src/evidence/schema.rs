//! The JSON Schema of traces, and the digests inside of them.

use serde::Serialize;
use serde_json::Value as Json;

use super::trace::{Item, Trace};
use crate::schema::{canonical, digest};

/// The schema as it is shipped.
const TEXT: &str = include_str!("../../proto/switchboard/reason/v1/trace.schema.json");

/// The JSON Schema of a [`Trace`], draft 2020-12.
pub fn schema() -> Json {
    serde_json::from_str(TEXT).unwrap_or_default()
}

/// The schema as the text of its file.
pub const fn schema_text() -> &'static str {
    TEXT
}

/// SHA-256 in hex over the canonical JSON (RFC 8785) of a value without one of its members.
fn digest_without(value: &impl Serialize, member: &str) -> String {
    let mut json = serde_json::to_value(value).unwrap_or_default();
    if let Some(all) = json.as_object_mut() {
        all.shift_remove(member);
    }
    digest(&canonical(&json))
}

/// The digest of evidence: over all of it but `digest`.
pub(super) fn item_digest(item: &Item) -> String {
    digest_without(item, "digest")
}

/// The seal of a trace: over all of it but `seal`.
pub(super) fn seal(trace: &Trace) -> String {
    digest_without(trace, "seal")
}
