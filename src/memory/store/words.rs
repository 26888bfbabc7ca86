//! A text in, the terms that it is found by out: words in one spelling and by their stems, scripts
//! without spaces by characters and pairs of them, emoji one by one. A question is text like any
//! other: nothing in it is syntax. Ranks nothing.
//!
//! One spelling: compatibility forms and accents are evened out (`café`, `ＣＡＦＥ` and `cafe` are one
//! word), letter case too, `ß` is `ss`. Joiners and variation selectors are passed over: a family of
//! emoji is found by each of its members, a skin tone makes no difference.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::sqlite::terms;

/// Characters of a word that count; the rest of an encoded value tells nothing more.
const LONGEST: usize = 64;

/// What a term is in its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// A word between spaces, or an emoji.
    Word,
    /// A word with what follows it closely: `c++`.
    Marked,
    /// One character of a script without spaces.
    Single,
    /// The same, and there is none beside it.
    Lone,
    /// Two of them side by side.
    Pair,
    /// A sign, such as `%`.
    Sign,
}

/// The terms of a text by their numbers, each once, with how often it is there.
#[derive(Debug, Default)]
pub(super) struct Bag {
    terms: Vec<(u64, u32)>,
    /// Words and characters in all.
    pub(super) length: u32,
}

impl Bag {
    /// The terms of a text that is to be found.
    pub(super) fn new(text: &str) -> Self {
        let (mut numbers, mut length) = (Vec::new(), 0);
        each(text, &mut |word, class| {
            if matches!(class, Class::Word | Class::Single) {
                length += 1;
            }
            if class != Class::Lone {
                numbers.push(number(word));
            }
        });
        numbers.sort_unstable();
        let mut found: Vec<(u64, u32)> = Vec::with_capacity(numbers.len());
        for number in numbers {
            match found.last_mut() {
                Some((last, count)) if *last == number => *count += 1,
                _ => found.push((number, 1)),
            }
        }
        found.shrink_to_fit();
        Self { terms: found, length }
    }

    /// Each term, and how often it occurs.
    pub(super) fn terms(&self) -> impl Iterator<Item = (u64, u32)> {
        self.terms.iter().copied()
    }
}

/// The terms of a text that is to be found, with how often each occurs, and its words and characters in
/// all.
pub(super) fn tally(text: &str) -> (HashMap<String, u32>, u32) {
    let (mut counts, mut length) = (HashMap::new(), 0);
    each(text, &mut |word, class| {
        if matches!(class, Class::Word | Class::Single) {
            length += 1;
        }
        if class != Class::Lone {
            *counts.entry(stem(word)).or_default() += 1;
        }
    });
    (counts, length)
}

/// The terms of a question, each once: words, pairs of characters, single characters only where they
/// stand alone, signs only where there is nothing else.
pub(super) fn ask(question: &str) -> Vec<String> {
    let (mut terms, mut signs) = (Vec::new(), Vec::new());
    each(question, &mut |word, class| {
        let list = match class {
            Class::Word | Class::Marked | Class::Lone | Class::Pair => &mut terms,
            Class::Sign => &mut signs,
            Class::Single => return,
        };
        let term = stem(word);
        if !list.contains(&term) {
            list.push(term);
        }
    });
    if terms.is_empty() { signs } else { terms }
}

/// The words and characters of a text in their order, by which two triggers are equal.
pub(super) fn series(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    each(text, &mut |word, class| {
        if matches!(class, Class::Word | Class::Single) {
            found.push(stem(word));
        }
    });
    found
}

/// A name in one spelling, spaces at its ends left out: entities are compared by it.
pub(super) fn name(text: &str) -> String {
    let lower = even(text.trim()).chars().flat_map(char::to_lowercase).collect::<String>();
    lower.replace('ß', "ss")
}

/// A text without the differences that no reader means.
fn even(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(plain(text).unwrap_or_else(|| compatible(text)))
}

/// The compatible form of a text, without accents of Latin, Greek and Cyrillic letters: marks of other
/// scripts are vowels.
fn compatible(text: &str) -> String {
    text.nfkd().filter(|c| !matches!(c, '\u{300}'..='\u{36f}')).nfc().collect()
}

/// The same for the characters of which nearly all Chinese and English text is made, without a look
/// into tables; `None` for a text with any other.
fn plain(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        plain.push(match c {
            '\0'..='\x7f' | '\u{b0}' | '\u{b7}' | '\u{d7}' | '\u{4e00}'..='\u{9fff}' => c,
            '\u{2013}' | '\u{2014}' | '\u{2018}'..='\u{201d}' => c,
            '\u{3001}' | '\u{3002}' | '\u{3008}'..='\u{3011}' => c,
            '\u{3000}' => ' ',
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0)?,
            _ => return None,
        });
    }
    Some(plain)
}

/// Whether a character belongs to a script that is written without spaces.
const fn is_dense(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// What joins or varies what stands before it, and is no part of how it is found.
const fn is_silent(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{20e3}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}')
}

/// Pictures that are found like words.
const fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Signs that structure a text and say nothing.
const fn is_structure(c: char) -> bool {
    matches!(
        c,
        '.' | ',' | ';' | ':' | '!' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '"' | '-' | '_'
            | '\u{3001}' | '\u{3002}' | '\u{2010}'..='\u{2015}' | '\u{2018}'..='\u{201f}'
            | '\u{300a}' | '\u{300b}' | '\u{ff08}' | '\u{ff09}' | '\u{b7}' | '\u{2026}'
    )
}

/// Reads a text from its beginning to its end.
struct Reader<'s> {
    sink: &'s mut dyn FnMut(&str, Class),
    /// The word that is being read.
    word: String,
    /// A word that ended with a sign: `c+`.
    marked: String,
    /// The last character of a script without spaces, and how many of them stand together.
    dense: Option<(char, usize)>,
    /// It and the one before it.
    pair: String,
}

/// Tells `sink` every word, pair and sign of a text, in order; words are not reduced to stems yet.
fn each(text: &str, sink: &mut dyn FnMut(&str, Class)) {
    let (word, marked, pair) = (String::new(), String::new(), String::new());
    let mut reader = Reader { sink, word, marked, dense: None, pair };
    for c in even(text).chars() {
        if c.is_ascii() {
            reader.read(c.to_ascii_lowercase());
        } else if is_dense(c) {
            // They have no cases.
            reader.pause();
            reader.read_dense(c);
        } else {
            c.to_lowercase().for_each(|c| reader.read(c));
        }
    }
    reader.pause();
    reader.end_run();
}

impl Reader<'_> {
    fn read(&mut self, c: char) {
        // By far the most: no look into tables for them.
        if c.is_ascii_alphanumeric() {
            self.end_run();
            self.end_marked();
            self.word.push(c);
            return;
        }
        if c == ' ' {
            self.end_run();
            self.pause();
            return;
        }
        if is_silent(c) {
            return;
        }
        if is_dense(c) {
            self.pause();
            self.read_dense(c);
            return;
        }
        self.end_run();
        match c {
            // An apostrophe inside a word is no border: `isn't`.
            '\'' | '\u{2019}' if !self.word.is_empty() => {}
            'ß' => self.add("ss"),
            '+' | '#' if !self.word.is_empty() || !self.marked.is_empty() => self.mark(c),
            c if c.is_alphanumeric() || is_combining_mark(c) => {
                let mut bytes = [0; 4];
                self.add(c.encode_utf8(&mut bytes));
            }
            c => {
                self.pause();
                self.sign(c);
            }
        }
    }

    fn add(&mut self, part: &str) {
        self.end_marked();
        self.word.push_str(part);
    }

    fn mark(&mut self, c: char) {
        if !self.word.is_empty() {
            self.marked.clone_from(&self.word);
            self.end_word();
        }
        self.marked.push(c);
    }

    fn sign(&mut self, c: char) {
        if c.is_whitespace() || c.is_control() || is_structure(c) {
            return;
        }
        let class = if is_emoji(c) { Class::Word } else { Class::Sign };
        (self.sink)(c.encode_utf8(&mut [0; 4]), class);
    }

    fn read_dense(&mut self, c: char) {
        (self.sink)(c.encode_utf8(&mut [0; 4]), Class::Single);
        let before = match self.dense {
            Some((left, before)) => {
                self.pair.clear();
                self.pair.extend([left, c]);
                (self.sink)(&self.pair, Class::Pair);
                before
            }
            None => 0,
        };
        self.dense = Some((c, before + 1));
    }

    fn pause(&mut self) {
        self.end_word();
        self.end_marked();
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        if let Some((at, _)) = self.word.char_indices().nth(LONGEST) {
            self.word.truncate(at);
        }
        (self.sink)(&self.word, Class::Word);
        self.word.clear();
    }

    fn end_marked(&mut self) {
        if !self.marked.is_empty() {
            (self.sink)(&self.marked, Class::Marked);
            self.marked.clear();
        }
    }

    fn end_run(&mut self) {
        if let Some((c, 1)) = self.dense.take() {
            (self.sink)(c.encode_utf8(&mut [0; 4]), Class::Lone);
        }
    }
}

thread_local! {
    static ENGLISH: LazyCell<Stemmer> =
        const { LazyCell::new(|| Stemmer::create(Algorithm::English)) };
}

/// The number of a word's term.
fn number(word: &str) -> u64 {
    if has_stem(word) { terms::number_of(word, stem) } else { terms::number(word) }
}

/// Whether a word is English, as far as can be seen, and long enough to have a stem.
fn has_stem(word: &str) -> bool {
    word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The stem of an English word, and anything else as it is.
fn stem(word: &str) -> String {
    if !has_stem(word) {
        return word.to_owned();
    }
    ENGLISH.with(|stemmer| stemmer.stem(word).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{compatible, plain};

    #[test]
    fn what_is_read_without_tables_is_what_the_tables_make_of_it() {
        let mut read = 0;
        for c in '\0'..='\u{ffff}' {
            // Between letters, since what stands beside it can join it.
            let text = format!("e{c}e");
            if let Some(plain) = plain(&text) {
                assert_eq!(plain, compatible(&text), "{c:?}");
                read += 1;
            }
        }
        assert!(read > 20_000, "{read}");
    }
}
