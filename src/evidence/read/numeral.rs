//! Numbers in Chinese numerals (`一万五千`, `3万5`, `二〇二六`) and in English words (`eight thousand`):
//! what stands at the beginning of a text in, its exact value out.

use rust_decimal::Decimal;

use super::digits;
use super::{Unread, is_edge, shown};
use crate::evidence::unit;

/// What one character of a numeral says.
enum Sign {
    Digit(i64),
    /// Ten, a hundred, a thousand.
    Small(i64),
    /// Ten thousand, a hundred million.
    Large(i64),
    Point,
}

fn sign(c: char) -> Option<Sign> {
    let found = match c {
        '零' | '〇' => Sign::Digit(0),
        '一' | '壹' => Sign::Digit(1),
        '二' | '贰' | '两' => Sign::Digit(2),
        '三' | '叁' => Sign::Digit(3),
        '四' | '肆' => Sign::Digit(4),
        '五' | '伍' => Sign::Digit(5),
        '六' | '陆' => Sign::Digit(6),
        '七' | '柒' => Sign::Digit(7),
        '八' | '捌' => Sign::Digit(8),
        '九' | '玖' => Sign::Digit(9),
        '十' | '拾' => Sign::Small(10),
        '百' | '佰' => Sign::Small(100),
        '千' | '仟' => Sign::Small(1000),
        '万' | '萬' => Sign::Large(10_000),
        '亿' | '億' => Sign::Large(100_000_000),
        '点' => Sign::Point,
        _ => return None,
    };
    Some(found)
}

/// Whether a numeral can begin with this character.
pub(super) fn starts(c: char) -> bool {
    matches!(sign(c), Some(Sign::Digit(_) | Sign::Small(10)))
}

/// Whether a numeral has this character for a size.
pub(in crate::evidence) fn is_size(c: char) -> bool {
    matches!(sign(c), Some(Sign::Small(_) | Sign::Large(_)))
}

/// A numeral as it is read from left to right.
#[derive(Default)]
struct Reader {
    /// Below the last ten thousand or hundred million.
    section: Decimal,
    whole: Decimal,
    /// The number that waits for its size.
    waits: Option<Decimal>,
    /// Digits of `waits` that are numerals.
    digits: u32,
    /// The size before the waiting number.
    last: Option<i64>,
    zero: bool,
    signs: usize,
}

/// The numeral with which a text begins, also with digits in it, and its bytes. `None` where there is no
/// Chinese character in it.
pub(super) fn chinese(text: &str, machine: bool) -> Option<(Result<Decimal, Unread>, usize)> {
    let mut reader = Reader::default();
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..)?;
        let step = if c.is_ascii_digit() || (at == 0 && matches!(c, '-' | '+')) {
            reader.arabic(rest, machine)
        } else {
            reader.sign(rest, c)
        };
        match step {
            Some(Ok(length)) => at += length,
            Some(Err(wrong)) => return (reader.signs > 0).then_some((Err(wrong), at)),
            None => break,
        }
    }
    (reader.signs > 0).then(|| (reader.end().ok_or_else(|| Unread::Long { text: shown(text) }), at))
}

impl Reader {
    /// Digits in the place of a numeral, as in `3万5`.
    fn arabic(&mut self, rest: &str, machine: bool) -> Option<Result<usize, Unread>> {
        if self.waits.is_some() {
            return None;
        }
        let length = digits::length(rest, machine)?;
        let follows = rest.get(length..)?.trim_start_matches(' ');
        let sized = follows.chars().next().is_some_and(is_size) && !is_unit(follows);
        if !sized && self.signs == 0 {
            return None;
        }
        match digits::lead(rest.get(..length)?, machine)? {
            (Ok(number), _) => {
                self.waits = Some(number);
                self.digits = if length == 1 { 1 } else { 2 };
                let spaces = rest.get(length..)?.len() - follows.len();
                Some(Ok(length + if sized { spaces } else { 0 }))
            }
            (Err(wrong), _) => {
                self.signs += usize::from(sized);
                Some(Err(wrong))
            }
        }
    }

    /// One character; `None` where the numeral ends before it.
    fn sign(&mut self, rest: &str, c: char) -> Option<Result<usize, Unread>> {
        let length = c.len_utf8();
        let next = rest.get(length..).and_then(|rest| rest.chars().next());
        match sign(c)? {
            Sign::Digit(_) if c == '两' && !self.is_pair(next) => return None,
            Sign::Digit(digit) => self.digit(digit)?,
            Sign::Small(_) | Sign::Large(_) if is_unit(rest) => return None,
            Sign::Small(size) => self.small(size)?,
            Sign::Large(size) => self.large(size)?,
            Sign::Point => return self.fraction(rest, length),
        }
        self.signs += 1;
        Some(Ok(length))
    }

    /// Whether `两` is two here, and not the unit of weight.
    fn is_pair(&self, next: Option<char>) -> bool {
        self.waits.is_none() && (self.signs == 0 || next.is_some_and(is_size))
    }

    fn digit(&mut self, digit: i64) -> Option<()> {
        match self.waits {
            // Digit by digit, as years are spelled.
            Some(number) if self.last.is_none() && self.digits > 0 => {
                let number = unit::product(number, Decimal::TEN)?;
                self.waits = Some(unit::sum(number, Decimal::from(digit))?);
                self.digits += 1;
            }
            Some(_) => return None,
            None if digit == 0 && self.last.is_some() => self.zero = true,
            None => {
                self.waits = Some(Decimal::from(digit));
                self.digits = 1;
            }
        }
        Some(())
    }

    fn small(&mut self, size: i64) -> Option<()> {
        let number = match self.waits.take() {
            Some(number) => number,
            None if size == 10 => Decimal::ONE,
            None => return None,
        };
        self.section = unit::sum(self.section, unit::product(number, Decimal::from(size))?)?;
        (self.last, self.zero, self.digits) = (Some(size), false, 0);
        Some(())
    }

    fn large(&mut self, size: i64) -> Option<()> {
        if self.waits.is_none() && self.section.is_zero() && self.whole.is_zero() {
            return None;
        }
        let size_of = Decimal::from(size);
        let section = unit::sum(self.section, self.waits.take().unwrap_or_default())?;
        self.whole = if size == 100_000_000 {
            unit::product(unit::sum(self.whole, section)?, size_of)?
        } else {
            unit::sum(self.whole, unit::product(section, size_of)?)?
        };
        self.section = Decimal::ZERO;
        (self.last, self.zero, self.digits) = (Some(size), false, 0);
        Some(())
    }

    /// `三点五`.
    fn fraction(&mut self, rest: &str, length: usize) -> Option<Result<usize, Unread>> {
        let whole = self.waits?;
        let digits: String = rest
            .get(length..)?
            .chars()
            .map_while(|c| match sign(c) {
                Some(Sign::Digit(digit)) if c != '两' => {
                    u8::try_from(digit).ok().map(|digit| char::from(b'0' + digit))
                }
                _ => None,
            })
            .collect();
        if digits.is_empty() || self.signs == 0 {
            return None;
        }
        let fraction = Decimal::from_str_exact(&format!("0.{digits}")).ok()?;
        self.waits = Some(unit::sum(whole, fraction)?);
        self.digits = 2;
        self.signs += 1;
        // Each digit is one character of three bytes.
        Some(Ok(length + digits.len() * 3))
    }

    fn end(self) -> Option<Decimal> {
        let mut section = self.section;
        if let Some(number) = self.waits {
            // `一万五` leaves the last size out.
            let size = match self.last {
                Some(size) if size >= 100 && !self.zero && self.digits == 1 => size / 10,
                _ => 1,
            };
            section = unit::sum(section, unit::product(number, Decimal::from(size))?)?;
        }
        unit::sum(self.whole, section)
    }
}

/// Whether a unit begins here whose name begins like a size: `千克`.
fn is_unit(rest: &str) -> bool {
    unit::names_at(rest).any(|name| rest.starts_with(name))
}

/// The number in English words with which a text begins, and its bytes.
pub(super) fn english(text: &str) -> Option<(Result<Decimal, Unread>, usize)> {
    let (mut whole, mut section) = (Decimal::ZERO, None::<i64>);
    let (mut at, mut end) = (0, 0);
    while let Some(word) = word_at(text, at) {
        let lower = word.to_ascii_lowercase();
        match (small(&lower), lower.as_str()) {
            (Some(number), _) => {
                let fits = match section {
                    None => true,
                    Some(held) => {
                        number < 10 && held % 10 == 0 && held % 100 >= 20 || held % 100 == 0
                    }
                };
                if !fits {
                    break;
                }
                section = Some(section.unwrap_or_default() + number);
            }
            (None, "hundred") => section = Some(section.filter(|held| *held < 100)? * 100),
            (None, "and") if section.is_some() => {}
            (None, other) => {
                let Some(size) = large(other) else { break };
                let Some(held) = section.take() else { break };
                whole = unit::sum(whole, Decimal::from(held.checked_mul(size)?))?;
            }
        }
        at += word.len();
        if lower != "and" {
            end = at;
        }
        let rest = text.get(at..)?;
        at += usize::from(rest.starts_with([' ', '-']));
    }
    let number = unit::sum(whole, Decimal::from(section.unwrap_or_default()))?;
    (end > 0).then_some((Ok(number), end))
}

fn word_at(text: &str, at: usize) -> Option<&str> {
    let rest = text.get(at..)?;
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let word = rest.get(..end).filter(|word| !word.is_empty())?;
    is_edge(rest.get(end..)).then_some(word)
}

fn small(word: &str) -> Option<i64> {
    const WORDS: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] =
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let place = |words: &[&str]| words.iter().position(|one| *one == word);
    let number = place(&WORDS).or_else(|| place(&TENS).map(|at| (at + 2) * 10))?;
    i64::try_from(number).ok()
}

fn large(word: &str) -> Option<i64> {
    match word {
        "thousand" => Some(1000),
        "million" => Some(1_000_000),
        "billion" => Some(1_000_000_000),
        _ => None,
    }
}
