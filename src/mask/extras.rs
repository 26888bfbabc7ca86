//! Evened-out text in, the places of what only some want hidden out: addresses of the Internet
//! Protocol and numbers of parcels.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use super::Place;
use super::context::{self, PARCEL};
use super::kind::{Kind, Rules};

/// Carriers' first letters, and how many digits follow.
const CARRIERS: [(&str, usize, usize); 8] = [
    ("SF", 12, 15),
    ("JD", 11, 15),
    ("JT", 13, 13),
    ("YT", 13, 15),
    ("ZTO", 12, 13),
    ("STO", 12, 13),
    ("DPK", 12, 12),
    ("EMS", 10, 13),
];
/// Longest word that is looked at.
const LONGEST: usize = 64;

/// Adds the places of what the rules ask for.
pub(super) fn find(text: &[u8], rules: Rules, found: &mut Vec<Place>) {
    let wanted = [Kind::Ip, Kind::Tracking].into_iter().any(|kind| rules.has(kind));
    if !wanted {
        return;
    }
    let mut start = 0;
    // Words with colons and points are addresses; without them, numbers.
    for word in text.split(|byte| !is_part(*byte)) {
        let range = trimmed(word, start);
        start += word.len() + 1;
        let Some(word) = text.get(range.clone()).filter(|word| word.len() <= LONGEST) else {
            continue;
        };
        if let Some(end) = address(word).filter(|_| rules.has(Kind::Ip)) {
            found.push((Kind::Ip, range.start..range.start + end));
        } else if rules.has(Kind::Tracking) && is_parcel(text, word, range.start) {
            found.push((Kind::Tracking, range));
        }
    }
}

const fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b':' | b'_' | b'-')
}

/// Without what ends a sentence.
fn trimmed(word: &[u8], start: usize) -> Range<usize> {
    let is_end = |byte: &&u8| matches!(byte, b'.' | b':' | b'-');
    let before = word.iter().take_while(|byte| matches!(byte, b'.' | b'-')).count();
    let after = word.iter().rev().take_while(is_end).count();
    let end = start + word.len() - after;
    (start + before).min(end)..end
}

/// Length of the address that a word is, a port behind it left out.
fn address(word: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(word).ok()?;
    if text.parse::<Ipv6Addr>().is_ok() {
        return Some(word.len());
    }
    let host = text.split(':').next()?;
    host.parse::<Ipv4Addr>().is_ok().then_some(host.len())
}

fn is_parcel(text: &[u8], word: &[u8], start: usize) -> bool {
    let digits = |rest: &[u8]| rest.iter().all(u8::is_ascii_digit);
    let carried = CARRIERS.iter().any(|(letters, least, most)| {
        word.strip_prefix(letters.as_bytes())
            .is_some_and(|rest| (*least..=*most).contains(&rest.len()) && digits(rest))
    });
    let is_ups = word.len() == 18
        && word.starts_with(b"1Z")
        && word.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let is_post = word.len() == 13
        && word.iter().take(2).chain(word.iter().skip(11)).all(u8::is_ascii_uppercase)
        && word.get(2..11).is_some_and(digits);
    let announced = || {
        (10..=22).contains(&word.len())
            && word.iter().all(u8::is_ascii_alphanumeric)
            && word.iter().filter(|byte| byte.is_ascii_digit()).count() >= 8
            && context::near(text, start, PARCEL)
    };
    carried || is_ups || is_post || announced()
}
