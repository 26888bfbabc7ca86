//! The tool's two output pipes in, frames out, under one cap for both together. Counts everything
//! that was read; never holds more than one frame.

use std::io;

use switchboard_runner::{HEADER, Kind};
use tokio::net::unix::pipe;

use crate::wire::Wire;

/// Largest payload of an output frame: what a pipe holds.
const CHUNK: usize = 64 << 10;
/// Reads after the end of the tool; more than two full pipes need.
const LAST_READS: usize = 64;

/// Why pumping stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pumped {
    /// Both pipes are at their end.
    Dry,
    /// The tool wrote more than it may.
    Over,
}

/// A read that does not wait.
type Read = fn(&pipe::Receiver, &mut [u8]) -> io::Result<usize>;

fn try_read(pipe: &pipe::Receiver, buffer: &mut [u8]) -> io::Result<usize> {
    pipe.try_read(buffer)
}

/// One pipe.
struct Source {
    pipe: Option<pipe::Receiver>,
    kind: Kind,
    seen: u64,
}

/// Both pipes and the frame that is on its way.
pub(crate) struct Output {
    stdout: Source,
    stderr: Source,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    room: u64,
    over: bool,
}

impl Output {
    /// Forwards at most `cap` bytes of both pipes together.
    pub(crate) fn new(stdout: pipe::Receiver, stderr: pipe::Receiver, cap: u64) -> Self {
        Self {
            stdout: Source { pipe: Some(stdout), kind: Kind::Stdout, seen: 0 },
            stderr: Source { pipe: Some(stderr), kind: Kind::Stderr, seen: 0 },
            buffer: vec![0; HEADER + CHUNK],
            start: 0,
            end: 0,
            room: cap,
            over: false,
        }
    }

    /// Bytes read from standard output and from standard error.
    pub(crate) fn seen(&self) -> (u64, u64) {
        (self.stdout.seen, self.stderr.seen)
    }

    /// Whether there was more output than allowed.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Makes the first frame say that the tool has started.
    pub(crate) fn announce(&mut self, started: bool) {
        if started && let Some(header) = self.buffer.get_mut(..HEADER) {
            header.copy_from_slice(&[Kind::Started as u8, 0, 0, 0, 0]);
            (self.start, self.end) = (0, HEADER);
        }
    }

    /// Forwards until both pipes end or the cap is passed. Loses nothing when it is dropped and
    /// called again.
    pub(crate) async fn pump(&mut self, wire: &Wire) -> io::Result<Pumped> {
        loop {
            self.flush(wire).await?;
            if self.over {
                return Ok(Pumped::Over);
            }
            let which = match (&self.stdout.pipe, &self.stderr.pipe) {
                (None, None) => return Ok(Pumped::Dry),
                (Some(out), None) => out.readable().await.map(|()| Kind::Stdout)?,
                (None, Some(err)) => err.readable().await.map(|()| Kind::Stderr)?,
                (Some(out), Some(err)) => tokio::select! {
                    ready = out.readable() => ready.map(|()| Kind::Stdout)?,
                    ready = err.readable() => ready.map(|()| Kind::Stderr)?,
                },
            };
            self.take(which, try_read);
        }
    }

    /// Forwards what the pipes hold now.
    pub(crate) async fn drain(&mut self, wire: &Wire) -> io::Result<()> {
        for kind in [Kind::Stdout, Kind::Stderr] {
            for _ in 0..LAST_READS {
                self.flush(wire).await?;
                // Past the event loop: it may not have heard yet of the tool's last bytes.
                if !self.take(kind, |pipe, buffer| Ok(rustix::io::read(pipe, buffer)?)) {
                    break;
                }
            }
        }
        self.flush(wire).await
    }

    async fn flush(&mut self, wire: &Wire) -> io::Result<()> {
        while let Some(rest) = self.buffer.get(self.start..self.end).filter(|r| !r.is_empty()) {
            self.start += wire.write(rest).await?;
        }
        Ok(())
    }

    /// Reads once without waiting, into a frame; says whether there may be more.
    fn take(&mut self, kind: Kind, read: Read) -> bool {
        let source = if kind == Kind::Stdout { &mut self.stdout } else { &mut self.stderr };
        let Some(pipe) = &source.pipe else {
            return false;
        };
        let Some((header, payload)) = self.buffer.split_at_mut_checked(HEADER) else {
            return false;
        };
        let read = match read(pipe, payload) {
            Ok(0) => {
                source.pipe = None;
                return false;
            }
            Ok(read) => read,
            Err(error) => {
                if error.kind() != io::ErrorKind::WouldBlock {
                    source.pipe = None;
                }
                return false;
            }
        };
        let wide = u64::try_from(read).unwrap_or(u64::MAX);
        source.seen = source.seen.saturating_add(wide);
        self.over |= wide > self.room;
        let sent = wide.min(self.room);
        self.room -= sent;
        let length = u32::try_from(sent).unwrap_or_default();
        let [first, rest @ ..] = header else {
            return false;
        };
        *first = source.kind as u8;
        rest.copy_from_slice(&length.to_be_bytes());
        self.start = 0;
        self.end = match usize::try_from(sent) {
            Ok(sent) if sent > 0 => HEADER + sent,
            Ok(_) | Err(_) => 0,
        };
        true
    }
}
