//! Text in, the words that it is found by out: identifiers taken apart, English words reduced to
//! their stems, Chinese, Japanese and Korean in characters and pairs of them. Ranks nothing.

use std::cell::LazyCell;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;

/// Longest word, in bytes; what is longer is an encoded value and no word.
const LONGEST: usize = 64;

/// English words that say nothing of what is looked for.
const STOP: &[&str] = &[
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "did", "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in",
    "into", "is", "it", "its", "let", "like", "me", "my", "need", "of", "on", "or", "our", "out",
    "please", "so", "some", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "tool", "up", "us", "use", "want", "was", "we", "were", "what",
    "when", "where", "which", "who", "whose", "why", "will", "with", "would", "you", "your",
];

/// Chinese phrases that say nothing of what is looked for; longer ones first.
const STOP_CJK: &[&str] = &[
    "可不可以",
    "有没有",
    "能不能",
    "是不是",
    "怎么样",
    "帮我",
    "帮忙",
    "给我",
    "我想",
    "我要",
    "我们",
    "我的",
    "你们",
    "他们",
    "请问",
    "请帮",
    "一下",
    "怎么",
    "如何",
    "什么",
    "哪些",
    "哪个",
    "这个",
    "那个",
    "一个",
    "可以",
    "需要",
    "想要",
    "现在",
    "把",
    "的",
    "了",
    "吗",
    "呢",
    "吧",
    "我",
    "你",
];

/// One word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// As it stands in the text, lower case.
    pub(super) plain: String,
    /// What it is found by.
    pub(super) term: String,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word between spaces.
    Word,
    /// One character of a script without spaces.
    Single,
    /// Two of them side by side.
    Pair,
}

thread_local! {
    static ENGLISH: LazyCell<Stemmer> =
        const { LazyCell::new(|| Stemmer::create(Algorithm::English)) };
}

/// What an English word is found by.
pub(super) fn stem(word: &str) -> String {
    let english = word.len() > 3 && word.bytes().all(|b| b.is_ascii_lowercase());
    if english { ENGLISH.with(|stemmer| stemmer.stem(word).into_owned()) } else { word.to_owned() }
}

pub(super) fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

/// Whether a character belongs to a script that is written without spaces.
pub(super) const fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// A text in one spelling: compatibility forms composed, typographic apostrophes plain.
pub(super) fn fold(text: &str) -> String {
    text.nfkc().map(|c| if c == '\u{2019}' { '\'' } else { c }).collect()
}

/// A question without the phrases that mean nothing.
pub(super) fn without_fillers(text: &str) -> String {
    let mut text = text.to_owned();
    for phrase in STOP_CJK {
        if text.contains(phrase) {
            text = text.replace(phrase, " ");
        }
    }
    text
}

/// The letters and digits of a name, lower case: one spelling for all separators.
pub(super) fn squeeze(name: &str) -> String {
    fold(name).chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Tells `sink` every word of a folded text, in order.
pub(super) fn each(text: &str, sink: &mut dyn FnMut(Word)) {
    let mut run = String::new();
    let mut last: Option<char> = None;
    let mut before = Shape::Break;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if is_cjk(c) {
            finish(&mut run, sink);
            if let Some(left) = last {
                pair(&[left, c], Kind::Pair, sink);
            }
            pair(&[c], Kind::Single, sink);
            (last, before) = (Some(c), Shape::Break);
            continue;
        }
        last = None;
        let shape = Shape::of(c);
        let next = chars.peek().copied().map_or(Shape::Break, Shape::of);
        // fooBar, and the last capital of HTTPServer.
        let turns = shape == Shape::Upper
            && (matches!(before, Shape::Lower | Shape::Digit)
                || (before == Shape::Upper && next == Shape::Lower));
        if turns || shape == Shape::Break {
            finish(&mut run, sink);
        }
        if shape != Shape::Break {
            run.extend(c.to_lowercase());
        }
        before = shape;
    }
    finish(&mut run, sink);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Lower,
    Upper,
    Digit,
    Break,
}

impl Shape {
    fn of(c: char) -> Self {
        match c {
            c if is_cjk(c) => Self::Break,
            c if c.is_uppercase() => Self::Upper,
            c if c.is_numeric() => Self::Digit,
            c if c.is_alphabetic() => Self::Lower,
            _ => Self::Break,
        }
    }
}

fn pair(chars: &[char], kind: Kind, sink: &mut dyn FnMut(Word)) {
    let plain: String = chars.iter().collect();
    sink(Word { term: plain.clone(), plain, kind });
}

fn finish(run: &mut String, sink: &mut dyn FnMut(Word)) {
    if run.is_empty() {
        return;
    }
    let plain = std::mem::take(run);
    // One letter is the rest of an abbreviation: `e.g.`, `it's`.
    let letter = plain.len() == 1 && plain.bytes().all(|b| b.is_ascii_alphabetic());
    if plain.len() <= LONGEST && !letter {
        sink(Word { term: stem(&plain), plain, kind: Kind::Word });
    }
}
