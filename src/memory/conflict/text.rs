//! Statements of two texts about the same thing, held against each other. Two are compared only where
//! they use the same words, but for a modifier that changes nothing: what one says more makes it
//! another statement, and so does a condition.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::clause::{Bound, Clause, Quantity, clauses, words};
use super::lexicon::{is_dated, is_neutral};
use crate::memory::unit::Draft;

/// Relative difference up to which two numbers are the same, and with `about` in front.
const SAME: f64 = 0.005;
const NEARLY: f64 = 0.1;
/// The same between days and months.
const CALENDAR: f64 = 0.04;

/// Pairs of clauses of two texts that are compared; what is left is taken for no contradiction.
const COMPARED: usize = 1 << 14;
/// Readings that are kept: the writes of a batch are held against the same few units.
const READINGS: usize = 256;

static KEEPER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
static KEPT: LazyLock<Mutex<HashMap<u64, Arc<Reading>>>> = LazyLock::new(Mutex::default);

/// The statements in the text of a unit.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::memory) struct Reading {
    clauses: Vec<Clause>,
}

impl Reading {
    /// Reads text and value of a draft.
    pub(in crate::memory) fn of(draft: &Draft) -> Self {
        let mut all = clauses(&draft.text);
        all.extend(clauses(&draft.value));
        all.retain(|clause| !clause.excepts);
        Self { clauses: all }
    }

    /// Whether there is nothing to compare.
    pub(in crate::memory) const fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }

    /// The reading of a draft, kept for the next that is held against the same.
    fn kept(draft: &Draft) -> Arc<Self> {
        let key = KEEPER.hash_one((&draft.text, &draft.value));
        let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept().get(&key) {
            return Arc::clone(known);
        }
        let read = Arc::new(Self::of(draft));
        let mut all = kept();
        if all.len() >= READINGS {
            all.clear();
        }
        all.insert(key, Arc::clone(&read));
        read
    }

    /// In what the text of `two` contradicts this reading, of `one`.
    pub(super) fn against(&self, one: &Draft, two: &Draft) -> Option<String> {
        let other = Self::kept(two);
        let context = context(one, two);
        let (ours, theirs) =
            (by_subject(&self.clauses, &context), by_subject(&other.clauses, &context));
        let mut looks = COMPARED;
        for left in &self.clauses {
            let subject = subject(left, &context);
            let Some(others) = theirs.get(&subject) else { continue };
            let own = ours.get(&subject).map(Vec::as_slice).unwrap_or_default();
            looks = looks.checked_sub(others.len() * 2)?;
            // A text that says both is not held against one of them.
            if others.iter().any(|more| agrees(left, more, &context)) {
                continue;
            }
            for right in others {
                let Some(what) = clash(left, right, &context) else { continue };
                looks = looks.checked_sub(own.len())?;
                if !own.iter().any(|more| agrees(right, more, &context)) {
                    return Some(format!("{what}: `{}` here, `{}` there", left.text, right.text));
                }
            }
        }
        None
    }
}

/// What a clause is about: whether it holds always, and its words but for those that both speak of
/// anyway and modifiers. Only clauses about the same can be compared.
type Subject<'c> = (bool, Vec<&'c str>);

fn subject<'c>(clause: &'c Clause, context: &BTreeSet<String>) -> Subject<'c> {
    let words = clause.words.iter().map(String::as_str);
    (clause.when, words.filter(|word| !context.contains(*word) && !is_neutral(word)).collect())
}

fn by_subject<'c>(
    clauses: &'c [Clause],
    context: &BTreeSet<String>,
) -> HashMap<Subject<'c>, Vec<&'c Clause>> {
    let mut all: HashMap<Subject<'c>, Vec<&'c Clause>> = HashMap::new();
    for clause in clauses {
        all.entry(subject(clause, context)).or_default().push(clause);
    }
    all
}

/// Words that both speak of anyway: titles and entities.
fn context(one: &Draft, two: &Draft) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for draft in [one, two] {
        all.extend(words(&draft.key));
        for entity in &draft.entities {
            all.extend(words(&entity.value));
            all.extend(words(&entity.kind));
        }
    }
    all
}

/// Whether two clauses state something about the same property.
fn comparable(one: &Clause, two: &Clause, context: &BTreeSet<String>) -> bool {
    if one.when != two.when {
        return false;
    }
    let extra = |left: &Clause, right: &Clause| -> Vec<String> {
        let more = left.words.difference(&right.words).filter(|word| !context.contains(*word));
        more.cloned().collect()
    };
    let (left, right) = (extra(one, two), extra(two, one));
    let neutral = |words: &[String]| words.iter().all(|word| is_neutral(word));
    if !neutral(&left) || !neutral(&right) || !(left.is_empty() || right.is_empty()) {
        return false;
    }
    let shared = one.words.intersection(&two.words).any(|word| !context.contains(word));
    let bare = |clause: &Clause| clause.words.iter().all(|word| context.contains(word));
    // Of one thing, words of its title can be the property.
    let titled = one.words.intersection(&two.words).next().is_some();
    shared || titled || (bare(one) && bare(two))
}

fn clash(one: &Clause, two: &Clause, context: &BTreeSet<String>) -> Option<&'static str> {
    if !comparable(one, two, context) {
        return None;
    }
    match numbers(one, two) {
        Numbers::Unclear => return None,
        Numbers::Differ => return (one.denies == two.denies).then_some("another number"),
        Numbers::None | Numbers::Same => {}
    }
    if times(one, two) == Some(false) {
        return (one.denies == two.denies).then_some("another date or time");
    }
    let said = one.words.intersection(&two.words).any(|word| !context.contains(word));
    (one.denies != two.denies && said).then_some("one denies what the other states")
}

/// Whether a clause says the same as another.
fn agrees(one: &Clause, two: &Clause, context: &BTreeSet<String>) -> bool {
    comparable(one, two, context)
        && one.denies == two.denies
        && matches!(numbers(one, two), Numbers::None | Numbers::Same)
        && times(one, two) != Some(false)
        && one.days.len() == two.days.len()
        && one.clocks.len() == two.clocks.len()
}

/// How the quantities of two clauses stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// There are none.
    None,
    Same,
    /// One differs, and all others are the same.
    Differ,
    /// What belongs to what is not known, or several differ: then one tells when the other holds.
    Unclear,
}

fn numbers(one: &Clause, two: &Clause) -> Numbers {
    let names = |clause: &Clause| -> BTreeSet<String> {
        clause.quantities.iter().map(|one| one.dimension.clone()).collect()
    };
    let of = |clause: &Clause, dimension: &str| -> Vec<Quantity> {
        clause.quantities.iter().filter(|one| one.dimension == dimension).cloned().collect()
    };
    let dimensions = names(one);
    if dimensions != names(two) || one.quantities.len() != two.quantities.len() {
        return Numbers::Unclear;
    }
    let mut different = 0;
    for dimension in &dimensions {
        let (left, right) = (of(one, dimension), of(two, dimension));
        if left.len() != right.len() {
            return Numbers::Unclear;
        }
        different += left.iter().zip(&right).filter(|(left, right)| differ(left, right)).count();
    }
    match different {
        0 if dimensions.is_empty() => Numbers::None,
        0 => Numbers::Same,
        1 => Numbers::Differ,
        _ => Numbers::Unclear,
    }
}

fn differ(one: &Quantity, two: &Quantity) -> bool {
    let near = match (one.bound, two.bound) {
        (Bound::Nearly, _) | (_, Bound::Nearly) => NEARLY,
        _ if one.dimension.is_empty() || one.dimension.starts_with("count") => 0.0,
        _ if one.calendar != two.calendar => CALENDAR,
        _ => SAME,
    };
    let slack = |left: f64, right: f64| near * left.abs().max(right.abs()) + f64::EPSILON;
    let apart = |left: f64, right: f64| right - left > slack(left, right);
    let ((low, high), (least, most)) = (one.range, two.range);
    match (one.bound, two.bound) {
        (Bound::Most, Bound::Most) | (Bound::Least, Bound::Least) => {
            apart(high, most) || apart(most, high)
        }
        (Bound::Most, Bound::Least) => apart(high, least),
        (Bound::Least, Bound::Most) => apart(most, low),
        (Bound::Most, _) => apart(high, least),
        (_, Bound::Most) => apart(most, low),
        (Bound::Least, _) => apart(most, low),
        (_, Bound::Least) => apart(high, least),
        _ => {
            let inside = !apart(low, least) && !apart(most, high);
            let around = !apart(least, low) && !apart(high, most);
            !inside && !around
        }
    }
}

/// Whether dates and clock times are the same; `None` where there are none to compare.
fn times(one: &Clause, two: &Clause) -> Option<bool> {
    let dated = |clause: &Clause| clause.words.iter().any(|word| is_dated(word));
    if !dated(one) || !dated(two) {
        return None;
    }
    let days = !one.days.is_empty() && one.days.len() == two.days.len();
    let clocks = !one.clocks.is_empty() && one.clocks.len() == two.clocks.len();
    let same_days = one.days.iter().zip(&two.days).all(|(left, right)| left.agrees(right));
    match (days, clocks) {
        (false, false) => None,
        _ => Some((!days || same_days) && (!clocks || one.clocks == two.clocks)),
    }
}
