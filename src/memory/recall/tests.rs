//! What recall makes of what layers find, on plain values.

mod answers;
mod entities;
mod facts;
mod foreign;
mod fusion;
pub(in crate::memory) mod home;
mod models;
mod weights;

use jiff::Timestamp;

use crate::memory::{Draft, Layer, Origin, Recollection, State, Trust, UnitId, Version};

/// A unit with little in it.
pub(in crate::memory) fn draft(text: &str) -> Draft {
    serde_json::from_value(serde_json::json!({
        "collection": "cases", "source": "tickets/1", "source_id": text, "kind": "case",
        "text": text,
    }))
    .unwrap()
}

/// A version of it.
pub(in crate::memory) fn version(seq: i64, text: &str) -> Version {
    let at = |second| Timestamp::from_second(1_700_000_000 + second).unwrap();
    Version {
        unit: UnitId::generate(),
        seq,
        tenant: "acme".to_owned(),
        owner: "uid:1000".to_owned(),
        layer: Layer::Curated,
        draft: draft(text),
        source_time: at(seq),
        valid_from: None,
        valid_to: None,
        recorded: at(seq),
        ended: None,
        state: State::Active,
        trust: Trust(100),
        origin: Origin::Curator,
        digest: String::new(),
        remarks: Vec::new(),
        conflicts: Vec::new(),
        used: None,
        uses: 0,
    }
}

pub(in crate::memory) fn found(version: Version) -> Recollection {
    Recollection {
        passages: vec![(0, version.draft.text.clone())],
        version,
        score: 0.5,
        scores: Vec::new(),
        metres: None,
        withheld: String::new(),
    }
}
