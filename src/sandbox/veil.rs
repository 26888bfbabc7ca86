//! Masks secret values in bytes that are on their way into a sandbox or a reply. Bytes in, as many
//! bytes out, however they are cut into pieces; what a value is used for is not known here.

mod spelling;

use std::fmt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::secrets::Hidden;
use spelling::Form;

/// Stands for each byte of a value.
const MASK: u8 = b'*';

/// Knows some values in every spelling that a server or a tool may give them: plain, escaped for
/// URLs, JSON and HTML, hexadecimal, base64 at any offset, UTF-16. Case does not count.
pub(super) struct Veil {
    forms: Vec<Form>,
    /// The forms that may begin with a byte, by that byte.
    starts: Vec<Vec<usize>>,
    hot: [bool; 256],
}

impl fmt::Debug for Veil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Veil")
    }
}

impl Veil {
    /// A veil over `values`; `logins` are whole base64 texts of basic authentication.
    pub(super) fn new<'v>(
        values: impl Iterator<Item = &'v Hidden>,
        logins: impl Iterator<Item = &'v Hidden>,
    ) -> Self {
        let mut forms: Vec<Form> = values.flat_map(spelling::forms).collect();
        forms.extend(logins.map(spelling::login));
        let mut starts = vec![Vec::new(); 256];
        let mut hot = [false; 256];
        for (byte, (starts, hot)) in (0..=u8::MAX).zip(starts.iter_mut().zip(&mut hot)) {
            starts.extend(
                forms.iter().enumerate().filter(|(_, f)| f.may_start(byte)).map(|(place, _)| place),
            );
            *hot = !starts.is_empty();
        }
        Self { forms, starts, hot }
    }

    /// Masks what `bytes` hold; the number of bytes that are settled. Those after them may be the
    /// beginning of a value. With `last`, all are settled.
    fn cover(&self, bytes: &mut [u8], last: bool) -> usize {
        let mut at = 0;
        while let Some(skip) = bytes.get(at..).and_then(|rest| self.next(rest)) {
            at += skip;
            let rest = bytes.get_mut(at..).unwrap_or_default();
            let (length, open) = self.longest(rest);
            if open && !last {
                return at;
            }
            rest.iter_mut().take(length).for_each(|byte| *byte = MASK);
            at += length.max(1);
        }
        bytes.len()
    }

    /// Where the next byte stands at which a form may begin.
    fn next(&self, bytes: &[u8]) -> Option<usize> {
        bytes.iter().position(|byte| self.hot.get(usize::from(*byte)).is_some_and(|hot| *hot))
    }

    /// Length of the longest form at the beginning of `text`, and whether more bytes could make
    /// another or a longer one.
    fn longest(&self, text: &[u8]) -> (usize, bool) {
        let first = text.first().map_or(0, |byte| usize::from(*byte));
        let (mut longest, mut open) = (0, false);
        for form in self.starts.get(first).into_iter().flatten() {
            if let Some(fit) = self.forms.get(*form).map(|form| form.fit(text)) {
                longest = longest.max(fit.length);
                open |= fit.open;
            }
        }
        (longest, open)
    }

    /// Masks bytes that are whole.
    pub(super) fn mask(&self, bytes: &mut [u8]) {
        self.cover(bytes, true);
    }

    /// Masks text that is whole.
    pub(super) fn mask_text(&self, text: &mut String) {
        let mut bytes = std::mem::take(text).into_bytes();
        self.mask(&mut bytes);
        // A value is ASCII and so is its mask, so what was text still is.
        *text = String::from_utf8(bytes).unwrap_or_default();
    }
}

/// Masks a stream. What may be the beginning of a value is held back until more tells.
#[derive(Debug)]
pub(super) struct Cover {
    veil: Arc<Veil>,
    held: BytesMut,
}

impl Cover {
    pub(super) fn new(veil: &Arc<Veil>) -> Self {
        Self { veil: Arc::clone(veil), held: BytesMut::new() }
    }

    /// Takes a piece; gives what is settled.
    pub(super) fn push(&mut self, piece: &[u8]) -> Bytes {
        self.held.extend_from_slice(piece);
        let settled = self.veil.cover(&mut self.held, false);
        self.held.split_to(settled).freeze()
    }

    /// Gives the rest, at the end of the stream.
    pub(super) fn finish(&mut self) -> Bytes {
        self.veil.cover(&mut self.held, true);
        self.held.split().freeze()
    }
}
