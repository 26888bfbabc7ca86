//! Triggers of one tenant's versions, in memory: a question in, the versions whose trigger it is, or
//! whose trigger's words it contains, out. Versions are known by their place.

use std::collections::{HashMap, HashSet};

use super::postings::index;
use super::words::{self, Bag};

/// The triggers.
#[derive(Debug, Default)]
pub(super) struct Triggers {
    /// By all words in their order.
    whole: HashMap<String, Vec<u32>>,
    /// By each of their terms.
    terms: HashMap<Box<str>, Vec<u32>>,
    /// The version, and how many terms there are.
    about: Vec<(u32, u32)>,
}

impl Triggers {
    /// Adds one trigger of a version; one without any word or sign is never met.
    pub(super) fn add(&mut self, version: u32, text: &str) {
        let terms = words::ask(text);
        if terms.is_empty() {
            return;
        }
        let own = u32::try_from(self.about.len()).unwrap_or(u32::MAX);
        self.about.push((version, u32::try_from(terms.len()).unwrap_or(u32::MAX)));
        for term in terms {
            self.terms.entry(term.into()).or_default().push(own);
        }
        let whole = words::series(text).join(" ");
        if !whole.is_empty() {
            self.whole.entry(whole).or_default().push(version);
        }
    }

    /// Versions with the best score of their triggers: 1 for one that is the question; between 0.5 and
    /// 0.9, the more of the question it is, for one whose words the question contains.
    pub(super) fn find(&self, question: &str, counts: &dyn Fn(usize) -> bool) -> Vec<(u32, f64)> {
        let asked = Bag::new(question);
        let mut met: HashMap<u32, u32> = HashMap::new();
        for (term, _) in asked.terms() {
            for trigger in self.terms.get(term).into_iter().flatten() {
                *met.entry(*trigger).or_default() += 1;
            }
        }
        let of = f64::from(u32::try_from(words::ask(question).len().max(1)).unwrap_or(u32::MAX));
        let mut found: HashMap<u32, f64> = HashMap::new();
        for (trigger, terms) in met {
            let Some((version, all)) = self.about.get(index(trigger)) else { continue };
            if terms >= *all && counts(index(*version)) {
                let score = 0.5 + 0.4 * (f64::from(*all) / of).min(1.0);
                let best = found.entry(*version).or_default();
                *best = best.max(score);
            }
        }
        let whole = words::series(question).join(" ");
        let equal: HashSet<u32> = self.whole.get(&whole).into_iter().flatten().copied().collect();
        found.extend(equal.into_iter().filter(|at| counts(index(*at))).map(|at| (at, 1.0)));
        found.into_iter().collect()
    }
}
