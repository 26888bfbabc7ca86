//! JSON text in place of an object or an array that ends too early: a value and the types that are wanted
//! there in, whether it is such a text out.

use serde_json::Value;

use crate::schema::flaw::FlawKind;
use crate::schema::reader::read;
use crate::schema::{BOUNDS, MAX_ARGUMENTS_BYTES};

/// Whether a value is the first part of the JSON text of what is wanted. Only where no text is: `types`
/// are the names of those that are.
pub(super) fn is_cut(value: &Value, types: &[String]) -> bool {
    let wants = |name: &str| types.iter().any(|one| one == name);
    let Value::String(text) = value else { return false };
    let begins = match text.trim_start().bytes().next() {
        Some(b'{') => wants("object"),
        Some(b'[') => wants("array"),
        _ => false,
    };
    begins
        && !wants("string")
        && text.len() <= MAX_ARGUMENTS_BYTES
        && read(text, BOUNDS).is_err_and(|flaw| flaw.kind == FlawKind::Truncated)
}
