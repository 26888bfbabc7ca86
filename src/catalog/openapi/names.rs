//! Names of tools and arguments. A tool's name is a function of its own operation, so that other
//! operations neither rename it nor share it. One exception: an id that a second operation takes is
//! a plain name no more, as it would go to whichever stands first, and every policy with it.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::digest::short;

/// Longest name of a tool.
pub(in crate::catalog) const MAX_NAME: usize = 64;
/// Hex digits of the digest that tells shortened and cleaned names apart.
const MARK: usize = 8;

/// Whether a name can be used as it is.
pub(in crate::catalog) fn is_legal(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(is_plain)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// The name of an operation with an id.
///
/// A legal id is its own name. `/` becomes `__`, which therefore no other name may hold by itself.
/// Everything else is cleaned, and a digest of the whole id is added.
pub(in crate::catalog) fn from_id(prefix: &str, id: &str) -> String {
    let whole = format!("{prefix}{id}");
    if is_legal(&whole) && !id.contains("__") {
        return whole;
    }
    let parts = id.split('/').all(|part| {
        !part.is_empty()
            && part.bytes().all(is_plain)
            && !part.starts_with('_')
            && !part.ends_with('_')
            && !part.contains("__")
    });
    let joined = format!("{prefix}{}", id.replace('/', "__"));
    if parts && is_legal(&joined) {
        return joined;
    }
    marked(prefix, id, id)
}

/// The name of an operation without an id, from its method and path.
pub(super) fn from_path(prefix: &str, method: &str, path: &str) -> String {
    let words = format!("{}{}", method.to_ascii_lowercase(), path.replace(['{', '}'], ""));
    marked(prefix, &words, &format!("{method} {path}"))
}

/// The name of one of several operations that share an id.
pub(super) fn from_shared_id(prefix: &str, id: &str, method: &str, path: &str) -> String {
    marked(prefix, id, &format!("{id} {method} {path}"))
}

fn marked(prefix: &str, words: &str, identity: &str) -> String {
    let mut clean = String::new();
    for c in words.chars() {
        if c.is_ascii() && u8::try_from(c).is_ok_and(is_plain) {
            clean.push(c);
        } else if !clean.ends_with('_') {
            clean.push('_');
        }
    }
    let room = MAX_NAME.saturating_sub(prefix.len() + MARK + 1);
    let kept: String = clean.trim_matches('_').chars().take(room).collect();
    let mark = short(identity, MARK);
    match kept.trim_end_matches('_') {
        "" => format!("{prefix}op_{mark}"),
        kept => format!("{prefix}{kept}_{mark}"),
    }
}

/// Hands out argument names: the first place to ask keeps the plain name.
#[derive(Debug)]
pub(super) struct Arguments {
    wanted: BTreeSet<String>,
    given: BTreeMap<String, &'static str>,
}

impl Arguments {
    /// `wanted` holds every name that some place uses, so that no made-up name can meet one.
    pub(super) fn new(wanted: BTreeSet<String>) -> Self {
        Self { wanted, given: BTreeMap::new() }
    }

    /// The argument for `name` in `place`.
    pub(super) fn claim(&mut self, name: &str, place: &'static str) -> String {
        if !self.given.contains_key(name) {
            self.given.insert(name.to_owned(), place);
            return name.to_owned();
        }
        self.invent(&format!("{name}_{place}"), place)
    }

    /// A name that stands for no single part of the request.
    pub(super) fn invent(&mut self, name: &str, place: &'static str) -> String {
        let mut made = name.to_owned();
        while self.wanted.contains(&made) || self.given.contains_key(&made) {
            made = format!("{made}_{}", short(&made, 4));
        }
        self.given.insert(made.clone(), place);
        made
    }
}
