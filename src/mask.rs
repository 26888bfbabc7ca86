//! What must not be seen in the clear. Text or JSON in, the same out with [`MASK`] in the place of
//! what a schema marks as sensitive, of values under names such as `password`, and of whatever looks
//! like a personal number, a mail address, a key, a token or a password. The rest stays byte for
//! byte. It is a filter: a secret without any of these marks is not found. Uses no other room.

mod annotation;
mod context;
mod cover;
mod digits;
mod extras;
mod fold;
mod kind;
mod marks;
mod names;
mod phones;
#[cfg(test)]
mod tests;
mod tree;
mod vendors;

use std::borrow::Cow;
use std::ops::Range;

pub use annotation::Marks;
pub use cover::{Secrets, cover};
use fold::Folded;
pub use kind::{Kind, Rules};
pub use tree::Masker;

/// What stands in the place of a masked value.
pub const MASK: &str = "[masked]";

/// Bytes that are read behind those that are wanted, so that what goes on there is judged whole.
const AHEAD: usize = 16 << 10;
/// Times that a text is looked at again after something in it was masked.
const MOST_LOOKS: u32 = 4;

/// A place in a text, and what kind of value stands there.
pub type Place = (Kind, Range<usize>);

/// Any text without what looks sensitive in it. Takes time in proportion to its length.
pub fn text(text: &str) -> Cow<'_, str> {
    let places = places(text, Rules::USUAL);
    if places.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(covered(text, &places)) }
}

/// Where a text holds what the rules ask for: bytes of the text as it came, in order, no two
/// overlapping. Takes time in proportion to the text's length.
pub fn places(text: &str, rules: Rules) -> Vec<Place> {
    let mut found = look(text, rules);
    // A mask is a border, which may let something beside it stand alone.
    for _ in 1..MOST_LOOKS {
        if found.is_empty() {
            break;
        }
        let more = look(&covered(text, &found), rules);
        let before = found.len();
        let bytes = |found: &[Place]| found.iter().map(|(_, range)| range.len()).sum::<usize>();
        let (size, more) = (bytes(&found), uncovered(more, &found));
        found = apart(found.into_iter().chain(more).collect());
        if found.len() == before && bytes(&found) == size {
            break;
        }
    }
    found
}

/// A text as it is compared: wide and foreign digits and letters as ASCII, no invisible characters.
pub fn folded(text: &str) -> String {
    String::from_utf8_lossy(&Folded::new(text).bytes).into_owned()
}

/// Whether values under this name are secret whatever they hold.
pub fn is_secret_name(name: &str) -> bool {
    names::is_secret(name)
}

/// JSON or any other text, with the values under secret names masked too.
pub fn json(text: &str) -> String {
    Masker::default().json(text, usize::MAX)
}

/// As [`text`], of which only the first `keep` bytes are right, and not much more is read.
fn start(text: &str, keep: usize) -> Cow<'_, str> {
    let mut window = keep.saturating_add(AHEAD);
    loop {
        let piece = text.get(..text.floor_char_boundary(window)).unwrap_or(text);
        let masked = self::text(piece);
        if piece.len() == text.len() || masked.len() >= keep {
            return masked;
        }
        window = window.saturating_mul(2);
    }
}

/// What is found at one look.
fn look(text: &str, rules: Rules) -> Vec<Place> {
    let folded = Folded::new(text);
    let mut found: Vec<Place> = Vec::new();
    digits::find(&folded.bytes, &mut found);
    if rules.has(Kind::Phone) {
        phones::find(&folded.bytes, &mut found);
    }
    if vendors::find(&folded.bytes, &mut found) {
        marks::find(&folded.bytes, rules, &mut found);
    }
    extras::find(&folded.bytes, rules, &mut found);
    found.retain(|(kind, _)| rules.has(*kind));
    apart(found.into_iter().map(|(kind, range)| (kind, folded.place(&range))).collect())
}

/// In order, those that overlap made one, of the kind of the longest.
fn apart(mut found: Vec<Place>) -> Vec<Place> {
    found.sort_by_key(|(_, range)| (range.start, std::cmp::Reverse(range.end)));
    let mut out: Vec<Place> = Vec::with_capacity(found.len());
    let mut longest = 0;
    for (kind, range) in found {
        match out.last_mut().filter(|(_, last)| range.start < last.end) {
            Some((known, last)) => {
                if range.len() > longest {
                    (longest, *known) = (range.len(), kind);
                }
                last.end = last.end.max(range.end);
            }
            None => {
                longest = range.len();
                out.push((kind, range));
            }
        }
    }
    out
}

fn covered(text: &str, places: &[Place]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (_, place) in places {
        out.push_str(text.get(done..place.start).unwrap_or_default());
        out.push_str(MASK);
        done = place.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// Places in a covered text as places in the text itself; where one takes in a part of a mask, all
/// that is below the mask belongs to it.
fn uncovered(found: Vec<Place>, masks: &[Place]) -> Vec<Place> {
    let (mut taken, mut given) = (0, 0);
    let shown = masks.iter().map(|(_, own)| {
        let start = own.start - taken + given;
        (taken, given) = (taken + own.len(), given + MASK.len());
        (start, own)
    });
    let shown: Vec<(usize, &Range<usize>)> = shown.collect();
    // The piece of the text that one byte stands for.
    let origin = |at: usize| {
        let before = shown.partition_point(|(start, _)| *start <= at).checked_sub(1);
        match before.and_then(|index| shown.get(index)) {
            Some((start, own)) if at < start + MASK.len() => (*own).clone(),
            Some((start, own)) => {
                let there = own.end + (at - start - MASK.len());
                there..there + 1
            }
            None => at..at + 1,
        }
    };
    let place = |range: Range<usize>| origin(range.start).start..origin(range.end - 1).end;
    let real = found.into_iter().filter(|(_, range)| !range.is_empty());
    real.map(|(kind, range)| (kind, place(range))).collect()
}
