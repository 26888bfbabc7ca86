//! Evened-out text in, the places of personal numbers in it out: mainland mobile and identity
//! numbers and bank cards, also in groups. A number without a check digit counts only in the
//! groupings that people write; one that is part of a longer number or token does not count.

use std::ops::Range;

use super::Place;
use super::context::{self, IDENTITY};
use super::kind::Kind;
use super::vendors::is_border;

/// Digits of the longest number that is looked for, with the prefix 0086.
const MOST_DIGITS: usize = 19;
/// Digits of the shortest one.
const LEAST_DIGITS: usize = 11;

/// How two groups of digits are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// With a space in it: what stands there may as well be two numbers.
    Loose,
    Hyphen,
    Point,
}

/// A run of digits, and what joins it to the group before.
#[derive(Debug, Clone)]
struct Group {
    range: Range<usize>,
    joint: Joint,
}

/// Adds the places of all personal numbers.
pub(super) fn find(text: &[u8], found: &mut Vec<Place>) {
    let mut at = 0;
    let mut groups: Vec<Group> = Vec::new();
    while let Some(start) = next_digit(text, at) {
        groups.clear();
        at = chain(text, start, &mut groups);
        let digits: usize = groups.iter().map(|group| group.range.len()).sum();
        if digits >= LEAST_DIGITS {
            search(text, &groups, found);
        }
    }
}

fn next_digit(text: &[u8], from: usize) -> Option<usize> {
    let found = text.get(from..)?.iter().position(u8::is_ascii_digit)?;
    Some(from + found)
}

/// Reads the groups that follow each other from `start` on; gives the place behind them.
fn chain(text: &[u8], start: usize, groups: &mut Vec<Group>) -> usize {
    let (mut start, mut joint) = (start, Joint::Loose);
    loop {
        let rest = text.get(start..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = start + length;
        // Two digits behind a percent sign are an escape.
        let escape = start > 0 && text.get(start - 1) == Some(&b'%') && length > 2;
        let range = if escape { start + 2..end } else { start..end };
        groups.push(Group { range, joint });
        match joined(text.get(end..).unwrap_or_default()) {
            Some((next, length)) => (start, joint) = (end + length, next),
            None => return end,
        }
    }
}

/// What joins a group to the next one, if anything does, and its length.
fn joined(text: &[u8]) -> Option<(Joint, usize)> {
    let length = text.iter().take_while(|byte| matches!(byte, b' ' | b'-')).count();
    if !(0..=3).contains(&length) {
        return None;
    }
    let between = text.get(..length)?;
    let (joint, length) = match between {
        [] if text.first() == Some(&b'.') => (Joint::Point, 1),
        [] => return None,
        _ if between.contains(&b' ') => (Joint::Loose, length),
        [b'-'] => (Joint::Hyphen, 1),
        _ => return None,
    };
    text.get(length)?.is_ascii_digit().then_some((joint, length))
}

fn search(text: &[u8], groups: &[Group], found: &mut Vec<Place>) {
    let mut first = 0;
    while let Some(rest) = groups.get(first..).filter(|rest| !rest.is_empty()) {
        match Candidate::longest(text, rest) {
            Some((used, place)) => {
                found.push(place);
                first += used;
            }
            None => first += 1,
        }
    }
}

/// Groups that may be one number.
struct Candidate<'g> {
    groups: &'g [Group],
    digits: [u8; MOST_DIGITS],
    length: usize,
}

impl<'g> Candidate<'g> {
    /// The longest number that begins with the first group: how many groups it takes, and where.
    fn longest(text: &[u8], groups: &'g [Group]) -> Option<(usize, Place)> {
        let start = groups.first()?.range.start;
        let left = Side::left(text, groups.first()?);
        if left == Side::Inside {
            return None;
        }
        let mut found = None;
        let (mut digits, mut length) = ([0; MOST_DIGITS], 0);
        for (index, group) in groups.iter().enumerate() {
            for digit in text.get(group.range.clone())? {
                match digits.get_mut(length) {
                    Some(place) => *place = digit - b'0',
                    None => return found,
                }
                length += 1;
            }
            if length < LEAST_DIGITS {
                continue;
            }
            let used = index + 1;
            let own = groups.get(..used)?;
            let candidate = Candidate { groups: own, digits, length };
            let right = Side::right(text, group.range.end, groups.get(used));
            if let Some((kind, end)) = candidate.end(text, group.range.end, (left, right)) {
                let plus =
                    candidate.prefix() == 2 && start > 0 && text.get(start - 1) == Some(&b'+');
                found = Some((used, (kind, start - usize::from(plus)..end)));
            }
        }
        found
    }

    fn digits(&self) -> &[u8] {
        self.digits.get(..self.length).unwrap_or_default()
    }

    /// What kind of number it is and where it ends, if it is one.
    fn end(&self, text: &[u8], end: usize, sides: (Side, Side)) -> Option<(Kind, usize)> {
        if self.length == 17 {
            // The check character may be an X, also as a group of its own.
            let rest = text.get(end..).unwrap_or_default();
            let length = match rest {
                [b'x' | b'X', ..] => 1,
                [b' ' | b'-', b'x' | b'X', ..] => 2,
                _ => 0,
            };
            let free = rest.get(length).is_none_or(|byte| !byte.is_ascii_alphanumeric());
            if length > 0 && free && self.is_identity(10) {
                return Some((Kind::Identity, end + length));
            }
        }
        if sides.1 == Side::Inside {
            return None;
        }
        let alone = sides == (Side::Free, Side::Free);
        let is_card = || alone && self.is_card();
        let kind = match self.length {
            18 => {
                let check = self.digits.get(17).copied().unwrap_or_default();
                let identity = self.is_identity(u32::from(check)).then_some(Kind::Identity);
                identity.or_else(|| is_card().then_some(Kind::Card))
            }
            15 if alone && self.is_old_identity(text) => Some(Kind::Identity),
            _ if self.is_mobile() => Some(Kind::Phone),
            _ => is_card().then_some(Kind::Card),
        };
        kind.map(|kind| (kind, end))
    }

    /// Digits of the country's prefix.
    fn prefix(&self) -> usize {
        match self.digits() {
            [0, 0, 8, 6, 1, ..] if self.length == 15 => 4,
            [8, 6, 1, ..] if self.length == 13 => 2,
            _ => 0,
        }
    }

    fn is_mobile(&self) -> bool {
        let prefix = self.prefix();
        let national = self.digits().get(prefix..).unwrap_or_default();
        let [1, 3..=9, ..] = national else {
            return false;
        };
        // The prefix may be a group of its own, joined in another way.
        let own = self.groups.first().filter(|group| prefix > 0 && group.range.len() == prefix);
        let groups = self.groups.get(usize::from(own.is_some())..).unwrap_or_default();
        let mut lengths = groups.iter().map(|group| group.range.len());
        let first = lengths.next().unwrap_or_default();
        let first = if own.is_none() { first.saturating_sub(prefix) } else { first };
        let lengths: Vec<usize> = std::iter::once(first).chain(lengths).collect();
        national.len() == 11
            && is_even(groups)
            && match lengths.as_slice() {
                [11] | [3, 8] | [7, 4] | [3, 4, 4] | [4, 4, 3] | [3, 3, 5] => true,
                all => all.len() == 11,
            }
    }

    /// GB 11643: seventeen digits with a date in them, and a check character by ISO 7064 MOD 11-2.
    fn is_identity(&self, check: u32) -> bool {
        let digit = |at: usize| self.digits.get(at).copied().map_or(0, u32::from);
        let number = |range: Range<usize>| range.fold(0, |sum, at| sum * 10 + digit(at));
        let is_date = (1850..2100).contains(&number(6..10))
            && (1..=12).contains(&number(10..12))
            && (1..=31).contains(&number(12..14));
        let sum = (0..17).fold(0, |sum, at| (sum + digit(at)) * 2 % 11);
        digit(0) > 0 && is_date && (sum + check) % 11 == 1 && is_even(self.groups)
    }

    /// Fifteen digits with a date in them have no check digit: a word before them has to tell.
    fn is_old_identity(&self, text: &[u8]) -> bool {
        let number = |range: Range<usize>| {
            let digits = self.digits.get(range).unwrap_or_default();
            digits.iter().fold(0, |sum: u32, digit| sum * 10 + u32::from(*digit))
        };
        let start = self.groups.first().map_or(0, |group| group.range.start);
        self.groups.len() == 1
            && number(0..1) > 0
            && (1..=12).contains(&number(8..10))
            && (1..=31).contains(&number(10..12))
            && context::near(text, start, IDENTITY)
    }

    /// Luhn's check digit, the first digits and length of a card, and the groups of one.
    fn is_card(&self) -> bool {
        self.is_issued() && self.has_card_groups() && is_even(self.groups) && self.passes_luhn()
    }

    fn passes_luhn(&self) -> bool {
        let sum: u32 = self
            .digits()
            .iter()
            .rev()
            .enumerate()
            .map(|(place, digit)| {
                let value = u32::from(*digit) << (place % 2);
                if value > 9 { value - 9 } else { value }
            })
            .sum();
        sum.is_multiple_of(10)
    }

    fn is_issued(&self) -> bool {
        let first = |count: usize| {
            let digits = self.digits.get(..count).unwrap_or_default();
            digits.iter().fold(0, |sum: u32, digit| sum * 10 + u32::from(*digit))
        };
        match self.length {
            // Thirteen digits that begin with 4 are mostly the number of an article.
            13 => first(1) == 4 && !self.is_article(),
            14 => matches!(first(2), 30 | 36 | 38 | 39),
            15 => matches!(first(2), 34 | 37),
            16 => {
                matches!(first(1), 4 | 6)
                    || matches!(first(2), 35 | 50..=58)
                    || (2221..=2720).contains(&first(4))
            }
            17 | 18 => first(1) == 6,
            19 => matches!(first(1), 4 | 6),
            _ => false,
        }
    }

    /// EAN-13.
    fn is_article(&self) -> bool {
        let weigh = |(place, digit): (usize, &u8)| {
            let value = u32::from(*digit);
            if place % 2 == 0 { value } else { 3 * value }
        };
        self.digits().iter().enumerate().map(weigh).sum::<u32>() % 10 == 0
    }

    fn has_card_groups(&self) -> bool {
        let lengths: Vec<usize> = self.groups.iter().map(|group| group.range.len()).collect();
        match lengths.as_slice() {
            [_] | [4, 6, 4 | 5] | [6, 7..=13] => true,
            [fours @ .., last] if fours.len() >= 3 => {
                (fours.iter().all(|four| *four == 4) && *last <= 4)
                    || lengths.iter().all(|length| *length == 1)
            }
            _ => false,
        }
    }
}

/// Whether all groups are joined in the same way.
fn is_even(groups: &[Group]) -> bool {
    let mut joints = groups.iter().skip(1).map(|group| group.joint);
    let first = joints.next();
    joints.all(|joint| Some(joint) == first)
}

/// What stands beside a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Nothing that belongs to it.
    Free,
    /// A word that it is joined to; numbers without a meaning of their own come so.
    Joined,
    /// It goes on there.
    Inside,
}

impl Side {
    fn left(text: &[u8], group: &Group) -> Self {
        let back = |count: usize| group.range.start.checked_sub(count).and_then(|at| text.get(at));
        let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        match back(1) {
            _ if !is_border(text, group.range.start) => Self::Inside,
            Some(b'-' | b'.') if back(2).is_some_and(u8::is_ascii_digit) => Self::Inside,
            Some(b'-') if is_word(back(2)) => Self::Joined,
            Some(b'_') => Self::Joined,
            _ => Self::Free,
        }
    }

    fn right(text: &[u8], end: usize, next: Option<&Group>) -> Self {
        let rest = text.get(end..).unwrap_or_default();
        match (rest, next) {
            (_, Some(next)) if next.joint == Joint::Loose => Self::Free,
            (_, Some(next)) => {
                // `13800138000.0` is how some programs write a whole number.
                let digits = text.get(next.range.clone()).unwrap_or_default();
                let after = text.get(next.range.end).copied().unwrap_or_default();
                let is_zero = next.joint == Joint::Point && digits.iter().all(|d| *d == b'0');
                if is_zero && digits.len() <= 2 && !after.is_ascii_alphanumeric() && after != b'.' {
                    Self::Free
                } else {
                    Self::Inside
                }
            }
            ([byte, ..], None) if byte.is_ascii_alphanumeric() => Self::Inside,
            ([b'-', byte, ..], None) if byte.is_ascii_alphanumeric() => Self::Joined,
            ([b'_', ..], None) => Self::Joined,
            _ => Self::Free,
        }
    }
}
