//! What must not be seen in the clear. Text or JSON in, the same out with [`MASK`] in the place of
//! what a schema marks as sensitive, of values under names such as `password`, and of whatever looks
//! like a personal number, a mail address, a key, a token or a password. The rest stays byte for
//! byte. It is a filter: a secret without any of these marks is not found. Uses no other room.

mod annotation;
mod cover;
mod digits;
mod fold;
mod marks;
mod names;
#[cfg(test)]
mod tests;
mod tree;
mod vendors;

use std::borrow::Cow;
use std::ops::Range;

pub use annotation::Marks;
pub use cover::{Secrets, cover};
use fold::Folded;
pub use tree::Masker;

/// What stands in the place of a masked value.
pub const MASK: &str = "[masked]";

/// Bytes that are read behind those that are wanted, so that what goes on there is judged whole.
const AHEAD: usize = 16 << 10;
/// Times that a text is looked at again after something in it was masked.
const MOST_LOOKS: u32 = 4;

/// Any text without what looks sensitive in it. Takes time in proportion to its length.
pub fn text(text: &str) -> Cow<'_, str> {
    let mut masked = Cow::Borrowed(text);
    // A mask is a border, which may let something beside it stand alone.
    for _ in 0..MOST_LOOKS {
        match look(&masked) {
            Some(next) => masked = Cow::Owned(next),
            None => break,
        }
    }
    masked
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

/// The text with every place masked that is found at one look; `None` when that changes nothing.
fn look(text: &str) -> Option<String> {
    let folded = Folded::new(text);
    let mut found: Vec<Range<usize>> = Vec::new();
    digits::find(&folded.bytes, &mut found);
    if vendors::find(&folded.bytes, &mut found) {
        marks::find(&folded.bytes, &mut found);
    }
    if found.is_empty() {
        return None;
    }
    found.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for place in found.iter().map(|range| folded.place(range)) {
        if place.start >= done {
            out.push_str(text.get(done..place.start).unwrap_or_default());
            out.push_str(MASK);
        }
        done = done.max(place.end);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    (out != text).then_some(out)
}
