//! Turns text that is nearly JSON into JSON text: Python literals, comments, bare keys, typographic
//! punctuation, characters that nobody sees. Whether the result is JSON is for the strict reader to
//! say; nothing is completed, evaluated or guessed.

use super::hint;

/// What a text is in JSON notation, or as much of it as could be told.
pub(super) struct Translation {
    pub(super) json: String,
    pub(super) end: End,
    /// Where a piece of `json` begins, and where it stands in the source.
    marks: Vec<(usize, usize)>,
}

/// How a translation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// At the end of the text.
    Whole,
    /// There too, but inside a string or a bracket.
    Cut,
    /// There too, inside a comment.
    Comment,
    /// Before something that has no counterpart in JSON: its place, and what it is.
    Odd(usize, String),
}

impl Translation {
    /// The place in the source of a place in `json`.
    pub(super) fn source(&self, at: usize) -> usize {
        let after = self.marks.partition_point(|(out, _)| *out <= at);
        let mark = after.checked_sub(1).and_then(|before| self.marks.get(before));
        mark.map_or(at, |(out, source)| source + (at - out))
    }
}

/// `text` in JSON notation; `None` where a piece has no counterpart in JSON, or is missing.
pub(crate) fn translate(text: &str) -> Option<String> {
    let Translation { json, end, .. } = translation(text);
    (end == End::Whole).then_some(json)
}

/// Like [`translate`], but tells what hinders it.
pub(super) fn translation(text: &str) -> Translation {
    let mut translator = Translator {
        text,
        at: 0,
        out: String::with_capacity(text.len()),
        open: Vec::new(),
        marks: Vec::new(),
        may_be_typeset: !text.contains('"'),
        quotes: Quotes::None,
        last: ' ',
    };
    let end = translator.run();
    let Translator { out, marks, .. } = translator;
    Translation { json: out, end, marks }
}

/// Which quotes the strings so far stood in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Straight,
    Typographic,
}

struct Translator<'t> {
    text: &'t str,
    /// Where the next character begins.
    at: usize,
    out: String,
    /// For each open bracket the one that closes it in the source, and how many commas it has
    /// seen.
    open: Vec<(char, usize)>,
    marks: Vec<(usize, usize)>,
    /// Whether typographic punctuation can only be meant as JSON's: no straight double quote is there.
    may_be_typeset: bool,
    quotes: Quotes,
    /// The last character that was written and is no space.
    last: char,
}

type Step = Result<(), End>;

impl<'t> Translator<'t> {
    fn run(&mut self) -> End {
        loop {
            let last = self.marks.last().map_or(0, |(out, source)| source.wrapping_sub(*out));
            if self.at.wrapping_sub(self.out.len()) != last {
                self.marks.push((self.out.len(), self.at));
            }
            let start = self.at;
            let Some(character) = self.next() else { break };
            let before = self.out.len();
            if let Err(end) = self.step(character, start) {
                return end;
            }
            let written = self.out.get(before..).unwrap_or_default();
            self.last = written.trim_end().chars().next_back().unwrap_or(self.last);
        }
        if self.open.is_empty() { End::Whole } else { End::Cut }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// The next character, which has to be there.
    fn need(&mut self) -> Result<char, End> {
        self.next().ok_or(End::Cut)
    }

    fn step(&mut self, character: char, start: usize) -> Step {
        match character {
            '"' | '\'' => return self.string(character, start),
            '“' | '”' if self.may_be_typeset => return self.typeset(start),
            '(' => self.enter(')', '['),
            '[' => self.enter(']', '['),
            '{' => self.enter('}', '{'),
            ')' | ']' | '}' => return self.leave(character, start),
            ',' => {
                if let Some((_, commas)) = self.open.last_mut() {
                    *commas += 1;
                }
                self.out.push(',');
            }
            '/' | '#' => return self.comment(character, start),
            '\\' => match self.need()? {
                'n' | 'r' | 't' => self.out.push(' '),
                _ => {
                    let what =
                        "a backslash stands outside a string: send the JSON object without it";
                    return Err(End::Odd(start, what.to_owned()));
                }
            },
            other if hint::is_unseen(other) => self.out.push(' '),
            other if begins_word(other) => return self.word(start),
            other => match hint::narrow(other).filter(|_| self.may_be_typeset) {
                Some(narrow) => return self.step(narrow, start),
                None => self.out.push(other),
            },
        }
        Ok(())
    }

    fn enter(&mut self, close: char, bracket: char) {
        self.open.push((close, 0));
        self.out.push(bracket);
    }

    fn leave(&mut self, bracket: char, start: usize) -> Step {
        let odd = |what: String| Err(End::Odd(start, what));
        let Some((close, commas)) = self.open.pop() else {
            return odd(format!("`{bracket}` closes nothing: leave it out"));
        };
        if close != bracket {
            return odd(format!("`{bracket}` stands where `{close}` has to: close each bracket"));
        }
        let before = self.out.trim_end();
        let empty = before.ends_with(['[', '{']);
        // Without a comma, round brackets only group; with one they make a tuple.
        if bracket == ')' && commas == 0 && !empty {
            let what = "round brackets around one value make no list: leave them out, or write `[` \
                        and `]`";
            return odd(what.to_owned());
        }
        if let Some(kept) = before.strip_suffix(',')
            && !kept.trim_end().ends_with(['[', '{', ','])
        {
            let kept = kept.len();
            self.out.truncate(kept);
        }
        self.last = if bracket == '}' { '}' } else { ']' };
        self.out.push(self.last);
        Ok(())
    }

    /// Whether a value has to follow, and not a key or what stands between.
    fn wants_value(&self) -> bool {
        let list = self.open.last().is_some_and(|(close, _)| *close != '}');
        self.last == ':' || list && matches!(self.last, '[' | ',')
    }

    /// Leaves out a comment, where nothing else can be meant.
    fn comment(&mut self, first: char, start: usize) -> Step {
        let block = first == '/' && self.rest().starts_with('*');
        if first == '/' && !block && !self.rest().starts_with('/') {
            self.out.push(first);
            return Ok(());
        }
        if block {
            let length = self.rest().get(1..).and_then(|rest| rest.find("*/"));
            self.at += length.ok_or(End::Comment)? + 3;
            self.out.push(' ');
            return Ok(());
        }
        let said = self.rest().trim_start_matches('/');
        let number = self.last.is_ascii_digit();
        let divides = |c: char| c.is_ascii_digit() || matches!(c, '(' | '-' | '.' | '+');
        let what = if first == '/' && number && said.trim_start().starts_with(divides) {
            "`//` after a number may divide it: write its value"
        } else if self.wants_value() && said.starts_with(char::is_alphanumeric) {
            "this may be a comment or text without quotes: leave comments out, and put text into \
             double quotes"
        } else {
            self.out.push(' ');
            return match self.rest().find('\n') {
                Some(length) => {
                    self.at += length;
                    Ok(())
                }
                None if self.open.is_empty() => {
                    self.at = self.text.len();
                    Ok(())
                }
                None => Err(End::Comment),
            };
        };
        Err(End::Odd(start, what.to_owned()))
    }

    fn word(&mut self, start: usize) -> Step {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$'));
        self.at += length.unwrap_or(rest.len());
        let word = self.text.get(start..self.at).unwrap_or_default();
        if let Some(quote) = self.rest().chars().next().filter(|c| matches!(c, '"' | '\''))
            && hint::is_prefix(word)
        {
            if word.eq_ignore_ascii_case("u") {
                self.at += 1;
                return self.string(quote, start);
            }
            let what = format!(
                "`{word}{quote}..{quote}` is a string of Python that JSON does not have: write its \
                 text in double quotes"
            );
            return Err(End::Odd(start, what));
        }
        let object = self.open.last().is_some_and(|(close, _)| *close == '}');
        let begins = matches!(self.last, '{' | ',');
        let after = self.rest().trim_start();
        let colon = after.starts_with(':') || self.may_be_typeset && after.starts_with('：');
        // Python has such keys, and they are no text there.
        let literal = ["True", "False", "None", "true", "false", "null"].contains(&word);
        if object && begins && colon {
            if literal {
                let what = format!("`{word}` is no key: a key is text in double quotes");
                return Err(End::Odd(start, what));
            }
            self.out.push('"');
            self.out.push_str(word);
            self.out.push('"');
            return Ok(());
        }
        self.out.push_str(match word {
            "True" => "true",
            "False" => "false",
            "None" => "null",
            other => other,
        });
        Ok(())
    }

    fn string(&mut self, quote: char, start: usize) -> Step {
        if self.rest().chars().take(2).filter(|c| *c == quote).count() == 2 {
            let what = "a string in triple quotes: write it in one pair of double quotes";
            return Err(End::Odd(start, what.to_owned()));
        }
        self.use_quotes(Quotes::Straight, start)?;
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
                other => self.text_character(other),
            }
        }
        self.out.push('"');
        Ok(())
    }

    fn text_character(&mut self, character: char) {
        match character {
            '"' => self.out.push_str("\\\""),
            control if control < ' ' => {
                self.out.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            other => self.out.push(other),
        }
    }

    fn use_quotes(&mut self, quotes: Quotes, start: usize) -> Step {
        if ![Quotes::None, quotes].contains(&self.quotes) {
            let what = "straight and typographic quotes are mixed: put keys and strings into straight \
                        double quotes";
            return Err(End::Odd(start, what.to_owned()));
        }
        self.quotes = quotes;
        Ok(())
    }

    /// A string in typographic quotes, of which it holds none.
    fn typeset(&mut self, start: usize) -> Step {
        self.use_quotes(Quotes::Typographic, start)?;
        let unclear = || {
            let what = "typographic quotes `“` and `”` stand where JSON has `\"`, and which of them end \
                        a string cannot be told: write straight ones, and `\\\"` inside a string";
            End::Odd(start, what.to_owned())
        };
        self.out.push('"');
        loop {
            match self.need()? {
                '”' => break,
                '“' => return Err(unclear()),
                '\\' => {
                    self.out.push('\\');
                    let next = self.need()?;
                    self.out.push(next);
                }
                other => self.text_character(other),
            }
        }
        self.out.push('"');
        let after = self.rest().trim_start_matches(hint::is_blank);
        let follows = after.chars().next().map(|c| hint::narrow(c).unwrap_or(c));
        match follows {
            None | Some(',' | ':' | '}' | ']' | ')' | '/' | '#') => Ok(()),
            Some(_) => Err(unclear()),
        }
    }

    /// Only the escapes that mean the same in both notations, and `\'` and `\xHH`.
    fn python_escape(&mut self) -> Step {
        let start = self.at - 1;
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
            other => {
                let what = format!(
                    "the escape `\\{}` of Python has no counterpart in JSON: write the character \
                     itself, or a backslash twice",
                    other.escape_debug()
                );
                return Err(End::Odd(start, what));
            }
        }
        Ok(())
    }
}

fn begins_word(character: char) -> bool {
    character.is_alphabetic() || matches!(character, '_' | '$')
}
