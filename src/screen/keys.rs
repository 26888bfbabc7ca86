//! The words without which a pattern cannot match: patterns in, for a text those out that are worth
//! trying. Trying all of them on every sentence would cost far more than finding these words at once.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

/// Most words of one pattern; more would be found too often to be worth it.
const MOST: usize = 64;

/// Patterns with the words that each needs.
#[derive(Debug)]
pub(super) struct Keys {
    patterns: Vec<(String, OnceLock<Option<Regex>>)>,
    words: AhoCorasick,
    /// The pattern that each word belongs to.
    owners: Vec<usize>,
    /// Patterns that need no word.
    always: Vec<usize>,
}

impl Keys {
    /// `None` when a pattern is none.
    pub(super) fn new(texts: impl Iterator<Item = String>) -> Option<Self> {
        let (mut patterns, mut owners, mut always) = (Vec::new(), Vec::new(), Vec::new());
        let mut all: Vec<Vec<u8>> = Vec::new();
        for (number, text) in texts.enumerate() {
            let parsed =
                ParserBuilder::new().unicode(false).utf8(false).build().parse(&text).ok()?;
            match words(&parsed).filter(|words| words.len() <= MOST) {
                Some(words) => {
                    owners.extend(std::iter::repeat_n(number, words.len()));
                    all.extend(words);
                }
                None => always.push(number),
            }
            patterns.push((text, OnceLock::new()));
        }
        let words = AhoCorasick::new(all).ok()?;
        Some(Self { patterns, words, owners, always })
    }

    /// The numbers of the patterns that match.
    pub(super) fn matches(&self, text: &str) -> Vec<usize> {
        let mut tried = self.always.clone();
        let found = self.words.find_overlapping_iter(text);
        tried.extend(found.filter_map(|word| self.owners.get(word.pattern().as_usize())));
        tried.sort_unstable();
        tried.dedup();
        tried.retain(|number| self.is_match(*number, text));
        tried
    }

    /// The bytes of the first place where a pattern matches.
    pub(super) fn find(&self, number: usize, text: &str) -> Option<Range<usize>> {
        self.regex(number)?.find(text.as_bytes()).map(|found| found.range())
    }

    fn is_match(&self, number: usize, text: &str) -> bool {
        self.regex(number).is_some_and(|regex| regex.is_match(text.as_bytes()))
    }

    fn regex(&self, number: usize) -> Option<&Regex> {
        let (pattern, built) = self.patterns.get(number)?;
        built.get_or_init(|| RegexBuilder::new(pattern).unicode(false).build().ok()).as_ref()
    }

    #[cfg(test)]
    pub(super) const fn all_have_words(&self) -> bool {
        self.always.is_empty()
    }

    #[cfg(test)]
    pub(super) fn compile(&self) -> bool {
        self.patterns
            .iter()
            .all(|(pattern, _)| RegexBuilder::new(pattern).unicode(false).build().is_ok())
    }
}

/// Words of which a match holds at least one: the rarest that the pattern tells, which are taken to be
/// the longest.
fn words(pattern: &Hir) -> Option<Vec<Vec<u8>>> {
    match pattern.kind() {
        HirKind::Literal(literal) => Some(vec![literal.0.to_vec()]),
        HirKind::Capture(capture) => words(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => words(&repetition.sub),
        HirKind::Concat(parts) => {
            let shortest = |words: &Vec<Vec<u8>>| words.iter().map(Vec::len).min();
            let least = |words: &Vec<Vec<u8>>| std::cmp::Reverse(words.len());
            parts.iter().filter_map(self::words).max_by_key(|words| (shortest(words), least(words)))
        }
        HirKind::Alternation(parts) => {
            let all: Option<Vec<Vec<Vec<u8>>>> = parts.iter().map(words).collect();
            all.map(|all| all.concat())
        }
        HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) | HirKind::Repetition(_) => None,
    }
}
