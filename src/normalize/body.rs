//! Reads an upstream's answer by its media type: an [`HttpAnswer`] in, a [`Content`] out. The
//! rules stand in `output.rs`. Judges no status.

use bytes::Bytes;
use serde_json::Value;
use switchboard_runner::http::next_link;

use super::charset::{Decoded, decode};
use super::files::{self, is_binary};
use super::output::{Content, Form, in_base64, is_mostly_broken, parse_compound, parse_last};
use super::stream::{read_events, read_lines};
use crate::sandbox::HttpAnswer;

/// Most broken lines that are noted.
const MAX_BROKEN: usize = 8;
/// What is said of an answer that has two.
pub(super) const DUPLICATE_KEY: &str = "of members of one name the last one counts";
/// Longest `Location` that is noted, in characters.
const MAX_PLACE: usize = 2048;

/// Reads the body; `cut` says that it ended before the upstream meant it to.
pub(super) fn read_answer(answer: &HttpAnswer, cut: bool) -> Content {
    let content_type = header(answer, "content-type").unwrap_or_default();
    let media = media_type(content_type);
    let mut content = read_body(&answer.body, &media, content_type, cut);
    content.media_type = (!media.is_empty()).then_some(media);
    content.next_link = header_values(answer, "link").find_map(next_link);
    if let (201 | 202, Some(place)) = (answer.status, header(answer, "location")) {
        content.note("location", place.chars().take(MAX_PLACE).collect::<String>());
    }
    content
}

/// The first value of a header.
pub(super) fn header<'a>(answer: &'a HttpAnswer, name: &str) -> Option<&'a str> {
    header_values(answer, name).next()
}

fn header_values<'a>(answer: &'a HttpAnswer, name: &str) -> impl Iterator<Item = &'a str> {
    answer
        .headers
        .iter()
        .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}

pub(super) fn media_type(content_type: &str) -> String {
    let media = content_type.split(';').next().unwrap_or_default();
    media.trim().to_ascii_lowercase()
}

/// The word of `Cache-Control` by which an upstream forbids that its answer is served again (RFC 9111,
/// section 5.2.2): ours is a shared cache, and asks no upstream whether what it has is still good.
pub(super) fn forbids_storing(answer: &HttpAnswer) -> Option<&'static str> {
    let words = header_values(answer, "cache-control").flat_map(|value| value.split(','));
    words.into_iter().find_map(|word| {
        let name = word.split('=').next().unwrap_or_default().trim();
        ["no-store", "private", "no-cache"].into_iter().find(|one| name.eq_ignore_ascii_case(one))
    })
}

fn charset_of(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']).trim();
        (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then_some(value)
    })
}

pub(super) fn is_json(media: &str) -> bool {
    matches!(media, "application/json" | "text/json") || media.ends_with("+json")
}

fn is_document(media: &str) -> bool {
    matches!(media, "text/html" | "text/xml" | "application/xml") || media.ends_with("+xml")
}

fn read_body(body: &Bytes, media: &str, content_type: &str, cut: bool) -> Content {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Content::new(Form::None, Value::Null);
    }
    if is_binary(media) {
        return files::body(body, media, cut);
    }
    let decoded = decode(body, charset_of(content_type), is_document(media));
    let mut content = read_decoded(&decoded, media, cut, body);
    if !matches!(content.form, Form::Bytes | Form::File) {
        content.charset = Some(decoded.charset.to_owned());
        if decoded.broken > 0 {
            let detail = format!(
                "{} characters are no {} and were replaced",
                decoded.broken, decoded.charset
            );
            content.note("invalid_text", detail);
        }
    }
    if decoded.unknown {
        let label: String = charset_of(content_type).unwrap_or_default().chars().take(40).collect();
        content.note("unknown_charset", format!("`{label}` is not known, UTF-8 was used"));
    }
    content
}

fn read_decoded(decoded: &Decoded, media: &str, cut: bool, body: &Bytes) -> Content {
    let Decoded { text, broken, .. } = decoded;
    let unreadable =
        text.contains('\0') || is_mostly_broken(text, *broken) || (decoded.unknown && *broken > 0);
    if unreadable {
        if !is_json(media) && !media.starts_with("text/") {
            return files::body(body, media, cut);
        }
        let mut content = in_base64(body);
        if is_json(media) {
            content.note("invalid_json", "the body is no text");
        } else {
            content.note(
                "invalid_text",
                format!("the body is no {} and not decoded", decoded.charset),
            );
        }
        return content;
    }
    let trimmed = text.trim();
    match media {
        "application/x-ndjson"
        | "application/ndjson"
        | "application/jsonl"
        | "application/jsonlines"
        | "application/x-jsonlines"
        | "application/json-seq"
        | "application/stream+json" => in_lines(trimmed, cut),
        "text/event-stream" => Content::new(Form::Events, Value::Array(read_events(text, cut))),
        media if is_json(media) => match parse_last(trimmed) {
            Ok((value, twice)) => {
                let mut content = Content::new(Form::Json, value);
                if twice {
                    content.note("duplicate_key", DUPLICATE_KEY);
                }
                content
            }
            Err(flaw) => {
                let mut content = Content::new(Form::Text, Value::String(text.clone()));
                content.note("invalid_json", flaw);
                content
            }
        },
        media if is_document(media) => Content::new(Form::Text, Value::String(text.clone())),
        _ => match parse_compound(trimmed) {
            Some(value) => Content::new(Form::Json, value),
            None => Content::new(Form::Text, Value::String(text.clone())),
        },
    }
}

fn in_lines(text: &str, cut: bool) -> Content {
    let (values, mut broken) = read_lines(text, false);
    let last = text.lines().count();
    // The last line of a stream that was cut is no fault of the upstream's.
    broken.retain(|(line, _)| !(cut && *line == last));
    let mut content = Content::new(Form::Lines, Value::Array(values));
    for (line, flaw) in broken.iter().take(MAX_BROKEN) {
        content.note("broken_line", format!("line {line}: {flaw}"));
    }
    if broken.len() > MAX_BROKEN {
        content.note("broken_line", format!("{} more lines", broken.len() - MAX_BROKEN));
    }
    content
}
