//! Labelled questions in JSON lines in, and what was found for each out, in the same form.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Error;
use crate::memory::{Compare, Filter, Question, Recalled, Spot};

/// Bytes of one line, at most.
const LINE: usize = 64 << 20;

/// A question and what its answer should have.
#[derive(Debug, Clone)]
pub(super) struct Labelled {
    pub(super) id: String,
    /// As it was labelled; `-` without.
    pub(super) language: String,
    pub(super) kind: String,
    pub(super) question: Question,
    pub(super) relevant: Vec<String>,
    pub(super) never: Vec<String>,
}

/// As it stands in the file. What else a line has is for people.
#[derive(Debug, Deserialize)]
struct Written {
    id: Value,
    text: String,
    language: Option<String>,
    kind: Option<String>,
    as_of: Option<String>,
    known_at: Option<String>,
    #[serde(default)]
    filters: Vec<WrittenFilter>,
    near: Option<Near>,
    #[serde(default)]
    relevant: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct WrittenFilter {
    field: String,
    #[serde(default = "any")]
    compare: String,
    values: Vec<Value>,
}

fn any() -> String {
    "any".to_owned()
}

#[derive(Debug, Deserialize)]
struct Near {
    latitude: f64,
    longitude: f64,
    #[serde(default)]
    types: Vec<String>,
    metres: Option<f64>,
}

/// Every line of a file that is not blank, with its number.
pub(super) fn lines(path: &Path) -> Result<Vec<(usize, String)>, Error> {
    let failed = |cause| Error::File { path: path.to_owned(), cause };
    let mut lines = Vec::new();
    for (at, line) in BufReader::new(File::open(path).map_err(failed)?).lines().enumerate() {
        let line = line.map_err(failed)?;
        if line.len() > LINE {
            return Err(wrong(path, at + 1, format!("it has over {LINE} bytes")));
        }
        if !line.trim().is_empty() {
            lines.push((at + 1, line));
        }
    }
    Ok(lines)
}

pub(super) fn wrong(path: &Path, line: usize, reason: impl Into<String>) -> Error {
    Error::Line { path: path.to_owned(), line, reason: reason.into() }
}

/// Reads the questions of a file.
pub(super) fn read(path: &Path) -> Result<Vec<Labelled>, Error> {
    let mut all = Vec::new();
    for (line, text) in lines(path)? {
        let written: Written = serde_json::from_str(&text)
            .map_err(|error| wrong(path, line, format!("it is no question: {error}")))?;
        all.push(labelled(written).map_err(|reason| wrong(path, line, reason))?);
    }
    if all.is_empty() {
        return Err(wrong(path, 1, "the file has no questions"));
    }
    Ok(all)
}

fn labelled(written: Written) -> Result<Labelled, String> {
    let filters: Result<Vec<Filter>, String> = written.filters.into_iter().map(filter).collect();
    let mut question = Question {
        text: written.text,
        as_of: written.as_of.as_deref().map(time).transpose()?,
        known_at: written.known_at.as_deref().map(time).transpose()?,
        filters: filters?,
        ..Question::default()
    };
    if let Some(Near { latitude, longitude, types, metres }) = written.near {
        question.nearest = Some((latitude, longitude, types.clone()));
        let spot = |metres| Spot::Within { latitude, longitude, metres, kinds: types };
        question.spot = metres.map(spot);
    }
    let id = match written.id {
        Value::String(id) => id,
        other => other.to_string(),
    };
    Ok(Labelled {
        id,
        language: written.language.unwrap_or_else(|| "-".to_owned()),
        kind: written.kind.unwrap_or_else(|| "-".to_owned()),
        question,
        relevant: written.relevant,
        never: written.never,
    })
}

fn filter(written: WrittenFilter) -> Result<Filter, String> {
    let compare = match written.compare.as_str() {
        "any" => Compare::Any,
        "none" => Compare::None,
        "less" => Compare::Less,
        "most" => Compare::Most,
        "more" => Compare::More,
        "least" => Compare::Least,
        other => {
            return Err(format!(
                "`compare` is `{other}`: one of `any`, `none`, `less`, `most`, `more`, `least`"
            ));
        }
    };
    Ok(Filter { field: written.field, compare, values: written.values })
}

/// An instant, or a date, which stands for its beginning in UTC.
fn time(text: &str) -> Result<Timestamp, String> {
    let date = || -> Option<Timestamp> {
        let date: jiff::civil::Date = text.parse().ok()?;
        jiff::tz::TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()
    };
    text.parse().ok().or_else(date).ok_or_else(|| {
        format!("`{text}` is no time: write it as 2026-03-01T09:00:00+08:00 or 2026-03-01")
    })
}

/// Writes what was found for each question.
pub(super) fn write(path: &Path, answers: &[(String, Recalled)]) -> Result<(), Error> {
    let failed = |cause| Error::File { path: path.to_owned(), cause };
    let mut out = BufWriter::new(File::create(path).map_err(failed)?);
    for (id, answer) in answers {
        let ranking: Vec<Value> = answer
            .hits
            .iter()
            .map(|hit| json!({"id": hit.version.draft.source_id, "score": hit.score}))
            .collect();
        writeln!(out, "{}", json!({"id": id, "ranking": ranking})).map_err(failed)?;
    }
    out.flush().map_err(failed)
}
