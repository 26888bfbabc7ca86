//! How one value may be written. A value in, its [`Form`]s out, and for each whether a text begins
//! with it; escapes are understood byte by byte, so any mixture of them is found.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use zeroize::Zeroizing;

use crate::sandbox::secrets::Hidden;

/// Places in a text that are followed at once. More than one arises only where a value itself has
/// a character that begins an escape.
const BRANCHES: usize = 8;
/// Longest HTML entity that is understood, from `&` to `;`.
const ENTITY: usize = 10;
/// Backslashes in a row that are read as one escape inside another.
const NESTED: usize = 4;

/// One way to write a value.
pub(super) struct Form {
    text: Zeroizing<Vec<u8>>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Characters that may be escaped.
    Text,
    /// The same, in either alphabet of base64 and with line breaks.
    Base64,
    /// Only these bytes.
    Exact,
}

/// Whether a text begins with a form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Fit {
    /// With so many bytes; 0 when it does not.
    pub(super) length: usize,
    /// The text ends before all can be told.
    pub(super) open: bool,
}

/// Every form of a value.
pub(super) fn forms(value: &Hidden) -> Vec<Form> {
    let bytes = value.bytes();
    let hexadecimal = Zeroizing::new(hex::encode(bytes));
    let wide = |high_first: bool| -> Vec<u8> {
        let pair = |byte: &u8| if high_first { [0, *byte] } else { [*byte, 0] };
        bytes.iter().flat_map(pair).collect()
    };
    let mut forms = vec![
        Form::new(bytes.to_vec(), Kind::Text),
        Form::new(hexadecimal.as_bytes().to_vec(), Kind::Text),
        Form::new(wide(false), Kind::Exact),
        Form::new(wide(true), Kind::Exact),
    ];
    forms.extend((0..3).map(|offset| Form::new(inside_base64(bytes, offset), Kind::Base64)));
    forms
}

/// The form of a text that is base64 already.
pub(super) fn login(text: &Hidden) -> Form {
    Form::new(text.bytes().to_vec(), Kind::Base64)
}

/// The base64 characters that hold nothing but `bytes`, when so many others stand before them.
fn inside_base64(bytes: &[u8], before: usize) -> Vec<u8> {
    let padded = Zeroizing::new([[0, 0].get(..before).unwrap_or_default(), bytes].concat());
    let text = Zeroizing::new(STANDARD_NO_PAD.encode(&*padded).into_bytes());
    let first = (before * 8).div_ceil(6);
    let end = padded.len() * 8 / 6;
    text.get(first..end).unwrap_or_default().to_vec()
}

impl Form {
    fn new(text: Vec<u8>, kind: Kind) -> Self {
        Self { text: Zeroizing::new(text), kind }
    }

    /// The most bytes that a spelling of it takes.
    pub(super) fn longest(&self) -> usize {
        const ESCAPE: usize = if ENTITY > NESTED + 5 { ENTITY } else { NESTED + 5 };
        let each = match self.kind {
            Kind::Text => ESCAPE,
            Kind::Base64 => ESCAPE + 2 * (NESTED + 1),
            Kind::Exact => 1,
        };
        self.text.len() * each
    }

    /// Whether a text that begins with `byte` can begin with this form.
    pub(super) fn may_start(&self, byte: u8) -> bool {
        let escape = self.kind != Kind::Exact && matches!(byte, b'%' | b'\\' | b'&');
        let first = self.text.first();
        escape
            || first.is_some_and(|first| self.same(*first, byte) || (*first, byte) == (b' ', b'+'))
    }

    fn same(&self, wanted: u8, found: u8) -> bool {
        wanted.eq_ignore_ascii_case(&found)
            || self.kind == Kind::Base64 && matches!((wanted, found), (b'+', b'-') | (b'/', b'_'))
    }

    /// Whether `text` begins with this form.
    pub(super) fn fit(&self, text: &[u8]) -> Fit {
        let mut places = Places::default();
        places.add(0);
        let mut open = false;
        for wanted in self.text.iter() {
            let mut next = Places::default();
            for place in places.iter() {
                let mut rest = text.get(place..).unwrap_or_default();
                if self.kind == Kind::Base64 && place > 0 {
                    rest = skip_breaks(rest);
                }
                self.spellings(*wanted, rest, text.len() - rest.len(), &mut next);
            }
            open |= next.open;
            places = next;
            if places.count == 0 {
                break;
            }
        }
        Fit { length: places.iter().max().unwrap_or(0), open }
    }

    /// Adds where `text`, which stands at `place`, goes on after one character of the form.
    fn spellings(&self, wanted: u8, text: &[u8], place: usize, next: &mut Places) {
        let Some(first) = text.first() else {
            next.open = true;
            return;
        };
        if self.same(wanted, *first) {
            next.add(place + 1);
        }
        if self.kind == Kind::Exact {
            return;
        }
        let decoded = match first {
            b'%' => return self.percent(wanted, text, place, next),
            b'&' => entity(text),
            b'\\' => return self.backslash(wanted, text, place, next),
            b'+' if wanted == b' ' => Decoded::Is(b' ', 1),
            _ => return,
        };
        self.take(wanted, decoded, place, next);
    }

    fn take(&self, wanted: u8, decoded: Decoded, place: usize, next: &mut Places) {
        match decoded {
            Decoded::Is(byte, length) if self.same(wanted, byte) => next.add(place + length),
            Decoded::Is(..) | Decoded::Not => {}
            Decoded::Open => next.open = true,
        }
    }

    /// `%2f`, and `%252f`, which is escaped twice.
    fn percent(&self, wanted: u8, text: &[u8], place: usize, next: &mut Places) {
        let once = number(text, 1, 2);
        if let Decoded::Is(b'%', length) = once {
            self.take(wanted, number(text, length, 2), place, next);
        }
        self.take(wanted, once, place, next);
    }

    /// Escapes of JSON, JavaScript and shells, also of texts inside such texts.
    fn backslash(&self, wanted: u8, text: &[u8], place: usize, next: &mut Places) {
        let count = text.iter().take(NESTED).take_while(|byte| **byte == b'\\').count();
        let rest = text.get(count..).unwrap_or_default();
        if wanted == b'\\' {
            [2, 4].into_iter().filter(|n| *n <= count).for_each(|n| next.add(place + n));
        }
        let decoded = match rest.first() {
            None => Decoded::Open,
            Some(b'u') => number(rest, 1, 4),
            Some(b'x') => number(rest, 1, 2),
            Some(byte) if byte.is_ascii_punctuation() => Decoded::Is(*byte, 1),
            Some(_) => Decoded::Not,
        };
        self.take(wanted, decoded, place + count, next);
    }
}

/// Goes past a line break, as it is or escaped. More than one is no wrapped base64.
fn skip_breaks(text: &[u8]) -> &[u8] {
    let escaped = |text: &[u8], letter: u8| {
        let count = text.iter().take(NESTED).take_while(|byte| **byte == b'\\').count();
        (count > 0 && text.get(count) == Some(&letter)).then_some(count + 1)
    };
    let mut text = text;
    for byte in *b"\r\n" {
        let letter = if byte == b'\r' { b'r' } else { b'n' };
        let length = match text.first() {
            Some(first) if *first == byte => 1,
            _ => escaped(text, letter).unwrap_or(0),
        };
        text = text.get(length..).unwrap_or_default();
    }
    text
}

/// What stands at a place, and its length.
#[derive(Clone, Copy)]
enum Decoded {
    Is(u8, usize),
    Open,
    Not,
}

/// A hexadecimal number of `digits` after `skip` other bytes.
fn number(text: &[u8], skip: usize, digits: usize) -> Decoded {
    let found = text.get(skip..).unwrap_or_default();
    let found = found.get(..digits.min(found.len())).unwrap_or_default();
    if !found.iter().all(u8::is_ascii_hexdigit) {
        return Decoded::Not;
    }
    if found.len() < digits {
        return Decoded::Open;
    }
    let value = found
        .iter()
        .try_fold(0_u32, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?));
    match value.and_then(|value| u8::try_from(value).ok()) {
        Some(byte) => Decoded::Is(byte, skip + digits),
        None => Decoded::Not,
    }
}

/// `&amp;`, `&#38;`, `&#x26;`.
fn entity(text: &[u8]) -> Decoded {
    let shown = text.get(..ENTITY.min(text.len())).unwrap_or_default();
    let Some(end) = shown.iter().position(|byte| *byte == b';') else {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'#';
        let open = text.len() < ENTITY && shown.iter().skip(1).all(plain);
        return if open { Decoded::Open } else { Decoded::Not };
    };
    let name = shown.get(1..end).and_then(|name| std::str::from_utf8(name).ok());
    let name = name.unwrap_or_default().to_ascii_lowercase();
    let value = match name.as_str() {
        "amp" => Some(b'&'),
        "lt" => Some(b'<'),
        "gt" => Some(b'>'),
        "quot" => Some(b'"'),
        "apos" => Some(b'\''),
        other => match other.strip_prefix('#').map(|digits| (digits, digits.strip_prefix('x'))) {
            Some((_, Some(digits))) => u8::from_str_radix(digits, 16).ok(),
            Some((digits, None)) => digits.parse().ok(),
            None => None,
        },
    };
    value.map_or(Decoded::Not, |byte| Decoded::Is(byte, end + 1))
}

/// A few places in a text.
#[derive(Default)]
struct Places {
    at: [usize; BRANCHES],
    count: usize,
    /// Whether the text ended inside a spelling.
    open: bool,
}

impl Places {
    fn add(&mut self, place: usize) {
        if self.iter().any(|known| known == place) {
            return;
        }
        if let Some(slot) = self.at.get_mut(self.count) {
            *slot = place;
            self.count += 1;
        }
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.at.iter().copied().take(self.count)
    }
}
