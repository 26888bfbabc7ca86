//! Dates and instants as people and programs write them: what stands at the beginning of a text in, the
//! day or instant out. An order of day and month that is not certain is refused.

use std::sync::LazyLock;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use regex::{Captures, Regex};

use super::{Lead, Unread, shown};
use crate::evidence::value::Value;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const NAMES: &str = r"((?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)(?:uary|ruary|ch|il|e|y|ust|tember|ober|ember)?)\.?";

/// What a form makes of what it found.
type Reader = fn(&str, &Captures<'_>, &TimeZone) -> Result<Value, Unread>;

/// A form, and its reader.
type Form = (Option<Regex>, Reader);

static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let form = |text: &str| Regex::new(&format!("(?i)^{text}")).ok();
    vec![
        (
            form(
                r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)\s?(Z|[+-]\d{2}:?\d{2})?(?:\[[A-Za-z/_+-]+\])?",
            ),
            instant,
        ),
        (form(r"(\d{4})-(\d{1,2})-(\d{1,2})\b"), year_first),
        (form(r"(\d{4})/(\d{1,2})/(\d{1,2})\b"), year_first),
        (form(r"(\d{4})\.(\d{1,2})\.(\d{1,2})\b"), year_first),
        (form(r"(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]?"), year_first),
        (form(r"\d{4}\s*年(?:\s*\d{1,2}\s*月)?"), part),
        (form(r"\d{1,2}\s*月\s*(?:\d{1,2}\s*[日号]?|份)"), part),
        (form(&format!(r"(\d{{1,2}})(?:st|nd|rd|th)?\s+{NAMES},?\s+(\d{{4}})\b")), day_first),
        (form(&format!(r"{NAMES}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b")), month_first),
        (form(&format!(r"\d{{1,2}}(?:st|nd|rd|th)?\s+{NAMES}\b")), part),
        (form(&format!(r"{NAMES}\s+\d{{1,4}}(?:st|nd|rd|th)?\b")), part),
        (form(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}|\d{2})\b"), either),
        (form(r"\d{4}-\d{2}\b"), part),
    ]
});

/// The date or instant with which a text begins, and its bytes.
pub(super) fn lead(text: &str, zone: &TimeZone) -> Option<Lead> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) && month_of(text).is_none() {
        return None;
    }
    FORMS.iter().find_map(|(form, read)| {
        let found = form.as_ref()?.captures(text)?;
        let whole = found.get(0)?;
        let next = text.get(whole.end()..).unwrap_or_default();
        // `10.2.2026.5` and `2026-03-01-17` are no dates.
        let goes_on = next
            .strip_prefix(['.', '-', '/'])
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        (!goes_on).then(|| (read(whole.as_str(), &found, zone), whole.end()))
    })
}

fn group<'t>(found: &'t Captures<'_>, at: usize) -> &'t str {
    found.get(at).map_or("", |part| part.as_str())
}

fn day(text: &str, year: &str, month: &str, day: &str) -> Result<Value, Unread> {
    let number = |text: &str| text.parse::<i8>().ok();
    let date = year.parse::<i16>().ok().zip(number(month)).zip(number(day));
    let date = date.and_then(|((year, month), day)| Date::new(year, month, day).ok());
    let date = date.ok_or_else(|| Unread::Calendar { text: shown(text) })?;
    Ok(Value::Date { date })
}

fn year_first(text: &str, found: &Captures<'_>, _zone: &TimeZone) -> Result<Value, Unread> {
    day(text, group(found, 1), group(found, 2), group(found, 3))
}

fn day_first(text: &str, found: &Captures<'_>, _zone: &TimeZone) -> Result<Value, Unread> {
    day(text, group(found, 3), &month(group(found, 2)), group(found, 1))
}

fn month_first(text: &str, found: &Captures<'_>, _zone: &TimeZone) -> Result<Value, Unread> {
    day(text, group(found, 3), &month(group(found, 1)), group(found, 2))
}

/// The month that a text begins with, by the first three letters of its name; the first one is 0.
fn month_of(text: &str) -> Option<usize> {
    let start = text.get(..3)?.to_ascii_lowercase();
    MONTHS.iter().position(|month| month.starts_with(&start))
}

/// The number of a month's name.
fn month(name: &str) -> String {
    month_of(name).map_or_else(String::new, |at| (at + 1).to_string())
}

fn part(text: &str, _found: &Captures<'_>, _zone: &TimeZone) -> Result<Value, Unread> {
    Err(Unread::Part { text: shown(text) })
}

/// `03/04/2026`: certain only where one of the two cannot be a month, or both are the same.
fn either(text: &str, found: &Captures<'_>, _zone: &TimeZone) -> Result<Value, Unread> {
    let (one, two, year) = (group(found, 1), group(found, 2), group(found, 3));
    if year.len() == 2 {
        return Err(Unread::Part { text: shown(text) });
    }
    let (day_first, month_first) = (day(text, year, two, one), day(text, year, one, two));
    match (day_first, month_first) {
        (Ok(first), Ok(second)) if first != second => Err(Unread::Ambiguous {
            text: shown(text),
            one: first.to_string(),
            two: second.to_string(),
        }),
        (Ok(date), _) | (Err(_), Ok(date)) => Ok(date),
        (Err(wrong), Err(_)) => Err(wrong),
    }
}

fn instant(text: &str, found: &Captures<'_>, zone: &TimeZone) -> Result<Value, Unread> {
    let wrong = || Unread::Calendar { text: shown(text) };
    let local = format!("{}T{}", group(found, 1), group(found, 2));
    if text.ends_with(']') {
        let spelled = format!("{local}{}", text.get(local.len()..).unwrap_or_default());
        let zoned: jiff::ZonedDateTime = spelled.parse().map_err(|_no| wrong())?;
        return Ok(Value::Instant { instant: zoned.timestamp() });
    }
    let instant = match group(found, 3) {
        "" => {
            let local: DateTime = local.parse().map_err(|_no| wrong())?;
            // A time that the clocks showed twice or never is none.
            zone.to_ambiguous_timestamp(local).unambiguous().map_err(|_no| wrong())?
        }
        offset => {
            format!("{local}{}", offset.to_ascii_uppercase()).parse().map_err(|_no| wrong())?
        }
    };
    Ok(Value::Instant { instant })
}

/// How a part of a day is written, in lower case and without spaces: its year, its month, both, its day and
/// month.
pub(in crate::evidence) fn parts(date: Date) -> Vec<String> {
    let (year, month, day) = (date.year(), date.month(), date.day());
    let mut all = vec![
        format!("{year}"),
        format!("{year}年"),
        format!("{year}年{month}月"),
        format!("{year}年{month:02}月"),
        format!("{year}-{month:02}"),
        format!("{month}月"),
        format!("{month}月份"),
        format!("{month}月{day}日"),
        format!("{month}月{day}号"),
        format!("{month:02}月{day:02}日"),
    ];
    let place = usize::try_from(month - 1).unwrap_or_default();
    let long = MONTHS.get(place).copied();
    for name in [long.and_then(|name| name.get(..3)), long].into_iter().flatten() {
        all.push(format!("{name}{year}"));
        for end in ["", "st", "nd", "rd", "th"] {
            all.extend([format!("{name}{day}{end}"), format!("{day}{end}{name}")]);
        }
    }
    all
}
