//! What can be told of a write from itself alone: whether it reads like instructions to a model, its
//! chunks, and the statements in its text. Takes time with the length of its texts.

use std::sync::Arc;

use crate::memory::chunk::chunk;
use crate::memory::collection::Collection;
use crate::memory::conflict::{self, Reading};
use crate::memory::gate::{Ruling, texts, word};
use crate::memory::guard::{self, judge};
use crate::memory::store::{Chunk, Write};
use crate::memory::unit::{Draft, Origin};

/// Findings that are told.
const REASONS: usize = 8;

/// A write with all that it says itself.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) write: Arc<Write>,
    pub(super) ruling: Ruling,
    pub(super) collection: Arc<Collection>,
    /// Why it is to be quarantined; empty when it is not.
    pub(super) suspicions: Vec<String>,
    pub(super) chunks: Vec<Chunk>,
    pub(super) reading: Reading,
    /// What it speaks of.
    pub(super) marks: Vec<String>,
}

/// Looks at a write; `None` when its ruling cannot be read, which is none that this program wrote.
pub(super) fn prepare(write: Arc<Write>, collection: Arc<Collection>) -> Option<Prepared> {
    let ruling: Ruling = serde_json::from_str(&write.ruling).ok()?;
    let tokens = usize::try_from(collection.chunk_tokens).unwrap_or_default();
    let chunks = chunk(&write.draft, tokens, &collection.zone());
    // A person decided about what is amended.
    let amended = ruling.amend.is_some();
    let suspicions = if amended { Vec::new() } else { suspicions(&write.draft, ruling.origin) };
    let reading = if amended { Reading::default() } else { Reading::of(&write.draft) };
    let marks = conflict::marks(&write.draft, &collection);
    Some(Prepared { write, ruling, collection, suspicions, chunks, reading, marks })
}

fn suspicions(draft: &Draft, origin: Origin) -> Vec<String> {
    let whole = judge(&words(draft), origin);
    // What is written or shown on an image was said outside, whoever brings the image.
    let shown = judge(&draft.image_words().join("\n"), origin.max(Origin::File));
    let Some(judgement) = [whole, shown].into_iter().find(|one| one.hold) else {
        return Vec::new();
    };
    let tell = |finding: &guard::Finding| {
        format!("reads like an instruction ({}): {}", word(&finding.rule), finding.excerpt)
    };
    let mut found: Vec<String> = judgement.findings.iter().map(tell).take(REASONS).collect();
    if found.is_empty() {
        found.push("reads like instructions to a model".to_owned());
    }
    found
}

/// Every text of a draft that a model may come to read.
fn words(draft: &Draft) -> String {
    let mut all = texts(draft);
    let members = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => vec![text.clone()],
        serde_json::Value::Array(all) => {
            all.iter().filter_map(|one| Some(one.as_str()?.to_owned())).collect()
        }
        _ => Vec::new(),
    };
    let metadata: Vec<String> = draft.metadata.values().flat_map(members).collect();
    all.extend(metadata.iter().map(String::as_str));
    all.retain(|text| !text.is_empty());
    all.join("\n")
}
