//! How alike two versions are: the share of their text that both have. Where anything differs that a reader
//! would go by (a word that says something, numbers, validity, triggers, metadata, owner), they are not
//! alike at all.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::memory::gate::fold;
use crate::memory::unit::{Draft, Version};

/// Characters of a shingle.
const SHINGLE: usize = 4;
/// Hashes of a sketch, in bands of so many: two texts that have 97 % in common agree in a band with
/// 78 %, and so nearly always in one of eight.
const BANDS: usize = 8;
const ROWS: usize = 8;
/// Folded characters below which a text says too little to be merged.
const LITTLE: usize = 24;

/// Hashes of which two versions that are nearly the same share one; none for a short text.
pub(super) fn bands(version: &Version) -> Vec<u64> {
    let shingles = shingles(&version.draft);
    if shingles.len() < LITTLE {
        return Vec::new();
    }
    let rest = hash(&rest(version));
    let row = |at: usize| shingles.iter().map(|one| hash(&(one, at))).min().unwrap_or_default();
    let band = |band: usize| {
        let rows: Vec<u64> = (0..ROWS).map(|at| row(band * ROWS + at)).collect();
        hash(&(rest, band, rows))
    };
    (0..BANDS).map(band).collect()
}

/// The share of their text that both have; `None` where something else differs.
pub(super) fn alike(one: &Version, two: &Version) -> Option<f64> {
    if rest(one) != rest(two) || words(&one.draft) != words(&two.draft) {
        return None;
    }
    let (left, right) = (shingles(&one.draft), shingles(&two.draft));
    let count = |count: usize| u32::try_from(count).map_or(f64::INFINITY, f64::from);
    let shared = count(left.intersection(&right).count());
    let all = count(left.union(&right).count());
    (all > 0.0).then_some(shared / all)
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn shingles(draft: &Draft) -> BTreeSet<u64> {
    let text: Vec<char> = format!("{}{}", fold(&draft.text), fold(&draft.value)).chars().collect();
    text.windows(SHINGLE).map(|window| hash(&window)).collect()
}

/// Everything but the wording.
fn rest(version: &Version) -> (Vec<String>, Vec<String>) {
    let draft = &version.draft;
    let json = |value: serde_json::Result<String>| value.unwrap_or_default();
    let mut metadata: Vec<String> =
        draft.metadata.iter().map(|(name, value)| format!("{name}={value}")).collect();
    metadata.sort();
    let mut entities: Vec<String> =
        draft.entities.iter().map(|one| format!("{}={}", one.kind, fold(&one.value))).collect();
    entities.sort();
    let mut triggers: Vec<String> = draft.triggers.iter().map(|one| fold(one)).collect();
    triggers.sort();
    let fixed = vec![
        version.tenant.clone(),
        draft.collection.clone(),
        version.owner.clone(),
        json(serde_json::to_string(&draft.kind)),
        format!("{:?} {:?}", version.valid_from, version.valid_to),
        metadata.join("\n"),
        entities.join("\n"),
        json(serde_json::to_string(&draft.facts)),
        json(serde_json::to_string(&draft.place)),
        json(serde_json::to_string(&draft.images)),
        json(serde_json::to_string(&draft.tables)),
        fold(&draft.key),
        triggers.join("\n"),
        fold(&draft.speaker),
    ];
    (fixed, figures(draft))
}

/// The words that say something, in order: in a long text one of them (`left` for `right`) is a small share
/// and another statement. A plural is no other word; a character beyond ASCII is one of its own.
fn words(draft: &Draft) -> Vec<String> {
    const EMPTY: [&str; 18] = [
        "a", "an", "the", "of", "and", "also", "is", "are", "be", "been", "being", "will", "shall",
        "that", "which", "its", "的", "了",
    ];
    let text = crate::mask::folded(&format!("{}\n{}", draft.text, draft.value)).to_lowercase();
    let (mut found, mut word) = (Vec::new(), String::new());
    let mut end = |word: &mut String| {
        let plain = word.strip_suffix('s').filter(|rest| rest.len() > 2 && !rest.ends_with('s'));
        if !word.is_empty() && !EMPTY.contains(&word.as_str()) {
            found.push(plain.unwrap_or(word).to_owned());
        }
        word.clear();
    };
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            word.push(c);
            continue;
        }
        end(&mut word);
        if !c.is_ascii() && c.is_alphanumeric() {
            end(&mut String::from(c));
        }
    }
    end(&mut word);
    found
}

/// Numbers, codes and words of denial, in order: one of them changes everything.
fn figures(draft: &Draft) -> Vec<String> {
    const DENIALS: [&str; 10] =
        ["not", "no", "never", "cannot", "without", "n't", "don't", "unless", "except", "only"];
    let text = crate::mask::folded(&format!("{}\n{}", draft.text, draft.value)).to_lowercase();
    let word = |c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '.' | '-'));
    let mut found: Vec<String> = text
        .split(word)
        .map(|part| part.trim_matches(['.', '-', '\'']))
        .filter(|part| part.chars().any(|c| c.is_ascii_digit()) || DENIALS.contains(part))
        .map(str::to_owned)
        .collect();
    let denial =
        |c: &char| matches!(c, '不' | '未' | '无' | '没' | '非' | '禁' | '勿' | '仅' | '只');
    found.extend(text.chars().filter(denial).map(String::from));
    found
}
