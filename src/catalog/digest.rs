//! SHA-256 over canonical JSON: the identity of a tool and of a catalog. Members are sorted as in
//! RFC 8785; numbers keep the spelling they were given.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The digest of a value, in hex.
pub(super) fn digest(value: &Value) -> String {
    let mut hash = Sha256::new();
    feed(value, &mut hash);
    hex::encode(hash.finalize())
}

/// The digest of several values, in this order.
pub(super) fn of_all(values: &[&Value]) -> String {
    let mut hash = Sha256::new();
    for value in values {
        feed(value, &mut hash);
        hash.update(",");
    }
    hex::encode(hash.finalize())
}

/// The digest of a text, in hex.
pub(super) fn of_text(text: &str) -> String {
    of_bytes(text.as_bytes())
}

/// The digest of bytes, in hex.
pub(super) fn of_bytes(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The first `length` hex digits of a text's digest.
pub(super) fn short(text: &str, length: usize) -> String {
    let mut all = of_text(text);
    all.truncate(length);
    all
}

/// Takes text into a digest as it is written.
struct Sink<'h>(&'h mut Sha256);

impl std::io::Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Neither the sink nor plain text can fail.
fn write<T: serde::Serialize + ?Sized>(value: &T, hash: &mut Sha256) {
    serde_json::to_writer(Sink(hash), value).unwrap_or_default();
}

fn feed(value: &Value, hash: &mut Sha256) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => write(value, hash),
        Value::Array(items) => {
            hash.update("[");
            for (index, item) in items.iter().enumerate() {
                hash.update(if index == 0 { "" } else { "," });
                feed(item, hash);
            }
            hash.update("]");
        }
        Value::Object(map) => {
            let mut members: Vec<(&String, &Value)> = map.iter().collect();
            members.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
            hash.update("{");
            for (index, (key, member)) in members.into_iter().enumerate() {
                hash.update(if index == 0 { "" } else { "," });
                write(key.as_str(), hash);
                hash.update(":");
                feed(member, hash);
            }
            hash.update("}");
        }
    }
}
