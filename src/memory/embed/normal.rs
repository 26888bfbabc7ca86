//! Evens out characters as a tokenizer's file says: text in, text out with one spelling for what is
//! written in many. What it does not know of the file it refuses.

use std::borrow::Cow;

use regex::Regex;
use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::charmap::Charmap;

/// The `normalizer` of a `tokenizer.json`.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub(super) enum Written {
    Sequence {
        normalizers: Vec<Self>,
    },
    Precompiled {
        precompiled_charsmap: String,
    },
    Replace {
        pattern: Pattern,
        content: String,
    },
    Nmt,
    #[serde(rename = "NFC")]
    Nfc,
    #[serde(rename = "NFD")]
    Nfd,
    #[serde(rename = "NFKC")]
    Nfkc,
    #[serde(rename = "NFKD")]
    Nfkd,
    Lowercase,
    StripAccents,
}

#[derive(Debug, Deserialize)]
pub(super) enum Pattern {
    String(String),
    Regex(String),
}

/// What is done to a text, in order.
#[derive(Debug, Default)]
pub(super) struct Normal(Vec<Step>);

#[derive(Debug)]
enum Step {
    Charmap(Charmap),
    Text(String, String),
    Regex(Regex, String),
    Nmt,
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
    Lowercase,
    StripAccents,
}

impl Normal {
    /// Makes ready what a file says.
    pub(super) fn new(written: Written) -> Result<Self, String> {
        let mut steps = Vec::new();
        match written {
            // Files have one level of these; more of them is no deeper than the file's JSON.
            Written::Sequence { normalizers } => {
                for inner in normalizers {
                    steps.append(&mut Self::new(inner)?.0);
                }
            }
            Written::Precompiled { precompiled_charsmap } => {
                steps.push(Step::Charmap(Charmap::read(&precompiled_charsmap)?));
            }
            Written::Replace { pattern: Pattern::String(from), content } => {
                steps.push(Step::Text(from, content));
            }
            Written::Replace { pattern: Pattern::Regex(from), content } => {
                let wrong = |error| format!("`{from}` is no pattern that is read here: {error}");
                steps.push(Step::Regex(Regex::new(&from).map_err(wrong)?, content));
            }
            Written::Nmt => steps.push(Step::Nmt),
            Written::Nfc => steps.push(Step::Nfc),
            Written::Nfd => steps.push(Step::Nfd),
            Written::Nfkc => steps.push(Step::Nfkc),
            Written::Nfkd => steps.push(Step::Nfkd),
            Written::Lowercase => steps.push(Step::Lowercase),
            Written::StripAccents => steps.push(Step::StripAccents),
        }
        Ok(Self(steps))
    }

    /// A text evened out.
    pub(super) fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.0.iter().fold(Cow::Borrowed(text), |text, step| match step.apply(&text) {
            Cow::Borrowed(same) if same.len() == text.len() => text,
            other => Cow::Owned(other.into_owned()),
        })
    }
}

impl Step {
    fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self {
            Self::Charmap(map) => map.apply(text).into(),
            Self::Text(from, to) if text.contains(from) => text.replace(from, to).into(),
            Self::Text(..) => text.into(),
            Self::Regex(from, to) => from.replace_all(text, regex::NoExpand(to)),
            Self::Nmt => text.chars().filter_map(nmt).collect(),
            Self::Nfc => text.nfc().collect(),
            Self::Nfd => text.nfd().collect(),
            Self::Nfkc => text.nfkc().collect(),
            Self::Nfkd => text.nfkd().collect(),
            Self::Lowercase => text.to_lowercase().into(),
            Self::StripAccents => text.chars().filter(|c| !is_combining_mark(*c)).collect(),
        }
    }
}

/// SentencePiece's rules for machine translation: control characters go, all kinds of space are one.
const fn nmt(character: char) -> Option<char> {
    match character {
        '\u{1}'..='\u{8}' | '\u{b}' | '\u{e}'..='\u{1f}' | '\u{7f}' | '\u{8f}' | '\u{9f}' => None,
        '\t' | '\n' | '\u{c}' | '\r' | '\u{1680}' | '\u{200b}'..='\u{200f}' => Some(' '),
        '\u{2028}' | '\u{2029}' | '\u{2581}' | '\u{feff}' | '\u{fffd}' => Some(' '),
        _ => Some(character),
    }
}
