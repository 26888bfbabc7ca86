//! What a text may hold of all patterns and phrases: the text is searched once for the words without
//! which none of them matches. A text in, those worth trying out, for all of it and by sentence.

use std::ops::Range;
use std::sync::LazyLock;

use super::atoms;
use super::keys::{Found, Keys};
use super::patterns;

/// The patterns first, then the phrases. A pattern that is none would leave nothing; a test compiles all
/// of them.
static KEYS: LazyLock<Option<Keys>> =
    LazyLock::new(|| Keys::new(patterns::spaced().chain(atoms::patterns())));

#[cfg(test)]
pub(super) fn keys() -> Option<&'static Keys> {
    KEYS.as_ref()
}

/// A text with the words that it holds.
pub(super) struct Sought<'t> {
    pub(super) text: &'t str,
    /// Words of the patterns, and of the phrases.
    patterns: Vec<Found>,
    phrases: Vec<Found>,
    /// Words of phrases that ended before the sentence in turn.
    done: usize,
}

impl<'t> Sought<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let found = KEYS.iter().flat_map(|keys| keys.found(text));
        let (patterns, phrases) = found.partition(|word| word.pattern() < patterns::SPACED);
        Self { text, patterns, phrases, done: 0 }
    }

    /// Where the patterns that match do so first, by their numbers.
    pub(super) fn hits(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        KEYS.iter().flat_map(|keys| {
            let tried = keys.tried(&self.patterns, self.text, 0..self.text.len()).into_iter();
            let own = tried.filter(|number| *number < patterns::SPACED);
            own.filter_map(|number| Some((number, keys.find(number, self.text)?)))
        })
    }

    /// The atoms that its sentences may hold together, one bit each.
    pub(super) fn possible(&self) -> u64 {
        let always = KEYS.iter().flat_map(Keys::always);
        bits(self.phrases.iter().map(Found::pattern).chain(always))
    }

    /// The phrases worth trying in the next sentence.
    pub(super) fn next(&mut self, sentence: Range<usize>) -> Tried<'t> {
        let rest = self.phrases.get(self.done..).unwrap_or_default();
        let own = rest.partition_point(|word| word.end <= sentence.end);
        self.done += own;
        let found = rest.get(..own).unwrap_or_default();
        let tried = KEYS.as_ref().map(|keys| keys.tried(found, self.text, sentence.clone()));
        let sentence = self.text.get(sentence).unwrap_or_default();
        Tried { sentence, numbers: tried.unwrap_or_default() }
    }
}

/// A sentence, and the numbers of the phrases worth trying.
pub(super) struct Tried<'t> {
    sentence: &'t str,
    numbers: Vec<usize>,
}

impl Tried<'_> {
    /// The atoms that it may hold, one bit each.
    pub(super) fn possible(&self) -> u64 {
        bits(self.numbers.iter().copied())
    }

    /// Those of the `wanted` ones that it holds.
    pub(super) fn held(&self, wanted: u64) -> u64 {
        let Some(keys) = &*KEYS else { return 0 };
        self.numbers.iter().fold(0, |held, number| {
            let bit = bits([*number]);
            let more = bit & wanted & !held != 0 && keys.is_match(*number, self.sentence);
            if more { held | bit } else { held }
        })
    }
}

/// The atoms of phrases, one bit each.
fn bits(numbers: impl IntoIterator<Item = usize>) -> u64 {
    let phrase = |number: usize| atoms::atom(number.checked_sub(patterns::SPACED)?);
    numbers.into_iter().filter_map(phrase).fold(0, |bits, atom| bits | atom.bit())
}
