//! Dates and clock times as they are written in texts: a text in, what stands at its beginning out.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A day, a month or a year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Day {
    pub(super) year: u32,
    pub(super) month: Option<u32>,
    pub(super) day: Option<u32>,
}

impl Day {
    /// Whether both can be meant to be the same, as far as both are told.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        let same = |one: Option<u32>, two: Option<u32>| match (one, two) {
            (Some(one), Some(two)) => one == two,
            _ => true,
        };
        self.year == other.year && same(self.month, other.month) && same(self.day, other.day)
    }
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const NAMES: &str = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?";

fn rule(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

static DIGITS: LazyLock<Option<Regex>> =
    LazyLock::new(|| rule(r"^(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?\b"));
static CHINESE: LazyLock<Option<Regex>> =
    LazyLock::new(|| rule(r"^(\d{4})\s*年(?:\s*(\d{1,2})\s*月(?:\s*(\d{1,2})\s*[日号])?)?"));
static BEFORE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    rule(&format!(r"^(\d{{1,2}})(?:st|nd|rd|th)?\s+({NAMES})\s*,?\s*(\d{{4}})\b"))
});
static BEHIND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    rule(&format!(r"^({NAMES})\s+(?:(\d{{1,2}})(?:st|nd|rd|th)?,?\s+)?(\d{{4}})\b"))
});
static CLOCK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    rule(
        r"^(\d{1,2})(?:[:：](\d{2})\s*(am|pm|a\.m\.|p\.m\.)?|\s*(am|pm|a\.m\.|p\.m\.)|\s*点(半|\d{1,2}分)?)",
    )
});

fn number(found: &Captures<'_>, at: usize) -> Option<u32> {
    found.get(at)?.as_str().parse().ok()
}

fn month(found: &Captures<'_>, at: usize) -> Option<u32> {
    let name = found.get(at)?.as_str();
    let place = MONTHS.iter().position(|month| name.starts_with(month))?;
    u32::try_from(place + 1).ok()
}

/// Reads what a rule found.
type Reader = fn(&Captures<'_>) -> Option<Day>;

/// The date with which a text in lower case begins, and its bytes.
pub(super) fn day(text: &str) -> Option<(Day, usize)> {
    forms(text).iter().find_map(|(form, read)| {
        let found = form.as_ref()?.captures(text)?;
        let day = read(&found)?;
        let sane = (1900..2200).contains(&day.year)
            && day.month.is_none_or(|month| (1..=12).contains(&month))
            && day.day.is_none_or(|day| (1..=31).contains(&day));
        sane.then_some((day, found.get(0)?.end()))
    })
}

/// Forms of dates.
type Forms = [(&'static LazyLock<Option<Regex>>, Reader)];

/// The forms that a text may begin with: next to none of the words of a text is a date.
fn forms(text: &str) -> &'static Forms {
    static YEAR_FIRST: &Forms =
        &[(&DIGITS, |found| plain(found)), (&CHINESE, |found| plain(found))];
    static DAY_FIRST: &Forms = &[(&BEFORE, |found| {
        Some(Day { year: number(found, 3)?, month: month(found, 2), day: number(found, 1) })
    })];
    static MONTH_FIRST: &Forms = &[(&BEHIND, |found| {
        Some(Day { year: number(found, 3)?, month: month(found, 1), day: number(found, 2) })
    })];
    let begins = |text: &str| MONTHS.iter().any(|month| text.starts_with(month));
    let (digits, rest) = digits(text);
    match digits {
        0 if begins(rest) => MONTH_FIRST,
        1 | 2 => {
            let ordinal = ["st", "nd", "rd", "th"].iter().find_map(|end| rest.strip_prefix(end));
            let rest = ordinal.unwrap_or(rest);
            let month = rest.trim_start();
            if month.len() < rest.len() && begins(month) { DAY_FIRST } else { &[] }
        }
        4 => YEAR_FIRST,
        _ => &[],
    }
}

/// How many digits a text begins with, of five at most, and what follows.
fn digits(text: &str) -> (usize, &str) {
    let rest = text.trim_start_matches(char::is_numeric);
    let digits = text.get(..text.len() - rest.len()).unwrap_or_default();
    (digits.chars().take(5).count(), rest)
}

fn plain(found: &Captures<'_>) -> Option<Day> {
    Some(Day { year: number(found, 1)?, month: number(found, 2), day: number(found, 3) })
}

/// The minute of the day with which a text begins, and its bytes.
pub(super) fn clock(text: &str) -> Option<(u32, usize)> {
    let (digits, rest) = digits(text);
    let told = rest.starts_with([':', '：']) || rest.trim_start().starts_with(['a', 'p', '点']);
    if !(1..=2).contains(&digits) || !told {
        return None;
    }
    let found = CLOCK.as_ref()?.captures(text)?;
    let hour = number(&found, 1)?;
    let half = found.get(5).map(|part| part.as_str());
    let minute = match half {
        Some("半") => 30,
        Some(text) => text.trim_end_matches('分').parse().ok()?,
        None => number(&found, 2).unwrap_or_default(),
    };
    let named = found.get(3).or_else(|| found.get(4)).map(|part| part.as_str());
    let hour = match named {
        Some(name) if name.starts_with('p') && hour < 12 => hour + 12,
        Some(name) if name.starts_with('a') && hour == 12 => 0,
        _ => hour,
    };
    (hour < 25 && minute < 60).then_some((hour * 60 + minute, found.get(0)?.end()))
}

/// A text that is a date and nothing else.
pub(super) fn date(text: &str) -> Option<Day> {
    let text = text.trim().to_lowercase();
    let (day, length) = day(&text)?;
    (length == text.len()).then_some(day)
}

/// A number spelled in words, below a hundred.
pub(super) fn spelled(word: &str) -> Option<f64> {
    const WORDS: [(&str, u32); 16] = [
        ("two", 2),
        ("three", 3),
        ("four", 4),
        ("five", 5),
        ("six", 6),
        ("seven", 7),
        ("eight", 8),
        ("nine", 9),
        ("ten", 10),
        ("eleven", 11),
        ("twelve", 12),
        ("fifteen", 15),
        ("twenty", 20),
        ("thirty", 30),
        ("sixty", 60),
        ("ninety", 90),
    ];
    WORDS.iter().find(|(name, _)| *name == word).map(|(_, value)| f64::from(*value))
}

/// The Chinese numeral with which a text begins, below a hundred, and its bytes.
pub(super) fn numeral(text: &str) -> Option<(f64, usize)> {
    let digit = |c: char| "一二三四五六七八九".chars().position(|one| one == c).map(|at| at + 1);
    let (mut value, mut length, mut tens) = (0, 0, false);
    for c in text.chars() {
        match c {
            '两' if length == 0 => value = 2,
            '十' if !tens => {
                value = value.max(1) * 10;
                tens = true;
            }
            _ => match digit(c).filter(|_| length == 0 || (tens && value % 10 == 0)) {
                Some(one) => value += one,
                None => break,
            },
        }
        length += c.len_utf8();
    }
    let value = u32::try_from(value).ok()?;
    (length > 0).then_some((f64::from(value), length))
}
