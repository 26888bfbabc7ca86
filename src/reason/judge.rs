//! Contradicting results, as evidence packs in; a ruling, and its record, out.
