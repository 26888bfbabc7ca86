//! Moves message bodies from one side to the other. Framed bytes in, the same body out under the
//! framing of the other side; it never holds more than a few pieces.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use switchboard_runner::chunked::{Decoder, Piece};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::trail::{Meter, Way};
use crate::sandbox::veil::{Cover, Veil};

/// Bytes gathered before they are written.
const FLUSH: usize = 16 * 1024;

/// Where a message body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is none.
    None,
    /// After so many bytes.
    Length(u64),
    /// Where the chunked coding says.
    Chunked,
    /// Where the connection is closed.
    Close,
}

/// Whose fault it was that an exchange did not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// The tool broke off, stalled, or sent something malformed.
    Tool(String),
    /// The upstream did.
    Upstream(String),
    /// A limit of the call was reached.
    Limit(String),
}

/// Makes a [`Fault`] of one side.
pub(super) type Blame = fn(String) -> Fault;

/// The reading half of a side, with what was read ahead.
#[derive(Debug)]
pub(super) struct Source<R> {
    pub(super) io: R,
    pub(super) buffer: BytesMut,
    pub(super) idle: Duration,
    pub(super) blame: Blame,
}

impl<R: AsyncRead + Unpin> Source<R> {
    pub(super) fn new(io: R, idle: Duration, blame: Blame) -> Self {
        Self { io, buffer: BytesMut::with_capacity(8 * 1024), idle, blame }
    }

    /// Reads more; 0 at the end of the stream.
    pub(super) async fn fill(&mut self) -> Result<usize, Fault> {
        self.buffer.reserve(8 * 1024);
        match timeout(self.idle, self.io.read_buf(&mut self.buffer)).await {
            Ok(Ok(read)) => Ok(read),
            Ok(Err(error)) => Err((self.blame)(format!("reading failed: {error}"))),
            Err(_elapsed) => {
                Err((self.blame)(format!("nothing arrived for {} ms", self.idle.as_millis())))
            }
        }
    }
}

/// The writing half of a side, with what waits to be written.
#[derive(Debug)]
pub(super) struct Sink<W> {
    pub(super) io: W,
    pub(super) buffer: BytesMut,
    pub(super) idle: Duration,
    pub(super) blame: Blame,
}

impl<W: AsyncWrite + Unpin> Sink<W> {
    pub(super) fn new(io: W, idle: Duration, blame: Blame) -> Self {
        Self { io, buffer: BytesMut::new(), idle, blame }
    }

    /// Writes all that waits.
    pub(super) async fn flush(&mut self) -> Result<(), Fault> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let write = async {
            while self.buffer.has_remaining() {
                let written = timeout(self.idle, self.io.write_buf(&mut self.buffer))
                    .await
                    .map_err(|_elapsed| io::Error::from(io::ErrorKind::TimedOut))??;
                if written == 0 {
                    return Err(io::Error::from(io::ErrorKind::WriteZero));
                }
            }
            timeout(self.idle, self.io.flush())
                .await
                .map_err(|_elapsed| io::Error::from(io::ErrorKind::TimedOut))?
        };
        write.await.map_err(|error: io::Error| (self.blame)(format!("writing failed: {error}")))
    }
}

/// Takes a body apart.
#[derive(Debug)]
pub(super) struct Body {
    state: State,
    cover: Option<Cover>,
}

#[derive(Debug)]
enum State {
    Left(u64),
    Chunked(Decoder),
    Close,
}

/// The next thing a body gives.
#[derive(Debug)]
enum Step {
    Data(Bytes),
    More,
    End,
}

impl Body {
    pub(super) fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::None => State::Left(0),
            Framing::Length(length) => State::Left(length),
            Framing::Chunked => State::Chunked(Decoder::default()),
            Framing::Close => State::Close,
        };
        Self { state, cover: None }
    }

    /// Masks secret values on the way; the length stays.
    #[must_use]
    pub(super) fn veiled(mut self, veil: Option<&Arc<Veil>>) -> Self {
        self.cover = veil.map(Cover::new);
        self
    }

    fn step(&mut self, buffer: &mut BytesMut) -> Result<Step, &'static str> {
        match &mut self.state {
            State::Left(0) => Ok(Step::End),
            State::Left(_) | State::Close if buffer.is_empty() => Ok(Step::More),
            State::Left(left) => {
                let here =
                    usize::try_from(*left).map_or(buffer.len(), |left| left.min(buffer.len()));
                *left = left.saturating_sub(u64::try_from(here).unwrap_or(u64::MAX));
                Ok(Step::Data(buffer.split_to(here).freeze()))
            }
            State::Close => Ok(Step::Data(buffer.split().freeze())),
            State::Chunked(decoder) => loop {
                match decoder.next(buffer).map_err(|bad| bad.0)? {
                    Piece::Skip(bytes) => buffer.advance(bytes),
                    Piece::Data(bytes) => return Ok(Step::Data(buffer.split_to(bytes).freeze())),
                    Piece::More => return Ok(Step::More),
                    Piece::End => return Ok(Step::End),
                }
            },
        }
    }

    /// Moves the whole body from `source` to `sink`, chunked again or as it is, and counts it.
    pub(super) async fn relay<R, W>(
        mut self,
        source: &mut Source<R>,
        sink: &mut Sink<W>,
        chunk: bool,
        (meter, way): (&Meter, Way),
    ) -> Result<(), Fault>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        loop {
            match self.step(&mut source.buffer).map_err(|bad| (source.blame)(bad.to_owned()))? {
                Step::Data(data) => {
                    meter.count(way, data.len()).map_err(Fault::Limit)?;
                    let data = match &mut self.cover {
                        Some(cover) => cover.push(&data),
                        None => data,
                    };
                    put_piece(&mut sink.buffer, &data, chunk);
                    if sink.buffer.len() >= FLUSH {
                        sink.flush().await?;
                    }
                }
                Step::More => {
                    sink.flush().await?;
                    if source.fill().await? == 0 {
                        if matches!(self.state, State::Close) {
                            break;
                        }
                        return Err((source.blame)("the body broke off".to_owned()));
                    }
                }
                Step::End => break,
            }
        }
        if let Some(cover) = &mut self.cover {
            put_piece(&mut sink.buffer, &cover.finish(), chunk);
        }
        if chunk {
            sink.buffer.put_slice(b"0\r\n\r\n");
        }
        sink.flush().await
    }
}

fn put_piece(out: &mut BytesMut, data: &Bytes, chunk: bool) {
    // An empty chunk would end the body.
    if data.is_empty() {
        return;
    }
    if chunk {
        out.put_slice(format!("{:x}\r\n", data.len()).as_bytes());
    }
    out.put_slice(data);
    if chunk {
        out.put_slice(b"\r\n");
    }
}
