//! The words without which a pattern cannot match: patterns in, for a text those out that are worth
//! trying. Trying all of them on every sentence would cost far more than finding these words at once.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Most words of one pattern; more would be found too often to be worth it.
const MOST: usize = 96;
/// Most words of one part of a pattern that are spelled out from its pieces.
const SPELLED: usize = 24;
/// Bytes from which on a word is rare enough.
const RARE: usize = 9;

/// Patterns with the words that each needs.
#[derive(Debug)]
pub(super) struct Keys {
    patterns: Vec<(String, OnceLock<Option<Regex>>)>,
    words: AhoCorasick,
    owners: Vec<Owner>,
    /// Patterns that need no word.
    always: Vec<usize>,
}

/// The pattern that a word belongs to, and whether the word begins or ends where one of the text does.
#[derive(Debug, Clone, Copy)]
struct Owner {
    pattern: usize,
    begins: bool,
    ends: bool,
}

/// A word in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    start: usize,
    pub(super) end: usize,
    owner: Owner,
}

impl Found {
    /// The number of its pattern.
    pub(super) const fn pattern(&self) -> usize {
        self.owner.pattern
    }
}

/// A word that a match holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Word {
    bytes: Vec<u8>,
    begins: bool,
    ends: bool,
}

impl Keys {
    /// `None` when a pattern is none.
    pub(super) fn new(texts: impl Iterator<Item = String>) -> Option<Self> {
        let (mut patterns, mut owners, mut always) = (Vec::new(), Vec::new(), Vec::new());
        let mut all: Vec<Vec<u8>> = Vec::new();
        for (pattern, text) in texts.enumerate() {
            let parsed =
                ParserBuilder::new().unicode(false).utf8(false).build().parse(&text).ok()?;
            match words(&parsed, SPELLED).filter(|words| words.len() <= MOST) {
                Some(words) => {
                    for Word { bytes, begins, ends } in words {
                        owners.push(Owner { pattern, begins, ends });
                        all.push(bytes);
                    }
                }
                None => always.push(pattern),
            }
            patterns.push((text, OnceLock::new()));
        }
        let words = AhoCorasick::new(all).ok()?;
        Some(Self { patterns, words, owners, always })
    }

    /// The numbers of the patterns that need no word.
    pub(super) fn always(&self) -> impl Iterator<Item = usize> {
        self.always.iter().copied()
    }

    /// The words in a text, by their ends.
    pub(super) fn found(&self, text: &str) -> Vec<Found> {
        let found = self.words.find_overlapping_iter(text).filter_map(|word| {
            let owner = *self.owners.get(word.pattern().as_usize())?;
            Some(Found { start: word.start(), end: word.end(), owner })
        });
        found.collect()
    }

    /// The numbers of the patterns that may match a piece of a text, in order, by the words found in the
    /// text that end in the piece: all others do not.
    pub(super) fn tried(&self, found: &[Found], text: &str, piece: Range<usize>) -> Vec<usize> {
        let inner = text.get(piece.clone()).unwrap_or_default().as_bytes();
        let mut tried = self.always.clone();
        let whole = found.iter().filter_map(|word| {
            let Owner { pattern, begins, ends } = word.owner;
            let start = word.start.checked_sub(piece.start)?;
            let fits = (!begins || is_border(inner, start))
                && (!ends || is_border(inner, word.end - piece.start));
            fits.then_some(pattern)
        });
        tried.extend(whole);
        tried.sort_unstable();
        tried.dedup();
        tried
    }

    /// The bytes of the first place where a pattern matches.
    pub(super) fn find(&self, number: usize, text: &str) -> Option<Range<usize>> {
        self.regex(number)?.find(text.as_bytes()).map(|found| found.range())
    }

    pub(super) fn is_match(&self, number: usize, text: &str) -> bool {
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

/// Whether a word of ASCII begins or ends here, as `\b` has it in the patterns.
fn is_border(text: &[u8], at: usize) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    is_word(at.checked_sub(1).and_then(|before| text.get(before))) != is_word(text.get(at))
}

/// Words of which a match holds at least one: the rarest that the pattern tells, which are taken to be
/// the longest. At most so many are spelled out from pieces.
fn words(pattern: &Hir, most: usize) -> Option<Vec<Word>> {
    let parts = match pattern.kind() {
        HirKind::Capture(capture) => return words(&capture.sub, most),
        HirKind::Repetition(repetition) if repetition.min > 0 => {
            return words(&repetition.sub, most);
        }
        HirKind::Alternation(parts) => {
            let most = (most * 2 / parts.len()).max(1);
            let all: Option<Vec<Vec<Word>>> = parts.iter().map(|part| words(part, most)).collect();
            return all.map(|all| all.concat());
        }
        HirKind::Concat(parts) => parts.as_slice(),
        HirKind::Literal(_) => std::slice::from_ref(pattern),
        HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) | HirKind::Repetition(_) => {
            return None;
        }
    };
    let inner = parts.iter().filter(|_| parts.len() > 1);
    let mut best = inner.filter_map(|part| words(part, most)).max_by_key(|words| rarity(words));
    for first in 0..parts.len() {
        let mut spelled = vec![Word::default()];
        for part in parts.iter().skip(first) {
            match spell(part).filter(|more| more.len() * spelled.len() <= most) {
                Some(more) => spelled = joined(&spelled, &more),
                None => break,
            }
            if rarity(&spelled) > best.as_deref().map(rarity).unwrap_or_default() {
                best = Some(spelled.clone());
            }
        }
    }
    best
}

/// How rare words are: by the shortest, borders counted like bytes, and by how few they are. Those that
/// are everywhere are worth nothing.
fn rarity(words: &[Word]) -> Option<(usize, Reverse<usize>)> {
    if words.iter().any(|word| word.bytes.is_empty()) {
        return None;
    }
    let length = |word: &Word| word.bytes.len() + usize::from(word.begins) + usize::from(word.ends);
    Some((words.iter().map(length).min()?.min(RARE), Reverse(words.len())))
}

/// All texts that a part of a pattern matches, where these are few.
fn spell(pattern: &Hir) -> Option<Vec<Word>> {
    let word = |bytes: &[u8]| Word { bytes: bytes.to_vec(), ..Word::default() };
    let all = match pattern.kind() {
        HirKind::Empty => vec![Word::default()],
        HirKind::Look(look) => {
            let border = *look == Look::WordAscii;
            vec![Word { bytes: Vec::new(), begins: border, ends: border }]
        }
        HirKind::Literal(literal) => vec![word(&literal.0)],
        HirKind::Class(Class::Bytes(class)) => {
            let bytes = || class.ranges().iter().flat_map(|range| range.start()..=range.end());
            (bytes().count() <= SPELLED).then(|| bytes().map(|byte| word(&[byte])).collect())?
        }
        HirKind::Class(Class::Unicode(_)) => return None,
        HirKind::Capture(capture) => spell(&capture.sub)?,
        HirKind::Repetition(repetition) => {
            let mut all = spell(&repetition.sub).filter(|_| repetition.max == Some(1))?;
            all.extend((repetition.min == 0).then(Word::default));
            all
        }
        HirKind::Concat(parts) => parts.iter().try_fold(vec![Word::default()], |all, part| {
            let more = spell(part).filter(|more| more.len() * all.len() <= SPELLED)?;
            Some(joined(&all, &more))
        })?,
        HirKind::Alternation(parts) => {
            let all: Option<Vec<Vec<Word>>> = parts.iter().map(spell).collect();
            all?.concat()
        }
    };
    (all.len() <= SPELLED).then_some(all)
}

/// Each of the words with each that may follow it.
fn joined(left: &[Word], right: &[Word]) -> Vec<Word> {
    let join = |left: &Word, right: &Word| Word {
        bytes: [left.bytes.as_slice(), right.bytes.as_slice()].concat(),
        begins: left.begins || (left.bytes.is_empty() && right.begins),
        ends: right.ends || (right.bytes.is_empty() && left.ends),
    };
    left.iter().flat_map(|left| right.iter().map(move |right| join(left, right))).collect()
}
