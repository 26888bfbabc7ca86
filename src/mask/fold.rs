//! Text in, the same as the patterns read it out: wide and foreign digits, wide letters, odd spaces
//! and dashes as ASCII, invisible characters left out. It is for finding only: what was found is
//! told as a place in the text as it came.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

/// Zeros of the decimal digits of other scripts.
const ZEROS: [u32; 18] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50,
    0xed0, 0xf20, 0x1040, 0x17e0, 0x1810,
];

/// A text as the patterns read it.
pub(super) struct Folded<'t> {
    text: &'t str,
    /// The evened-out text. What is no character of ASCII in it stands as it came.
    pub(super) bytes: Cow<'t, [u8]>,
    /// Places, here and in the text, from which on both run alike again.
    jumps: Vec<(usize, usize)>,
}

impl<'t> Folded<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut folded = Self { text, bytes: Cow::Borrowed(text.as_bytes()), jumps: Vec::new() };
        if !text.is_ascii() {
            folded.fold();
        }
        folded
    }

    fn fold(&mut self) {
        let mut out: Vec<u8> = Vec::new();
        for (at, character) in self.text.char_indices().filter(|(_, c)| !c.is_ascii()) {
            let reading = reading(character);
            if reading == Reading::Itself {
                continue;
            }
            // Up to here both run alike.
            let (_, there) = self.jumps.last().copied().unwrap_or_default();
            out.extend(self.text.as_bytes().get(there..at).unwrap_or_default());
            if let Reading::As(byte) = reading {
                self.jumps.push((out.len(), at));
                out.push(byte);
            }
            self.jumps.push((out.len(), at + character.len_utf8()));
        }
        if let Some((_, there)) = self.jumps.last() {
            out.extend(self.text.as_bytes().get(*there..).unwrap_or_default());
            self.bytes = Cow::Owned(out);
        }
    }

    /// Where in the text a byte of the evened-out text comes from.
    fn origin(&self, at: usize) -> usize {
        let after = self.jumps.partition_point(|(here, _)| *here <= at);
        let jump = after.checked_sub(1).and_then(|index| self.jumps.get(index));
        let (here, there) = jump.copied().unwrap_or_default();
        there + (at - here)
    }

    /// The piece of the text that a piece of the evened-out text was read from.
    pub(super) fn place(&self, piece: &Range<usize>) -> Range<usize> {
        let Some(last) = piece.end.checked_sub(1).filter(|last| *last >= piece.start) else {
            return 0..0;
        };
        let start = self.text.floor_char_boundary(self.origin(piece.start));
        start..self.text.ceil_char_boundary(self.origin(last) + 1)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Itself,
    As(u8),
    Nothing,
}

fn reading(character: char) -> Reading {
    let code = u32::from(character);
    match character {
        // By far the most frequent ones, none of which looks like ASCII.
        '\u{3001}'..='\u{31ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => {
            Reading::Itself
        }
        // Letters with accents: they belong to names, and do not hide digits.
        '\u{c0}'..='\u{24f}' => Reading::Itself,
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => Reading::As(b'-'),
        _ if is_invisible(character) => Reading::Nothing,
        _ => match ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&code)) {
            Some(zero) => {
                u8::try_from(code - zero).map_or(Reading::Itself, |n| Reading::As(b'0' + n))
            }
            None => compatible(character),
        },
    }
}

/// What Unicode calls the compatible form, where that is one character of ASCII.
fn compatible(character: char) -> Reading {
    let mut form = std::iter::once(character).nfkc();
    match (form.next().and_then(|c| u8::try_from(u32::from(c)).ok()), form.next()) {
        (Some(byte @ b' '..=b'~'), None) => Reading::As(byte),
        _ => Reading::Itself,
    }
}

fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{e0000}'..='\u{e0fff}'
        // Marks that combine with the character before them.
        | '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}
