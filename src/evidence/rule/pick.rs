//! Picks the rule for a question: words and patterns, then the date, then the most specific. Two that fit
//! equally are a refusal.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::Timestamp;
use regex::{Regex, RegexBuilder};

use super::{Loaded, Rules, When};
use crate::evidence::read;

/// Largest compiled pattern, in bytes.
const PATTERN: usize = 256 * 1024;

/// Why no rule can be picked, though some fit the words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Several fit equally.
    #[error(
        "rules {ids} fit the question equally well: ask more precisely, or give one of them more words in `when`"
    )]
    Equal {
        /// Their ids.
        ids: String,
    },
    /// None of those that fit is in force.
    #[error(
        "rule {ids} fits the question, but is not in force at {at}: ask for another date, or add the version for it"
    )]
    NotInForce {
        /// Their ids.
        ids: String,
        /// The date that is asked about.
        at: Timestamp,
    },
}

/// How well a rule fits: its conditions, then the length of its words in the question.
type Fit = (usize, usize);

/// The conditions of a rule, ready to be matched.
#[derive(Debug, Clone)]
pub(super) struct Compiled {
    all: Vec<Vec<Word>>,
    none: Vec<Word>,
    patterns: Vec<Regex>,
}

#[derive(Debug, Clone)]
struct Word {
    text: String,
    /// Whether it stands for all words that begin so.
    begins: bool,
}

/// Compiles a pattern of bounded size.
pub(super) fn pattern(text: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(text).case_insensitive(true).size_limit(PATTERN).build();
    built.map_err(|wrong| {
        let all = wrong.to_string();
        let last = all.lines().last().unwrap_or_default().trim().to_owned();
        format!("`{text}` is no regular expression: {}", last.trim_start_matches("error: "))
    })
}

impl Word {
    fn new(text: &str) -> Self {
        let folded = read::normal(text).trim().to_lowercase();
        match folded.strip_suffix('*') {
            Some(start) => Self { text: start.to_owned(), begins: true },
            None => Self { text: folded, begins: false },
        }
    }

    fn stands_in(&self, question: &str) -> bool {
        let is_letter = |c: char| c.is_alphanumeric() && c.is_ascii();
        question.match_indices(&self.text).any(|(at, found)| {
            let before = question.get(..at).and_then(|text| text.chars().next_back());
            let after = question.get(at + found.len()..).and_then(|text| text.chars().next());
            let starts = found.starts_with(is_letter) && before.is_some_and(is_letter);
            let ends = found.ends_with(is_letter) && after.is_some_and(is_letter);
            !starts && (self.begins || !ends)
        })
    }
}

impl Compiled {
    pub(super) fn new(when: &When) -> Result<Self, String> {
        let words = |all: &[String]| all.iter().map(|text| Word::new(text)).collect::<Vec<_>>();
        Ok(Self {
            all: when.all.iter().map(|group| words(group)).collect(),
            none: words(&when.none),
            patterns: when.patterns.iter().map(|text| pattern(text)).collect::<Result<_, _>>()?,
        })
    }

    /// How well a question fits; `None` where a condition is not met.
    fn fit(&self, question: &str) -> Option<Fit> {
        if self.none.iter().any(|word| word.stands_in(question)) {
            return None;
        }
        let mut length = 0;
        for group in &self.all {
            let longest = group.iter().filter(|word| word.stands_in(question));
            length += longest.map(|word| word.text.chars().count()).max()?;
        }
        let found = self.patterns.iter().filter_map(|one| one.find(question));
        let found = found.map(|found| found.as_str().chars().count()).max();
        if !self.patterns.is_empty() {
            length += found?;
        }
        Some((self.all.len() + usize::from(!self.patterns.is_empty()), length))
    }
}

impl Rules {
    /// The rule for a question at a date; `None` where none fits.
    ///
    /// # Errors
    /// [`Unfit`], where two fit equally, or what fits is not in force.
    pub fn pick(&self, question: &str, at: Timestamp) -> Result<Option<Arc<Loaded>>, Unfit> {
        let folded = read::normal(question).to_lowercase();
        let fits = self.all.iter().filter_map(|one| Some((one.when.fit(&folded)?, one)));
        let fits: Vec<(Fit, &Arc<Loaded>)> = fits.collect();
        let ids = |all: &[&(Fit, &Arc<Loaded>)]| {
            let mut ids: Vec<String> =
                all.iter().map(|(_, one)| format!("`{}` ({})", one.rule.id, one.file)).collect();
            ids.sort();
            ids.dedup();
            ids.join(", ")
        };
        let mut held: Vec<&(Fit, &Arc<Loaded>)> =
            fits.iter().filter(|(_, one)| one.holds_at(at)).collect();
        held.sort_by_key(|(fit, _)| Reverse(*fit));
        match held.as_slice() {
            [] if fits.is_empty() => Ok(None),
            [] => Err(Unfit::NotInForce { ids: ids(&fits.iter().collect::<Vec<_>>()), at }),
            [(best, _), (next, _), ..] if best == next => {
                let equal = held.iter().filter(|(fit, _)| fit == best).copied();
                Err(Unfit::Equal { ids: ids(&equal.collect::<Vec<_>>()) })
            }
            [(_, one), ..] => Ok(Some(Arc::clone(one))),
        }
    }
}
