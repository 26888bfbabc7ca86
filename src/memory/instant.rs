//! Reads the times of units and questions: a text and the time zone of its collection in, an instant
//! out. The time zone of the process plays no part. It guesses nothing: what can be read in two ways
//! is refused, and both are named.

use jiff::civil::DateTime;
use jiff::fmt::temporal::{Pieces, PiecesOffset};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{Timestamp, ToSpan};

/// Longest text of a time that an error repeats, in characters.
const SHOWN: usize = 64;
/// Length of `2026-03-01`.
const DATE: usize = 10;
/// Seconds of a day.
const DAY: u32 = 86_400;
/// Why second 60 is refused.
const LEAP: &str = "second 60 is there only where UTC ends a month";

/// Which end of an interval a text stands for. It matters for a date alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The start, and every single instant such as `as_of` and `known_at`: a date is the start of its
    /// day.
    From,
    /// The end, which is no part of the interval: a date is the start of the next day, so that the
    /// day itself belongs to it.
    To,
}

/// Why a text is no time.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Unread {
    /// A count of seconds or milliseconds, or digits without hyphens.
    #[error("`{text}` is a number and could count anything: write it as a time, such as `{mend}`")]
    Number {
        /// What was given.
        text: String,
        /// What it may mean.
        mend: String,
    },
    /// Nothing that RFC 3339 or RFC 9557 has.
    #[error(
        "`{text}` is no time ({reason}): write a date such as `2026-03-01`, or a time such as `2026-03-01T09:00:00+08:00`, with a zone in brackets if there is one, as in `2026-03-01T09:00:00[Asia/Shanghai]`"
    )]
    Form {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A time zone that is not in the IANA database.
    #[error(
        "there is no time zone `{zone}`: name one of the IANA database, such as `Asia/Shanghai`"
    )]
    Zone {
        /// The name.
        zone: String,
    },
    /// The clocks were put forward over this time.
    #[error(
        "the clocks of `{zone}` were put forward over `{text}`: give an offset, `{before}` or `{after}`"
    )]
    Gap {
        /// What was given.
        text: String,
        /// Its time zone.
        zone: String,
        /// As read with the offset before the change.
        before: String,
        /// As read with the offset after it.
        after: String,
    },
    /// The clocks were put back, and showed this time twice.
    #[error(
        "the clocks of `{zone}` showed `{text}` twice: give an offset, `{before}` or `{after}`"
    )]
    Fold {
        /// What was given.
        text: String,
        /// Its time zone.
        zone: String,
        /// The first time.
        before: String,
        /// The second time.
        after: String,
    },
    /// The offset and the zone in brackets tell two different instants.
    #[error("`{text}` has an offset that `{zone}` did not have then: drop one of the two")]
    Offset {
        /// What was given.
        text: String,
        /// The zone in brackets.
        zone: String,
    },
    /// No instant between the years -9999 and 9999.
    #[error("`{text}` lies outside of the years that can be told")]
    Range {
        /// What was given.
        text: String,
    },
    /// An interval without any instant in it.
    #[error(
        "the interval ends at `{to}`, which is not after its start at `{from}`: the end is no part of an interval, and may be left out where there is none"
    )]
    Order {
        /// The start.
        from: Timestamp,
        /// The end.
        to: Timestamp,
    },
}

/// The instants from `from` on and before `to`; where one is missing, without a bound there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Interval {
    from: Option<Timestamp>,
    to: Option<Timestamp>,
}

impl Interval {
    /// Of two instants.
    ///
    /// # Errors
    /// [`Unread::Order`] when it ends before or where it starts.
    pub fn new(from: Option<Timestamp>, to: Option<Timestamp>) -> Result<Self, Unread> {
        match (from, to) {
            (Some(from), Some(to)) if to <= from => Err(Unread::Order { from, to }),
            _ => Ok(Self { from, to }),
        }
    }

    /// Reads both ends.
    ///
    /// # Errors
    /// What is wrong with an end, or [`Unread::Order`].
    pub fn read(from: Option<&str>, to: Option<&str>, zone: &TimeZone) -> Result<Self, Unread> {
        let from = from.map(|text| read(text, Side::From, zone)).transpose()?;
        let to = to.map(|text| read(text, Side::To, zone)).transpose()?;
        Self::new(from, to)
    }

    /// The first instant.
    pub const fn from(&self) -> Option<Timestamp> {
        self.from
    }

    /// The first instant that is not in it any more.
    pub const fn to(&self) -> Option<Timestamp> {
        self.to
    }

    /// Whether an instant lies in it.
    pub fn has(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at < to)
    }

    /// Whether some instant lies in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        overlap((self.from, self.to), (other.from, other.to))
    }
}

/// Whether some instant lies in both half-open intervals; `None` is open.
pub(super) fn overlap(one: Ends, two: Ends) -> bool {
    let before = |from: Option<Timestamp>, to: Option<Timestamp>| {
        from.is_none() || to.is_none() || from < to
    };
    before(one.0, two.1) && before(two.0, one.1)
}

/// From, inclusive, and to, exclusive.
type Ends = (Option<Timestamp>, Option<Timestamp>);

/// The time zone of this name, from the IANA database; names such as `Local` are none.
///
/// # Errors
/// [`Unread::Zone`].
pub fn zone(name: &str) -> Result<TimeZone, Unread> {
    TimeZone::get(name).map_err(|_none| Unread::Zone { zone: shown(name) })
}

/// Reads one time.
///
/// - `2026-03-01T09:00:00Z`, `2026-03-01 17:00+08:00`: RFC 3339; seconds may be left out.
/// - `2026-03-01T09:00:00` has no offset: it is a time in `zone`.
/// - `2026-03-01T09:00:00[America/New_York]`: RFC 9557; the zone in brackets counts.
/// - `2026-03-01` is the start of that day in `zone`; at the end of an interval, of the next day.
/// - `2026-03-01T24:00` is the next midnight; second 60 is read as 59, where UTC ends a month.
/// - Numbers, days that are not in the calendar, and local times that a change of the clocks made
///   double or left out are refused.
///
/// # Errors
/// What is wrong with the text, and how to mend it.
pub fn read(text: &str, side: Side, zone: &TimeZone) -> Result<Timestamp, Unread> {
    let text = text.trim();
    if text.parse::<f64>().is_ok() {
        return Err(Unread::Number { text: shown(text), mend: mended(text) });
    }
    let (written, midnight) = without_24(text)?;
    let pieces = Pieces::parse(written.as_bytes())
        .map_err(|wrong| Unread::Form { text: shown(text), reason: wrong.to_string() })?;
    let own = annotated(text, &pieces)?;
    let zone = own.as_ref().unwrap_or(zone);
    let range = |_wrong| Unread::Range { text: shown(text) };
    let date = pieces.date();
    let Some(time) = pieces.time() else {
        let days = if side == Side::To { 1 } else { 0 };
        let date = date.checked_add(days.days()).map_err(range)?;
        let start = zone.to_ambiguous_timestamp(date.at(0, 0, 0, 0));
        // Where midnight is skipped, the day starts behind the gap.
        return start.compatible().map_err(range);
    };
    let form = |reason: &str| Unread::Form { text: shown(text), reason: reason.to_owned() };
    let days = i64::from(midnight);
    let local = date.to_datetime(time).checked_add(days.days()).map_err(range)?;
    let Some(offset) = pieces.offset() else {
        let instant = in_zone(text, local, zone)?;
        return if is_leap(text) && !ends_month(instant) { Err(form(LEAP)) } else { Ok(instant) };
    };
    if offset_of(offset).seconds().unsigned_abs() >= DAY {
        return Err(form("no offset is a day or more"));
    }
    let instant = offset_of(offset).to_timestamp(local).map_err(range)?;
    if is_leap(text) && !ends_month(instant) {
        return Err(form(LEAP));
    }
    let agrees = matches!(offset, PiecesOffset::Zulu)
        || own.as_ref().is_none_or(|own| own.to_offset(instant) == offset_of(offset));
    if agrees { Ok(instant) } else { Err(Unread::Offset { text: shown(text), zone: name(zone) }) }
}

/// Whether the seconds are 60.
fn is_leap(text: &str) -> bool {
    text.get(16..19) == Some(":60")
}

/// Whether an instant lies in the last second of a month of UTC: only there a second was ever put in.
fn ends_month(instant: Timestamp) -> bool {
    let next = instant.saturating_add(jiff::SignedDuration::from_secs(1));
    next.is_ok_and(|next| {
        let next = Offset::UTC.to_datetime(next);
        (next.day(), next.hour(), next.minute(), next.second()) == (1, 0, 0, 0)
    })
}

/// An instant as it is shown: RFC 3339 with `Z`.
pub fn show(instant: Timestamp) -> String {
    instant.to_string()
}

fn offset_of(offset: PiecesOffset) -> Offset {
    offset.to_numeric_offset()
}

/// A local time in a zone that has it once.
fn in_zone(text: &str, local: DateTime, zone: &TimeZone) -> Result<Timestamp, Unread> {
    let at = |offset: Offset| {
        let instant = offset.to_timestamp(local).ok();
        instant.map_or_else(String::new, |at| at.display_with_offset(offset).to_string())
    };
    let (text, name) = (shown(text), name(zone));
    match zone.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => {
            offset.to_timestamp(local).map_err(|_wide| Unread::Range { text })
        }
        AmbiguousOffset::Gap { before, after } => {
            Err(Unread::Gap { text, zone: name, before: at(before), after: at(after) })
        }
        AmbiguousOffset::Fold { before, after } => {
            Err(Unread::Fold { text, zone: name, before: at(before), after: at(after) })
        }
    }
}

/// The zone in brackets.
fn annotated(text: &str, pieces: &Pieces<'_>) -> Result<Option<TimeZone>, Unread> {
    pieces.to_time_zone().map_err(|_none| {
        let zone = text.split_once('[').map_or(text, |(_, rest)| rest);
        Unread::Zone { zone: shown(zone.trim_start_matches('!').trim_end_matches(']')) }
    })
}

/// The text with hour 24 as hour 0, and whether it was there. Other spellings of a date than
/// `2026-03-01` are refused: they can be meant in two ways.
fn without_24(text: &str) -> Result<(String, bool), Unread> {
    let form = |reason: &str| Unread::Form { text: shown(text), reason: reason.to_owned() };
    let (date, rest) = text.split_at_checked(DATE).ok_or_else(|| form("it is too short"))?;
    let is_date = date.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    if !is_date {
        return Err(form("it does not begin with a date such as `2026-03-01`"));
    }
    let Some(rest) = rest.strip_prefix(['T', 't', ' ']).filter(|rest| rest.starts_with("24"))
    else {
        return Ok((text.to_owned(), false));
    };
    let end = rest.find(['Z', 'z', '+', '-', '[', ' ']).unwrap_or(rest.len());
    let (time, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let zeros = time.get(2..).unwrap_or_default();
    if zeros.bytes().any(|byte| !matches!(byte, b'0' | b':' | b'.')) {
        return Err(form("hour 24 is the end of a day, nothing comes after it"));
    }
    Ok((format!("{date}T00{zeros}{behind}"), true))
}

/// What a number may have been meant to be.
fn mended(text: &str) -> String {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let number = text.parse::<i64>().ok();
    let instant = match (text.len(), number) {
        (8, _) if digits => return format!("{}-{}-{}", part(0, 4), part(4, 6), part(6, 8)),
        (4, _) if digits => return format!("{text}-01-01"),
        (9..=11, Some(seconds)) => Timestamp::from_second(seconds).ok(),
        (12..=14, Some(milliseconds)) => Timestamp::from_millisecond(milliseconds).ok(),
        (15..=17, Some(microseconds)) => Timestamp::from_microsecond(microseconds).ok(),
        _ => None,
    };
    instant.map_or_else(|| "2026-03-01T09:00:00Z".to_owned(), show)
}

fn name(zone: &TimeZone) -> String {
    zone.iana_name().unwrap_or("its offset").to_owned()
}

fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect()
}
