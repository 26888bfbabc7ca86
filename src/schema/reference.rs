//! References inside one schema, followed as the validator follows them: a reference in, the place that
//! it names out. Loads nothing.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// The JSON Pointer in a reference to the same schema.
pub(super) fn pointer_of(reference: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(reference.strip_prefix('#')?).decode_utf8().ok()
}

/// The place in `root` that a reference names.
pub(crate) fn follow<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    root.pointer(&pointer_of(reference)?)
}
