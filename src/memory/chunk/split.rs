//! Cuts one text where it has borders: into paragraphs, those that are too long into sentences, those
//! into clauses, and what has no border at all between two characters as a reader sees them.

use unicode_segmentation::UnicodeSegmentation;

use crate::tokens;

/// A piece of a text that stays whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) tokens: usize,
    /// Whether a paragraph begins here.
    pub(super) opens: bool,
    /// What stands between the piece before and this one.
    pub(super) gap: &'static str,
}

impl Piece {
    /// A paragraph of its own.
    pub(super) fn whole(text: String) -> Self {
        Self { tokens: tokens::count(&text), text, opens: true, gap: "\n" }
    }
}

/// The pieces of a text, of at most `budget` tokens each.
pub(super) fn pieces(text: &str, budget: usize) -> Vec<Piece> {
    let budget = budget.max(16);
    let mut all = Vec::new();
    for paragraph in paragraphs(text) {
        let first = all.len();
        for sentence in cut(paragraph, ends_sentence) {
            fit(sentence, budget, &mut all);
        }
        if let Some(piece) = all.get_mut(first) {
            piece.opens = true;
            piece.gap = "\n";
        }
    }
    all
}

/// Paragraphs: what stands between empty lines, or between line ends of a list or a log.
fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n")
        .flat_map(|block| block.split("\r\n\r\n"))
        .map(str::trim)
        .filter(|s| !s.is_empty())
}

/// A sentence, cut further as far as it must be.
fn fit(sentence: &str, budget: usize, all: &mut Vec<Piece>) {
    let mut push = |text: &str, tokens: usize| {
        let gap = if text.starts_with(is_wide) { "" } else { " " };
        all.push(Piece { text: text.to_owned(), tokens, opens: false, gap });
    };
    let tokens = tokens::count(sentence);
    if tokens <= budget {
        return push(sentence, tokens);
    }
    for clause in cut(sentence, ends_clause) {
        let tokens = tokens::count(clause);
        if tokens <= budget {
            push(clause, tokens);
            continue;
        }
        let mut rest = clause;
        while !rest.is_empty() {
            let (piece, behind) =
                rest.split_at_checked(fitting(rest, budget)).unwrap_or((rest, ""));
            push(piece.trim(), tokens::count(piece.trim()));
            rest = behind.trim_start();
        }
    }
}

/// Whether a text in such characters needs no space in front.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Cuts behind each place where `ends` says so, of the character there and the one behind it.
fn cut(text: &str, ends: fn(char, Option<char>) -> bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    if text.chars().all(is_single) {
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if ends(c, chars.peek().map(|(_, next)| *next)) {
                let end = at + c.len_utf8();
                parts.push(text.get(start..end).unwrap_or_default().trim());
                start = end;
            }
        }
        parts.push(text.get(start..).unwrap_or_default().trim());
        parts.retain(|part| !part.is_empty());
        return parts;
    }
    let mut graphemes = text.grapheme_indices(true).peekable();
    while let Some((at, grapheme)) = graphemes.next() {
        let next = graphemes.peek().and_then(|(_, next)| next.chars().next());
        let mut chars = grapheme.trim_start_matches('\r').chars();
        // A mark that something is combined with ends nothing.
        if let (Some(c), None) = (chars.next(), chars.next())
            && ends(c, next)
        {
            let end = at + grapheme.len();
            parts.push(text.get(start..end).unwrap_or_default().trim());
            start = end;
        }
    }
    parts.push(text.get(start..).unwrap_or_default().trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether a character is one for a reader too, whatever stands beside it; so are nearly all of Chinese
/// and English text. A line end of two is none that the first of them would end.
const fn is_single(c: char) -> bool {
    matches!(c,
        '\0'..='\x7f' | '\u{4e00}'..='\u{9fff}' | '\u{2013}'..='\u{2014}'
        | '\u{2018}'..='\u{201d}' | '\u{3000}'..='\u{3002}' | '\u{3008}'..='\u{3011}'
        | '\u{ff01}'..='\u{ff5e}' | '\u{d7}' | '\u{b7}' | '\u{b0}' | '\u{2103}')
}

fn ends_sentence(c: char, next: Option<char>) -> bool {
    let space = next.is_none_or(char::is_whitespace);
    match c {
        '。' | '！' | '？' | '；' | '…' => next.is_none_or(|next| {
            !matches!(next, '”' | '’' | '」' | '』' | '）' | '。' | '！' | '？' | '…')
        }),
        '”' | '」' | '』' => false,
        '.' | '!' | '?' => space,
        '\n' => true,
        _ => false,
    }
}

fn ends_clause(c: char, next: Option<char>) -> bool {
    match c {
        '，' | '、' | '：' => true,
        ',' | ';' | ':' => next.is_none_or(char::is_whitespace),
        _ => false,
    }
}

/// Bytes of a text, up to a border between words or, without one, between two characters as a reader
/// sees them, that make at most `budget` tokens.
fn fitting(text: &str, budget: usize) -> usize {
    let (mut end, mut space, mut count) = (0, 0, 0);
    for (at, grapheme) in text.grapheme_indices(true) {
        let next = at + grapheme.len();
        // Counting anew at each character would take the square of the length.
        if at == 0 || next - count >= 32 {
            if tokens::count(text.get(..next).unwrap_or(text)) > budget {
                break;
            }
            count = next;
        }
        if grapheme.chars().all(char::is_whitespace) {
            space = next;
        }
        end = next;
    }
    // What was not counted since may be a few tokens too many.
    while end > 0 && end < text.len() && tokens::count(text.get(..end).unwrap_or(text)) > budget {
        let shorter = text.get(..end).unwrap_or(text).grapheme_indices(true).next_back();
        end = shorter.map_or(0, |(at, _)| at);
    }
    let end = if end == text.len() || space == 0 || space > end { end } else { space };
    let first = text.graphemes(true).next().map_or(text.len(), str::len);
    end.max(first)
}

/// The beginning of a text, of at most so many tokens.
pub(super) fn shorten(text: &str, most: usize) -> String {
    if tokens::count(text) <= most {
        return text.to_owned();
    }
    text.get(..fitting(text, most)).unwrap_or(text).trim_end().to_owned()
}
