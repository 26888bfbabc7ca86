//! What two questions must have in common to be one question in two wordings: the same numbers, dates
//! and names in the same order, the same marks (denied, asked when, asked who, allowed), and the same
//! words with a meaning of their own in the same order. A question in, all that as one text out.

use std::cell::LazyCell;

use rust_stemmers::{Algorithm, Stemmer};

use super::lexer::{Part, parts};
use super::words::{BEFORE_TO, CHINESE, Does, OPENERS, english};

/// What counts of a question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Signature {
    /// Numbers with units, dates and names, in their order.
    facts: Vec<String>,
    /// What turns a meaning round, and what is asked for; in no order.
    marks: Vec<&'static str>,
    /// Words by their stems, in their order.
    words: Vec<String>,
}

impl Signature {
    /// Reads a question in one spelling.
    pub(super) fn read(text: &str) -> Self {
        let plain = text.replace('\u{2019}', "'");
        let parts = parts(&plain);
        let mut read = Reading::new();
        for part in without_opener(&parts) {
            read.part(part);
        }
        let mut signature = read.signature;
        signature.marks.sort_unstable();
        signature
    }

    /// All of it as one text.
    pub(super) fn key(&self) -> String {
        [self.facts.join("\u{1}"), self.marks.join("\u{1}"), self.words.join("\u{1}")].join("\u{2}")
    }
}

/// A signature that is being read.
struct Reading<S> {
    signature: Signature,
    /// The word before, in small letters; empty at the beginning of a sentence.
    last: String,
    /// Whether the word before is a run that goes on.
    runs: bool,
    stemmer: LazyCell<Stemmer, S>,
}

fn without_opener(parts: &[Part]) -> &[Part] {
    let lower: Vec<String> = parts.iter().take(6).map_while(word).map(str::to_lowercase).collect();
    let opener = OPENERS.iter().find(|opener| {
        let words = lower.iter().map(String::as_str);
        words.take(opener.len()).eq(opener.iter().copied())
    });
    opener.and_then(|opener| parts.get(opener.len()..)).map_or(parts, without_opener)
}

fn word(part: &Part) -> Option<&str> {
    match part {
        Part::Word(word) => Some(word),
        Part::Run(_) | Part::Number(_) | Part::Date(_) | Part::Name(_) | Part::Stop => None,
    }
}

impl Reading<fn() -> Stemmer> {
    fn new() -> Self {
        let make: fn() -> Stemmer = || Stemmer::create(Algorithm::English);
        Self {
            signature: Signature::default(),
            last: String::new(),
            runs: false,
            stemmer: LazyCell::new(make),
        }
    }

    fn part(&mut self, part: &Part) {
        match part {
            Part::Run(run) => return self.run(run),
            Part::Word(word) => self.word(word),
            Part::Number(fact) | Part::Date(fact) | Part::Name(fact) => {
                self.signature.facts.push(fact.clone());
                self.last.clone_from(fact);
            }
            Part::Stop => self.last.clear(),
        }
        self.runs = false;
    }

    fn word(&mut self, written: &str) {
        let lower = written.to_lowercase();
        let lower = lower.strip_suffix("'s").unwrap_or(&lower);
        let first = self.last.is_empty();
        let before = std::mem::replace(&mut self.last, lower.to_owned());
        if let Some(base) = denied(lower) {
            self.signature.marks.push("not");
            return self.known(base);
        }
        let capital = written.starts_with(char::is_uppercase);
        let loud = written.chars().count() > 1 && !written.contains(char::is_lowercase);
        if english(lower).is_none() && capital && (loud || !first) {
            self.signature.facts.push(lower.to_owned());
        } else if lower != "to" || !BEFORE_TO.contains(&before.as_str()) {
            self.known(lower);
        }
    }

    /// Takes a word in small letters.
    fn known(&mut self, lower: &str) {
        match english(lower) {
            Some(Does::Nothing) => {}
            Some(Does::Marks(mark)) => self.signature.marks.push(mark),
            Some(Does::Means(word)) => self.signature.words.push(word.to_owned()),
            None => self.signature.words.push(self.stemmer.stem(lower).into_owned()),
        }
    }

    /// Takes a run: what is in the table does what it says there, the rest is one word, gaps or not.
    fn run(&mut self, run: &str) {
        let mut kept = String::new();
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let found = CHINESE.iter().filter(|(word, _)| rest.starts_with(word));
            let step = match found.max_by_key(|(word, _)| word.len()) {
                Some((word, does)) => {
                    match does {
                        Does::Nothing => {}
                        Does::Marks(mark) => self.signature.marks.push(mark),
                        Does::Means(means) => kept.push_str(means),
                    }
                    word.len()
                }
                None => {
                    kept.push(first);
                    first.len_utf8()
                }
            };
            rest = rest.get(step..).unwrap_or_default();
        }
        run.clone_into(&mut self.last);
        if kept.is_empty() {
            return;
        }
        match self.signature.words.last_mut().filter(|_| self.runs) {
            Some(last) => last.push_str(&kept),
            None => self.signature.words.push(kept),
        }
        self.runs = true;
    }
}

/// What a word denies: `can` in `can't`.
fn denied(lower: &str) -> Option<&str> {
    match lower {
        "can't" | "cannot" => Some("can"),
        "won't" => Some("will"),
        "shan't" => Some("shall"),
        other => other.strip_suffix("n't"),
    }
}
