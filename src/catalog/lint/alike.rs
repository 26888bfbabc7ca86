//! Tools that cannot be told apart by their descriptions. All descriptions in, for each the ones that
//! say the same out; the work grows with what is alike, not with the square of the catalog.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::words::words;

/// Two descriptions that share this much of their words cannot be told apart.
const ALIKE: f64 = 0.9;
/// Most pairs that are compared; beyond it, what was not compared is not reported.
const MAX_PAIRS: usize = 1_000_000;

/// For each text that has a twin: its place, that of the first twin, and how many there are.
pub(super) fn twins(texts: &[&str]) -> Vec<(usize, usize, usize)> {
    // Equal bags of words are one: a document may describe thousands of operations the same.
    let mut groups: BTreeMap<BTreeSet<String>, Vec<usize>> = BTreeMap::new();
    for (place, text) in texts.iter().enumerate() {
        groups.entry(words(text)).or_default().push(place);
    }
    let groups: Vec<(BTreeSet<String>, Vec<usize>)> = groups.into_iter().collect();
    let mut near: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (one, two) in pairs(&groups) {
        near.entry(one).or_default().insert(two);
        near.entry(two).or_default().insert(one);
    }
    let mut found = Vec::new();
    for (index, (_, own)) in groups.iter().enumerate() {
        let others = near.get(&index).into_iter().flatten().filter_map(|other| groups.get(*other));
        let others: Vec<usize> = others.flat_map(|(_, places)| places.iter().copied()).collect();
        for place in own {
            let first = own.iter().copied().find(|other| other != place);
            let first = first.into_iter().chain(others.iter().copied()).min();
            let count = own.len() + others.len() - 1;
            found.extend(first.map(|first| (*place, first, count)));
        }
    }
    found
}

/// Groups whose words are nearly the same. Two sets that share nine tenths of their words share one of
/// the rarest tenth of each, so that only those are looked up.
fn pairs(groups: &[(BTreeSet<String>, Vec<usize>)]) -> Vec<(usize, usize)> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for word in groups.iter().flat_map(|(bag, _)| bag) {
        *uses.entry(word).or_default() += 1;
    }
    let mut holders: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut found = Vec::new();
    let mut left = MAX_PAIRS;
    for (index, (bag, _)) in groups.iter().enumerate() {
        let mut rare: Vec<&str> = bag.iter().map(String::as_str).collect();
        rare.sort_by_key(|word| (uses.get(word).copied().unwrap_or_default(), *word));
        // At most a tenth may differ, and one word more is then shared.
        rare.truncate(bag.len() / 10 + 1);
        let mut seen = HashSet::new();
        for word in rare {
            let known = holders.entry(word).or_default();
            for other in known.iter().filter(|other| seen.insert(**other)) {
                let Some(rest) = left.checked_sub(1) else {
                    return found;
                };
                left = rest;
                if groups.get(*other).is_some_and(|(twin, _)| similarity(bag, twin) >= ALIKE) {
                    found.push((*other, index));
                }
            }
            known.push(index);
        }
    }
    found
}

/// Shared words, as a part of all words.
fn similarity(one: &BTreeSet<String>, two: &BTreeSet<String>) -> f64 {
    let shared = u32::try_from(one.intersection(two).count()).unwrap_or(u32::MAX);
    let all = u32::try_from(one.union(two).count()).unwrap_or(u32::MAX);
    if all == 0 {
        return 0.0;
    }
    f64::from(shared) / f64::from(all)
}
