//! The placeholders of one unit: a value in, the name that stands for it in every text of the unit
//! out. A name that a text of the unit already holds is never given: whoever wrote it there meant
//! something else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ring::hmac;

use crate::mask::{self, Kind};

/// Bytes of a keyed name; 48 bits keep a million values of one tenant apart.
const KEYED_BYTES: usize = 6;
/// Longest word behind the `_` of a placeholder.
const LONGEST_WORD: usize = 20;

/// Placeholders of one unit. Dropped with the unit: it holds the values in the clear.
#[derive(Default)]
pub struct Names {
    known: BTreeMap<(Kind, String), String>,
    /// Given, or found in a text of the unit; in upper case.
    taken: BTreeSet<String>,
    last: BTreeMap<Kind, u64>,
    key: Option<hmac::Key>,
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").field("values", &self.known.len()).finish_non_exhaustive()
    }
}

impl Names {
    /// For a unit with these texts. All of them belong here before the first is redacted, so that no
    /// name is given that a later one holds.
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut names = Self::default();
        texts.into_iter().for_each(|text| names.reserve(text));
        names
    }

    /// With names that are the same for the same value in every unit that uses this key.
    #[must_use]
    pub fn keyed(mut self, key: &[u8]) -> Self {
        self.key = Some(hmac::Key::new(hmac::HMAC_SHA256, key));
        self
    }

    /// Sets aside what looks like a placeholder in a text.
    pub(super) fn reserve(&mut self, text: &str) {
        for (at, _) in text.match_indices('[') {
            let piece = text.get(at..).unwrap_or_default();
            if let Some(literal) = literal(piece) {
                self.taken.insert(literal.to_ascii_uppercase());
            }
        }
    }

    /// The name of a value.
    pub(super) fn placeholder(&mut self, kind: Kind, value: &str) -> String {
        let value = (kind, even(kind, value));
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        let mut round = 0;
        let name = loop {
            let name = match &self.key {
                Some(key) => keyed(key, &value, round),
                None => {
                    let last = self.last.entry(kind).or_default();
                    *last += 1;
                    format!("[{}_{last}]", label(kind))
                }
            };
            round += 1;
            if self.taken.insert(name.to_ascii_uppercase()) {
                break name;
            }
        };
        self.known.insert(value, name.clone());
        name
    }
}

fn keyed(key: &hmac::Key, (kind, value): &(Kind, String), round: u32) -> String {
    let mut context = hmac::Context::with_key(key);
    for part in [label(*kind).as_bytes(), &[0], &round.to_be_bytes(), value.as_bytes()] {
        context.update(part);
    }
    let tag = context.sign();
    let word = hex::encode(tag.as_ref().get(..KEYED_BYTES).unwrap_or_default());
    format!("[{}_{word}]", label(*kind))
}

const fn label(kind: Kind) -> &'static str {
    match kind {
        Kind::Identity => "IDENTITY",
        Kind::Phone => "PHONE",
        Kind::Card => "CARD",
        Kind::Mail => "MAIL",
        Kind::Secret => "SECRET",
        Kind::Ip => "IP",
        Kind::Tracking => "TRACKING",
    }
}

/// Whether a text is a placeholder and nothing else.
pub(super) fn is_placeholder(text: &str) -> bool {
    literal(text.trim()).is_some_and(|literal| literal.len() == text.trim().len())
}

/// The placeholder that a text begins with.
fn literal(text: &str) -> Option<&str> {
    let kinds = Kind::ALL.into_iter().map(label);
    kinds
        .filter_map(|label| {
            let start = text.get(1..=label.len())?;
            let rest = text.get(1 + label.len()..)?.strip_prefix('_')?;
            let length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
            let fits = start.eq_ignore_ascii_case(label)
                && text.starts_with('[')
                && (1..=LONGEST_WORD).contains(&length)
                && rest.get(length..)?.starts_with(']');
            fits.then(|| text.get(..label.len() + length + 3))?
        })
        .next()
}

/// A value as it is compared: without what only its spelling brings.
fn even(kind: Kind, value: &str) -> String {
    let folded = mask::folded(value);
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    match kind {
        Kind::Phone => dialled(&digits(&folded.replace("(0)", ""))),
        Kind::Card => digits(&folded),
        Kind::Identity => {
            let letters = folded.chars().filter(char::is_ascii_alphanumeric);
            letters.map(|c| c.to_ascii_uppercase()).collect()
        }
        Kind::Mail => folded.replace("%40", "@").to_lowercase(),
        Kind::Ip => folded.to_ascii_lowercase(),
        Kind::Tracking => folded.to_ascii_uppercase(),
        Kind::Secret => folded,
    }
}

/// A telephone number as it is dialled inside the mainland, or with its country's prefix.
fn dialled(digits: &str) -> String {
    let number = digits.strip_prefix("00").unwrap_or(digits);
    match number.strip_prefix("86") {
        Some(national) if national.len() == 11 && national.starts_with('1') => national.to_owned(),
        Some(national) if (10..=11).contains(&national.len()) => format!("0{national}"),
        _ => number.to_owned(),
    }
}
