//! The ways in which one text can be read: evened out, unspaced, backwards, decoded. Every step is
//! linear in the text, decoding goes two levels deep and stops after a fixed number of bytes.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use unicode_normalization::UnicodeNormalization;

use super::Reading;

/// Levels of decoding.
const DEPTH: u32 = 2;
/// Shortest run of digits that is tried as an encoding.
const SHORTEST_RUN: usize = 20;
/// Shortest line that may be one of several of an encoding.
const LINE: usize = 8;
/// Bytes of one encoded run that are decoded, and of all runs of a text together.
const LONGEST_RUN: usize = 64 << 10;
const MOST_DECODED: usize = 256 << 10;
/// Runs of one text that are decoded.
const MOST_RUNS: usize = 256;
/// Invisible characters of one text that are no accident.
const MOST_INVISIBLE: usize = 8;
/// Single letters in a row that are a word taken apart.
const LETTERS: usize = 8;

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// One reading of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) reading: Reading,
    pub(super) text: &'a str,
}

/// Shows every reading of `text` that differs from the plain one.
pub(super) fn each(text: &str, look: &mut impl FnMut(View<'_>)) {
    let mut budget = Budget { bytes: MOST_DECODED, runs: MOST_RUNS };
    show(text, Reading::Plain, DEPTH, &mut budget, look);
}

/// What is still decoded of one text.
struct Budget {
    bytes: usize,
    runs: usize,
}

fn show(
    text: &str,
    reading: Reading,
    depth: u32,
    budget: &mut Budget,
    look: &mut impl FnMut(View<'_>),
) {
    let even = even(text);
    look(View { reading, text: &even });
    if let Some(joined) = joined(&even) {
        look(View { reading, text: &joined });
    }
    if reading == Reading::Plain {
        for (reading, other) in [
            (Reading::Spaced, unspaced(&even)),
            (Reading::Rot13, Some(rot13(&even))),
            (Reading::Reversed, Some(even.chars().rev().collect())),
        ] {
            if let Some(other) = other {
                look(View { reading, text: &other });
            }
        }
    }
    let Some(depth) = depth.checked_sub(1) else { return };
    if let Some(plain) = unescaped(text) {
        show(&plain, Reading::Unescaped, depth, budget, look);
    }
    let whole = unwrapped(text);
    for run in runs(whole.as_deref().unwrap_or(text)) {
        if budget.bytes == 0 || budget.runs == 0 {
            return;
        }
        if let Some(plain) = decoded(run) {
            budget.bytes = budget.bytes.saturating_sub(plain.len());
            budget.runs -= 1;
            show(&plain, Reading::Decoded, depth, budget, look);
        }
    }
}

/// Text in which spellings that look alike are one: compatibility forms resolved, lower case, no
/// invisible characters, look-alike letters of Cyrillic and Greek replaced where a word mixes them
/// with Latin ones, white space as single spaces; lines stay lines.
fn even(text: &str) -> String {
    let folded = if text.is_ascii() { text.to_ascii_lowercase() } else { folded(text) };
    let mut even = String::with_capacity(folded.len());
    for line in folded.lines() {
        for word in line.split_whitespace() {
            push(word, &mut even);
        }
        even.push('\n');
    }
    even
}

/// Compatibility forms resolved, lower case, no invisible characters. Tables are asked only for what is
/// neither ASCII nor Chinese, together with the character before it, which it may be joined to.
fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let (mut odd, mut before) = (None, None);
    for (at, c) in text.char_indices() {
        match (plain(c), odd) {
            (Some(c), None) => {
                folded.push(c);
                before = Some(at);
            }
            (Some(c), Some(start)) => {
                folded.push_str(&resolved(text.get(start..at).unwrap_or_default()));
                folded.push(c);
                (odd, before) = (None, Some(at));
            }
            (None, None) => {
                folded.truncate(folded.len() - before.map_or(0, |_| last(&folded)));
                odd = Some(before.unwrap_or(at));
            }
            (None, Some(_)) => {}
        }
    }
    if let Some(start) = odd {
        folded.push_str(&resolved(text.get(start..).unwrap_or_default()));
    }
    folded
}

/// The same by the tables.
fn resolved(odd: &str) -> String {
    odd.nfkc().filter(|c| !is_invisible(*c)).flat_map(char::to_lowercase).collect()
}

/// Bytes of the last character.
fn last(text: &str) -> usize {
    text.chars().next_back().map_or(0, char::len_utf8)
}

/// The folded form of the characters of which nearly all Chinese and English text is made; `None` for
/// any other. None of them is ever joined to the one before it.
const fn plain(c: char) -> Option<char> {
    Some(match c {
        '\0'..='\x7f' => c.to_ascii_lowercase(),
        '\u{4e00}'..='\u{9fff}' | '\u{b0}' | '\u{b7}' | '\u{d7}' => c,
        '\u{2013}' | '\u{2014}' | '\u{2018}'..='\u{201d}' => c,
        '\u{3001}' | '\u{3002}' | '\u{3008}'..='\u{3011}' => c,
        '\u{3000}' => ' ',
        '\u{ff0c}' => ',',
        '\u{ff1a}' => ':',
        '\u{ff08}' => '(',
        '\u{ff09}' => ')',
        '\u{ff1b}' => ';',
        '\u{ff01}' => '!',
        '\u{ff1f}' => '?',
        _ => return None,
    })
}

/// Evened-out text with its lines joined where a sentence goes on in the next one, as in mails and pages
/// that are wrapped; `None` where none does.
fn joined(even: &str) -> Option<String> {
    let mut joined = String::with_capacity(even.len());
    let mut wrapped = false;
    let mut lines = even.lines().peekable();
    while let Some(line) = lines.next() {
        joined.push_str(line);
        let next = lines.peek().copied().unwrap_or_default();
        if goes_on(line, next) {
            wrapped = true;
            let apart = !(line.ends_with(is_wide) && next.starts_with(is_wide));
            joined.extend(apart.then_some(' '));
        } else {
            joined.push('\n');
        }
    }
    wrapped.then_some(joined)
}

/// Whether a line ends no sentence and the next begins no item of a list.
fn goes_on(line: &str, next: &str) -> bool {
    const ENDS: [char; 14] =
        ['.', '!', '?', ':', ';', '|', '。', '！', '？', '：', '；', '…', '}', '>'];
    const ITEMS: [char; 10] = ['-', '*', '•', '#', '>', '|', '+', '<', '{', '·'];
    let number = next.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = number.len() < next.len() && number.starts_with(['.', ')', '、']);
    !line.is_empty()
        && !next.is_empty()
        && !line.ends_with(ENDS)
        && !next.starts_with(ITEMS)
        && !item
}

/// Characters of scripts that put no space between words.
const fn is_wide(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// A text in which encoded lines that follow each other are one; `None` where there are none.
fn unwrapped(text: &str) -> Option<String> {
    let sign = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte);
    let encoded = |line: &str| line.len() >= LINE && line.bytes().all(sign);
    // The last line is as short as what is left.
    let more = |line: &&str| !line.is_empty() && line.bytes().all(sign);
    let mut whole = String::with_capacity(text.len());
    let mut wrapped = false;
    let mut lines = text.lines().map(str::trim_end).peekable();
    while let Some(line) = lines.next() {
        whole.push_str(line);
        if encoded(line) && lines.peek().is_some_and(more) {
            wrapped = true;
        } else {
            whole.push('\n');
        }
    }
    wrapped.then_some(whole)
}

/// Adds a word and a space; a new line has none before it.
fn push(word: &str, even: &mut String) {
    if !even.is_empty() && !even.ends_with('\n') {
        even.push(' ');
    }
    let mixed = !word.is_ascii()
        && word.chars().any(|c| c.is_ascii_alphabetic())
        && word.chars().any(|c| latin(c).is_some());
    if mixed {
        even.extend(word.chars().map(|c| latin(c).unwrap_or(c)));
    } else {
        even.push_str(word);
    }
}

/// The Latin letter that a lower-case Cyrillic or Greek one looks like.
const fn latin(c: char) -> Option<char> {
    Some(match c {
        'а' | 'α' => 'a',
        'ь' | 'в' | 'β' => 'b',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ё' | 'ε' => 'e',
        'һ' => 'h',
        'і' | 'ї' | 'ι' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'ӏ' => 'l',
        'м' => 'm',
        'п' | 'η' => 'n',
        'о' | 'ο' | 'σ' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'г' => 'r',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'υ' => 'u',
        'ѵ' | 'ν' => 'v',
        'ԝ' | 'ω' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        'ᴢ' => 'z',
        _ => return None,
    })
}

const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}

/// What the invisible characters of `text` say, when there are too many for chance. Joiners and
/// selectors inside emoji and in scripts that need them are none of these.
pub(super) fn hidden(text: &str) -> Option<String> {
    if text.is_ascii() || !text.chars().any(is_invisible) {
        return None;
    }
    // A tag character stands for an ASCII one; flags of regions use a few of them.
    let tags: String = text
        .chars()
        .filter(|c| ('\u{e0020}'..='\u{e007e}').contains(c))
        .filter_map(|c| char::from_u32(u32::from(c) - 0xe0000))
        .collect();
    if tags.len() > MOST_INVISIBLE {
        return Some(tags.chars().take(super::EXCERPT).collect());
    }
    if let Some(run) = longest_run(text).filter(|run| *run > MOST_INVISIBLE) {
        return Some(format!("{run} invisible characters in a row"));
    }
    let split = text
        .chars()
        .zip(text.chars().skip(1))
        .zip(text.chars().skip(2))
        .filter(|((before, c), after)| {
            let inside = before.is_ascii_alphabetic() && after.is_ascii_alphabetic();
            inside && is_invisible(*c) && *c != '\u{ad}'
        })
        .count();
    (split > MOST_INVISIBLE).then(|| format!("{split} invisible characters inside words"))
}

/// The most invisible characters that stand side by side; scripts and emoji need one or two.
fn longest_run(text: &str) -> Option<usize> {
    let mut run = 0;
    text.chars()
        .map(|c| {
            run = if is_invisible(c) { run + 1 } else { 0 };
            run
        })
        .max()
}

/// Without white space, where single letters stand apart so often that it is no accident.
fn unspaced(even: &str) -> Option<String> {
    let (mut run, mut longest) = (0, 0);
    for word in even.split_whitespace() {
        let mut letters = word.chars();
        let single = letters.next().is_some_and(char::is_alphanumeric) && letters.next().is_none();
        run = if single { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    (longest >= LETTERS).then(|| even.split_whitespace().collect())
}

fn rot13(even: &str) -> String {
    let turn = |byte: u8| match byte {
        b'a'..=b'm' => byte + 13,
        b'n'..=b'z' => byte - 13,
        other => other,
    };
    String::from_utf8(even.bytes().map(turn).collect()).unwrap_or_default()
}

/// With `%41`, `&#65;`, `&lt;` and `\u0041` resolved; `None` when there is none of them.
fn unescaped(text: &str) -> Option<String> {
    if !text.contains(['%', '&', '\\']) {
        return None;
    }
    let percent = percent_encoding::percent_decode_str(text).decode_utf8_lossy();
    let mut plain = String::with_capacity(percent.len());
    let mut rest = percent.as_ref();
    while let Some(at) = rest.find(['&', '\\']) {
        let (before, escape) = rest.split_at_checked(at)?;
        plain.push_str(before);
        match reference(escape) {
            Some((c, length)) => {
                plain.push(c);
                rest = escape.get(length..).unwrap_or_default();
            }
            None => {
                plain.push_str(escape.get(..1).unwrap_or_default());
                rest = escape.get(1..).unwrap_or_default();
            }
        }
    }
    plain.push_str(rest);
    (plain != text).then_some(plain)
}

/// The character that an escape at the start of `text` stands for, and the escape's length.
fn reference(text: &str) -> Option<(char, usize)> {
    let named = [("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&amp;", '&'), ("&nbsp;", ' ')];
    if let Some((name, c)) = named.into_iter().find(|(name, _)| text.starts_with(name)) {
        return Some((c, name.len()));
    }
    let digits = |text: &str, radix: u32| {
        let length = text.find(|c: char| !c.is_digit(radix)).unwrap_or(text.len()).min(8);
        let code = u32::from_str_radix(text.get(..length)?, radix).ok()?;
        Some((char::from_u32(code)?, length))
    };
    if let Some(rest) = text.strip_prefix("&#") {
        let (prefix, hex) = match rest.strip_prefix(['x', 'X']) {
            Some(hex) => (3, digits(hex, 16)?),
            None => (2, digits(rest, 10)?),
        };
        let (c, length) = hex;
        let end = usize::from(text.get(prefix + length..).is_some_and(|t| t.starts_with(';')));
        return Some((c, prefix + length + end));
    }
    let prefix = ["\\u", "\\x"].into_iter().find(|prefix| text.starts_with(prefix))?;
    let size = if prefix == "\\u" { 4 } else { 2 };
    let code = u32::from_str_radix(text.get(2..2 + size)?, 16).ok()?;
    Some((char::from_u32(code)?, 2 + size))
}

/// Runs of digits of base64 or of hexadecimal numbers that are long enough to say something.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    let digit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_' | '=');
    text.split(move |c| !digit(c)).filter(|run| run.len() >= SHORTEST_RUN)
}

/// The text that a run stands for, when it is text.
fn decoded(run: &str) -> Option<String> {
    let run = run.get(..run.len().min(LONGEST_RUN))?.trim_matches('=');
    if let Ok(bytes) = hex::decode(run)
        && let Some(text) = as_text(bytes)
    {
        return Some(text);
    }
    // A cut run may end inside a group of four.
    let whole = run.get(..run.len() - usize::from(run.len() % 4 == 1))?;
    [STANDARD, URL_SAFE]
        .into_iter()
        .find_map(|alphabet| as_text(GeneralPurpose::new(&alphabet, LENIENT).decode(whole).ok()?))
}

fn as_text(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let odd = text.chars().filter(|c| c.is_control() && !c.is_whitespace()).count();
    (odd == 0).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{folded, resolved};

    #[test]
    fn what_is_folded_without_tables_is_what_the_tables_make_of_it() {
        for c in '\0'..='\u{1ffff}' {
            // Beside letters and marks, since what stands beside it can join it.
            for text in [format!("E{c}e"), format!("中{c}\u{301}"), format!("{c}，\u{3099}Ａ")] {
                assert_eq!(folded(&text), resolved(&text), "{c:?}");
            }
        }
    }
}
