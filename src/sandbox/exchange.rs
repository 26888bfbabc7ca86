//! One call over one stream: the call's frames go out, output and the runner's report come in. Output
//! is bounded here too; the verdict is not taken here.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use switchboard_runner::{HEADER, Kind, MAX_FRAME, Report, Request, frame, parse_header};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::teller::Teller;
use super::{Error, Event};

/// Payload of one frame of standard input.
const PIECE: usize = 64 * 1024;

/// A call ready to be sent.
#[derive(Debug)]
pub(super) struct Parcel {
    nonce: String,
    /// REQUEST, and STDIN frames with their end.
    bytes: Vec<u8>,
    /// Standard output and error together.
    cap: u64,
}

impl Parcel {
    /// Packs a call.
    pub(super) fn pack(request: &Request, stdin: &[u8]) -> Result<Self, Error> {
        let failed = |reason: String| Error::Argument { pointer: String::new(), reason };
        let head = serde_json::to_vec(request).map_err(|error| failed(error.to_string()))?;
        if head.len() > MAX_FRAME {
            return Err(failed(format!(
                "the command line takes {} bytes, and at most {MAX_FRAME} are sent",
                head.len()
            )));
        }
        let mut bytes = frame(Kind::Request, &head);
        for piece in stdin.chunks(PIECE) {
            bytes.extend_from_slice(&frame(Kind::Stdin, piece));
        }
        bytes.extend_from_slice(&frame(Kind::StdinEnd, &[]));
        Ok(Self { nonce: request.nonce.clone(), bytes, cap: request.output_bytes })
    }
}

/// What came back.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Whether the tool was started.
    pub(super) started: bool,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
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
        let send = async {
            writer.write_all(&parcel.bytes).await?;
            writer.flush().await
        };
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
    let mut room = usize::try_from(parcel.cap).unwrap_or(usize::MAX);
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
                let kept = if kind == Kind::Stdout { &mut heard.stdout } else { &mut heard.stderr };
                keep(kept, &mut room, payload);
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            Kind::Stdout => Event::Stdout(keep(&mut heard.stdout, &mut room, payload)),
            Kind::Stderr => Event::Stderr(keep(&mut heard.stderr, &mut room, payload)),
            Kind::Result => return read_report(&payload, &parcel.nonce),
            Kind::Request | Kind::Stdin | Kind::StdinEnd | Kind::Open => {
                return Err(wrong("the runner sent a frame that only the daemon may send"));
            }
        };
        teller.tell(event);
    }
}

fn read_report(payload: &[u8], nonce: &str) -> io::Result<Report> {
    let report: Report = serde_json::from_slice(payload)
        .map_err(|error| wrong(&format!("the runner's report is not readable ({error})")))?;
    if report.nonce != nonce {
        return Err(wrong("the runner reported on another call"));
    }
    Ok(report)
}

fn keep(kept: &mut Vec<u8>, room: &mut usize, mut payload: Vec<u8>) -> Bytes {
    payload.truncate(*room);
    *room -= payload.len();
    kept.extend_from_slice(&payload);
    Bytes::from(payload)
}

async fn read_frame<R: AsyncRead + Unpin>(reader: &mut R) -> io::Result<(Kind, Vec<u8>)> {
    let mut header = [0_u8; HEADER];
    if let Err(error) = reader.read_exact(&mut header).await {
        return Err(match error.kind() {
            io::ErrorKind::UnexpectedEof => wrong("the sandbox ended without a report"),
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
