//! Pages of a result: a call and the declared way from one page to the next in, every page with its own
//! head line out, and at last a line that says why there is no more. Stays at the origin it began at.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::answer::{Answer, line};
use super::location::{Next, Url};
use super::{Courier, Hop, RESERVE, Stop};

/// Time that a page must have before the end, beside what the last one took.
const LEAST: Duration = Duration::from_millis(100);
/// Longest link or cursor, in bytes.
const MAX_LINK: usize = 2048;

/// How to come from one page to the next, and when to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// Where the next page is told.
    pub next: Follow,
    /// JSON Pointer of the array of items in each page; empty for a page that is an array.
    pub items: String,
    /// Pages at most.
    pub max_pages: u32,
    /// Items at most: no further page is fetched once there are so many.
    pub max_items: u64,
}

/// Where the next page is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Follow {
    /// In the `Link` header, with `rel="next"`.
    Link,
    /// A URL at this JSON Pointer of the body.
    Url(String),
    /// A cursor at a JSON Pointer of the body, to be sent as a parameter of the query.
    Cursor {
        /// Where it stands.
        pointer: String,
        /// The parameter's name.
        query: String,
    },
    /// A number in the query, one higher for each page until one has no items.
    Number {
        /// The parameter's name.
        query: String,
        /// The number of the first page, where the call names none.
        first: u64,
    },
}

/// The last line.
#[derive(Serialize)]
struct Last {
    /// Why there is no further page.
    end: &'static str,
    /// The page that was not fetched, where one is known.
    next: Option<String>,
    /// The status of an answer that has no page.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// Whole seconds after which that answer says to try again.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
}

/// What a page says of the next one.
enum Told {
    Nothing,
    Page(Url),
    Elsewhere(String),
    Malformed(String),
}

fn ended(end: &'static str, next: Option<String>) -> Last {
    Last { end, next, status: None, retry_after: None }
}

/// Fetches pages until there is no more or a bound is met. The first page's fault is the call's; that
/// of a later one ends the walk with what came before it.
pub(super) fn walk(
    courier: &mut Courier<'_>,
    hop: Hop,
    pages: &Pages,
    (most, out): (u64, &mut dyn Write),
) -> Result<(), Stop> {
    let mut left = most.saturating_sub(RESERVE);
    let origin = hop.url.clone();
    let mut walk = Walk { pages, origin, hop, seen: Vec::new(), items: 0, number: None };
    let mut made = 0;
    let last = loop {
        let began = Instant::now();
        walk.seen.push(walk.hop.url.to_string());
        let mut answer = match courier.fetch(&mut walk.hop) {
            Ok(answer) => answer,
            Err(stop) if made == 0 => return Err(stop),
            Err(_) => break ended("failed", walk.here()),
        };
        let mut body = Vec::new();
        let mut collected = answer.collect(left, &mut body);
        let (line, size) = head_line(&answer, body.len())?;
        if collected.is_ok() && size > left {
            collected = Err(Stop::Cut("the first page is longer than the output limit".to_owned()));
        }
        match collected {
            Ok(()) if made > 0 && !(200..300).contains(&answer.status) => {
                break Last {
                    status: Some(answer.status),
                    retry_after: answer.retry_after().map(|wait| wait.as_secs()),
                    ..ended("failed", walk.here())
                };
            }
            Ok(()) => {}
            Err(stop) if made == 0 => return part(out, (&answer, body, left), stop),
            Err(Stop::Cut(_)) => break ended("bytes", walk.here()),
            Err(_) => break ended("failed", walk.here()),
        }
        left = left.saturating_sub(size);
        write(out, &[&line, &body])?;
        made += 1;
        match walk.turn(&answer, unmarked(&body)) {
            Some(last) => break last,
            None if made >= pages.max_pages => break ended("pages", walk.here()),
            None if walk.items >= pages.max_items => break ended("items", walk.here()),
            None if !courier.patience.has(began.elapsed() + LEAST) => {
                break ended("time", walk.here());
            }
            None => {}
        }
    };
    write(out, &[&line(&last)?])
}

/// Writes what came of a first page that has no end, as much as fits, and says why it has none.
fn part(
    out: &mut dyn Write,
    (answer, mut body, left): (&Answer, Vec<u8>, u64),
    stop: Stop,
) -> Result<(), Stop> {
    let (line, size) = head_line(answer, body.len())?;
    let over = usize::try_from(size.saturating_sub(left)).unwrap_or(usize::MAX);
    body.truncate(body.len().saturating_sub(over));
    // A smaller number has no more digits.
    let (line, _) = if over > 0 { head_line(answer, body.len())? } else { (line, size) };
    write(out, &[&line, &body])?;
    Err(stop)
}

/// The line, and the bytes of the page with it.
fn head_line(answer: &Answer, bytes: usize) -> Result<(Vec<u8>, u64), Stop> {
    let line = answer.head_line(Some(bytes))?;
    let size = u64::try_from(line.len().saturating_add(bytes)).unwrap_or(u64::MAX);
    Ok((line, size))
}

fn write(out: &mut dyn Write, pieces: &[&[u8]]) -> Result<(), Stop> {
    let written = pieces.iter().try_for_each(|piece| out.write_all(piece));
    let flushed = written.and_then(|()| out.flush());
    flushed.map_err(|error| Stop::Failed(format!("the answer cannot be passed on: {error}")))
}

struct Walk<'a> {
    pages: &'a Pages,
    /// Where the call began.
    origin: Url,
    hop: Hop,
    seen: Vec<String>,
    items: u64,
    number: Option<u64>,
}

impl Walk<'_> {
    /// Where the walk is about to go.
    fn here(&self) -> Option<String> {
        Some(self.hop.url.to_string())
    }

    /// Sets out for the next page; or says why not.
    fn turn(&mut self, answer: &Answer, body: &[u8]) -> Option<Last> {
        if !(200..300).contains(&answer.status) {
            return Some(ended("last", None));
        }
        let raw = serde_json::from_slice::<&RawValue>(body).ok();
        let Some((raw, found)) = raw.and_then(|raw| Some((raw, self.count(raw)?))) else {
            return Some(ended("no_items", None));
        };
        self.items = self.items.saturating_add(found);
        let url = match self.next(answer, raw, found) {
            Told::Nothing => return Some(ended("last", None)),
            Told::Elsewhere(link) => return Some(ended("elsewhere", Some(link))),
            Told::Malformed(link) => return Some(ended("malformed", Some(link))),
            // A redirect may have led away from where the call began.
            Told::Page(url) if !self.origin.is_same_origin(&url) => {
                return Some(ended("elsewhere", Some(url.to_string())));
            }
            Told::Page(url) => url,
        };
        if self.seen.contains(&url.to_string()) {
            return Some(ended("loop", Some(url.to_string())));
        }
        self.hop.url = url;
        None
    }

    /// How many items a page has.
    fn count(&self, page: &RawValue) -> Option<u64> {
        let items: Vec<&RawValue> =
            serde_json::from_str(at(page, &self.pages.items)?.get()).ok()?;
        u64::try_from(items.len()).ok()
    }

    fn next(&mut self, answer: &Answer, page: &RawValue, found: u64) -> Told {
        let told = |pointer: &str| {
            let spelled = at(page, pointer)?.get();
            match serde_json::from_str(spelled).ok()? {
                Value::String(text) if !text.is_empty() => Some(text),
                // A cursor can be a number; it is sent as it is spelled.
                Value::Number(_) => Some(spelled.to_owned()),
                _ => None,
            }
        };
        match &self.pages.next {
            Follow::Link => match answer.values("link").find_map(next_link) {
                Some(link) => self.join(&link),
                None => Told::Nothing,
            },
            Follow::Url(pointer) => told(pointer).map_or(Told::Nothing, |link| self.join(&link)),
            Follow::Cursor { pointer, query } => match told(pointer) {
                Some(cursor) if cursor.len() > MAX_LINK => Told::Malformed(String::new()),
                Some(cursor) => Told::Page(self.hop.url.with_query(query, &cursor)),
                None => Told::Nothing,
            },
            Follow::Number { .. } if found == 0 => Told::Nothing,
            Follow::Number { query, first } => {
                let asked = || self.hop.url.query(query).and_then(|number| number.parse().ok());
                let number: u64 = self.number.or_else(asked).unwrap_or(*first);
                self.number = number.checked_add(1);
                let next = self.number.map(|number| number.to_string());
                next.map_or(Told::Nothing, |next| Told::Page(self.hop.url.with_query(query, &next)))
            }
        }
    }

    fn join(&self, link: &str) -> Told {
        let shown = || link.chars().take(MAX_LINK).collect::<String>();
        match self.hop.url.join(link) {
            _ if link.len() > MAX_LINK => Told::Malformed(shown()),
            Next::Url(url) => Told::Page(url),
            Next::Foreign => Told::Elsewhere(shown()),
            Next::Malformed => Told::Malformed(shown()),
        }
    }
}

/// A body without its byte order mark.
fn unmarked(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

/// The value at a JSON Pointer, unread. Reads a level at a time.
fn at<'v>(value: &'v RawValue, pointer: &str) -> Option<&'v RawValue> {
    let mut here = value;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let text = here.get();
        here = if text.trim_start().starts_with('[') {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            items.get(token.parse::<usize>().ok()?).copied()?
        } else {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
            members.get(&token).copied()?
        };
    }
    Some(here)
}

/// The target with `rel="next"` in a `Link` header.
pub fn next_link(header: &str) -> Option<String> {
    header.split('<').skip(1).find_map(|part| {
        let (target, parameters) = part.split_once('>')?;
        let mut parameters =
            parameters.split([';', ',']).filter_map(|parameter| parameter.split_once('=')).map(
                |(name, value)| (name.trim().to_ascii_lowercase(), value.trim().trim_matches('"')),
            );
        // A link with an anchor leads on from there, not from this page (RFC 8288, section 3.2).
        let is_elsewhere = parameters.clone().any(|(name, _)| name == "anchor");
        let is_next = parameters.any(|(name, value)| {
            let mut relations = value.split_ascii_whitespace();
            name == "rel" && relations.any(|one| one.eq_ignore_ascii_case("next"))
        });
        (is_next && !is_elsewhere && target.len() <= MAX_LINK).then(|| target.trim().to_owned())
    })
}
