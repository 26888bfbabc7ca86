//! The one canonical spelling of a JSON value (RFC 8785), and its digest. Unlike the RFC, a number
//! keeps its exact value: two numbers share a spelling only when they are equal.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::decimal::Decimal;

/// The canonical JSON text of `value`: no spaces, keys in UTF-16 order, numbers in one spelling,
/// strings as they are (not normalised).
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// SHA-256 of `text`, in lower-case hex.
pub fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => out.push_str(&value.to_string()),
        Value::Number(number) => match Decimal::parse(number.as_str()) {
            Some(decimal) => out.push_str(&decimal.spell()),
            None => out.push_str(number.as_str()),
        },
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
            out.push('{');
            for (index, (key, item)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                write(item, out);
            }
            out.push('}');
        }
    }
}

/// The digits of a whole number, when `spelling` is one and not beyond all bounds.
pub(super) fn whole(spelling: &str) -> Option<String> {
    Decimal::parse(spelling)?.whole()
}
