//! JSON text that is looked into without being read as a whole: a text in, the ends of its values and
//! single members out. Nothing recurses, so no depth is too much; what is passed over stays as it came.

use serde_json::Number;

/// Why a text holds no JSON value, and where that shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop {
    /// Bytes before the place.
    pub(super) at: usize,
    /// Whether the text only ends too early.
    pub(super) cut: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    After,
}

/// Bytes of the JSON value that `text` begins with, white space before it included. Cost is linear.
pub(super) fn span(text: &str) -> Result<usize, Stop> {
    let mut scan = Scan { bytes: text.as_bytes(), text, at: 0, open: Vec::new() };
    let mut next = Next::Value;
    loop {
        scan.skip_space();
        let Some(byte) = scan.peek() else { return Err(scan.cut()) };
        next = match (next, byte) {
            (Next::Value | Next::ValueOrEnd, b'{') => scan.enter(true),
            (Next::Value | Next::ValueOrEnd, b'[') => scan.enter(false),
            (Next::ValueOrEnd | Next::After, b']') | (Next::KeyOrEnd | Next::After, b'}') => {
                scan.leave(byte)?
            }
            (Next::Value | Next::ValueOrEnd, _) => scan.scalar()?,
            (Next::Key | Next::KeyOrEnd, b'"') => {
                scan.string()?;
                Next::Colon
            }
            (Next::Colon, b':') => {
                scan.at += 1;
                Next::Value
            }
            (Next::After, b',') => {
                scan.at += 1;
                if scan.open.last() == Some(&true) { Next::Key } else { Next::Value }
            }
            _ => return Err(scan.wrong()),
        };
        if next == Next::After && scan.open.is_empty() {
            return Ok(scan.at);
        }
    }
}

struct Scan<'t> {
    bytes: &'t [u8],
    text: &'t str,
    at: usize,
    /// For each open bracket whether it is that of an object.
    open: Vec<bool>,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    const fn cut(&self) -> Stop {
        Stop { at: self.bytes.len(), cut: true }
    }

    const fn wrong(&self) -> Stop {
        Stop { at: self.at, cut: false }
    }

    fn enter(&mut self, object: bool) -> Next {
        self.at += 1;
        self.open.push(object);
        if object { Next::KeyOrEnd } else { Next::ValueOrEnd }
    }

    fn leave(&mut self, byte: u8) -> Result<Next, Stop> {
        if self.open.pop() != Some(byte == b'}') {
            return Err(self.wrong());
        }
        self.at += 1;
        Ok(Next::After)
    }

    fn scalar(&mut self) -> Result<Next, Stop> {
        if self.peek() == Some(b'"') {
            return self.string().map(|()| Next::After);
        }
        let start = self.at;
        let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        while self.peek().is_some_and(part) {
            self.at += 1;
        }
        let word = self.text.get(start..self.at).unwrap_or_default();
        if ["true", "false", "null"].contains(&word) || word.parse::<Number>().is_ok() {
            return Ok(Next::After);
        }
        let begun = ["true", "false", "null"].iter().any(|whole| whole.starts_with(word))
            || word.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        let ends = self.at == self.bytes.len();
        self.at = start;
        Err(if ends && begun { self.cut() } else { self.wrong() })
    }

    fn string(&mut self) -> Result<(), Stop> {
        self.at += 1;
        loop {
            let Some(byte) = self.peek() else { return Err(self.cut()) };
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => {
                    self.at += 1;
                    self.escape()?;
                }
                0..b' ' => return Err(self.wrong()),
                _ => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<(), Stop> {
        let Some(byte) = self.peek() else { return Err(self.cut()) };
        self.at += 1;
        if byte == b'u' {
            for _ in 0..4 {
                let Some(digit) = self.peek() else { return Err(self.cut()) };
                if !digit.is_ascii_hexdigit() {
                    return Err(self.wrong());
                }
                self.at += 1;
            }
            return Ok(());
        }
        if b"\"\\/bfnrt".contains(&byte) { Ok(()) } else { Err(self.wrong()) }
    }
}

/// The members of an object, the items of an array (with an empty key), or nothing. `value` must be
/// one whole value.
pub(super) fn parts(value: &str) -> Parts<'_> {
    let value = value.trim();
    let object = value.starts_with('{');
    let rest = if object || value.starts_with('[') { value.get(1..) } else { None };
    Parts { rest: rest.unwrap_or_default(), object }
}

/// What [`parts`] gives, one at a time.
pub(super) struct Parts<'t> {
    rest: &'t str,
    object: bool,
}

impl<'t> Parts<'t> {
    fn take(&mut self) -> Option<&'t str> {
        let end = span(self.rest).ok()?;
        let (taken, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        Some(taken.trim())
    }
}

impl<'t> Iterator for Parts<'t> {
    /// Key as JSON text, and value.
    type Item = (&'t str, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        self.rest = self.rest.trim_start().trim_start_matches(',');
        if !self.object {
            return Some(("", self.take()?));
        }
        let key = self.take()?;
        self.rest = self.rest.trim_start().strip_prefix(':')?;
        Some((key, self.take()?))
    }
}
