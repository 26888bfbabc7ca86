//! The answer that comes back through the gate. A connection in; the head line and the decoded
//! body out, each piece as it comes, up to a limit. It judges neither status nor content.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::Range;

use flate2::write::{MultiGzDecoder, ZlibDecoder};
use serde::Serialize;

use super::Stop;
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
    framing: Framing,
}

#[derive(Debug)]
enum Framing {
    Left(u64),
    Chunked(Decoder),
    Close,
}

enum Step {
    Data(Range<usize>),
    More,
    End,
}

#[derive(Serialize)]
struct Head<'a> {
    status: u16,
    headers: &'a [(String, String)],
}

fn failed(why: impl Into<String>) -> Stop {
    Stop::Failed(why.into())
}

/// Reads up to the end of the final head.
pub(super) fn read_answer(stream: TcpStream, method: &str) -> Result<Answer, Stop> {
    let mut body =
        Body { stream, buffer: Vec::with_capacity(READ), used: 0, framing: Framing::Close };
    loop {
        if let Some((status, headers)) = body.parse_head()? {
            if (100..200).contains(&status) {
                continue;
            }
            let absent = method == "HEAD" || matches!(status, 204 | 304);
            body.framing = frame(&headers, absent)?;
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

fn frame(headers: &[(String, String)], absent: bool) -> Result<Framing, Stop> {
    let find = |wanted: &str| headers.iter().find(|(name, _)| name == wanted);
    let length = find("content-length");
    let coding = find("transfer-encoding");
    match (length, coding) {
        _ if absent => Ok(Framing::Left(0)),
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

    /// Moves the body to `out`, which may refuse to take more.
    fn copy(&mut self, out: &mut dyn Write) -> Result<(), Stop> {
        loop {
            match self.step()? {
                Step::Data(range) => {
                    let data = self.buffer.get(range).unwrap_or_default();
                    out.write_all(data).map_err(|error| stop_of(&error))?;
                }
                Step::More => {
                    out.flush().map_err(|error| stop_of(&error))?;
                    if self.fill()? == 0 {
                        if matches!(self.framing, Framing::Close) {
                            return Ok(());
                        }
                        return Err(failed("the body of the answer broke off"));
                    }
                }
                Step::End => return Ok(()),
            }
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        // Ends an upload that is still running on a clone of the stream.
        drop(self.stream.shutdown(Shutdown::Both));
    }
}

impl Answer {
    /// Turns an answer of the gate itself into the reason to stop.
    pub(super) fn check_mark(&mut self) -> Result<(), Stop> {
        let Some((_, mark)) = self.headers.iter().find(|(name, _)| name == MARK) else {
            return Ok(());
        };
        let denied = mark == "denied";
        let mut line = Capped::new(Vec::new(), MAX_LINE);
        // A cut or broken explanation is still the best there is.
        drop(self.body.copy(&mut line));
        let line = String::from_utf8_lossy(&line.pending).trim().to_owned();
        Err(if denied { Stop::Denied(line) } else { Stop::Failed(line) })
    }

    /// Where a redirect leads.
    pub(super) fn redirect(&self) -> Option<String> {
        let found = self.headers.iter().find(|(name, _)| name == "location");
        let (_, location) = found.filter(|_| (300..400).contains(&self.status))?;
        Some(location.clone())
    }

    /// Writes the head line and the body, at most `most` bytes together.
    pub(super) fn write(mut self, most: u64, out: &mut impl Write) -> Result<(), Stop> {
        let find = |wanted: &str| self.headers.iter().find(|(name, _)| name == wanted);
        let coding = find("content-encoding").map(|(_, coding)| coding.to_ascii_lowercase());
        let coding = match coding.as_deref() {
            Some("gzip" | "x-gzip") => Coding::Gzip,
            Some("deflate") => Coding::Deflate,
            Some(_) | None => Coding::None,
        };
        let bodiless = matches!(self.body.framing, Framing::Left(0));
        let decoded = !bodiless && !matches!(coding, Coding::None);
        self.headers.retain(|(name, _)| match name.as_str() {
            "connection" | "transfer-encoding" => false,
            "content-encoding" | "content-length" => !decoded,
            _ => true,
        });
        let head = Head { status: self.status, headers: &self.headers };
        let mut line = serde_json::to_vec(&head).map_err(|error| failed(error.to_string()))?;
        line.push(b'\n');
        let mut capped = Capped::new(out, most);
        capped
            .write_all(&line)
            .map_err(|_cut| failed("the head of the answer is longer than the output limit"))?;
        match coding {
            Coding::Gzip if decoded => {
                let mut decoder = MultiGzDecoder::new(&mut capped);
                self.body.copy(&mut decoder)?;
                decoder.try_finish().map_err(|error| stop_of(&error))?;
            }
            Coding::Deflate if decoded => {
                let mut decoder = ZlibDecoder::new(&mut capped);
                self.body.copy(&mut decoder)?;
                decoder.try_finish().map_err(|error| stop_of(&error))?;
            }
            Coding::Gzip | Coding::Deflate | Coding::None => self.body.copy(&mut capped)?,
        }
        capped.flush().map_err(|error| stop_of(&error))
    }
}

enum Coding {
    None,
    Gzip,
    Deflate,
}

/// Marks the error of a full [`Capped`].
const FULL: io::ErrorKind = io::ErrorKind::QuotaExceeded;

fn stop_of(error: &io::Error) -> Stop {
    if error.kind() == FULL {
        Stop::Cut("the body is longer than the output limit; the rest was cut".to_owned())
    } else {
        failed(format!("the answer cannot be passed on: {error}"))
    }
}

/// Gathers small pieces and takes no more than a limit; what fits is written in any case.
struct Capped<W: Write> {
    out: W,
    pending: Vec<u8>,
    left: u64,
}

impl<W: Write> Capped<W> {
    fn new(out: W, left: u64) -> Self {
        Self { out, pending: Vec::new(), left }
    }
}

impl<W: Write> Write for Capped<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).map_or(data.len(), |left| left.min(data.len()));
        self.left = self.left.saturating_sub(u64::try_from(most).unwrap_or(u64::MAX));
        self.pending.extend_from_slice(data.get(..most).unwrap_or_default());
        if self.pending.len() >= READ {
            self.flush()?;
        }
        if most < data.len() {
            self.flush()?;
            return Err(io::Error::from(FULL));
        }
        Ok(most)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.pending)?;
        self.pending.clear();
        Ok(())
    }
}
