//! The pieces of a streamed body: bytes in, one JSON text for each event out, whether they came as
//! server-sent events, as lines of JSON or as one array. Joins bytes before it decodes them.

use super::raw::{parts, span};
use super::{Error, MAX_BYTES};

/// Most events of a stream.
const MAX_EVENTS: usize = 200_000;
/// What stands for the end of a stream of server-sent events.
const DONE: &str = "[DONE]";

/// The events of a stream.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// JSON texts, in their order.
    pub(super) events: Vec<String>,
    /// Whether the stream said that it is at its end.
    pub(super) done: bool,
}

/// Takes a stream apart.
pub(super) fn frames(bytes: &[u8]) -> Result<Frames, Error> {
    if bytes.len() > MAX_BYTES {
        return Err(Error::TooLarge(bytes.len()));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| match error.error_len() {
        None => Error::Cut("ends inside a character".to_owned()),
        Some(_) => Error::Malformed {
            place: String::new(),
            what: format!("is no UTF-8 from byte {} on", error.valid_up_to()),
        },
    })?;
    let text = text.trim_start_matches('\u{feff}');
    let frames = match text.trim_start().as_bytes().first() {
        None => Err(Error::Cut("is empty".to_owned())),
        Some(b'[') => array(text),
        Some(b'{') => Ok(lines(text)),
        Some(_) => Ok(events(text)),
    }?;
    if frames.events.len() > MAX_EVENTS {
        let what = format!("has more than {MAX_EVENTS} events");
        return Err(Error::Malformed { place: String::new(), what });
    }
    Ok(frames)
}

fn array(text: &str) -> Result<Frames, Error> {
    match span(text) {
        Ok(end) if text.get(end..).is_some_and(|rest| rest.trim().is_empty()) => {
            let events = parts(text).take(MAX_EVENTS + 1);
            let events = events.map(|(_, event)| event.to_owned()).collect();
            Ok(Frames { events, done: false })
        }
        Err(stop) if stop.cut => Err(Error::Cut("ends inside its array".to_owned())),
        _ => Err(Error::Malformed { place: String::new(), what: "is no JSON array".to_owned() }),
    }
}

fn lines(text: &str) -> Frames {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(MAX_EVENTS + 1);
    Frames { events: lines.map(str::to_owned).collect(), done: false }
}

/// Server-sent events: the `data` lines of each, joined. The last one needs no empty line after it.
fn events(text: &str) -> Frames {
    let mut found = Frames::default();
    let mut data: Option<String> = None;
    let mut rest = text;
    while !rest.is_empty() && found.events.len() <= MAX_EVENTS {
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let (line, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        rest = after.strip_prefix("\r\n").or_else(|| after.get(1..)).unwrap_or_default();
        if line.is_empty() {
            found.push(data.take());
        } else if let Some(piece) = line.strip_prefix("data:") {
            let piece = piece.strip_prefix(' ').unwrap_or(piece);
            match &mut data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(piece);
                }
                None => data = Some(piece.to_owned()),
            }
        }
    }
    found.push(data);
    found
}

impl Frames {
    fn push(&mut self, data: Option<String>) {
        match data {
            Some(data) if data.trim() == DONE => self.done = true,
            Some(data) if !data.trim().is_empty() => self.events.push(data),
            _ => {}
        }
    }
}
