//! Reads JSON text strictly: text in, a value or a [`Flaw`] with its position out. Size and depth
//! are bounded before anything is built, and number spelling is kept. Repairs nothing.

use serde_json::{Map, Number, Value};

use super::flaw::{Flaw, FlawKind};
use super::hint;
use crate::pointer;

/// Longest run of digits in one number.
const MAX_DIGITS: usize = 1000;
/// Longest exponent, in digits.
const MAX_EXPONENT_DIGITS: usize = 4;
/// serde_json marks exact numbers by a key with this start, so no other value may carry it.
const RESERVED: &str = "$serde_json::private::";

/// How much [`read`] accepts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Bytes of text.
    pub(crate) bytes: usize,
    /// Levels of arrays and objects.
    pub(crate) depth: usize,
}

/// Reads one JSON value and nothing else. Cost is linear in the text.
pub(crate) fn read(text: &str, bounds: Bounds) -> Result<Value, Flaw> {
    let mut reader = Reader::new(text, 0);
    reader.max_depth = bounds.depth;
    reader.whole(bounds)
}

/// Reads as [`read`]; of two members of one name the last one counts. Tells whether there were two.
pub(crate) fn read_last(text: &str, bounds: Bounds) -> Result<(Value, bool), Flaw> {
    let mut reader = Reader::new(text, 0);
    reader.max_depth = bounds.depth;
    reader.twice = Some(false);
    let value = reader.whole(bounds)?;
    Ok((value, reader.twice == Some(true)))
}

/// That `text` ends too early, inside the value at `pointer`.
pub(super) fn truncated(text: &str, pointer: String) -> Flaw {
    Flaw { pointer, ..Reader::new(text, text.len()).truncated() }
}

/// A flaw of another notation of `text`, at its place in `text`.
pub(super) fn placed(text: &str, at: usize, flaw: Flaw) -> Flaw {
    let Flaw { kind, pointer, message, .. } = flaw;
    let reader = Reader::new(text, text.floor_char_boundary(at));
    Flaw { pointer, ..reader.flaw(kind, message) }
}
/// Appends `token` to a JSON Pointer.
pub(super) fn join(pointer: &str, token: &str) -> String {
    format!("{pointer}/{}", pointer::escape(token))
}

enum Step {
    Key(String),
    Index(usize),
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    max_depth: usize,
    path: Vec<Step>,
    /// Where two members of one name are read: whether there were any.
    twice: Option<bool>,
}

impl<'t> Reader<'t> {
    const fn new(text: &'t str, at: usize) -> Self {
        Self { text, at, max_depth: 0, path: Vec::new(), twice: None }
    }

    fn whole(&mut self, bounds: Bounds) -> Result<Value, Flaw> {
        if self.text.len() > bounds.bytes {
            let message = format!(
                "the text has {} bytes, more than the {} allowed",
                self.text.len(),
                bounds.bytes
            );
            return Err(Flaw { offset: bounds.bytes, ..self.flaw(FlawKind::TooLarge, message) });
        }
        self.skip_space();
        let value = self.value()?;
        self.skip_space();
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(self.flaw(FlawKind::Trailing, hint::trailing(self.rest()))),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn pointer(&self) -> String {
        self.path.iter().fold(String::new(), |pointer, step| match step {
            Step::Key(key) => join(&pointer, key),
            Step::Index(index) => join(&pointer, &index.to_string()),
        })
    }

    fn flaw(&self, kind: FlawKind, message: impl Into<String>) -> Flaw {
        let before = self.text.get(..self.at).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |found| found + 1);
        Flaw {
            kind,
            pointer: self.pointer(),
            offset: self.at,
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count().saturating_add(1),
            message: message.into(),
        }
    }

    fn truncated(&self) -> Flaw {
        self.flaw(
            FlawKind::Truncated,
            "truncated: the text ends before the JSON does, send it again, complete and shorter",
        )
    }

    fn value(&mut self) -> Result<Value, Flaw> {
        match self.peek() {
            None => Err(self.truncated()),
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.literal(),
        }
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Result<Value, Flaw>) -> Result<Value, Flaw> {
        if self.path.len() >= self.max_depth {
            let message = format!("nested more than {} levels deep", self.max_depth);
            return Err(self.flaw(FlawKind::TooDeep, message));
        }
        self.at += 1;
        self.skip_space();
        inner(self)
    }

    fn object(&mut self) -> Result<Value, Flaw> {
        let mut map = Map::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(map));
        }
        loop {
            let key_at = self.at;
            match self.peek() {
                Some(b'"') => {}
                None => return Err(self.truncated()),
                Some(_) => return Err(self.flaw(FlawKind::Syntax, hint::key(self.rest()))),
            }
            let key = self.string()?;
            self.check_key(&map, &key, key_at)?;
            self.skip_space();
            self.colon()?;
            self.skip_space();
            self.path.push(Step::Key(key.clone()));
            let value = self.value()?;
            self.path.pop();
            map.insert(key, value);
            if !self.more(b'}', "expected `,` or `}` after a value")? {
                return Ok(Value::Object(map));
            }
        }
    }

    fn check_key(&mut self, map: &Map<String, Value>, key: &str, at: usize) -> Result<(), Flaw> {
        let (kind, message) = if key.starts_with(RESERVED) {
            let message = format!("the key {} is reserved and cannot be carried", quote(key));
            (FlawKind::ReservedKey, message)
        } else if map.contains_key(key) {
            if self.twice.is_some() {
                self.twice = Some(true);
                return Ok(());
            }
            let message = format!("the key {} is given twice: give it once", quote(key));
            (FlawKind::DuplicateKey, message)
        } else {
            return Ok(());
        };
        self.at = at;
        let mut flaw = self.flaw(kind, message);
        flaw.pointer = join(&flaw.pointer, key);
        Err(flaw)
    }

    fn array(&mut self) -> Result<Value, Flaw> {
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(items));
        }
        loop {
            self.path.push(Step::Index(items.len()));
            let value = self.value()?;
            self.path.pop();
            items.push(value);
            if !self.more(b']', "expected `,` or `]` after an item")? {
                return Ok(Value::Array(items));
            }
        }
    }

    /// After a member: whether another follows before `close`.
    fn more(&mut self, close: u8, wanted: &str) -> Result<bool, Flaw> {
        self.skip_space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.skip_space();
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            None => Err(self.truncated()),
            Some(_) => Err(self.flaw(FlawKind::Syntax, hint::after(self.rest(), wanted))),
        }
    }

    fn colon(&mut self) -> Result<(), Flaw> {
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                Ok(())
            }
            None => Err(self.truncated()),
            Some(_) => Err(self.flaw(FlawKind::Syntax, hint::colon(self.rest()))),
        }
    }

    fn literal(&mut self) -> Result<Value, Flaw> {
        for (word, value) in
            [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)]
        {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
            if word.starts_with(self.rest()) {
                return Err(self.truncated());
            }
        }
        let (kind, what) = hint::value(self.rest(), self.at == 0);
        Err(self.flaw(kind, what))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Value, Flaw> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.rest().starts_with("Infinity") {
            return Err(self.flaw(FlawKind::Number, "JSON has no Infinity"));
        }
        let zero = self.peek() == Some(b'0');
        let mut count = self.digits();
        if zero && count > 1 {
            return Err(self.flaw(FlawKind::Number, "a number must not start with 0"));
        }
        let mut complete = count > 0;
        if complete && self.peek() == Some(b'.') {
            self.at += 1;
            let fraction = self.digits();
            count += fraction;
            complete = fraction > 0;
        }
        if complete && matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            let exponent = self.digits();
            complete = exponent > 0;
            if exponent > MAX_EXPONENT_DIGITS {
                return Err(self.flaw(FlawKind::Number, "a number's exponent is out of range"));
            }
        }
        if !complete {
            return Err(match self.peek() {
                None => self.truncated(),
                Some(_) => self.flaw(
                    FlawKind::Number,
                    "expected a digit: a number has some before and after its point",
                ),
            });
        }
        if matches!(self.peek(), Some(b'x' | b'X' | b'o' | b'O' | b'b' | b'B' | b'_' | b'n' | b'j'))
        {
            let what = "a number has only decimal digits, without a prefix, `_` or a suffix";
            return Err(self.flaw(FlawKind::Number, what));
        }
        if count > MAX_DIGITS {
            let message = format!("a number has more than {MAX_DIGITS} digits");
            return Err(self.flaw(FlawKind::Number, message));
        }
        let spelling = self.text.get(start..self.at).unwrap_or_default();
        spelling
            .parse::<Number>()
            .map(Value::Number)
            .map_err(|error| self.flaw(FlawKind::Number, error.to_string()))
    }

    fn string(&mut self) -> Result<String, Flaw> {
        self.at += 1;
        let mut string = String::new();
        loop {
            let start = self.at;
            while matches!(self.peek(), Some(byte) if byte >= b' ' && byte != b'"' && byte != b'\\')
            {
                self.at += 1;
            }
            string.push_str(self.text.get(start..self.at).unwrap_or_default());
            match self.peek() {
                None => return Err(self.truncated()),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(string);
                }
                Some(b'\\') => string.push(self.escape()?),
                Some(byte) => {
                    let message = format!(
                        "a control character stands raw in a string: write it as \\u{byte:04x}"
                    );
                    return Err(self.flaw(FlawKind::Text, message));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Flaw> {
        let start = self.at;
        self.at += 1;
        let Some(byte) = self.peek() else {
            return Err(self.truncated());
        };
        self.at += 1;
        let character = match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(start),
            _ => {
                self.at = start;
                return Err(self.flaw(
                    FlawKind::Text,
                    "a backslash in a string starts no known escape: write it twice",
                ));
            }
        };
        Ok(character)
    }

    fn unicode(&mut self, start: usize) -> Result<char, Flaw> {
        let first = self.hex()?;
        let code = match first {
            0xD800..=0xDBFF if self.rest().starts_with("\\u") => {
                self.at += 2;
                match self.hex()? {
                    second @ 0xDC00..=0xDFFF => {
                        Some(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00))
                    }
                    _ => None,
                }
            }
            code => Some(code),
        };
        code.and_then(char::from_u32).ok_or_else(|| {
            self.at = start;
            self.flaw(FlawKind::Text, "a lone surrogate is no character")
        })
    }

    fn hex(&mut self) -> Result<u32, Flaw> {
        let Some(digits) = self.text.get(self.at..self.at + 4) else {
            return Err(self.truncated());
        };
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(self.flaw(FlawKind::Text, "expected four hex digits after \\u"));
        }
        self.at += 4;
        u32::from_str_radix(digits, 16)
            .map_err(|error| self.flaw(FlawKind::Text, error.to_string()))
    }
}

/// `text` as a short JSON string in backticks, for a message.
fn quote(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    format!("`{}`", short.escape_debug())
}
