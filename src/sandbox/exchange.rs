//! One call over one stream: the call's frames go out, output and the runner's report come in. Output
//! is bounded here too; the verdict is not taken here.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use switchboard_runner::{Given, HEADER, Kind, MAX_FRAME, Report, Request, frame, parse_header};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::teller::Teller;
use super::veil::{Cover, Veil};
use super::{Error, Event, GivenFile};
use crate::call::File;

/// Payload of one frame of standard input.
const PIECE: usize = 64 * 1024;

/// Bytes of files that are carried in a microsecond, on a busy machine.
const PACE: u64 = 8;

/// A call ready to be sent.
#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) request: Request,
    /// The REQUEST frame.
    head: Vec<u8>,
    /// Contents of the files, for the TAKE frames.
    files: Vec<Bytes>,
    /// STDIN frames with their end.
    stdin: Vec<u8>,
}

impl Parcel {
    /// Packs a call.
    pub(super) fn pack(request: Request, stdin: &[u8], files: &[File]) -> Result<Self, Error> {
        let failed = |reason: String| Error::Argument { pointer: String::new(), reason };
        let head = serde_json::to_vec(&request).map_err(|error| failed(error.to_string()))?;
        if head.len() > MAX_FRAME {
            return Err(failed(format!(
                "the command line takes {} bytes, and at most {MAX_FRAME} are sent",
                head.len()
            )));
        }
        let mut bytes = Vec::new();
        for piece in stdin.chunks(PIECE) {
            bytes.extend_from_slice(&frame(Kind::Stdin, piece));
        }
        bytes.extend_from_slice(&frame(Kind::StdinEnd, &[]));
        let files = files.iter().map(|file| file.content.clone()).collect();
        Ok(Self { request, head: frame(Kind::Request, &head), files, stdin: bytes })
    }

    /// Time that files may take on their way, beside the tool's own.
    pub(super) fn transfer(&self) -> Duration {
        let bytes: u64 = self.request.take.iter().map(|file| file.bytes).sum();
        Duration::from_micros(bytes.saturating_add(self.request.give_bytes) / PACE)
    }

    async fn send<W: AsyncWrite + Unpin>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(&self.head).await?;
        for piece in self.files.iter().flat_map(|file| file.chunks(PIECE)) {
            writer.write_all(&frame(Kind::Take, piece)).await?;
        }
        writer.write_all(&self.stdin).await?;
        writer.flush().await
    }
}

/// What came back.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Whether the tool was started.
    pub(super) started: bool,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// The files that the call wanted; empty until the report.
    pub(super) given: Vec<GivenFile>,
    /// Covers of standard output and error, where secrets are in play.
    covers: Option<(Cover, Cover)>,
    /// Cover of the files that are given.
    file_cover: Option<Cover>,
}

impl Heard {
    /// Masks secret values in all that is heard. The gate has masked them on the way in; this is
    /// for what came by another way, or was unpacked inside.
    pub(super) fn veiled(veil: Option<&Arc<Veil>>) -> Self {
        let covers = veil.map(|veil| (Cover::new(veil), Cover::new(veil)));
        Self { covers, file_cover: veil.map(Cover::new), ..Self::default() }
    }

    /// Takes what was held back; to be called at the end of the call, however it ended.
    pub(super) fn finish(&mut self, teller: &mut Teller) {
        if let Some((out, error)) = &mut self.covers {
            for (rest, kept, event) in [
                (out.finish(), &mut self.stdout, Event::Stdout as fn(Bytes) -> Event),
                (error.finish(), &mut self.stderr, Event::Stderr),
            ] {
                if !rest.is_empty() {
                    kept.extend_from_slice(&rest);
                    teller.tell(event(rest));
                }
            }
        }
    }

    fn take(&mut self, kind: Kind, room: &mut usize, mut payload: Vec<u8>) -> Bytes {
        payload.truncate(*room);
        *room -= payload.len();
        let (kept, cover) = match (kind, &mut self.covers) {
            (Kind::Stderr, Some((_, cover))) => (&mut self.stderr, Some(cover)),
            (Kind::Stderr, None) => (&mut self.stderr, None),
            (_, Some((cover, _))) => (&mut self.stdout, Some(cover)),
            (_, None) => (&mut self.stdout, None),
        };
        let piece = match cover {
            Some(cover) => cover.push(&payload),
            None => Bytes::from(payload),
        };
        kept.extend_from_slice(&piece);
        piece
    }
}

/// Why there is no report.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// The stream ended or broke.
    Gone(String),
    /// The time passed.
    Late,
    /// The runner sent more output than the call may make.
    Flood,
    /// The runner sent what no runner sends.
    Broken(String),
}

/// Sends `parcel` and listens until the report, at most for `bound`. What was heard until then is in
/// `heard`. A slow listener holds back nothing.
pub(super) async fn exchange<S>(
    stream: S,
    parcel: &Parcel,
    bound: Duration,
    teller: &mut Teller,
    heard: &mut Heard,
) -> Result<Report, Silence>
where
    S: AsyncRead + AsyncWrite,
{
    let (mut reader, mut writer) = tokio::io::split(stream);
    let talk = async {
        let listen = listen(&mut reader, parcel, teller, heard);
        let send = parcel.send(&mut writer);
        tokio::pin!(listen, send);
        // The tool may end without reading its input, so a failed or unfinished send decides nothing.
        let mut sending = true;
        loop {
            tokio::select! {
                report = &mut listen => return report,
                sent = &mut send, if sending => {
                    sending = false;
                    if let Err(error) = sent {
                        tracing::debug!(%error, "standard input was not read to its end");
                    }
                }
            }
        }
    };
    match tokio::time::timeout(bound, talk).await {
        Ok(Ok(report)) => Ok(report),
        Ok(Err(error)) if error.kind() == io::ErrorKind::FileTooLarge => Err(Silence::Flood),
        Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Silence::Broken(error.to_string()))
        }
        Ok(Err(error)) => Err(Silence::Gone(error.to_string())),
        Err(_elapsed) => Err(Silence::Late),
    }
}

async fn listen<R: AsyncRead + Unpin>(
    reader: &mut R,
    parcel: &Parcel,
    teller: &mut Teller,
    heard: &mut Heard,
) -> io::Result<Report> {
    let mut room = usize::try_from(parcel.request.output_bytes).unwrap_or(usize::MAX);
    let mut give_bytes = usize::try_from(parcel.request.give_bytes).unwrap_or(usize::MAX);
    let mut contents = BytesMut::new();
    loop {
        let (kind, payload) = {
            let frame = read_frame(reader);
            tokio::pin!(frame);
            loop {
                tokio::select! {
                    biased;
                    read = &mut frame => break read?,
                    () = teller.catch_up() => {}
                }
            }
        };
        let event = match kind {
            Kind::Started => {
                heard.started = true;
                Event::Started
            }
            Kind::Stdout | Kind::Stderr if payload.len() > room => {
                heard.take(kind, &mut room, payload);
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            Kind::Stdout => Event::Stdout(heard.take(kind, &mut room, payload)),
            Kind::Stderr => Event::Stderr(heard.take(kind, &mut room, payload)),
            Kind::Give if payload.len() > give_bytes => {
                return Err(wrong("the runner gave more bytes of files than it may"));
            }
            Kind::Give => {
                give_bytes -= payload.len();
                match &mut heard.file_cover {
                    Some(cover) => contents.extend_from_slice(&cover.push(&payload)),
                    None => contents.extend_from_slice(&payload),
                }
                // Masking takes its time; others have theirs in between.
                tokio::task::yield_now().await;
                continue;
            }
            Kind::Result => {
                let report = read_report(&payload, &parcel.request.nonce)?;
                if let Some(cover) = &mut heard.file_cover {
                    contents.extend_from_slice(&cover.finish());
                }
                heard.given = unpack(&report.given, &parcel.request.give, contents.freeze())
                    .ok_or_else(|| wrong("the runner gave other files than it should"))?;
                return Ok(report);
            }
            Kind::Request | Kind::Stdin | Kind::StdinEnd | Kind::Open | Kind::Take => {
                return Err(wrong("the runner sent a frame that only the daemon may send"));
            }
        };
        // What is held back for masking comes with a later piece.
        if !matches!(&event, Event::Stdout(piece) | Event::Stderr(piece) if piece.is_empty()) {
            teller.tell(event);
        }
    }
}

/// Cuts the contents into the files that the report lists; `None` when they are not those wanted.
fn unpack(given: &[Given], wanted: &[String], mut contents: Bytes) -> Option<Vec<GivenFile>> {
    if !given.iter().map(|file| &file.name).eq(wanted) {
        return None;
    }
    let mut files = Vec::with_capacity(given.len());
    for Given { name, bytes, refused } in given {
        let length = usize::try_from(*bytes).ok().filter(|length| *length <= contents.len())?;
        let content = contents.split_to(length);
        let content = refused.clone().map_or(Ok(content), Err);
        files.push(GivenFile { name: name.clone(), content });
    }
    contents.is_empty().then_some(files)
}

fn read_report(payload: &[u8], nonce: &str) -> io::Result<Report> {
    let report: Report = serde_json::from_slice(payload)
        .map_err(|error| wrong(&format!("the runner's report is not readable ({error})")))?;
    if report.nonce != nonce {
        return Err(wrong("the runner reported on another call"));
    }
    Ok(report)
}

async fn read_frame<R: AsyncRead + Unpin>(reader: &mut R) -> io::Result<(Kind, Vec<u8>)> {
    let mut header = [0_u8; HEADER];
    if let Err(error) = reader.read_exact(&mut header).await {
        return Err(match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(error.kind(), "the sandbox ended without a report")
            }
            _ => error,
        });
    }
    let (kind, length) =
        parse_header(header).map_err(|bad| wrong(&format!("not a frame of ours ({bad:?})")))?;
    let mut payload = vec![0_u8; length];
    reader.read_exact(&mut payload).await?;
    Ok((kind, payload))
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}
