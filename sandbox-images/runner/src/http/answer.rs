//! The answer that comes back through the gate. A connection in; the head line and the plain
//! body out, each piece as it comes, up to a limit. It judges neither status nor content.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::Range;
use std::time::Duration;

use serde::Serialize;

use super::Stop;
use super::coding::Coding;
use super::retry::retry_after;
use crate::chunked::{Decoder, Piece};

/// Marks the gate's own answers.
const MARK: &str = "x-switchboard-egress";
/// Longest head, in bytes.
const MAX_HEAD: usize = 80 * 1024;
const MOST_HEADERS: usize = 160;
/// Bytes read at once.
const READ: usize = 32 * 1024;
/// Longest explanation that is taken from the gate.
const MAX_LINE: u64 = 4096;

/// An answer whose head has arrived.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    body: Body,
}

#[derive(Debug)]
struct Body {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are used up.
    used: usize,
    /// Those of them that are body and were not taken yet.
    ready: Range<usize>,
    /// What is wrong behind them.
    fault: Option<Stop>,
    framing: Framing,
}

#[derive(Debug)]
enum Framing {
    Left(u64),
    Chunked(Decoder),
    Close,
}

/// What follows of the body in the buffer.
enum Step {
    Data(Range<usize>),
    /// Nothing without waiting.
    More,
    End,
}

#[derive(Serialize)]
struct Head<'a> {
    status: u16,
    headers: &'a [(String, String)],
    /// Bytes of the body, where another page can follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
}

/// JSON on a line of its own.
pub(super) fn line(value: &impl Serialize) -> Result<Vec<u8>, Stop> {
    let mut line = serde_json::to_vec(value).map_err(|error| failed(error.to_string()))?;
    line.push(b'\n');
    Ok(line)
}

fn failed(why: impl Into<String>) -> Stop {
    Stop::Failed(why.into())
}

/// Reads up to the end of the final head.
pub(super) fn read_answer(stream: TcpStream, method: &str) -> Result<Answer, Stop> {
    let mut body = Body {
        stream,
        buffer: Vec::with_capacity(READ),
        used: 0,
        ready: 0..0,
        fault: None,
        framing: Framing::Close,
    };
    loop {
        if let Some((status, headers)) = body.parse_head()? {
            if (100..200).contains(&status) {
                continue;
            }
            let absent = method == "HEAD" || matches!(status, 204 | 304);
            body.framing = frame(&headers, absent, status)?;
            return Ok(Answer { status, headers, body });
        }
        if body.buffer.len() > MAX_HEAD {
            return Err(failed("the head of the answer is too long"));
        }
        if body.fill()? == 0 {
            return Err(failed("the connection ended before an answer"));
        }
    }
}

type Parts = (u16, Vec<(String, String)>);

fn frame(headers: &[(String, String)], absent: bool, status: u16) -> Result<Framing, Stop> {
    let find = |wanted: &str| headers.iter().find(|(name, _)| name == wanted);
    let length = find("content-length");
    let coding = find("transfer-encoding");
    match (length, coding) {
        _ if absent => Ok(Framing::Left(0)),
        (None, None) if status == 205 => Ok(Framing::Left(0)),
        (None, None) => Ok(Framing::Close),
        (Some((_, length)), None) => length
            .parse()
            .map(Framing::Left)
            .map_err(|_bad| failed("the content length is no number")),
        (None, Some((_, coding))) if coding.eq_ignore_ascii_case("chunked") => {
            Ok(Framing::Chunked(Decoder::default()))
        }
        (_, Some(_)) => Err(failed("the end of the answer cannot be told")),
    }
}

/// Header values are bytes; those that are not UTF-8 were once Latin-1.
fn decode_value(value: &[u8]) -> String {
    std::str::from_utf8(value)
        .map_or_else(|_bad| value.iter().map(|byte| char::from(*byte)).collect(), str::to_owned)
}

impl Body {
    fn parse_head(&mut self) -> Result<Option<Parts>, Stop> {
        let mut slots = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Response::new(&mut slots);
        let unread = self.buffer.get(self.used..).unwrap_or_default();
        let length = match parsed.parse(unread) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(error) => return Err(failed(format!("the answer is no HTTP message: {error}"))),
        };
        let status = parsed.code.unwrap_or_default();
        let own = |h: &httparse::Header<'_>| (h.name.to_ascii_lowercase(), decode_value(h.value));
        let headers = parsed.headers.iter().map(own).collect();
        self.used += length;
        Ok(Some((status, headers)))
    }

    fn fill(&mut self) -> Result<usize, Stop> {
        if self.used > 0 {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        let before = self.buffer.len();
        self.buffer.resize(before + READ, 0);
        let room = self.buffer.get_mut(before..).unwrap_or_default();
        let read = self
            .stream
            .read(room)
            .map_err(|error| failed(format!("the answer broke off: {error}")));
        let got = *read.as_ref().unwrap_or(&0);
        self.buffer.truncate(before + got);
        read
    }

    fn step(&mut self) -> Result<Step, Stop> {
        let here = self.buffer.len().saturating_sub(self.used);
        let take = match &mut self.framing {
            Framing::Left(0) => return Ok(Step::End),
            Framing::Left(_) | Framing::Close if here == 0 => return Ok(Step::More),
            Framing::Close => here,
            Framing::Left(left) => {
                let take = usize::try_from(*left).map_or(here, |left| left.min(here));
                *left = left.saturating_sub(u64::try_from(take).unwrap_or(u64::MAX));
                take
            }
            Framing::Chunked(decoder) => loop {
                let unread = self.buffer.get(self.used..).unwrap_or_default();
                match decoder.next(unread).map_err(|bad| failed(bad.0))? {
                    Piece::Skip(bytes) => self.used += bytes,
                    Piece::Data(bytes) => break bytes,
                    Piece::More => return Ok(Step::More),
                    Piece::End => return Ok(Step::End),
                }
            },
        };
        let start = self.used;
        self.used += take;
        Ok(Step::Data(start..self.used))
    }

    /// Waits for more; false at an end that the framing allows.
    fn wait(&mut self) -> Result<bool, Stop> {
        match (self.fill()?, &self.framing) {
            (0, Framing::Close) => Ok(false),
            (0, _) => Err(failed("the body of the answer broke off")),
            (_, _) => Ok(true),
        }
    }
}

impl Read for Body {
    /// What is there, as much as fits; waits only when nothing is.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            if self.ready.is_empty() {
                // A fault is told once all that came before it is taken.
                let next = match self.fault.take() {
                    Some(stop) => Err(stop),
                    None => self.step(),
                };
                match next {
                    Ok(Step::Data(range)) => self.ready = range,
                    Ok(Step::More) if filled == 0 => {
                        if !self.wait().map_err(|stop| broken(&stop))? {
                            break;
                        }
                    }
                    Ok(Step::More | Step::End) => break,
                    Err(stop) if filled == 0 => return Err(broken(&stop)),
                    Err(stop) => {
                        self.fault = Some(stop);
                        break;
                    }
                }
            }
            let take = self.ready.len().min(out.len() - filled);
            let from = self.ready.start..self.ready.start + take;
            let data = self.buffer.get(from).unwrap_or_default();
            if let Some(place) = out.get_mut(filled..filled + data.len()) {
                place.copy_from_slice(data);
            }
            self.ready.start += take;
            filled += take;
        }
        Ok(filled)
    }
}

/// Marks the fault of a body that did not come through.
const BROKEN: io::ErrorKind = io::ErrorKind::ConnectionAborted;

fn broken(stop: &Stop) -> io::Error {
    io::Error::new(BROKEN, stop.exit().1.to_owned())
}

impl Drop for Body {
    fn drop(&mut self) {
        // Ends an upload that is still running on a clone of the stream.
        drop(self.stream.shutdown(Shutdown::Both));
    }
}

impl Answer {
    /// What the gate itself has to say; `None` for an answer of the upstream.
    pub(super) fn mark(&mut self) -> Option<Mark> {
        let denied = self.find(MARK)? == "denied";
        let mut line = Vec::new();
        // A cut or broken explanation is still the best there is.
        drop((&mut self.body).take(MAX_LINE).read_to_end(&mut line));
        let line = String::from_utf8_lossy(&line).trim().to_owned();
        Some(Mark { denied, line })
    }

    fn find(&self, wanted: &str) -> Option<&str> {
        self.values(wanted).next()
    }

    /// Where a redirect leads.
    pub(super) fn redirect(&self) -> Option<String> {
        let location = self.find("location").filter(|_| (300..400).contains(&self.status))?;
        Some(location.to_owned())
    }

    /// How long the upstream asks to be left alone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        retry_after(|name| self.find(name))
    }

    /// Every value of a header.
    pub(super) fn values(&self, wanted: &str) -> impl Iterator<Item = &str> {
        let named = self.headers.iter().filter(move |(name, _)| name == wanted);
        named.map(|(_, value)| value.as_str())
    }

    /// The coding of the body, whose headers are then those of the plain one.
    fn uncode(&mut self) -> Result<Coding, Stop> {
        let bodiless = matches!(self.body.framing, Framing::Left(0));
        let coding = Coding::of(self.values("content-encoding"));
        let coding = if bodiless { Coding::Plain } else { coding.map_err(failed)? };
        let decoded = coding != Coding::Plain;
        self.headers.retain(|(name, _)| match name.as_str() {
            "connection" | "transfer-encoding" => false,
            "content-encoding" | "content-length" => !decoded,
            _ => true,
        });
        Ok(coding)
    }

    /// Writes the head line and the body, at most `most` bytes together.
    pub(super) fn write(mut self, most: u64, out: &mut impl Write) -> Result<(), Stop> {
        let coding = self.uncode()?;
        let line = self.head_line(None)?;
        let mut capped = Capped { out, left: most };
        capped
            .write_all(&line)
            .map_err(|_cut| failed("the head of the answer is longer than the output limit"))?;
        copy(coding, &mut self.body, &mut capped)
    }

    /// Adds the body, plain, to `whole`, at most `most` bytes of it.
    pub(super) fn collect(&mut self, most: u64, whole: &mut Vec<u8>) -> Result<(), Stop> {
        let coding = self.uncode()?;
        copy(coding, &mut self.body, &mut Capped { out: whole, left: most })
    }

    /// The line in front of the body; it tells the body's length where another page can follow.
    pub(super) fn head_line(&self, bytes: Option<usize>) -> Result<Vec<u8>, Stop> {
        line(&Head { status: self.status, headers: &self.headers, bytes })
    }
}

/// An answer of the gate in the upstream's place.
#[derive(Debug)]
pub(super) struct Mark {
    /// Whether a rule forbids it; else nothing was heard of the upstream.
    pub(super) denied: bool,
    pub(super) line: String,
}

/// Moves the plain body to `out`, each piece as it comes.
fn copy(coding: Coding, body: &mut Body, out: &mut Capped<impl Write>) -> Result<(), Stop> {
    let mut plain = match coding {
        // What comes is passed on at once, byte for byte.
        Coding::Plain => Box::new(body),
        coding => coding.undo(body).map_err(|error| stop_of(&error))?,
    };
    let mut piece = vec![0; READ];
    loop {
        let read = plain.read(&mut piece).map_err(|error| stop_of(&error))?;
        if read == 0 {
            return Ok(());
        }
        out.write_all(piece.get(..read).unwrap_or_default()).map_err(|error| stop_of(&error))?;
    }
}

/// Marks the error of a full [`Capped`].
const FULL: io::ErrorKind = io::ErrorKind::QuotaExceeded;

fn stop_of(error: &io::Error) -> Stop {
    match error.kind() {
        FULL => Stop::Cut("the body is longer than the output limit; the rest was cut".to_owned()),
        BROKEN => failed(error.to_string()),
        _ => failed(format!("the body is not in the coding that the answer names: {error}")),
    }
}

/// Takes no more than a limit; what fits is written in any case.
struct Capped<W: Write> {
    out: W,
    left: u64,
}

impl<W: Write> Write for Capped<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).map_or(data.len(), |left| left.min(data.len()));
        self.out.write_all(data.get(..most).unwrap_or_default())?;
        self.left = self.left.saturating_sub(u64::try_from(most).unwrap_or(u64::MAX));
        if most < data.len() {
            return Err(io::Error::from(FULL));
        }
        Ok(most)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
