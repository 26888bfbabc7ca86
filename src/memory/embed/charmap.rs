//! The compiled map of characters in files of SentencePiece: text in, text out in which the longest
//! sequences that the map knows are replaced.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A double array that leads from bytes to places in the texts that replace them.
#[derive(Debug)]
pub(super) struct Charmap {
    units: Vec<u32>,
    texts: Vec<u8>,
}

impl Charmap {
    /// Reads the map from base64: the array's length in bytes, the array, texts that end with a zero.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let wrong = || "its map of characters is damaged; fetch the file again".to_owned();
        let bytes = STANDARD.decode(text).map_err(|_undecoded| wrong())?;
        let (size, rest) = bytes.split_first_chunk::<4>().ok_or_else(wrong)?;
        let size = usize::try_from(u32::from_le_bytes(*size)).map_err(|_large| wrong())?;
        let (units, texts) = rest.split_at_checked(size).ok_or_else(wrong)?;
        let (units, odd) = units.as_chunks::<4>();
        if !odd.is_empty() || units.is_empty() {
            return Err(wrong());
        }
        let units = units.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
        Ok(Self { units, texts: texts.to_vec() })
    }

    /// The text with everything replaced that the map knows.
    pub(super) fn apply(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let (taken, new) = match self.longest(rest.as_bytes()) {
                Some((taken, new)) if rest.is_char_boundary(taken) => (taken, Some(new)),
                _ => (first.len_utf8(), None),
            };
            match new {
                Some(new) => out.push_str(new),
                None => out.push(first),
            }
            rest = rest.get(taken..).unwrap_or_default();
        }
        out
    }

    /// How many bytes the longest known sequence at the start has, and what replaces it.
    fn longest(&self, bytes: &[u8]) -> Option<(usize, &str)> {
        let mut found = None;
        let mut place = offset(*self.units.first()?);
        for (at, byte) in bytes.iter().enumerate() {
            place ^= usize::from(*byte);
            let Some(unit) = self.units.get(place).copied() else { break };
            // The label of a leaf has the highest bit set, so it is no byte.
            if unit & 0x8000_00ff != u32::from(*byte) {
                break;
            }
            place ^= offset(unit);
            if unit >> 8 & 1 == 1 {
                let leaf = self.units.get(place)? & 0x7fff_ffff;
                found = Some((at + 1, usize::try_from(leaf).ok()?));
            }
        }
        let (taken, start) = found?;
        let text = self.texts.get(start..)?.split(|byte| *byte == 0).next()?;
        Some((taken, std::str::from_utf8(text).ok()?))
    }
}

/// How far the children of a unit lie from it.
const fn offset(unit: u32) -> usize {
    let offset = unit >> 10 << ((unit & (1 << 9)) >> 6);
    offset as usize
}
