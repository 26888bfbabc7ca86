//! Evened-out text in, the places of telephone numbers in it out, mainland mobile ones excepted:
//! landlines with their area code, and numbers of other countries. Without a `+`, brackets or the
//! hyphen behind an area code, only a word such as `电话` or `phone` before it makes a number one.

use super::Place;
use super::context::{self, PHONE};
use super::kind::Kind;
use super::vendors::is_border;

/// Most digits of a number with its country's prefix, by E.164.
const MOST_DIGITS: usize = 15;
/// Digits that follow a country's prefix, at least and at most. ITU-T E.164 and the national plans.
const COUNTRIES: &[(&str, usize, usize)] = &[
    ("7", 10, 10),
    ("20", 8, 10),
    ("27", 9, 9),
    ("30", 10, 10),
    ("31", 9, 9),
    ("32", 8, 9),
    ("33", 9, 9),
    ("34", 9, 9),
    ("36", 8, 9),
    ("39", 8, 11),
    ("40", 9, 9),
    ("41", 9, 9),
    ("43", 7, 12),
    ("44", 9, 10),
    ("45", 8, 8),
    ("46", 7, 10),
    ("47", 8, 8),
    ("48", 9, 9),
    ("49", 7, 11),
    ("51", 8, 9),
    ("52", 10, 10),
    ("53", 8, 8),
    ("54", 10, 11),
    ("55", 10, 11),
    ("56", 9, 9),
    ("57", 10, 10),
    ("58", 10, 10),
    ("60", 8, 10),
    ("61", 9, 9),
    ("62", 8, 12),
    ("63", 8, 10),
    ("64", 8, 10),
    ("65", 8, 8),
    ("66", 8, 9),
    ("81", 9, 10),
    ("82", 8, 10),
    ("84", 9, 10),
    ("86", 10, 11),
    ("90", 10, 10),
    ("91", 10, 10),
    ("92", 10, 10),
    ("93", 9, 9),
    ("94", 9, 9),
    ("95", 8, 10),
    ("98", 10, 10),
    ("351", 9, 9),
    ("353", 7, 9),
    ("354", 7, 7),
    ("358", 6, 10),
    ("359", 8, 9),
    ("370", 8, 8),
    ("371", 8, 8),
    ("372", 7, 8),
    ("375", 9, 9),
    ("380", 9, 9),
    ("381", 8, 9),
    ("385", 8, 9),
    ("386", 8, 8),
    ("420", 9, 9),
    ("421", 9, 9),
    ("852", 8, 8),
    ("853", 8, 8),
    ("855", 8, 9),
    ("880", 8, 10),
    ("886", 8, 9),
    ("960", 7, 7),
    ("961", 7, 8),
    ("962", 8, 9),
    ("965", 8, 8),
    ("966", 9, 9),
    ("968", 8, 8),
    ("971", 8, 9),
    ("972", 8, 9),
    ("973", 8, 8),
    ("974", 8, 8),
    ("976", 8, 8),
    ("977", 8, 10),
    ("992", 9, 9),
    ("994", 9, 9),
    ("995", 9, 9),
    ("996", 9, 9),
    ("998", 9, 9),
];
/// First digits of prefixes with three digits, and how many follow, where it is not told above.
const REGIONS: &[(&str, usize, usize)] = &[
    ("21", 8, 9),
    ("22", 7, 10),
    ("23", 7, 10),
    ("24", 7, 9),
    ("25", 7, 9),
    ("26", 7, 9),
    ("35", 7, 9),
    ("37", 7, 9),
    ("38", 7, 9),
    ("42", 7, 9),
    ("50", 7, 9),
    ("59", 7, 10),
    ("67", 7, 8),
    ("85", 8, 10),
    ("96", 8, 9),
];

/// Adds the places of telephone numbers.
pub(super) fn find(text: &[u8], found: &mut Vec<Place>) {
    let mut at = 0;
    while let Some(next) = next_start(text, at) {
        match number(text, next) {
            Some((start, end)) => {
                found.push((Kind::Phone, start..end));
                at = end;
            }
            None => at = behind(text, next),
        }
    }
}

/// The next place where a number may begin: a plus, a bracket, the first of some digits.
fn next_start(text: &[u8], from: usize) -> Option<usize> {
    let is_start = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'(');
    text.get(from..)?.iter().position(is_start).map(|found| from + found)
}

/// Behind what was no number: a sign, or all digits of a run.
fn behind(text: &[u8], at: usize) -> usize {
    at + run(text, at).max(1)
}

/// Digits that stand in a row.
fn run(text: &[u8], at: usize) -> usize {
    text.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn number(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let before = at.checked_sub(1).and_then(|before| text.get(before)).copied();
    let (start, end) = match text.get(at)? {
        b'+' => {
            let free = before.is_none_or(|byte| !byte.is_ascii_alphanumeric());
            (at, free.then(|| abroad(text, at + 1))??)
        }
        b'(' => {
            let free = before.is_none_or(|byte| !byte.is_ascii_alphanumeric());
            (at, free.then(|| bracketed(text, at + 1))??)
        }
        _ => {
            // Two digits behind a percent sign are an escape.
            let start = if before == Some(b'%') && run(text, at) > 2 { at + 2 } else { at };
            (start, bare(text, start)?)
        }
    };
    is_free(text, end).then_some((start, end))
}

/// Whether a number may end here.
fn is_free(text: &[u8], end: usize) -> bool {
    match text.get(end..).unwrap_or_default() {
        [b'_', ..] => false,
        [b'-', byte, ..] => !byte.is_ascii_alphanumeric(),
        [b'.' | b'/', byte, ..] => !byte.is_ascii_digit(),
        [byte, ..] => !byte.is_ascii_alphanumeric(),
        [] => true,
    }
}

/// Without plus or brackets.
fn bare(text: &[u8], at: usize) -> Option<usize> {
    let back = |count: usize| at.checked_sub(count).and_then(|at| text.get(at)).copied();
    let is_part = match back(1) {
        Some(b'-' | b'.' | b'/') => back(2).is_some_and(|byte| byte.is_ascii_alphanumeric()),
        Some(b'_' | b'+') => true,
        _ => !is_border(text, at),
    };
    if is_part {
        return None;
    }
    if at
        .checked_sub(3)
        .and_then(|escape| text.get(escape..at))
        .is_some_and(|escape| escape.eq_ignore_ascii_case(b"%2b"))
    {
        return abroad(text, at);
    }
    let announced = || context::near(text, at, PHONE);
    landline(text, at, &announced).or_else(|| announced().then(|| american(text, at))?).or_else(
        || {
            let prefixed = text.get(at..)?.starts_with(b"00") && announced();
            prefixed.then(|| abroad(text, at + 2))?
        },
    )
}

/// `(010) 62345678` and `(415) 555-2671`, behind the bracket.
fn bracketed(text: &[u8], at: usize) -> Option<usize> {
    let length = run(text, at);
    let code = text.get(at..at + length)?;
    if text.get(at + length) != Some(&b')') {
        return None;
    }
    let behind = at + length + 1;
    let behind = behind + usize::from(matches!(text.get(behind), Some(b' ' | b'-')));
    if is_area(code) {
        return local(text, behind, code.len()).map(|end| extension(text, end));
    }
    let is_american = length == 3 && is_exchange(code);
    is_american.then(|| last_seven(text, behind))?
}

/// An area code of the mainland with its zero.
fn is_area(code: &[u8]) -> bool {
    match code {
        b"010" => true,
        [b'0', b'2', third] => third.is_ascii_digit() && *third != b'6',
        [b'0', b'3'..=b'9', b'1'..=b'9', fourth] => fourth.is_ascii_digit(),
        _ => false,
    }
}

/// An area code of the mainland and the number behind it.
fn landline(text: &[u8], at: usize, announced: &impl Fn() -> bool) -> Option<usize> {
    let length = run(text, at);
    let digits = text.get(at..at + length)?;
    if digits.first() != Some(&b'0') {
        return None;
    }
    if (10..=12).contains(&length) {
        let area = if is_area(digits.get(..3)?) { 3 } else { 4 };
        let end = local(text, at + area, area)?;
        return (is_area(digits.get(..area)?) && announced()).then(|| extension(text, end));
    }
    if !is_area(digits) {
        return None;
    }
    let joint = *text.get(at + length)?;
    if !matches!(joint, b'-' | b' ') {
        return None;
    }
    let start = at + length + 1;
    let end = local(text, start, length)?;
    let certain = joint == b'-' && !is_date(text.get(start..end)?);
    (certain || announced()).then(|| extension(text, end))
}

/// The number inside an area: seven or eight digits, whole or in two groups.
fn local(text: &[u8], at: usize, area: usize) -> Option<usize> {
    let first = run(text, at);
    let end = match first {
        7 | 8 => at + first,
        3 | 4 => {
            let joined = matches!(text.get(at + first), Some(b' ' | b'-'));
            let second = at + first + 1;
            (joined && run(text, second) == 4).then_some(second + 4)?
        }
        _ => return None,
    };
    let digits = text.get(at..end)?.iter().filter(|byte| byte.is_ascii_digit()).count();
    let fits = digits == 8 || (digits == 7 && area == 4);
    (fits && text.get(at) != Some(&b'0')).then_some(end)
}

/// Whether eight digits are a day such as 20260301, which other numbers begin with.
fn is_date(digits: &[u8]) -> bool {
    let number = |digits: &[u8]| {
        digits.iter().fold(0_u32, |sum, digit| sum * 10 + u32::from(digit.wrapping_sub(b'0')))
    };
    digits.len() == 8
        && digits.iter().all(u8::is_ascii_digit)
        && digits.get(..4).is_some_and(|year| (1900..2100).contains(&number(year)))
        && digits.get(4..6).is_some_and(|month| (1..=12).contains(&number(month)))
        && digits.get(6..).is_some_and(|day| (1..=31).contains(&number(day)))
}

/// Behind an extension, where one follows.
fn extension(text: &[u8], end: usize) -> usize {
    let rest = text.get(end..).unwrap_or_default();
    let signs: [&[u8]; 6] =
        ["-".as_bytes(), "转".as_bytes(), "轉".as_bytes(), b" ext. ", b" ext ", b" x"];
    let sign = signs
        .into_iter()
        .find(|sign| rest.get(..sign.len()).is_some_and(|start| start.eq_ignore_ascii_case(sign)));
    let Some(sign) = sign else { return end };
    let length = run(text, end + sign.len());
    if (1..=5).contains(&length) { end + sign.len() + length } else { end }
}

/// Area codes and exchanges of North America begin with 2 to 9.
fn is_exchange(digits: &[u8]) -> bool {
    matches!(digits, [b'2'..=b'9', second, third] if second.is_ascii_digit() && third.is_ascii_digit())
}

/// `415-555-2671`, also with a 1 before it.
fn american(text: &[u8], at: usize) -> Option<usize> {
    let at = match text.get(at..)? {
        [b'1', b'-' | b'.' | b' ', ..] => at + 2,
        _ => at,
    };
    let is_code = run(text, at) == 3 && is_exchange(text.get(at..at + 3)?);
    let joined = matches!(text.get(at + 3), Some(b'-' | b'.' | b' '));
    (is_code && joined).then(|| last_seven(text, at + 4))?
}

/// `555-2671`
fn last_seven(text: &[u8], at: usize) -> Option<usize> {
    let is_code = run(text, at) == 3 && is_exchange(text.get(at..at + 3)?);
    let joined = matches!(text.get(at + 3), Some(b'-' | b'.' | b' '));
    (is_code && joined && run(text, at + 4) == 4).then(|| extension(text, at + 8))
}

/// A number behind the plus: the most groups that make one by the plan of its country.
fn abroad(text: &[u8], start: usize) -> Option<usize> {
    let (mut digits, mut length) = ([0_u8; MOST_DIGITS], 0);
    let (mut at, mut end, mut open) = (start, None, false);
    loop {
        let own = run(text, at);
        if own == 0 || length + own > MOST_DIGITS {
            return end;
        }
        digits.get_mut(length..length + own)?.copy_from_slice(text.get(at..at + own)?);
        length += own;
        at += own;
        if !open && is_planned(digits.get(..length)?) {
            end = Some(at);
        }
        match gap(text.get(at..)?, &mut open) {
            Some(joint) => at += joint,
            None => return end,
        }
    }
}

/// Length of what stands between two groups: `-`, ` `, `.`, brackets around a group, and `(0)`, which
/// is not dialled from abroad.
fn gap(text: &[u8], open: &mut bool) -> Option<usize> {
    let mut at = usize::from(*open && text.first() == Some(&b')'));
    *open &= at == 0;
    at += usize::from(matches!(text.get(at), Some(b' ' | b'-' | b'.')));
    if text.get(at..).is_some_and(|rest| rest.starts_with(b"(0)")) {
        at += 3;
        at += usize::from(text.get(at) == Some(&b' '));
    } else if text.get(at) == Some(&b'(') {
        *open = true;
        at += 1;
    }
    (at > 0 && text.get(at)?.is_ascii_digit()).then_some(at)
}

/// Whether these digits, with the prefix of a country, are as many as its numbers have.
fn is_planned(digits: &[u8]) -> bool {
    if let Some(national) = digits.strip_prefix(b"1") {
        return national.len() == 10
            && national.get(..3).is_some_and(is_exchange)
            && national.get(3..6).is_some_and(is_exchange);
    }
    let fits = |(prefix, least, most): &(&str, usize, usize), width: usize| {
        let count = digits.len().saturating_sub(width);
        digits.starts_with(prefix.as_bytes()).then_some((*least..=*most).contains(&count))
    };
    let country = COUNTRIES.iter().find_map(|plan| fits(plan, plan.0.len()));
    country.or_else(|| REGIONS.iter().find_map(|plan| fits(plan, 3))).unwrap_or(false)
}
