//! Units in JSON lines, as an import takes them or in a lean form for conversations, in; drafts out.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Error;
use super::questions::{lines, wrong};
use crate::memory::{Draft, Kind, Origin};

/// Collection and source of what names none.
pub(super) const NAME: &str = "eval";
/// Group of turns that name none.
const GROUP: &str = "conversation";

/// A unit with its text and little else.
#[derive(Debug, Deserialize)]
struct Lean {
    id: Value,
    text: String,
    #[serde(default)]
    speaker: String,
    #[serde(default)]
    time: String,
    group: Option<String>,
    position: Option<i64>,
}

/// Reads the units of a file.
pub(super) fn read(path: &Path) -> Result<Vec<Draft>, Error> {
    let mut drafts = Vec::new();
    for (line, text) in lines(path)? {
        let told = |error: serde_json::Error| wrong(path, line, format!("it is no unit: {error}"));
        let members: Map<String, Value> = serde_json::from_str(&text).map_err(told)?;
        drafts.push(match members.contains_key("collection") {
            true => serde_json::from_str(&text).map_err(told)?,
            false => {
                let lean: Lean = serde_json::from_str(&text).map_err(told)?;
                let place = i64::try_from(line).unwrap_or(i64::MAX);
                draft(lean, place).map_err(|reason| wrong(path, line, reason))?
            }
        });
    }
    if drafts.is_empty() {
        return Err(wrong(path, 1, "the file has no units"));
    }
    Ok(drafts)
}

fn draft(lean: Lean, place: i64) -> Result<Draft, String> {
    let source_id = match lean.id {
        Value::String(id) => id,
        Value::Number(id) => id.to_string(),
        other => return Err(format!("`id` is `{other}`: write a text or a number")),
    };
    let group = lean.group.unwrap_or_else(|| match lean.speaker.is_empty() {
        true => String::new(),
        false => GROUP.to_owned(),
    });
    let position = lean.position.or_else(|| (!group.is_empty()).then_some(place));
    let (source_time, key) = match time(&lean.time) {
        Some(time) => (Some(time), String::new()),
        // A time in words that nothing reads is still worth finding.
        None => (None, lean.time),
    };
    let mut draft = Draft::new(NAME, NAME, &source_id, Kind::Case);
    draft.origin = Some(Origin::Person);
    draft.source_time = source_time;
    draft.key = key;
    draft.text = lean.text;
    draft.speaker = lean.speaker;
    draft.group = group;
    draft.position = position;
    Ok(draft)
}

/// Forms in which conversations write their times.
const FORMS: [&str; 6] = [
    "%I:%M %p on %d %B, %Y",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y/%m/%d %H:%M",
    "%B %d, %Y %I:%M %p",
    "%d %B %Y %H:%M",
];

/// A time as an instant, those without a zone in UTC.
fn time(text: &str) -> Option<String> {
    let text = text.trim();
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        return Some(instant.to_string());
    }
    if let Ok(date) = text.parse::<jiff::civil::Date>() {
        return Some(format!("{date}T00:00:00Z"));
    }
    if let Ok(civil) = text.parse::<jiff::civil::DateTime>() {
        return Some(format!("{civil}Z"));
    }
    // Whoever writes `1:56 pm` writes no leading zero, and may write it in any case.
    FORMS.iter().find_map(|form| {
        let civil = jiff::civil::DateTime::strptime(form, text).ok()?;
        Some(format!("{civil}Z"))
    })
}
