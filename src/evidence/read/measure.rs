//! What belongs to a number: the sign of a currency before it; a unit, a currency or % behind it. A unit
//! that is made of several and not in the table, or that only looks like one that is, is no bare number.

use super::{is_east_asian, is_edge, numeral};
use crate::evidence::unit;

/// Longest word, in characters, that is looked at for being a unit.
const WORD: usize = 6;

/// The unit of events.
const EVENT: &str = "次";
/// Most parts of a unit that are looked at.
const PARTS: usize = 6;

/// What stands behind a number.
pub(super) enum After {
    Nothing,
    Percent,
    Unit(&'static str),
    Money(&'static str),
    /// A unit that the table does not have.
    Unknown,
}

/// What belongs to the number that ends at `end`, and its bytes, with the space before it.
pub(super) fn behind(text: &str, end: usize, wanted: &str) -> (After, usize) {
    let tail = text.get(end..).unwrap_or_default();
    let (spaces, rest) = spaced(tail);
    if let Some(length) = percent(rest) {
        let length = spaces + length;
        return match goes_on(tail.get(length..).unwrap_or_default()) {
            Some(more) => (After::Unknown, length + more),
            None => (After::Percent, length),
        };
    }
    if rest.starts_with("个百分点") || rest.starts_with("percentage point") {
        return (After::Unknown, spaces + rest.find([' ', ',', '。', '，']).unwrap_or(rest.len()));
    }
    let hyphen = hyphened(tail);
    let (rest, skip) = match hyphen {
        Some(rest) => (rest, 1),
        None => (rest, spaces),
    };
    let Some(name) = name_at(rest, spaces > 0) else {
        return match rate(tail).or_else(|| resembling(rest).map(|length| spaces + length)) {
            Some(length) => (After::Unknown, length),
            None => (After::Nothing, 0),
        };
    };
    let length = skip + name.len();
    let Some(more) = goes_on(rest.get(name.len()..).unwrap_or_default()) else {
        return match (unit::currency(name, wanted), unit::find(name)) {
            (Some(code), _) => (After::Money(code), length),
            (None, Some(unit)) => (After::Unit(unit.symbol), length),
            (None, None) => (After::Nothing, 0),
        };
    };
    match product(rest) {
        Some((unit, length)) => (After::Unit(unit), skip + length),
        None => (After::Unknown, length + more),
    }
}

/// How many spaces a text begins with, and what is behind them.
fn spaced(text: &str) -> (usize, &str) {
    let rest = text.trim_start_matches(' ');
    (text.len() - rest.len(), rest)
}

/// What stands behind the hyphen of `30-day`, where that is the name of a unit of two letters or more.
fn hyphened(tail: &str) -> Option<&str> {
    let rest = tail.strip_prefix('-')?;
    let name = name_at(rest, true)?;
    let ends = rest.get(name.len()..).unwrap_or_default();
    (name.len() > 1 && name.is_ascii() && !ends.starts_with('-')).then_some(rest)
}

/// The bytes of the word behind this, or of the sign that begins it.
fn word(rest: &str) -> Option<usize> {
    let (spaces, rest) = spaced(rest);
    let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
    (end > 0).then_some(spaces + end)
}

/// How many bytes a unit goes on with behind a name that is in the table: `/kg`, ` per kg`, `·m2`, `^3`,
/// `-1`, `每公斤`. Then it is another unit, and not that of the name.
pub(super) fn goes_on(beyond: &str) -> Option<usize> {
    let mut length = part(beyond)?;
    for _ in 1..PARTS {
        let Some(more) = beyond.get(length..).and_then(part) else { break };
        length += more;
    }
    Some(length)
}

/// The first part of what a unit goes on with.
fn part(beyond: &str) -> Option<usize> {
    let (spaces, rest) = spaced(beyond);
    if let Some(length) = rate(beyond) {
        return Some(length);
    }
    if let Some(power) = rest.strip_prefix("**") {
        return Some(spaces + 2 + word(power).unwrap_or_default());
    }
    let sign = rest.chars().next()?;
    let behind = rest.get(sign.len_utf8()..).unwrap_or_default();
    let next = behind.trim_start_matches(' ').chars().next();
    let is_factor = |c: char| c.is_alphabetic() || c == '(';
    let is_so = match sign {
        '·' | '×' | '*' => next.is_some_and(is_factor),
        '^' => spaces == 0 && next.is_some_and(|c| c.is_ascii_digit() || c == '-'),
        '.' => spaces == 0 && factor(behind).is_some(),
        // A power such as `s-1`, not a span such as `5 kg-10 kg`.
        '-' if spaces == 0 => {
            let digits = behind.trim_start_matches(|c: char| c.is_ascii_digit());
            let mut ends = digits.chars();
            let (end, beyond) = (ends.next(), ends.next());
            let is_fraction =
                matches!(end, Some('.' | ',')) && beyond.is_some_and(|c| c.is_ascii_digit());
            behind.len() - digits.len() == 1
                && !is_fraction
                && !end.is_some_and(|c| c.is_alphanumeric() || c == ' ')
        }
        _ => return factor(rest).filter(|_| spaces > 0).map(|length| spaces + length),
    };
    let length = spaces + sign.len_utf8();
    is_so.then(|| length + word(behind).unwrap_or_default())
}

/// How many bytes the words and signs take by which something is for each of something else: `/kg`,
/// ` per kg`, `-per-kg`, ` a day`, ` each`, `每公斤`, `一公斤`.
fn rate(beyond: &str) -> Option<usize> {
    let (spaces, rest) = spaced(beyond);
    let sign = rest.chars().next()?;
    let behind = rest.get(sign.len_utf8()..).unwrap_or_default();
    let next = behind.chars().next();
    let length = spaces + sign.len_utf8();
    match sign {
        // Behind a space another value stands: `5 kg / 11 lb`.
        '/' | '÷' | '\u{2044}' | '\u{2215}' => {
            let first = behind.trim_start_matches(' ').chars().next()?;
            let near = spaces == 0 && first.is_ascii_digit();
            let is_so = first.is_alphabetic() || first == '(' || near;
            (is_so && !is_digits(rest)).then(|| length + word(behind).unwrap_or_default())
        }
        '每' => next.map(|_| length + word(behind).unwrap_or_default()),
        // Not `六年一次`, where it is the event that is counted.
        '一' => {
            name_at(behind, false).filter(|name| *name != EVENT).map(|name| length + name.len())
        }
        '-' => {
            let of = behind.strip_prefix("per-")?;
            word(of).map(|end| length + 4 + end)
        }
        _ if spaces > 0 => each(rest).map(|length| spaces + length),
        _ => None,
    }
}

/// Whether a sign of division stands between plain digits, as in `24/7`, and divides no unit.
fn is_digits(rest: &str) -> bool {
    let behind = rest.trim_start_matches(|c: char| !c.is_ascii_digit() && !c.is_alphabetic());
    let end = behind.trim_start_matches(|c: char| c.is_ascii_digit());
    behind.len() > end.len() && name_at(end.trim_start_matches(' '), false).is_none()
}

/// `per kg`, `a day`, `each`.
fn each(rest: &str) -> Option<usize> {
    for alone in ["each", "apiece", "p.a."] {
        if rest.get(..alone.len()).is_some_and(|start| start.eq_ignore_ascii_case(alone))
            && is_edge(rest.get(alone.len()..))
        {
            return Some(alone.len());
        }
    }
    for (before, any) in [("per ", true), ("every ", false), ("an ", false), ("a ", false)] {
        if let Some(of) = rest.strip_prefix(before)
            && (any || name_at(of, false).is_some())
        {
            return word(of).map(|end| before.len() + end);
        }
    }
    None
}

/// The symbol of a physical unit that another unit is multiplied by, with its power: `m`, `s-1`.
fn factor(rest: &str) -> Option<usize> {
    const SYMBOLS: [&str; 22] = [
        "m", "cm", "mm", "km", "m2", "m3", "s", "h", "kg", "g", "N", "K", "W", "V", "J", "Pa",
        "Hz", "L", "mol", "ft", "lb", "lbf",
    ];
    let fits = |symbol: &&&str| {
        let Some(beyond) = rest.strip_prefix(**symbol) else { return false };
        let power = beyond.strip_prefix('-');
        is_edge(Some(beyond))
            && power.is_none_or(|power| power.starts_with(|c: char| c.is_ascii_digit()))
    };
    SYMBOLS.iter().filter(fits).map(|symbol| symbol.len()).max()
}

/// The unit that a product or a quotient of units is, where the table has it, and its bytes: `N m`,
/// `kW.h`, `km / h`, `kWh per 100 km`.
fn product(rest: &str) -> Option<(&'static str, usize)> {
    const SIGNS: [(&str, &str); 7] =
        [("/", "/"), ("per ", "/"), ("每", "/"), ("·", "·"), ("×", "·"), ("*", "·"), (".", "·")];
    let first = name_at(rest, false)?;
    let mut made = unit::find(first)?.symbol.to_owned();
    let mut end = first.len();
    for _ in 0..2 {
        let (spaces, beyond) = spaced(rest.get(end..)?);
        let signed = SIGNS.iter().find_map(|(sign, as_sign)| {
            beyond.strip_prefix(sign).map(|behind| (*as_sign, sign.len(), behind))
        });
        let (sign, length, behind) = match signed {
            Some(signed) => signed,
            None if spaces > 0 && factor(beyond).is_some() => ("·", 0, beyond),
            None => break,
        };
        let (more, behind) = spaced(behind);
        let hundred = usize::from(behind.starts_with("100")) * 3;
        let (gap, behind) = spaced(behind.get(hundred..)?);
        let name = name_at(behind, false)?;
        made.push_str(sign);
        made.push_str(if hundred > 0 { "100" } else { "" });
        made.push_str(unit::find(name)?.symbol);
        end += spaces + length + more + hundred + gap + name.len();
    }
    let is_whole = goes_on(rest.get(end..)?).is_none();
    unit::find(&made).filter(|_| is_whole).map(|unit| (unit.symbol, end))
}

/// The bytes of a word that is no unit of the table, but looks like one: `GPa`, `mPa` beside `MPa`, `mΩ`.
fn resembling(rest: &str) -> Option<usize> {
    let is_part = |c: char| (c.is_alphabetic() && !is_east_asian(c)) || c == '°';
    let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
    let name = rest.get(..end).filter(|name| !name.is_empty())?;
    if name.chars().count() > WORD || !is_edge(rest.get(end..)) {
        return None;
    }
    let is_sign = name.contains(|c: char| matches!(c, '°' | 'Å' | '\u{370}'..='\u{3ff}'));
    (is_sign || is_prefixed(name) || unit::is_in_other_case(name))
        .then(|| end + goes_on(rest.get(end..).unwrap_or_default()).unwrap_or_default())
}

/// Whether a name is a symbol of the SI, with or without a prefix.
fn is_prefixed(name: &str) -> bool {
    const PREFIXES: [&str; 10] = ["T", "G", "M", "k", "c", "m", "u", "n", "p", "d"];
    const SYMBOLS: [&str; 31] = [
        "m", "g", "s", "A", "K", "mol", "cd", "Hz", "N", "Pa", "J", "W", "C", "V", "F", "S", "Wb",
        "T", "H", "L", "l", "bar", "eV", "B", "b", "bit", "Wh", "VA", "Ah", "t", "Sv",
    ];
    let is_symbol = |name: &str| SYMBOLS.contains(&name);
    is_symbol(name)
        || PREFIXES.iter().any(|prefix| name.strip_prefix(prefix).is_some_and(is_symbol))
}

fn percent(rest: &str) -> Option<usize> {
    if rest.starts_with('%') {
        return Some(1);
    }
    let lower = rest.get(..8).unwrap_or(rest).to_ascii_lowercase();
    ["percent", "per cent"]
        .into_iter()
        .find(|word| lower.starts_with(word) && is_edge(rest.get(word.len()..)))
        .map(str::len)
}

/// Names of units that are words of their own; they are units only where they touch their number.
const WORDS: [&str; 4] = ["in", "A", "li", "mu"];

/// The longest name of a unit or currency that a text begins with.
fn name_at(rest: &str, apart: bool) -> Option<&'static str> {
    let fits = |name: &&'static str| {
        let Some(start) = rest.get(..name.len()) else { return false };
        let same = unit::same(start, name);
        let ends =
            !name.ends_with(|c: char| c.is_ascii_alphanumeric()) || is_edge(rest.get(name.len()..));
        let alone = apart && WORDS.contains(name) && rest.len() > name.len();
        same && ends && !alone
    };
    unit::names_at(rest).filter(fits).max_by_key(|name| name.len())
}

/// The currency with which a text begins, before a number.
pub(super) fn sign(text: &str, wanted: &str) -> Option<(&'static str, usize)> {
    let fits = |name: &&'static str| {
        let start = text.get(..name.len());
        let same = start.is_some_and(|start| unit::same(start, name));
        let rest = text.get(name.len()..).unwrap_or_default().trim_start_matches(' ');
        let is_word = matches!(*name, "块" | "圆" | "元");
        same && !is_word && rest.starts_with(|c: char| c.is_ascii_digit() || numeral::starts(c))
    };
    let name = unit::names_at(text).filter(fits).max_by_key(|name| name.len())?;
    Some((unit::currency(name, wanted)?, name.len()))
}

/// Where the words begin before a value by which it is for each of something: `每公斤` before `5元`. An
/// event is none of it: an amount each time is that of one time.
pub(in crate::evidence) fn rate_before(before: &str) -> Option<usize> {
    let text = before.trim_end_matches(' ');
    let start = text.rfind('每')?;
    let of = text.get(start + '每'.len_utf8()..)?.trim_start_matches(' ');
    let name = name_at(of, false)?;
    (name.len() == of.len() && name != EVENT).then_some(start)
}

/// The bytes of the word behind a plain number that may be its unit, with what is before it: ` florps`,
/// `-florp`, `箱`. None for a word that only joins.
pub(in crate::evidence) fn word_behind(tail: &str) -> Option<usize> {
    const JOIN: &str = " in on at to from for by with within without via and or nor but if then than is are \
        was were be been being do does did can could may might must shall should will would has have \
        had need needs needed require requires required when where while until till before after during \
        since as so because though instead now today tomorrow yesterday again too also only still already \
        please that this these those it its they we you i he she there here what which who how why not \
        no yes between into onto over under above below against through across about around ";
    const COUNTED: &str =
        "箱盒包瓶辆张条份笔批单套袋桶支本页门间栋层组队场届期号楼罐卷片块颗粒匹头棵";
    let (spaces, rest) = match tail.strip_prefix('-') {
        Some(rest) => (1, rest),
        None => spaced(tail),
    };
    let first = rest.chars().next().filter(|c| c.is_alphabetic())?;
    if is_east_asian(first) {
        return COUNTED.contains(first).then(|| spaces + first.len_utf8());
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() || is_east_asian(c)).unwrap_or(rest.len());
    let name = rest.get(..end).unwrap_or_default().to_lowercase();
    (!JOIN.contains(&format!(" {name} "))).then_some(spaces + end)
}
