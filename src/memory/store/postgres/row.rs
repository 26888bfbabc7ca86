//! Rows and what they stand for: instants as microseconds, names of states, text that the server can
//! keep, and a version out of its columns.

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::Row;

use super::Error;
pub(super) use crate::memory::store::mark::{kept, micros};
use crate::memory::unit::{Ended, Place, Version};

/// An instant out of its microseconds.
pub(super) fn moment(micros: i64) -> Result<Timestamp, Error> {
    Timestamp::from_microsecond(micros).map_err(|error| Error::Damaged {
        place: "postgresql".to_owned(),
        reason: format!("{micros} is no instant: {error}"),
    })
}

/// Stands for "never" among instants.
pub(super) const FOREVER: i64 = i64::MAX;
/// Stands for "since ever".
pub(super) const EVER: i64 = i64::MIN;

/// What a version is read of: its row `v`, its marks of use, its place.
pub(super) const VERSION: &str = "SELECT v.seq, v.state, v.ending, v.remarks, v.conflicts, v.body, \
     u.used, u.uses, p.latitude, p.longitude, u.said FROM versions v \
     JOIN realms r ON r.id = v.realm LEFT JOIN uses u ON u.seq = v.seq \
     LEFT JOIN places p ON p.seq = v.seq WHERE ";

/// The server's text can hold every character but one: that one, and what marks it, are written as two.
const MARK: char = '\u{10ffff}';

/// A text as the server keeps it.
pub(super) fn keep(text: &str) -> String {
    if !text.contains(['\0', MARK]) {
        return text.to_owned();
    }
    text.replace(MARK, "\u{10ffff}1").replace('\0', "\u{10ffff}0")
}

/// A text as it was.
pub(super) fn give(text: String) -> String {
    if !text.contains(MARK) {
        return text;
    }
    text.replace("\u{10ffff}0", "\0").replace("\u{10ffff}1", "\u{10ffff}")
}

/// The name of a state, kind, stage or origin.
pub(super) fn name(value: &impl Serialize) -> Result<String, Error> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => Ok(name),
        _ => Err(Error::Engine("a value has no name".to_owned())),
    }
}

/// A value by its name.
pub(super) fn named<T: DeserializeOwned>(name: &str) -> Result<T, Error> {
    serde_json::from_value(name.into()).map_err(|error| damaged(&error))
}

/// A value as JSON text. Its escapes let the server keep every character.
pub(super) fn json(value: &impl Serialize) -> Result<String, Error> {
    let text = serde_json::to_string(value);
    text.map_err(|error| Error::Engine(format!("cannot be written as JSON: {error}")))
}

/// A value out of JSON text.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| damaged(&error))
}

fn damaged(error: &serde_json::Error) -> Error {
    Error::Damaged {
        place: "postgresql".to_owned(),
        reason: format!("a row is not as it was written: {error}"),
    }
}

/// A version out of a row of [`VERSION`].
pub(super) fn version(row: &Row) -> Result<Version, Error> {
    let mut version: Version = parse(row.try_get(5)?)?;
    version.seq = row.try_get(0)?;
    version.state = named(row.try_get(1)?)?;
    version.ended = row.try_get::<_, Option<&str>>(2)?.map(parse::<Ended>).transpose()?;
    version.remarks = parse(row.try_get(3)?)?;
    version.conflicts = parse(row.try_get(4)?)?;
    version.used = row.try_get::<_, Option<i64>>(6)?.map(moment).transpose()?;
    version.uses = row.try_get::<_, Option<i64>>(7)?.map_or(0, |uses| uses.cast_unsigned());
    if let Some(said) = row.try_get::<_, Option<i64>>(10)? {
        // Said again since, where that was later.
        version.source_time = version.source_time.max(moment(said)?);
    }
    // The columns hold coordinates to the last bit.
    let point = (row.try_get::<_, Option<f64>>(8)?, row.try_get::<_, Option<f64>>(9)?);
    if let (Some(place), (Some(latitude), Some(longitude))) = (&mut version.draft.place, point) {
        let kind = std::mem::take(&mut place.kind);
        *place = Place { latitude, longitude, kind };
    }
    Ok(version)
}

/// An instant out of its text.
pub(super) fn instant(text: &str) -> Result<Timestamp, Error> {
    text.parse().map_err(|error: jiff::Error| Error::Damaged {
        place: "postgresql".to_owned(),
        reason: format!("`{text}` is no instant: {error}"),
    })
}
