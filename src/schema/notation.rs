//! Turns text that is nearly JSON into JSON text: Python literals, raw control characters in
//! strings, and escapes where white space belongs. Whether the result is JSON is for the strict
//! reader to say; nothing is completed, evaluated or guessed.

use std::iter::Peekable;
use std::str::Chars;

/// `text` in JSON notation; `None` where a piece has no counterpart in JSON.
pub(super) fn translate(text: &str) -> Option<String> {
    let mut translator = Translator {
        rest: text.chars().peekable(),
        out: String::with_capacity(text.len()),
        open: Vec::new(),
    };
    while let Some(character) = translator.rest.next() {
        translator.step(character)?;
    }
    Some(translator.out)
}

struct Translator<'t> {
    rest: Peekable<Chars<'t>>,
    out: String,
    /// For each open bracket the one that closes it in the source, and how many commas it has
    /// seen.
    open: Vec<(char, usize)>,
}

impl Translator<'_> {
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
            '\\' => match self.rest.next()? {
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
            match self.rest.next()? {
                end if end == quote => break,
                '\\' if quote == '\'' => self.python_escape()?,
                '\\' => {
                    self.out.push('\\');
                    self.out.push(self.rest.next()?);
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
        match self.rest.next()? {
            '\'' => self.out.push('\''),
            'x' => {
                self.out.push_str("\\u00");
                for _ in 0..2 {
                    self.out.push(self.rest.next()?);
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
