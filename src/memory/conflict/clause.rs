//! Reads a text as clauses, each with its words, quantities, dates and whether it denies: a text in,
//! [`Clause`]s out. It knows words, no grammar.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Match, Regex};
use rust_stemmers::{Algorithm, Stemmer};

use super::lexicon::{self, Word};
use super::measure;
use super::number::{self, Day};
use super::phrases::{self, LEAST, MOST, NEARLY, OR_LESS, OR_MORE, OR_SO, Rule};

/// Clauses of a text that are read.
const CLAUSES: usize = 96;
/// Bytes of a text that are read.
const BYTES: usize = 32 << 10;
/// Bytes before a number in which what names it is looked for.
const NAME: usize = 64;
/// Seconds of a month, on average.
const MONTH: f64 = 2_629_746.0;
/// How a number bounds what it is said of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Exact,
    Most,
    Least,
    Nearly,
}

/// A number with what it counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quantity {
    /// Least and most: equal but for a range.
    pub(super) range: (f64, f64),
    pub(super) dimension: String,
    pub(super) bound: Bound,
    /// Counted in months or years, which have no fixed length.
    pub(super) calendar: bool,
}

/// A statement.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Clause {
    pub(super) words: BTreeSet<String>,
    pub(super) quantities: Vec<Quantity>,
    pub(super) days: Vec<Day>,
    pub(super) clocks: Vec<u32>,
    pub(super) denies: bool,
    /// Holds only sometimes.
    pub(super) when: bool,
    pub(super) excepts: bool,
    pub(super) text: String,
}

fn rule(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

static AMPS: LazyLock<Option<Regex>> = LazyLock::new(|| rule(r"(\d)\s*A\b"));
static ENDS: LazyLock<Rule> = LazyLock::new(|| {
    Rule::new("(?:but|whereas)", r"[。！？!?；;\n]|\.(?:\s|$)|[,，]\s|，|但是|但|而")
});
static YEAR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    rule(
        r"\b((?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d{1,2}(?:st|nd|rd|th)?),\s+(\d{4})\b",
    )
});
static CODE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    rule(
        r"^(?:[a-z]+[-_/]?\d[a-z0-9]*(?:[-_/.][a-z0-9]+)*|\d+[a-z]+\d[a-z0-9-]*|[a-z]{1,6}-[a-z]*\d[a-z0-9-]*)",
    )
});
static NUMBER: LazyLock<Option<Regex>> =
    LazyLock::new(|| rule(r"^[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"));
static TO: LazyLock<Option<Regex>> =
    LazyLock::new(|| rule(r"^\s*(?:-|–|—|~|～|至|到|to\b|and\b|和)\s*"));
/// Words that name the number behind them.
const NAMES: [&str; 31] = [
    "step", "chapter", "section", "version", "ver", "no", "nr", "number", "figure", "fig", "table",
    "page", "item", "line", "room", "floor", "level", "phase", "class", "type", "zone", "station",
    "gate", "part", "building", "model", "error", "code", "art", "article", "clause",
];
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = NAMES.join("|");
    rule(&format!(r"(?:\b(?:{names})\.?\s*#?|第|版本|编号|型号|错误|代码|楼|#)\s*$"))
});

/// A text with even letters, and phrases of bounds as marks.
fn even(text: &str) -> String {
    let text = text.get(..text.floor_char_boundary(BYTES)).unwrap_or(text);
    let mut text = crate::mask::folded(text);
    if has_amps(&text) {
        text = replaced(text, &AMPS, "${1} amps ");
    }
    text = text.to_lowercase();
    if text.contains('\u{2019}') {
        text = text.replace('\u{2019}', "'");
    }
    if has_year(&text) {
        text = replaced(text, &YEAR, "$1 $2");
    }
    phrases::marked(text)
}

fn replaced(text: String, rule: &LazyLock<Option<Regex>>, with: &str) -> String {
    match rule.as_ref().map(|rule| rule.replace_all(&text, with)) {
        Some(Cow::Owned(replaced)) => replaced,
        _ => text,
    }
}

/// Whether an `A` stands behind a digit, as [`AMPS`] has it.
fn has_amps(text: &str) -> bool {
    let behind = |at: usize| text.get(..at).unwrap_or_default().trim_end();
    text.match_indices('A').any(|(at, _)| behind(at).ends_with(char::is_numeric))
}

/// Whether digits follow a comma, as [`YEAR`] has it.
fn has_year(text: &str) -> bool {
    let rest = |at: usize| text.get(at + 1..).unwrap_or_default();
    text.match_indices(',').any(|(at, _)| {
        let digits = rest(at).trim_start();
        digits.len() < rest(at).len() && digits.starts_with(char::is_numeric)
    })
}

/// The clauses of a text.
pub(super) fn clauses(text: &str) -> Vec<Clause> {
    let text = even(text);
    let english = text.contains("but") || text.contains("whereas");
    let Some(ends) = ENDS.of(english) else { return Vec::new() };
    let mut all: Vec<Clause> = Vec::new();
    let (mut start, mut inside, mut condition) = (0, false, None::<Clause>);
    let stops = ends.find_iter(&text).map(|found| (found.start(), found.end(), found.as_str()));
    let stops: Vec<(usize, usize, &str)> = stops.chain([(text.len(), text.len(), ".")]).collect();
    for (at, end, mark) in stops {
        let mut clause = read(text.get(start..at).unwrap_or_default());
        start = end;
        let goes_on = mark.starts_with([',', '，']);
        // "..., then to 40 Nm" goes on with what was spoken of.
        if inside
            && clause.words.is_empty()
            && let Some(before) = all.last()
        {
            clause.words = before.words.clone();
        }
        inside = goes_on;
        if let Some(before) = condition.take() {
            clause.words.extend(before.words.iter().cloned());
            clause.when |= before.when;
            clause.excepts |= before.excepts;
        }
        let states =
            !clause.quantities.is_empty() || !clause.days.is_empty() || !clause.clocks.is_empty();
        // "When it is hot, ..." belongs to what follows, and so does a subject without a statement.
        if goes_on && (clause.when || !states) {
            let mut carried = clause.clone();
            carried.denies = false;
            condition = Some(carried);
        }
        if !clause.words.is_empty() || states {
            all.push(clause);
        }
        if all.len() >= CLAUSES {
            break;
        }
    }
    all
}

/// The words of a name or a title.
pub(super) fn words(text: &str) -> BTreeSet<String> {
    read(&even(text)).words
}

/// Reads one clause on its way.
struct Reader {
    clause: Clause,
    bound: Bound,
    /// A word stood behind the bound.
    waits: bool,
    /// A number whose unit did not follow: what comes next is what it counts.
    counts: Option<usize>,
}

fn read(text: &str) -> Clause {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut reader =
        Reader { clause: Clause::default(), bound: Bound::Exact, waits: false, counts: None };
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let before = text.get(..at).unwrap_or_default();
        at += reader.step(before, rest, &stemmer).max(1);
        at = text.ceil_char_boundary(at);
    }
    reader.clause.text = text.trim().chars().map(show).take(120).collect();
    reader.clause
}

fn show(c: char) -> char {
    match c {
        MOST | OR_LESS => '≤',
        LEAST | OR_MORE => '≥',
        NEARLY | OR_SO => '≈',
        other => other,
    }
}

impl Reader {
    /// Takes what stands at the beginning of `rest`; gives its bytes.
    fn step(&mut self, before: &str, rest: &str, stemmer: &Stemmer) -> usize {
        let Some(first) = rest.chars().next() else { return 0 };
        let inside = before.ends_with(|c: char| c.is_ascii_alphanumeric());
        match first {
            MOST => self.bound = Bound::Most,
            LEAST => self.bound = Bound::Least,
            NEARLY => self.bound = Bound::Nearly,
            OR_LESS => self.behind(Bound::Most),
            OR_MORE => self.behind(Bound::Least),
            OR_SO => self.behind(Bound::Nearly),
            '0'..='9' | '-' | '−' if !inside => return self.digits(before, rest),
            'a'..='z' if !inside => return self.latin(rest, stemmer),
            '\u{4e00}'..='\u{9fff}' => return self.han(rest),
            _ => {}
        }
        first.len_utf8()
    }

    /// A bound behind its number.
    fn behind(&mut self, bound: Bound) {
        if let Some(last) = self.clause.quantities.last_mut() {
            last.bound = bound;
        }
    }

    fn digits(&mut self, before: &str, rest: &str) -> usize {
        if let Some((day, length)) = number::day(rest) {
            self.clause.days.push(day);
            return length;
        }
        if let Some((minute, length)) = number::clock(rest) {
            self.clause.clocks.push(minute);
            return length;
        }
        let Some((value, length)) = plain(rest) else { return 1 };
        let measured = measure::unit(rest.get(length..).unwrap_or_default()).is_some();
        let code = code(rest).filter(|_| !measured);
        if let Some(code) = code {
            self.clause.words.insert(code.as_str().to_owned());
            return code.end();
        }
        // What names a number stands right before it; a long clause is not searched again for each.
        let near = before.ceil_char_boundary(before.len().saturating_sub(NAME));
        let near = before.get(near..).unwrap_or_default();
        if is_named(near) {
            self.clause.words.insert(format!("#{value}"));
            return length;
        }
        self.number(value, length, rest)
    }

    /// A number, the second of a range, and its unit.
    fn number(&mut self, value: f64, length: usize, rest: &str) -> usize {
        let (mut range, mut end) = ((value, value), length);
        let behind = |end: usize| rest.get(end..).unwrap_or_default();
        let skip = |text: &str| text.len() - text.trim_start().len();
        let gap = |end: usize| end + skip(behind(end));
        let mut unit = measure::unit(behind(gap(end)));
        let mut unit_at = gap(end);
        let after = unit.map_or(end, |(_, length)| unit_at + length);
        if let Some(to) = to(behind(after))
            && let Some((second, length)) = plain(behind(after + to.end()))
            && second >= value
        {
            range.1 = second;
            end = after + to.end() + length;
            unit_at = gap(end);
            unit = measure::unit(behind(unit_at)).or(unit);
        }
        let known = unit.and_then(|(name, length)| {
            let low = measure::measure(range.0, name)?;
            let high = measure::measure(range.1, name)?;
            let written = behind(unit_at).starts_with(name);
            Some((
                (low.value, high.value),
                low.dimension,
                if written { unit_at + length } else { end },
            ))
        });
        let bound = std::mem::replace(&mut self.bound, Bound::Exact);
        self.waits = false;
        let (range, dimension, end) = known.unwrap_or((range, String::new(), end));
        if dimension.is_empty() {
            self.counts = Some(self.clause.quantities.len());
        }
        let calendar = dimension == "months";
        let (range, dimension) = if calendar {
            ((range.0 * MONTH, range.1 * MONTH), "time".to_owned())
        } else {
            (range, dimension)
        };
        self.clause.quantities.push(Quantity { range, dimension, bound, calendar });
        end
    }

    fn latin(&mut self, rest: &str, stemmer: &Stemmer) -> usize {
        if let Some((day, length)) = number::day(rest) {
            self.clause.days.push(day);
            return length;
        }
        if let Some(code) = code(rest) {
            self.clause.words.insert(code.as_str().to_owned());
            return code.end();
        }
        let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '\'')).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default().trim_end_matches("'s");
        if let Some(value) = number::spelled(word) {
            return self.number(value, end, rest);
        }
        match lexicon::word(word) {
            Some(known) => self.word(known),
            None => self.content(stemmer.stem(word).into_owned()),
        }
        end
    }

    /// A run of Chinese, known words first; what is between them stays one word.
    fn han(&mut self, rest: &str) -> usize {
        if let Some((value, length)) = number::numeral(rest) {
            let behind = rest.get(length..).unwrap_or_default();
            let counted = behind.starts_with(['个', '台', '只', '件', '次', '名', '位', '份']);
            if counted || measure::unit(behind).is_some_and(|(name, _)| !name.is_ascii()) {
                return self.number(value, length, rest);
            }
        }
        if let Some((name, word)) = lexicon::first(rest) {
            self.word(word);
            return name.len();
        }
        let mut end = 0;
        for (at, c) in rest.char_indices() {
            let tail = rest.get(at..).unwrap_or_default();
            if !('\u{4e00}'..='\u{9fff}').contains(&c) || (at > 0 && lexicon::first(tail).is_some())
            {
                break;
            }
            end = at + c.len_utf8();
        }
        self.content(rest.get(..end).unwrap_or_default().to_owned());
        end
    }

    fn word(&mut self, word: Word) {
        match word {
            Word::Stop => {}
            Word::Is(name) => self.content(name.to_owned()),
            Word::Not => self.clause.denies ^= true,
            Word::IsNot(name) => {
                self.clause.denies ^= true;
                self.content(name.to_owned());
            }
            Word::When => self.clause.when = true,
            Word::Except => self.clause.excepts = true,
        }
    }

    fn content(&mut self, word: String) {
        if let Some(at) = self.counts.take()
            && let Some(quantity) = self.clause.quantities.get_mut(at)
        {
            quantity.dimension = format!("count of {word}");
        }
        // A bound belongs to the number behind it, one word further at most.
        if std::mem::replace(&mut self.waits, self.bound != Bound::Exact) {
            self.bound = Bound::Exact;
            self.waits = false;
        }
        self.clause.words.insert(word);
    }
}

/// The code with which a text begins, such as `e-207`: most words have neither digit nor hyphen.
fn code(text: &str) -> Option<Match<'_>> {
    let letters = text.trim_start_matches(|c: char| c.is_ascii_lowercase());
    let may = if letters.len() < text.len() {
        letters.starts_with(|c: char| c.is_numeric() || matches!(c, '-' | '_' | '/'))
    } else {
        let behind = text.trim_start_matches(char::is_numeric);
        behind.starts_with(|c: char| c.is_ascii_lowercase())
    };
    CODE.as_ref().filter(|_| may)?.find(text)
}

/// Whether what stands before a number names it.
fn is_named(before: &str) -> bool {
    let before = before.trim_end();
    match before.chars().next_back() {
        Some('第' | '本' | '号' | '误' | '码' | '楼' | '#') => {}
        Some('.' | 'a'..='z') => {
            let word = before.strip_suffix('.').unwrap_or(before);
            if !NAMES.iter().any(|name| word.ends_with(name)) {
                return false;
            }
        }
        _ => return false,
    }
    NAMED.as_ref().is_some_and(|rule| rule.is_match(before))
}

/// What leads to the second number of a range.
fn to(text: &str) -> Option<Match<'_>> {
    const FIRST: [char; 10] = ['-', '–', '—', '~', '～', '至', '到', 't', 'a', '和'];
    TO.as_ref().filter(|_| text.trim_start().starts_with(FIRST))?.find(text)
}

fn plain(text: &str) -> Option<(f64, usize)> {
    let found = NUMBER.as_ref()?.find(text)?;
    let digits = found.as_str().replace(',', "").replace('−', "-");
    Some((digits.parse().ok()?, found.end()))
}
