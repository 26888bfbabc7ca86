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
    /// One bit for each pair of bytes with which a form may begin; most text has none of them.
    pairs: Vec<u64>,
    /// Bytes of the longest spelling of all.
    longest: usize,
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
        let mut pairs = vec![0; 1 << 10];
        for (first, starts) in (0..=u8::MAX).zip(&mut starts) {
            let fitting = forms.iter().enumerate().filter(|(_, form)| form.may_start(first));
            starts.extend(fitting.map(|(place, _)| place));
            for second in 0..=u8::MAX {
                let fits = |place: &usize| {
                    forms.get(*place).is_some_and(|form| form.fit(&[first, second]).open)
                };
                let (word, bit) = pair(first, second);
                if let Some(word) = pairs.get_mut(word).filter(|_| starts.iter().any(fits)) {
                    *word |= bit;
                }
            }
        }
        let longest = forms.iter().map(Form::longest).max().unwrap_or(0);
        Self { forms, starts, pairs, longest }
    }

    /// Masks what `bytes` hold; the number of bytes that are settled. Those after them may be the
    /// beginning of a value. With `last`, all are settled.
    fn cover(&self, bytes: &mut [u8], last: bool) -> usize {
        let mut at = 0;
        while let Some(skip) = bytes.get(at..).and_then(|rest| self.next(rest)) {
            at += skip;
            let rest = bytes.get_mut(at..).unwrap_or_default();
            let (length, open) = self.find(rest);
            if open && !last {
                return at;
            }
            rest.iter_mut().take(length).for_each(|byte| *byte = MASK);
            at += length.max(1);
        }
        bytes.len()
    }

    /// Where the next place is at which a form may begin.
    fn next(&self, bytes: &[u8]) -> Option<usize> {
        let hot = |both: &[u8]| {
            let [first, second] = both else { return false };
            let (word, bit) = pair(*first, *second);
            self.pairs.get(word).is_some_and(|word| word & bit != 0)
        };
        let last = bytes.last()?;
        bytes.windows(2).position(hot).or_else(|| {
            let starts = self.starts.get(usize::from(*last));
            starts.filter(|starts| !starts.is_empty()).map(|_| bytes.len() - 1)
        })
    }

    /// Length of the longest form at the beginning of `text`, and whether more bytes could make
    /// another or a longer one.
    fn find(&self, text: &[u8]) -> (usize, bool) {
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

/// Where the bit of two bytes is.
fn pair(first: u8, second: u8) -> (usize, u64) {
    let place = usize::from(first) << 8 | usize::from(second);
    (place >> 6, 1 << (place & 63))
}

/// Masks a stream. Its last bytes are held back until more come, always the same number of them:
/// how long something takes must not tell whether it is the beginning of a value.
#[derive(Debug)]
pub(super) struct Cover {
    veil: Arc<Veil>,
    held: BytesMut,
    /// So many bytes of those held are masked where they have to be.
    settled: usize,
}

impl Cover {
    pub(super) fn new(veil: &Arc<Veil>) -> Self {
        Self { veil: Arc::clone(veil), held: BytesMut::new(), settled: 0 }
    }

    /// Takes a piece; gives what need not be held back.
    pub(super) fn push(&mut self, piece: &[u8]) -> Bytes {
        self.held.extend_from_slice(piece);
        self.settle(false);
        let free = self.held.len().saturating_sub(self.veil.longest).min(self.settled);
        self.settled -= free;
        self.held.split_to(free).freeze()
    }

    /// Gives the rest, at the end of the stream.
    pub(super) fn finish(&mut self) -> Bytes {
        self.settle(true);
        self.settled = 0;
        self.held.split().freeze()
    }

    fn settle(&mut self, last: bool) {
        let rest = self.held.get_mut(self.settled..).unwrap_or_default();
        self.settled += self.veil.cover(rest, last);
    }
}
