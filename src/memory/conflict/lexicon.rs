//! Words as statements are compared by them: a word in, what it does in a statement out. The words
//! themselves stand in `lexicon.txt`.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

const TEXT: &str = include_str!("lexicon.txt");

/// What a word does in a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// Nothing.
    Stop,
    /// Stands for this word.
    Is(&'static str),
    /// Turns the statement round.
    Not,
    /// Stands for this word, turned round.
    IsNot(&'static str),
    /// Makes the statement hold only sometimes.
    When,
    /// Excepts something: such a statement is compared with none.
    Except,
}

#[derive(Debug, Default)]
struct Lexicon {
    words: HashMap<&'static str, Word>,
    /// Those that are not English by their first characters, the longest first.
    begun: HashMap<char, Vec<(&'static str, Word)>>,
    neutral: HashSet<&'static str>,
    dated: HashSet<&'static str>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut all = Lexicon::default();
    let rules = TEXT.lines().filter(|line| !line.starts_with('#'));
    for (head, words) in rules.filter_map(|line| line.split_once(": ")) {
        let does = match head {
            "stop" => Word::Stop,
            "not" => Word::Not,
            "when" => Word::When,
            "except" => Word::Except,
            "neutral" => {
                all.neutral.extend(words.split(' '));
                continue;
            }
            "dated" => {
                all.dated.extend(words.split(' '));
                continue;
            }
            other => match (other.strip_prefix("= "), other.strip_prefix("! ")) {
                (Some(word), _) => Word::Is(word),
                (None, Some(word)) => Word::IsNot(word),
                (None, None) => continue,
            },
        };
        for word in words.split(' ') {
            all.words.entry(word).or_insert(does);
        }
    }
    for (word, does) in &all.words {
        if let Some(first) = word.chars().next() {
            all.begun.entry(first).or_default().push((word, *does));
        }
    }
    for words in all.begun.values_mut() {
        words.sort_by_key(|(word, _)| Reverse(word.len()));
    }
    all
});

/// What a word does, in lower case.
pub(super) fn word(text: &str) -> Option<Word> {
    LEXICON.words.get(text).copied()
}

/// The longest known word with which a Chinese text begins.
pub(super) fn first(text: &str) -> Option<(&'static str, Word)> {
    let begun = LEXICON.begun.get(&text.chars().next()?)?;
    begun.iter().find(|(word, _)| text.starts_with(word)).copied()
}

/// Whether a modifier leaves a quantity what it is.
pub(super) fn is_neutral(word: &str) -> bool {
    LEXICON.neutral.contains(word)
}

/// Whether a word leads a date of which there is only one.
pub(super) fn is_dated(word: &str) -> bool {
    LEXICON.dated.contains(word)
}
