//! Turns text that is nearly JSON into JSON text: Python literals, raw control characters in
//! strings, and escapes where white space belongs. Whether the result is JSON is for the strict
//! reader to say; nothing is completed, evaluated or guessed.

use std::iter::Peekable;
use std::str::Chars;

/// What a text is in JSON notation.
pub(super) enum Translation {
    /// All of it.
    Whole(String),
    /// As much as there is: the text ends inside a string or a bracket.
    Cut(String),
    /// Nothing: a piece has no counterpart in JSON.
    None,
}

/// `text` in JSON notation; `None` where a piece has no counterpart in JSON.
pub(crate) fn translate(text: &str) -> Option<String> {
    match translation(text) {
        Translation::Whole(json) | Translation::Cut(json) => Some(json),
        Translation::None => None,
    }
}

/// Like [`translate`], but tells what is cut off.
pub(super) fn translation(text: &str) -> Translation {
    let mut translator = Translator {
        rest: text.chars().peekable(),
        out: String::with_capacity(text.len()),
        open: Vec::new(),
        cut: false,
    };
    while let Some(character) = translator.rest.next() {
        if translator.step(character).is_none() {
            return match translator.cut {
                true => Translation::Cut(translator.out),
                false => Translation::None,
            };
        }
    }
    match translator.open.is_empty() {
        true => Translation::Whole(translator.out),
        false => Translation::Cut(translator.out),
    }
}

/// What stands in the fenced block that `text` is.
pub(super) fn unfenced(text: &str) -> Option<&str> {
    let text = text.trim();
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let count = text.len() - text.trim_start_matches(mark).len();
    let (_, body) = text.split_once('\n')?;
    let (inner, end) = body.rsplit_once('\n')?;
    let end = end.trim();
    let closes = count >= 3 && end.len() >= count && end.chars().all(|c| c == mark);
    closes.then_some(inner)
}

struct Translator<'t> {
    rest: Peekable<Chars<'t>>,
    out: String,
    /// For each open bracket the one that closes it in the source, and how many commas it has
    /// seen.
    open: Vec<(char, usize)>,
    /// Whether the text ended where more has to follow.
    cut: bool,
}

impl Translator<'_> {
    /// The next character, which has to be there.
    fn need(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.cut |= next.is_none();
        next
    }

    fn step(&mut self, character: char) -> Option<()> {
        match character {
            '"' | '\'' => return self.string(character),
            '(' => self.enter(')', '['),
            '[' => self.enter(']', '['),
            '{' => self.enter('}', '{'),
            ')' | ']' | '}' => return self.leave(character),
            ',' => {
                if let Some((_, commas)) = self.open.last_mut() {
                    *commas += 1;
                }
                self.out.push(',');
            }
            '\\' => match self.need()? {
                'n' | 'r' | 't' => self.out.push(' '),
                _ => return None,
            },
            'A'..='Z' | 'a'..='z' | '_' => self.word(character),
            other => self.out.push(other),
        }
        Some(())
    }

    fn enter(&mut self, close: char, bracket: char) {
        self.open.push((close, 0));
        self.out.push(bracket);
    }

    fn leave(&mut self, bracket: char) -> Option<()> {
        let (close, commas) = self.open.pop()?;
        if close != bracket {
            return None;
        }
        let before = self.out.trim_end().len();
        let empty = self.out.get(..before)?.ends_with(['[', '{']);
        // Without a comma, round brackets only group; with one they make a tuple.
        if bracket == ')' && commas == 0 && !empty {
            return None;
        }
        if let Some(kept) = self.out.get(..before)?.strip_suffix(',') {
            let kept = kept.len();
            self.out.truncate(kept);
        }
        self.out.push(if bracket == '}' { '}' } else { ']' });
        Some(())
    }

    fn word(&mut self, first: char) {
        let mut word = String::from(first);
        while let Some(next) = self.rest.next_if(|c| c.is_alphanumeric() || *c == '_') {
            word.push(next);
        }
        self.out.push_str(match word.as_str() {
            "True" => "true",
            "False" => "false",
            "None" => "null",
            other => other,
        });
    }

    fn string(&mut self, quote: char) -> Option<()> {
        self.out.push('"');
        loop {
            match self.need()? {
                end if end == quote => break,
                '\\' if quote == '\'' => self.python_escape()?,
                '\\' => {
                    self.out.push('\\');
                    let next = self.need()?;
                    self.out.push(next);
                }
                '"' => self.out.push_str("\\\""),
                control if control < ' ' => {
                    self.out.push_str(&format!("\\u{:04x}", u32::from(control)));
                }
                other => self.out.push(other),
            }
        }
        self.out.push('"');
        Some(())
    }

    /// Only the escapes that mean the same in both notations, and `\'` and `\xHH`.
    fn python_escape(&mut self) -> Option<()> {
        match self.need()? {
            '\'' => self.out.push('\''),
            'x' => {
                self.out.push_str("\\u00");
                for _ in 0..2 {
                    let next = self.need()?;
                    self.out.push(next);
                }
            }
            same @ ('\\' | '"' | 'n' | 'r' | 't' | 'b' | 'f' | 'u') => {
                self.out.push('\\');
                self.out.push(same);
            }
            _ => return None,
        }
        Some(())
    }
}
