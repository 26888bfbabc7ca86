//! Which operations of a document are meant: by id, tag, method and path. Says no word on whether
//! they can be used; entries that match nothing are remarked on, as they are most likely misspelt.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::refs::Spot;
use super::report::{ImportReport, Note};
use super::{Candidate, Settings};

/// Which operations are meant; an empty list says nothing.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::catalog) struct Filter {
    /// Operation ids, or `METHOD /path`; `*` stands for any characters.
    operations: BTreeSet<String>,
    tags: BTreeSet<String>,
    methods: BTreeSet<String>,
    /// Path templates; `*` stands for any characters but `/`, `**` for any.
    paths: BTreeSet<String>,
}

/// One entry of a filter.
#[derive(Debug, Clone, Copy)]
enum Entry<'f> {
    Operation(&'f str),
    Tag(&'f str),
    Method(&'f str),
    Path(&'f str),
}

impl Entry<'_> {
    fn matches(self, candidate: &Candidate<'_>) -> bool {
        let Candidate { method, path, .. } = candidate;
        match self {
            Self::Operation(pattern) => {
                let names = [candidate.label(), format!("{method} {path}")];
                names.iter().any(|name| pattern == name || like(pattern, name, true))
            }
            Self::Tag(tag) => {
                let tags = candidate.operation.get("tags");
                tags.iter().flat_map(Spot::items).any(|own| own.value.as_str() == Some(tag))
            }
            Self::Method(own) => own.eq_ignore_ascii_case(method),
            Self::Path(pattern) => pattern == *path || like(pattern, path, false),
        }
    }
}

impl Filter {
    /// The entries by kind, with the kind's name.
    fn kinds(&self) -> [(&'static str, Vec<Entry<'_>>); 4] {
        [
            ("operations", self.operations.iter().map(|text| Entry::Operation(text)).collect()),
            ("tags", self.tags.iter().map(|text| Entry::Tag(text)).collect()),
            ("methods", self.methods.iter().map(|text| Entry::Method(text)).collect()),
            ("paths", self.paths.iter().map(|text| Entry::Path(text)).collect()),
        ]
    }

    /// What each kind that says something says of an operation.
    fn says(&self, candidate: &Candidate<'_>) -> Vec<bool> {
        let said = self.kinds().into_iter().filter(|(_, entries)| !entries.is_empty());
        said.map(|(_, entries)| entries.iter().any(|entry| entry.matches(candidate))).collect()
    }
}

/// Whether an operation fits every kind of `include` and none of `exclude`.
pub(super) fn wanted(candidate: &Candidate<'_>, settings: &Settings) -> bool {
    settings.include.says(candidate).into_iter().all(|yes| yes)
        && !settings.exclude.says(candidate).into_iter().any(|yes| yes)
}

/// Remarks on the entries that no operation fits.
pub(super) fn check(settings: &Settings, candidates: &[Candidate<'_>], report: &mut ImportReport) {
    for (table, filter) in [("include", &settings.include), ("exclude", &settings.exclude)] {
        for (kind, entries) in filter.kinds() {
            for entry in entries {
                if candidates.iter().any(|candidate| entry.matches(candidate)) {
                    continue;
                }
                let (Entry::Operation(text)
                | Entry::Tag(text)
                | Entry::Method(text)
                | Entry::Path(text)) = entry;
                let message = format!("`{text}` fits no operation of the document");
                report.remarks.push(Note::new(format!("{table}.{kind}"), message));
            }
        }
    }
}

/// Whether a text fits a pattern. Takes time in proportion to both lengths, whatever they hold.
fn like(pattern: &str, text: &str, across: bool) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    // Row by row: which beginnings of the text the pattern so far can end at.
    let mut ends = vec![false; text.len() + 1];
    if let Some(first) = ends.first_mut() {
        *first = true;
    }
    let mut at = 0;
    while let Some(c) = pattern.get(at) {
        let double = *c == '*' && pattern.get(at + 1) == Some(&'*');
        let any = |c: &char| double || across || *c != '/';
        let mut next = vec![false; text.len() + 1];
        let mut open = false;
        for (place, slot) in next.iter_mut().enumerate() {
            let here = ends.get(place) == Some(&true);
            let before = place.checked_sub(1).and_then(|before| text.get(before));
            if *c == '*' {
                open = here || (open && before.is_some_and(any));
                *slot = open;
            } else {
                let fits = place.checked_sub(1).and_then(|before| ends.get(before)) == Some(&true);
                *slot = fits && before == Some(c);
            }
        }
        ends = next;
        at += if double { 2 } else { 1 };
    }
    ends.last() == Some(&true)
}
