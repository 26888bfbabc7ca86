//! Several texts in, one digest of them all out.

use sha2::{Digest, Sha256};

/// SHA-256 over texts and their lengths, which keep apart what would read the same when joined.
pub fn digest_of<T: AsRef<str>>(parts: impl IntoIterator<Item = T>) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        let part = part.as_ref();
        hasher.update(part.len().to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}
