//! From a dialect's terms to the tool's own: a call's arguments as they came in, the same with the
//! tool's names and values out, for the check and for the record. Checks nothing.

use std::borrow::Cow;

use serde_json::Value;

use super::repair::{MAX_UNWRAPS, inner, reading};
use crate::call::{Call, Dialect};
use crate::catalog::{Tool, restore};

/// A value in the tool's own terms.
pub(super) fn own<'v>(dialect: Option<Dialect>, tool: &Tool, value: &'v Value) -> Cow<'v, Value> {
    match dialect {
        Some(dialect) => Cow::Owned(restore(tool, dialect, value.clone())),
        None => Cow::Borrowed(value),
    }
}

/// The text of a call's arguments in the tool's own terms, where they came in a dialect's and can be
/// read at all: what is masked by name has to be found in the record, also of a call that is refused.
pub(crate) fn own_terms(call: &Call, tool: &Tool) -> Option<String> {
    let dialect = call.dialect?;
    let text = &call.arguments_json;
    let read = reading(text).ok().map(|(value, _)| value);
    let mut value = read.or_else(|| serde_json::from_str(text).ok())?;
    for _ in 0..MAX_UNWRAPS {
        let Value::String(text) = &value else { break };
        let Ok(unwrapped) = serde_json::from_str(text) else { break };
        value = unwrapped;
    }
    let value = inner(tool, &value).unwrap_or(value);
    Some(restore(tool, dialect, value).to_string())
}
